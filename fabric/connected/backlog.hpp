// Requests that a provider does not take yet, in the order in which they were asked for.
//
// A request has `region` (the own memory that it needs, counted there while it waits, or null), and for its bytes `local`,
// `bytes` and `owned` (holds them, if it is not empty). If `copied`, the caller may change them after the post, so they are
// copied into `owned` if it has to wait, unless the connection has seen to that (`owned` has no `assign`).
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <utility>

#include <spindrift/fabric/connected/connection.hpp>

namespace spindrift::fabric::connected {

template <class Request>
class Backlog {
 public:
  [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }
  [[nodiscard]] auto begin() noexcept { return waiting_.begin(); }
  [[nodiscard]] auto end() noexcept { return waiting_.end(); }

  /// Offers it, or keeps it behind what waits. `offer(Request&)`: whether the provider took it; may break the connection. A
  /// connection that is broken takes nothing; one for which too much waits is broken by this.
  template <class Offer>
  void post(Connection& connection, Request&& request, const Offer& offer) {
    if (connection.broken()) return;
    if (request.region != nullptr) ++request.region->reading;
    if (waiting_.empty() && offer(request)) return;
    if (connection.broken()) {
      if (request.region != nullptr) --request.region->reading;
      return;
    }
    if constexpr (requires { request.owned.assign(request.local, request.local); }) {
      if (request.copied && request.owned.empty()) request.owned.assign(request.local, request.local + request.bytes);
    }
    bytes_ += request.owned.size();
    if (request.region != nullptr) connection.unsent_bytes += request.bytes;
    if (waiting_.size() >= requests_max || bytes_ > bytes_max)
      connection.break_down("it takes nothing of what waits for it");
    waiting_.push_back(std::move(request));
  }

  /// Offers what waits, as far as the provider takes it.
  template <class Offer>
  void flush(Connection& connection, const Offer& offer) {
    while (!waiting_.empty() && !connection.broken()) {
      const std::size_t bytes = waiting_.front().owned.size();
      const std::uint64_t unsent_bytes = waiting_.front().region != nullptr ? waiting_.front().bytes : 0;
      if (!offer(waiting_.front())) return;
      bytes_ -= bytes;
      connection.unsent_bytes -= unsent_bytes;
      waiting_.pop_front();
    }
  }

  /// The same in lists: `offer(first, count)` says how many of the first `count` the provider took, in order; each of them
  /// is then handed to `took(Request&&)`.
  template <class Offer, class Took>
  void flush_lists(Connection& connection, std::size_t list_max, const Offer& offer, const Took& took) {
    while (!waiting_.empty() && !connection.broken()) {
      const std::size_t count = std::min(waiting_.size(), list_max);
      const std::size_t taken = offer(waiting_.begin(), count);
      for (std::size_t i = 0; i < taken; ++i) {
        Request request = std::move(waiting_.front());
        waiting_.pop_front();
        bytes_ -= request.owned.size();
        if (request.region != nullptr) connection.unsent_bytes -= request.bytes;
        took(std::move(request));
      }
      if (taken < count) return;
    }
  }

  /// None of what waits will be done.
  void drop() noexcept {
    for (const Request& request : std::exchange(waiting_, {})) {
      if (request.region != nullptr) --request.region->reading;
    }
  }

 private:
  static constexpr std::size_t bytes_max = 64U << 20U;
  static constexpr std::size_t requests_max = 1U << 18U;

  std::deque<Request> waiting_;
  std::size_t bytes_ = 0;
};

}  // namespace spindrift::fabric::connected
