// Foundings by what nodes remember: who asks whom on what basis, who promises, and what is stored before.
#include "founding_nodes.hpp"

namespace spindrift::views {
namespace {

/// Nodes 0 and 1 remember a view of theirs and of node 2's, and have told each other so.
void two_tell_of_a_view_of_three(Nodes& nodes) {
  for (const std::uint32_t node : {0U, 1U}) {
    nodes.remember(node, recorded(7, {0, 1, 2}));
    nodes.start(node);
  }
  for (const std::uint32_t node : {0U, 1U}) {
    for (const Addressed& each : nodes.step(node)) nodes.deliver(node, each);
  }
}

}  // namespace

TEST_CASE("on the first day the named founders found, and each of them has that in its record") {
  Nodes nodes;
  nodes.start(0);
  nodes.start(1);
  nodes.run();
  CHECK(nodes.requests.empty());
  nodes.start(2);
  nodes.run();
  REQUIRE(nodes.founded_by(0));
  CHECK(nodes.founded_by(0)->id == ViewId(0));
  CHECK(nodes.founded_by(0)->members == ids({0, 1, 2}));
  for (const std::uint32_t node : {0U, 1U, 2U}) {
    REQUIRE(nodes.accepted(node).size() == 1);
    CHECK(nodes.accepted(node)[0].founded);
    CHECK(nodes.accepted(node)[0].members.size() == 3);
  }
}

TEST_CASE("a majority of the last view founds under a greater id and its roster, whoever the configured founders are") {
  Nodes nodes;
  RecordedView last = recorded(7, {5, 3, 4});
  last.roster = {4, {{NodeId(3), "a:1"}, {NodeId(4), "b:1"}, {NodeId(5), "c:1"}}, {}};
  last.roster.sizes = ring_sizes_of(one_subgroup(ids({3, 4, 5}), nullptr));
  nodes.remember(3, last);
  nodes.remember(5, last);
  nodes.start(3);
  nodes.start(0);
  nodes.start(1);
  nodes.start(2);  // all founders are here, and a minority of the last view
  nodes.run();
  CHECK(nodes.requests.empty());
  const std::string words = nodes.processes.at(3)->founding->kept_by_memory(nodes.met_by(3));
  CHECK(words.find("1 of nodes 5, 4 has to come") != std::string::npos);
  nodes.start(5);
  nodes.run();
  REQUIRE(nodes.founded_by(5));
  CHECK(nodes.founded_by(5)->members == ids({5, 3}));
  CHECK(nodes.founded_by(5)->id == ViewId(8));
  CHECK(nodes.founded_by(5)->roster.edition == last.roster.edition);
  CHECK(nodes.founded_by(5)->roster.nodes == last.roster.nodes);
}

TEST_CASE("newcomers that died before they were in the last view found by what one remembers that has left the group") {
  Nodes nodes;
  for (const std::uint32_t node : {3U, 4U}) nodes.remember(node, std::nullopt);
  nodes.remember(5, recorded(7, {3, 4}));
  for (const std::uint32_t node : {3U, 4U, 5U}) nodes.start(node);
  nodes.run();
  REQUIRE(nodes.founded_by(3));
  CHECK(nodes.founded_by(3)->id == ViewId(8));
  CHECK(nodes.founded_by(3)->members == ids({3, 4}));
  REQUIRE(nodes.requests.size() == 1);
  CHECK(nodes.requests[0].basis == std::vector<std::uint64_t>{0, 0});
}

TEST_CASE("removed founders that have their old records found nothing, however many they are") {
  Nodes nodes;
  const RecordedView others = recorded(9, {3, 4, 5});
  for (const std::uint32_t node : {0U, 1U, 2U}) {
    nodes.remember(node, node == 2 ? others : recorded(7, {0, 1, 2}));
    nodes.start(node);
  }
  nodes.run();
  CHECK(nodes.requests.empty());
  for (const std::uint32_t node : {0U, 1U, 2U}) CHECK_FALSE(nodes.founded_by(node));
}

TEST_CASE("founders that left one after another wait for the last one, which ended the group when it left") {
  Nodes nodes;
  nodes.remember(0, recorded(8, {1, 2}));
  nodes.remember(1, recorded(9, {2}));
  nodes.start(0);
  nodes.start(1);
  nodes.run();
  CHECK(nodes.requests.empty());
  nodes.remember(2, recorded(10, {}));
  nodes.start(2);
  nodes.run();
  REQUIRE(nodes.founded_by(0));
  CHECK(nodes.founded_by(0)->id == ViewId(11));
  CHECK(nodes.founded_by(0)->members == ids({0, 1, 2}));
}

TEST_CASE("a process has the founding in its record before it promises, the founder before it asks") {
  Nodes nodes;
  two_tell_of_a_view_of_three(nodes);
  const std::vector<Addressed> asks = nodes.step(0);
  REQUIRE(of_kind<PromiseRequest>(asks).size() == 1);
  REQUIRE(nodes.accepted(0).size() == 1);
  CHECK(nodes.accepted(0)[0].id == ViewId(8));
  CHECK(nodes.accepted(1).empty());
  for (const Addressed& each : asks) nodes.deliver(0, each);
  REQUIRE(of_kind<Promise>(nodes.step(1)).size() == 1);
  REQUIRE(nodes.accepted(1).size() == 1);
  CHECK(nodes.accepted(1) == nodes.accepted(0));
}

TEST_CASE("who cannot store a founding neither asks nor promises") {
  for (const std::uint32_t broken : {0U, 1U}) {
    Nodes nodes;
    for (const std::uint32_t node : {0U, 1U}) {
      nodes.remember(node, recorded(7, {0, 1, 2}));
      nodes.start(node);
    }
    nodes.memories[broken].full = true;
    nodes.run();
    CHECK(nodes.requests.size() == broken);
    CHECK(nodes.promises == 0);
    CHECK(nodes.processes.at(broken)->record.failure());
  }
}

TEST_CASE("a promise is made on what the process would say now, and what the founder did not know is said first") {
  Nodes nodes;
  nodes.remember(0, recorded(7, {0, 1, 2}));
  nodes.remember(1, recorded(7, {0, 1, 2}));
  nodes.start(0);
  nodes.start(1);
  for (const std::uint32_t node : {0U, 1U}) {
    for (const Addressed& each : nodes.step(node)) nodes.deliver(node, each);
  }
  for (const Addressed& each : nodes.step(0)) nodes.deliver(0, each);
  REQUIRE(nodes.requests.size() == 1);
  nodes.memories[1].beside = {{NodeId(2), false, {100, recorded(8, {2, 5}), {}}}};  // a neighbor went on, and is dead
  const std::vector<Addressed> says = nodes.step(1);
  CHECK(of_kind<Promise>(says).empty());
  const auto remembered = of_kind<Remembered>(says);
  REQUIRE_FALSE(remembered.empty());
  REQUIRE(remembered[0].beside);
  CHECK(remembered[0].beside->id == ViewId(8));
  CHECK(nodes.accepted(1).empty());
  for (const Addressed& each : says) nodes.deliver(1, each);
  nodes.run();
  CHECK(nodes.promises == 0);
  CHECK(nodes.requests.size() == 1);
}

TEST_CASE("a founder that heard that a process has accepted more asks it again, on that basis") {
  Nodes nodes;
  nodes.remember(0, recorded(7, {0, 1, 2}));
  nodes.remember(1, recorded(7, {0, 1, 2}));
  nodes.start(0);
  Process& second = nodes.start(1);
  for (const std::uint32_t node : {0U, 1U}) {
    for (const Addressed& each : nodes.step(node)) nodes.deliver(node, each);
  }
  REQUIRE(second.record.accept_founding(recorded(20, {0, 1}, true)));
  nodes.run();
  REQUIRE(nodes.requests.size() == 2);
  CHECK(nodes.requests[1].basis[1] != nodes.requests[0].basis[1]);
  CHECK(nodes.requests[1].ballot > nodes.requests[0].ballot);
  REQUIRE(nodes.founded_by(0));
  CHECK(nodes.founded_by(0)->id == ViewId(21));
}

TEST_CASE("a founder that is refused by one asks again when all have answered") {
  Nodes nodes;
  for (const std::uint32_t node : {0U, 1U, 2U}) {
    nodes.remember(node, recorded(7, {0, 1, 2}));
    nodes.start(node);
  }
  for (const std::uint32_t node : {0U, 1U, 2U}) {
    for (const Addressed& each : nodes.step(node)) nodes.deliver(node, each);
  }
  REQUIRE(nodes.processes.at(2)->record.accept_founding(recorded(20, {0, 2}, true)));
  const std::vector<Addressed> asks = nodes.step(0);
  REQUIRE(of_kind<PromiseRequest>(asks).size() == 2);
  const auto answer = [&](std::uint32_t node) {
    for (const Addressed& each : asks) {
      if (each.to == NodeId(node)) nodes.deliver(0, each);
    }
    for (const Addressed& each : nodes.step(node)) nodes.deliver(node, each);
  };
  answer(2);
  CHECK(nodes.promises == 0);
  CHECK(of_kind<PromiseRequest>(nodes.step(0)).empty());
  answer(1);
  CHECK(nodes.promises == 1);
  CHECK(of_kind<PromiseRequest>(nodes.step(0)).size() == 2);
}

TEST_CASE("a founding that the same process asks for again has the same id, and one of its next process a greater one") {
  Nodes nodes;
  two_tell_of_a_view_of_three(nodes);
  for (const Addressed& each : nodes.step(0)) nodes.deliver(0, each);
  for (int again = 1; again < 4; ++again) {
    nodes.processes.at(0)->founding->on_lost();
    for (const Addressed& each : nodes.step(0)) nodes.deliver(0, each);
    for (const PromiseRequest& each : nodes.requests) CHECK(each.view == ViewId(8));
  }
  CHECK(nodes.requests.size() == 4);
  CHECK(nodes.accepted(0).size() == 1);
  nodes.start(0);
  nodes.run();
  REQUIRE(nodes.founded_by(0));
  CHECK(nodes.founded_by(0)->id == ViewId(9));
  CHECK(nodes.accepted(1).size() == 1);
}

TEST_CASE("a founding has another id when it is asked for again, and that one is remembered of other nodes, too") {
  Nodes nodes;
  two_tell_of_a_view_of_three(nodes);
  for (const Addressed& each : nodes.step(0)) nodes.deliver(0, each);
  REQUIRE(nodes.processes.at(1)->record.accept_founding(recorded(8, {0, 1, 2}, true)));
  nodes.run();
  REQUIRE(nodes.requests.size() == 2);
  CHECK(nodes.requests[0].view == ViewId(8));
  CHECK(nodes.requests[1].view == ViewId(9));
  CHECK(nodes.requests[1].members == nodes.requests[0].members);
  REQUIRE(nodes.founded_by(0));
  CHECK(nodes.founded_by(0)->id == ViewId(9));
}

TEST_CASE("a process that died after its promise is not founded beside: its nodes' majority founds, behind that id") {
  Nodes nodes;
  RecordedView last = recorded(7, {0, 1, 2, 3, 4});
  for (const Join& each : last.members) last.roster.nodes.push_back({each.node, "a:1"});
  for (const std::uint32_t node : {0U, 1U, 2U}) {
    nodes.remember(node, last);
    nodes.start(node);
  }
  nodes.run();
  REQUIRE(nodes.founded_by(0));  // nobody else has heard of the view yet
  nodes.stop(0);
  nodes.stop(1);
  nodes.stop(2);
  nodes.remember(3, last);
  nodes.remember(4, last);
  nodes.start(2);
  nodes.start(3);
  nodes.start(4);
  nodes.requests.clear();
  nodes.run();
  CHECK(nodes.requests.empty());  // three of the last view, and one of the three that may be in the next
  nodes.start(1);
  nodes.run();
  REQUIRE(nodes.founded_by(1));
  CHECK(nodes.founded_by(1)->id == ViewId(9));
}

TEST_CASE("who founds behind a founding that may have come to be keeps its sizes of rings and its edition") {
  Nodes nodes;
  nodes.start(0);
  nodes.start(1);
  nodes.start(2);
  nodes.run();
  REQUIRE(nodes.founded_by(0));
  const Roster first = nodes.founded_by(0)->roster;  // nobody else has heard of the view yet
  CHECK(first.sizes == ring_sizes_of(one_subgroup(ids({0, 1, 2}), nullptr)));
  for (const std::uint32_t node : {0U, 1U, 2U}) nodes.stop(node);
  nodes.layout = [](const std::vector<NodeId>& members, const View* previous) {
    auto subgroups = one_subgroup(members, previous);
    subgroups[0].profile.ring_bytes *= 2;
    return subgroups;
  };
  nodes.start(1);
  nodes.start(2);
  nodes.run();
  REQUIRE(nodes.founded_by(1));
  CHECK(nodes.founded_by(1)->id == ViewId(1));
  CHECK(nodes.founded_by(1)->roster == first);
  CHECK(ring_sizes_of(nodes.founded_by(1)->subgroups) == first.sizes);
}

TEST_CASE("who founds behind a view whose sizes of rings hold the file's messages no more does so in the next edition") {
  Nodes nodes;
  RecordedView last = recorded(7, {0, 1, 2});
  last.roster = {4, {{NodeId(0), "a:1"}, {NodeId(1), "b:1"}, {NodeId(2), "c:1"}}, {}};
  last.roster.sizes = ring_sizes_of(one_subgroup(ids({0, 1, 2}), nullptr));
  nodes.layout = [](const std::vector<NodeId>& members, const View* previous) {
    auto subgroups = one_subgroup(members, previous);
    subgroups[0].profile.ring_bytes *= 16;
    subgroups[0].profile.message_bytes_max = subgroups[0].profile.ring_bytes / 4;
    return subgroups;
  };
  for (const std::uint32_t node : {0U, 1U, 2U}) nodes.remember(node, last);
  for (const std::uint32_t node : {0U, 1U, 2U}) nodes.start(node);
  nodes.run();
  REQUIRE(nodes.founded_by(0));
  CHECK(nodes.founded_by(0)->roster.edition == 5);
  CHECK(nodes.founded_by(0)->roster.sizes == ring_sizes_of(nodes.layout(ids({0, 1, 2}), nullptr)));
}

TEST_CASE("a majority that has met a revived view founds nothing, until a member of that is here, which goes on") {
  Nodes nodes;
  for (const std::uint32_t node : {1U, 2U}) {
    PaperMemory& memory = nodes.memories[node];
    nodes.remember(node, recorded(7, {0, 1, 2}));
    OwnRecord record(&memory, true);
    REQUIRE(record.begin(100 + node));
    record.note_overtaken(100 + node);
    nodes.start(node);
  }
  nodes.run();
  CHECK(nodes.requests.empty());
  nodes.remember(0, recorded((std::uint64_t{1} << 34) + 8, {0}));
  nodes.start(0);
  nodes.run();
  REQUIRE(nodes.founded_by(0));
  CHECK(nodes.founded_by(0)->members == ids({0}));
}

TEST_CASE("a record that begins later than the view does not count, however many of its nodes are here") {
  Nodes nodes;
  nodes.remember(0, recorded(7, {0, 1, 2}));
  nodes.start(0);
  nodes.start(1);
  nodes.start(2);
  nodes.run();
  CHECK(nodes.requests.empty());
  CHECK(nodes.processes.at(0)->founding->kept_by_memory(nodes.met_by(0)).find("have lost the record") != std::string::npos);
}

TEST_CASE("who has promised follows others only into a view of a greater id, where nodes keep a record") {
  Nodes nodes;
  for (const std::uint32_t node : {0U, 1U}) {
    nodes.remember(node, recorded(7, {0, 1, 2}));
    nodes.start(node);
  }
  nodes.run();
  REQUIRE(nodes.founded_by(0));
  Process& follower = *nodes.processes.at(1);
  ViewNotice notice;
  notice.view.members = {NodeId(4), NodeId(1)};
  notice.view.incarnations = {104, follower.who.incarnation};
  const Join stranger{NodeId(4), 104};
  notice.view.id = ViewId(8);
  CHECK_FALSE(follower.founding->accepts(stranger, notice));
  CHECK(follower.founding->accepts(nodes.processes.at(0)->who, notice));
  notice.view.id = ViewId(9);
  CHECK(follower.founding->accepts(stranger, notice));
}

TEST_CASE("a request is not lost by a later one of another founder, which is gone when it would be answered") {
  Nodes nodes;
  nodes.named = {0, 1, 2, 3};
  for (const std::uint32_t node : {1U, 2U, 3U}) nodes.start(node);
  const auto request_of = [&](std::uint32_t founder, std::uint64_t ballot) {
    PromiseRequest request{.ballot = ballot, .members = {}, .incarnations = {}};
    for (const std::uint32_t node : {founder, 3U}) {
      request.members.emplace_back(node);
      request.incarnations.push_back(nodes.processes.at(node)->who.incarnation);
    }
    request.view = ViewId(1);
    request.roster = {0, {{NodeId(founder), {}}, {NodeId(3), {}}}, {}};
    request.basis = {7, 0};  // the founder remembers something, node 3 nothing
    return request;
  };
  Founding& asked = *nodes.processes.at(3)->founding;
  REQUIRE(asked.on_request(nodes.processes.at(1)->who, request_of(1, 3)));
  REQUIRE(asked.on_request(nodes.processes.at(2)->who, request_of(2, 2)));
  nodes.stop(2);
  const auto promises = of_kind<Promise>(nodes.step(3));
  REQUIRE(promises.size() == 1);
  CHECK(promises[0].ballot == 3);
}

TEST_CASE("a process that has accepted eight foundings promises itself to no ninth") {
  Nodes nodes;
  std::vector<RecordedView> eight;
  for (std::uint32_t i = 0; i < 8; ++i) eight.push_back(recorded(1 + i, {1, 20 + i}, true));
  nodes.remember(0, recorded(20, {0, 1, 2}));
  nodes.remember(1, recorded(20, {0, 1, 2}), eight);
  nodes.start(0);
  nodes.start(1);
  nodes.run();
  CHECK_FALSE(nodes.requests.empty());
  CHECK(nodes.promises == 0);
  CHECK(nodes.accepted(1) == eight);
}

}  // namespace spindrift::views
