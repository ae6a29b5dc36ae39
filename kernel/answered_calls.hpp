// Calls that a device has answered and that nobody has taken yet: their connections are up or soon to be.
//
// Threading: the device's. A call that broke before anybody took it is as if it had never been.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>

#include <spindrift/kernel/physical.hpp>

namespace spindrift::kernel {

/// `Connected` is the device's connected queue pair, with `up` and `broken`.
template <class Connected>
class AnsweredCalls {
 public:
  /// So many wait that the next caller is to be turned away.
  [[nodiscard]] bool full() const noexcept { return calls_.size() >= most; }
  /// `token`: as the caller said it.
  void add(std::unique_ptr<Connected> queue_pair, std::uint64_t token) { calls_.push_back({std::move(queue_pair), token}); }
  [[nodiscard]] bool contains(const Connected* queue_pair) const noexcept {
    return std::any_of(calls_.begin(), calls_.end(), [&](const Call& call) { return call.queue_pair.get() == queue_pair; });
  }
  void forget_broken() {
    calls_.remove_if([](const Call& call) { return call.queue_pair->broken(); });
  }
  /// The first that is up; see Device::accepted.
  [[nodiscard]] Device::Accepted take() {
    forget_broken();
    const auto at = std::find_if(calls_.begin(), calls_.end(), [](const Call& call) { return call.queue_pair->up(); });
    if (at == calls_.end()) return {};
    Device::Accepted result{std::move(at->queue_pair), at->token};
    calls_.erase(at);
    return result;
  }

 private:
  static constexpr std::size_t most = 64;
  struct Call {
    std::unique_ptr<Connected> queue_pair;
    std::uint64_t token = 0;
  };
  std::list<Call> calls_;
};

}  // namespace spindrift::kernel
