// One replica of a logged subgroup, message by message: calls that come again from the log, and calls that become durable.
#include <catch2/catch.hpp>

#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include <spindrift/group/replicas.hpp>

#include "group_fixture.hpp"
#include "replicated_fixture.hpp"
#include "tally.hpp"

using namespace spindrift;
using namespace std::chrono_literals;

namespace {

class ReplayFixture : public ReplicaFixture<Tally> {
 public:
  ReplayFixture() : ReplicaFixture(2) { logged = true; }

  /// The bytes of an update that node 0 has sent, and that nobody gets.
  std::vector<std::byte> update_of(int value) {
    static_cast<void>((*this)[0].update<&Tally::add>(value));
    std::vector<std::byte> bytes = std::move(ordered().back().bytes);
    ordered().pop_back();
    return bytes;
  }
  /// Gives node 1 a message of its log.
  void replay(std::uint64_t version, NodeId sender, std::span<const std::byte> bytes) {
    Delivery delivery = next_delivery(sender, bytes);
    delivery.version = version;
    core(1).on_replay(std::span(&delivery, 1));
  }
  int sum() { return (*this)[1].query<&Tally::sum>(); }
};

/// Each look at it takes a tenth of a second.
class SlowClock final : public Clock {
 public:
  [[nodiscard]] Time now() const noexcept override { return now_ += 100ms; }

 private:
  mutable Time now_{};
};

/// The head of a call begins with the digest of its methods, and ends with what it asks for.
std::vector<std::byte> of_other_methods(std::vector<std::byte> bytes) {
  bytes.front() ^= std::byte{1};
  return bytes;
}
std::vector<std::byte> asking_for_nothing_known(std::vector<std::byte> bytes) {
  constexpr std::size_t ask_at = 20;
  std::memcpy(bytes.data() + ask_at, "text", 4);
  return bytes;
}

class TallyOfNow : public Tally {
 public:
  int reset() { return add(-sum()); }
  using Methods = Replicates<&TallyOfNow::reset, &Tally::add, &Tally::sum>;
  using FormerMethods = Formerly<Tally::Methods>;
};

/// The kind of the error that the call threw.
template <class Call>
std::optional<ErrorKind> kind_of(const Call& call) {
  const auto error = thrown_by(call);
  return error ? std::optional(error->kind()) : std::nullopt;
}

}  // namespace

TEST_CASE("a call from the log changes the object, whoever made it, and nobody is answered") {
  ReplayFixture fixture;
  fixture.replay(0, NodeId(0), fixture.update_of(5));
  fixture.replay(1, NodeId(1), fixture.update_of(6));  // of a process of this node before
  fixture.replay(2, NodeId(7), fixture.update_of(7));  // of a node that is in the group no more
  CHECK(fixture.sum() == 18);
  CHECK(fixture.privately().empty());
  CHECK(fixture.fault_count() == 0);
}

TEST_CASE("calls from the log are run as long as there is time, and at least one") {
  ReplayFixture fixture;
  const std::vector<std::byte> bytes = fixture.update_of(5);
  std::vector<Delivery> log;
  for (std::uint64_t version = 0; version < 10; ++version) {
    log.push_back(fixture.next_delivery(NodeId(0), bytes));
    log.back().version = version;
  }
  const SlowClock clock;
  CHECK(group::replay_for(0ms, fixture.core(1), log, clock) == 1);
  CHECK(fixture.sum() == 5);
  CHECK(group::replay_for(350ms, fixture.core(1), std::span(log).subspan(1), clock) == 4);
  CHECK(group::replay_for(1h, fixture.core(1), std::span(log).subspan(5), clock) == 5);
  CHECK(group::replay_for(1h, fixture.core(1), {}, clock) == 0);
  CHECK(fixture.sum() == 50);
}

TEST_CASE("bytes in the log that no replica ran when they came are not run, and nobody is accused of them") {
  ReplayFixture fixture;
  const std::vector<std::byte> good = fixture.update_of(5);
  fixture.replay(0, NodeId(0), std::span(good).first(7));
  fixture.replay(1, NodeId(0), good);
  fixture.replay(2, NodeId(0), std::span(good).first(good.size() - 1));
  fixture.replay(3, NodeId(0), asking_for_nothing_known(good));
  fixture.replay(3, NodeId(0), asking_for_nothing_known(of_other_methods(good)));
  CHECK(fixture.sum() == 5);
  CHECK(fixture.fault_count() == 0);
  fixture.replay(4, NodeId(0), good);
  CHECK(fixture.sum() == 10);
}

