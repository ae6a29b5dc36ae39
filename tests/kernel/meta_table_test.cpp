// The writer of a meta table alone, and how many reads its keys cost.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>

#include "meta_fixture.hpp"

using namespace spindrift;
using namespace spindrift::kernel;

namespace {

/// One main cluster, so that all keys are in one chain.
constexpr MetaGeometry one_chain(std::uint32_t overflow_clusters, std::uint32_t entries) {
  return {1, overflow_clusters, entries};
}

std::uint64_t key_of(std::uint64_t number, std::uint64_t seed) { return (number + 1) * 0x9e37'79b9'7f4a'7c15ULL ^ seed; }

}  // namespace

TEST_CASE("a key has what was last put, until it is erased") {
  MetaFixture f(MetaGeometry::for_entries(10).value());
  CHECK(f.look_up(5).kind == MetaStep::Kind::absent);
  CHECK_FALSE(f.table.erase(5));
  REQUIRE(f.table.put(5, value_of(1)));
  REQUIRE(f.table.put(6, value_of(2)));
  CHECK(f.table.find(5) == value_of(1));
  CHECK(f.look_up(5).value == value_of(1));
  REQUIRE(f.table.put(5, value_of(3)));
  CHECK(f.table.size() == 2);
  CHECK(f.look_up(5).value == value_of(3));
  CHECK(f.look_up(6).value == value_of(2));
  CHECK(f.table.erase(5));
  CHECK(f.table.size() == 1);
  CHECK_FALSE(f.table.find(5));
  CHECK(f.look_up(5).kind == MetaStep::Kind::absent);
  CHECK(f.look_up(6).value == value_of(2));
}

TEST_CASE("any 64-bit number may be a key") {
  MetaFixture f(MetaGeometry::for_entries(4).value());
  for (const std::uint64_t key : {std::uint64_t{0}, ~std::uint64_t{0}}) {
    CHECK(f.look_up(key).kind == MetaStep::Kind::absent);
    REQUIRE(f.table.put(key, value_of(key)));
    CHECK(f.look_up(key).value == value_of(key));
  }
}

TEST_CASE("a table takes all keys that it was made for") {
  for (const unsigned load : {50U, 75U, 90U, 100U}) {
    for (const std::uint64_t keys : {1U, 2U, 5U, 13U, 14U, 50U, 100U, 1000U, 20'000U}) {
      for (std::uint64_t seed = 1; seed <= (keys < 1000 ? 20 : 2); ++seed) {
        const auto geometry = MetaGeometry::for_entries(keys, load).value();
        AlignedMemory memory(geometry.bytes());
        MetaTable table = MetaTable::format(memory.span(), geometry).value();
        std::uint64_t taken = 0;
        while (taken < keys && table.put(key_of(taken, seed * 7'000'003), MetaValue{})) ++taken;
        CAPTURE(load, keys, seed);
        CHECK(taken == keys);
      }
    }
  }
}

TEST_CASE("a full table is an error, changes nothing, and still takes other values") {
  MetaFixture f(one_chain(4, 3));
  for (std::uint64_t key = 1; key <= 3; ++key) REQUIRE(f.table.put(key, value_of(key)));
  const std::vector<std::byte> before(f.memory.span().begin(), f.memory.span().end());
  const auto refused = f.table.put(4, value_of(4));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind() == ErrorKind::resource);
  CHECK_FALSE(refused.error().fix().empty());
  CHECK(std::equal(before.begin(), before.end(), f.memory.span().begin()));
  CHECK(f.table.last_stores().empty());
  REQUIRE(f.table.put(2, value_of(7)));
  CHECK(f.look_up(2).value == value_of(7));
  CHECK(f.table.erase(1));
  REQUIRE(f.table.put(4, value_of(4)));
  CHECK(f.look_up(4).value == value_of(4));
}

TEST_CASE("a table without a free overflow cluster is full") {
  MetaFixture f(one_chain(1, 100));
  for (std::uint64_t key = 0; key < 2 * MetaCluster::slot_count; ++key) REQUIRE(f.table.put(key, value_of(key)));
  CHECK(f.table.put(99, value_of(99)).error().kind() == ErrorKind::resource);
  CHECK(f.table.size() == 2 * MetaCluster::slot_count);
}

TEST_CASE("a chain ends at its largest length, which a reader still follows") {
  MetaFixture f(one_chain(20, 200));
  constexpr std::uint64_t most = meta_chain_max * MetaCluster::slot_count;
  for (std::uint64_t key = 0; key < most; ++key) REQUIRE(f.table.put(key, value_of(key)));
  CHECK(f.table.put(most, value_of(most)).error().kind() == ErrorKind::resource);
  for (std::uint64_t key = 0; key < most; ++key) CHECK(f.look_up(key).value == value_of(key));
  CHECK(f.look_up(most).kind == MetaStep::Kind::absent);
}

TEST_CASE("an overflow cluster goes back when its last key is erased") {
  MetaFixture f(one_chain(5, 100));
  constexpr std::uint64_t three = 3 * MetaCluster::slot_count;
  for (std::uint64_t key = 0; key < three; ++key) REQUIRE(f.table.put(key, value_of(key)));
  CHECK(f.table.overflow_clusters_used() == 2);
  // The one in the middle: the chain closes over it.
  for (std::uint64_t key = MetaCluster::slot_count; key < 2 * MetaCluster::slot_count; ++key) CHECK(f.table.erase(key));
  CHECK(f.table.overflow_clusters_used() == 1);
  for (std::uint64_t key = 0; key < three; ++key) {
    const bool erased = key / MetaCluster::slot_count == 1;
    CHECK(f.look_up(key).kind == (erased ? MetaStep::Kind::absent : MetaStep::Kind::found));
  }
  for (std::uint64_t key = 0; key < three; ++key) f.table.erase(key);
  CHECK(f.table.overflow_clusters_used() == 0);
  CHECK(f.table.size() == 0);
}

TEST_CASE("the stores of an operation make a copy of the region equal") {
  MetaFixture f(one_chain(4, 40));
  std::vector<std::byte> copy(f.memory.span().begin(), f.memory.span().end());
  for (std::uint64_t round = 0; round < 400; ++round) {
    const std::uint64_t key = round * 7 % 40;
    if (round % 3 == 0)
      f.table.erase(key);
    else
      REQUIRE(f.table.put(key, value_of(round)));
    for (const MetaTable::Store& store : f.table.last_stores()) std::memcpy(&copy[store.offset], &store.value, 8);
    REQUIRE(std::equal(copy.begin(), copy.end(), f.memory.span().begin()));
  }
}

TEST_CASE("a region that is too small or not aligned is refused") {
  const auto geometry = MetaGeometry::for_entries(10).value();
  AlignedMemory memory(geometry.bytes() + 64);
  CHECK(MetaTable::format(memory.span().first(geometry.bytes() - 1), geometry).error().kind() == ErrorKind::bad_argument);
  CHECK(MetaTable::format(memory.span().subspan(8), geometry).error().kind() == ErrorKind::bad_argument);
  CHECK(MetaTable::format(memory.span(), geometry).ok());
}

namespace {

struct Cost {
  std::array<std::uint64_t, 10> hits{};  ///< by reads
  std::uint64_t keys = 0;
  double misses_mean = 0;

