// Gathering small writes, and doing a peer's.
#include <spindrift/fabric/connected/small_writes.hpp>

#include <utility>

#include <spindrift/fabric/word_copy.hpp>

namespace spindrift::fabric::connected {

bool SmallWrites::gather(const Operation& operation, Lane* lane) {
  if (operation.kind != Operation::Kind::write || !operation.copied || operation.signaled ||
      operation.bytes > small_write_bytes_max) {
    return false;
  }
  if (lane == nullptr) return true;
  const Exposure& target = lane->exposed.at(operation.region);
  const SmallWrite write{target.remote_key, target.address + operation.offset, {operation.local, operation.bytes}};
  if (lane_ == lane && append(message_, write)) return true;
  send();
  lane_ = lane;
  return append(message_, write);
}

void SmallWrites::send() {
  if (lane_ != nullptr) lane_->say(message_, false);
  lane_ = nullptr;
  message_.clear();
}

void write_to_shared(const OwnRegion& region, std::uint64_t offset, std::span<const std::byte> bytes) noexcept {
  copy_to_shared(region.memory.data() + offset, bytes.data(), bytes.size());
}

}  // namespace spindrift::fabric::connected
