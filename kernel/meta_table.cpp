// Insert, update and erase of a meta table, each as a list of stores.
#include <spindrift/kernel/meta_table.hpp>

#include <algorithm>
#include <string>

#include <spindrift/core/check.hpp>
#include <spindrift/core/untrusted.hpp>

namespace spindrift::kernel {
namespace {

Error full(std::string what) {
  return Error(ErrorKind::resource, "the meta table is full: " + std::move(what)).fix("make it for more entries");
}

std::uint32_t used_slots(const MetaCluster& cluster) noexcept {
  return static_cast<std::uint32_t>(
      std::count_if(cluster.slots.begin(), cluster.slots.end(), [](const MetaSlot& slot) { return slot.entry != 0; }));
}

}  // namespace

Result<MetaTable> MetaTable::format(std::span<std::byte> region, const MetaGeometry& geometry) {
  if (region.size() < geometry.bytes())
    return Error(ErrorKind::bad_argument, "a meta table's region is too small")
        .fix("give it " + std::to_string(geometry.bytes()) + " bytes");
  if (reinterpret_cast<std::uintptr_t>(region.data()) % cache_line_bytes != 0)
    return Error(ErrorKind::bad_argument, "a meta table's region is not aligned").fix("align it to 64 bytes");
  return MetaTable(region.first(geometry.bytes()), geometry);
}

MetaTable::MetaTable(std::span<std::byte> region, const MetaGeometry& geometry) : region_(region), geometry_(geometry) {
  for (std::uint32_t i = 0; i < geometry_.clusters(); ++i) {
    MetaCluster empty;
    if (i < geometry_.main_clusters) empty.owner = i;
    plan(i, empty);
    apply();
    stores_.clear();
  }
  for (std::uint32_t i = 0; i < geometry_.entries; ++i) {
    plan(i, MetaEntry{});
    apply();
    stores_.clear();
  }
  for (std::uint32_t i = geometry_.entries; i-- > 0;) free_entries_.push_back(i);
  for (std::uint32_t i = geometry_.overflow_clusters; i-- > 0;) free_clusters_.push_back(i);
}

Result<void> MetaTable::put(std::uint64_t key, const MetaValue& value) {
  stores_.clear();
  const auto at = locate(key);
  if (!at) return insert(key, value);
  plan(at->entry, MetaEntry{true, key, value});
  apply();
  return {};
}

Result<void> MetaTable::insert(std::uint64_t key, const MetaValue& value) {
  if (free_entries_.empty()) return full("all its entries are in use");
  const MetaPlace place = place_of(key, geometry_);
  const MetaSlot slot{.entry = free_entries_.back() + 1, .fingerprint = place.fingerprint};

  // The first free slot of the chain, or else the chain's last cluster.
  std::uint32_t index = place.cluster;
  MetaCluster here = cluster(index);
  unsigned length = 1;
  while (used_slots(here) == MetaCluster::slot_count && here.next != 0) {
    index = geometry_.main_clusters + here.next - 1;
    here = cluster(index);
    ++length;
  }

  const auto free = std::find_if(here.slots.begin(), here.slots.end(), [](const MetaSlot& s) { return s.entry == 0; });
  if (free == here.slots.end()) {
    if (length == meta_chain_max) return full("too many keys fall into one cluster");
    if (free_clusters_.empty()) return full("all its overflow clusters are in use");
  }

  plan(slot.entry - 1, MetaEntry{true, key, value});
  if (free != here.slots.end()) {
    *free = slot;
  } else {
    const std::uint32_t number = free_clusters_.back();
    MetaCluster overflow = cluster(geometry_.main_clusters + number);
    overflow.owner = place.cluster;
    overflow.slots[0] = slot;
    plan(geometry_.main_clusters + number, overflow);
    here.next = number + 1;
    here.next_generation = overflow.generation;
    free_clusters_.pop_back();
  }
  plan(index, here);
  apply();
  free_entries_.pop_back();
  return {};
}

bool MetaTable::erase(std::uint64_t key) {
  stores_.clear();
  const auto at = locate(key);
  if (!at) return false;

  MetaCluster here = cluster(at->cluster);
  if (at->cluster >= geometry_.main_clusters && used_slots(here) == 1) {
    MetaCluster before = cluster(at->before);
    before.next = here.next;
    before.next_generation = here.next_generation;
    plan(at->before, before);
    MetaCluster unlinked;
    unlinked.generation = here.generation + 1;
    plan(at->cluster, unlinked);
    free_clusters_.push_back(at->cluster - geometry_.main_clusters);
  } else {
    here.slots[at->slot] = MetaSlot{};
    plan(at->cluster, here);
  }
  MetaEntry dead = entry(at->entry);
  dead.live = false;
  plan(at->entry, dead);
  apply();
  free_entries_.push_back(at->entry);
  return true;
}

std::optional<MetaValue> MetaTable::find(std::uint64_t key) const {
  const auto at = locate(key);
  if (!at) return std::nullopt;
  return entry(at->entry).value;
}

std::optional<MetaTable::Location> MetaTable::locate(std::uint64_t key) const {
  const MetaPlace place = place_of(key, geometry_);
  Location at{.cluster = place.cluster};
  for (;;) {
    const MetaCluster here = cluster(at.cluster);
    for (at.slot = 0; at.slot < MetaCluster::slot_count; ++at.slot) {
      const MetaSlot& slot = here.slots[at.slot];
      if (slot.entry == 0 || slot.fingerprint != place.fingerprint) continue;
      at.entry = slot.entry - 1;
      if (entry(at.entry).key == key) return at;
    }
    if (here.next == 0) return std::nullopt;
    at.before = at.cluster;
    at.cluster = geometry_.main_clusters + here.next - 1;
  }
}

MetaCluster MetaTable::cluster(std::uint32_t index) const {
  const auto decoded = decode_cluster(region_.subspan(geometry_.cluster_offset(index), MetaCluster::bytes), index);
  CHECK(decoded.has_value());  // nobody else writes here
  return *decoded;
}

MetaEntry MetaTable::entry(std::uint32_t index) const {
  const auto decoded = decode_entry(region_.subspan(geometry_.entry_offset(index), MetaEntry::bytes), index);
  CHECK(decoded.has_value());
  return *decoded;
}

void MetaTable::plan(std::uint32_t index, const MetaCluster& cluster) {
  plan_words(geometry_.cluster_offset(index), encode(cluster, index));
}

void MetaTable::plan(std::uint32_t index, const MetaEntry& entry) {
  plan_words(geometry_.entry_offset(index), encode(entry, index));
}

void MetaTable::plan_words(std::uint64_t offset, std::span<const std::uint64_t> words) {
  // The checksum last: a reader that finds words that fit it saw them all in memory.
  const auto plan_word = [&](std::size_t i) {
    if (load_acquire(region_.data() + offset + i * 8) != words[i]) stores_.push_back({offset + i * 8, words[i]});
  };
  for (std::size_t i = 1; i < words.size(); ++i) plan_word(i);
  plan_word(0);
}

void MetaTable::apply() {
  for (const Store& store : stores_) store_release(region_.data() + store.offset, store.value);
}

}  // namespace spindrift::kernel
