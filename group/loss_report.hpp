// Tells people that a member has lost the majority of its view and waits, and by which command the rest goes on. The
// poller's.
#pragma once

#include <string>

#include <spindrift/views/member.hpp>

namespace spindrift::group {

/// The members that are gone, and what to do. Empty: it waits for no revival.
[[nodiscard]] std::string words_of_loss(const views::Member& member);

}  // namespace spindrift::group
