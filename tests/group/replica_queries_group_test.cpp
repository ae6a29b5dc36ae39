// Queries of other members' replicas in real groups: from inside and outside of the subgroup, across views and ends.
#include <catch2/catch.hpp>

#include <future>
#include <map>

#include <spindrift/group/replicated.hpp>

#include "group_replicas.hpp"

using namespace spindrift;
using namespace std::chrono_literals;

namespace {

class Tally {
 public:
  int add(int value) { return sum_ += value; }
  [[nodiscard]] int sum() const { return sum_; }
  [[nodiscard]] int checked(int least) const {
    if (sum_ < least) throw std::out_of_range("only " + std::to_string(sum_));
    return sum_;
  }
  [[nodiscard]] std::string copies(std::uint64_t bytes) const { return std::string(bytes, 'x'); }
  /// Holds up its member until the test says so.
  [[nodiscard]] int late() const {
    begun.set_value();
    released.wait();
    return sum_;
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(sum_);
  }
  using Methods = Replicates<&Tally::add, &Tally::sum, &Tally::checked, &Tally::copies, &Tally::late>;

  static inline std::promise<void> begun;
  static inline std::shared_future<void> released;

 private:
  int sum_ = 0;
};

/// Members outside of "orders" from node `first` on.
GroupOptions with_orders_below(const GroupFixture& fixture, unsigned members, std::uint32_t first) {
  GroupOptions options;
  const LayoutFunction usual = value_or_throw(fixture.config(0, members).layout_function());
  options.layout = [usual, first](const std::vector<NodeId>& present, const View* before) {
    auto subgroups = usual(present, before);
    const auto outside = [&](NodeId node) { return node >= NodeId(first); };
    std::erase_if(subgroups[0].members, outside);
    std::erase_if(subgroups[0].senders, outside);
    return subgroups;
  };
  return options;
}

}  // namespace

TEST_CASE("a member queries another, and all, and gets values and exceptions") {
  GroupFixture fixture;
  auto groups = fixture.join(3);
  auto tallies = replicas_of<Tally>(groups);
  tallies[0].update<&Tally::add>(7).stable();
  CHECK(tallies[0].query_at<&Tally::sum>(NodeId(2)).get(20s) == 7);
  CHECK(tallies[0].query_at<&Tally::sum>(NodeId(0)).get(20s) == 7);
  CHECK_THROWS_AS(tallies[1].query_at<&Tally::checked>(NodeId(0), 8).get(20s), std::out_of_range);
  CHECK(tallies[1].query_at<&Tally::copies>(NodeId(2), 3'000'000U).get(20s).size() == 3'000'000);
  const auto results = tallies[2].query_all<&Tally::sum>().get(20s);
  CHECK(results.size() == 3);
  for (const auto& result : results) CHECK(result.value() == 7);
  for (const auto& result : tallies[2].ordered_query_all<&Tally::sum>().all(20s)) CHECK(result.value() == 7);
  const auto there = tallies[0].ordered_query_at<&Tally::sum>(NodeId(1));
  static_cast<void>(tallies[2].post<&Tally::add>(1));
  CHECK(there.get(20s) >= 7);
  tallies[1].update<&Tally::add>(2).get(20s);
  for (std::uint32_t node = 0; node < 3; ++node) {
    CHECK(tallies[1].ordered_query_at<&Tally::sum>(NodeId(node)).get(20s) == 10);  // it sees all that was delivered before
  }
  leave_all(groups);
  CHECK(thrown_by([&] { static_cast<void>(tallies[2].query_all<&Tally::sum>()); })->kind() == ErrorKind::group_closed);
}

TEST_CASE("a node outside of the subgroup queries its members, and is none itself") {
  GroupFixture fixture;
  auto groups = fixture.join_from(0, 3, "", with_orders_below(fixture, 3, 2));
  auto tallies = replicas_of<Tally>(groups);
  tallies[0].update<&Tally::add>(3).stable();
  CHECK(tallies[2].query_at<&Tally::sum>(NodeId(1)).get(20s) == 3);
  CHECK(tallies[2].query_all<&Tally::sum>().get(20s).size() == 2);
  const auto outside = thrown_by([&] { static_cast<void>(tallies[0].query_at<&Tally::sum>(NodeId(2)).get(20s)); });
  REQUIRE(outside);
  CHECK(outside->kind() == ErrorKind::bad_argument);
  CHECK_THAT(outside->to_string(), Catch::Contains("node 2 is not in subgroup orders now"));
  groups[2]->leave();
  groups[1]->leave();
  groups[0]->leave();
}

TEST_CASE("a member that has attached no object refuses a query, and the others answer") {
  GroupFixture fixture;
  auto groups = fixture.join(3);
  auto tally = groups[0]->replicated<Tally>("orders");
  auto second = groups[1]->replicated<Tally>("orders");
  // Without a limit: a thread that is not woken by the refusal would only be late with one.
  const auto refused = thrown_by([&] { static_cast<void>(tally.query_at<&Tally::sum>(NodeId(2)).get()); });
  REQUIRE(refused);
  CHECK(refused->kind() == ErrorKind::refused);
  CHECK_THAT(refused->to_string(), Catch::Contains("node 2 has no replicated object in subgroup orders") &&
                                       Catch::Contains("fix: let the program there call replicated"));
  std::size_t answered = 0;
  for (const auto& result : tally.query_all<&Tally::sum>().get(20s)) answered += result.ok() ? 1 : 0;
  CHECK(answered == 2);
  static_cast<void>(second.query_at<&Tally::sum>(NodeId(0)).get(20s));
  auto third = groups[2]->replicated<Tally>("orders");
  CHECK(tally.query_at<&Tally::sum>(NodeId(2)).get(20s) == 0);
  CHECK(third.query_all<&Tally::sum>().get(20s).size() == 3);
  for (auto& group : groups) group->subgroup("ticks").on_delivery([](auto) {});
  leave_all(groups);
}

