// From values to JSON and back, every field checked.
#include <spindrift/group/roster_messages.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include <spindrift/core/config/addresses.hpp>

namespace spindrift::group {
namespace {

using Json = nlohmann::json;

constexpr int version = 1;
constexpr std::array<std::string_view, 5> kinds{"add", "remove", "move", "drain", "undrain"};

Error not_understood(const std::string& what) {
  return Error(ErrorKind::bad_input, "not understood: " + what)
      .fix("use the spindrift command of the release that runs there");
}

Json json_of(const Roster& roster) {
  Json nodes = Json::array();
  for (const NodeAddress& each : roster.nodes) nodes.push_back({{"node", each.node.value()}, {"endpoint", each.endpoint}});
  Json drained = Json::array();
  for (const NodeId node : roster.drained) drained.push_back(node.value());
  return {{"edition", roster.edition}, {"nodes", std::move(nodes)}, {"drained", std::move(drained)}};
}

/// The library converts what is no such number without a word.
Result<NodeId> node_from(const Json& json) {
  if (json.is_number_unsigned() && json.get<std::uint64_t>() < std::numeric_limits<std::uint32_t>::max())
    return NodeId(json.get<std::uint32_t>());
  return not_understood("a node's id is a number from 0 to " +
                        std::to_string(std::numeric_limits<std::uint32_t>::max() - 1));
}

/// The value that `read` makes of the text; its own errors, and those of the parser, become one.
template <class T, class Read>
Result<T> parsed(std::string_view text, const Read& read) {
  try {
    const Json json = Json::parse(text);
    if (json.at("version").get<int>() != version) return not_understood("it is of another version");
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
  }
  const auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(call.patience).count();
  return Json{{"version", version}, {"changes", std::move(changes)}, {"patience_ms", patience}}.dump();
}

Result<RosterCall> decode_roster_call(std::string_view text) {
  return parsed<RosterCall>(text, [](const Json& json) -> Result<RosterCall> {
    RosterCall call;
    const auto patience = json.at("patience_ms").get<std::uint64_t>();
    const auto most = std::chrono::duration_cast<std::chrono::milliseconds>(roster_patience_max).count();
    if (patience > static_cast<std::uint64_t>(most)) return not_understood("more patience than there can be");
    call.patience = std::chrono::milliseconds(patience);
    for (const Json& each : json.at("changes")) {
      const auto kind = std::ranges::find(kinds, each.at("kind").get<std::string>());
      if (kind == kinds.end()) return not_understood("no such change of a roster");
      SPINDRIFT_TRY_ASSIGN(const NodeId node, node_from(each.at("node")));
      call.changes.push_back({static_cast<RosterChange::Kind>(kind - kinds.begin()), node, each.at("endpoint")});
    }
    SPINDRIFT_TRY(check_count(call.changes));
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
  return roster;
}

Result<Roster> outcome_of(const Json& json) {
  if (json.contains("error")) {
    const Json& error = json.at("error");
    const auto kind = error.at("kind").get<std::uint32_t>();
    if (kind > static_cast<std::uint32_t>(ErrorKind::unsupported)) return not_understood("an error of unknown kind");
    Error told(static_cast<ErrorKind>(kind), error.at("message").get<std::string>());
    static_cast<void>(std::move(told).at(error.at("place").get<std::string>()));
    return std::move(told).fix(error.at("fix").get<std::string>());
  }
  Roster roster;
  roster.edition = json.at("roster").at("edition").get<std::uint64_t>();
  for (const Json& each : json.at("roster").at("nodes")) {
    SPINDRIFT_TRY_ASSIGN(const NodeId node, node_from(each.at("node")));
    roster.nodes.push_back({node, each.at("endpoint")});
  }
  for (const Json& each : json.at("roster").at("drained")) {
    SPINDRIFT_TRY_ASSIGN(const NodeId node, node_from(each));
    roster.drained.push_back(node);
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
