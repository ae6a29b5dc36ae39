// Calls for which there is no free slot, in their order. Memory grows to the most that ever waited, and stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <spindrift/core/check.hpp>
#include <spindrift/rpc/calls.hpp>

namespace spindrift::rpc {

/// A call with its number in the session.
struct QueuedCall {
  OutgoingCall call;
  std::uint64_t number = 0;
};

class CallQueue {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  /// The i-th from the front; `i` is below the size.
  [[nodiscard]] const QueuedCall& operator[](std::size_t i) const noexcept { return calls_[place(i)]; }

  void push(QueuedCall&& call) {
    if (size_ == calls_.size()) grow();
    calls_[place(size_++)] = std::move(call);
  }
  /// CHECKs that it is not empty.
  [[nodiscard]] QueuedCall pop() {
    SPINDRIFT_CHECK(size_ > 0);
    QueuedCall call = std::move(calls_[first_]);
    first_ = place(1);
    --size_;
    return call;
  }
  /// Takes the i-th out; those behind it move up.
  [[nodiscard]] QueuedCall remove(std::size_t i) {
    SPINDRIFT_CHECK(i < size_);
    QueuedCall call = std::move(calls_[place(i)]);
    for (std::size_t k = i + 1; k < size_; ++k) calls_[place(k - 1)] = std::move(calls_[place(k)]);
    --size_;
    return call;
  }

 private:
  [[nodiscard]] std::size_t place(std::size_t i) const noexcept { return (first_ + i) & (calls_.size() - 1); }
  void grow() {
    std::vector<QueuedCall> larger(calls_.empty() ? 8 : calls_.size() * 2);
    for (std::size_t i = 0; i < size_; ++i) larger[i] = std::move(calls_[place(i)]);
    calls_ = std::move(larger);
    first_ = 0;
  }

  std::vector<QueuedCall> calls_;  ///< a power of two, or none
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace spindrift::rpc
