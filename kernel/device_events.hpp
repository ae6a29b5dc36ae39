// Events of a queue pair that wait for its owner: the same for every device.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <utility>

#include <spindrift/kernel/physical.hpp>

namespace spindrift::kernel {

/// Events that wait for the owner of a queue pair. Bounded by what it may have under way and by its buffers.
class DeviceEvents {
 public:
  void completed(std::uint64_t id, Status status);
  void push(PhysicalEvent event) { waiting_.push_back(std::move(event)); }
  [[nodiscard]] std::size_t take(std::span<PhysicalEvent> events);
  [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }
  /// Completions among them: they still count as under way.
  [[nodiscard]] std::uint32_t completions() const noexcept { return completions_; }
  void clear() noexcept;

 private:
  std::deque<PhysicalEvent> waiting_;
  std::uint32_t completions_ = 0;
};

}  // namespace spindrift::kernel
