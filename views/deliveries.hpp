// Between the multicasts of all subgroups and the application: usually nothing, deliveries go through. What the application
// cannot take yet waits here, in order, with the boundaries of the views among it.
//
// The invariant to remember: the application hears of a subgroup's deliveries, boundaries and state in one order, the same
// as if it had always been ready.
//
// The poller's. What comes is valid until the call returns; what waits is copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <spindrift/core/view.hpp>
#include <spindrift/smc/multicast.hpp>
#include <spindrift/views/kept_deliveries.hpp>
#include <spindrift/views/lag_watch.hpp>
#include <spindrift/views/log_progress.hpp>
#include <spindrift/views/rank_set.hpp>
#include <spindrift/views/upcalls.hpp>

namespace spindrift::views {

class Deliveries final : public smc::DeliverySink {
 public:
  /// `subgroups`: of the layout. Up to `bytes_max` bytes of each subgroup wait while its state is on its way, and until the
  /// application has taken that, and while its state is at work; else nothing but what the end of a view delivers. `upcalls`
  /// outlives this object.
  /// `lagging_after`: see LagWatch. `logs`, to which deliveries of logged subgroups go first, outlives this object.
  Deliveries(NodeId self, std::size_t subgroups, std::uint64_t bytes_max, Upcalls& upcalls, Duration lagging_after = {},
             SubgroupLogs* logs = nullptr);

  void on_delivery(SubgroupId id, std::span<const Delivery> batch) override;
  void on_space(SubgroupId id) override { upcalls_.on_space(id); }
  [[nodiscard]] bool accepts(SubgroupId id) const override;

  /// A view begins behind everything that came so far. `loaded`: by subgroup, the members that have its state; `joined`:
  /// since the view before. Where this node is a member and has no state, one is on its way from now on.
  void begin_view(const View& view, const std::vector<RankSet>& loaded, std::span<const NodeId> joined);
  /// The waiting deliveries of this subgroup, as bytes that go behind its state; see KeptDeliveries::encode.
  /// None where the log has them.
  [[nodiscard]] std::vector<std::byte> kept(SubgroupId id) const {
    return log_.covers(id) ? std::vector<std::byte>() : backlogs_[id.value()].encode();
  }
  /// The state is here, and this waited at its source. False, and nothing changed: the bytes are impossible.
  [[nodiscard]] bool end_loading(SubgroupId id, std::span<const std::byte> kept_at_source);
  /// The application has, and is done with, all that was delivered in that subgroup.
  [[nodiscard]] bool taken(SubgroupId id) const {
    return backlogs_[id.value()].empty() && !upcalls_.busy(id) && !upcalls_.state_at_work(id);
  }
  [[nodiscard]] bool loading(SubgroupId id) const {
    return id.value() < backlogs_.size() && backlogs_[id.value()].loading();
  }
  /// The next view is without these: this one's end waits until the application has taken all of them.
  void expect_drop(std::vector<SubgroupId> dropped) { dropped_ = std::move(dropped); }

  /// A subgroup with a message that waits for this member's application for too long.
  struct Lag {
    SubgroupId subgroup;
    Duration waited{};
  };
  /// Behind a pass over the multicasts of the present view, by subgroup: finds one, if a look is due. A subgroup whose state
  /// is on its way, or at work, is not judged; nor is one whose log has no room.
  [[nodiscard]] std::optional<Lag> find_lag(std::span<const std::unique_ptr<smc::Multicast>> multicasts, Time now);
  /// When it is to be called next; never: as late as anything else calls for a pass.
  [[nodiscard]] Time next_look_for_lag() const noexcept { return lag_.judges() ? lag_.next_look() : never; }

  /// Behind a pass over the multicasts of the present view, by subgroup: says how far the logs are, and hears it of the
  /// others. True if something was said.
  bool follow_logs(std::span<const std::unique_ptr<smc::Multicast>> multicasts);
  /// A log was taken up again by others, from which messages may be gone that this member's application was given: it is in
  /// that subgroup, and cannot go on there.
  [[nodiscard]] std::optional<SubgroupId> set_back() const noexcept { return set_back_; }
  /// The logs of the logged subgroups.
  [[nodiscard]] const LogProgress& log() const noexcept { return log_; }

  /// Hands over what the application takes by now, a batch per subgroup; true if it did.
  bool flush();
  /// Tells of the boundaries that no delivery is before.
  void pass_boundaries();
  /// Nobody is at work on a delivery, and nothing waits that the application would take.
  [[nodiscard]] bool handed_over() const { return !at_work(); }
  /// While that is not so: the first subgroup whose application is at work, or is yet to take what it would.
  [[nodiscard]] std::optional<SubgroupId> at_work() const;
  /// Nobody is at work on a delivery or a state, and no delivery waits.
  [[nodiscard]] bool all_taken() const;
  /// So many subgroups, the first ones, have nothing that the application is still to take, a state included.
  [[nodiscard]] std::size_t drained() const;

 private:
  /// The application's place in a logged subgroup, from view to view.
  struct Reader {
    bool given = false;    ///< this process was given its log, be it long ago
    bool has_it = false;   ///< it has all of it
    bool away = false;     ///< nobody has it in the present view
    bool behind = false;   ///< what it was given last may be in nobody's log any more
  };
  void follow_log(const View& view, SubgroupId id, const RankSet& having);

  enum class State : std::uint8_t {
    through,  ///< nothing waits
    keeping,  ///< something waits, or may
  };

  NodeId self_;
  Upcalls& upcalls_;
  State state_ = State::through;
  std::uint64_t bytes_max_;
  std::deque<KeptDeliveries> backlogs_;   // by subgroup; each stays where it is, as what it keeps points into it
  std::vector<SubgroupId> dropped_;       // with the end of the present view
  LagWatch lag_;
  LogProgress log_;
  std::vector<Reader> readers_;              // by subgroup
  std::optional<SubgroupId> set_back_;
  std::vector<std::uint64_t> own_unloaded_;  // by subgroup: own messages in the state that is on its way
};

}  // namespace spindrift::views
