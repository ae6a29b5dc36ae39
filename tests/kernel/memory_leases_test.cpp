// Leases of remote memory at both ends: no operation is under way when an owner frees what it withdrew.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include <spindrift/kernel/memory_leases.hpp>

#include "../sim/random.hpp"
#include "meta_fixture.hpp"

using namespace spindrift;
using namespace spindrift::kernel;
using namespace std::chrono_literals;
using Verdict = MemoryLeases::Verdict;

namespace {

constexpr NodeId owner{7};
constexpr std::uint64_t region_key = 0xfeed;

MemoryRecord record_of(std::uint64_t base = 1000, std::uint64_t bytes = 100, fabric::Access access = fabric::Access::write) {
  return {owner, region_key, base, bytes, 1, access};
}
MemoryLeases::Want want(std::uint64_t address = 1000, std::uint64_t bytes = 8,
                        fabric::Access access = fabric::Access::write) {
  return {owner, region_key, address, bytes, access};
}
constexpr Time at(Duration since_start) { return Time(since_start); }

}  // namespace

TEST_CASE("an operation is allowed inside of the region and refused outside") {
  MemoryLeases leases(4, 1s);
  REQUIRE(leases.on_found(owner, region_key, record_of(), at(0s), at(0s)));
  const auto check = [&](std::uint64_t address, std::uint64_t bytes) { return leases.check(want(address, bytes), at(0s)); };
  CHECK(check(1000, 100) == Verdict::allowed);
  CHECK(check(1099, 1) == Verdict::allowed);
  CHECK(check(1100, 0) == Verdict::allowed);
  CHECK(check(999, 1) == Verdict::refused);
  CHECK(check(1000, 101) == Verdict::refused);
  CHECK(check(1099, 2) == Verdict::refused);
  CHECK(check(1100, 1) == Verdict::refused);
  CHECK(check(1101, 0) == Verdict::refused);
  CHECK(check(1050, ~std::uint64_t{0}) == Verdict::refused);
  CHECK(check(~std::uint64_t{0}, 8) == Verdict::refused);
  CHECK(leases.check(want(1000, 8, fabric::Access::read), at(0s)) == Verdict::refused);
}

TEST_CASE("a region at the end of the address space is checked without a wrap") {
  MemoryLeases leases(4, 1s);
  constexpr std::uint64_t base = ~std::uint64_t{0} - 100;
  REQUIRE(leases.on_found(owner, region_key, record_of(base, 100), at(0s), at(0s)));
  CHECK(leases.check(want(base + 92, 8), at(0s)) == Verdict::allowed);
  CHECK(leases.check(want(base + 93, 8), at(0s)) == Verdict::refused);
  CHECK(leases.check(want(base + 96, 200), at(0s)) == Verdict::refused);
  CHECK(leases.check(want(4, 8), at(0s)) == Verdict::refused);
}

TEST_CASE("a record counts from the beginning of its lookup for less than the lease") {
  MemoryLeases leases(4, 1s);
  CHECK(leases.check(want(), at(5s)) == Verdict::unknown);
  REQUIRE(leases.on_found(owner, region_key, record_of(), at(5s), at(5s + 900ms)));
  CHECK(leases.check(want(), at(6s - 1ns)) == Verdict::allowed);
  CHECK(leases.check(want(), at(6s)) == Verdict::unknown);
  CHECK(leases.size() == 0);
}

TEST_CASE("the answer of a lookup that took the whole lease counts for nothing") {
  MemoryLeases leases(4, 1s);
  CHECK_FALSE(leases.on_found(owner, region_key, record_of(), at(5s), at(6s)));
  CHECK(leases.check(want(), at(6s)) == Verdict::unknown);
}

