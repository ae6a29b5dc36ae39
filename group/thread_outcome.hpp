// The outcome of some work that a thread does once, and that another one looks at when it is done.
#pragma once

#include <atomic>
#include <exception>
#include <optional>
#include <stop_token>
#include <utility>

#include <spindrift/core/result.hpp>

namespace spindrift::group {

template <class T>
class ThreadOutcome {
 public:
  // The thread, or whoever could not start one; once:
  /// `work` returns a Result<T> for a stop_token. What it throws becomes an error: its own, or handler_failed.
  template <class Work>
  void run(const Work& work) noexcept {
    try {
      set(work(stop_.get_token()));
    } catch (const Exception& thrown) {
      set(thrown.error());
    } catch (const std::exception& thrown) {
      set(Error(ErrorKind::handler_failed, thrown.what()));
    } catch (...) {
      set(Error(ErrorKind::handler_failed, "it threw what is no std::exception"));
    }
  }
  void set(Result<T> outcome) {
    outcome_.emplace(std::move(outcome));
    done_.store(true, std::memory_order_release);
  }

  // The other one:
  /// Nobody is going to take the outcome.
  void stop() noexcept { stop_.request_stop(); }
  [[nodiscard]] bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  /// When it is done.
  [[nodiscard]] Result<T>& outcome() noexcept { return *outcome_; }

 private:
  std::stop_source stop_;
  std::optional<Result<T>> outcome_;  // before `done_`
  std::atomic<bool> done_{false};
};

}  // namespace spindrift::group
