// The operations on their way to one peer: in order, each due at its time, a torn write in pieces. Knows no fabric and no
// clock; it is asked what is due.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/fabric/fault/fault.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric::fault {

/// Random times, the same for the same seed with every compiler.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  /// At least 0 and below `bound`; `bound` > 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
  [[nodiscard]] Duration between(Duration lowest, Duration highest) {
    return lowest + Duration(static_cast<Duration::rep>(below(static_cast<std::uint64_t>((highest - lowest).count()) + 1)));
  }

 private:
  std::mt19937_64 engine_;
};

class DelayedLink {
 public:
  /// An action: one operation of the inner fabric, or an exposure.
  struct Action {
    Operation operation;
    std::optional<Access> exposure;  ///< of `operation.region`
  };

  DelayedLink(const FaultPlan& plan, Dice& dice) : plan_(&plan), dice_(&dice) {}

  /// Appends; the bytes are held here if the operation says `copied`, is a send, or completes early.
  void add(const Operation& operation, Time now) {
    Pending pending;
    pending.action.operation = operation;
    const bool is_read = operation.kind == Operation::Kind::read;
    const bool early = plan_->early_completion && operation.signaled && !is_read;
    if (early) pending.action.operation.signaled = false;
    if (!is_read && (operation.copied || early || operation.kind == Operation::Kind::send)) {
      pending.held.assign(operation.local, operation.local + operation.bytes);
      pending.action.operation.local = pending.held.data();
      pending.action.operation.copied = operation.kind == Operation::Kind::write;
    }
    append(std::move(pending), now);
  }

  void add_exposure(RegionKey region, Access access, Time now) {
    Pending pending;
    pending.action.operation.region = region;
    pending.action.exposure = access;
    append(std::move(pending), now);
  }

  [[nodiscard]] bool empty() const noexcept { return queue_.empty(); }
  /// Whether something on its way exposes this own region or reads or writes its bytes.
  [[nodiscard]] bool needs(RegionKey region, std::span<const std::byte> memory) const noexcept {
    return std::any_of(queue_.begin(), queue_.end(), [&](const Pending& pending) {
      const Operation& operation = pending.action.operation;
      if (pending.action.exposure) return operation.region == region;
      return !std::less<>()(operation.local, memory.data()) && std::less<>()(operation.local, memory.data() + memory.size());
    });
  }

  /// Whether something on its way acts on this region of the peer.
  [[nodiscard]] bool targets(RegionKey region) const noexcept {
    return std::any_of(queue_.begin(), queue_.end(), [&](const Pending& pending) {
      return !pending.action.exposure && pending.action.operation.region == region;
    });
  }

  /// When the next action is due; `never` if there is none.
  [[nodiscard]] Time due() const noexcept { return queue_.empty() ? never : queue_.front().due; }

  /// Performs everything that is due, in order; stops at the first error.
  [[nodiscard]] Result<void> advance(Time now, const std::function<Result<void>(const Action&)>& perform) {
    while (!queue_.empty() && queue_.front().due <= now) {
      Pending& front = queue_.front();
      const bool torn = plan_->torn_writes && !front.action.exposure &&
                        front.action.operation.kind == Operation::Kind::write && front.action.operation.bytes > 0;
      if (!std::exchange(front.started, true) && torn) tear(front);
      Action action = front.action;
      if (torn) {
        action.operation = line_of(front.action.operation, front.lines.back());
        front.lines.pop_back();
        action.operation.signaled = front.action.operation.signaled && front.lines.empty();
      }
      SPINDRIFT_TRY(perform(action));
      if (torn && !front.lines.empty()) {
        front.due += dice_->between(Duration(0), plan_->line_gap_max);
        continue;
      }
      const Time finished = front.due;
      queue_.pop_front();
      if (!queue_.empty()) queue_.front().due = std::max(queue_.front().due, finished);
    }
    return {};
  }

  /// A region that the peer exposed.
  struct PeerRegion {
    RegionKey key;
    std::uint64_t bytes;
    Access access;
  };
  std::vector<PeerRegion> regions;
  NodeId node;
  Time cut = never;     ///< nothing passes from here on
  Time report = never;  ///< when the cut is reported

 private:
  struct Pending {
    Action action;
    std::vector<std::byte> held;
    Time due;
    std::vector<std::size_t> lines;  ///< of a torn write: indices of the lines that have not acted, the next one last
    bool started = false;
  };
  void append(Pending pending, Time now) {
    newest_due_ = std::max(newest_due_, now + dice_->between(plan_->delay_min, plan_->delay_max));
    pending.due = newest_due_;
    queue_.push_back(std::move(pending));
  }

  // Cuts a write at the lines of its target, which is page aligned, and shuffles them.
  void tear(Pending& pending) {
    const Operation& whole = pending.action.operation;
    const std::uint64_t first = whole.offset / cache_line_bytes;
    const std::uint64_t end = (whole.offset + whole.bytes + cache_line_bytes - 1) / cache_line_bytes;
    pending.lines.resize(end - first);
    std::iota(pending.lines.begin(), pending.lines.end(), std::size_t{0});
    for (std::size_t i = pending.lines.size(); i > 1; --i) std::swap(pending.lines[i - 1], pending.lines[dice_->below(i)]);
  }

  [[nodiscard]] static Operation line_of(const Operation& whole, std::size_t index) noexcept {
    const std::uint64_t line_begin = (whole.offset / cache_line_bytes + index) * cache_line_bytes;
    const std::uint64_t begin = std::max(line_begin, whole.offset);
    const std::uint64_t end = std::min(line_begin + cache_line_bytes, whole.offset + whole.bytes);
    Operation line = whole;
    line.local = whole.local + (begin - whole.offset);
    line.offset = begin;
    line.bytes = end - begin;
    return line;
  }

  const FaultPlan* plan_;
  Dice* dice_;
  std::deque<Pending> queue_;
  Time newest_due_{};
};

}  // namespace spindrift::fabric::fault