TEST_CASE("a log that has a call of other methods is refused, be it the first or behind others, and nobody sees an object") {
  for (const std::uint64_t known : {0u, 2u}) {
    ReplayFixture fixture;
    const std::vector<std::byte> good = fixture.update_of(5);
    for (std::uint64_t version = 0; version < known; ++version) fixture.replay(version, NodeId(0), good);
    fixture.replay(known, NodeId(0), of_other_methods(good));
    fixture.replay(known + 1, NodeId(0), good);
    const auto refused = thrown_by([&] { static_cast<void>(fixture.sum()); });
    REQUIRE(refused);
    CHECK(refused->kind() == ErrorKind::refused);
    CHECK_THAT(refused->to_string(), Catch::Contains("version " + std::to_string(known) + ", of node 0"));
    CHECK_FALSE(fixture.core(1).state().is_loaded());
  }
}

TEST_CASE("a call is durable when its version is, be that before or after its replica has run it") {
  ReplayFixture fixture;
  const auto deliver = [&](std::uint64_t version) {
    const auto sent = std::move(fixture.ordered().front());
    fixture.ordered().pop_front();
    Delivery delivery = fixture.next_delivery(sent.from, sent.bytes);
    delivery.version = version;
    fixture.deliver_to(0, delivery);
  };
  const auto first = fixture[0].update<&Tally::add>(1);
  const auto second = fixture[0].update<&Tally::add>(2);
  const auto third = fixture[0].update<&Tally::add>(3);
  deliver(40);
  deliver(41);
  CHECK_FALSE(first.is_durable());
  CHECK(kind_of([&] { first.durable(1ms); }) == ErrorKind::timed_out);
  fixture.core(0).on_durable(41);
  CHECK(first.is_durable());
  CHECK_FALSE(second.is_durable());
  fixture.core(0).on_durable(43);
  CHECK(second.is_durable());
  CHECK_FALSE(third.is_durable());
  deliver(42);
  third.durable(0ms);
  const auto last = fixture[0].update<&Tally::add>(4);
  deliver(43);
  std::optional<ErrorKind> ended;
  std::thread waiting([&] { ended = kind_of([&] { last.durable(); }); });
  fixture.end(0, Error(ErrorKind::group_closed, "the end"));
  waiting.join();
  CHECK(ended == ErrorKind::group_closed);
  third.durable();  // as before
}

TEST_CASE("a member that still runs a former program has its calls run by later ones, and is answered in its own words") {
  ReplicaFixture<TallyOfNow> fixture(2);
  static_cast<void>(fixture[0].update<&Tally::add>(5));
  std::vector<std::byte> call = std::move(fixture.ordered().back().bytes);
  fixture.ordered().pop_back();
  // The head of a call: the digest of its list, its number, and the method's place in that list.
  const std::uint64_t former = replicated::DigestOf<Tally::Methods>::value();
  const std::uint32_t place = replicated::position_in<&Tally::add, Tally::Methods>;
  std::memcpy(call.data(), &former, sizeof former);
  std::memcpy(call.data() + 2 * sizeof former, &place, sizeof place);
  fixture.deliver_to(1, fixture.next_delivery(NodeId(0), call));
  CHECK(fixture.fault_count() == 0);
  CHECK_FALSE(fixture.core(1).state().refusal());
  CHECK(fixture[1].query<&Tally::sum>() == 5);
  REQUIRE(fixture.privately().size() == 1);
  CHECK(std::memcmp(fixture.privately().front().bytes.data(), &former, sizeof former) == 0);
}

TEST_CASE("a member that runs a later program is accused by those who do not know its calls, and these go on") {
  ReplicaFixture<Tally> fixture(2);
  static_cast<void>(fixture[0].update<&Tally::add>(5));
  std::vector<std::byte> call = std::move(fixture.ordered().back().bytes);
  fixture.ordered().pop_back();
  const std::uint64_t later = replicated::DigestOf<TallyOfNow::Methods>::value();
  std::memcpy(call.data(), &later, sizeof later);
  fixture.deliver_to(1, fixture.next_delivery(NodeId(0), call));
  CHECK(fixture.fault_count() == 1);
  CHECK_FALSE(fixture.core(1).state().refusal());
  CHECK(fixture[1].query<&Tally::sum>() == 0);
}

TEST_CASE("a call of a subgroup that keeps no log is refused by durable, whatever it is told") {
  ReplayFixture fixture;
  fixture.logged = false;
  const auto call = fixture[0].update<&Tally::add>(1);
  fixture.deliver_all();
  fixture.core(0).on_durable(1);
  CHECK_FALSE(call.is_durable());
  CHECK(kind_of([&] { call.durable(); }) == ErrorKind::bad_argument);
}
