// How a poller looks for work, and when it sleeps: look, prepare, look, sleep. Pure: it is told what a look found and says
// what comes next, so that a simulator can run the very loop of the product.
//
// The invariant to remember: it sleeps only after a look that found nothing although peers could already see it about to
// sleep; so no news is missed.
#pragma once

#include <cstdint>
#include <utility>

#include <spindrift/core/clock.hpp>

namespace spindrift::group {

class PollLoop {
 public:
  /// The step to take before the next look.
  enum class Next : std::uint8_t {
    nothing,
    yield,    ///< offer the core to others; to look a second time first cost more than it found
    prepare,  ///< let peers see that sleep is near
    cancel,   ///< of the sleep that was prepared: there is work
    sleep,
  };

  /// Sleeps, if at all, once nothing was found for as long as `spin`; behind a sleep that nobody ended, at once.
  PollLoop(bool sleeps, Duration spin) noexcept : sleeps_(sleeps), spin_(spin) {}

  [[nodiscard]] Next on_work() noexcept {
    return std::exchange(state_, State::busy) == State::prepared ? Next::cancel : Next::nothing;
  }
  [[nodiscard]] Next on_nothing(Time now) noexcept {
    switch (state_) {
      case State::busy:
        quiet_since_ = now;
        state_ = State::quiet;
        [[fallthrough]];
      case State::quiet:
        if (!sleeps_ || now - quiet_since_ < spin_) return Next::yield;
        state_ = State::prepared;
        return Next::prepare;
      case State::prepared: state_ = State::busy; return Next::sleep;
    }
    return Next::nothing;
  }
  /// The sleep lasted until its deadline: there has been nothing since before it.
  void on_slept_through() noexcept { state_ = State::quiet; }

 private:
  enum class State : std::uint8_t {
    busy,      ///< the last look found something, or there was none since the last sleep
    quiet,     ///< nothing since `quiet_since_`
    prepared,  ///< peers see it about to sleep
  };

  bool sleeps_;
  Duration spin_;
  State state_ = State::busy;
  Time quiet_since_{};
};

}  // namespace spindrift::group
