// Checks of a call for another roster where it is made: what only the configuration of this process tells, and words.
#pragma once

#include <string>

#include <spindrift/core/result.hpp>
#include <spindrift/core/roster.hpp>
#include <spindrift/group/roster_messages.hpp>

namespace spindrift::group {

/// The public call by which that was asked for.
[[nodiscard]] std::string public_name_of(const RosterCall& call);
/// Over shared memory alone nobody has an address; otherwise everybody needs one that others can call. `fabric`: as
/// [SPINDRIFT] fabric has it. Errors: bad_argument.
[[nodiscard]] Result<void> check_address(const RosterChange& change, const std::string& fabric);

}  // namespace spindrift::group
