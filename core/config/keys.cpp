// The types of the table of keys: each has one canonical text per value, and helpful words about everything else.
#include <spindrift/core/config/keys.hpp>

#include <algorithm>
#include <charconv>
#include <optional>

#include <unistd.h>

#include <fmt/format.h>

#include <spindrift/core/config/addresses.hpp>
#include <spindrift/core/config/host_number.hpp>
#include <spindrift/core/config/launcher.hpp>
#include <spindrift/core/config/nearest.hpp>
#include <spindrift/core/config/text.hpp>
#include <spindrift/core/log_levels.hpp>
#include <spindrift/core/view.hpp>

namespace spindrift::config {
namespace {

constexpr std::size_t directory_length_max = 80;  // a socket path of 108 bytes must fit below it

Error wrong(const Key& key, std::string_view text) {
  return Error(ErrorKind::bad_config, fmt::format("{} = {} is not valid", key.name, in_quotes(text)))
      .fix("write " + describe_values(key));
}

std::optional<std::int64_t> unit_factor(std::string_view suffix) {
  if (suffix == "KiB") return std::int64_t{1} << 10;
  if (suffix == "MiB") return std::int64_t{1} << 20;
  if (suffix == "GiB") return std::int64_t{1} << 30;
  return std::nullopt;
}

std::optional<std::int64_t> parse_integer(std::string_view text, bool bytes) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc()) return std::nullopt;
  const std::string_view rest = trimmed(text.substr(static_cast<std::size_t>(end - text.data())));
  if (rest.empty()) return number;
  const auto factor = bytes ? unit_factor(rest) : std::nullopt;
  if (!factor || __builtin_mul_overflow(number, *factor, &number)) return std::nullopt;
  return number;
}

Result<std::string> canonical_integer(const Key& key, std::string_view text) {
  const auto number = parse_integer(text, key.unit == "bytes");
  if (!number) return wrong(key, text);
  if (*number < key.lowest || *number > key.highest) {
    return Error(ErrorKind::bad_config, fmt::format("{} = {} is out of range", key.name, in_quotes(text)))
        .fix("write " + describe_values(key));
  }
  return std::to_string(*number);
}

Result<std::string> canonical_boolean(const Key& key, std::string_view text) {
  for (const std::string_view word : {"true", "yes", "on", "1"}) {
    if (text == word) return std::string("true");
  }
  for (const std::string_view word : {"false", "no", "off", "0"}) {
    if (text == word) return std::string("false");
  }
  return wrong(key, text);
}

Result<std::string> canonical_choice(const Key& key, std::string_view text) {
  const auto choices = split(key.choices, '|');
  if (!key.refused.empty() && text == key.refused) {
    return Error(ErrorKind::bad_config, fmt::format("{} = {} is not offered: {}", key.name, in_quotes(text), key.reason))
        .fix("write " + describe_values(key));
  }
  if (std::find(choices.begin(), choices.end(), text) == choices.end()) return wrong(key, text);
  return std::string(text);
}

Result<std::string> canonical_group_name(const Key& key, std::string_view text) {
  const bool fits = !text.empty() && text.size() <= 32 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  if (!fits) return wrong(key, text);
  return std::string(text);
}

Result<std::string> canonical_directory(const Key& key, std::string_view text) {
  std::string path(text);
  if (const auto at = path.find("<uid>"); at != std::string::npos) path.replace(at, 5, std::to_string(::getuid()));
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (path.empty() || path.front() != '/' || path.size() > directory_length_max) return wrong(key, text);
  return path;
}

Result<std::string> canonical_keys_directory(const Key& key, std::string_view text) {
  std::string path(text);
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (!path.starts_with('/') && !path.starts_with("~/")) return wrong(key, text);
  return path;
}

Result<std::string> canonical_node_list(const Key& key, std::string_view text) {
  std::vector<std::int64_t> ids;
  if (trimmed(text).empty()) return std::string();
  for (const std::string_view word : split(text, ',')) {
    const auto id = parse_integer(word, false);
    if (!id || *id < 0 || *id > 0xffff'fffe) {
      return Error(ErrorKind::bad_config,
                   fmt::format("{} is not a node id in {} = {}", in_quotes(word), key.name, in_quotes(text)))
          .fix("write " + describe_values(key));
    }
    if (std::find(ids.begin(), ids.end(), *id) != ids.end()) {
      return Error(ErrorKind::bad_config, fmt::format("node {} is named twice in {}", *id, key.name))
          .fix("name each node once");
    }
    if (ids.size() == member_count_max) {
      return Error(ErrorKind::bad_config, fmt::format("{} names more than {} nodes", key.name, member_count_max))
          .fix(fmt::format("name {} nodes at most: a group has no more members", member_count_max));
    }
    ids.push_back(*id);
  }
  return fmt::format("{}", fmt::join(ids, ", "));
}

Result<std::string> canonical_log_levels(std::string_view text) {
  SPINDRIFT_TRY(log::parse_levels(text, {}));
  return std::string(text);
}

bool same_section(const Key& key, std::string_view section) {
  if (key.section != profile_section) return key.section == section;
  return section.starts_with(profile_prefix) && valid_profile_name(section.substr(profile_prefix.size()));
}

}  // namespace

