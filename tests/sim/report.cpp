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
    case Probe::held_back: return "messages held back behind those on their way";
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
    case Probe::split_row: return "split row";
    case Probe::all_mirrored: return "all mirrored";
    case Probe::single_member_subgroup: return "subgroup of one member";
    case Probe::single_sender_subgroup: return "subgroup of one sender";
    case Probe::eight_members: return "eight members";
    case Probe::many_subgroups: return "three subgroups or more";
    case Probe::several_activity_words: return "several activity words";
    case Probe::unordered_subgroup: return "unordered subgroup";
    case Probe::idle_sender: return "sender that never sends";
    case Probe::crash_mid_write: return "crash mid-write";
    case Probe::went_quiet: return "went quiet";
    case Probe::large_message: return "large message";
    case Probe::large_message_handed_on: return "large message handed on";
    case Probe::state_loaded: return "state loaded by a newcomer";
    case Probe::handler_at_work: return "handler on a thread of its own";
    case Probe::state_took_long: return "state saved or loaded on a thread of its own";
    case Probe::unordered_dropped: return "unordered messages dropped";
    case Probe::took_over: return "leader took over";
    case Probe::takeover_adopted_a_decree: return "takeover adopted a decree";
    case Probe::claim_held_over_views: return "claim held over a change of the view";
    case Probe::restarted: return "node restarted";
    case Probe::zombie_write: return "zombie write after eviction";
    case Probe::change_while_installing: return "view changed while installing";
    case Probe::upcall_threw: return "upcall threw";
    case Probe::ended_for_lag: return "member ended because it lagged";
    case Probe::stopped_by_its_application: return "member stopped by its application";
    case Probe::cut_link: return "link cut";
    case Probe::partition_healed: return "partition healed";
    case Probe::leave_with_pending_sends: return "leave with pending sends";
    case Probe::paused_beyond_patience: return "paused beyond the timeout";
    case Probe::worked: return "an application at work";
    case Probe::starved: return "a process without a CPU";
    case Probe::starved_beyond_patience: return "a process without a CPU beyond the timeout";
    case Probe::worked_beyond_patience: return "an application at work beyond the timeout";
    case Probe::all_slept: return "all slept at once";
    case Probe::crash_while_installing: return "crash while installing";
    case Probe::crash_while_changing: return "crash while the view changes";
    case Probe::leader_crashed_before_proposing: return "leader crashed before proposing";
    case Probe::leader_crashed_after_proposing: return "leader crashed after proposing";
    case Probe::leader_crashed_after_deciding: return "leader crashed after deciding";
    case Probe::two_failures_in_one_change: return "two failures in one change";
    case Probe::join_and_failure_in_one_change: return "join and failure in one change";
    case Probe::left_gracefully: return "left gracefully";
    case Probe::state_lost: return "state lost with its last holder";
    case Probe::inadequate_subgroup: return "inadequate subgroup";
    case Probe::rejoined: return "node rejoined";
    case Probe::decided_by_a_later_leader: return "decided by a later leader";
    case Probe::decided_by_another_than_its_leader: return "decided by another than its leader";
    case Probe::lost_majority: return "lost the majority";
    case Probe::was_removed: return "was removed";
    case Probe::imposter_refused: return "imposter refused";
    case Probe::group_survived: return "group survived its faults";
    case Probe::frozen_for_ever: return "minority frozen for ever";
    case Probe::all_left: return "all left";
    case Probe::founded_by_memory: return "founded by those who remember the last view";
    case Probe::founded_without_a_minority: return "founded by them without some who were in the last view";
    case Probe::record_lost: return "a node lost its record of views";
    case Probe::founded_again: return "founded again after a total loss";
    case Probe::sent_again: return "message sent again in a later view";
    case Probe::object_complete: return "object complete";
    case Probe::object_given_up: return "object given up";
    case Probe::delivered_by_trim: return "ragged tail delivered by the trim";
    case Probe::transfer_source_died: return "source of a state transfer died";
    case Probe::suspect_wrote: return "bytes of a suspect arrived, spoiled";
    case Probe::decided_by_all_that_live: return "decided by all that live, less than a majority";
    case Probe::decided_without_a_row: return "the same, and a dead member never showed its row";
    case Probe::newcomer_without_a_link: return "newcomer without a link with a member";
    case Probe::table_row_read: return "row of a program table read";
    case Probe::table_barrier_passed: return "barrier of a program table passed";
    case Probe::table_newcomer_left_out: return "barrier passed without a newcomer";
    case Probe::roster_changed: return "roster changed";
    case Probe::removed_from_the_roster: return "left because the roster is without it";
    case Probe::found_by_a_notice: return "newcomer told of a newer roster";
    case Probe::left_when_drained: return "left because it is drained";
    case Probe::let_in_again: return "drained node let in again";
    case Probe::refused_when_drained: return "process of a drained node refused";
    case Probe::founded_beyond_a_file: return "founded with one that a file lacks";
    case Probe::subgroup_created: return "subgroup created while the group runs";
    case Probe::subgroup_dropped: return "subgroup dropped";
    case Probe::place_filled_again: return "subgroup created at the place of one that was dropped";
    case Probe::subgroup_changed: return "subgroup changed while the group runs";
    case Probe::sizes_adopted: return "sizes of rings that all files say adopted";
    case Probe::sizes_changed: return "sizes of rings changed by a wish";
    case Probe::view_without_subgroups: return "view without any subgroup";
    case Probe::count: break;
  }
  return "unknown";
}

}  // namespace spindrift::sim
