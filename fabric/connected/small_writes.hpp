// Small copied writes of one list, which travel together in a message: where the target has to act anyway to see a write,
// one that acts for several costs it less, and costs this side one call of the system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <spindrift/fabric/connected/connection.hpp>
#include <spindrift/fabric/fabric.hpp>

namespace spindrift::fabric::connected {

class SmallWrites {
 public:
  /// Whether it is one of these, and checked before. `connection`: the peer's; null: there is none any more, and it is
  /// dropped.
  [[nodiscard]] bool gather(const Operation& operation, Connection* connection);
  /// Says what was gathered. To be called before anything else is posted, and at the end of each list.
  void send();

 private:
  Connection* connection_ = nullptr;
  std::vector<std::byte> message_;
};

/// To memory that others read meanwhile.
void write_to_shared(const OwnRegion& region, std::uint64_t offset, std::span<const std::byte> bytes) noexcept;

/// Carries out a peer's message of small writes. `address_of`: as peers know a region's first byte. A connection whose
/// peer writes where it has no right to breaks.
template <class AddressOf>
void carry_out(Connection& connection, std::span<const std::byte> writes, const AddressOf& address_of) {
  while (!writes.empty()) {
    const auto write = take_write(writes);
    const auto at = write ? connection.granted.find(write->remote_key) : connection.granted.end();
    if (at == connection.granted.end() || at->second.access != Access::write)
      return connection.break_down("it wrote to memory that it was not given");
    const OwnRegion& region = *at->second.memory;
    const std::uint64_t offset = write->address - address_of(region);
    if (offset > region.memory.size() || write->bytes.size() > region.memory.size() - offset)
      return connection.break_down("it wrote out of the memory that it was given");
    if (!region.released) write_to_shared(region, offset, write->bytes);
  }
}

}  // namespace spindrift::fabric::connected
