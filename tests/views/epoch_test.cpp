// One view at each of its members, over rows that they read in place: its beginning, its passes, its end.
#include <catch2/catch.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <spindrift/core/log.hpp>
#include <spindrift/views/epoch.hpp>

#include "../smc/null_fabric.hpp"

namespace spindrift::views {
namespace {

using namespace std::chrono_literals;

constexpr SubgroupId all_three{0};
constexpr SubgroupId first_two{1};

View three_members() {
  View view;
  view.id = ViewId(1);
  for (std::uint32_t i = 0; i < 3; ++i) {
    view.members.emplace_back(i);
    view.incarnations.push_back(100 + i);
  }
  SubgroupView subgroup;
  subgroup.name = "all";
  subgroup.members = subgroup.senders = view.members;
  subgroup.profile = {.ring_bytes = 4096, .window_messages = 4, .message_bytes_max = 64};
  view.subgroups.push_back(subgroup);
  subgroup.name = "two";
  subgroup.mode = DeliveryMode::unordered;
  subgroup.members = subgroup.senders = {NodeId(0), NodeId(1)};
  view.subgroups.push_back(subgroup);
  return view;
}

/// The view's epochs, and what their applications hear.
struct ThreeEpochs {
  ThreeEpochs() {
    REQUIRE(log::set_levels("off").ok());
    for (std::uint32_t i = 0; i < 3; ++i) {
      rows[i].resize(sst::RowLayout(view, view.members[i]).bytes() / 8);
      epochs[i] = std::make_unique<Epoch>(view, std::vector<RankSet>{RankSet::first(3), RankSet::first(1)}, NodeId(i),
                                          fabric::Region{fabric::RegionKey(i), std::as_writable_bytes(std::span(rows[i]))},
                                          std::vector<Epoch::Beside>(2), smc::Policy{}, Mandate::Terms{},
                                          applications[i], counters);
    }
  }
  void attach(std::uint32_t reader, std::uint32_t owner) {
    epochs[reader]->table().attach_mapped(Rank(owner), std::as_bytes(std::span(rows[owner])));
  }
  void begin() {
    for (std::uint32_t reader = 0; reader < 3; ++reader) {
      for (std::uint32_t owner = 0; owner < 3; ++owner) {
        if (owner != reader) attach(reader, owner);
      }
      epochs[reader]->begin();
    }
  }
  /// Passes of these members until none of them does anything.
  void run(const std::vector<std::uint32_t>& members) {
    for (bool progress = true; progress;) {
      progress = false;
      for (const std::uint32_t member : members) {
        const auto pass = epochs[member]->running().run(fabric, stepper, Time());
        REQUIRE(pass);
        epochs[member]->suspect_faulty();
        progress |= *pass;
      }
    }
  }
  void send(std::uint32_t member, SubgroupId id, char character) {
    smc::SendRing& ring = *epochs[member]->multicast(id)->ring();
    const auto reservation = ring.reserve(1);
    REQUIRE(reservation);
    reservation->payload[0] = static_cast<std::byte>(character);
    ring.commit(*reservation);
  }
  /// Steps of these members' view changes until all of them have decided.
  void decide(const std::vector<std::uint32_t>& members) {
    const auto decided = [&](std::uint32_t member) {
      return epochs[member]->change().state() == ViewChange::State::decided;
    };
    for (int steps = 0; steps < 10; ++steps) {
      for (const std::uint32_t member : members) (void)epochs[member]->change().step({}, true);
    }
    for (const std::uint32_t member : members) REQUIRE(decided(member));
  }
  [[nodiscard]] std::uint64_t loaded_word(std::uint32_t reader, std::uint32_t owner, SubgroupId id) {
    const sst::Table& table = epochs[reader]->table();
    return *table.read(Rank(owner), table.layout(Rank(owner)).subgroup(id)->loaded).within(0, 1);
  }

