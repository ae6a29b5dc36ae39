// Gathering small writes, and doing a peer's.
#include <spindrift/fabric/connected/small_writes.hpp>

#include <utility>

#include <spindrift/fabric/word_copy.hpp>

namespace spindrift::fabric::connected {

bool SmallWrites::gather(const Operation& operation, Connection* connection) {
  if (operation.kind != Operation::Kind::write || !operation.copied || operation.signaled ||
      operation.bytes > small_write_bytes_max) {
    return false;
  }
  if (connection == nullptr) return true;
  const Exposure& target = connection->exposed.at(operation.region);
  const SmallWrite write{target.remote_key, target.address + operation.offset, {operation.local, operation.bytes}};
  if (connection_ == connection && append(message_, write)) return true;
  send();
  connection_ = connection;
  return append(message_, write);
}

void SmallWrites::send() {
  if (connection_ != nullptr) connection_->say(message_, false);
  connection_ = nullptr;
  message_.clear();
}

void write_to_shared(const OwnRegion& region, std::uint64_t offset, std::span<const std::byte> bytes) noexcept {
  copy_to_shared(region.memory.data() + offset, bytes.data(), bytes.size());
}

}  // namespace spindrift::fabric::connected
