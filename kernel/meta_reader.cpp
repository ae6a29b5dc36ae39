// The steps of a lookup: a cluster, its candidates one by one, the next cluster of the chain.
#include <spindrift/kernel/meta_reader.hpp>

#include <spindrift/core/check.hpp>
#include <spindrift/core/untrusted.hpp>

namespace spindrift::kernel {

MetaReader::MetaReader(const MetaGeometry& geometry, std::uint64_t key) noexcept
    : geometry_(geometry), key_(key), place_(place_of(key, geometry)) {}

MetaStep MetaReader::start(std::optional<std::uint32_t> entry) noexcept {
  reads_ = 0;
  torn_reads_ = 0;
  if (!entry) return from_the_top();
  CHECK(*entry < geometry_.entries);
  entry_ = *entry;
  return read_entry(State::hint);
}

MetaStep MetaReader::on_read(std::span<const std::byte> bytes) noexcept {
  switch (state_) {
    case State::idle: break;
    case State::cluster: return on_cluster(bytes);
    case State::hint:
    case State::entry: return on_entry(bytes);
  }
  CHECK(state_ != State::idle);
  return end(MetaStep::Kind::bad_table);
}

MetaStep MetaReader::on_cluster(std::span<const std::byte> bytes) noexcept {
  const auto cluster = decode_cluster(bytes, cluster_);
  if (!cluster) return again();

  if (cluster->generation != generation_) {
    if (cluster_ < geometry_.main_clusters) return end(MetaStep::Kind::bad_table, "a main cluster with a generation");
    return from_the_top();  // it left the chain since the link to it was read, and keys may be behind it that stayed
  }
  if (cluster->owner != place_.cluster) return end(MetaStep::Kind::bad_table, "a cluster of another chain");

  const auto next = Untrusted(cluster->next).within(0, geometry_.overflow_clusters);
  if (!next) return end(MetaStep::Kind::bad_table, "a link out of the table");
  if (*next != 0 && chain_ == meta_chain_max) return end(MetaStep::Kind::bad_table, "a chain too long");
  next_ = *next;
  next_generation_ = cluster->next_generation;

  candidate_ = 0;
  candidate_count_ = 0;
  for (const MetaSlot& slot : cluster->slots) {
    const auto entry = Untrusted(slot.entry).within(0, geometry_.entries);
    if (!entry) return end(MetaStep::Kind::bad_table, "a slot out of the table");
    if (*entry != 0 && slot.fingerprint == place_.fingerprint) candidates_[candidate_count_++] = *entry - 1;
  }
  return next_candidate();
}

MetaStep MetaReader::on_entry(std::span<const std::byte> bytes) noexcept {
  const auto entry = decode_entry(bytes, entry_);
  if (!entry) return again();
  // Another key's: one of the same fingerprint, or one that took the entry after this key was erased. In both cases this
  // key was not in this slot at some moment of this lookup. A hint alone says nothing of other slots.
  if (!entry->live || entry->key != key_) return state_ == State::hint ? from_the_top() : next_candidate();
  MetaStep step = end(MetaStep::Kind::found);
  step.value = entry->value;
  step.entry = entry_;
  return step;
}

MetaStep MetaReader::from_the_top() noexcept {
  cluster_ = place_.cluster;
  generation_ = 0;
  chain_ = 1;
  return read_cluster();
}

MetaStep MetaReader::next_candidate() noexcept {
  if (candidate_ < candidate_count_) {
    entry_ = candidates_[candidate_++];
    return read_entry(State::entry);
  }
  if (next_ == 0) return end(MetaStep::Kind::absent);
  cluster_ = geometry_.main_clusters + next_ - 1;
  generation_ = next_generation_;
  ++chain_;
  return read_cluster();
}

MetaStep MetaReader::read_cluster() noexcept {
  state_ = State::cluster;
  return read(geometry_.cluster_offset(cluster_), MetaCluster::bytes);
}

MetaStep MetaReader::read_entry(State state) noexcept {
  state_ = state;
  return read(geometry_.entry_offset(entry_), MetaEntry::bytes);
}

MetaStep MetaReader::again() noexcept {
  ++torn_reads_;
  if (state_ == State::hint) return from_the_top();
  return state_ == State::cluster ? read_cluster() : read_entry(state_);
}

MetaStep MetaReader::read(std::uint64_t offset, std::size_t bytes) noexcept {
  if (reads_ == reads_max) return end(MetaStep::Kind::contended);
  ++reads_;
  return {.kind = MetaStep::Kind::read, .offset = offset, .bytes = static_cast<std::uint32_t>(bytes)};
}

MetaStep MetaReader::end(MetaStep::Kind kind, const char* fault) noexcept {
  state_ = State::idle;
  return {.kind = kind, .fault = fault};
}

}  // namespace spindrift::kernel