  View view = three_members();
  std::vector<std::uint64_t> rows[3];
  smc::Stepper stepper;
  smc::NullFabric fabric;
  CounterBlock counters = CounterBlock::in_memory(4 * smc::Multicast::counters_max);
  struct Sink final : smc::DeliverySink {
    void on_delivery(SubgroupId id, std::span<const Delivery> batch) override {
      for (const Delivery& each : batch) heard[id.value()] += static_cast<char>(each.payload.front());
    }
    void on_space(SubgroupId) override {}
    [[nodiscard]] bool accepts(SubgroupId) const override { return accepting; }
    std::map<std::uint32_t, std::string> heard;
    bool accepting = true;
  } applications[3];
  std::unique_ptr<Epoch> epochs[3];
};

}  // namespace

TEST_CASE("a view begins at a member when every row is attached, and then its row says so") {
  ThreeEpochs group;
  Epoch& first = *group.epochs[0];
  group.attach(0, 1);
  CHECK_FALSE(first.all_attached());
  group.attach(0, 2);
  CHECK(first.all_attached());
  CHECK_FALSE(first.begun());
  first.begin();
  CHECK(first.begun());
  (void)first.change().step({}, true);
  CHECK(first.change().ready(Rank(0)));
  CHECK_FALSE(first.change().everybody_ready());
}

TEST_CASE("a member has the subgroups that it is in, and says which states it has: those it brought and those it got") {
  ThreeEpochs group;
  group.begin();
  CHECK(group.epochs[2]->multicast(all_three) != nullptr);
  CHECK(group.epochs[2]->multicast(first_two) == nullptr);
  CHECK(group.loaded_word(2, 1, all_three) == 1);
  CHECK(group.loaded_word(2, 0, first_two) == 1);
  CHECK(group.loaded_word(2, 1, first_two) == 0);
  group.epochs[1]->set_loaded(first_two);
  CHECK(group.loaded_word(2, 1, first_two) == 1);
}

TEST_CASE("passes bring every message to every member of its subgroup") {
  ThreeEpochs group;
  group.begin();
  group.send(0, all_three, 'a');
  group.send(1, first_two, 'x');
  group.send(2, all_three, 'b');
  group.run({0, 1, 2});
  for (auto& application : group.applications) CHECK(application.heard[0] == "ab");
  for (const std::uint32_t member : {0U, 1U}) CHECK(group.applications[member].heard[1] == "x");
  CHECK(group.applications[2].heard.count(1) == 0);
}

TEST_CASE("impossible bytes make a suspect of their writer, with the reason") {
  ThreeEpochs group;
  group.begin();
  const std::uint64_t committed = group.epochs[1]->table().layout(Rank(1)).subgroup(all_three)->committed;
  group.rows[1][committed / 8] = 1000;
  group.rows[1][group.epochs[1]->table().layout(Rank(1)).activity(all_three) / 8] = 1;
  group.run({0});
  CHECK(group.epochs[0]->change().suspected().contains(Rank(1)));
  CHECK(suspicion_of(group.epochs[0]->change(), Rank(1))->reason.find("committed fell, or rose") != std::string::npos);
}

TEST_CASE("at the end of a view survivors deliver what all of them hold, ready for it or not, and no more") {
  ThreeEpochs group;
  group.begin();
  group.applications[0].accepting = false;
  group.send(2, all_three, 'a');
  group.send(0, first_two, 'x');
  group.run({0, 1, 2});
  CHECK(group.applications[0].heard.empty());
  group.send(2, all_three, 'b');
  group.run({2});
  group.run({0});  // and the last member dies before the other survivor has looked
  for (const std::uint32_t member : {0U, 1U}) group.epochs[member]->change().suspect(Rank(2), "it died");
  group.decide({0, 1});
  CHECK_FALSE(group.epochs[0]->holds_back());
  for (const std::uint32_t member : {0U, 1U}) group.epochs[member]->finish(Time(5ms));
  CHECK(group.applications[0].heard[0] == group.applications[1].heard[0]);
  CHECK(group.applications[0].heard[0] == "a");
  CHECK(group.applications[0].heard[1] == "x");
  CHECK(group.applications[1].heard[1] == "x");
}

TEST_CASE("who left is waited for until it knows, or for as long as patience lasts") {
  ThreeEpochs group;
  group.begin();
  CHECK(group.epochs[2]->change().leave());
  for (int steps = 0; steps < 10; ++steps) {
    (void)group.epochs[0]->change().step({}, true);
    (void)group.epochs[1]->change().step({}, true);
    if (steps < 3) (void)group.epochs[2]->change().step({}, true);
  }
  Epoch& leader = *group.epochs[0];
  REQUIRE(leader.change().state() == ViewChange::State::decided);
  REQUIRE(leader.change().decree().left.contains(Rank(2)));
  leader.finish(Time(5ms));
  const bool knows = group.epochs[2]->change().state() == ViewChange::State::decided;
  CHECK(leader.leavers_know(Time(6ms), Duration{}) == knows);
  CHECK(leader.leavers_know(Time(15ms), 10ms));
  group.decide({2});
  CHECK(leader.leavers_know(Time(6ms), Duration{}));
}

}  // namespace spindrift::views
