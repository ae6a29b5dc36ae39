// The descriptors that end a sleep.
#include <spindrift/fabric/connected/sleeper.hpp>

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace spindrift::fabric::connected {

Sleeper::Signals Sleeper::sleep(Duration at_most) noexcept {
  timespec wait{};
  const Duration left = std::max(at_most, Duration{});
  wait.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(left).count();
  wait.tv_nsec = (left % std::chrono::seconds(1)).count();
  pollfd ready[] = {{bell_.get(), POLLIN, 0}, {descriptors_.completions, POLLIN, 0}, {descriptors_.reports, POLLIN, 0}};
  static_cast<void>(::ppoll(ready, 3, at_most == Duration::max() ? nullptr : &wait, nullptr));
  return {(ready[0].revents & POLLIN) != 0, (ready[1].revents & POLLIN) != 0};
}

// Fails only if it has been rung 2^64 times and nobody looked.
void Sleeper::ring() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(bell_.get(), &one, sizeof one);
}

void Sleeper::take_rings() noexcept {
  std::uint64_t rings = 0;
  [[maybe_unused]] const auto taken = ::read(bell_.get(), &rings, sizeof rings);
}

}  // namespace spindrift::fabric::connected
