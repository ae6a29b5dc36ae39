// Two words that are read as a whole, though they are written one after the other.
#include <spindrift/group/replica_place.hpp>

namespace spindrift::replicated {

void ReplicaPlace::advance(const MessagePlace& applied) noexcept {
  const std::uint64_t version = version_.load(std::memory_order_relaxed);
  version_.store(version + 1, std::memory_order_seq_cst);
  view_.store(applied.view.value(), std::memory_order_seq_cst);
  below_.store(applied.sequence.value() + 1, std::memory_order_seq_cst);
  version_.store(version + 2, std::memory_order_seq_cst);
}

ReplicaPlace::Applied ReplicaPlace::read() const noexcept {
  while (true) {
    const std::uint64_t version = version_.load(std::memory_order_seq_cst);
    const Applied applied{view_.load(std::memory_order_seq_cst), below_.load(std::memory_order_seq_cst)};
    if (version % 2 == 0 && version_.load(std::memory_order_seq_cst) == version) return applied;
  }
}

MessagePlace ReplicaPlace::now() const noexcept {
  const Applied applied = read();
  return applied.below == 0 ? MessagePlace{} : MessagePlace{ViewId(applied.view), SequenceNumber(applied.below - 1)};
}

bool ReplicaPlace::has(const MessagePlace& place) const noexcept {
  const Applied applied = read();
  if (applied.below == 0) return false;
  return place <= MessagePlace{ViewId(applied.view), SequenceNumber(applied.below - 1)};
}

}  // namespace spindrift::replicated