TEST_CASE("queries of a member that ends in the middle of one are answered or lost, and none waits for ever") {
  GroupFixture fixture;
  std::promise<void> release;
  Tally::begun = {};
  Tally::released = release.get_future().share();
  std::vector<std::unique_ptr<Group>> groups = fixture.join(4, "suspect_after_ms = 600000\njoin_timeout_ms = 20000\n");
  std::vector<Replicated<Tally>> tallies;
  for (auto& group : groups) tallies.push_back(group->replicated<Tally>("orders"));
  for (unsigned i = 0; i < 4; ++i) {
    groups[i]->subgroup("ticks").on_delivery([i](auto) {
      if (i == 3) throw std::runtime_error("that is enough");
    });
  }
  // Member 3 is in the middle of one query, has others before it, and then a message that ends it.
  const auto answered = tallies[0].query_at<&Tally::late>(NodeId(3));
  Tally::begun.get_future().wait();
  const auto all = tallies[0].query_all<&Tally::sum>();
  std::vector<QueryFuture<std::string>> behind;
  for (int i = 0; i < 5; ++i) behind.push_back(tallies[0].query_at<&Tally::copies>(NodeId(3), 40'000'000U));
  groups[0]->subgroup("ticks").send("end");
  release.set_value();
  CHECK(thrown_by([&] { groups[3]->wait(); })->kind() == ErrorKind::handler_failed);
  const auto is_settled = [](const auto& query) {
    const auto error = thrown_by([&] { static_cast<void>(query.get(20s)); });
    return !error || error->kind() == ErrorKind::member_lost;
  };
  CHECK(is_settled(answered));
  for (const auto& query : behind) CHECK(is_settled(query));
  CHECK(all.get(20s).size() == 4);
  while (groups[0]->view().rank_of(NodeId(3))) std::this_thread::yield();
  const auto gone = thrown_by([&] { static_cast<void>(tallies[0].query_at<&Tally::sum>(NodeId(3)).get(20s)); });
  CHECK(gone->kind() == ErrorKind::bad_argument);
  CHECK(tallies[0].query_all<&Tally::sum>().get(20s).size() == 3);
  for (unsigned i = 0; i < 3; ++i) groups[i]->leave();
}

TEST_CASE("queries of members that come and go all end with a value or an error that says why") {
  GroupFixture fixture;
  auto groups = fixture.join(3);
  auto tallies = replicas_of<Tally>(groups);
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> values{0};
  std::atomic<std::uint64_t> odd{0};
  std::thread asking([&] {
    const auto count = [&](const ReplicaResult<int>& result) {
      const auto error = thrown_by([&] { static_cast<void>(result.value()); });
      if (!error) ++values;
      const bool told = error && (error->kind() == ErrorKind::member_lost || error->kind() == ErrorKind::refused);
      if (error && !(told && result.node() == NodeId(2))) ++odd;
    };
    while (!over) {
      for (const auto& result : tallies[0].query_all<&Tally::sum>().get(60s)) count(result);
    }
  });
  for (int round = 0; round < 5; ++round) {
    groups[2]->leave();
    groups[2].reset();
    groups[2] = std::make_unique<Group>(fixture.config(2, 3));
    auto again = groups[2]->replicated<Tally>("orders");
    groups[2]->subgroup("ticks").on_delivery([](auto) {});
    again.loaded();
    CHECK(tallies[1].query_at<&Tally::sum>(NodeId(2)).get(20s) == 0);
  }
  over = true;
  asking.join();
  CHECK(values > 0);
  CHECK(odd == 0);
  leave_all(groups);
}

TEST_CASE("a handler sends a query, and is told that it must not wait for it") {
  GroupFixture fixture;
  auto groups = fixture.join(2);
  std::vector<Replicated<Tally>> tallies;
  for (auto& group : groups) tallies.push_back(group->replicated<Tally>("orders"));
  std::optional<QueryFuture<int>> query;
  std::atomic<ErrorKind> waited{ErrorKind::unsupported};
  Journal ticks;
  groups[0]->subgroup("ticks").on_delivery([&](auto batch) {
    query = tallies[0].query_at<&Tally::sum>(NodeId(1));
    if (const auto error = thrown_by([&] { static_cast<void>(query->get()); })) waited = error->kind();
    ticks.keep(batch);
  });
  groups[1]->subgroup("ticks").on_delivery([](auto) {});
  groups[1]->subgroup("ticks").send("now");
  ticks.await(1);
  CHECK(waited == ErrorKind::would_block);
  CHECK(query->get(20s) == 0);
  leave_all(groups);
}
