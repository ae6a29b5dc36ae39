// The nodes that a process hears, asks and turns away, by its file and by the group's roster.
#include "desk.hpp"

namespace spindrift::views {

TEST_CASE("a process that looks for a group hears also whom its file does not name, and asks nobody for that") {
  Desk desk;
  const std::size_t asked = desk.fabric.asked.size();
  desk.meet(19, 9, 109, false, ViewId(3));
  CHECK(desk.hear().empty());
  REQUIRE(desk.links.peers().met().size() == 1);
  CHECK(desk.links.peers().met()[0].who == Join{NodeId(9), 109});
  CHECK(desk.links.peers().nodes().size() == 3);
  desk.fabric.loses(19);
  desk.hear();
  CHECK(desk.links.peers().met().empty());
  CHECK(desk.fabric.asked.size() == asked);
  constexpr std::uint32_t too_many = 4 * roster_count_max;
  for (std::uint32_t node = 10; node < 10 + too_many; ++node) desk.fabric.connected(10 * node, node);
  std::vector<NodeId> turned_away;
  for (const LinkEvent& event : desk.hear()) {
    if (const auto* const away = std::get_if<LinkTurnedAway>(&event)) turned_away.push_back(away->node);
  }
  CHECK(turned_away.size() > roster_count_max);
  // They are not greeted either: nobody takes in a process that would not hear it.
  const auto& sent = desk.fabric.sent;
  CHECK(std::ranges::any_of(sent, [](const auto& each) { return each.to == fabric::PeerId(100); }));
  CHECK(std::ranges::none_of(sent, [&](const auto& each) {
    return std::ranges::find(turned_away, NodeId(static_cast<std::uint32_t>(each.to.value() / 10))) != turned_away.end();
  }));
}

TEST_CASE("those that are present are asked for a connection, but once, and a guest that is here is asked when it is lost") {
  Desk desk;
  desk.meet(19, 9, 109);
  desk.hear();
  desk.fabric.asked.clear();
  const std::vector<NodeId> present{NodeId(1), NodeId(8), NodeId(9)};
  desk.links.seek(present);
  desk.links.seek(present);
  CHECK(desk.fabric.asked == std::vector{NodeId(8)});
  desk.fabric.loses(19);
  desk.hear();
  CHECK(desk.fabric.asked == std::vector{NodeId(8), NodeId(9)});
}

TEST_CASE("a node that may call is heard before it is in the roster, and asked for a connection only then") {
  Desk desk;
  desk.links.begin_view(desk.view);
  Roster next{1, desk.roster, {}};
  next.nodes.push_back({NodeId(9), "i:1"});
  desk.links.expect(next);
  const std::size_t asked = desk.fabric.asked.size();
  CHECK(desk.links.peers().nodes().size() == 3);
  desk.meet(19, 9, 109);
  CHECK(desk.hear().empty());
  CHECK(desk.links.candidates() == std::vector{Candidate{{NodeId(9), 109}, RankSet(0b001, 0)}});
  next.nodes.push_back({NodeId(8), "h:1"});
  desk.links.set_roster(next, Links::Outsiders::go);
  CHECK(desk.links.peers().nodes().size() == 5);
  CHECK(std::vector(desk.fabric.asked.begin() + static_cast<std::ptrdiff_t>(asked), desk.fabric.asked.end()) ==
        std::vector{NodeId(8)});
  CHECK(desk.sent_to<RosterNotice>(19).back().roster == next);
}

TEST_CASE("a node that is struck from the roster is refused, and a member of the view not before its connection is over") {
  Desk desk;
  desk.links.begin_view(desk.view);
  desk.meet(11, 1, 101, false, ViewId(5));
  desk.meet(13, 3, 103);
  desk.hear();
  const Roster without{1, {{NodeId(0), {}}, {NodeId(2), {}}}, {}};
  desk.links.set_roster(without, Links::Outsiders::go);
  desk.hear();
  CHECK(desk.sent_to<Refusal>(13).size() == 1);
  CHECK(desk.ended(13));
  CHECK(desk.sent_to<Refusal>(11).empty());
  CHECK_FALSE(desk.ended(11));
  const std::size_t asked = desk.fabric.asked.size();
  desk.fabric.loses(11);
  desk.hear();
  CHECK(desk.fabric.asked.size() == asked);
  desk.fabric.connected(21, 1);
  CHECK(only<LinkTurnedAway>(desk.hear()).node == NodeId(1));
  desk.links.set_roster({2, desk.roster, {}}, Links::Outsiders::go);
  desk.meet(31, 1, 201);
  CHECK_FALSE(desk.hear().empty());
  CHECK(desk.sent_to<Hello>(31).size() == 1);
}

TEST_CASE("a process of a drained node is told so and turned away, and a node that is let in again is heard and asked") {
  Desk desk;
  desk.links.begin_view(desk.view);
  desk.meet(13, 3, 103);
  desk.hear();
  const Roster drained{1, desk.roster, {NodeId(3)}};
  desk.links.set_roster(drained, Links::Outsiders::go);
  desk.view.roster = drained;
  CHECK(only<LinkTurnedAway>([&] {
          auto events = desk.hear();
          std::erase_if(events, [](const LinkEvent& event) { return std::holds_alternative<LinkOver>(event); });
          return events;
        }()).reason == "its node is drained");
  CHECK(desk.sent_to<Drained>(13).size() == 1);
  CHECK(desk.ended(13));
  desk.fabric.asked.clear();
  desk.fabric.connected(23, 3);
  CHECK(only<LinkTurnedAway>(desk.hear()).reason == "its node is drained");
  CHECK(desk.sent_to<Drained>(23).size() == 1);
  CHECK(desk.sent_to<Hello>(23).size() == 1);  // it may have parted from this one, and is to know of the view
  CHECK(desk.fabric.asked.empty());
  const Roster open{2, desk.roster, {}};
  desk.links.expect(open);  // proposed: others may be in its view already
  desk.meet(33, 3, 203);
  CHECK(desk.hear().empty());
  CHECK(desk.links.candidates().size() == 1);
  desk.fabric.loses(33);
  desk.hear();
  desk.links.set_roster(open, Links::Outsiders::go);
  CHECK(desk.fabric.asked == std::vector{NodeId(3)});
}

TEST_CASE("a process that looks for its group ends when a member says that it is drained, and says how to undo that") {
  Desk desk;
  desk.fabric.connected(12, 2);
  desk.fabric.says(12, encode(Drained{}));
  const auto events = desk.hear();
  const Error& why = only<LinkRefused>(events).error;
  CHECK(why.kind() == ErrorKind::refused);
  CHECK(why.message() == "node 2 refused this node: it is drained");
  CHECK(why.fix().find("spindrift group drain 0 --undo") != std::string::npos);
}

TEST_CASE("a member whose group does not know this node ends a founder, and is set apart by one that a roster sent here") {
  const auto told_by = [](Desk& desk) {
    desk.fabric.connected(12, 2);
    desk.fabric.says(12, encode(Refusal{std::string(unknown_node)}));
    return desk.hear();
  };
  Desk sent;
  CHECK(only<LinkTurnedAway>(told_by(sent)).reason == unknown_node);
  sent.fabric.asked.clear();
  sent.fabric.loses(12);
  sent.hear();
  CHECK(sent.fabric.asked.empty());  // it would say the same again
  sent.meet(11, 1, 101, false, ViewId(6));
  CHECK(sent.hear().empty());  // the others are met as ever
  Desk founder{std::vector{NodeId(0), NodeId(1)}};
  CHECK(only<LinkRefused>(told_by(founder)).error.message() == "node 2 refused this node: " + std::string(unknown_node));
  Desk refused;
  refused.fabric.connected(12, 2);
  refused.fabric.says(12, encode(Refusal{"it was removed from the group"}));
  CHECK(std::holds_alternative<LinkRefused>(refused.hear().at(0)));
}

TEST_CASE("a process that is told a roster before its first view refuses nobody by it: there may be a newer one") {
  Desk desk;
  desk.meet(13, 3, 103, false, ViewId(6));
  desk.meet(19, 9, 109, false, ViewId(6));
  desk.hear();
  desk.links.set_roster({1, {{NodeId(0), {}}, {NodeId(1), {}}, {NodeId(7), {}}}, {}}, Links::Outsiders::stay);
  CHECK(desk.hear().empty());
  CHECK(desk.fabric.asked.back() == NodeId(7));
  CHECK(desk.links.peers().nodes() == std::vector{NodeId(1), NodeId(7)});
  CHECK(desk.links.peers().met().size() == 2);
  CHECK_FALSE(desk.ended(13));
  const Roster first{2, {{NodeId(0), {}}, {NodeId(1), {}}, {NodeId(9), {}}}, {}};  // its first view's
  desk.links.set_roster(first, Links::Outsiders::go);
  desk.hear();
  CHECK(desk.ended(13));
  CHECK(desk.links.peers().met().size() == 1);
}

TEST_CASE("a node that moves is asked for where it is, if it is not here") {
  Desk desk;
  desk.links.begin_view(desk.view);
  desk.meet(11, 1, 101, false, ViewId(5));
  desk.hear();
  desk.fabric.asked.clear();
  Roster moved{1, desk.roster, {}};
  moved.nodes[1].endpoint = "b:2";
  moved.nodes[2].endpoint = "c:2";
  desk.links.set_roster(moved, Links::Outsiders::go);
  CHECK(desk.fabric.asked == std::vector{NodeId(2)});
  desk.fabric.loses(11);
  desk.hear();
  CHECK(desk.fabric.asked == std::vector{NodeId(2), NodeId(1)});
}

TEST_CASE("a process that is in no view speaks for no roster") {
  Desk desk;
  desk.meet(13, 3, 103);
  desk.hear();
  desk.fabric.says(13, encode(RosterNotice{{5, desk.roster, {}}}));
  CHECK((desk.hear(), desk.links.peers().apart().size() == 1));
}

TEST_CASE("a node is a neighbor by a connection that was, too, and of one that never had one nobody knows") {
  Desk desk;
  const Peers& peers = desk.links.peers();
  desk.fabric.connected(11, 1, true);
  desk.hear();
  CHECK(peers.is_neighbor(NodeId(1)) == true);
  CHECK(peers.is_neighbor(NodeId(2)) == std::nullopt);
  CHECK(peers.is_neighbor(NodeId(9)) == std::nullopt);
  desk.fabric.loses(11, true);
  desk.hear();
  CHECK(peers.is_neighbor(NodeId(1)) == true);
  desk.fabric.connected(21, 1, false);
  desk.hear();
  CHECK(peers.is_neighbor(NodeId(1)) == false);
}

TEST_CASE("who has bound itself to a founding of a later era than the view's is no candidate until it meets this one anew") {
  Desk desk;
  desk.links.begin_view(desk.view);
  const ViewId later((std::uint64_t{3} << 32U) + 1);
  desk.meet(13, 3, 103, true, later);
  CHECK((desk.hear().empty() && desk.links.candidates().empty()));
  desk.fabric.loses(13);
  desk.meet(23, 3, 103);
  desk.hear();
  CHECK(desk.links.candidates() == std::vector{Candidate{{NodeId(3), 103}, RankSet(0b001, 0)}});
  desk.fabric.loses(23);
  desk.meet(33, 3, 103, true, ViewId(9));  // of this era
  desk.hear();
  CHECK(desk.links.candidates().size() == 1);
}

}  // namespace spindrift::views
