// Calls for another roster, before they are made.
#include <spindrift/group/roster_checks.hpp>

#include <utility>

#include <spindrift/core/config/addresses.hpp>

namespace spindrift::group {

std::string public_name_of(const RosterCall& call) {
  if (call.revive) return call.revive->found ? "found" : "revive";
  if (call.trim) return "trim_log";
  if (call.adopt) return "adopt_log";
  const bool one = call.changes.size() == 1;
  if (one && call.changes.front().kind == RosterChange::Kind::create) return "create_subgroup";
  if (one && call.changes.front().kind == RosterChange::Kind::change) return "change_subgroup";
  if (one && call.changes.front().kind == RosterChange::Kind::drop) return "drop_subgroup";
  return "change_roster";
}

Result<void> check_address(const RosterChange& change, const std::string& fabric) {
  const std::string node = "node " + std::to_string(change.node.value());
  if (fabric == "shm" && change.kind == RosterChange::Kind::move) {
    return Error(ErrorKind::bad_argument, node + " cannot move: over shared memory nobody has an address")
        .fix("start it on the host of the others; a group that reaches other hosts is one with [SPINDRIFT] addresses");
  }
  if (!change.has_endpoint() || (fabric == "shm" && change.endpoint.empty())) return {};
  if (fabric == "shm") {
    return Error(ErrorKind::bad_argument, node + " is given an address, and over shared memory nobody has one")
        .fix("leave the address out");
  }
  auto parsed = config::parse_host_port(change.endpoint);
  if (!parsed) {
    return Error(ErrorKind::bad_argument, node + " needs an address for [SPINDRIFT] fabric = " + fabric)
        .because(std::move(parsed).error())
        .fix("give it as host:port, and to the command as " + std::to_string(change.node.value()) + "@host:port");
  }
  if (!config::is_callable(*std::move(parsed))) {
    return Error(ErrorKind::bad_argument, "nobody can call " + node + " at " + change.endpoint)
        .fix("give the host and the port at which others reach it");
  }
  return {};
}

}  // namespace spindrift::group
