// The record of a process: what it stores of the views that it accepts and goes into, before anybody can see what follows.
#include <catch2/catch.hpp>

#include <memory>
#include <vector>

#include <spindrift/core/log.hpp>
#include <spindrift/views/epoch.hpp>
#include <spindrift/views/log_holders.hpp>
#include <spindrift/views/own_record.hpp>

#include "../smc/null_fabric.hpp"
#include "paper_memory.hpp"
#include "one_subgroup.hpp"

namespace spindrift::views {
namespace {

RecordedView recorded(std::uint64_t id, std::vector<std::uint32_t> nodes, bool founded = false) {
  RecordedView view{ViewId(id), {}, {}, founded};
  for (const std::uint32_t node : nodes) view.members.push_back({NodeId(node), 100 + node});
  return view;
}

View view_of(std::uint64_t id, std::vector<std::uint32_t> nodes) {
  View view;
  view.id = ViewId(id);
  for (const std::uint32_t node : nodes) {
    view.members.emplace_back(node);
    view.incarnations.push_back(100 + node);
  }
  view.roster = {3, {{NodeId(0), "a:1"}, {NodeId(1), "b:1"}, {NodeId(2), "c:1"}}, {}};
  view.subgroups.push_back(subgroup_of(view.members));
  return view;
}

/// The record of the first process of a node.
struct Kept {
  Kept() { REQUIRE(record.begin(101)); }
  PaperMemory memory;
  OwnRecord record{&memory, true};
};

struct Deaf final : smc::DeliverySink {
  void on_delivery(SubgroupId, std::span<const Delivery>) override {}
  void on_space(SubgroupId) override {}
  [[nodiscard]] bool accepts(SubgroupId) const override { return true; }
};

/// A view of three, each of whose members keeps a record.
struct ThreeThatRemember {
  ThreeThatRemember() {
    REQUIRE(log::set_levels("off").ok());
    for (std::uint32_t i = 0; i < 3; ++i) {
      records.push_back(std::make_unique<OwnRecord>(&memories[i], true));
      REQUIRE(records[i]->begin(100 + i));
      REQUIRE(records[i]->install(view));
      rows[i].resize(sst::RowLayout(view, view.members[i]).bytes() / 8);
      epochs[i] = std::make_unique<Epoch>(view, std::vector<RankSet>{RankSet::first(3)}, NodeId(i),
                                          fabric::Region{fabric::RegionKey(i), std::as_writable_bytes(std::span(rows[i]))},
                                          std::vector<Epoch::Beside>(1), smc::Policy{}, Mandate::Terms{},
                                          sink, counters, RankSet{},
                                          Remembrance{records[i].get(), nullptr});
    }
    for (std::uint32_t reader = 0; reader < 3; ++reader) {
      for (std::uint32_t owner = 0; owner < 3; ++owner) {
        if (owner != reader)
          epochs[reader]->table().attach_mapped(Rank(owner), std::as_bytes(std::span(rows[owner])));
      }
      epochs[reader]->begin();
    }
  }
  void suspect_last() {
    for (const std::uint32_t member : {0U, 1U}) epochs[member]->change().suspect(Rank(2), "it died");
  }
  void step(std::uint32_t member) { (void)epochs[member]->change().step({}, true); }
  [[nodiscard]] std::uint64_t accepted(std::uint32_t member) const {
    const sst::Table& table = epochs[member]->table();
    return table.own(table.layout(Rank(member)).accepted());
  }

