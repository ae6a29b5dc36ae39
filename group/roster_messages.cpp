// From values to JSON and back, every field checked.
#include <spindrift/group/roster_messages.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include <spindrift/core/config/addresses.hpp>
#include <spindrift/core/json_number.hpp>

namespace spindrift::group {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t version = 3;
// Each of those that go on, as if it were a change of the roster: a member that knows no such kind refuses it.
constexpr std::string_view revive_kind = "revive";
constexpr std::string_view found_kind = "found";
constexpr std::string_view trim_kind = "trim";  // likewise
constexpr std::string_view adopt_kind = "adopt";
// A change of the layout's rings is asked for as one of a subgroup: whoever is asked knows which it is.
constexpr std::array<std::string_view, 8> kinds{"add", "remove", "move", "drain", "undrain", "create", "drop", "change"};

Error not_understood(const std::string& what) {
  return Error(ErrorKind::bad_input, "not understood: " + what)
      .fix("use the spindrift command of the release that runs there");
}

Json json_of(const std::vector<NodeId>& nodes) {
  Json list = Json::array();
  for (const NodeId node : nodes) list.push_back(node.value());
  return list;
}

Json json_of(const AddedSubgroup& subgroup) {
  const Profile& profile = subgroup.profile;
  return {{"name", subgroup.name},
          {"ordered", subgroup.mode == DeliveryMode::ordered},
          {"ring_bytes", profile.ring_bytes},
          {"window_messages", profile.window_messages},
          {"message_bytes_max", profile.message_bytes_max},
          {"bulk_ring_bytes", profile.bulk_ring_bytes},
          {"large_message_bytes", profile.large_message_bytes},
          {"split_rows", profile.split_rows},
          {"members", json_of(subgroup.members)},
          {"senders", json_of(subgroup.senders)}};
}

Json json_of(const std::vector<RingSizes>& sizes) {
  Json list = Json::array();
  for (const RingSizes& each : sizes) {
    list.push_back(
        {{"subgroup", each.subgroup}, {"ring_bytes", each.ring_bytes}, {"window_messages", each.window_messages}});
  }
  return list;
}

Json json_of(const Roster& roster) {
  Json nodes = Json::array();
  for (const NodeAddress& each : roster.nodes) nodes.push_back({{"node", each.node.value()}, {"endpoint", each.endpoint}});
  Json added = Json::array();
  for (const AddedSubgroup& each : roster.added) added.push_back(json_of(each));
  return {{"edition", roster.edition},
          {"nodes", std::move(nodes)},
          {"drained", json_of(roster.drained)},
          {"added", std::move(added)},
          {"sizes", json_of(roster.sizes)}};
}

/// The library converts what is no such number without a word.
Result<NodeId> node_from(const Json& json) {
  if (json.is_number_unsigned() && json.get<std::uint64_t>() < std::numeric_limits<std::uint32_t>::max())
    return NodeId(json.get<std::uint32_t>());
  return not_understood("a node's id is a number from 0 to " +
                        std::to_string(std::numeric_limits<std::uint32_t>::max() - 1));
}

Result<std::vector<NodeId>> nodes_from(const Json& json) {
  std::vector<NodeId> nodes;
  for (const Json& each : json) {
    SPINDRIFT_TRY_ASSIGN(const NodeId node, node_from(each));
    nodes.push_back(node);
  }
  return nodes;
}

/// Whether it makes sense is for whoever takes it to check: what it leaves open is 0.
Result<AddedSubgroup> subgroup_from(const Json& json) {
  AddedSubgroup subgroup;
  subgroup.name = json.at("name").get<std::string>();
  subgroup.mode = json.at("ordered").get<bool>() ? DeliveryMode::ordered : DeliveryMode::unordered;
  Profile& profile = subgroup.profile;
  profile.ring_bytes = whole_number(json.at("ring_bytes"));
  profile.window_messages = whole_number(json.at("window_messages"));
  profile.message_bytes_max = whole_number(json.at("message_bytes_max"));
  profile.bulk_ring_bytes = whole_number(json.at("bulk_ring_bytes"));
  profile.large_message_bytes = whole_number(json.at("large_message_bytes"));
  profile.split_rows = json.at("split_rows").get<bool>();
  SPINDRIFT_TRY_ASSIGN(subgroup.members, nodes_from(json.at("members")));
  SPINDRIFT_TRY_ASSIGN(subgroup.senders, nodes_from(json.at("senders")));
  return subgroup;
}

/// The value that `read` makes of the text; its own errors, and those of the parser, become one.
template <class T, class Read>
Result<T> parsed(std::string_view text, const Read& read) {
  try {
    const Json json = Json::parse(text);
    if (whole_number(json.at("version")) != version) return not_understood("it is of another version");
    return read(json);
  } catch (const Json::exception&) {
    return not_understood("it is no JSON of the form that it should have");
  }
}

}  // namespace

