// These parts are the same in every device: what is asked of it is checked, its queues are waited for by one
// descriptor, and what is posted is judged.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/connected/socket_address.hpp>
#include <spindrift/kernel/physical.hpp>

namespace spindrift::kernel {

/// Errors: bad_argument.
[[nodiscard]] Result<void> check_sizes(const DeviceSizes& sizes, std::uint32_t depth_max, Duration answer_max);
/// The address at which peers reach a device that listens there. Errors: bad_argument, resource.
[[nodiscard]] Result<fabric::connected::SocketAddress> interface_at(const std::string& listen);

/// One descriptor over those of several queues.
class WaitSet {
 public:
  /// Errors: resource.
  [[nodiscard]] Result<void> open();
  /// From here on until it is closed, that descriptor makes this one readable. Errors: resource.
  [[nodiscard]] Result<void> add(int descriptor) const;
  [[nodiscard]] int descriptor() const noexcept { return epoll_.get(); }

 private:
  FileDescriptor epoll_;
};

/// A token comes back with each completion: it names the queue pair, in one of its lives, and a request or buffer of it.
struct CompletionToken {
  std::uint32_t life = 0;  ///< below 2^31; never used twice in a device
  bool receive = false;
  std::uint32_t which = 0;
};

[[nodiscard]] constexpr std::uint64_t encode(const CompletionToken& token) noexcept {
  return std::uint64_t{token.life} << 33U | std::uint64_t{token.receive ? 1U : 0U} << 32U | token.which;
}
[[nodiscard]] constexpr CompletionToken decode_token(std::uint64_t word) noexcept {
  return {static_cast<std::uint32_t>(word >> 33U), (word >> 32U & 1U) != 0, static_cast<std::uint32_t>(word)};
}

/// Memory that was registered with a device for own operations, by its local key.
class OwnMemory {
 public:
  /// False if the key is in use.
  bool add(std::uint64_t key, std::span<std::byte> memory) { return memory_.emplace(key, memory).second; }
  void remove(std::uint64_t key) { memory_.erase(key); }
  /// Whether the bytes are in memory of that key. An operation without bytes needs none.
  [[nodiscard]] bool hold(std::uint64_t key, const std::byte* first, std::size_t bytes) const noexcept {
    if (bytes == 0) return true;
    const auto at = memory_.find(key);
    if (at == memory_.end()) return false;
    const auto begin = reinterpret_cast<std::uintptr_t>(at->second.data());
    const auto place = reinterpret_cast<std::uintptr_t>(first);
    // Without a sum, which could wrap.
    return place >= begin && place - begin <= at->second.size() && bytes <= at->second.size() - (place - begin);
  }

 private:
  std::unordered_map<std::uint64_t, std::span<std::byte>> memory_;
};

/// Every queue pair of a device may look at this, which outlives them.
struct DeviceShared {
  DeviceSizes sizes;
  Duration answer_max{};
  const Clock* clock = nullptr;
  OwnMemory memory{};
  WaitSet waits{};
  std::uint32_t lives = 0;  ///< given out to queue pairs, never twice

  [[nodiscard]] std::uint32_t new_life() noexcept { return ++lives; }
};

/// Whether this process itself may post it: done, or local_error.
[[nodiscard]] OperationStatus judge(const PhysicalOperation& operation, const OwnMemory& memory,
                                    std::size_t message_bytes_max);

}  // namespace spindrift::kernel