TEST_CASE("of two lookups at once the one that began later counts, whichever answers first") {
  MemoryLeases leases(4, 1s);
  REQUIRE(leases.on_found(owner, region_key, record_of(1000, 50), at(200ms), at(300ms)));
  REQUIRE(leases.on_found(owner, region_key, record_of(1000, 100), at(100ms), at(400ms)));
  CHECK(leases.check(want(1000, 60), at(500ms)) == Verdict::refused);
  CHECK(leases.check(want(1000, 50), at(1150ms)) == Verdict::allowed);
}

TEST_CASE("another region's record is no answer") {
  MemoryLeases leases(4, 1s);
  MemoryRecord other = record_of();
  other.node = NodeId(8);
  CHECK_FALSE(leases.on_found(owner, region_key, other, at(0s), at(0s)));
  other = record_of();
  other.key = 1;
  CHECK_FALSE(leases.on_found(owner, region_key, other, at(0s), at(0s)));
  CHECK(leases.check(want(), at(0s)) == Verdict::unknown);
}

TEST_CASE("a region that is absent now, or whose owner is lost, is unknown") {
  MemoryLeases leases(4, 1s);
  REQUIRE(leases.on_found(owner, region_key, record_of(), at(0s), at(0s)));
  leases.on_absent(owner, region_key);
  CHECK(leases.check(want(), at(0s)) == Verdict::unknown);
  REQUIRE(leases.on_found(owner, region_key, record_of(), at(0s), at(0s)));
  MemoryRecord other = record_of();
  other.node = NodeId(8);
  REQUIRE(leases.on_found(NodeId(8), region_key, other, at(0s), at(0s)));
  leases.on_lost(owner);
  CHECK(leases.check(want(), at(0s)) == Verdict::unknown);
  CHECK(leases.size() == 1);
}

TEST_CASE("a full cache of records drops what was used longest ago") {
  MemoryLeases leases(2, 1s);
  MemoryRecord record = record_of();
  for (const std::uint64_t key : {1U, 2U, 3U}) {
    record.key = key;
    REQUIRE(leases.on_found(owner, key, record, at(key * 100ms), at(key * 100ms)));
  }
  const auto check = [&](std::uint64_t key, Time now) {
    MemoryLeases::Want of_key = want();
    of_key.key = key;
    return leases.check(of_key, now);
  };
  CHECK(leases.size() == 2);
  CHECK(check(1, at(300ms)) == Verdict::unknown);
  CHECK(check(2, at(300ms)) == Verdict::allowed);
  CHECK(check(2, at(1200ms)) == Verdict::unknown);
  CHECK(leases.size() == 1);
  CHECK(check(3, at(1200ms)) == Verdict::allowed);
}

TEST_CASE("an owner waits for the lease and the flight, by clocks of which one is a thousandth slower") {
  CHECK(withdrawal_wait(1s, 100ms) > 1100ms + 1100us);
  CHECK(withdrawal_wait(1s, 100ms) < 1110ms);
}