  /// The share of all keys that takes at most so many reads.
  [[nodiscard]] double share_within(std::size_t reads) const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i <= reads; ++i) sum += hits[i];
    return static_cast<double>(sum) / static_cast<double>(keys);
  }
};

Cost cost_of(unsigned load, std::uint64_t keys) {
  MetaFixture f(MetaGeometry::for_entries(keys, load).value());
  for (std::uint64_t i = 0; i < keys; ++i) REQUIRE(f.table.put(key_of(i, 1), MetaValue{}));
  Cost cost;
  cost.keys = keys;
  for (std::uint64_t i = 0; i < keys; ++i) {
    MetaReader hit(f.geometry, key_of(i, 1));
    REQUIRE(f.look_up(hit).kind == MetaStep::Kind::found);
    ++cost.hits.at(hit.reads());
    MetaReader miss(f.geometry, key_of(i, 2));
    REQUIRE(f.look_up(miss).kind == MetaStep::Kind::absent);
    cost.misses_mean += miss.reads() / static_cast<double>(keys);
  }
  return cost;
}

}  // namespace

TEST_CASE("a key is found with two reads, but for a few at a high load") {
  // Reads of a hit: 2 in the main cluster, one more for each overflow cluster before the key's.
  const Cost half = cost_of(50, 20'000);
  const Cost three_quarters = cost_of(75, 20'000);
  const Cost nine_tenths = cost_of(90, 20'000);
  for (const Cost* cost : {&half, &three_quarters, &nine_tenths})
    UNSCOPED_INFO("shares of hits within 2, 3, 4 reads: " << cost->share_within(2) << " " << cost->share_within(3) << " "
                                                          << cost->share_within(4) << "; reads of a miss "
                                                          << cost->misses_mean);
  CHECK(half.share_within(1) == 0);
  CHECK(half.share_within(2) > 0.995);
  CHECK(three_quarters.share_within(2) > 0.95);
  CHECK(three_quarters.share_within(3) > 0.999);
  CHECK(nine_tenths.share_within(2) > 0.90);
  CHECK(nine_tenths.share_within(3) > 0.999);
  CHECK(three_quarters.misses_mean < 1.2);
}
