// The findings of a run: the first violated invariant, and which situations (probes) it met. A checker never stops the run
// itself; it reports, and the driver of the run looks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spindrift::sim {

/// Situations that the seeds of a gate must meet, else the simulator tests less than it says.
enum class Probe : std::uint32_t {
  ring_wrapped_with_padding,
  ring_full,
  window_of_one,
  null_run_of_several,
  nulls_waited_for_space,
  held_back,
  abandoned,
  range_wrapped_in_mirror,
  delivery_batch_above_one,
  empty_message,
  largest_message,
  out_of_order_commit,
  reservation_held_over_steps,
  sent_from_upcall,
  sink_refused,
  slow_poller,
  paused,
  paused_over_a_whole_window,
  torn_write,
  clogged_link,
  mapped_and_mirrored_mixed,
  all_mapped,
  split_row,
  all_mirrored,
  single_member_subgroup,
  single_sender_subgroup,
  eight_members,
  many_subgroups,
  several_activity_words,
  unordered_subgroup,
  idle_sender,
  crash_mid_write,
  went_quiet,

  large_message,
  large_message_handed_on,

  // Runs with views.
  state_loaded,
  handler_at_work,
  state_took_long,
  state_not_saved,
  unordered_dropped,
  took_over,
  takeover_adopted_a_decree,
  claim_held_over_views,
  restarted,
  zombie_write,
  change_while_installing,
  upcall_threw,
  ended_for_lag,
  stopped_by_its_application,
  cut_link,
  partition_healed,
  leave_with_pending_sends,
  paused_beyond_patience,
  worked,
  worked_beyond_patience,
  starved,
  starved_beyond_patience,
  all_slept,
  crash_while_installing,
  crash_while_changing,
  leader_crashed_before_proposing,
  leader_crashed_after_proposing,
  leader_crashed_after_deciding,
  two_failures_in_one_change,
  join_and_failure_in_one_change,
  left_gracefully,
  state_lost,
  inadequate_subgroup,
  rejoined,
  decided_by_a_later_leader,
  decided_by_another_than_its_leader,
  lost_majority,
  revived,
  was_removed,
  imposter_refused,
  group_survived,
  frozen_for_ever,
  all_left,
  founded_again,
  founded_by_memory,
  founded_without_a_minority,
  founded_by_force,
  founded_by_those_left_behind,
  record_lost,
  logs_lost,
  sent_again,
  object_complete,
  object_given_up,
  delivered_by_trim,
  transfer_source_died,
  suspect_wrote,
  newcomer_without_a_link,
  decided_by_all_that_live,
  decided_without_a_row,
  table_row_read,
  table_barrier_passed,
  table_newcomer_left_out,
  roster_changed,
  removed_from_the_roster,
  found_by_a_notice,
  left_when_drained,
  let_in_again,
  refused_when_drained,
  founded_beyond_a_file,
  subgroup_created,
  subgroup_dropped,
  place_filled_again,
  view_without_subgroups,
  subgroup_changed,
  sizes_adopted,
  sizes_changed,
  version_raised,
  refused_for_its_version,
  all_stopped_with_logs,
  log_went_on,
  log_whole,
  log_began_anew,
  log_began_later,
  log_trimmed,
  log_cut,
  log_tail_dropped,
  log_away,
  log_taken_up,
  log_adopted,
  checkpoint_made,
  checkpoint_sent,
  checkpoint_lost,
  object_from_checkpoint,
  log_without_room,
  log_replayed,
  log_replay_took_long,
  durable_told,
  disk_failed,
  count
};

[[nodiscard]] std::string_view to_string(Probe probe) noexcept;

struct Violation {
  std::string invariant;  ///< id of the reliability page: "M4"; "L2" for a hang
  std::string what;
  std::uint64_t event = 0;  ///< number of events handled before
};

class Report {
 public:
  void violate(std::string_view invariant, std::string what) {
    if (!failed()) violation_ = Violation{std::string(invariant), std::move(what), 0};
  }
  /// The run ends here, and nothing of it is judged any more: it has come to a limit that the protocol names.
  void end_unjudged() noexcept { unjudged_ = true; }
  /// The run is to end here.
  [[nodiscard]] bool failed() const noexcept { return violation_.has_value() || unjudged_; }
  [[nodiscard]] std::optional<Violation>& violation() noexcept { return violation_; }
  [[nodiscard]] const std::optional<Violation>& violation() const noexcept { return violation_; }

  void hit(Probe probe) noexcept { ++hits_[static_cast<std::size_t>(probe)]; }
  void add_hits(const Report& other) noexcept {
    for (std::size_t i = 0; i < hits_.size(); ++i) hits_[i] += other.hits_[i];
  }
  [[nodiscard]] std::uint64_t hits(Probe probe) const noexcept { return hits_[static_cast<std::size_t>(probe)]; }

 private:
  std::optional<Violation> violation_;
  bool unjudged_ = false;
  std::array<std::uint64_t, static_cast<std::size_t>(Probe::count)> hits_{};
};

}  // namespace spindrift::sim
