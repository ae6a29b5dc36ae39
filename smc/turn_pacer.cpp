// From what a pass took to the turns of the next.
#include <spindrift/smc/turn_pacer.hpp>

#include <algorithm>

namespace spindrift::smc {

// In proportion downward, so that one long pass is enough; by doubling upward, for a pass may have been short for want of
// messages.
void TurnPacer::begin_pass(Time now, bool shared) noexcept {
  began_ = now;
  if (!shared) messages_ = most_.messages;
  if (!shared || !busy_since_) return;
  const Duration took = now - *busy_since_;
  if (took > pass_long) {
    const auto longer = static_cast<std::uint64_t>(took / pass_long) + 1;
    messages_ = std::max<std::uint64_t>(1, messages_ / longer);
  } else if (took < pass_long / 4) {
    messages_ = messages_ < most_.messages / 2 ? messages_ * 2 : most_.messages;
  }
}

void TurnPacer::end_pass(bool delivered) noexcept {
  busy_since_ = delivered ? std::optional(began_) : std::nullopt;
}

TurnLimits TurnPacer::limits() const noexcept {
  TurnLimits limits = most_;
  if (messages_ < most_.messages) limits.messages = limits.batch = messages_;
  return limits;
}

}  // namespace spindrift::smc
