// Memory that was registered with a device for own operations, by its local key.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

namespace spindrift::kernel {

class OwnMemory {
 public:
  /// False if the key is in use.
  bool add(std::uint64_t key, std::span<std::byte> memory) { return memory_.emplace(key, memory).second; }
  void remove(std::uint64_t key) { memory_.erase(key); }
  /// Whether the bytes are in memory of that key. An operation without bytes needs none.
  [[nodiscard]] bool hold(std::uint64_t key, const std::byte* first, std::size_t bytes) const noexcept;

 private:
  std::unordered_map<std::uint64_t, std::span<std::byte>> memory_;
};

}  // namespace spindrift::kernel