  View view = view_of(7, {0, 1, 2});
  PaperMemory memories[3];
  std::vector<std::unique_ptr<OwnRecord>> records;
  std::vector<std::uint64_t> rows[3];
  CounterBlock counters = CounterBlock::in_memory(4 * smc::Multicast::counters_max);
  Deaf sink;
  std::unique_ptr<Epoch> epochs[3];
};

}  // namespace

TEST_CASE("the first process of a node begins the record, and later ones leave it as it was begun") {
  Kept first;
  REQUIRE(first.memory.stored);
  CHECK(first.memory.stored->since == 101);
  CHECK(first.memory.stored->empty());
  REQUIRE(first.record.install(view_of(7, {0, 1})));
  const ViewRecord before = *first.memory.stored;
  OwnRecord next(&first.memory, true);
  REQUIRE(next.begin(501));
  CHECK(next.record() == before);
  CHECK(*first.memory.stored == before);
  CHECK(next.record().since == 101);
}

TEST_CASE("a process is later than all of its node that the record knows of, though its clock says otherwise") {
  ViewRecord record;
  record.since = 7;
  CHECK(next_incarnation(record, NodeId(0)) == 8);
  record.last = RecordedView{ViewId(3), {{NodeId(0), 20}, {NodeId(1), 90}}, {}};
  CHECK(next_incarnation(record, NodeId(0)) == 21);
  record.accepted.push_back({ViewId(4), {{NodeId(0), 30}, {NodeId(2), 80}}, {}});
  record.accepted.push_back({ViewId(5), {{NodeId(2), 95}}, {}});
  CHECK(next_incarnation(record, NodeId(0)) == 31);
  CHECK(next_incarnation(record, NodeId(3)) == 8);
  // A node that left is no member of the last view that it knows of, and may be a holder there.
  record.last->logs.push_back({SubgroupId(0), {}, {{NodeId(3), 40}, {NodeId(0), 25}}});
  CHECK(next_incarnation(record, NodeId(3)) == 41);
  CHECK(next_incarnation(record, NodeId(0)) == 31);
}

TEST_CASE("logs that were lost without the record of views are none of a holder that the record knows of") {
  ViewRecord record;
  record.since = 7;
  record.standing = ViewRecord::Standing::left;
  const LogHolder left{NodeId(2), 40};
  record.last = RecordedView{ViewId(6), {}, {}};
  record.last->logs.push_back({SubgroupId(0), {}, {left}});
  CHECK(is_kept(left, NodeId(2), record.logs_since()));
  lose_logs(record, NodeId(2), 30);
  CHECK_FALSE(is_kept(left, NodeId(2), record.logs_since()));
  CHECK(is_kept({NodeId(2), next_incarnation(record, NodeId(2))}, NodeId(2), record.logs_since()));
}

TEST_CASE("logs that were lost are none of a process of which others know alone") {
  ViewRecord record;
  record.since = 7;
  lose_logs(record, NodeId(2), 60);
  CHECK_FALSE(is_kept({NodeId(2), 59}, NodeId(2), record.logs_since()));
  CHECK(is_kept({NodeId(2), next_incarnation(record, NodeId(2))}, NodeId(2), record.logs_since()));
}

TEST_CASE("a record that is there and cannot be read keeps its process from starting") {
  PaperMemory memory;
  memory.unreadable = true;
  OwnRecord record(&memory, true);
  CHECK_FALSE(record.begin(101));
  CHECK(memory.stores == 0);
  memory.unreadable = false;
  memory.full = true;
  CHECK_FALSE(record.begin(101));
}

TEST_CASE("a view that is gone into is the last one, whole, and nothing that was accepted before stays open") {
  Kept kept;
  REQUIRE(kept.record.accept_founding(recorded(7, {0, 1}, true)));
  REQUIRE(kept.record.install(view_of(7, {0, 1})));
  REQUIRE(kept.record.accept_decree(recorded(8, {1, 2})));
  REQUIRE(kept.record.install(view_of(8, {1, 2})));
  REQUIRE(kept.memory.stored->last);
  RecordedView last = recorded(8, {1, 2});
  last.roster = view_of(8, {}).roster;
  CHECK(*kept.memory.stored->last == last);
  CHECK(kept.memory.stored->accepted.empty());
  CHECK(kept.memory.stored->standing == ViewRecord::Standing::member);
  CHECK(kept.memory.stored->since == 101);
}

TEST_CASE("a decree takes the place of an earlier one of its view, and the last view stays the last") {
  Kept kept;
  REQUIRE(kept.record.install(view_of(7, {0, 1, 2})));
  REQUIRE(kept.record.accept_decree(recorded(8, {0, 1})));
  REQUIRE(kept.record.accept_decree(recorded(8, {0, 1, 3})));
  CHECK(kept.memory.stored->last->id == ViewId(7));
  CHECK(kept.memory.stored->accepted == std::vector{recorded(8, {0, 1, 3})});
}

TEST_CASE("a founding stands beside all that was accepted before, by whatever process of the node") {
  Kept kept;
  REQUIRE(kept.record.install(view_of(7, {0, 1, 2})));
  REQUIRE(kept.record.accept_decree(recorded(8, {0, 1})));
  OwnRecord next(&kept.memory, true);
  REQUIRE(next.begin(501));
  REQUIRE(next.accept_founding(recorded(9, {0, 2}, true)));
  CHECK(kept.memory.stored->last->id == ViewId(7));
  CHECK(kept.memory.stored->accepted == std::vector{recorded(8, {0, 1}), recorded(9, {0, 2}, true)});
}

TEST_CASE("a ninth founding is refused, and the record stays as it was") {
  Kept kept;
  for (std::uint32_t i = 0; i < 8; ++i) REQUIRE(kept.record.accept_founding(recorded(1 + i, {1, 10 + i}, true)));
  const ViewRecord eight = *kept.memory.stored;
  CHECK_FALSE(kept.record.accept_founding(recorded(20, {1, 99}, true)));
  CHECK(*kept.memory.stored == eight);
  CHECK(kept.record.record() == eight);
  CHECK_FALSE(kept.record.failure());
  CHECK(kept.record.accept_founding(recorded(21, {11, 1}, true)));  // the nodes of the second again
  CHECK(kept.memory.stored->accepted.size() == 8);
}

TEST_CASE("who is left behind remembers the view that goes on without it, and whether it had asked for that") {
  for (const auto standing : {ViewRecord::Standing::left, ViewRecord::Standing::removed}) {
    Kept kept;
    REQUIRE(kept.record.install(view_of(7, {0, 1, 2})));
    REQUIRE(kept.record.accept_decree(recorded(8, {0, 2})));
    kept.record.part(recorded(8, {0, 2}), standing);
    CHECK(*kept.memory.stored == ViewRecord{101, recorded(8, {0, 2}), {}, standing});
  }
}

TEST_CASE("the last member that leaves remembers a view without members") {
  Kept kept;
  REQUIRE(kept.record.install(view_of(7, {1})));
  kept.record.part(recorded(8, {}), ViewRecord::Standing::left);
  REQUIRE(kept.memory.stored->last);
  CHECK(kept.memory.stored->last->id == ViewId(8));
  CHECK(kept.memory.stored->last->members.empty());
}

TEST_CASE("who only hears that it was removed forgets nothing by that") {
  Kept kept;
  REQUIRE(kept.record.install(view_of(7, {0, 1, 2})));
  REQUIRE(kept.record.accept_decree(recorded(8, {0, 1})));
  ViewRecord removed = *kept.memory.stored;
  removed.standing = ViewRecord::Standing::removed;
  kept.record.note_removal();
  CHECK(*kept.memory.stored == removed);
  REQUIRE(kept.record.install(view_of(9, {0, 1})));
  CHECK(kept.memory.stored->standing == ViewRecord::Standing::member);
}

TEST_CASE("who hears from a later view that it goes on there without it counts for no view that it knew") {
  Kept kept;
  REQUIRE(kept.record.install(view_of(7, {0, 1, 2})));
  REQUIRE(kept.record.accept_decree(recorded(8, {0, 1})));
  ViewRecord overtaken = *kept.memory.stored;
  overtaken.standing = ViewRecord::Standing::removed;
  overtaken.since = 102;
  kept.record.note_overtaken(101);
  CHECK(*kept.memory.stored == overtaken);
  CHECK(next_incarnation(overtaken, NodeId(1)) > overtaken.since);
}

TEST_CASE("what could not be stored has not happened, and nothing is stored after it") {
  Kept kept;
  REQUIRE(kept.record.install(view_of(7, {0, 1, 2})));
  const ViewRecord before = *kept.memory.stored;
  kept.memory.full = true;
  CHECK_FALSE(kept.record.accept_decree(recorded(8, {0, 1})));
  CHECK(kept.record.record() == before);
  REQUIRE(kept.record.failure());
  kept.memory.full = false;
  CHECK_FALSE(kept.record.install(view_of(8, {0, 1})));
  CHECK_FALSE(kept.record.accept_founding(recorded(9, {0, 1}, true)));
  CHECK(*kept.memory.stored == before);
}

TEST_CASE("neighbors are looked at where members may map each other's rows, and nowhere else") {
  PaperMemory memory;
  memory.beside = {{NodeId(2), true, {}}};
  CHECK(OwnRecord(&memory, true).neighbors().size() == 1);
  CHECK(OwnRecord(&memory, false).neighbors().empty());
}

TEST_CASE("without a memory everything is accepted and nothing remembered") {
  OwnRecord none(nullptr, true);
  CHECK_FALSE(none.is_kept());
  CHECK(none.begin(101));
  CHECK(none.accept_decree(recorded(8, {0})));
  CHECK(none.accept_founding(recorded(8, {0}, true)));
  CHECK(none.install(view_of(8, {0})));
  CHECK(none.record().empty());
  CHECK(none.neighbors().empty());
}

TEST_CASE("each member has the decree in its record before its row shows that it has accepted it") {
  ThreeThatRemember group;
  std::uint64_t shown[2] = {99, 99};
  for (const std::uint32_t member : {0U, 1U})
    group.memories[member].before_store = [&, member] { shown[member] = group.accepted(member); };
  group.suspect_last();
  for (int steps = 0; steps < 10; ++steps) {
    for (const std::uint32_t member : {0U, 1U}) {
      group.step(member);
      const std::vector<RecordedView>& remembered = group.memories[member].stored->accepted;
      if (group.accepted(member) == 0) continue;
      REQUIRE(remembered.size() == 1);
      CHECK(remembered[0].id == ViewId(8));
      CHECK(remembered[0].members == recorded(8, {0, 1}).members);
      CHECK(remembered[0].roster == group.view.roster);
      CHECK_FALSE(remembered[0].founded);
    }
  }
  REQUIRE(group.epochs[1]->change().state() == ViewChange::State::decided);
  for (const std::uint64_t accepted : shown) CHECK(accepted == 0);
  for (const PaperMemory& memory : {group.memories[0], group.memories[1]}) CHECK(memory.stored->last->id == ViewId(7));
}

TEST_CASE("a member that cannot store a decree accepts none, and the view does not end by it") {
  ThreeThatRemember group;
  group.memories[1].full = true;
  group.suspect_last();
  for (int steps = 0; steps < 10; ++steps) {
    for (const std::uint32_t member : {0U, 1U}) group.step(member);
  }
  CHECK(group.accepted(0) != 0);
  CHECK(group.accepted(1) == 0);
  CHECK(group.records[1]->failure());
  CHECK(group.epochs[0]->change().state() == ViewChange::State::accepted);
  CHECK(group.memories[1].stored->accepted.empty());
}

}  // namespace spindrift::views
