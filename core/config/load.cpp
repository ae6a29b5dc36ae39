// From values to a view: the sizes of the profiles, the layout's text, the members, and the digest of what all must share.
#include <spindrift/core/config/load.hpp>

#include <algorithm>
#include <bit>
#include <charconv>

#include <fmt/format.h>

#include <spindrift/core/config/ini.hpp>
#include <spindrift/core/config/layout.hpp>
#include <spindrift/core/config/resolve.hpp>
#include <spindrift/core/config/text.hpp>

namespace spindrift::config {
namespace {

using Profiles = std::map<std::string, Profile, std::less<>>;

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  CHECK(std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc());
  return value;
}

Value& value_of(Loaded& loaded, std::string_view section, std::string_view key) {
  for (Value& value : loaded.values) {
    if (value.section == section && value.key->name == key) return value;
  }
  CHECK(false);
  return loaded.values.front();
}

std::uint64_t derived_ring_bytes(std::uint64_t message_bytes_max) {
  constexpr std::uint64_t smallest = std::uint64_t{1} << 20;
  return std::bit_ceil(std::max(smallest, 4 * (message_bytes_max + 16)));
}

/// The sizes of one profile; fills in a ring size that is not set.
Profile load_profile(Loaded& loaded, const std::string& section, std::vector<Error>& problems) {
  const Value& largest = value_of(loaded, section, "max_smc_payload_size");
  Value& ring = value_of(loaded, section, "ring_size");
  Profile profile;
  profile.message_bytes_max = number(largest.text);
  profile.window_messages = number(value_of(loaded, section, "window_size").text);
  if (ring.text.empty()) {
    ring.text = std::to_string(derived_ring_bytes(profile.message_bytes_max));
    ring.origin = fmt::format("default, derived from max_smc_payload_size = {}", largest.text);
  }
  profile.ring_bytes = number(ring.text);
  if (!std::has_single_bit(profile.ring_bytes)) {
    problems.push_back(Error(ErrorKind::bad_config, fmt::format("ring_size = {} is no power of two", profile.ring_bytes))
                           .at(ring.origin)
                           .fix(fmt::format("write {}", std::bit_ceil(profile.ring_bytes))));
  } else if (profile.message_bytes_max > profile.ring_bytes / 2 - 8) {
    const std::string& place = ring.rank == OriginRank::standard ? largest.origin : ring.origin;
    problems.push_back(
        Error(ErrorKind::bad_config,
              fmt::format("in [{}], the largest message, max_smc_payload_size = {}, does not fit into half of "
                          "ring_size = {}, less 8 bytes",
                          section, profile.message_bytes_max, profile.ring_bytes))
            .at(place)
            .fix(fmt::format("raise ring_size to {}, or remove it", std::bit_ceil(2 * (profile.message_bytes_max + 8)))));
  }
  return profile;
}

Profiles load_profiles(Loaded& loaded, std::vector<Error>& problems) {
  std::vector<std::string> sections;
  for (const Value& value : loaded.values) {
    if (value.key->section == profile_section && (sections.empty() || sections.back() != value.section)) {
      sections.push_back(value.section);
    }
  }
  Profiles profiles;
  for (const std::string& section : sections) {
    profiles.emplace(section.substr(profile_prefix.size()), load_profile(loaded, section, problems));
  }
  return profiles;
}

/// A layout's text, kept alive beside the source that points into it.
struct LayoutText {
  std::string text;
  LayoutSource source;
};

/// The value that says the layout: the strongest of four keys, of which only one may be given at its strength.
const Value* layout_value(const Loaded& loaded, std::vector<Error>& problems) {
  const Value* chosen = nullptr;
  for (const Value& value : loaded.values) {
    const bool names_layout =
        value.key->name == "json_layout" || value.key->name == "json_layout_file" || value.key->name == "json_layout_path";
    if (!names_layout || value.text.empty()) continue;
    if (chosen != nullptr && chosen->rank == value.rank) {
      problems.push_back(Error(ErrorKind::bad_config, fmt::format("[{}] {} and [{}] {} both give a layout", chosen->section,
                                                                  chosen->key->name, value.section, value.key->name))
                             .at(value.origin)
                             .fix("remove one of the two"));
      return nullptr;
    }
    if (chosen == nullptr || value.rank > chosen->rank) chosen = &value;
  }
  return chosen;
}

/// Fills `to`; false if the text cannot be had.
bool load_layout_text(const Value& value, const Sources& sources, LayoutText& to, std::vector<Error>& problems) {
  if (value.key->type == KeyType::json) {
    to.text = value.text;
    to.source.file = value.rank == OriginRank::file ? sources.name : value.origin;
    to.source.line = value.line;
  } else {
    auto text = sources.read_layout_file(value.text);
    if (!text) {
      std::string fix = text.error().fix();
      problems.push_back(
          Error(ErrorKind::bad_config, fmt::format("the layout file {} cannot be read", in_quotes(value.text)))
              .at(value.origin)
              .because(std::move(text).error())
              .fix(std::move(fix)));
      return false;
    }
    to.text = std::move(text).value();
    to.source.file = value.text;
  }
  to.source.text = to.text;
  return true;
}

std::vector<NodeId> load_members(Loaded& loaded, const Layout& layout, const LayoutSource& source,
                                 std::vector<Error>& problems) {
  Value& value = value_of(loaded, "SPINDRIFT", "members");
  std::vector<NodeId> members;
  if (!value.text.empty()) {
    for (const std::string_view id : split(value.text, ',')) members.emplace_back(static_cast<std::uint32_t>(number(id)));
    return members;
  }
  members = members_of(layout);
  if (members.empty()) {
    problems.push_back(Error(ErrorKind::bad_config, "nothing says who the members of the group are")
                           .at(place_in(source))
                           .fix("name them: [SPINDRIFT] members = 0, 1, 2"));
  }
  for (const NodeId id : members) value.text += fmt::format("{}{}", value.text.empty() ? "" : ", ", id.value());
  value.origin = "default, derived from the layout";
  return members;
}

void load_view(const Sources& sources, Loaded& loaded, std::vector<Error>& problems) {
  const Profiles profiles = load_profiles(loaded, problems);
  const Value* const value = layout_value(loaded, problems);
  LayoutText layout_text;
  if (value == nullptr || !load_layout_text(*value, sources, layout_text, problems)) return;
  const std::size_t problems_before = problems.size();
  const Layout layout = parse_layout(layout_text.source, problems);
  if (problems.size() != problems_before) return;
  const std::vector<NodeId> members = load_members(loaded, layout, layout_text.source, problems);
  if (members.empty()) return;
  loaded.view = resolve(layout, members, profiles, layout_text.source, problems);
}

template <class Ids>
std::string joined(const Ids& ids) {
  std::string text;
  for (const NodeId id : ids) text += fmt::format(" {}", id.value());
  return text;
}

/// One line for each thing that members must agree on. Names hold neither blanks nor line ends, so no two configurations
/// that differ have the same text.
std::string agreement(const Loaded& loaded) {
  std::string text = "spindrift configuration 1\n";
  for (const Value& value : loaded.values) {
    const Key& key = *value.key;
    const bool in_view = key.section == profile_section || key.section == "LAYOUT" || key.name.starts_with("json_layout") ||
                         key.name == "members";
    if (key.scope != KeyScope::group || !key.used || (in_view && loaded.view)) continue;
    text += fmt::format("{}/{} {}\n", value.section, key.name, value.text);
  }
  if (!loaded.view) return text;
  text += fmt::format("members{}\n", joined(loaded.view->members));
  for (const SubgroupView& subgroup : loaded.view->subgroups) {
    text += fmt::format("subgroup {} {} ring {} window {} message {}\n members{}\n senders{}\n topics {}\n", subgroup.name,
                        subgroup.mode == DeliveryMode::ordered ? "ordered" : "unordered", subgroup.profile.ring_bytes,
                        subgroup.profile.window_messages, subgroup.profile.message_bytes_max, joined(subgroup.members),
                        joined(subgroup.senders), fmt::join(subgroup.topics, " "));
  }
  return text;
}

}  // namespace

Loaded load(const Sources& sources, std::vector<Error>& problems) {
  Loaded loaded = load_values(sources, problems);
  load_view(sources, loaded, problems);
  loaded.digest = digest_of(agreement(loaded));
  return loaded;
}

}  // namespace spindrift::config
