// Changes of a roster, one behind the other.
#include <spindrift/core/roster.hpp>

#include <algorithm>

#include <spindrift/core/bytes.hpp>

namespace spindrift {
namespace {

void apply(Roster& roster, const RosterChange& change) {
  const auto at = std::ranges::find(roster.nodes, change.node, &NodeAddress::node);
  switch (change.kind) {
    case RosterChange::Kind::add: roster.nodes.push_back({change.node, change.endpoint}); break;
    case RosterChange::Kind::remove: roster.nodes.erase(at); break;
    case RosterChange::Kind::move: at->endpoint = change.endpoint; break;
  }
}

Error impossible(std::string what) { return Error(ErrorKind::bad_argument, std::move(what)); }

Result<void> check_endpoint(const std::string& endpoint) {
  const bool is_printable = printable(std::as_bytes(std::span(endpoint))) == endpoint;
  if (endpoint.size() <= endpoint_bytes_max && is_printable) return {};
  return impossible("an address has at most " + std::to_string(endpoint_bytes_max) + " printable characters")
      .fix("give it as host:port");
}

}  // namespace

const NodeAddress* Roster::find(NodeId node) const noexcept {
  const auto at = std::ranges::find(nodes, node, &NodeAddress::node);
  return at == nodes.end() ? nullptr : &*at;
}

std::string Roster::endpoint_of(NodeId node) const {
  const NodeAddress* const there = find(node);
  return there == nullptr ? std::string() : there->endpoint;
}

Digest Roster::digest() const {
  ByteWriter writer;
  writer.put(edition);
  for (const NodeAddress& each : nodes) {
    writer.put(each.node, std::uint64_t{each.endpoint.size()});
    writer.put_text(each.endpoint, each.endpoint.size());
  }
  return digest_of(writer.take());
}

bool in_effect(const Roster& roster, const RosterChange& change) {
  const NodeAddress* const there = roster.find(change.node);
  if (change.kind == RosterChange::Kind::remove) return there == nullptr;
  return there != nullptr && there->endpoint == change.endpoint;
}

Result<void> check(const Roster& roster, const RosterChange& change) {
  const NodeAddress* const there = roster.find(change.node);
  const std::string node = "node " + std::to_string(change.node.value());
  if (change.kind == RosterChange::Kind::add) {
    if (there != nullptr && there->endpoint == change.endpoint) return {};
    if (there != nullptr) {
      return impossible(node + " is in the roster already, at " + (there->endpoint.empty() ? "no address" : there->endpoint))
          .fix("move it to another address, or add a node with another id");
    }
    if (roster.nodes.size() >= roster_count_max) {
      return impossible("the roster has " + std::to_string(roster_count_max) + " nodes, as many as it may")
          .fix("remove nodes that are not needed any more");
    }
    return check_endpoint(change.endpoint);
  }
  if (there == nullptr) return impossible(node + " is not in the roster").fix("see the roster: spindrift group roster");
  if (change.kind == RosterChange::Kind::move) return check_endpoint(change.endpoint);
  if (roster.nodes.size() > 1) return {};
  return impossible(node + " is the only one in the roster").fix("add another one first, or end the group by stopping it");
}

Roster next_edition(const Roster& roster, std::span<const RosterChange> changes) {
  Roster next = roster;
  for (const RosterChange& change : changes) {
    if (check(next, change) && !in_effect(next, change)) apply(next, change);
  }
  if (next.nodes != roster.nodes) ++next.edition;
  return next;
}

}  // namespace spindrift
