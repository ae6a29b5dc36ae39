// Events of a queue pair that wait for its owner: the same for every device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <utility>

#include <spindrift/kernel/physical.hpp>

namespace spindrift::kernel {

/// Events that wait for the owner of a queue pair. Bounded by what it may have under way and by its buffers.
class DeviceEvents {
 public:
  void completed(std::uint64_t id, OperationStatus status) {
    push({.kind = PhysicalEvent::Kind::completed, .status = status, .id = id});
    ++completions_;
  }
  void connected() { push({.kind = PhysicalEvent::Kind::connected}); }
  void broken(std::string reason) { push({.kind = PhysicalEvent::Kind::broken, .reason = std::move(reason)}); }
  void push(PhysicalEvent event) { waiting_.push_back(std::move(event)); }
  [[nodiscard]] std::size_t take(std::span<PhysicalEvent> events) {
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(events.size(), waiting_.size()));
    const auto taken = events.first(static_cast<std::size_t>(end - waiting_.begin()));
    std::move(waiting_.begin(), end, taken.begin());
    waiting_.erase(waiting_.begin(), end);
    for (const PhysicalEvent& event : taken) completions_ -= event.kind == PhysicalEvent::Kind::completed;
    return taken.size();
  }
  [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }
  /// Completions among them: they still count as under way.
  [[nodiscard]] std::uint32_t completions() const noexcept { return completions_; }
  void clear() noexcept {
    waiting_.clear();
    completions_ = 0;
  }

 private:
  std::deque<PhysicalEvent> waiting_;
  std::uint32_t completions_ = 0;
};

}  // namespace spindrift::kernel
