// A thread of its own for one slow delivery handler, so that it holds up only its subgroup. It gets one batch at a time,
// with bytes of its own, for the rings go on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include <spindrift/smc/delivery.hpp>

namespace spindrift {

class HandlerWorker {
 public:
  using Handler = std::function<void(std::span<const Delivery>)>;

  /// `handler` and then `done` run on the worker's thread, once for every batch.
  /// The end waits until the handler has returned.
  HandlerWorker(Handler handler, std::function<void()> done);

  /// Copies the batch, and lets the handler have it. One thread only, while not busy.
  void give(std::span<const Delivery> batch);
  /// Whether the handler still has a batch. What it has done with that is visible to the thread that sees false.
  [[nodiscard]] bool busy() const noexcept { return busy_.load(std::memory_order_acquire); }
  /// How many batches it was given. One thread only.
  [[nodiscard]] std::uint64_t given() const noexcept { return given_count_; }
  /// The exception that the handler threw; it gets nothing more then. By the thread that gives, while not busy.
  [[nodiscard]] std::exception_ptr failure() const noexcept { return failure_; }

 private:
  void run(const std::stop_token& stop);

  Handler handler_;
  std::function<void()> done_;
  std::uint64_t given_count_ = 0;  // the giver's
  // The giver's while not busy, then the worker's.
  std::vector<Delivery> batch_;
  std::vector<std::byte> bytes_;
  std::exception_ptr failure_;

  std::atomic<bool> busy_{false};
  std::mutex mutex_;
  std::condition_variable_any given_;
  std::jthread thread_;
};

}  // namespace spindrift
