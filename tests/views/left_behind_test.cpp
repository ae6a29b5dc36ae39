// Foundings by those that left the group before it ended, or were removed, where nobody of its last view is here.
#include <algorithm>
#include <string>

#include "founding_nodes.hpp"

namespace spindrift::views {
namespace {

Roster roster_of(std::vector<std::uint32_t> numbers) {
  Roster roster;
  for (const std::uint32_t node : numbers) roster.nodes.push_back({NodeId(node), ""});
  roster.edition = 3;
  return roster;
}

void left_for(Nodes& nodes, std::uint32_t node, RecordedView last, Roster roster) {
  last.roster = std::move(roster);
  nodes.remember(node, std::move(last));
  nodes.memories[node].stored->standing = ViewRecord::Standing::left;
}

/// Nodes 2 and 1 left one after the other, and node 0, which stayed, is not here.
Nodes two_that_left() {
  Nodes nodes;
  left_for(nodes, 2, recorded(6, {0, 1}), roster_of({0, 1, 2, 3}));
  left_for(nodes, 1, recorded(7, {0}), roster_of({0, 1, 2, 3}));
  nodes.start(2);
  nodes.start(1);
  nodes.run();
  REQUIRE_FALSE(nodes.founded_by(1));
  return nodes;
}

}  // namespace

TEST_CASE("where nobody of the last view is here those that left before found when they are told to, in its roster") {
  Nodes nodes = two_that_left();
  CHECK(has(refusal(nodes, 1, {1}), "node 2 is here, too"));
  CHECK(has(refusal(nodes, 1, {1}), "--members 1,2"));
  const auto asked = force(nodes, 1, {1, 2}, false);
  REQUIRE_FALSE(asked);
  CHECK(asked.error().kind() == ErrorKind::no_majority);
  CHECK(has(asked.error().message(), "node 0 is missing: the group went on without node 1, which had left it"));
  nodes.run();
  CHECK(nodes.requests.empty());
  CHECK(refusal(nodes, 1, {1, 2}).empty());
  nodes.run();
  REQUIRE(nodes.founded_by(1));
  REQUIRE(nodes.requests.size() == 1);
  CHECK(nodes.founded_by(1)->members == ids({1, 2}));
  CHECK(nodes.founded_by(1)->roster.nodes.size() == 4);
  CHECK(nodes.founded_by(1)->id == id_behind(ViewId(7), forced_number(ViewId(7), 1, NodeId(1))));
  REQUIRE_FALSE(nodes.accepted(2).empty());
  CHECK(nodes.accepted(2).back().id == nodes.founded_by(1)->id);
}

TEST_CASE("each of those that left founds under an id of its own") {
  Nodes nodes = two_that_left();
  CHECK(refusal(nodes, 2, {1, 2}).empty());
  nodes.run();
  REQUIRE(nodes.founded_by(2));
  CHECK(nodes.founded_by(2)->members == ids({2, 1}));
  CHECK(nodes.founded_by(2)->id == id_behind(ViewId(7), forced_number(ViewId(7), 1, NodeId(2))));
}

TEST_CASE("a founding of those that left is asked for again under its id") {
  Nodes nodes = two_that_left();
  CHECK(refusal(nodes, 1, {1, 2}).empty());
  static_cast<void>(nodes.step(1));  // its request is lost
  for (auto& [id, process] : nodes.processes) process->founding->on_lost();
  nodes.run();
  REQUIRE(nodes.founded_by(1));
  CHECK(nodes.founded_by(1)->id == id_behind(ViewId(7), forced_number(ViewId(7), 1, NodeId(1))));
}

TEST_CASE("those that have accepted such a founding and are started again have a part, and are told again") {
  Nodes nodes = two_that_left();
  CHECK(refusal(nodes, 1, {1, 2}).empty());
  static_cast<void>(nodes.step(1));  // node 2 never hears of it
  nodes.start(1);
  nodes.run();
  CHECK_FALSE(nodes.founded_by(1));
  CHECK(refusal(nodes, 1, {1, 2}).empty());
  nodes.run();
  REQUIRE(nodes.founded_by(1));
  CHECK(nodes.founded_by(1)->members == ids({1, 2}));
  CHECK(era_of(nodes.founded_by(1)->id) > forced_number(ViewId(7), 1, NodeId(1)));
}

TEST_CASE("as long as somebody who has a part is here those that left join who founds") {
  Nodes nodes;
  left_for(nodes, 1, recorded(7, {0, 3, 4}), roster_of({0, 1, 3, 4}));
  nodes.remember(0, recorded(7, {0, 3, 4}));
  nodes.memories[0].stored->last->roster = roster_of({0, 1, 3, 4});
  nodes.start(0);
  nodes.start(1);
  nodes.run();
  CHECK(has(refusal(nodes, 0, {0, 1}), "node 1 is named, and has no part in the last view"));
  CHECK(has(refusal(nodes, 0, {0, 1}), "--members 0"));
  CHECK(has(refusal(nodes, 1, {1}), "node 1 is named, and has no part in the last view"));
  CHECK(refusal(nodes, 0, {0}).empty());
  nodes.run();
  REQUIRE(nodes.founded_by(0));
  CHECK(nodes.founded_by(0)->members == ids({0}));
}

TEST_CASE("a node that died, and was removed by others that left later, is one of those that found with these") {
  Nodes nodes;
  nodes.remember(2, recorded(5, {0, 1, 2}));
  nodes.memories[2].stored->last->roster = roster_of({0, 1, 2});
  left_for(nodes, 1, recorded(7, {0}), roster_of({0, 1, 2}));
  nodes.start(2);
  nodes.start(1);
  nodes.run();
  CHECK(refusal(nodes, 2, {1, 2}).empty());
  nodes.run();
  REQUIRE(nodes.founded_by(2));
  CHECK(nodes.founded_by(2)->members == ids({2, 1}));
}

TEST_CASE("of those that left none founds that is not in the roster, is drained, has lost its record, or was overtaken") {
  Nodes nodes = two_that_left();
  for (const std::uint32_t node : {0U, 3U, 4U, 5U}) left_for(nodes, node, recorded(5, {0, 1}), roster_of({0, 1, 2, 3}));
  nodes.memories[1].stored->last->roster.drained = ids({3});
  nodes.memories[5].stored = ViewRecord{100, std::nullopt, {}};
  nodes.memories[0].stored->since = 400;  // behind its process in that view: it has met a later one
  for (const std::uint32_t node : {1U, 0U, 3U, 4U, 5U}) nodes.start(node);
  nodes.run();
  for (const std::uint32_t node : {0U, 3U, 4U, 5U}) {
    const std::string told = refusal(nodes, 1, {1, 2, node});
    CHECK(has(told, std::to_string(node) + " is named, and remembers no view of the group, or is not in the roster"));
    CHECK(has(told, "--members 1,2"));
  }
  CHECK(refusal(nodes, 1, {1, 2}).empty());
}

TEST_CASE("those that left and do not know with which roster the group went on found nothing, and hear what to do") {
  Nodes nodes;
  for (const std::uint32_t node : {1U, 2U}) {
    left_for(nodes, node, recorded(7, {0}), {});
    nodes.start(node);
  }
  nodes.run();
  const std::string told = refusal(nodes, 1, {1, 2});
  CHECK(has(told, "remembers no view of the group, or is not in the roster"));
  CHECK(has(told, "spindrift log dump"));
  CHECK_FALSE(has(told, "--members"));
  // One that knows it is enough.
  left_for(nodes, 2, recorded(7, {0}), roster_of({0, 1, 2}));
  nodes.start(2);
  nodes.run();
  CHECK(refusal(nodes, 1, {1, 2}).empty());
  nodes.run();
  REQUIRE(nodes.founded_by(1));
  CHECK(nodes.founded_by(1)->roster.nodes == roster_of({0, 1, 2}).nodes);
}

}  // namespace spindrift::views