std::string encode(const RosterCall& call) {
  Json changes = Json::array();
  for (const RosterChange& each : call.changes) {
    changes.push_back({{"kind", kinds.at(static_cast<std::size_t>(each.kind))},
                       {"node", each.node.value()},
                       {"endpoint", each.endpoint}});
    if (each.is_of_subgroup()) changes.back()["subgroup"] = json_of(each.subgroup);
  }
  for (const NodeId node : call.revive ? call.revive->members : std::vector<NodeId>())
    changes.push_back({{"kind", call.revive->found ? found_kind : revive_kind},
                       {"node", node.value()},
                       {"force", call.revive->force}});
  if (call.trim)
    changes.push_back({{"kind", trim_kind}, {"subgroup", call.trim->subgroup}, {"below", call.trim->below}});
  if (call.adopt) {
    changes.push_back({{"kind", adopt_kind},
                       {"subgroup", call.adopt->subgroup},
                       {"from", call.adopt->from.value()},
                       {"force", call.adopt->force}});
  }
  const auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(call.patience).count();
  return Json{{"version", version}, {"changes", std::move(changes)}, {"patience_ms", patience}}.dump();
}

namespace {

/// A word that is no change of the roster, of that kind.
Result<void> take_word(const Json& json, const std::string& kind, RosterCall& call) {
  if (kind == trim_kind) {
    if (call.trim) return not_understood("one log is trimmed by each call");
    call.trim = LogTrim{json.at("subgroup").get<std::string>(), whole_number(json.at("below"))};
    return {};
  }
  if (kind == adopt_kind) {
    if (call.adopt) return not_understood("one log is adopted by each call");
    SPINDRIFT_TRY_ASSIGN(const NodeId from, node_from(json.at("from")));
    call.adopt = LogAdoption{json.at("subgroup").get<std::string>(), from, json.at("force").get<bool>()};
    return {};
  }
  if (!call.revive) call.revive.emplace().found = kind == found_kind;
  if (call.revive->found != (kind == found_kind)) return not_understood("a view is revived, or one is founded");
  SPINDRIFT_TRY_ASSIGN(const NodeId node, node_from(json.at("node")));
  call.revive->members.push_back(node);
  call.revive->force = json.at("force").get<bool>();
  return {};
}

}  // namespace

Result<RosterCall> decode_roster_call(std::string_view text) {
  return parsed<RosterCall>(text, [](const Json& json) -> Result<RosterCall> {
    RosterCall call;
    const auto patience = whole_number(json.at("patience_ms"));
    const auto most = std::chrono::duration_cast<std::chrono::milliseconds>(roster_patience_max).count();
    if (patience > static_cast<std::uint64_t>(most)) return not_understood("more patience than there can be");
    call.patience = std::chrono::milliseconds(patience);
    for (const Json& each : json.at("changes")) {
      const std::string named = each.at("kind").get<std::string>();
      if (named == revive_kind || named == found_kind || named == trim_kind || named == adopt_kind) {
        SPINDRIFT_TRY(take_word(each, named, call));
        continue;
      }
      const auto kind = std::ranges::find(kinds, named);
      if (kind == kinds.end()) return not_understood("no such change of a roster");
      SPINDRIFT_TRY_ASSIGN(const NodeId node, node_from(each.at("node")));
      RosterChange& change = call.changes.emplace_back();
      change = {static_cast<RosterChange::Kind>(kind - kinds.begin()), node, each.at("endpoint")};
      if (!change.is_of_subgroup()) continue;
      SPINDRIFT_TRY_ASSIGN(change.subgroup, subgroup_from(each.at("subgroup")));
    }
    SPINDRIFT_TRY(check_count(call.changes));
    if (call.revive && (!call.changes.empty() || call.revive->members.size() > member_count_max))
      return not_understood("a view is revived by a call of its own");
    if (call.trim && (!call.changes.empty() || call.revive))
      return not_understood("a log is trimmed by a call of its own");
    if (call.adopt && (!call.changes.empty() || call.revive || call.trim))
      return not_understood("a log is adopted by a call of its own");
    return call;
  });
}

