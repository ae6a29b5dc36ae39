// Puts a configuration together: text, environment and flags become checked values with their origin, the layout becomes a
// view. Total: any text gives a value or problems.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/config/allocate.hpp>
#include <spindrift/core/config/config.hpp>
#include <spindrift/core/config/keys.hpp>

namespace spindrift::config {

/// From the weakest to the strongest.
enum class OriginRank : std::uint8_t { standard, file, environment, flag };

struct Value {
  const Key* key = nullptr;
  std::string section;  ///< of a profile's key: the profile's own
  std::string text;     ///< canonical
  OriginRank rank = OriginRank::standard;
  std::string origin = "default";
  unsigned line = 1;      ///< of the value's first character, if it comes from the file
  bool unusable = false;  ///< what was given, here or stronger, is a problem that was told: what follows from it is none
};

/// The plans that every view's subgroups are made from.
struct Plans {
  Layout layout;
  Profiles profiles;
  std::vector<Error> unloggable;  ///< why no subgroup can be logged, each to follow "it is logged, and"; without a place
};

/// Something that all members must have alike.
struct AgreedValue {
  std::string name;   ///< "[SPINDRIFT] fabric", "subgroup orders"
  std::string value;  ///< for people; equal if and only if the line is
  std::string line;   ///< for the digest
};

struct Loaded {
  std::string name;
  std::vector<Value> values;           ///< in the table's order; the keys of each profile together
  std::shared_ptr<const Plans> plans;  ///< null without a layout
  std::optional<View> view;            ///< of all configured members
  bool needs_trust = false;            ///< see Config::needs_trusted_network
  bool proves_members = false;         ///< see Config::proves_members
  std::vector<AgreedValue> agreed;
  ConfigDigest digest;
  std::vector<std::string> notes;
  std::vector<Error> unfit;  ///< see Config::check_member

  [[nodiscard]] const Value* find(std::string_view section, std::string_view key) const;
};

/// The sources of a configuration.
struct Sources {
  std::string_view text;
  std::string name;
  const std::vector<ConfigOverride>* flags = nullptr;
  const Config::Environment* environment = nullptr;
  /// The text of the layout file at a path as the configuration writes it.
  std::function<Result<std::string>(const std::string& path)> read_layout_file;
};

/// Complete only if nothing was appended to `problems`.
[[nodiscard]] Loaded load(const Sources& sources, std::vector<Error>& problems);

/// Everything that members must agree on, in order. A part of load().
[[nodiscard]] std::vector<AgreedValue> agreement(const Loaded& loaded);
/// The digest of all of it.
[[nodiscard]] ConfigDigest digest_of(const std::vector<AgreedValue>& agreed);

/// That there is nothing from which a view could be made.
[[nodiscard]] Error no_layout(const std::string& name);
/// That this process's node is none of the members.
[[nodiscard]] Error no_member(const Value& local_id, const Value& members);

void report(std::vector<Error>& problems, std::string place, std::string cause, std::string fix);
/// The value of that key, to be changed. CHECKs that there is one.
[[nodiscard]] Value& value_of(Loaded& loaded, std::string_view section, std::string_view key);
/// The ids of a list of nodes.
[[nodiscard]] std::vector<NodeId> ids_of(const Value& value);

/// The values in force, one for each key and profile, without the layout. A part of load().
[[nodiscard]] Loaded load_values(const Sources& sources, std::vector<Error>& problems);

}  // namespace spindrift::config
