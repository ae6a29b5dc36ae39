// Everything of one view at one member: the rows, the multicasts, the view change. Pure; stepped by Member.
//
// The invariant to remember: memory of an epoch is never used by another, so what a removed member still writes lands in
// memory that no live view reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/counters.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/smc/subgroup_scheduler.hpp>
#include <spindrift/sst/table.hpp>
#include <spindrift/views/accusation_watch.hpp>
#include <spindrift/views/join_watch.hpp>
#include <spindrift/views/log_claims.hpp>
#include <spindrift/views/own_record.hpp>
#include <spindrift/views/view_change.hpp>

namespace spindrift::views {

/// For people: the subgroup in which a member's application is at work; "none": the view has no such subgroup.
[[nodiscard]] std::string name_at_work(const View& view, SubgroupId at_work);

class Epoch final : private Counts {
 public:
  /// The state of one other member's row here, at the fabric.
  struct Line {
    bool offered = false;                  ///< my row, or a mirror, was exposed to it
    std::optional<SubgroupId> at_work{};   ///< by its word, where its application is at work on the view before
    std::uint32_t beside_offered = 0;      ///< so much of what may lie beside the row was gone through
    std::optional<fabric::Region> mirror;  ///< of its row, here
    std::optional<std::pair<fabric::PeerId, fabric::RegionKey>> theirs;  ///< its row, or its mirror of mine
    std::vector<std::pair<fabric::PeerId, fabric::RegionKey>> beside;  ///< its rings, bulk rings, or bulk mirrors of others'
  };

  /// Registered memory beside the row, for the messages of one subgroup; nothing where it is not needed.
  struct Beside {
    std::optional<fabric::Region> ring;          ///< the own one, if it is split off the row
    std::optional<fabric::Region> bulk_ring;     ///< the own one
    std::optional<fabric::Region> bulk_mirrors;  ///< of the other senders' bulk rings, for members whose rows are not mapped
  };

  /// `row` is zeroed registered memory of `sst::RowLayout(view, self).shared_bytes()`; `beside`, by subgroup, has the own
  /// rings. `newcomers`: see ViewChange. The rest outlives the epoch.
  Epoch(View view, std::vector<RankSet> loaded, NodeId self, fabric::Region row, std::vector<Beside> beside,
        const smc::Policy& policy, const Mandate::Terms& terms, smc::DeliverySink& sink,
        CounterBlock& counters, RankSet newcomers = {}, Remembrance remembrance = {});

  [[nodiscard]] const View& view() const noexcept { return view_; }
  [[nodiscard]] ViewId id() const noexcept { return view_.id; }
  [[nodiscard]] Rank self() const noexcept { return table_.self(); }
  /// By subgroup: the members that had its state when the view began.
  [[nodiscard]] const std::vector<RankSet>& loaded() const noexcept { return loaded_; }
  [[nodiscard]] const fabric::Region& row() const noexcept { return row_; }
  [[nodiscard]] Beside& beside(SubgroupId id) { return beside_.at(id.value()); }
  [[nodiscard]] const std::vector<Beside>& beside() const noexcept { return beside_; }
  [[nodiscard]] sst::Table& table() noexcept { return table_; }
  [[nodiscard]] const sst::Table& table() const noexcept { return table_; }
  [[nodiscard]] ViewChange& change() noexcept { return change_; }
  [[nodiscard]] const ViewChange& change() const noexcept { return change_; }
  /// The roster of the next view, as far as this one's members have come with it.
  [[nodiscard]] RosterAgreement& rosters() noexcept { return rosters_; }
  [[nodiscard]] Line& line(Rank rank) { return lines_[rank.value()]; }
  [[nodiscard]] const std::vector<Line>& lines() const noexcept { return lines_; }
  /// Null if this member is not in that subgroup.
  [[nodiscard]] smc::Multicast* multicast(SubgroupId id) const { return scheduler_.multicast(id); }

  /// Every row that is not a suspect's can be read.
  [[nodiscard]] bool all_attached() const;
  /// All rows are here: prepares the multicasts and says `ready`.
  void begin();
  [[nodiscard]] bool begun() const noexcept { return begun_; }
  /// This member's application has the subgroup's state.
  void set_loaded(SubgroupId id);

  /// The multicasts, which run from `begin` to the wedge.
  [[nodiscard]] smc::SubgroupScheduler& running() noexcept;
  /// Behind a pass over them: a peer's impossible bytes become a suspicion.
  void suspect_faulty();
  /// The last pass left messages unpublished because earlier ones still wait for their receivers: run again soon.
  [[nodiscard]] bool holds_back() const noexcept { return !wedged_ && scheduler_.holds_back(); }

  /// That process says that its application is still at work, in this subgroup, on a view whose end is decided. Its rank, if
  /// that is the view before and this one waits for its row, or for it to be ready: it lives.
  [[nodiscard]] std::optional<Rank> on_concluding(const Join& who, ViewId ended, SubgroupId at_work);

  /// When what its members accuse each other of may be weighed. `patience`: for how long a member may be silent.
  /// `just_woke`: this member was away until a moment ago.
  [[nodiscard]] AccusationWatch::Finding watch_accusations(Time now, Duration patience, bool just_woke);
  /// At the leader: says once of each candidate that it has waited for long for members to have a connection with it.
  void watch_joins(const std::vector<Candidate>& candidates, Time now);

  /// Nobody in this view has some log, and this member is to say what it has; true once.
  [[nodiscard]] bool asks_for_logs() { return claims_.asks(); }
  /// A member, also this one, says so: since when its disk has had its logs, and where they end. For when this one leads.
  void hear_logs(Rank from, std::uint64_t since, std::vector<KnownLog> logs);
  /// This one leads, and is told to go on with that node's log: see LogClaims::adopt.
  [[nodiscard]] Result<void> adopt_log(SubgroupId subgroup, NodeId from, bool force);

  /// The view that follows from this decree, as far as a node remembers it.
  [[nodiscard]] RecordedView next(const Decree& decree) const;
  /// After the decision: delivers up to the trim.
  void finish(Time now);
  /// After `finish`: every member that left on its own wish knows that it has, or had `patience` to learn it (0: as long as
  /// it takes, or until it is gone).
  [[nodiscard]] bool leavers_know(Time now, Duration patience);

 private:
  void wedge() override;
  [[nodiscard]] bool can_deliver(const Decree& decree) const override;
  [[nodiscard]] bool remember(const Decree& decree) override;
  [[nodiscard]] const std::vector<RankSet>* logs_found() const override { return claims_.named(); }

  View view_;
  std::vector<RankSet> loaded_;
  fabric::Region row_;
  std::vector<Beside> beside_;  // by subgroup
  sst::Table table_;
  smc::SubgroupScheduler scheduler_;
  RosterAgreement rosters_;
  ViewChange change_;
  AccusationWatch accusation_watch_;
  JoinWatch join_watch_;
  std::vector<Line> lines_;  // by rank
  Remembrance remembrance_;
  LogClaims claims_;
  bool begun_ = false;
  bool wedged_ = false;
  Time finished_at_{};
};

}  // namespace spindrift::views
