// A lookup in a meta table of any bytes: torn, hostile with checksums that are right, changing from read to read. It asks
// for whole clusters and entries inside of the table, ends after so many reads, and what it finds is checked once more.
#include <spindrift/kernel/meta_reader.hpp>
#include <spindrift/kernel/meta_values.hpp>

#include <vector>

#include "fuzz.hpp"

using namespace spindrift::kernel;
using spindrift::fuzz::Choices;
using spindrift::fuzz::expect;

namespace {

/// A number about a table's bounds, which a hostile server may be after.
std::uint32_t number_about(Choices& choices, std::uint32_t bound) {
  switch (choices.choice(4)) {
    case 0: return static_cast<std::uint32_t>(choices.number(4));
    case 1: return bound + static_cast<std::uint32_t>(choices.choice(3)) - 1;
    case 2: return 0;
    default: return static_cast<std::uint32_t>(choices.choice(bound + std::uint64_t{1}));
  }
}

template <class Words>
std::vector<std::byte> bytes_of(const Words& words) {
  const auto bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> hostile_cluster(Choices& choices, const MetaGeometry& geometry, MetaPlace place,
                                       std::uint32_t index) {
  MetaCluster cluster;
  cluster.next = number_about(choices, geometry.overflow_clusters);
  cluster.next_generation = static_cast<std::uint32_t>(choices.choice(3));
  cluster.generation = static_cast<std::uint32_t>(choices.choice(3));
  cluster.owner = choices.choice(8) == 1 ? number_about(choices, geometry.main_clusters) : place.cluster;
  for (MetaSlot& slot : cluster.slots) {
    if (choices.choice(2) == 0) continue;
    slot.fingerprint = choices.choice(4) == 3 ? static_cast<std::uint32_t>(choices.number(4)) : place.fingerprint;
    slot.entry = number_about(choices, geometry.entries);
  }
  return bytes_of(encode(cluster, index));
}

std::vector<std::byte> hostile_entry(Choices& choices, std::uint64_t key, std::uint32_t index) {
  MetaEntry entry;
  entry.live = choices.choice(4) != 3;
  entry.key = choices.choice(2) == 0 ? choices.number(8) : key;
  const auto value = choices.take(meta_value_bytes);
  if (!value.empty()) std::memcpy(entry.value.data(), value.data(), value.size());
  return bytes_of(encode(entry, index));
}

void check_values(const MetaValue& value) {
  if (const auto record = decode_node_record(value)) {
    expect(record->metadata.size <= Metadata::bytes_max, "metadata is as long as it can be");
    expect(record->incarnation != 0, "a record is of a start");
    expect(encode(*record) == value, "a node's record survives its own encoding");
  }
  if (const auto record = decode_memory_record(value)) {
    expect(record->bytes > 0 && record->base + record->bytes >= record->base, "a region has bytes, in one piece");
    expect(encode(*record) == value, "a memory record survives its own encoding");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices(data, size);
  const std::uint64_t main_clusters = choices.number(1);
  const std::uint64_t overflow_clusters = choices.number(1);
  const std::uint64_t entries = choices.number(1);
  const std::uint64_t region_bytes = choices.number(2);
  const auto geometry = MetaGeometry::from_peer(main_clusters, overflow_clusters, entries, region_bytes);
  if (!geometry) return 0;
  expect(geometry->bytes() <= region_bytes, "a table lies inside of its region");

  const std::uint64_t key = choices.number(8);
  const MetaPlace place = place_of(key, *geometry);
  MetaReader reader(*geometry, key);
  MetaStep step =
      choices.choice(4) == 3 ? reader.start(static_cast<std::uint32_t>(choices.choice(geometry->entries))) : reader.start();
  unsigned reads = 0;
  const std::uint64_t entries_begin = std::uint64_t{geometry->clusters()} * MetaCluster::bytes;
  while (step.kind == MetaStep::Kind::read) {
    expect(++reads <= MetaReader::reads_max, "a lookup ends after so many reads");
    const bool of_entry = step.offset >= entries_begin;
    const std::uint64_t unit = of_entry ? MetaEntry::bytes : MetaCluster::bytes;
    expect(step.bytes == unit && (step.offset - (of_entry ? entries_begin : 0)) % unit == 0, "a read is of one whole part");
    expect(step.offset + step.bytes <= geometry->bytes(), "a read lies inside of the table");
    const auto index = static_cast<std::uint32_t>((step.offset - (of_entry ? entries_begin : 0)) / unit);

    std::vector<std::byte> bytes =
        of_entry ? hostile_entry(choices, key, index) : hostile_cluster(choices, *geometry, place, index);
    if (choices.choice(8) == 7) {
      const auto raw = choices.take(step.bytes);
      if (!raw.empty()) std::memcpy(bytes.data(), raw.data(), raw.size());
    }
    step = reader.on_read(bytes);
  }
  expect(reader.reads() == reads, "a lookup counts its reads");
  expect((step.kind == MetaStep::Kind::bad_table) == (step.fault != nullptr), "a lookup says what is wrong");
  if (step.kind == MetaStep::Kind::found) {
    expect(step.entry < geometry->entries, "a found entry is one of the table");
    check_values(step.value);
  }
  return 0;
}
