// The operations on their way to one peer: in order, each due at its time, a torn write in pieces. Knows no fabric and no
// clock; it is asked what is due.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <span>
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
  /// What acts: one operation of the inner fabric, or an exposure.
  struct Action {
    Operation operation;
    std::optional<Access> exposure;  ///< of `operation.region`
  };

  DelayedLink(const FaultPlan& plan, Dice& dice) : plan_(&plan), dice_(&dice) {}

  /// Appends; the bytes are held here if the operation says `copied`, is a send, or completes early.
  void add(const Operation& operation, Time now);
  void add_exposure(RegionKey region, Access access, Time now);

  [[nodiscard]] bool empty() const noexcept { return queue_.empty(); }
  /// Whether something on its way exposes this own region or reads or writes its bytes.
  [[nodiscard]] bool needs(RegionKey region, std::span<const std::byte> memory) const noexcept;
  /// Whether something on its way acts on this region of the peer.
  [[nodiscard]] bool targets(RegionKey region) const noexcept;
  /// When the next action is due; `never` if there is none.
  [[nodiscard]] Time due() const noexcept;
  /// Performs everything that is due, in order; stops at the first error.
  [[nodiscard]] Result<void> advance(Time now, const std::function<Result<void>(const Action&)>& perform);

  /// What the peer exposed.
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
  void append(Pending pending, Time now);
  void tear(Pending& pending);
  [[nodiscard]] static Operation line_of(const Operation& whole, std::size_t index) noexcept;

  const FaultPlan* plan_;
  Dice* dice_;
  std::deque<Pending> queue_;
  Time newest_due_{};
};

}  // namespace spindrift::fabric::fault
