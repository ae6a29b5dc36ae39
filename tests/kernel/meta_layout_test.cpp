// The form of a meta table: its size, its places, its checksums and its values.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include <spindrift/kernel/meta_values.hpp>

#include "meta_fixture.hpp"

using namespace spindrift;
using namespace spindrift::kernel;

TEST_CASE("a further node takes less than 100 bytes of a meta table that is three quarters full") {
  for (const std::uint64_t nodes : {std::uint64_t{100}, std::uint64_t{1000}, std::uint64_t{100'000}}) {
    const auto geometry = MetaGeometry::for_entries(nodes).value();
    const auto twice = MetaGeometry::for_entries(2 * nodes).value();
    CHECK(twice.bytes() - geometry.bytes() < 100 * nodes);
    CHECK(geometry.bytes() < 100 * nodes);
    // It is three quarters of the main clusters' slots, up to one cluster.
    CHECK(nodes * 4 <= std::uint64_t{geometry.main_clusters} * MetaCluster::slot_count * 3);
    CHECK(nodes * 4 > std::uint64_t{geometry.main_clusters - 1} * MetaCluster::slot_count * 3);
  }
}

TEST_CASE("a meta table's parts lie behind one another and in lines of their own") {
  const auto geometry = MetaGeometry::for_entries(1000).value();
  CHECK(geometry.cluster_offset(0) == 0);
  CHECK(geometry.cluster_offset(geometry.clusters() - 1) + MetaCluster::bytes == geometry.entry_offset(0));
  CHECK(geometry.entry_offset(999) + MetaEntry::bytes == geometry.bytes());
  CHECK(geometry.entry_offset(0) % cache_line_bytes == 0);
}

TEST_CASE("a meta table of impossible size is an error") {
  CHECK(MetaGeometry::for_entries(0).error().kind() == ErrorKind::bad_argument);
  CHECK(MetaGeometry::for_entries(MetaGeometry::part_max + 1).error().kind() == ErrorKind::bad_argument);
  CHECK(MetaGeometry::for_entries(10, 9).error().kind() == ErrorKind::bad_argument);
  CHECK(MetaGeometry::for_entries(10, 101).error().kind() == ErrorKind::bad_argument);
  CHECK(MetaGeometry::for_entries(MetaGeometry::part_max, 10).ok());
}

TEST_CASE("what a peer says of its table's size is checked against its region") {
  const auto geometry = MetaGeometry::for_entries(1000).value();
  const auto of = [&](std::uint64_t bytes) {
    return MetaGeometry::from_peer(geometry.main_clusters, geometry.overflow_clusters, geometry.entries, bytes);
  };
  CHECK(of(geometry.bytes()) == geometry);
  CHECK_FALSE(of(geometry.bytes() - 1));
  constexpr std::uint64_t all = ~std::uint64_t{0};
  CHECK_FALSE(MetaGeometry::from_peer(0, 1, 1, all));
  CHECK_FALSE(MetaGeometry::from_peer(1, 1, 0, all));
  CHECK_FALSE(MetaGeometry::from_peer(MetaGeometry::part_max + 1, 1, 1, all));
  CHECK_FALSE(MetaGeometry::from_peer(1, MetaGeometry::part_max + 1, 1, all));
  CHECK_FALSE(MetaGeometry::from_peer(1, 1, std::uint64_t{1} << 32 | 1, all));
  CHECK(MetaGeometry::from_peer(1, 0, 1, 192));
}

TEST_CASE("keys spread over all main clusters") {
  const auto geometry = MetaGeometry::for_entries(975).value();
  REQUIRE(geometry.main_clusters == 100);
  std::vector<unsigned> keys(geometry.main_clusters, 0);
  std::set<std::uint32_t> fingerprints;
  for (std::uint64_t key = 0; key < 10'000; ++key) {
    const MetaPlace place = place_of(key, geometry);
    REQUIRE(place.cluster < geometry.main_clusters);
    ++keys[place.cluster];
    fingerprints.insert(place.fingerprint);
  }
  CHECK(*std::min_element(keys.begin(), keys.end()) > 50);
  CHECK(*std::max_element(keys.begin(), keys.end()) < 150);
  CHECK(fingerprints.size() > 9'990);
}

namespace {

/// Every mixture of the words of two states: a reader that takes one for a state must have been shown one of the two.
template <class Words, class Decode>
unsigned mixtures_that_are_neither(const Words& before, const Words& after, Decode&& decodes) {
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (before[i] != after[i]) changed.push_back(i);
  REQUIRE(changed.size() >= 2);
  unsigned wrong = 0;
  for (std::uint32_t subset = 0; subset < std::uint32_t{1} << changed.size(); ++subset) {
    Words mixed = before;
    for (std::size_t i = 0; i < changed.size(); ++i)
      if ((subset >> i & 1) != 0) mixed[changed[i]] = after[changed[i]];
    const bool whole = mixed == before || mixed == after;
    if (decodes(std::as_bytes(std::span(mixed))) != whole) ++wrong;
  }
  return wrong;
}

}  // namespace

TEST_CASE("an entry of which any words are old and the others new is torn") {
  const auto decodes = [](std::span<const std::byte> bytes) { return decode_entry(bytes, 7).has_value(); };
  const auto of = [](bool live, std::uint64_t key, std::uint64_t value) {
    return encode(MetaEntry{live, key, value_of(value)}, 7);
  };
  CHECK(mixtures_that_are_neither(of(true, 5, 1), of(true, 5, 2), decodes) == 0);
  CHECK(mixtures_that_are_neither(of(true, 5, 1), of(true, 6, 2), decodes) == 0);
  CHECK(mixtures_that_are_neither(of(false, 5, 1), of(true, 9, 3), decodes) == 0);
  CHECK(mixtures_that_are_neither(encode(MetaEntry{}, 7), of(true, 9, 3), decodes) == 0);
}

TEST_CASE("a cluster of which any words are old and the others new is torn") {
  const auto decodes = [](std::span<const std::byte> bytes) { return decode_cluster(bytes, 3).has_value(); };
  MetaCluster full{.next = 2, .next_generation = 5, .owner = 3, .generation = 1};
  for (std::uint32_t i = 0; i < MetaCluster::slot_count; ++i) full.slots[i] = {1000 + i, 1 + i};
  MetaCluster other{.next = 3, .next_generation = 6, .owner = 4, .generation = 2};
  for (std::uint32_t i = 0; i < MetaCluster::slot_count; ++i) other.slots[i] = {2000 + i, 50 + i};
  // 16 words that all differ: every mixture there is.
  CHECK(mixtures_that_are_neither(encode(full, 3), encode(other, 3), decodes) == 0);
  CHECK(mixtures_that_are_neither(encode(MetaCluster{}, 3), encode(full, 3), decodes) == 0);
}

TEST_CASE("what was written elsewhere or never is torn") {
  const MetaEntryWords entry_zeros{};
  const MetaClusterWords cluster_zeros{};
  const auto words = encode(MetaEntry{true, 5, value_of(1)}, 7);
  CHECK(decode_entry(std::as_bytes(std::span(words)), 7));
  CHECK_FALSE(decode_entry(std::as_bytes(std::span(words)), 8));
  CHECK_FALSE(decode_entry(std::as_bytes(std::span(entry_zeros)), 0));
  const auto cluster = encode(MetaCluster{}, 7);
  CHECK(decode_cluster(std::as_bytes(std::span(cluster)), 7));
  CHECK_FALSE(decode_cluster(std::as_bytes(std::span(cluster)), 8));
  CHECK_FALSE(decode_cluster(std::as_bytes(std::span(cluster_zeros)), 0));
}

TEST_CASE("a node's record survives its encoding, and one of no start or with bytes behind it is refused") {
  NodeRecord record;
  for (const std::size_t size : {std::size_t{0}, std::size_t{12}, Metadata::bytes_max}) {
    record = {0xfeed, {}};
    record.metadata.size = static_cast<std::uint8_t>(size);
    std::fill_n(record.metadata.bytes.begin(), size, std::byte{0xab});
    CHECK(decode_node_record(encode(record)) == record);
  }
  MetaValue value = encode(NodeRecord{1, {}});
  value[8] = std::byte{Metadata::bytes_max + 1};
  CHECK_FALSE(decode_node_record(value));
  value[8] = std::byte{12};
  value[21] = std::byte{1};
  CHECK_FALSE(decode_node_record(value));
  value[8] = std::byte{13};
  CHECK(decode_node_record(value));
  value[0] = std::byte{0};
  CHECK_FALSE(decode_node_record(value));
}

TEST_CASE("a memory record survives its encoding, and an impossible one is refused") {
  const MemoryRecord record{NodeId(7), 0xfeed, 0x7f00'0000'0000, 4096, 3, fabric::Access::write};
  CHECK(decode_memory_record(encode(record)) == record);

  const auto with_word = [&](std::size_t word, std::uint64_t bits) {
    MetaValue value = encode(record);
    std::memcpy(value.data() + word * 8, &bits, 8);
    return value;
  };
  CHECK_FALSE(decode_memory_record(with_word(1, ~std::uint64_t{0} - 4095)));  // base + bytes wraps
  CHECK(decode_memory_record(with_word(1, ~std::uint64_t{0} - 4096)));
  CHECK_FALSE(decode_memory_record(with_word(2, 0)));
  CHECK_FALSE(decode_memory_record(with_word(3, 0)));
  CHECK_FALSE(decode_memory_record(with_word(4, std::uint64_t{2} << 32)));
  CHECK_FALSE(decode_memory_record(with_word(5, 1)));
}

TEST_CASE("nodes and regions have keys of their own") {
  std::set<std::uint64_t> keys;
  for (std::uint32_t node = 0; node < 100; ++node) {
    keys.insert(meta_key_of(NodeId(node)));
    for (std::uint64_t region = 0; region < 100; ++region) keys.insert(meta_key_of(NodeId(node), region));
  }
  CHECK(keys.size() == 100 * 101);
}
