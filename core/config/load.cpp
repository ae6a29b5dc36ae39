// From values to a view: the sizes of the profiles, the layout's text, the members, and the digest of what all must share.
#include <spindrift/core/config/load.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include <spindrift/core/config/addresses.hpp>
#include <spindrift/core/config/ini.hpp>
#include <spindrift/core/config/layout.hpp>
#include <spindrift/core/config/load_contacts.hpp>
#include <spindrift/core/config/load_listeners.hpp>
#include <spindrift/core/config/resolve.hpp>
#include <spindrift/core/config/text.hpp>
#include <spindrift/core/ids_text.hpp>

namespace spindrift::config {
namespace {

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  CHECK(std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc());
  return value;
}

/// The ring for large messages, if there is one.
void load_bulk_ring(Loaded& loaded, const std::string& section, Profile& profile, std::vector<Error>& problems) {
  constexpr std::uint64_t smallest = 4096;
  constexpr std::uint64_t least_large = 16;  // in place of the message, so much of it lies in the other ring
  constexpr std::uint64_t alignment = cache_line_bytes;
  const Value& bulk = value_of(loaded, section, "bulk_ring_bytes");
  const Value& large = value_of(loaded, section, "large_message_bytes");
  const std::uint64_t bytes = number(bulk.text);
  const std::uint64_t above = number(large.text);
  if (bytes == 0 || above == 0) return;
  const std::uint64_t needed =
      std::bit_ceil(std::max(smallest, 2 * ((profile.message_bytes_max + alignment - 1) / alignment * alignment)));
  if (!std::has_single_bit(bytes) || bytes < smallest) {
    report(problems, bulk.origin, fmt::format("bulk_ring_bytes = {} is no power of two of at least {}", bytes, smallest),
           fmt::format("write {}, or 0 for none", std::max(needed, std::bit_ceil(bytes))));
  } else if (bytes < needed) {
    report(problems, bulk.origin,
           fmt::format("in [{}], the largest message, max_smc_payload_size = {}, does not fit into half "
                       "of bulk_ring_bytes = {}",
                       section, profile.message_bytes_max, bytes),
           fmt::format("raise bulk_ring_bytes to {}", needed));
  } else if (above < least_large) {
    report(problems, large.origin, fmt::format("large_message_bytes = {} is below {}", above, least_large),
           "write 64 KiB, or 0 if no message is to be large");
  } else {
    profile.bulk_ring_bytes = bytes;
    profile.large_message_bytes = above;
  }
}

/// The sizes of one profile; fills in a ring size that is not set.
Profile load_profile(Loaded& loaded, const std::string& section, std::vector<Error>& problems) {
  const Value& largest = value_of(loaded, section, "max_smc_payload_size");
  Value& ring = value_of(loaded, section, "ring_size");
  Profile profile;
  profile.message_bytes_max = number(largest.text);
  profile.split_rows = value_of(loaded, "SPINDRIFT", "split_rows").text == "true";
  profile.window_messages = number(value_of(loaded, section, "window_size").text);
  load_bulk_ring(loaded, section, profile, problems);
  const bool has_large = profile.ring_payload_max() < profile.message_bytes_max;
  const Value& largest_in_ring = has_large ? value_of(loaded, section, "large_message_bytes") : largest;
  if (ring.text.empty()) {
    ring.text = std::to_string(derived_ring_bytes(profile.ring_payload_max()));
    ring.origin = fmt::format("default, derived from {} = {}", largest_in_ring.key->name, largest_in_ring.text);
  }
  profile.ring_bytes = number(ring.text);
  if (!std::has_single_bit(profile.ring_bytes)) {
    report(problems, ring.origin, fmt::format("ring_size = {} is no power of two", profile.ring_bytes),
           fmt::format("write {}", std::bit_ceil(profile.ring_bytes)));
  } else if (const std::uint64_t most = profile.ring_payload_max(); most > profile.ring_bytes / 2 - 8) {
    const std::string& place = ring.rank == OriginRank::standard ? largest_in_ring.origin : ring.origin;
    report(problems, place,
           fmt::format("in [{}], the largest message{}, {} = {}, does not fit into half of "
                       "ring_size = {}, less 8 bytes",
                       section, has_large ? " that is not large" : "", largest_in_ring.key->name, most, profile.ring_bytes),
           fmt::format("raise ring_size to {}, or remove it", std::bit_ceil(2 * (most + 8))));
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
      report(problems, value.origin,
             fmt::format("[{}] {} and [{}] {} both give a layout", chosen->section, chosen->key->name, value.section,
                         value.key->name),
             "remove one of the two");
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

/// Ids of a group that whoever is present founds, where nothing names them.
constexpr std::uint32_t members_by_default = 32;

std::vector<NodeId> load_members(Loaded& loaded, const Layout& layout, const LayoutSource& source,
                                 std::vector<Error>& problems) {
  Value& value = value_of(loaded, "SPINDRIFT", "members");
  if (value.unusable) return {};
  if (!value.text.empty()) return ids_of(value);
  if (asks_contacts(loaded)) return own_node(loaded);
  std::vector<NodeId> members = members_of(layout);
  const bool present = value_of(loaded, "SPINDRIFT", "founding").text == "present";
  if (present) {
    std::set<NodeId> all(members.begin(), members.end());
    for (std::uint32_t id = 0; id < members_by_default; ++id) all.emplace(id);
    members.assign(all.begin(), all.end());
  }
  if (members.empty()) {
    report(problems, place_in(source), "nothing says who the members of the group are",
           "name them: [SPINDRIFT] members = 0, 1, 2");
  }
  if (members.size() > member_count_max) {
    report(problems, place_in(source),
           fmt::format("the layout needs {} members, and a group has {} at most", members.size(), member_count_max),
           "let it name fewer nodes, or ask for fewer");
    return {};
  }
  value.text = listed(members);
  value.origin = present ? "default, because [SPINDRIFT] founding is present" : "default, derived from the layout";
  return members;
}

/// The founders among `members`, in their order, so that equal sets are equal text.
void load_founders(Loaded& loaded, const std::vector<NodeId>& members, std::vector<Error>& problems) {
  Value& value = value_of(loaded, "SPINDRIFT", "founders");
  if (const Value& founding = value_of(loaded, "SPINDRIFT", "founding"); founding.text == "present") {
    if (!value.text.empty())
      report(problems, value.origin, "founders are named, and whoever is present founds the group",
             "remove [SPINDRIFT] founders, or founding = present");
    if (value_of(loaded, "SPINDRIFT", "fabric").text != "shm")
      report(problems, founding.origin,
             "whoever is present founds the group, and the fabric, which is not shm, does not know who is",
             "write a file that names the founders ([SPINDRIFT] founding = named), or set neither fabric nor addresses");
    return;
  }
  if (bootstraps(loaded) || told_by_contacts(loaded)) return load_founders_by_contacts(loaded, problems);
  if (value.text.empty()) {
    value.text = listed(members);
    value.origin = "default, all members";
    return;
  }
  std::set<NodeId> founders;
  for (const NodeId id : ids_of(value)) {
    founders.insert(id);
    if (std::find(members.begin(), members.end(), id) != members.end()) continue;
    report(problems, value.origin, fmt::format("founder {} is no member of the group", id),
           fmt::format("add {} to [SPINDRIFT] members, or remove it here", id));
  }
  std::vector<NodeId> ordered;
  std::copy_if(members.begin(), members.end(), std::back_inserter(ordered),
               [&](NodeId id) { return founders.contains(id); });
  value.text = listed(ordered);
}

/// The fabric if nobody has written it: members whose addresses are given may be on other hosts, and neighbors go on reading
/// each other in place. All members come to the same one if all have addresses, which the digest holds them to.
void choose_fabric(Loaded& loaded) {
  Value& fabric = value_of(loaded, "SPINDRIFT", "fabric");
  if (fabric.rank != OriginRank::standard || fabric.unusable) return;
  const bool has_addresses = !value_of(loaded, "SPINDRIFT", "addresses").text.empty();
  const bool between_hosts = has_addresses || asks_contacts(loaded);
  fabric.text = between_hosts ? "shm+tcp" : "shm";
  if (between_hosts) fabric.origin = fmt::format("default, because {} are given", has_addresses ? "addresses" : "contacts");
}

/// Whether the fabric hands strangers' bytes to a library before anything shows who sent them.
bool provider_meets_strangers(std::string_view fabric) {
  const std::string_view name = fabric.starts_with("shm+") ? fabric.substr(4) : fabric;
  return name.starts_with("ofi:") || name.starts_with("vq:") || name == "verbs";
}

/// See Config::proves_members.
bool proves_members(Loaded& loaded) {
  const std::string& fabric = value_of(loaded, "SPINDRIFT", "fabric").text;
  const Value& security = value_of(loaded, "SPINDRIFT", "security");
  if (fabric == "shm" || security.text == "none") return false;
  return !provider_meets_strangers(fabric) || loaded.needs_trust || security.rank != OriginRank::standard;
}

/// Such a fabric stays on loopback, unless somebody answers for the network.
void check_network(Loaded& loaded, const std::vector<NodeId>& members, std::vector<Error>& problems) {
  const std::string& fabric = value_of(loaded, "SPINDRIFT", "fabric").text;
  if (!provider_meets_strangers(fabric)) return;
  const Value& value = value_of(loaded, "SPINDRIFT", "addresses");
  const auto beyond = std::find_if(members.begin(), members.end(), [&](NodeId id) {
    const auto address = address_in(value.text, id);
    return address && !on_loopback(*address);
  });
  loaded.needs_trust = beyond != members.end();
  if (!loaded.needs_trust || value_of(loaded, "SPINDRIFT", "network_trusted").text == "true") return;
  report(
      problems, value.origin,
      fmt::format("node {} listens at {}, which other hosts can reach, and {} hands the bytes of whoever reaches it to {} "
                  "before anything shows who sent them, and encrypts nothing",
                  *beyond, *address_in(value.text, *beyond), fabric, fabric.ends_with("verbs") ? "rdma-core" : "libfabric"),
      "use shm+tcp, whose members prove who they are (spindrift keys init makes their keys); or give the members a network "
      "of their own (SECURITY.md) and say [SPINDRIFT] network_trusted = true");
}

/// The subgroups that these members make, adequate or not.
View view_of(const Plans& plans, const std::vector<NodeId>& members) {
  View view;
  view.members = members;
  view.subgroups = allocate(plans.layout, plans.profiles, members, nullptr);
  return view;
}

/// See Plans::unloggable. Where whoever is present founds, no node keeps a record of views.
std::vector<Error> unloggable(Loaded& loaded) {
  std::vector<Error> reasons;
  const Value& directory = value_of(loaded, "PERS", "file_path");
  if (directory.text.empty() && !directory.unusable) {
    reasons.push_back(Error(ErrorKind::bad_config, "no directory is named for its members' journals")
                          .fix("name one on a disk: [PERS] file_path = /var/lib/spindrift; or let its storage be memory"));
  }
  if (value_of(loaded, "SPINDRIFT", "founding").text == "present") {
    reasons.push_back(Error(ErrorKind::bad_config,
                            "no founders are named: where whoever is present founds the group, no node remembers a view")
                          .fix("write [SPINDRIFT] founding = named, or let its storage be memory"));
  }
  return reasons;
}

void load_view(const Sources& sources, Loaded& loaded, std::vector<Error>& problems) {
  auto plans = std::make_shared<Plans>();
  plans->profiles = load_profiles(loaded, problems);
  const Value* const value = layout_value(loaded, problems);
  LayoutText layout_text;
  if (value == nullptr || !load_layout_text(*value, sources, layout_text, problems)) return;
  const std::size_t problems_before = problems.size();
  plans->layout = parse_layout(layout_text.source, problems);
  const bool sound = problems.size() == problems_before;
  if (!sound && value_of(loaded, "SPINDRIFT", "members").text.empty()) return;  // the layout would have to say them
  const std::vector<NodeId> members = load_members(loaded, plans->layout, layout_text.source, problems);
  if (members.empty()) return;
  load_founders(loaded, members, problems);
  check_contacts(loaded, problems);
  check_addresses(loaded, members, problems);
  check_other_ports(loaded, members, problems);
  check_network(loaded, members, problems);
  plans->unloggable = unloggable(loaded);
  check_logged(plans->layout, plans->unloggable, layout_text.source, problems);
  check_histories(plans->layout, plans->profiles, layout_text.source, problems);
  std::ranges::move(notes_of_histories(plans->layout, plans->profiles, layout_text.source),
                    std::back_inserter(loaded.notes));
  if (!sound && told_by_contacts(loaded)) return;
  if (!sound) return check_plans(plans->layout, members, plans->profiles, layout_text.source, problems);
  loaded.view = told_by_contacts(loaded)
                    ? view_of(*plans, members)  // the layout may name nodes that the roster has
                    : resolve(plans->layout, members, plans->profiles, layout_text.source, problems);
  loaded.plans = std::move(plans);
}

/// An id that nobody has set is none yet: one file serves all members.
std::vector<Error> unfit_for_members(Loaded& loaded) {
  std::vector<Error> unfit;
  const bool some = std::any_of(loaded.values.begin(), loaded.values.end(), [](const Value& value) {
    return value.key->name.starts_with("json_layout") && (value.unusable || !value.text.empty());
  });
  if (!some) unfit.push_back(no_layout(loaded.name));
  const Value& local_id = value_of(loaded, "DERECHO", "local_id");
  const Value& members = value_of(loaded, "SPINDRIFT", "members");
  if (local_id.unusable || local_id.rank == OriginRank::standard || members.unusable || members.text.empty()) return unfit;
  if (asks_contacts(loaded)) return unfit;
  const std::vector<NodeId> ids = ids_of(members);
  const NodeId self(static_cast<std::uint32_t>(number(local_id.text)));
  if (std::find(ids.begin(), ids.end(), self) == ids.end()) unfit.push_back(no_member(local_id, members));
  return unfit;
}

}  // namespace

void report(std::vector<Error>& problems, std::string place, std::string cause, std::string fix) {
  problems.push_back(Error(ErrorKind::bad_config, std::move(cause)).at(std::move(place)).fix(std::move(fix)));
}

Value& value_of(Loaded& loaded, std::string_view section, std::string_view key) {
  for (Value& value : loaded.values) {
    if (value.section == section && value.key->name == key) return value;
  }
  CHECK(false);
  return loaded.values.front();
}

std::vector<NodeId> ids_of(const Value& value) {
  std::vector<NodeId> ids;
  for (const std::string_view id : split(value.text, ',')) ids.emplace_back(static_cast<std::uint32_t>(number(id)));
  return ids;
}

Error no_layout(const std::string& name) {
  return Error(ErrorKind::bad_config, "the configuration has no layout: it names no subgroup")
      .at(name)
      .fix(R"(add a section [LAYOUT] with json_layout = '[{"name": "main"}]' and name [SPINDRIFT] members; '[]' is a group )"
           "whose subgroups are all created while it runs");
}

Error no_member(const Value& local_id, const Value& members) {
  const std::string variable = environment_variable("DERECHO", "local_id");
  return Error(ErrorKind::bad_config,
               fmt::format("this process is node {}, which is not among the members {}", local_id.text, members.text))
      .at(local_id.origin)
      .fix(fmt::format("set [DERECHO] local_id (or {}) to a member's id, or add {} to [SPINDRIFT] members", variable,
                       local_id.text));
}

Loaded load(const Sources& sources, std::vector<Error>& problems) {
  Loaded loaded = load_values(sources, problems);
  choose_fabric(loaded);
  load_view(sources, loaded, problems);
  loaded.unfit = unfit_for_members(loaded);
  loaded.proves_members = proves_members(loaded);
  check_client_proofs(loaded, problems);
  check_client_rights(loaded, problems);
  loaded.agreed = agreement(loaded);
  loaded.digest = digest_of(loaded.agreed);
  return loaded;
}

}  // namespace spindrift::config