const Key* find_key(std::string_view section, std::string_view name) {
  for (const Key& key : keys()) {
    if (key.name == name && same_section(key, section)) return &key;
  }
  return nullptr;
}

bool known_section(std::string_view section) {
  return std::any_of(keys().begin(), keys().end(), [&](const Key& key) { return same_section(key, section); });
}

bool valid_profile_name(std::string_view name) {
  return !name.empty() && name.size() <= 40 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

std::string environment_variable(std::string_view section, std::string_view name) {
  std::string variable = section == "SPINDRIFT" ? "SPINDRIFT_" : fmt::format("SPINDRIFT_{}_", section);
  variable += name;
  for (char& c : variable) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (c == '/' || c == '-') c = '_';
  }
  return variable;
}

Result<std::string> canonical_value(const Key& key, std::string_view text) {
  text = trimmed(text);
  // An unset Derecho key may be written with an empty value; it has no effect either way.
  if (!key.used && text.empty()) return std::string();
  if ((key.launched && is_launched(text)) || is_host_number(key, text)) return std::string(text);
  switch (key.type) {
    case KeyType::integer: return canonical_integer(key, text);
    case KeyType::boolean: return canonical_boolean(key, text);
    case KeyType::choice: return canonical_choice(key, text);
    case KeyType::group_name: return canonical_group_name(key, text);
    case KeyType::directory: return canonical_directory(key, text);
    case KeyType::keys_directory: return canonical_keys_directory(key, text);
    case KeyType::node_list: return canonical_node_list(key, text);
    case KeyType::addresses: return canonical_addresses(text);
    case KeyType::contacts: return canonical_contacts(text);
    case KeyType::log_levels: return canonical_log_levels(text);
    case KeyType::text:
    case KeyType::path:
    case KeyType::json: return std::string(text);
  }
  return wrong(key, text);
}

namespace {

std::string describe_type(const Key& key) {
  switch (key.type) {
    case KeyType::integer: {
      const std::string range = fmt::format("an integer from {} to {}", key.lowest, key.highest);
      if (key.unit.empty()) return range;
      return fmt::format("{} ({}{})", range, key.unit, key.unit == "bytes" ? "; KiB, MiB and GiB may follow" : "");
    }
    case KeyType::boolean: return "true or false";
    case KeyType::choice: return fmt::format("{}", fmt::join(split(key.choices, '|'), " or "));
    case KeyType::group_name: return "1 to 32 characters of a-z, 0-9, _ and -";
    case KeyType::directory: return fmt::format("an absolute path of at most {} characters", directory_length_max);
    case KeyType::keys_directory: return "a path that is absolute or begins with ~/, in which <group> and <id> may occur";
    case KeyType::node_list: return "node ids from 0 to 4294967294 separated by commas: 0, 1, 2";
    case KeyType::addresses: return "id@host:port separated by commas: 0@10.0.0.1:7400, 1@10.0.0.2:7400";
    case KeyType::contacts: return "host:port separated by commas: 10.0.0.1:7400, members.cluster:7400";
    case KeyType::log_levels: return "a level, then exceptions: info,smc=trace";
    case KeyType::path: return "a path";
    case KeyType::json: return "a JSON list of subgroups between single quotes";
    case KeyType::text: return "text";
  }
  return {};
}

}  // namespace

std::string describe_values(const Key& key) {
  std::string text = describe_type(key);
  if (key.launched) text += key.type == KeyType::addresses ? "; or launcher:7400" : "; or launcher";
  if (is_host_number(key, "hostname")) text += "; or hostname";
  return text;
}

std::string suggest_key(std::string_view section, std::string_view name) {
  const auto home_of = [](const Key& key) { return key.section == profile_section ? default_profile : key.section; };
  std::vector<std::string_view> here, all;
  for (const Key& key : keys()) {
    if (same_section(key, section)) here.push_back(key.name);
    if (key.name == name) return fmt::format("move it to [{}]", home_of(key));
    all.push_back(key.name);
  }
  if (const auto found = nearest(name, here); !found.empty()) return fmt::format("did you mean {}?", found);
  if (const auto found = nearest(name, all); !found.empty()) {
    const auto meant = std::find_if(keys().begin(), keys().end(), [&](const Key& key) { return key.name == found; });
    return fmt::format("did you mean {} in [{}]?", found, home_of(*meant));
  }
  if (section.empty()) return "remove it, or write the section of its key above it, as [SPINDRIFT]";
  return fmt::format("remove it, or use a key of [{}]: {}", section, fmt::join(here, ", "));
}

std::string suggest_section(std::string_view section) {
  std::vector<std::string_view> known = {default_profile};
  for (const Key& key : keys()) {
    if (key.section != profile_section && key.section != known.back()) known.push_back(key.section);
  }
  if (section.starts_with(profile_prefix))
    return "name the profile with 1 to 40 of A-Z, a-z, 0-9, _ and -: [SUBGROUP/DEFAULT]";
  if (const auto found = nearest(section, known); !found.empty()) return fmt::format("did you mean [{}]?", found);
  return fmt::format("use one of [{}]", fmt::join(known, "], ["));
}

}  // namespace spindrift::config
