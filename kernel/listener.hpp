// Listening at a port: the pairs that peers have connected to it, whose message is the next, and first messages for which
// there is no place yet. Pure bookkeeping: pair_messages.hpp makes the pairs and moves the bytes.
//
// Remember: a first message may come again after a fault. A caller whose pair here was used and closed is therefore
// remembered for a while, and not heard a second time.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/kernel/completion_queue.hpp>
#include <spindrift/kernel/queue.hpp>

namespace spindrift::kernel {

/// A pool's pairs are waited for at ports.
using Port = Strong<struct PortTag, std::uint64_t>;

/// A peer's pair, as its messages name it.
struct CallerId {
  std::uint64_t node = 0;  ///< with its start
  std::uint64_t pair = 0;
  friend auto operator<=>(const CallerId&, const CallerId&) = default;
};

class Listener {
 public:
  Listener(CompletionQueue& completions, std::uint32_t pairs_max) : completions_(&completions), pairs_max_(pairs_max) {}

  [[nodiscard]] CompletionQueue& completions() const noexcept { return *completions_; }
  [[nodiscard]] bool full() const noexcept { return accepted_.size() >= pairs_max_; }
  /// The pair that was made for this caller; none if there is none.
  [[nodiscard]] std::optional<PairId> find(const CallerId& caller) const;
  /// Whether the caller's pair here was used, and is closed.
  [[nodiscard]] bool has_heard(const CallerId& caller) const { return heard_.contains(caller); }

  void accept(const CallerId& caller, PairId pair);
  /// The pair is closed. `heard`: its user knew of it.
  void close(const CallerId& caller, PairId pair, bool heard);
  /// The pair's next message can be popped; said once for each.
  void announce(PairId pair) { ready_.push_back(pair); }
  /// The pair's message was taken otherwise.
  void withdraw(PairId pair) { std::erase(ready_, pair); }
  /// The pair whose message is to be popped next; its announcement is over.
  [[nodiscard]] std::optional<PairId> take_ready() { return take_first(ready_); }
  /// A pair of which the user was not told; the oldest first.
  [[nodiscard]] std::optional<PairId> take_newcomer() { return take_first(newcomers_); }

 private:
  CompletionQueue* completions_;
  std::uint32_t pairs_max_;
  std::map<CallerId, PairId> accepted_;
  Recent<CallerId> heard_;
  std::deque<PairId> ready_;
  std::deque<PairId> newcomers_;
};

/// A first message of a caller.
struct PendingCall {
  vq_header header{};
  Metadata metadata;
  std::vector<std::byte> payload;
  Time came{};

  [[nodiscard]] CallerId caller() const noexcept { return {std::uint64_t{header.node} << 32 | header.start, header.from}; }
};

/// Calls that cannot be taken yet, one of each caller; bounded in number.
class PendingCalls {
 public:
  static constexpr std::size_t most = 64;

  /// Keeps it; false if there is no room. One that waits already is not kept twice.
  [[nodiscard]] bool add(PendingCall call);
  [[nodiscard]] bool empty() const noexcept { return calls_.empty(); }
  /// All of them, in the order of their coming.
  [[nodiscard]] std::vector<PendingCall> take();

 private:
  std::vector<PendingCall> calls_;
};

}  // namespace spindrift::kernel
