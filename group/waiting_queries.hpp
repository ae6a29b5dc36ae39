// Queries of other members that wait at a replica because too many answers are under way already. Bounded: a peer can make
// its callee hold no more than `bytes_max`.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include <spindrift/core/ids.hpp>

namespace spindrift::replicated {

/// First in, first out. The poller's.
class WaitingQueries {
 public:
  static constexpr std::size_t bytes_max = std::size_t{8} << 20;
  /// An entry counts for so much more than its message has bytes, so that small ones are bounded, too.
  static constexpr std::size_t bytes_beside = 256;

  struct Query {
    NodeId from;
    std::vector<std::byte> message;
  };

  [[nodiscard]] bool empty() const noexcept { return queries_.empty(); }
  /// False: there is no room for it.
  [[nodiscard]] bool add(NodeId from, std::span<const std::byte> message) {
    const std::size_t bytes = message.size() + bytes_beside;
    if (bytes > bytes_max - bytes_) return false;
    bytes_ += bytes;
    queries_.push_back({from, {message.begin(), message.end()}});
    return true;
  }
  /// There must be one.
  [[nodiscard]] Query take() {
    Query first = std::move(queries_.front());
    queries_.pop_front();
    bytes_ -= first.message.size() + bytes_beside;
    return first;
  }

 private:
  std::deque<Query> queries_;
  std::size_t bytes_ = 0;
};

}  // namespace spindrift::replicated