namespace {

Json json_of(const Result<Roster>& outcome) {
  if (outcome.ok()) return Json{{"version", version}, {"roster", json_of(outcome.value())}};
  const Error& error = outcome.error();
  return Json{{"version", version},
              {"error",
               {{"kind", static_cast<std::uint32_t>(error.kind())},
                {"message", error.message()},
                {"place", error.place()},
                {"fix", error.fix()}}}};
}

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string encode(const Result<Roster>& outcome) { return text_of(json_of(outcome)); }

std::string encode(const std::string& group, const Result<Roster>& outcome) {
  Json json = json_of(outcome);
  json["group"] = group;
  if (outcome.ok()) {  // members tell the rest to whom they have let in
    for (const char* const rest : {"added", "sizes"}) json["roster"][rest] = Json::array();
  }
  return text_of(json);
}

namespace {

// Contacts tell it over the network.
Result<Roster> checked(Roster roster) {
  if (roster.nodes.empty() || roster.nodes.size() > roster_count_max)
    return not_understood("a roster of no size that one has");
  std::set<NodeId> nodes;
  for (const NodeAddress& each : roster.nodes) {
    if (!nodes.insert(each.node).second) return not_understood("a roster that has a node twice");
    if (each.endpoint.empty()) continue;
    if (each.endpoint.size() > endpoint_bytes_max || !config::parse_host_port(each.endpoint))
      return not_understood("a roster with an address that is none");
  }
  for (const NodeId node : roster.drained) {
    if (!nodes.contains(node)) return not_understood("a roster with a drained node that it does not have");
  }
  const auto is_named = [](const RingSizes& sizes) { return valid_layout_name(sizes.subgroup); };
  const bool sized = roster.sizes.size() <= ring_sizes_count_max && std::ranges::all_of(roster.sizes, is_named);
  if (!possible(roster.added) || !sized) return not_understood("a roster with subgroups that there cannot be");
  return roster;
}

Result<Roster> outcome_of(const Json& json) {
  if (json.contains("error")) {
    const Json& error = json.at("error");
    const auto kind = whole_number(error.at("kind"));
    if (kind > static_cast<std::uint64_t>(ErrorKind::unsupported)) return not_understood("an error of unknown kind");
    Error told(static_cast<ErrorKind>(kind), error.at("message").get<std::string>());
    static_cast<void>(std::move(told).at(error.at("place").get<std::string>()));
    return std::move(told).fix(error.at("fix").get<std::string>());
  }
  Roster roster;
  roster.edition = whole_number(json.at("roster").at("edition"));
  for (const Json& each : json.at("roster").at("nodes")) {
    SPINDRIFT_TRY_ASSIGN(const NodeId node, node_from(each.at("node")));
    roster.nodes.push_back({node, each.at("endpoint")});
  }
  SPINDRIFT_TRY_ASSIGN(roster.drained, nodes_from(json.at("roster").at("drained")));
  for (const Json& each : json.at("roster").at("added")) {
    SPINDRIFT_TRY_ASSIGN(AddedSubgroup subgroup, subgroup_from(each));
    roster.added.push_back(std::move(subgroup));
  }
  for (const Json& each : json.at("roster").at("sizes")) {
    roster.sizes.push_back({each.at("subgroup").get<std::string>(), whole_number(each.at("ring_bytes")),
                            whole_number(each.at("window_messages"))});
  }
  return checked(std::move(roster));
}

}  // namespace

Result<Roster> decode_roster_outcome(std::string_view text, const std::string& group) {
  return parsed<Roster>(text, [&](const Json& json) -> Result<Roster> {
    const std::string told = json.at("group").get<std::string>();
    constexpr std::size_t name_length_max = 32;
    if (told != group) return Error(ErrorKind::refused, "it is of another group: " + told.substr(0, name_length_max));
    return outcome_of(json);
  });
}

Result<Roster> decode_roster_outcome(std::string_view text) { return parsed<Roster>(text, outcome_of); }

}  // namespace spindrift::group
