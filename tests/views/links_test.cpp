// Connections as one member sees them: whom it greets, whom it believes, and which of a node's connections counts.
#include <catch2/catch.hpp>

#include <algorithm>
#include <vector>

#include "desk.hpp"

namespace spindrift::views {
namespace {

/// The reason that is told of why that node's connection is over.
std::string only_turned_away(const std::vector<LinkEvent>& events, NodeId node) {
  REQUIRE(events.size() == 2);
  REQUIRE((std::holds_alternative<LinkTurnedAway>(events[0]) && std::holds_alternative<LinkOver>(events[1])));
  CHECK(std::get<LinkTurnedAway>(events[0]).node == node);
  return std::get<LinkTurnedAway>(events[0]).reason;
}

TEST_CASE("a process asks for all of the roster, greets who comes, and knows whom it has met") {
  Desk desk;
  CHECK(desk.fabric.asked == std::vector{NodeId(1), NodeId(2), NodeId(3)});
  desk.meet(11, 1, 101);
  CHECK(desk.hear().empty());
  REQUIRE(desk.sent_to<Hello>(11).size() == 1);
  CHECK(desk.sent_to<Hello>(11)[0].fresh);
  REQUIRE(desk.links.peers().met().size() == 1);
  CHECK(desk.links.peers().met()[0].fresh);
  CHECK(desk.links.peers().missing(std::vector{NodeId(0), NodeId(1), NodeId(2)}) == std::vector{NodeId(2)});
}

TEST_CASE("a hello that was recorded is worth nothing on a later connection, and only one of this connection is a peer's") {
  Desk desk;
  desk.links.begin_view(desk.view);
  CHECK_FALSE(desk.links.next_consequence());
  const auto recorded = encode(group, Hello{NodeId(1), 101, false, ViewId(5)}, NodeId(0), {8, 7});
  desk.fabric.connected(11, 1, false, {17, 8});
  desk.fabric.says(11, recorded);
  desk.hear();
  CHECK(desk.links.members().empty());
  CHECK(desk.sent_to<Refusal>(11).size() == 1);
  desk.fabric.connected(21, 1, false, {7, 8});
  desk.fabric.says(21, recorded);
  desk.hear();
  CHECK(desk.links.members().size() == 1);
}

TEST_CASE("a pending connection outranks the present one by a hello of its own alone") {
  Desk desk;
  desk.links.begin_view(desk.view);
  CHECK_FALSE(desk.links.next_consequence());
  desk.fabric.connected(11, 1, false, {1, 2});
  desk.fabric.says(11, encode(group, Hello{NodeId(1), 100, true, ViewId(0)}, NodeId(0), {2, 1}));
  desk.hear();
  const Hello of_member{NodeId(1), 101, false, ViewId(5)};
  desk.fabric.connected(21, 1, false, {3, 4});
  desk.fabric.says(21, encode(group, of_member, NodeId(0), {2, 1}));
  desk.hear();
  CHECK(desk.links.members().empty());
  desk.fabric.connected(31, 1, false, {5, 6});
  desk.fabric.says(31, encode(group, of_member, NodeId(0), {6, 5}));
  desk.hear();
  REQUIRE(desk.links.members().size() == 1);
  CHECK(desk.links.members()[0].id == fabric::PeerId(31));
}

TEST_CASE("a node that no roster has is turned away") {
  Desk desk;
  desk.links.begin_view(desk.view);
  CHECK_FALSE(desk.links.next_consequence());
  desk.fabric.connected(19, 9);
  CHECK(only<LinkTurnedAway>(desk.hear()).node == NodeId(9));
  REQUIRE(desk.sent_to<Hello>(19).size() == 1);
  CHECK(desk.sent_to<Hello>(19)[0].view == desk.view.id);  // it may have parted from this one, and waits
  CHECK(desk.sent_to<Refusal>(19).size() == 1);
  CHECK(desk.ended(19));
}

TEST_CASE("a member of the view that comes is announced, and a fresh process becomes a candidate until it is told") {
  Desk desk;
  desk.links.begin_view(desk.view);
  CHECK_FALSE(desk.links.next_consequence());
  desk.meet(11, 1, 101, false, ViewId(5));
  CHECK(only<LinkAgreed>(desk.hear()).with.who == Join{NodeId(1), 101});
  CHECK(desk.links.members().size() == 1);
  desk.meet(13, 3, 103);
  CHECK(desk.hear().empty());
  CHECK(desk.links.candidates() == std::vector{Candidate{{NodeId(3), 103}, RankSet(0b001, 0)}});
  CHECK_FALSE(desk.sent_to<Hello>(13)[0].fresh);
  desk.links.notify(NodeId(3), [&] { return ViewNotice{desk.view, {RankSet::first(3)}, {}}; });
  CHECK(desk.links.candidates().empty());
  desk.links.notify(NodeId(3), [&] { return ViewNotice{desk.view, {RankSet::first(3)}, {}}; });
  CHECK(desk.sent_to<ViewNotice>(13).size() == 1);
}

TEST_CASE("who settled in a view elsewhere is no candidate, nor is an earlier start of a member, and a later one ends it") {
  Desk desk;
  desk.links.begin_view(desk.view);
  desk.meet(13, 3, 103);
  desk.fabric.says(13, encode(Settled{ViewId(2)}));
  CHECK(desk.hear().empty());
  CHECK(desk.links.candidates().empty());
  desk.meet(12, 2, 90);
  CHECK(desk.hear().empty());
  CHECK(desk.links.candidates().empty());
  desk.meet(11, 1, 900);
  CHECK(only<LinkSuspects>(desk.hear()).rank == Rank(1));
  CHECK(desk.links.candidates() == std::vector{Candidate{{NodeId(1), 900}, RankSet(0b001, 0)}});
}

TEST_CASE("a process of a view that the group has left behind is refused, and so is one that was parted from") {
  Desk desk;
  desk.links.begin_view(desk.view);
  desk.meet(13, 3, 103, false, ViewId(4));
  CHECK(only_turned_away(desk.hear(), NodeId(3)) == "the group went on without it");
  CHECK(desk.sent_to<Refusal>(13).size() == 1);
  desk.meet(11, 1, 101, false, ViewId(5));
  only<LinkAgreed>(desk.hear());
  const std::vector<ViewChange::Suspicion> suspicions{{Rank(1), "it was silent"}};
  desk.links.revoke(suspicions);
  only<LinkOver>(desk.hear());
  CHECK(desk.sent_to<Removed>(11).size() == 1);
  CHECK(desk.links.partings().parted_from({NodeId(1), 101}));
  desk.links.revoke(suspicions);
  CHECK(desk.hear().empty());
  desk.fabric.asked.clear();
  desk.meet(21, 1, 101, false, ViewId(5));
  CHECK(only_turned_away(desk.hear(), NodeId(1)) == "it was removed from the group");
  CHECK(desk.sent_to<Refusal>(21).size() == 1);
  CHECK(desk.fabric.asked.empty());  // the two would turn each other away again and again
}

TEST_CASE("a member's lost connection is a suspicion, and asked for again") {
  Desk desk;
  desk.links.begin_view(desk.view);
  desk.meet(11, 1, 101, false, ViewId(5));
  only<LinkAgreed>(desk.hear());
  desk.fabric.asked.clear();
  desk.fabric.loses(11);
  const auto events = desk.hear();
  REQUIRE(events.size() == 2);
  CHECK(std::get<LinkSuspects>(events[0]).rank == Rank(1));
  CHECK(std::get<LinkOver>(events[1]).with.who == Join{NodeId(1), 101});
  CHECK(desk.fabric.asked == std::vector{NodeId(1)});
  CHECK(desk.links.partings().lost({NodeId(1), 101}));
  CHECK_FALSE(desk.links.partings().died({NodeId(1), 101}));
  desk.meet(21, 1, 101, false, ViewId(5));
  only<LinkAgreed>(desk.hear());
  CHECK_FALSE(desk.links.partings().lost({NodeId(1), 101}));
}

TEST_CASE("who died before it came into a view is known to be dead") {
  Desk desk;
  desk.links.begin_view(desk.view);
  desk.meet(13, 3, 103);  // it would come into the next view
  desk.hear();
  desk.fabric.loses(13, true);
  only<LinkOver>(desk.hear());
  CHECK(desk.links.partings().lost({NodeId(3), 103}));
  CHECK(desk.links.partings().died({NodeId(3), 103}));
  CHECK_FALSE(desk.links.partings().died({NodeId(3), 104}));
}

TEST_CASE("who turns this process away is suspected as one that did so first, and not called again") {
  Desk desk;
  desk.links.begin_view(desk.view);
  desk.meet(11, 1, 101, false, ViewId(5));
  only<LinkAgreed>(desk.hear());
  desk.fabric.asked.clear();
  desk.fabric.says(11, encode(Removed{"you were silent"}));
  const auto events = desk.hear();
  REQUIRE(events.size() == 2);
  CHECK(std::get<LinkSuspects>(events[0]).turned_away);
  CHECK(desk.fabric.asked.empty());
}

TEST_CASE("a refusal ends who looks for a group, also by one that was set apart") {
  Desk refused;
  refused.meet(11, 1, 101);
  refused.fabric.says(11, encode(Refusal{"no"}));
  only<LinkRefused>(refused.hear());
  Desk differing;
  differing.fabric.connected(11, 1);
  differing.fabric.says(11, encode(other_group, Hello{NodeId(1), 101, false, ViewId(5)}, NodeId(0), {}));
  only<LinkTurnedAway>(differing.hear());
  CHECK(differing.links.peers().apart()[0].fresh_as == 0);  // it is in a view: nobody founds beside it
  differing.fabric.says(11, encode(Refusal{"configurations differ"}));
  only<LinkRefused>(differing.hear());
}

TEST_CASE("who looks for a group sets apart a process that differs, hears it no more, and lets it go when in a view") {
  Desk desk;
  desk.meet(12, 2, 102);
  desk.fabric.connected(11, 1);
  desk.fabric.says(11, encode(other_group, Hello{NodeId(1), 101, true, ViewId(0)}, NodeId(0), {}));
  CHECK(only<LinkTurnedAway>(desk.hear()).node == NodeId(1));
  CHECK_FALSE(desk.ended(11));
  REQUIRE(desk.links.peers().apart().size() == 1);
  CHECK(desk.links.peers().apart()[0].fresh_as == 101);
  CHECK(desk.links.peers().met().size() == 1);
  CHECK(desk.links.peers().missing(std::vector{NodeId(1)}) == std::vector{NodeId(1)});
  desk.fabric.says(11, std::vector<std::byte>(7));
  desk.fabric.says(11, encode(Settled{ViewId(2)}));
  CHECK(desk.hear().empty());
  CHECK(desk.sent_to<Refusal>(11).empty());
  desk.fabric.asked.clear();
  desk.links.begin_view(desk.view);
  desk.links.tell_settled();
  CHECK(desk.sent_to<Refusal>(11).size() == 1);
  CHECK(desk.ended(11));
  CHECK(desk.fabric.asked.empty());
}

TEST_CASE("one that was set apart and is lost is not called again, and its next start agrees") {
  Desk desk;
  desk.fabric.connected(11, 1);
  desk.fabric.says(11, encode(other_group, Hello{NodeId(1), 101, true, ViewId(0)}, NodeId(0), {}));
  desk.hear();
  desk.fabric.asked.clear();
  desk.fabric.loses(11);
  desk.hear();
  CHECK(desk.fabric.asked.empty());
  CHECK(desk.links.peers().apart().empty());
  desk.meet(21, 1, 110);
  desk.hear();
  CHECK(desk.links.peers().met().size() == 1);
}

TEST_CASE("what is no message sets its sender apart, and ends nobody who looks for a group") {
  Desk deceived;
  deceived.meet(11, 1, 101);
  deceived.fabric.says(11, std::vector<std::byte>(7));
  const auto events = deceived.hear();
  REQUIRE(events.size() == 2);
  CHECK(std::holds_alternative<LinkOver>(events[0]));
  CHECK(std::holds_alternative<LinkTurnedAway>(events[1]));
  CHECK(deceived.links.peers().met().empty());
  CHECK(deceived.links.peers().apart()[0].fresh_as == 0);
}

TEST_CASE("a node that no roster has is greeted by who looks for a group, so that it knows whom it differs from") {
  Desk desk;
  desk.fabric.connected(19, 9);
  CHECK(desk.hear().empty());
  CHECK(desk.sent_to<Hello>(19).size() == 1);
  CHECK(desk.sent_to<Refusal>(19).empty());
  CHECK_FALSE(desk.ended(19));
}

TEST_CASE("a fabric that cannot go on ends the member with its reason, and blames no peer") {
  Desk desk;
  desk.links.begin_view(desk.view);
  desk.meet(11, 1, 101, false, ViewId(5));
  only<LinkAgreed>(desk.hear());
  desk.fabric.asked.clear();
  desk.fabric.stops(Error(ErrorKind::resource, "no file descriptors are left"));
  CHECK(only<LinkRefused>(desk.hear()).error.message() == "no file descriptors are left");
  CHECK(desk.fabric.asked.empty());
}

TEST_CASE("who speaks or shows memory before its hello breaks the protocol") {
  Desk desk;
  desk.links.begin_view(desk.view);
  desk.fabric.connected(13, 3);
  desk.fabric.says(13, encode(Settled{ViewId(1)}));
  CHECK(only_turned_away(desk.hear(), NodeId(3)) == "it spoke before its hello");
  CHECK(desk.ended(13));
  desk.fabric.connected(23, 3);
  desk.fabric.shows(23, 100);
  CHECK(only_turned_away(desk.hear(), NodeId(3)) == "it exposed memory out of turn");
  CHECK(desk.ended(23));
}

TEST_CASE("a pending connection waits for the end of the present one, and what it said is heard then") {
  Desk desk;
  desk.meet(11, 1, 101);
  desk.meet(21, 1, 201);
  CHECK(desk.hear().empty());
  CHECK(desk.links.peers().met()[0].who == Join{NodeId(1), 101});
  desk.fabric.asked.clear();
  desk.fabric.loses(11);
  only<LinkOver>(desk.hear());
  CHECK(desk.links.peers().met()[0].who == Join{NodeId(1), 201});
  CHECK(desk.fabric.asked.empty());
}

TEST_CASE("a pending connection that speaks takes the place of one that is silent, and of no other") {
  Desk desk;
  desk.fabric.connected(11, 1);
  desk.meet(21, 1, 201);
  CHECK(desk.hear().empty());
  REQUIRE(desk.links.peers().met().size() == 1);
  CHECK(desk.links.peers().met()[0].who == Join{NodeId(1), 201});
  CHECK_FALSE(desk.ended(11));  // it is the pending one now
  desk.fabric.says(11, encode(group, Hello{NodeId(1), 101, true, ViewId(0)}, NodeId(0), {}));
  CHECK(desk.hear().empty());
  CHECK(desk.links.peers().met()[0].who == Join{NodeId(1), 201});
  desk.fabric.loses(21);
  only<LinkOver>(desk.hear());
  CHECK(desk.links.peers().met()[0].who == Join{NodeId(1), 101});
}

TEST_CASE("a pending connection of the start that is in the view ends that of an earlier one") {
  Desk desk;
  desk.links.begin_view(desk.view);
  desk.meet(11, 1, 99);
  CHECK(desk.hear().empty());
  desk.meet(21, 1, 101, false, ViewId(5));
  const auto events = desk.hear();
  REQUIRE(events.size() == 2);
  CHECK(std::get<LinkOver>(events[0]).with.who == Join{NodeId(1), 99});
  CHECK(std::get<LinkAgreed>(events[1]).with.id == fabric::PeerId(21));
  CHECK(desk.ended(11));
  desk.meet(31, 1, 98);
  CHECK(desk.hear().empty());
  CHECK(desk.links.peers().connection_of(NodeId(1))->id == fabric::PeerId(21));
}

TEST_CASE("of a node's pending connections the oldest goes when there are five, and a lost one is forgotten") {
  Desk desk;
  desk.meet(11, 1, 101);
  for (std::uint32_t peer = 21; peer < 26; ++peer) desk.fabric.connected(peer, 1);
  CHECK(desk.hear().empty());
  CHECK(desk.fabric.ended == std::vector{fabric::PeerId(21)});
  desk.fabric.loses(25);
  desk.fabric.loses(11);
  only<LinkOver>(desk.hear());
  desk.fabric.says(24, encode(group, Hello{NodeId(1), 102, true, ViewId(0)}, NodeId(0), {}));
  CHECK(desk.hear().empty());
  CHECK(desk.links.peers().met()[0].who == Join{NodeId(1), 102});
}

TEST_CASE("a message in parts is heard whole, on a pending connection too") {
  Desk desk;
  desk.links.begin_view(desk.view);
  const auto in_parts = [&](std::uint32_t peer, const std::vector<std::byte>& whole) {
    const std::span<const std::byte> bytes = whole;
    desk.fabric.says(peer, encode(MessagePart{bytes.size() - 10, bytes.first(10)}));
    desk.fabric.says(peer, encode(MessagePart{0, bytes.subspan(10)}));
  };
  desk.meet(11, 1, 99);
  desk.fabric.connected(21, 1);
  in_parts(21, encode(group, Hello{NodeId(1), 101, false, ViewId(5)}, NodeId(0), {}));
  const auto events = desk.hear();
  REQUIRE(events.size() == 2);
  CHECK(std::get<LinkAgreed>(events[1]).with.who == Join{NodeId(1), 101});
  const std::vector<std::byte> payload(50, std::byte{7});
  in_parts(21, encode(PrivateMessage{payload}));
  const auto heard = desk.hear();
  const auto& message = std::get<PrivateMessage>(only<LinkHeard>(heard).message);
  CHECK(message.bytes.size() == payload.size());
}

TEST_CASE("a part of what no stranger may say so long breaks the protocol") {
  Desk desk;
  desk.links.begin_view(desk.view);
  desk.fabric.connected(13, 3);
  const std::vector<std::byte> bytes(1000);
  desk.fabric.says(13, encode(MessagePart{1000, bytes}));
  CHECK(only_turned_away(desk.hear(), NodeId(3)) == "it sent a part of a message that is too large");
  CHECK(desk.ended(13));
}

TEST_CASE("what is sent is cut to what the fabric takes, and put together it is the same") {
  PaperFabric fabric;
  std::vector<std::byte> whole(10'000);
  for (std::size_t i = 0; i < whole.size(); ++i) whole[i] = static_cast<std::byte>(i * 7);
  send_in_parts(fabric, fabric::PeerId(1), whole);
  REQUIRE(fabric.sent.size() == 3);
  PartedMessage parts;
  for (const auto& each : fabric.sent) {
    CHECK(each.bytes.size() <= fabric.own_traits.message_bytes_max);
    const auto message = decode(each.bytes, group, shapes, node_at(each.to));
    REQUIRE((message && std::holds_alternative<MessagePart>(*message)));
    const auto& part = std::get<MessagePart>(*message);
    CHECK(parts.add(part, whole.size()) ==
          (part.left == 0 ? PartedMessage::State::whole : PartedMessage::State::incomplete));
  }
  CHECK(parts.take() == whole);
  CHECK(parts.add(MessagePart{10, std::span(whole).first(10)}, 19) == PartedMessage::State::too_large);
}

TEST_CASE("who took this process for fresh hears that it has settled, pending connections too, and members do not") {
  Desk desk;
  desk.meet(11, 1, 101);
  desk.meet(13, 3, 103);
  desk.fabric.connected(23, 3);
  CHECK(desk.hear().empty());
  desk.links.begin_view(desk.view);
  only<LinkAgreed>(desk.hear());
  desk.links.tell_settled();
  CHECK(desk.sent_to<Settled>(11).empty());
  CHECK(desk.sent_to<Settled>(13).size() == 1);
  CHECK(desk.sent_to<Settled>(23).size() == 1);
}

TEST_CASE("a member that says that its first view is a later one is suspected, be it before this view begins or after") {
  Desk desk;
  desk.meet(11, 1, 101);
  desk.fabric.says(11, encode(Settled{ViewId(6)}));
  desk.meet(12, 2, 102);
  desk.fabric.says(12, encode(Settled{ViewId(5)}));
  CHECK(desk.hear().empty());
  desk.links.begin_view(desk.view);
  const auto suspects = desk.links.next_consequence();
  REQUIRE((suspects && std::holds_alternative<LinkSuspects>(*suspects)));
  CHECK(std::get<LinkSuspects>(*suspects).rank == Rank(1));
  CHECK(desk.hear().size() == 2);  // both are met
  desk.fabric.says(12, encode(Settled{ViewId(7)}));
  const auto later = desk.hear();
  REQUIRE(later.size() == 2);
  CHECK(std::get<LinkOvertaken>(later[0]).view == ViewId(7));
  CHECK(std::get<LinkSuspects>(later[1]).rank == Rank(2));
}

TEST_CASE("when a process ends, all its connections do, and whoever comes finds nobody") {
  Desk desk;
  desk.meet(11, 1, 101);
  desk.fabric.connected(21, 1);
  CHECK(desk.hear().empty());
  desk.links.end("the disk is full");
  CHECK(desk.sent_to<Stopped>(11).size() == 1);
  CHECK(desk.ended(11));
  CHECK(desk.ended(21));
  desk.fabric.asked.clear();
  desk.fabric.connected(31, 1);
  static_cast<void>(desk.hear());
  CHECK(desk.ended(31));
  CHECK(desk.fabric.asked.empty());
}

TEST_CASE("of those parted from and lost the latest 1024 are remembered") {
  Partings partings;
  for (std::uint32_t i = 0; i < 1025; ++i) partings.part({NodeId(i), 1}, i == 1, std::to_string(i));
  CHECK_FALSE(partings.parted_from({NodeId(0), 1}));
  CHECK(partings.parted_from({NodeId(1), 1}));
  CHECK_FALSE(partings.parted_from({NodeId(1), 2}));
  CHECK(partings.turned_away_by({NodeId(1), 1}));
  CHECK_FALSE(partings.turned_away_by({NodeId(2), 1}));
  CHECK(partings.words_of({NodeId(0), 1}) == "removed before");
  CHECK(partings.words_of({NodeId(1), 1}) == "removed before: 1");
  CHECK(partings.words_of({NodeId(1024), 1}) == "removed before: 1024");
  partings.lose({NodeId(3), 1});
  CHECK(partings.lost({NodeId(3), 1}));
  partings.regain({NodeId(3), 1});
  CHECK_FALSE(partings.lost({NodeId(3), 1}));
}

}  // namespace
}  // namespace spindrift::views
