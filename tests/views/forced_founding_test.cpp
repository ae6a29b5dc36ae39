// Foundings by less than a majority of the last view, as those who run the group say: who may, who asks, under which id.
#include <algorithm>
#include <set>
#include <string>

#include "founding_nodes.hpp"

namespace spindrift::views {
namespace {

/// Nodes of a view of five that they remember, which wait for one more.
Nodes two_of_five() {
  Nodes nodes;
  for (const std::uint32_t node : {2U, 1U}) {
    nodes.remember(node, recorded(7, {4, 2, 1, 0, 3}));
    nodes.start(node);
  }
  nodes.run();
  REQUIRE_FALSE(nodes.founded_by(1));
  return nodes;
}

/// Node 1 asks, and node 2 promises itself; nobody hears that.
void promise_to_first(Nodes& nodes) {
  for (const Addressed& each : nodes.step(1)) nodes.deliver(1, each);
  REQUIRE(of_kind<Promise>(nodes.step(2)).size() == 1);
}

/// Whether that node goes into the view behind the last one, of which a process of the other node tells it: that of the
/// nodes 0, 1 and 2.
bool taken_in(Nodes& nodes, std::uint32_t node, std::uint32_t by) {
  ViewNotice notice;
  notice.view.id = ViewId(8);
  notice.view.members = ids({0, 1, 2});
  notice.view.incarnations = {900, nodes.processes.at(1)->who.incarnation, nodes.processes.at(2)->who.incarnation};
  const Join teller = by == 0 ? Join{NodeId(0), 900} : nodes.processes.at(by)->who;
  nodes.processes.at(node)->founding->on_notice(teller, notice);
  static_cast<void>(nodes.step(node));
  return nodes.founded_by(node).has_value();
}

}  // namespace

TEST_CASE("nodes that wait for a majority found without it when one of them is told to, in a later era") {
  Nodes nodes = two_of_five();
  CHECK(refusal(nodes, 1, {1, 2}).empty());
  nodes.run();
  REQUIRE(nodes.founded_by(1));
  CHECK(nodes.founded_by(1)->members == ids({1, 2}));
  CHECK(nodes.founded_by(1)->id == id_behind(ViewId(7), forced_number(ViewId(7), 5, NodeId(1))));
  REQUIRE(nodes.requests.size() == 1);
  CHECK(nodes.accepted(1).back().founded);
  REQUIRE_FALSE(nodes.accepted(2).empty());
  CHECK(nodes.accepted(2).back().id == nodes.founded_by(1)->id);
}

TEST_CASE("whoever forces founds in an era of its own, which is that of no revival of the view") {
  Nodes nodes = two_of_five();
  CHECK(refusal(nodes, 2, {1, 2}).empty());
  nodes.run();
  REQUIRE(nodes.founded_by(2));
  CHECK(nodes.founded_by(2)->id == id_behind(ViewId(7), forced_number(ViewId(7), 5, NodeId(2))));
  for (const std::size_t members : {1U, 5U, 256U}) {
    for (const std::uint64_t era : {std::uint64_t{0}, std::uint64_t{77'777}, std::uint64_t{1} << 20U}) {
      const ViewId latest(7 + (era << 32U));
      std::set<std::uint64_t> eras;
      for (const std::uint32_t node : {0U, 1U, 2U, 300U, 65'535U}) {
        const std::uint64_t number = forced_number(latest, members, NodeId(node));
        CHECK(number > Mandate(members, {}).highest_ballot());
        CHECK(number <= (revivals_max + 1) * members + askers_apart);
        eras.insert((era + number) % askers_apart);
      }
      CHECK(eras == std::set<std::uint64_t>{0, 1, 2, 300, 65'535});
    }
  }
}

TEST_CASE("nothing is founded as long as it is only asked what would be lost") {
  Nodes nodes = two_of_five();
  const auto asked = force(nodes, 1, {1, 2}, false);
  REQUIRE_FALSE(asked);
  CHECK(asked.error().kind() == ErrorKind::no_majority);
  CHECK(has(asked.error().message(), "nodes 0, 3, 4 are missing: the last view of the group had nodes 4, 2, 1, 0, 3"));
  CHECK(has(asked.error().message(), "there are two groups"));
  CHECK(has(asked.error().fix(), "--force"));
  nodes.run();
  CHECK(nodes.requests.empty());
}

TEST_CASE("exactly those are named that are here and remember the group") {
  Nodes nodes = two_of_five();
  nodes.memories[5].stored = ViewRecord{100, std::nullopt, {}};
  nodes.start(5);
  nodes.run();
  CHECK(has(refusal(nodes, 1, {1, 1}), "node 1 is named twice"));
  CHECK(has(refusal(nodes, 1, {2}), "node 1 is asked, and is not named itself"));
  CHECK(has(refusal(nodes, 1, {1}), "node 2 is here, too"));
  CHECK(has(refusal(nodes, 1, {1, 2, 0}), "node 0 is named, and no process of it looks for the group"));
  CHECK(has(refusal(nodes, 1, {1, 2, 5}), "node 5 is named, and has no part in the last view"));
  CHECK(has(refusal(nodes, 1, {1, 2, 5}), "--members 2,1"));
  nodes.run();
  CHECK(nodes.requests.empty());
}

TEST_CASE("a release that knows no eras among those that are named is refused") {
  Nodes nodes = two_of_five();
  const auto outcome = force(nodes, 1, {1, 2}, true, revivals_since - 1);
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().kind() == ErrorKind::unsupported);
  CHECK(has(outcome.error().message(), "node 2 speaks version 17"));
}

TEST_CASE("whoever asks what is lost hears of the rest of the roster, too: one of it may have been in a later view") {
  Nodes nodes = two_of_five();
  for (const std::uint32_t node : {1U, 2U}) {
    nodes.memories[node].stored->last->roster.nodes.clear();
    for (const std::uint32_t each : {0U, 1U, 2U, 3U, 4U, 5U})
      nodes.memories[node].stored->last->roster.nodes.push_back({NodeId(each), {}});
    nodes.start(node);
  }
  nodes.run();
  const auto asked = force(nodes, 1, {1, 2}, false);
  REQUIRE_FALSE(asked);
  CHECK(has(asked.error().to_string(), "nodes 0, 3, 4 are missing"));
  CHECK(has(asked.error().to_string(), "node 5 of the roster is not here, either"));
  CHECK(has(asked.error().fix(), "start every node that still has its disk"));
}

TEST_CASE("a majority, a group that is there and one that nobody remembers need no force") {
  Nodes nodes = two_of_five();
  nodes.remember(0, recorded(7, {4, 2, 1, 0, 3}));
  nodes.start(0);
  for (const std::uint32_t node : {0U, 1U, 2U}) {
    for (const Addressed& each : nodes.step(node)) nodes.deliver(node, each);
  }
  CHECK(has(refusal(nodes, 1, {0, 1, 2}), "found by themselves"));
  nodes.run();
  REQUIRE(nodes.founded_by(2));
  CHECK(nodes.founded_by(2)->id == ViewId(8));
  nodes.remember(3, recorded(7, {4, 2, 1, 0, 3}));
  nodes.start(3);
  CHECK(has(refusal(nodes, 3, {3}), "is in the group, and here"));
  Nodes first_day;
  first_day.start(1);
  CHECK(has(refusal(first_day, 1, {1}), "no process here remembers a view"));
}

TEST_CASE("who comes and remembers the group voids the word, and so does one that starts again") {
  Nodes nodes = two_of_five();
  CHECK(refusal(nodes, 1, {1, 2}).empty());
  nodes.start(2);
  nodes.run();
  CHECK_FALSE(nodes.founded_by(1));
  CHECK(refusal(nodes, 1, {1, 2}).empty());
  nodes.remember(0, recorded(7, {4, 2, 1, 0, 3}));
  nodes.start(0);
  nodes.run();
  REQUIRE(nodes.founded_by(2));
  CHECK(nodes.founded_by(2)->id == ViewId(8));
  CHECK(nodes.founded_by(2)->members == ids({2, 1, 0}));
}

TEST_CASE("of two that are told to ask the same, and always do so at one time, the one of the lower node founds") {
  Nodes nodes = two_of_five();
  CHECK(refusal(nodes, 1, {1, 2}).empty());
  CHECK(refusal(nodes, 2, {1, 2}).empty());
  for (int pass = 0; pass < 20 && !nodes.founded_by(1); ++pass) {
    std::vector<std::pair<std::uint32_t, Addressed>> messages;
    for (const std::uint32_t node : {2U, 1U}) {
      for (Addressed& each : nodes.step(node)) messages.emplace_back(node, std::move(each));
    }
    for (const auto& [from, each] : messages) nodes.deliver(from, each);
  }
  REQUIRE(nodes.founded_by(1));
  CHECK(nodes.founded_by(1)->members == ids({1, 2}));
  CHECK_FALSE(nodes.founded_by(2));
  const auto of_two = [](const PromiseRequest& each) { return each.members.front() == NodeId(2); };
  CHECK(std::ranges::count_if(nodes.requests, of_two) == 1);  // it gives up when it hears the other's
}

TEST_CASE("of two that are told the lower node stands by its word though the request of the other outbids it") {
  Nodes nodes = two_of_five();
  const auto ask = [&](std::uint32_t node) {  // anew: its connections were lost
    nodes.processes.at(node)->founding->on_lost();
    return nodes.step(node);
  };
  CHECK(refusal(nodes, 1, {1, 2}).empty());
  const std::vector<Addressed> by_lower = ask(1);
  for (const Addressed& each : by_lower) {
    if (of_kind<PromiseRequest>({each}).empty()) nodes.deliver(1, each);  // the request comes late
  }
  CHECK(refusal(nodes, 2, {1, 2}).empty());
  static_cast<void>(ask(2));
  const std::vector<Addressed> by_higher = ask(2);
  REQUIRE(of_kind<PromiseRequest>(by_higher).front().ballot > of_kind<PromiseRequest>(by_lower).front().ballot);
  for (const Addressed& each : by_higher) nodes.deliver(2, each);
  for (const Addressed& each : by_lower) {
    if (!of_kind<PromiseRequest>({each}).empty()) nodes.deliver(1, each);
  }
  nodes.run();
  REQUIRE(nodes.founded_by(1));
  CHECK(nodes.founded_by(1)->members == ids({1, 2}));
}

TEST_CASE("whoever was told gives up when a group of an earlier era takes it in, and those that promised follow it there") {
  Nodes nodes = two_of_five();
  CHECK(refusal(nodes, 1, {1, 2}).empty());
  promise_to_first(nodes);
  CHECK_FALSE(taken_in(nodes, 2, 0));  // its founder may have founded
  CHECK(taken_in(nodes, 1, 0));
  CHECK(taken_in(nodes, 2, 1));
  CHECK_FALSE(nodes.processes.at(2)->founding->passed_over(nodes.met_by(2)));
}

TEST_CASE("a founding by force binds those that promised as long as its founder is here and in no view, and never that") {
  Nodes nodes = two_of_five();
  const auto binding = [&](std::uint32_t node) {
    return nodes.processes.at(node)->founding->binding(nodes.met_by(node));
  };
  CHECK(refusal(nodes, 1, {1, 2}).empty());
  CHECK(binding(2) == ViewId(0));
  promise_to_first(nodes);
  CHECK(binding(2) == nodes.accepted(2).back().id);
  CHECK(binding(1) == ViewId(0));
  SECTION("another group takes it in") { CHECK(taken_in(nodes, 1, 0)); }
  SECTION("it ends") { nodes.stop(1); }
  CHECK(binding(2) == ViewId(0));
}

TEST_CASE("whoever is promised to a forced founding whose founder is gone ends when a group of an earlier era takes it in") {
  Nodes nodes = two_of_five();
  CHECK(refusal(nodes, 1, {1, 2}).empty());
  promise_to_first(nodes);
  const auto passed_over = [&] { return nodes.processes.at(2)->founding->passed_over(nodes.met_by(2)); };
  CHECK_FALSE(taken_in(nodes, 2, 0));
  CHECK_FALSE(passed_over());  // the founder is here
  nodes.stop(1);
  REQUIRE(passed_over());
  CHECK(has(passed_over()->to_string(), "node 2 has promised itself to a founding by node 1"));
  CHECK(has(passed_over()->fix(), "start this node again"));
  nodes.start(1);  // another process of it
  CHECK(passed_over());
}

TEST_CASE("whoever promised itself to a founding by force goes on waiting as long as nobody takes it in") {
  Nodes nodes = two_of_five();
  CHECK(refusal(nodes, 1, {1, 2}).empty());
  promise_to_first(nodes);
  nodes.stop(1);
  CHECK_FALSE(nodes.processes.at(2)->founding->passed_over(nodes.met_by(2)));
}

TEST_CASE("a founding that was forced is asked for again under its id, and one behind it has another") {
  Nodes nodes = two_of_five();
  CHECK(refusal(nodes, 1, {1, 2}).empty());
  static_cast<void>(nodes.step(1));  // its request is lost
  for (auto& [id, process] : nodes.processes) process->founding->on_lost();
  nodes.run();
  REQUIRE(nodes.founded_by(1));
  const ViewId first = id_behind(ViewId(7), forced_number(ViewId(7), 5, NodeId(1)));
  CHECK(nodes.founded_by(1)->id == first);
  // Both had accepted it, and are started again: a majority of what they remember is here, and none of the view before.
  nodes.processes.clear();
  nodes.start(2);
  nodes.start(1);
  nodes.run();
  CHECK_FALSE(nodes.founded_by(1));
  CHECK(refusal(nodes, 1, {1, 2}).empty());
  nodes.run();
  REQUIRE(nodes.founded_by(1));
  CHECK(nodes.founded_by(1)->id == id_behind(first, forced_number(first, 2, NodeId(1))));
}

TEST_CASE("whoever is told again goes on under the id that it asked for") {
  Nodes nodes = two_of_five();
  CHECK(refusal(nodes, 1, {1, 2}).empty());
  static_cast<void>(nodes.step(1));  // its request is lost
  CHECK(refusal(nodes, 1, {1, 2}).empty());
  for (auto& [id, process] : nodes.processes) process->founding->on_lost();
  nodes.run();
  REQUIRE(nodes.founded_by(1));
  CHECK(nodes.founded_by(1)->id == id_behind(ViewId(7), forced_number(ViewId(7), 5, NodeId(1))));
}

TEST_CASE("one that was not in the latest view is not told, and says who was") {
  Nodes nodes;
  nodes.remember(0, recorded(7, {0, 1, 2, 3, 4}), {recorded(8, {1, 2, 3, 4})});
  nodes.start(0);
  nodes.run();
  CHECK(has(refusal(nodes, 0, {0}), "none of those that are here was in the latest view that is remembered, of nodes 1"));
  nodes.remember(1, recorded(7, {0, 1, 2, 3, 4}), {recorded(8, {1, 2, 3, 4})});
  nodes.start(1);
  nodes.run();
  CHECK(has(refusal(nodes, 0, {0, 1}), "--through 1"));
  CHECK(refusal(nodes, 1, {0, 1}).empty());
}

}  // namespace spindrift::views
