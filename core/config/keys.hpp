// The one table of configuration keys. Parsing, checking, `config show` and the example file all come from it; a key that
// is not in it does not exist.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/result.hpp>

namespace spindrift::config {

enum class KeyType : std::uint8_t {
  integer,     ///< decimal, `lowest` … `highest`; with unit "bytes" also KiB, MiB, GiB
  boolean,     ///< true or false; also yes/no, on/off, 1/0
  text,        ///< one line of any printable text
  group_name,  ///< 1 … 32 of a-z, 0-9, _ and -
  choice,      ///< one of `choices`
  path,        ///< a file or directory; empty where the documentation gives that a meaning
  directory,   ///< an absolute path of at most 80 characters; <uid> stands for the user's number
  keys_directory,  ///< a path that is absolute or begins with "~/"; <group> and <id> stand for those
  node_list,   ///< node ids separated by commas, no duplicates
  addresses,   ///< id@host:port, separated by commas, or a pattern with <id>
  contacts,    ///< host:port, separated by commas
  log_levels,  ///< as log::set_levels takes it
  json,        ///< checked by the layout's own parser
};

enum class KeyScope : std::uint8_t {
  group,  ///< all members must agree; enters the digest
  view,   ///< members agree on it in their view, which their files have a say in: they may differ
  node,   ///< each member's own
};

struct Key {
  std::string_view section;  ///< "DERECHO"; `profile_section` for every [SUBGROUP/<profile>]
  std::string_view name;
  KeyType type;
  KeyScope scope;
  /// As one would write it; empty may mean "derived", as the documentation says. That of a group's key stays as long as a
  /// later release is to be in one group with an earlier one: the digest has no values that are the default.
  std::string_view default_text;
  std::string_view documentation;
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  std::string_view unit = {};
  std::string_view choices = {};  ///< "block|spin"
  std::string_view refused = {};  ///< no choice, but one that a reader of the others may expect
  std::string_view reason = {};   ///< why that is none
  std::string_view example = {};  ///< what the example file sets, where that is not the default
  bool launched = false;          ///< may be "launcher", see launcher.hpp
  bool used = true;               ///< false: a Derecho key without effect in this version
};

inline constexpr std::string_view profile_section = "SUBGROUP/*";
inline constexpr std::string_view profile_prefix = "SUBGROUP/";
inline constexpr std::string_view default_profile = "SUBGROUP/DEFAULT";

/// In the order of the example file.
[[nodiscard]] std::span<const Key> keys();
/// The key of that name in that section (which may be any profile's), or null.
[[nodiscard]] const Key* find_key(std::string_view section, std::string_view name);
[[nodiscard]] bool known_section(std::string_view section);

/// Whether `name` may be a profile's name: 1 … 40 of A-Z, a-z, 0-9, _ and -.
[[nodiscard]] bool valid_profile_name(std::string_view name);

/// The variable that sets a key: SPINDRIFT_DERECHO_LOCAL_ID; of section [SPINDRIFT] just SPINDRIFT_POLL.
[[nodiscard]] std::string environment_variable(std::string_view section, std::string_view name);

/// The value in canonical form, so that equal meaning is equal text. Errors: bad_config with cause and fix, without place.
[[nodiscard]] Result<std::string> canonical_value(const Key& key, std::string_view text);
/// "integer 0 … 10000 microseconds", "block or spin": for documentation and errors.
[[nodiscard]] std::string describe_values(const Key& key);

/// The fix for a key that does not exist: names the nearest one that does.
[[nodiscard]] std::string suggest_key(std::string_view section, std::string_view name);
[[nodiscard]] std::string suggest_section(std::string_view section);

}  // namespace spindrift::config
