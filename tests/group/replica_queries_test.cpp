// Queries of other members' replicas over a channel whose order the test decides: answers, refusals, losses, bad bytes.
#include <catch2/catch.hpp>

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "replicated_fixture.hpp"

using namespace spindrift;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

class NotHere : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Depot {
 public:
  int store(int count) { return stock_ += count; }
  [[nodiscard]] int stock() const { return stock_; }
  [[nodiscard]] int share(const std::string& who, int parts) const {
    if (parts == 0) throw std::invalid_argument("no parts for " + who);
    if (parts < 0) throw NotHere(who + " is not here");
    return stock_ / parts;
  }
  [[nodiscard]] std::string label(std::uint32_t length) const { return std::string(length, 'x'); }
  [[nodiscard]] bool is_long(const std::string& text) const { return text.size() > 100; }
  void audit() const {}
  template <class Archive>
  void serialize(Archive& archive) {
    archive(stock_);
  }

 private:
  int stock_ = 0;

 public:
  using Methods =
      Replicates<&Depot::store, &Depot::stock, &Depot::share, &Depot::label, &Depot::is_long, &Depot::audit>;
};

using Fixture = ReplicaFixture<Depot>;

/// The error that the call threw on a thread that is not the poller's.
std::optional<Error> error_of(const std::function<void()>& call) {
  std::optional<Error> error;
  std::thread([&] {
    try {
      call();
    } catch (const Exception& thrown) {
      error = thrown.error();
    }
  }).join();
  return error;
}
template <class R>
std::optional<Error> error_of(const QueryFuture<R>& query) {
  return error_of([&] { static_cast<void>(query.get(20s)); });
}
template <class R>
std::optional<Error> error_of(const ReplicaResult<R>& result) {
  return error_of([&] { static_cast<void>(result.value()); });
}
ErrorKind kind_of(const std::optional<Error>& error) { return error ? error->kind() : ErrorKind::unsupported; }

/// `count` members, each of which has stored something of its own beside the order, so that their answers differ.
struct Depots : Fixture {
  explicit Depots(std::uint32_t count) : Fixture(count) {
    for (std::uint32_t node = 0; node < count; ++node) {
      static_cast<void>((*this)[node].post<&Depot::store>(static_cast<int>(node) + 1));
      const Sent sent = ordered().front();
      ordered().clear();
      const Delivery delivery = next_delivery(NodeId(node), sent.bytes);
      core(node).on_delivery(std::span(&delivery, 1));
    }
  }
};

}  // namespace

TEST_CASE("a query of one member is answered by the replica there, without a message in the order") {
  Depots depots(3);
  const QueryFuture<int> other = depots[0].query_at<&Depot::stock>(NodeId(2));
  const QueryFuture<int> own = depots[0].query_at<&Depot::stock>(NodeId(0));
  const QueryFuture<int> share = depots[0].query_at<&Depot::share>(NodeId(2), "Ann", 3);
  const QueryFuture<void> nothing = depots[0].query_at<&Depot::audit>(NodeId(1));
  CHECK(depots.ordered().empty());
  CHECK_FALSE(other.is_answered());
  CHECK(kind_of(error_of([&] { static_cast<void>(other.get(1ms)); })) == ErrorKind::timed_out);
  depots.deliver_all();
  CHECK(other.is_answered());
  CHECK(other.get() == 3);
  CHECK(other.get() == 3);  // as often as one likes
  CHECK(own.get() == 1);
  CHECK(share.get() == 1);
  nothing.get();
  CHECK(depots.fault_count() == 0);
}

TEST_CASE("an exception of a queried method comes back, of its type if that is a standard one, with its text") {
  Depots depots(2);
  const auto standard = depots[0].query_at<&Depot::share>(NodeId(1), "Ann", 0);
  const auto own_type = depots[0].query_at<&Depot::share>(NodeId(1), "Ben", -1);
  depots.deliver_all();
  CHECK_THROWS_AS(standard.get(), std::invalid_argument);
  CHECK_THROWS_WITH(standard.get(), "no parts for Ann");
  CHECK_THROWS_AS(own_type.get(), ReplicaError);
  CHECK_THROWS_WITH(own_type.get(), "Ben is not here");
  CHECK(depots.fault_count() == 0);
}

