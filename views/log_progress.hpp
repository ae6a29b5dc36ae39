// How far the logs of this member's logged subgroups are: which messages of the present view went to the log behind which
// others, up to where they are durable here, and up to where at all members.
//
// The invariant to remember: what a member says of its log (`persisted`) is durable when it says it. So what all of a
// subgroup's members say is in the log of each.
//
// Pure; the poller's.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/core/view.hpp>
#include <spindrift/smc/delivery.hpp>
#include <spindrift/views/subgroup_logs.hpp>

namespace spindrift::views {

class LogProgress {
 public:
  /// `logs` outlives this object; null: no subgroup is logged.
  explicit LogProgress(SubgroupLogs* logs) : logs_(logs) {}

  void begin_view(const View& view);
  /// That subgroup is logged here.
  [[nodiscard]] bool covers(SubgroupId id) const noexcept { return id.value() < logged_.size() && logged_[id.value()]; }
  /// Deliveries of logged subgroups that can wait are to wait.
  [[nodiscard]] bool has_room() const { return logs_->accepts(); }
  [[nodiscard]] SubgroupLogs* logs() const noexcept { return logs_; }
  /// The end of its log.
  [[nodiscard]] std::uint64_t end(SubgroupId id) const { return logs_->end(id).version; }

  // The rest: a subgroup that is covered.
  /// Up to there all logs were durable, as far as this member was told.
  [[nodiscard]] std::uint64_t everywhere(SubgroupId id) const noexcept { return logged_[id.value()]->everywhere; }
  /// The log ends with what was before the view's first message, or before the first that was kept for a state.
  void begin(SubgroupId id) { logged_[id.value()]->begun = end(id); }
  /// These go to the log. Returned with their versions; valid until the next call.
  [[nodiscard]] std::span<const Delivery> append(SubgroupId id, std::span<const Delivery> batch);
  /// All that was there at `begin` is durable here.
  [[nodiscard]] bool begun_is_durable(SubgroupId id) const { return logs_->durable(id) >= logged_[id.value()]->begun; }
  /// The word that this member may say of its log, `delivered` being its frontier.
  [[nodiscard]] std::uint64_t persisted(SubgroupId id, std::uint64_t delivered) const;
  /// By the least of what all members say: up to which version all logs are durable, if that is news.
  [[nodiscard]] std::optional<std::uint64_t> durable_everywhere(SubgroupId id, std::uint64_t word);

 private:
  /// Messages that went to the log together.
  struct Run {
    std::uint64_t sequence_end = 0;
    std::uint64_t version_end = 0;
  };
  struct Logged {
    std::uint64_t begun = 0;
    std::deque<Run> runs{};       ///< of the present view, without those that are durable everywhere
    std::uint64_t everywhere = 0;  ///< as it was told last
  };

  SubgroupLogs* logs_;
  std::vector<std::optional<Logged>> logged_;  // by subgroup
  std::vector<Delivery> batch_;
};

}  // namespace spindrift::views
