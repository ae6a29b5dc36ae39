// A process waits for some of its host before it founds, or promises itself to, what follows a remembered view.
#include "founding_nodes.hpp"

namespace spindrift::views {

TEST_CASE("a neighbor that lives and is not known to look for a group keeps a process from asking and from promising") {
  for (const std::uint32_t held : {0U, 1U}) {
    Nodes nodes;
    for (const std::uint32_t node : {0U, 1U}) {
      nodes.remember(node, recorded(7, {0, 1, 2}));
      nodes.start(node);
    }
    nodes.memories[held].beside = {{NodeId(2), true, {100, recorded(7, {0, 1, 2}), {}}}};
    nodes.run();
    CHECK(nodes.requests.size() == held);
    CHECK(nodes.promises == 0);
    CHECK(nodes.processes.at(held)->founding->awaits_neighbors());
    nodes.memories[held].beside[0].lives = false;
    nodes.run();
    CHECK(nodes.founded_by(0));
  }
}

TEST_CASE("a neighbor that is here and looks for a group is waited for only if its record names it in a view") {
  Nodes nodes;
  const RecordedView last = recorded(7, {0, 1, 2});
  for (const std::uint32_t node : {0U, 1U, 2U}) {
    nodes.remember(node, last);
    nodes.start(node);
  }
  RecordedView next = recorded(8, {0, 1, 2});
  for (Join& each : next.members) each.incarnation = nodes.processes.at(each.node.value())->who.incarnation;
  nodes.memories[0].beside = nodes.memories[1].beside = {{NodeId(2), true, {100, next, {}}}};
  nodes.run();
  CHECK(nodes.requests.empty());
  for (Join& each : next.members) each.incarnation -= 1;  // so it was before: that view is over
  nodes.memories[0].beside = nodes.memories[1].beside = {{NodeId(2), true, {100, next, {}}}};
  nodes.run();
  CHECK_FALSE(nodes.requests.empty());
}

TEST_CASE("a neighbor that is set apart and looks for a group is not waited for, unless its record names it in a view") {
  for (const bool in_view : {false, true}) {
    Nodes nodes;
    const RecordedView last = recorded(7, {0, 1, 2});
    for (const std::uint32_t node : {0U, 1U}) {
      nodes.remember(node, last);
      nodes.start(node);
    }
    nodes.apart = {{NodeId(2), 102, "its configuration differs"}};
    ViewRecord beside{100, last, {}};
    if (!in_view) beside.last->members[2].incarnation = 90;
    nodes.memories[0].beside = {{NodeId(2), true, beside}};
    nodes.run();
    CHECK(nodes.founded_by(0).has_value() == !in_view);
    CHECK(nodes.processes.at(0)->founding->awaits_neighbors() == in_view);
  }
}

TEST_CASE("where a neighbor's record alone tells of the last view, and it does not run, those that wait say whose it is") {
  Nodes nodes;
  nodes.start(0);
  nodes.start(1);
  nodes.memories[0].beside = {{NodeId(4), false, {100, recorded(6, {2}), {}}},
                              {NodeId(5), false, {100, recorded(7, {2}), {}}}};
  nodes.run();
  const auto words = [&](std::uint32_t node) {
    return nodes.processes.at(node)->founding->kept_by_memory(nodes.met_by(node));
  };
  CHECK(has(words(0), "so says the record of node 5 on this host, which does not run"));
  CHECK(has(words(1), "the last view of the group had node 2"));
  CHECK_FALSE(has(words(1), "so says"));
  nodes.remember(1, recorded(7, {2}));
  nodes.start(1);
  nodes.run();
  CHECK_FALSE(has(words(0), "so says"));
}

TEST_CASE("a neighbor of which nothing is heard is not waited for where no view can have taken it in") {
  const auto waits_for = [](const ViewRecord& record, const std::vector<ViewMemory::Neighbor>& others = {}) {
    Nodes nodes;
    nodes.remember(0, recorded(7, {0}));
    nodes.memories[0].beside = {{NodeId(4), true, record}};
    nodes.memories[0].beside.insert(nodes.memories[0].beside.end(), others.begin(), others.end());
    nodes.start(0);
    nodes.run();
    CHECK(nodes.founded_by(0).has_value() != nodes.processes.at(0)->founding->awaits_neighbors());
    return nodes.processes.at(0)->founding->awaits_neighbors();
  };
  const ViewRecord empty{100, {}, {}};
  const auto dead = [](ViewRecord record) { return std::vector{ViewMemory::Neighbor{NodeId(5), false, std::move(record)}}; };
  CHECK_FALSE(waits_for(empty));                                                     // it was in no view
  CHECK_FALSE(waits_for({100, recorded(6, {0, 4}), {}}));                            // the group went on without it
  CHECK(waits_for({100, recorded(8, {0, 4}), {}}));                                  // it is in a later one
  CHECK(waits_for({100, recorded(6, {0, 4}), {recorded(8, {0, 4})}}));               // it may go into the next one
  CHECK(waits_for(empty, dead({100, recorded(8, {4, 5}), {}})));                     // somebody took it in
  CHECK(waits_for(empty, dead({100, recorded(7, {0, 5}), {recorded(8, {4, 5})}})));  // or was to
  CHECK_FALSE(waits_for(empty, dead({100, recorded(6, {4, 5}), {}})));               // long ago
}

TEST_CASE("on the first day every neighbor of which nothing is heard is waited for") {
  Nodes nodes;
  nodes.named = {0};
  nodes.memories[0].beside = {{NodeId(4), true, {100, {}, {}}}};
  nodes.start(0);
  nodes.run();
  CHECK(nodes.processes.at(0)->founding->awaits_neighbors());
  CHECK_FALSE(nodes.founded_by(0));
  nodes.memories[0].beside[0].lives = false;
  nodes.run();
  CHECK(nodes.founded_by(0));
}

}  // namespace spindrift::views
