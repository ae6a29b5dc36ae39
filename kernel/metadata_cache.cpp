// Counting, and whose handle comes back.
#include <spindrift/kernel/metadata_cache.hpp>

namespace spindrift::kernel {

const MetadataCache::Known* MetadataCache::find(NodeId node) {
  const Known* known = table_.find(node);
  ++(known != nullptr ? hits_ : misses_);
  return known;
}

PeerHandle MetadataCache::put(NodeId node, const NodeRecord& record, PeerHandle handle) {
  if (Known* known = table_.find(node)) {
    const PeerHandle before = known->handle;
    *known = Known{record, handle};
    return before == handle ? PeerHandle{} : before;
  }
  const auto evicted = table_.put(node, Known{record, handle});
  return evicted ? evicted->second.handle : PeerHandle{};
}

PeerHandle MetadataCache::on_lost(NodeId node) {
  const auto known = table_.erase(node);
  return known ? known->handle : PeerHandle{};
}

// Node ids are chosen by people, often in steps: Fibonacci hashing spreads them.
std::size_t MetadataCache::Hash::operator()(NodeId node) const noexcept {
  return static_cast<std::size_t>(node.value() * 0x9e37'79b9'7f4a'7c15ULL >> 32);
}

}  // namespace spindrift::kernel
