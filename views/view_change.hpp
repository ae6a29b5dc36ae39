// How one view ends: suspicion, wedge, and the agreement on one decree. Pure: reads the members' rows, writes the own row.
//
// One decree is decided per view, by single-decree consensus over the rows. The ballot of the member with rank r is r + 1;
// to suspect every rank below r is the promise to follow r alone; a leader that takes over repeats the decree with the
// highest ballot among a majority's rows, and composes one only if there is none. So a decree that may have been decided
// survives every leader. The invariant to remember: per pass, suspicions are stored first and at most one decree is accepted
// after; so a member that sees a promise sees every acceptance made before it. (docs/protocol.md, "How a view ends")
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/view.hpp>
#include <spindrift/sst/table.hpp>
#include <spindrift/views/accusation_watch.hpp>
#include <spindrift/views/compose.hpp>
#include <spindrift/views/decree.hpp>
#include <spindrift/views/disputes.hpp>
#include <spindrift/views/mandate.hpp>
#include <spindrift/views/rank_set.hpp>
#include <spindrift/views/roster_agreement.hpp>
#include <spindrift/views/testimonies.hpp>

namespace spindrift::views {

/// A member's knowledge of the others' life, and of its own, when it looks at their rows.
struct LifeSigns {
  /// Members without a sign of life for long, if not for as long as it takes to suspect them.
  RankSet quiet;
  /// This member slept for long until a moment ago, so that not all may be here yet that was said of it meanwhile.
  bool just_woke = false;
  AccusationWatch::Finding accusations{};
};

/// The view change asks this of the multicasts.
class Counts {
 public:
  virtual ~Counts() = default;
  /// Ends sending and delivering; stores all counts of what was received, before this returns.
  virtual void wedge() = 0;
  /// Whether this member can deliver up to this decree's trim: it holds all of it, and has delivered nothing beyond.
  [[nodiscard]] virtual bool can_deliver(const Decree& decree) const = 0;
  /// This member is about to accept that decree: its node remembers so when this returns. False: it could not be stored.
  [[nodiscard]] virtual bool remember(const Decree&) { return true; }
  /// By subgroup, for when this member leads: those that have its log, which nobody in the view had. Null: there is no such
  /// log, and nothing to end the view for.
  [[nodiscard]] virtual const std::vector<RankSet>* logs_found() const { return nullptr; }
};

/// The reason to suspect a member that was well until those who run the group gave it up.
inline constexpr std::string_view given_up_by_revival = "it was given up when the group was revived";

class ViewChange {
 public:
  enum class State : std::uint8_t {
    steady,    ///< the view goes on
    wedged,    ///< counts are final; waiting for the leader's decree, or leading and waiting for everybody's wedge
    accepted,  ///< a decree lies in the own row
    decided,   ///< it is the view's
    stuck,     ///< no majority is left, nor the dead's testimony instead, and nobody is to wait for a revival
  };
  enum class Standing : std::uint8_t {
    majority,   ///< enough members are left; of a view that is revived: those that were named
    testimony,  ///< not enough, and all others are dead for certain and testify
    awaited,    ///< not enough; all others testify, or will when the kernel says that they are gone, or to the leader
    lost,       ///< not enough, and somebody else may live; or a newcomer would lead before all have read each other. A
                ///< member that waits for a revival leads nothing until then, and still follows
  };
  struct Suspicion {
    Rank rank;
    std::string reason;
    bool turned_away = false;  ///< it suspected this member first
    Rank by{};                 ///< whose finding it is
  };

  /// Everything outlives this object. `loaded`: by subgroup, the members that had its state when the view began.
  /// `newcomers`: members that have been in no active view before, among others that have.
  ViewChange(const View& view, const std::vector<RankSet>& loaded, sst::Table& table, Counts& counts,
             const RosterAgreement& rosters, const Mandate::Terms& terms, RankSet newcomers = {});

  /// An own finding about a member. Takes effect at once; ignored for oneself and when already suspected. The others are
  /// told at once, but of who turned this member away only when a pass has seen that a majority has not, and not just after
  /// it woke: a member that slept and is given up takes nobody along.
  /// `by`: whose finding it is, if it is not an own one.
  void suspect(Rank rank, std::string reason, bool turned_away = false, std::optional<Rank> by = std::nullopt);
  /// Tells the others of these suspicions, as far as it has not.
  void tell(const RankSet& suspects);

