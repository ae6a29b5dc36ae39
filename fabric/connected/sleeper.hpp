// How the poller of an endpoint sleeps, and how others end its sleep: a bell, beside what a transport waits for.
#pragma once

#include <array>
#include <atomic>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/fabric/connected/transport.hpp>

namespace spindrift::fabric::connected {

class Sleeper {
 public:
  /// The descriptors that were readable when a sleep ended.
  struct Signals {
    bool bell = false;
    bool completions = false;
  };

  /// `bell`: an eventfd.
  explicit Sleeper(FileDescriptor bell) : bell_(std::move(bell)) {}

  void watch(const Transport::Descriptors& descriptors) noexcept { descriptors_ = descriptors; }
  /// The bell, and what is watched.
  [[nodiscard]] std::array<int, 3> descriptors() const noexcept {
    return {bell_.get(), descriptors_.completions, descriptors_.reports};
  }

  /// From here on `wake` rings.
  void prepare() noexcept { asleep_.store(true, std::memory_order_seq_cst); }
  void cancel() noexcept { asleep_.store(false, std::memory_order_relaxed); }
  [[nodiscard]] Signals sleep(Duration at_most) noexcept;
  /// Any thread. Rings if the poller sleeps or is about to.
  void wake() noexcept {
    if (asleep_.load(std::memory_order_seq_cst)) ring();
  }
  /// Any thread.
  void ring() noexcept;
  void take_rings() noexcept;

 private:
  FileDescriptor bell_;
  std::atomic<bool> asleep_{false};
  Transport::Descriptors descriptors_;
};

}  // namespace spindrift::fabric::connected
