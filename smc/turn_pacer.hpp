// How long the turns of busy subgroups are: as long as may be, unless handlers are slow and others wait for them. A turn is
// bounded in messages, and a message may take its handler a microsecond or a millisecond; so what a pass took says how many
// the turns of the next one have.
//
// Pure; one thread. Times are those of the passes.
#pragma once

#include <cstdint>
#include <optional>

#include <spindrift/core/clock.hpp>
#include <spindrift/smc/delivery_batch.hpp>

namespace spindrift::smc {

class TurnPacer {
 public:
  /// A pass that took longer had turns that were too long.
  static constexpr Duration pass_long = std::chrono::milliseconds(5);

  /// `most`: what a turn has at most.
  explicit TurnPacer(const TurnLimits& most) noexcept : most_(most), messages_(most.messages) {}

  /// A pass begins. `shared`: this member is in other subgroups as well, so that turns matter.
  void begin_pass(Time now, bool shared) noexcept;
  /// It is over, and delivered something or not. Where it did, the next one follows at once.
  void end_pass(bool delivered) noexcept;
  /// The limits of each turn of this pass.
  [[nodiscard]] TurnLimits limits() const noexcept;

 private:
  TurnLimits most_;
  std::uint64_t messages_;      ///< of a turn
  Time began_{};                ///< this pass, or the last one
  std::optional<Time> busy_since_;  ///< the beginning of the last pass, if that delivered
};

}  // namespace spindrift::smc