namespace {

/// A clock of an origin and a rate of its own, over true time in nanoseconds.
struct LocalClock {
  std::int64_t origin = 0;
  double rate = 1.0;
  [[nodiscard]] Time now(std::int64_t true_time) const {
    return Time(Duration(origin + static_cast<std::int64_t>(std::floor(static_cast<double>(true_time) * rate))));
  }
};

struct Outcome {
  std::uint64_t operations = 0;
  std::uint64_t too_late = 0;           ///< operations under way when the memory was freed, or later
  std::int64_t margin = 1'000'000'000;  ///< the least true time from an operation's end to the memory's
};

/// One owner, one reader, one region, a table: the reader checks and posts whenever it may, looks up whenever it must, with
/// reads that take some time to the table and back. The owner withdraws at some moment and frees it after `wait`.
/// True time advances in steps.
Outcome withdraw_once(sim::Random& random, const LocalClock& readers, const LocalClock& owners, Duration lease,
                      Duration flight_max, Duration wait) {
  constexpr std::int64_t step = 50'000;
  const auto flight = static_cast<std::int64_t>(flight_max.count());
  MetaFixture table(MetaGeometry::for_entries(4).value());
  const std::uint64_t key = meta_key_of(owner, region_key);
  REQUIRE(table.table.put(key, encode(record_of())));

  MemoryLeases leases(2, lease);
  const std::int64_t withdrawn = static_cast<std::int64_t>(random.below(40)) * 100'000;
  struct Lookup {
    Time began;
    std::int64_t reads_at = 0;
    std::int64_t answers_at = 0;
    std::optional<MetaStep> result;
  };
  std::optional<Lookup> lookup;
  std::vector<std::int64_t> ends;
  Time free_at = never;
  Outcome outcome;
  for (std::int64_t now = 0;; now += step) {
    if (now / step == withdrawn / step) {
      REQUIRE(table.table.erase(key));
      free_at = owners.now(now) + wait;
    }
    if (owners.now(now) >= free_at) {
      for (const std::int64_t end : ends) outcome.margin = std::min(outcome.margin, now - end);
      outcome.too_late =
          static_cast<std::uint64_t>(std::count_if(ends.begin(), ends.end(), [&](std::int64_t end) { return end >= now; }));
      outcome.operations = ends.size();
      return outcome;
    }
    if (lookup && !lookup->result && now >= lookup->reads_at) lookup->result = table.look_up(key);
    if (lookup && now >= lookup->answers_at) {
      if (lookup->result->kind == MetaStep::Kind::found) {
        const auto record = decode_memory_record(lookup->result->value);
        REQUIRE(record);
        leases.on_found(owner, region_key, *record, lookup->began, readers.now(now));
      } else {
        leases.on_absent(owner, region_key);
      }
      lookup.reset();
    }
    if (leases.check(want(), readers.now(now)) == Verdict::allowed) {
      // The longest flight as often as any shorter one.
      const std::int64_t takes =
          random.below(2) == 0 ? flight : static_cast<std::int64_t>(random.below(1000)) * flight / 1000;
      ends.push_back(now + takes);
    } else if (!lookup) {
      const std::int64_t there = now + static_cast<std::int64_t>(random.below(30)) * step;
      lookup = Lookup{readers.now(now), there, there + static_cast<std::int64_t>(random.below(30)) * step, std::nullopt};
    }
  }
}

/// Many withdrawals with clocks of any origin and rates up to 500 millionths off.
Outcome withdraw_often(Duration lease, Duration flight_max, Duration lease_waited, Duration flight_waited) {
  Outcome sum;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    sim::Random random(seed, sim::Purpose::workload);
    const auto clock = [&](double rate) {
      return LocalClock{static_cast<std::int64_t>(random.next() >> 8) - (std::int64_t{1} << 54), rate};
    };
    const bool apart = random.below(2) == 0;
    const LocalClock readers = clock(apart ? 0.9995 : 1.0005);
    const LocalClock owners = clock(apart ? 1.0005 : 0.9995);
    const Duration wait = withdrawal_wait(lease_waited, flight_waited);
    const Outcome one = withdraw_once(random, readers, owners, lease, flight_max, wait);
    sum.operations += one.operations;
    sum.too_late += one.too_late;
    sum.margin = std::min(sum.margin, one.margin);
  }
  return sum;
}

}  // namespace

TEST_CASE("no operation is under way when the owner frees what it withdrew, whatever the two clocks say") {
  const Outcome all = withdraw_often(10ms, 1ms, 10ms, 1ms);
  CHECK(all.operations > 5000);
  CHECK(all.too_late == 0);
  CHECK(all.margin > 0);
  // The wait is no longer than it has to be: some operation ended shortly before.
  CHECK(all.margin < 1'000'000);
}

TEST_CASE("an owner that waits one lease alone, or less, meets operations that are under way") {
  CHECK(withdraw_often(10ms, 1ms, 10ms, 0ms).too_late > 0);
  CHECK(withdraw_often(10ms, 1ms, 5ms, 1ms).too_late > 0);
}