TEST_CASE("a query of all members has a result of each, a value or an exception") {
  Depots depots(3);
  const QueryAllFuture<int> stocks = depots[1].query_all<&Depot::stock>();
  const QueryAllFuture<int> shares = depots[1].query_all<&Depot::share>("Ann", 0);
  CHECK_FALSE(stocks.is_answered());
  depots.deliver_all();
  int sum = 0;
  std::vector<NodeId> nodes;
  for (const ReplicaResult<int>& result : stocks.get()) {
    CHECK(result.value() == static_cast<int>(result.node().value()) + 1);
    sum += result.value();
    nodes.push_back(result.node());
  }
  CHECK(sum == 6);
  CHECK(nodes.size() == 3);
  for (const ReplicaResult<int>& result : shares.get()) {
    CHECK_FALSE(result.ok());
    CHECK_FALSE(result.lost());
    CHECK_THROWS_AS(result.value(), std::invalid_argument);
  }
}

TEST_CASE("an ordered query of all members has what each returned at that place of the order") {
  Fixture depots(3);
  static_cast<void>(depots[0].post<&Depot::store>(4));
  const Future<int> stocks = depots[1].ordered_query_all<&Depot::stock>();
  static_cast<void>(depots[2].post<&Depot::store>(5));
  depots.deliver_all();
  const auto results = stocks.all();
  CHECK(results.size() == 3);
  for (const auto& result : results) CHECK(result.value() == 4);
  CHECK(depots[1].query<&Depot::stock>() == 9);
  CHECK(depots.fault_count() == 0);
}

TEST_CASE("an ordered query of one member is run by that replica alone, at its place of the order") {
  Depots depots(3);
  static_cast<void>(depots[0].post<&Depot::store>(10));
  const QueryFuture<int> other = depots[1].ordered_query_at<&Depot::stock>(NodeId(2));
  const QueryFuture<int> own = depots[1].ordered_query_at<&Depot::stock>(NodeId(1));
  const QueryFuture<int> thrown = depots[1].ordered_query_at<&Depot::share>(NodeId(2), "Ann", 0);
  const QueryFuture<void> nothing = depots[1].ordered_query_at<&Depot::audit>(NodeId(0));
  static_cast<void>(depots[0].post<&Depot::store>(100));
  CHECK(depots.queries().empty());
  while (depots.deliver_ordered()) {
  }
  CHECK(depots.privately().size() == 3);  // of the other replicas that were asked
  CHECK_FALSE(other.is_answered());
  CHECK(own.get() == 12);
  depots.deliver_all();
  CHECK(other.get() == 13);
  CHECK_THROWS_AS(thrown.get(), std::invalid_argument);
  nothing.get();
  CHECK(depots.fault_count() == 0);
}

TEST_CASE("an ordered query of one member fails where that is not in the subgroup, or goes before or behind its place") {
  Depots depots(3);
  const auto outside = depots[0].ordered_query_at<&Depot::stock>(NodeId(7));
  REQUIRE(outside.is_answered());
  CHECK(kind_of(error_of(outside)) == ErrorKind::bad_argument);
  CHECK(depots.ordered().empty());
  const auto behind = depots[0].ordered_query_at<&Depot::stock>(NodeId(2));
  const auto before = depots[0].ordered_query_at<&Depot::stock>(NodeId(2));
  const auto another = depots[0].ordered_query_at<&Depot::stock>(NodeId(1));
  depots.deliver_ordered();
  depots.privately().clear();
  depots.fail(2);
  CHECK(kind_of(error_of(behind)) == ErrorKind::member_lost);
  CHECK_FALSE(before.is_answered());
  depots.deliver_all();
  CHECK(kind_of(error_of(before)) == ErrorKind::member_lost);
  CHECK(another.get() == 2);
  const auto ended = depots[0].ordered_query_at<&Depot::stock>(NodeId(1));
  depots.end(0, Error(ErrorKind::removed, "too silent"));
  CHECK(kind_of(error_of(ended)) == ErrorKind::removed);
}

