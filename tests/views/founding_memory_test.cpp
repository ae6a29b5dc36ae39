// Foundings by what nodes remember: who asks whom on what basis, who promises, and what is stored before.
#include <catch2/catch.hpp>

#include <map>
#include <memory>
#include <vector>

#include <spindrift/views/founding.hpp>

#include "paper_memory.hpp"

namespace spindrift::views {
namespace {

const GroupIdentity group{"g", {1, 2}};

std::vector<SubgroupView> one_subgroup(const std::vector<NodeId>& members, const View*) {
  SubgroupView subgroup;
  subgroup.name = "s";
  subgroup.members = subgroup.senders = members;
  return {subgroup};
}

std::vector<NodeId> ids(std::vector<std::uint32_t> numbers) {
  std::vector<NodeId> all;
  for (const std::uint32_t number : numbers) all.emplace_back(number);
  return all;
}

/// A view of the processes before: node n was 100 + n.
RecordedView recorded(std::uint64_t id, std::vector<std::uint32_t> nodes, bool founded = false) {
  RecordedView view{ViewId(id), {}, {}, founded};
  for (const std::uint32_t node : nodes) view.members.push_back({NodeId(node), 100 + node});
  return view;
}

/// A node, its memory, and the process of it that looks for a group.
struct Process {
  Process(std::uint32_t id, PaperMemory& memory_of_node, std::uint64_t incarnation, std::vector<std::uint32_t> named)
      : who{NodeId(id), incarnation}, memory(memory_of_node), record(&memory, true) {
    REQUIRE(record.begin(incarnation));
    founding = std::make_unique<Founding>(who, ids(std::move(named)), one_subgroup, Roster{}, &record);
  }
  [[nodiscard]] Founding::Met met() const { return {who, !view}; }

  Join who;
  PaperMemory& memory;
  OwnRecord record;
  std::unique_ptr<Founding> founding;
  std::optional<View> view;
};

/// Nodes 0 to 5, the processes of which hear each other at once. Nodes 0, 1 and 2 are the named founders.
struct Nodes {
  void remember(std::uint32_t node, std::optional<RecordedView> last, std::vector<RecordedView> accepted = {}) {
    memories[node].stored = ViewRecord{100, std::move(last), std::move(accepted)};
  }
  Process& start(std::uint32_t node) {
    processes[node] = std::make_unique<Process>(node, memories[node], 500 + 10 * ++starts + node, named);
    for (auto& [id, process] : processes) process->founding->on_lost();
    return *processes[node];
  }
  void stop(std::uint32_t node) {
    processes.erase(node);
    for (auto& [id, process] : processes) process->founding->on_lost();
  }
  [[nodiscard]] std::vector<Founding::Met> met_by(std::uint32_t node) const {
    std::vector<Founding::Met> met;
    for (const auto& [id, process] : processes) {
      if (id != node) met.push_back(process->met());
    }
    return met;
  }
  /// One step of that process: its messages, which are not delivered.
  std::vector<Addressed> step(std::uint32_t node) {
    Process& process = *processes.at(node);
    if (process.view) return {};
    Founding::Step step = process.founding->step(met_by(node), {}, apart);
    if (step.view) process.view = step.view->view;
    return std::move(step.messages);
  }
  void deliver(std::uint32_t from, const Addressed& addressed) {
    const auto at = processes.find(addressed.to.value());
    if (at == processes.end() || at->second->view) return;
    Founding& to = *at->second->founding;
    const Join sender = processes.at(from)->who;
    const auto message = decode(addressed.message, group, {});
    REQUIRE(message);
    if (const auto* const asked = std::get_if<PromiseRequest>(&*message)) {
      requests.push_back(*asked);
      REQUIRE(to.on_request(sender, *asked));
    } else if (const auto* const promise = std::get_if<Promise>(&*message)) {
      ++promises;
      to.on_promise(sender.node, *promise);
    } else {
      REQUIRE(std::holds_alternative<Remembered>(*message));
      to.on_remembered(sender, std::get<Remembered>(*message));
    }
  }
  /// Steps of all until nobody has anything to say.
  void run() {
    for (bool progress = true; progress;) {
      progress = false;
      std::vector<std::uint32_t> all;
      for (const auto& [id, process] : processes) all.push_back(id);
      for (const std::uint32_t id : all) {
        for (const Addressed& each : step(id)) {
          deliver(id, each);
          progress = true;
        }
      }
    }
  }
  [[nodiscard]] const std::optional<View>& founded_by(std::uint32_t node) const { return processes.at(node)->view; }
  [[nodiscard]] const std::vector<RecordedView>& accepted(std::uint32_t node) const {
    return memories[node].stored->accepted;
  }

  std::vector<std::uint32_t> named{0, 1, 2};
  PaperMemory memories[6];
  std::map<std::uint32_t, std::unique_ptr<Process>> processes;
  std::vector<Apart> apart;
  std::vector<PromiseRequest> requests;  // those that were delivered
  int promises = 0;
  std::uint64_t starts = 0;
};

template <class T>
std::vector<T> of_kind(const std::vector<Addressed>& messages) {
  std::vector<T> all;
  for (const Addressed& each : messages) {
    const auto message = decode(each.message, group, {});
    REQUIRE(message);
    if (const auto* const one = std::get_if<T>(&*message)) all.push_back(*one);
  }
  return all;
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
  nodes.remember(3, last);
  nodes.remember(5, last);
  nodes.start(3);
  nodes.start(0);
  nodes.start(1);
  nodes.start(2);  // all founders are here, and a minority of the last view
  nodes.run();
  CHECK(nodes.requests.empty());
  CHECK(nodes.processes.at(3)->founding->kept_by_memory(nodes.met_by(3)).find("start 1 of 5, 4") != std::string::npos);
  nodes.start(5);
  nodes.run();
  REQUIRE(nodes.founded_by(5));
  CHECK(nodes.founded_by(5)->members == ids({5, 3}));
  CHECK(nodes.founded_by(5)->id == ViewId(8));
  CHECK(nodes.founded_by(5)->roster == last.roster);
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
  for (const std::uint32_t node : {0U, 1U}) {
    nodes.remember(node, recorded(7, {0, 1, 2}));
    nodes.start(node);
  }
  for (const std::uint32_t node : {0U, 1U}) {
    for (const Addressed& each : nodes.step(node)) nodes.deliver(node, each);
  }
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

TEST_CASE("a founding that the same process asks for again has the same id, and one of its next process a greater one") {
  Nodes nodes;
  for (const std::uint32_t node : {0U, 1U}) {
    nodes.remember(node, recorded(7, {0, 1, 2}));
    nodes.start(node);
  }
  for (const std::uint32_t node : {0U, 1U}) {
    for (const Addressed& each : nodes.step(node)) nodes.deliver(node, each);
  }
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
