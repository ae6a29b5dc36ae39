// Words about an upcall that holds up its member: in the log, and in the status that `spindrift group why` reads.
#pragma once

#include <spindrift/group/channels.hpp>
#include <spindrift/group/status_keeper.hpp>
#include <spindrift/group/upcall_heartbeats.hpp>

namespace spindrift::group {

// The thread's that shows life: the poller's things are its for the moment.
/// Says that the upcall has lasted so long.
void report_upcall(UpcallHeartbeats::Whose whose, Duration lasted, const Channels& channels, StatusKeeper& status);
/// Says that the others are let go on without this member from now on.
void report_given_up(const UpcallHeartbeats::Stuck& stuck, const Channels& channels, StatusKeeper& status);

}  // namespace spindrift::group