TEST_CASE("an ordered query of one member that would change it, or is for no node, is its sender's fault") {
  Depots depots(2);
  static_cast<void>(depots[0].ordered_query_at<&Depot::stock>(NodeId(1)));
  const std::vector<std::byte> good = depots.ordered().front().bytes;
  depots.ordered().clear();
  const auto accused = [&](std::vector<std::byte> bytes, std::size_t at, unsigned value) {
    const std::size_t before = depots.fault_count();
    if (at < bytes.size()) bytes[at] = static_cast<std::byte>(value);
    depots.deliver_to_all(NodeId(0), bytes);
    return depots.fault_count() > before;
  };
  CHECK_FALSE(accused(good, good.size(), 0));
  CHECK(accused(good, 16, 0));                                              // store
  CHECK(accused(good, 20, 5));                                              // asks for nothing known
  CHECK(accused(good, 24 + 7, 1));                                          // no node has so high an id
  CHECK(accused(std::vector(good.begin(), good.end() - 1), good.size(), 0));  // cut off
  CHECK(depots[1].query<&Depot::stock>() == 2);
}

TEST_CASE("a query of a member that goes fails with the view that is without it, also where its node comes again") {
  const bool comes_again = GENERATE(false, true);
  Depots depots(3);
  const auto one = depots[0].query_at<&Depot::stock>(NodeId(2));
  const auto all = depots[0].query_all<&Depot::stock>();
  depots.queries().clear();
  const std::array gone{NodeId(2)};
  if (!comes_again) depots.members[2].alive = false;
  depots.install_view(gone);
  REQUIRE(one.is_answered());
  const auto lost = error_of(one);
  CHECK(kind_of(lost) == ErrorKind::member_lost);
  CHECK_THAT(lost->to_string(), Contains("node 2 was lost before it answered"));
  CHECK_FALSE(all.is_answered());  // the other two are there
  const std::array others{NodeId(0), NodeId(1)};
  depots.install_view(others);
  REQUIRE(all.is_answered());
  CHECK(all.get().size() == 3);
  for (const auto& result : all.get()) CHECK(result.lost());
}

TEST_CASE("an update is not awaited of a replica whose node has come again with the same view") {
  Fixture depots(2);
  const auto future = depots[0].update<&Depot::store>(1);
  depots.deliver_ordered();
  depots.privately().clear();
  const std::array gone{NodeId(1)};
  depots.install_view(gone);
  const auto results = future.all(20s);
  REQUIRE(results.size() == 2);
  CHECK(results[1].lost());
}

TEST_CASE("a query of a node that is not in the subgroup fails at once, and one of all asks nobody else") {
  Depots depots(3);
  depots.fail(2);
  const auto outside = depots[0].query_at<&Depot::stock>(NodeId(2));
  REQUIRE(outside.is_answered());
  const auto error = error_of(outside);
  CHECK(kind_of(error) == ErrorKind::bad_argument);
  CHECK_THAT(error->to_string(), Contains("node 2 is not in subgroup orders now") && Contains("fix: query one of its"));
  CHECK(depots.queries().empty());
  const auto all = depots[0].query_all<&Depot::stock>();
  depots.deliver_all();
  CHECK(all.get().size() == 2);
}

TEST_CASE("a query of all members of a subgroup that has none has no results") {
  Depots depots(1);
  depots.begin_view(0, {}, false);
  const auto all = depots[0].query_all<&Depot::stock>();
  REQUIRE(all.is_answered());
  CHECK(all.get().empty());
}

