// Lookups in tables that are wrong: hostile, dead at work, or changed between two reads.
#include <catch2/catch.hpp>

#include <string>

#include "meta_fixture.hpp"

using namespace spindrift;
using namespace spindrift::kernel;

namespace {

constexpr MetaGeometry size{2, 6, 40};

/// A table with the keys 0 … 19 and access to what is in it, as its writer has and a hostile one uses.
struct HostileFixture : MetaFixture {
  HostileFixture() : MetaFixture(size) {
    for (std::uint64_t key = 0; key < 20; ++key) REQUIRE(table.put(key, value_of(key)));
  }
  [[nodiscard]] MetaCluster cluster(std::uint32_t index) {
    return decode_cluster(memory.span().subspan(geometry.cluster_offset(index), MetaCluster::bytes), index).value();
  }
  void set(std::uint32_t index, const MetaCluster& cluster) {
    const auto words = encode(cluster, index);
    std::memcpy(memory.span().data() + geometry.cluster_offset(index), words.data(), MetaCluster::bytes);
  }
  void set(std::uint32_t index, const MetaEntry& entry) {
    const auto words = encode(entry, index);
    std::memcpy(memory.span().data() + geometry.entry_offset(index), words.data(), MetaEntry::bytes);
  }
};

constexpr std::uint64_t absent_key = 1000;

}  // namespace