  /// One pass over the rows. `may_lead`: this member may begin a change for `candidates`, for somebody's wish to leave, or
  /// for another roster. True if anything changed.
  bool step(const std::vector<Candidate>& candidates, bool may_lead, const LifeSigns& signs = {});

  /// Takes the word of those who run the group about a revival. A pass takes it up once the majority is lost, also while the
  /// dead, or a leader that may know more, are awaited.
  [[nodiscard]] Mandate& mandate() noexcept { return mandate_; }

  /// Asks to be left out of the next view. False if that was done.
  bool leave();

  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] const RankSet& suspected() const noexcept { return suspected_; }
  [[nodiscard]] const RankSet& newcomers() const noexcept { return newcomers_; }
  /// In the order of their discovery; grows.
  [[nodiscard]] const std::vector<Suspicion>& suspicions() const noexcept { return suspicions_; }
  /// The lowest rank that is not suspected.
  [[nodiscard]] Rank leader() const noexcept;
  /// In state `decided`.
  [[nodiscard]] const Decree& decree() const noexcept { return *decree_; }
  /// The member's row says that it reads every row.
  [[nodiscard]] bool ready(Rank rank) const noexcept { return seen_[rank.value()].ready; }
  [[nodiscard]] bool everybody_ready() const noexcept;
  /// Between the members that this one trusts, by their rows as they were last read.
  [[nodiscard]] Disputes disputes() const;
  /// By rank, as last read; the own one is 0.
  [[nodiscard]] const std::vector<std::uint64_t>& heartbeats() const noexcept { return heartbeats_; }
  /// Says so in the own row: every row is attached.
  void set_ready();
  /// In state `decided`: whether those members know the decree, or are suspected; reads their rows.
  [[nodiscard]] bool all_know(const RankSet& whom);
  /// Members that have no connection with that candidate, and would be in the next view: it is not taken in.
  [[nodiscard]] RankSet without_link(const Candidate& candidate) const;
  /// The words of the dead, to be told before the next pass.
  [[nodiscard]] Testimonies& testimonies() noexcept { return testimonies_; }
  /// Its end may rest on this.
  [[nodiscard]] Standing standing() const;

 private:
  /// The words of a member's row when it was last read; validated.
  struct Seen {
    bool ready = false;
    bool leaving = false;
    bool wedged = false;
    std::uint64_t accepted = 0;
    std::uint64_t decided = 0;
    RankSet suspected;
  };

  /// Members that want to leave, and may: who is bound to a roster goes only if that is agreed.
  [[nodiscard]] RankSet leaving() const;
  void look_for_life();
  bool read_rows(const LifeSigns& signs);
  bool read_row(Rank rank);
  bool hear(Rank from, const RankSet& quiet);
  [[nodiscard]] bool all_wedged() const;
  bool settle(const LifeSigns& signs);
  bool wedge_if_due(const std::vector<Candidate>& candidates, bool may_lead);
  bool learn_decision();
  void wedge();
  void declare_decided();
  bool lead(const std::vector<Candidate>& candidates);
  bool follow();
  bool count_acceptances();
  [[nodiscard]] bool accept(std::uint64_t ballot, const Decree& decree);
  [[nodiscard]] std::optional<Decree> decree_of(Rank rank, std::uint64_t ballot);
  bool take_up_revival();
  bool hear_the_dead();
  void store(std::uint64_t offset, std::uint64_t value) { table_.store(offset, value, sst::Table::everybody); }

  const View& view_;
  const std::vector<RankSet>& loaded_;
  sst::Table& table_;
  Counts& counts_;
  const RosterAgreement& rosters_;
  Mandate mandate_;
  RankSet newcomers_;
  Rank self_;
  State state_ = State::steady;
  RankSet suspected_;
  RankSet told_;  // those among them that are in the own row
  std::vector<Suspicion> suspicions_;
  std::vector<Seen> seen_;                 // by rank, the own one included
  std::vector<std::uint64_t> heartbeats_;  // by rank
  std::optional<Decree> decree_;
  Testimonies testimonies_;
};

/// The member of that rank, whose view change it is, waits for a revival once it has lost the majority.
[[nodiscard]] bool waits_for_revival(ViewChange& change, Rank self);
/// All rows but those of suspects, as far as they are here, are read in place.
[[nodiscard]] bool reads_in_place(const sst::Table& table, const RankSet& suspected);
/// The suspicion of a member, or null: this one does not suspect it.
[[nodiscard]] const ViewChange::Suspicion* suspicion_of(const ViewChange& change, Rank rank) noexcept;

}  // namespace spindrift::views
