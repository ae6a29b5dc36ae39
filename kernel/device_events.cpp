// In at the back, out at the front.
#include <spindrift/kernel/device_events.hpp>

#include <algorithm>

namespace spindrift::kernel {

void DeviceEvents::completed(std::uint64_t id, Status status) {
  PhysicalEvent event;
  event.kind = PhysicalEvent::Kind::completed;
  event.id = id;
  event.status = status;
  push(std::move(event));
  ++completions_;
}

std::size_t DeviceEvents::take(std::span<PhysicalEvent> events) {
  const std::size_t count = std::min(events.size(), waiting_.size());
  for (std::size_t i = 0; i < count; ++i) {
    events[i] = std::move(waiting_.front());
    waiting_.pop_front();
    if (events[i].kind == PhysicalEvent::Kind::completed) --completions_;
  }
  return count;
}

void DeviceEvents::clear() noexcept {
  waiting_.clear();
  completions_ = 0;
}

}  // namespace spindrift::kernel