TEST_CASE("a member without the state, or outside, refuses a query by a sentence, and one of all has the others' answers") {
  Depots depots(3);
  const std::array nodes{NodeId(0), NodeId(1), NodeId(2)};
  const std::array without{NodeId(0), NodeId(2)};
  const bool outside = GENERATE(false, true);
  depots.begin_view(1, outside ? std::span<const NodeId>(without) : std::span<const NodeId>(nodes), !outside);
  const auto one = depots[0].query_at<&Depot::stock>(NodeId(1));
  const auto all = depots[0].query_all<&Depot::stock>();
  depots.deliver_all();
  const auto refused = error_of(one);
  CHECK(kind_of(refused) == (outside ? ErrorKind::bad_argument : ErrorKind::refused));
  CHECK_THAT(refused->to_string(), outside ? Contains("node 1 is not in subgroup orders now")
                                           : Contains("node 1 does not have the state of subgroup orders yet"));
  std::size_t answered = 0;
  for (const auto& result : all.get()) {
    if (result.ok()) ++answered;
    if (result.node() == NodeId(1)) CHECK(kind_of(error_of(result)) == refused->kind());
  }
  CHECK(answered == 2);
  CHECK(depots.fault_count() == 0);
}

TEST_CASE("the answer of a member that was moved out of the subgroup meanwhile is no fault of it") {
  Depots depots(3);
  const std::array without{NodeId(0), NodeId(2)};
  const std::array with{NodeId(0), NodeId(1), NodeId(2)};
  const bool refuses = GENERATE(false, true);
  const bool comes_back = GENERATE(false, true);
  const auto all = depots[0].query_all<&Depot::stock>();
  depots.begin_view(0, without, false);
  if (refuses) depots.begin_view(1, without, false);
  if (comes_back) depots.begin_view(0, with, false);
  depots.deliver_all();
  CHECK(depots.fault_count() == 0);
  for (const auto& result : all.get()) CHECK(result.lost() == (result.node() == NodeId(1)));
}

TEST_CASE("a member with other Methods refuses a query, and nobody is accused") {
  Depots depots(2);
  const auto one = depots[0].query_at<&Depot::stock>(NodeId(1));
  depots.queries().front().bytes[0] ^= std::byte{1};
  depots.deliver_query();
  REQUIRE(depots.privately().size() == 1);
  depots.privately().front().bytes[0] ^= std::byte{1};  // the caller's own digest again
  depots.deliver_all();
  const auto refused = error_of(one);
  CHECK(kind_of(refused) == ErrorKind::refused);
  CHECK_THAT(refused->to_string(), Contains("node 1 lists other Methods") && Contains("fix: run the same program"));
  CHECK(depots.fault_count() == 0);
}

TEST_CASE("a query waits while too many answers are under way, and is refused when too many queries wait") {
  Depots depots(2);
  depots.crowded = true;
  const auto first = depots[0].query_at<&Depot::stock>(NodeId(1));
  depots.deliver_all();
  CHECK_FALSE(first.is_answered());
  depots.crowded = false;
  const auto second = depots[0].query_at<&Depot::stock>(NodeId(1));
  depots.deliver_all();
  CHECK_FALSE(second.is_answered());  // it does not pass the first
  depots.core(1).answer_waiting();
  depots.deliver_all();
  CHECK(first.get() == 2);
  CHECK(second.get() == 2);

  depots.crowded = true;
  const std::string text(3900, 'x');
  std::vector<QueryFuture<bool>> queries;
  do {
    queries.push_back(depots[0].query_at<&Depot::is_long>(NodeId(1), text));
    depots.deliver_all();
  } while (!queries.back().is_answered());
  const auto refused = error_of(queries.back());
  CHECK(kind_of(refused) == ErrorKind::resource);
  CHECK_THAT(refused->to_string(), Contains("node 1 keeps no more queries") && Contains("fix: wait for the answers"));
  CHECK(queries.size() > replicated::WaitingQueries::bytes_max / (4096 + replicated::WaitingQueries::bytes_beside));
  queries.pop_back();
  depots.crowded = false;
  depots.core(1).answer_waiting();
  depots.deliver_all();
  for (const auto& query : queries) CHECK(query.get());
}

