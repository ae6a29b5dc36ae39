// The reasons for which a replica does not run a query that another member sent it.
#pragma once

#include <cstdint>
#include <string>

#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::replicated {

/// How a private answer came about: 0 and 1 are the method's, the others say why it did not run. On the wire.
enum class AnswerOutcome : std::uint64_t {
  returned,
  threw,
  no_object,      ///< the program there has attached no replicated object to the subgroup, or not yet
  outside,        ///< that node is not in the subgroup, as it knows
  not_loaded,     ///< the subgroup's state is still on its way there, or could not be taken
  other_methods,  ///< its list of methods is another than the caller's
  too_many,       ///< more queries wait there than it keeps
};
inline constexpr AnswerOutcome outcome_last = AnswerOutcome::too_many;

[[nodiscard]] constexpr bool is_refusal(AnswerOutcome outcome) noexcept {
  return outcome != AnswerOutcome::returned && outcome != AnswerOutcome::threw;
}

/// The error that the caller gets, with the step to take. `outcome` is a refusal.
[[nodiscard]] Error refusal_error(AnswerOutcome outcome, NodeId node, const std::string& subgroup);

}  // namespace spindrift::replicated
