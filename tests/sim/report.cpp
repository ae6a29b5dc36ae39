// Names of the probes, as reports print them.
#include "report.hpp"

namespace spindrift::sim {

std::string_view to_string(Probe probe) noexcept {
  switch (probe) {
    case Probe::ring_wrapped_with_padding: return "ring wrapped with padding";
    case Probe::ring_full: return "ring full";
    case Probe::window_of_one: return "window of one";
    case Probe::null_run_of_several: return "null run of several";
    case Probe::nulls_waited_for_space: return "nulls waited for space";
    case Probe::abandoned: return "reservation abandoned";
    case Probe::range_wrapped_in_mirror: return "range wrapped in a mirror";
    case Probe::delivery_batch_above_one: return "delivery batch above one";
    case Probe::empty_message: return "empty message";
    case Probe::largest_message: return "largest message";
    case Probe::out_of_order_commit: return "commits out of order";
    case Probe::reservation_held_over_steps: return "reservation held over steps";
    case Probe::sent_from_upcall: return "sent from the upcall";
    case Probe::sink_refused: return "sink refused";
    case Probe::slow_poller: return "slow poller";
    case Probe::paused: return "paused";
    case Probe::paused_over_a_whole_window: return "paused over a whole window";
    case Probe::torn_write: return "torn write";
    case Probe::clogged_link: return "clogged link";
    case Probe::mapped_and_mirrored_mixed: return "mapped and mirrored mixed";
    case Probe::all_mapped: return "all mapped";
    case Probe::all_mirrored: return "all mirrored";
    case Probe::single_member_subgroup: return "subgroup of one member";
    case Probe::single_sender_subgroup: return "subgroup of one sender";
    case Probe::eight_members: return "eight members";
    case Probe::many_subgroups: return "three subgroups or more";
    case Probe::several_activity_words: return "several activity words";
    case Probe::unordered_subgroup: return "unordered subgroup";
    case Probe::idle_sender: return "sender that never sends";
    case Probe::leave_while_others_send: return "leave while others send";
    case Probe::several_leave_at_once: return "several leave at once";
    case Probe::closed_at_once_after_leaving: return "closed at once after leaving";
    case Probe::crash_in_view: return "crash in view";
    case Probe::crash_mid_write: return "crash mid-write";
    case Probe::crash_while_leaving: return "crash while leaving";
    case Probe::crash_while_connecting: return "crash while connecting";
    case Probe::went_quiet: return "went quiet";
    case Probe::count: break;
  }
  return "unknown";
}

}  // namespace spindrift::sim
