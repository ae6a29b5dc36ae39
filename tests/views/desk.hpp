// One member's connections, over a fabric on paper.
#pragma once

#include <catch2/catch.hpp>

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include <spindrift/core/log.hpp>
#include <spindrift/views/links.hpp>

#include "paper_fabric.hpp"

namespace spindrift::views {

inline const GroupIdentity group{"g", {1, 2}};
inline const GroupIdentity other_group{"g", {1, 3}};  ///< of another configuration
inline const std::vector<SubgroupView> shapes(1);

inline View view_of(std::uint64_t id, std::initializer_list<Join> members) {
  View view;
  view.id = ViewId(id);
  view.subgroups.resize(1);
  for (const Join& member : members) {
    view.members.push_back(member.node);
    view.incarnations.push_back(member.incarnation);
    view.roster.nodes.push_back({member.node, {}});
  }
  view.subgroups[0].members = view.subgroups[0].senders = view.members;
  return view;
}

/// The node whose connections have numbers that end with its id.
inline NodeId node_at(fabric::PeerId peer) { return NodeId(static_cast<std::uint32_t>(peer.value() % 10)); }

/// Node 0, of a roster of four, started as 100.
struct Desk {
  explicit Desk(std::vector<NodeId> founders = {}) : founding({NodeId(0), 100}, std::move(founders), {}) {
    REQUIRE(log::set_levels("off").ok());
    view.roster.nodes = roster;
    REQUIRE(links.start());
  }
  /// Everything that follows from what the fabric has to tell.
  std::vector<LinkEvent> hear() {
    std::vector<LinkEvent> events;
    while (auto event = links.next()) {
      if (!std::holds_alternative<LinkHandled>(*event)) events.push_back(std::move(*event));
    }
    return events;
  }
  /// One connection of that node, whose first word is a hello.
  void meet(std::uint32_t peer, std::uint32_t node, std::uint64_t incarnation, bool fresh = true, ViewId at = ViewId(0)) {
    fabric.connected(peer, node);
    fabric.says(peer, encode(group, Hello{NodeId(node), incarnation, fresh, at}, NodeId(0), {}));
  }
  template <class T>
  std::vector<T> sent_to(std::uint32_t peer) const {
    std::vector<T> messages;
    for (const auto& each : fabric.sent) {
      if (each.to != fabric::PeerId(peer)) continue;
      auto message = decode(each.bytes, group, shapes, node_at(each.to));
      if (message && std::holds_alternative<T>(*message)) messages.push_back(std::get<T>(*message));
    }
    return messages;
  }
  [[nodiscard]] bool ended(std::uint32_t peer) const {
    return std::find(fabric.ended.begin(), fabric.ended.end(), fabric::PeerId(peer)) != fabric.ended.end();
  }

  PaperFabric fabric;
  std::vector<fabric::Address> roster = [] {
    std::vector<fabric::Address> addresses(4);
    for (std::uint32_t i = 0; i < 4; ++i) addresses[i].node = NodeId(i);
    return addresses;
  }();
  Founding founding;
  View view = view_of(5, {{NodeId(0), 100}, {NodeId(1), 101}, {NodeId(2), 102}});
  Links links{{NodeId(0), 100}, roster, group, shapes, fabric, founding};
};

template <class T>
const T& only(const std::vector<LinkEvent>& events) {
  REQUIRE(events.size() == 1);
  REQUIRE(std::holds_alternative<T>(events[0]));
  return std::get<T>(events[0]);
}

}  // namespace spindrift::views
