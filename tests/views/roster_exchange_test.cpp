// By which roster a process without a view goes: what members tell it that are here, and what it remembers.
#include "desk.hpp"

#include <spindrift/views/roster_exchange.hpp>

namespace spindrift::views {
namespace {

/// A roster of that edition in which node 2 is called there.
Roster roster_with(std::uint64_t edition, const char* endpoint) {
  return {edition, {{NodeId(0), ""}, {NodeId(1), ""}, {NodeId(2), endpoint}, {NodeId(3), ""}}, {}};
}

/// Node 0, which looks for a group.
struct Looking {
  void told(std::uint32_t by, const Roster& roster) {
    Message notice = RosterNotice{roster};
    REQUIRE(rosters.on_message(nullptr, connection(by), notice));
  }
  void lose(std::uint32_t from) { rosters.on_over(connection(from)); }
  void remember(const Roster& roster) { rosters.remember(roster, Roster{0, desk.roster, {}}); }
  [[nodiscard]] std::string calls(std::uint32_t node) const {
    const Peer* const peer = desk.links.peers().find(NodeId(node));
    return peer == nullptr ? "nobody" : peer->address.endpoint;
  }
  static PeerConnection connection(std::uint32_t node) {
    PeerConnection with;
    with.id = fabric::PeerId(10 + node);
    with.who = {NodeId(node), 100 + node};
    return with;
  }

  Desk desk;
  RosterExchange rosters{NodeId(0), {}, {}, desk.links};
};

}  // namespace

TEST_CASE("a member's word counts for who remembers a later edition: the group was founded anew") {
  Looking node;
  node.remember(roster_with(5, "old"));
  CHECK(node.calls(2) == "old");
  node.told(1, roster_with(0, "new"));
  CHECK(node.calls(2) == "new");
}

TEST_CASE("what a file has beside what is remembered is known, too") {
  Looking node;
  node.remember({5, {{NodeId(1), "moved"}}, {}});
  CHECK(node.calls(1) == "moved");
  CHECK(node.desk.links.peers().nodes().size() == 3);
}

TEST_CASE("of several members that are here the one with the highest edition counts, in whatever order they speak") {
  Looking node;
  node.told(1, roster_with(3, "three"));
  node.told(2, roster_with(4, "four"));
  CHECK(node.calls(2) == "four");
  node.told(3, roster_with(2, "two"));
  CHECK(node.calls(2) == "four");
  node.told(1, roster_with(5, "five"));
  CHECK(node.calls(2) == "five");
}

TEST_CASE("what was told ends with its connection as soon as another member is here, and not before") {
  Looking node;
  node.told(1, roster_with(3, "last group"));
  node.lose(1);
  CHECK(node.calls(2) == "last group");
  node.told(3, roster_with(0, "this group"));
  CHECK(node.calls(2) == "this group");
  node.told(1, roster_with(3, "last group"));  // one that does not know that its group is over
  CHECK(node.calls(2) == "last group");
  node.lose(1);
  CHECK(node.calls(2) == "this group");
}

TEST_CASE("who is behind and gone is forgotten for what was remembered") {
  Looking node;
  node.remember(roster_with(5, "five"));
  node.told(1, roster_with(4, "four"));
  CHECK(node.calls(2) == "four");
  node.lose(1);
  CHECK(node.calls(2) == "five");
}

TEST_CASE("a process that has ended asks nobody, whatever roster would be in force by the end of its connections") {
  Looking node;
  node.told(1, {3, {{NodeId(0), ""}, {NodeId(1), ""}, {NodeId(8), "eight"}}, {}});
  node.told(3, {4, {{NodeId(0), ""}, {NodeId(1), ""}, {NodeId(9), "nine"}}, {}});
  node.desk.meet(13, 3, 103);
  node.desk.hear();
  node.desk.links.end({});
  node.desk.fabric.asked.clear();
  node.lose(3);
  node.remember({5, {{NodeId(0), ""}, {NodeId(1), ""}, {NodeId(7), "seven"}}, {}});
  CHECK(node.desk.fabric.asked.empty());
  CHECK(node.calls(7) == "nobody");
}

TEST_CASE("a roster that does not admit this node is of no use to it") {
  Looking node;
  node.told(1, roster_with(3, "three"));
  Roster without{4, {{NodeId(1), ""}, {NodeId(2), "four"}}, {}};
  node.told(3, without);
  CHECK(node.calls(2) == "three");
  node.remember({5, {{NodeId(0), ""}, {NodeId(2), "five"}}, {NodeId(0)}});
  node.lose(1);
  CHECK(node.calls(2) == "three");
}

}  // namespace spindrift::views