TEST_CASE("numbers out of a hostile table's range end the lookup") {
  HostileFixture f;
  const std::uint32_t home = place_of(absent_key, size).cluster;
  const MetaCluster good = f.cluster(home);
  const auto fault = [&](const MetaCluster& bad) {
    f.set(home, bad);
    const MetaStep step = f.look_up(absent_key);
    return std::string(step.kind == MetaStep::Kind::bad_table ? step.fault : "none");
  };
  MetaCluster bad = good;
  CHECK(fault(bad) == "none");
  for (const std::uint32_t out : {size.overflow_clusters + 1, 0xffff'ffffU}) {
    bad.next = out;
    CHECK(fault(bad) == "a link out of the table");
  }
  bad = good;
  for (const std::uint32_t out : {size.entries + 1, 0xffff'ffffU}) {
    bad.slots[12] = {out, place_of(absent_key, size).fingerprint};
    CHECK(fault(bad) == "a slot out of the table");
    bad.slots[12].fingerprint ^= 1;
    CHECK(fault(bad) == "a slot out of the table");
  }
  bad = good;
  bad.owner ^= 1;
  CHECK(fault(bad) == "a cluster of another chain");
  bad = good;
  bad.generation = 1;
  CHECK(fault(bad) == "a main cluster with a generation");
}

TEST_CASE("a chain that bites its tail ends the lookup") {
  HostileFixture f;
  const std::uint32_t home = place_of(absent_key, size).cluster;
  MetaCluster first = f.cluster(home);
  first.next = 1;
  first.next_generation = 9;
  f.set(home, first);
  f.set(size.main_clusters, MetaCluster{.next = 1, .next_generation = 9, .owner = home, .generation = 9});
  MetaReader reader(size, absent_key);
  const MetaStep step = f.look_up(reader);
  CHECK(step.kind == MetaStep::Kind::bad_table);
  CHECK(std::string(step.fault) == "a chain too long");
  CHECK(reader.reads() == meta_chain_max);
}

TEST_CASE("a link to a cluster that left the chain for good ends after so many reads") {
  HostileFixture f;
  const std::uint32_t home = place_of(absent_key, size).cluster;
  MetaCluster first = f.cluster(home);
  first.next = 1;
  first.next_generation = f.cluster(size.main_clusters).generation + 1;
  f.set(home, first);
  MetaReader reader(size, absent_key);
  CHECK(f.look_up(reader).kind == MetaStep::Kind::contended);
  CHECK(reader.reads() == MetaReader::reads_max);
}

TEST_CASE("a table in which every slot is of this key and every entry of another ends after so many reads") {
  HostileFixture f;
  const MetaPlace place = place_of(absent_key, size);
  for (std::uint32_t i = 0; i < size.entries; ++i) f.set(i, MetaEntry{true, absent_key + 1, value_of(1)});
  for (std::uint32_t i = 0; i < meta_chain_max; ++i) {
    MetaCluster cluster{.next = i + 1 < meta_chain_max ? i + 1 : 0, .owner = place.cluster};
    for (std::uint32_t slot = 0; slot < MetaCluster::slot_count; ++slot) cluster.slots[slot] = {slot + 1, place.fingerprint};
    f.set(i == 0 ? place.cluster : size.main_clusters + i - 1, cluster);
  }
  MetaReader reader(size, absent_key);
  CHECK(f.look_up(reader).kind == MetaStep::Kind::contended);
  CHECK(reader.reads() == MetaReader::reads_max);
}

TEST_CASE("a table whose writer died at work is given up") {
  HostileFixture f;
  const MetaStep found = f.look_up(7);
  f.memory.span()[size.entry_offset(found.entry) + 20] ^= std::byte{1};
  MetaReader of_entry(size, 7);
  CHECK(f.look_up(of_entry).kind == MetaStep::Kind::contended);
  CHECK(of_entry.reads() == MetaReader::reads_max);
  CHECK(of_entry.torn_reads() == MetaReader::reads_max - 1);

  f.memory.span()[size.cluster_offset(place_of(7, size).cluster)] ^= std::byte{1};
  MetaReader of_cluster(size, 7);
  CHECK(f.look_up(of_cluster).kind == MetaStep::Kind::contended);
  CHECK(of_cluster.torn_reads() == MetaReader::reads_max);
}

TEST_CASE("torn bytes are read again, and what then is whole is taken") {
  HostileFixture f;
  MetaReader reader(size, 7);
  unsigned reads = 0;
  const MetaStep step = look_up(reader, [&](const MetaStep& read) {
    auto bytes = f.bytes_of(read);
    if (++reads % 2 == 1) bytes[8] ^= std::byte{1};
    return bytes;
  });
  CHECK(step.kind == MetaStep::Kind::found);
  CHECK(step.value == value_of(7));
  CHECK(reader.reads() == 4);
  CHECK(reader.torn_reads() == 2);
}

TEST_CASE("another key of the same fingerprint is passed by") {
  HostileFixture f;
  const MetaPlace place = place_of(absent_key, size);
  MetaCluster home = f.cluster(place.cluster);
  home.slots[1] = {30, place.fingerprint};
  home.slots[2] = {31, place.fingerprint};
  f.set(place.cluster, home);
  f.set(29, MetaEntry{true, absent_key + 1, value_of(1)});
  f.set(30, MetaEntry{true, absent_key, value_of(2)});
  MetaReader reader(size, absent_key);
  const MetaStep step = f.look_up(reader);
  CHECK(step.value == value_of(2));
  CHECK(step.entry == 30);
  CHECK(reader.reads() == 3);
}

TEST_CASE("a key that did not move since is found again with one read") {
  HostileFixture f;
  const MetaStep first = f.look_up(7);
  REQUIRE(f.table.put(7, value_of(70)));
  MetaReader reader(size, 7);
  MetaStep again = f.look_up(reader, first.entry);
  CHECK(again.value == value_of(70));
  CHECK(again.entry == first.entry);
  CHECK(reader.reads() == 1);

  CHECK(f.table.erase(7));
  CHECK(f.look_up(reader, first.entry).kind == MetaStep::Kind::absent);
  REQUIRE(f.table.put(absent_key, value_of(1)));  // takes the entry
  CHECK(f.look_up(absent_key).entry == first.entry);
  CHECK(f.look_up(reader, first.entry).kind == MetaStep::Kind::absent);
  REQUIRE(f.table.put(7, value_of(71)));  // elsewhere
  again = f.look_up(reader, first.entry);
  CHECK(again.value == value_of(71));
  CHECK(again.entry != first.entry);
}