TEST_CASE("an answer longer than a private message comes whole, and arguments longer than one are refused") {
  Depots depots(2);
  const auto label = depots[0].query_at<&Depot::label>(NodeId(1), 20'000U);
  depots.deliver_all();
  CHECK(label.get() == std::string(20'000, 'x'));
  const auto refused = error_of([&] {
    static_cast<void>(depots[0].query_at<&Depot::is_long>(NodeId(1), std::string(depots.message_bytes_max, 'x')));
  });
  CHECK(kind_of(refused) == ErrorKind::bad_argument);
  CHECK_THAT(refused->to_string(), Contains("arguments of a query of subgroup orders take 4104 bytes") && Contains("fix: "));
  CHECK(depots.queries().empty());
}

TEST_CASE("queries end with their group, and none begins after it") {
  Depots depots(2);
  const auto one = depots[0].query_at<&Depot::stock>(NodeId(1));
  const auto all = depots[0].query_all<&Depot::stock>();
  depots.end(0, Error(ErrorKind::removed, "too silent"));
  CHECK(kind_of(error_of(one)) == ErrorKind::removed);
  CHECK(kind_of(error_of([&] { static_cast<void>(all.get()); })) == ErrorKind::removed);
  CHECK(kind_of(error_of([&] { static_cast<void>(depots[0].query_at<&Depot::stock>(NodeId(1))); })) == ErrorKind::removed);
}

TEST_CASE("a query that would change the object, or that is no query, is the fault of whoever sends it") {
  Depots depots(2);
  const auto good = [&] {
    static_cast<void>(depots[0].query_at<&Depot::stock>(NodeId(1)));
    auto bytes = depots.queries().front().bytes;
    depots.queries().clear();
    return bytes;
  };
  const auto accused = [&](const std::vector<std::byte>& bytes) {
    const std::size_t before = depots.fault_count();
    depots.core(1).on_query(NodeId(0), bytes);
    return depots.fault_count() > before;
  };
  constexpr std::size_t method = 16;
  constexpr std::size_t ask = 20;
  CHECK_FALSE(accused(good()));
  auto bytes = good();
  bytes.resize(23);
  CHECK(accused(bytes));
  bytes = good();
  bytes[method] = std::byte{0};  // store
  bytes.resize(bytes.size() + sizeof(int));
  CHECK(accused(bytes));
  bytes = good();
  bytes[method] = std::byte{6};  // behind the last
  CHECK(accused(bytes));
  bytes = good();
  bytes[ask] = std::byte{2};
  CHECK(accused(bytes));
  bytes = good();
  bytes.push_back({});
  CHECK(accused(bytes));
  CHECK(depots[1].query<&Depot::stock>() == 2);

  const std::size_t before = depots.fault_count();
  depots.deliver_to_all(NodeId(0), good());  // a query is nothing for the order
  CHECK(depots.fault_count() == before + 2);
}

TEST_CASE("a refusal that nobody can have given is the fault of its sender") {
  Depots depots(2);
  const auto query = depots[0].query_at<&Depot::stock>(NodeId(1));
  const auto refusal = ReplicaBase::refusal(depots.queries().front().bytes, replicated::AnswerOutcome::no_object);
  REQUIRE(refusal);
  depots.queries().clear();
  constexpr std::size_t outcome = 16;
  constexpr std::size_t left = 24;
  auto bytes = *refusal;
  bytes[outcome] = std::byte{7};
  CHECK(depots.refuses(0, NodeId(1), bytes));
  bytes = *refusal;
  bytes.push_back({});
  CHECK(depots.refuses(0, NodeId(1), bytes));
  bytes = *refusal;
  bytes[left] = std::byte{1};
  CHECK(depots.refuses(0, NodeId(1), bytes));
  CHECK(depots.refuses(0, NodeId(0), *refusal));  // this one was not asked
  CHECK_FALSE(query.is_answered());
  CHECK_FALSE(depots.refuses(0, NodeId(1), *refusal));
  CHECK_THAT(error_of(query)->to_string(), Contains("node 1 has no replicated object in subgroup orders"));

  const auto update = depots[0].update<&Depot::store>(1);
  const auto refused = ReplicaBase::refusal(depots.ordered().front().bytes, replicated::AnswerOutcome::not_loaded);
  depots.deliver_ordered();
  CHECK(depots.refuses(0, NodeId(1), *refused));  // no replica refuses an update
  CHECK_FALSE(ReplicaBase::refusal(std::span(*refused).first(23), replicated::AnswerOutcome::no_object));
}
