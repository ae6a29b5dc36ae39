// Replicated objects where they cannot be: what cannot take the state, and who is not in the subgroup.
#include <catch2/catch.hpp>

#include <map>
#include <memory>
#include <vector>

#include <spindrift/group/replicated.hpp>

#include "group_fixture.hpp"
#include "tally.hpp"

using namespace spindrift;

namespace {

/// Gives no way to save its state.
class Mute {
 public:
  std::size_t add(int value) {
    values_.push_back(std::make_unique<int>(value));
    return values_.size();
  }
  [[nodiscard]] std::size_t count() const { return values_.size(); }
  using Methods = Replicates<&Mute::add, &Mute::count>;

 private:
  std::vector<std::unique_ptr<int>> values_;
};

/// The same program a version later.
class LaterTally {
 public:
  int add(int value) { return sum_ += value; }
  int reset() { return sum_ = 0; }
  [[nodiscard]] int sum() const { return sum_; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(sum_);
  }
  using Methods = Replicates<&LaterTally::add, &LaterTally::reset, &LaterTally::sum>;

 private:
  int sum_ = 0;
};

/// A view without that node, and with nobody removed, is there.
void await_without(Group& group, NodeId node) {
  while (group.view().rank_of(node)) std::this_thread::yield();
}

/// Node 1 left and comes again; the group of node 0 alone is what a failure of its would stop.
std::unique_ptr<Group> come_again(const GroupFixture& fixture, std::vector<std::unique_ptr<Group>>& groups) {
  for (auto& group : groups) group->subgroup("ticks").on_delivery([](auto) {});
  groups[1]->leave();
  groups[1].reset();
  await_without(*groups[0], NodeId(1));
  auto again = std::make_unique<Group>(fixture.config(1, 2));
  again->subgroup("ticks").on_delivery([](auto) {});
  return again;
}

}  // namespace

TEST_CASE("a replicated object in an unordered subgroup is refused by a sentence with its fix") {
  GroupFixture fixture;
  Group group(fixture.config(0, 1));
  const auto refused = thrown_by([&] { static_cast<void>(group.replicated<Tally>("ticks")); });
  REQUIRE(refused);
  CHECK(refused->kind() == ErrorKind::bad_argument);
  CHECK_THAT(refused->to_string(), Catch::Contains("subgroup ticks carries no replicated object: it is unordered") &&
                                       Catch::Contains("fix: use a subgroup in ordered mode"));
  group.subgroup("ticks").on_delivery([](auto) {});  // nothing was taken
  group.leave();
}

TEST_CASE("a type that cannot be saved works, and where its state is needed it is refused without harm to the others") {
  GroupFixture fixture;
  auto groups = fixture.join(2);
  std::vector<Replicated<Mute>> mutes;
  for (auto& group : groups) mutes.push_back(group->replicated<Mute>("orders"));
  CHECK(mutes[1].update<&Mute::add>(1).get() == 1);
  const auto again = come_again(fixture, groups);
  const auto refused = thrown_by([&] { static_cast<void>(again->replicated<Mute>("orders")); });
  REQUIRE(refused);
  CHECK(refused->kind() == ErrorKind::unsupported);
  CHECK_THAT(refused->to_string(),
             Catch::Contains("node 1 cannot get the state of the replicated object in subgroup orders") &&
                 Catch::Contains("fix: give the type `template <class Archive> void serialize"));
  again->leave();
  await_without(*groups[0], NodeId(1));
  CHECK(mutes[0].update<&Mute::add>(2).get() == 2);
  groups[0]->leave();
}

TEST_CASE("a joiner with other Methods leaves in order, says why, and never speaks to the others") {
  GroupFixture fixture;
  auto groups = fixture.join(2);
  std::vector<Replicated<Tally>> counters;
  for (auto& group : groups) counters.push_back(group->replicated<Tally>("orders"));
  CHECK(counters[1].update<&Tally::add>(7).get() == 7);
  const auto again = come_again(fixture, groups);
  auto other = again->replicated<LaterTally>("orders");
  const auto spoke = thrown_by([&] { static_cast<void>(other.update<&LaterTally::add>(1).get()); });
  REQUIRE(spoke);
  CHECK(spoke->kind() == ErrorKind::refused);
  CHECK_THAT(spoke->to_string(), Catch::Contains("node 1 cannot join in the replicated object of subgroup orders") &&
                                     Catch::Contains("list other Methods") && Catch::Contains("fix: run the same program"));
  const auto awaited = thrown_by([&] { again->loaded(); });
  REQUIRE(awaited);
  CHECK(awaited->kind() == ErrorKind::refused);
  CHECK_FALSE(again->is_loaded());
  const auto end = thrown_by([&] { again->wait(); });
  REQUIRE(end);
  CHECK(end->kind() == ErrorKind::refused);
  CHECK(thrown_by([&] { static_cast<void>(other.query<&LaterTally::sum>()); }).has_value());
  await_without(*groups[0], NodeId(1));
  CHECK(counters[0].update<&Tally::add>(1).get() == 8);
  groups[0]->leave();
}

TEST_CASE("a query at a node that is not in the subgroup is refused, and one at a member is answered") {
  GroupFixture fixture;
  GroupOptions options;
  const LayoutFunction usual = value_or_throw(fixture.config(0, 2).layout_function());
  options.layout = [usual](const std::vector<NodeId>& members, const View* before) {
    auto subgroups = usual(members, before);
    subgroups[0].members = subgroups[0].senders = {NodeId(0)};
    return subgroups;
  };
  auto groups = fixture.join_from(0, 2, "", options);
  std::vector<Replicated<Tally>> counters;
  for (auto& group : groups) {
    counters.push_back(group->replicated<Tally>("orders"));
    group->subgroup("ticks").on_delivery([](auto) {});
  }
  CHECK(counters[0].update<&Tally::add>(3).get() == 3);
  CHECK(counters[0].query<&Tally::sum>() == 3);
  const auto refused = thrown_by([&] { static_cast<void>(counters[1].query<&Tally::sum>()); });
  REQUIRE(refused);
  CHECK(refused->kind() == ErrorKind::bad_argument);
  CHECK_THAT(refused->to_string(),
             Catch::Contains("node 1 is not in subgroup orders now") && Catch::Contains("fix: query at"));
  groups[1]->leave();  // the layout gives no view without node 0
  groups[0]->leave();
}
