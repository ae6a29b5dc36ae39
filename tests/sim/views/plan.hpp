// The plan of one run with views: nodes, subgroups, senders, and a list of faults with their times. Everything random about
// what is going to happen is drawn from the seed into this list before the run starts, so a failing run can be made smaller
// by striking entries, and a script is a plan written by hand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/views/founding.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/smc/ablation.hpp>

#include "../sim_fabric.hpp"

namespace spindrift::sim {

class Random;

struct SubgroupPlan {
  std::string name;
  DeliveryMode mode = DeliveryMode::ordered;
  Profile profile;
  std::uint64_t members = ~std::uint64_t{0};  ///< a bit per node; those of them that are in the view
  std::uint64_t senders = ~std::uint64_t{0};  ///< likewise; if none is there, all members send
  std::uint32_t minimum = 1;                  ///< with fewer members the subgroup is inadequate
  std::uint64_t state_bytes = 0;              ///< of the application's state; 0: it has none
  bool logged = false;                        ///< ordered, and in the journals of its members
  bool object = false;     ///< it is made from all messages of the log, which begins late only if there is a checkpoint
  std::uint32_t most = 0;  ///< members, those first that were some before; 0: as many as there are
  bool moves = false;      ///< the lowest nodes are first instead: who comes may move another one out
  bool added = false;  ///< no subgroup of the layout, but the next place for those that are created: all of these are alike
                       ///< but for their members, and have no state
};

/// That subgroup in that view; where the view has no such place yet, one that is dropped.
[[nodiscard]] const SubgroupView& subgroup_at(const View& view, std::uint32_t subgroup);

struct NodePlan {
  std::uint32_t host = 0;
  Ticks step_ns_max = 500;             ///< from news to the step that sees it
  std::uint64_t refusals_in_1000 = 0;  ///< upcalls after which the application takes nothing for a while
  Ticks refusal_ns_max = 1;
  std::uint64_t busy_in_1000 = 0;  ///< upcalls that a thread of their own takes, for a while
  Ticks busy_ns_max = 1;
  Ticks state_ns_max = 0;          ///< saving or loading a state takes up to so long, on a thread of its own; 0: no time
  std::uint64_t failing_saves_in_1000 = 0;  ///< states that the application cannot save
  Ticks late_ns_max = 0;           ///< after its start the application takes nothing for so long
  std::uint64_t echoes = 0;        ///< messages sent from inside upcalls, by each process
  std::uint64_t throws_after = 0;  ///< the first process's application throws in this upcall; 0: never
  Ticks lagging_after = 0;         ///< the first process ends when a message waits so long for its application; 0: never
  bool imposter = false;           ///< its config differs
  bool listed = true;              ///< in the roster with which the group begins
  std::uint64_t names = ~std::uint64_t{0};  ///< a bit per node: of those that are listed, the ones that its file names
  Ticks lingers_ns_max = 1;        ///< from the end of its member to the end of the process
};

/// The disk of a node, for the logs of its logged subgroups.
struct DiskPlan {
  std::uint64_t room = ~std::uint64_t{0};  ///< so many messages wait for it before deliveries do
  Ticks write_ns_max = 1;
  std::uint64_t slow_in_1000 = 0;  ///< writes that take as long as the next says
  Ticks slow_ns_max = 1;
  std::uint64_t failures_in_10000 = 0;  ///< writes after which nothing becomes durable any more
  Ticks read_ns_max = 0;                ///< reading for another node takes up to so long; 0: no time
  Ticks replay_ns_max = 0;              ///< likewise each part of what is read for its application
  std::uint64_t keeps = ~std::uint64_t{0};  ///< so many messages of each log; what lies before is trimmed when it may be
};

struct SenderPlan {
  std::uint32_t node = 0;  ///< every process of this node has this thread
  std::uint32_t subgroup = 0;
  std::uint32_t messages = 0;
  std::uint32_t burst = 1;
  Ticks think_ns_max = 1;
  Ticks hold_ns_max = 1;
  std::uint32_t abandons_in_64 = 0;
  std::uint32_t largest_in_8 = 0;
  bool large = false;  ///< none fits into the row's ring
};

/// A table of the program's own, with rows of numbers.
struct TablePlan {
  std::uint64_t words = 1;  ///< of a row's value
  bool monotone = false;
  bool watched = false;     ///< rows are looked at when its handler is called
  std::uint64_t nodes = ~std::uint64_t{0};  ///< a bit per node: those that make it
  std::uint32_t sets = 0;    ///< by each process
  std::uint32_t rounds = 0;  ///< of its barrier, to which each process comes; 0 if not all nodes make it
  Ticks late_ns_max = 1;     ///< from a process's first active view to its making
  Ticks think_ns_max = 1;
};

/// The bits of `Action::count` from which on a change has its window; below are the senders.
inline constexpr unsigned window_shift = 16;

struct Action {
  enum class Kind : std::uint8_t {
    start,            ///< a process of `node`, if none runs
    start_apart,      ///< likewise; no link with `other` comes up or, if `count` is not 0, the one that there is ends in its
                      ///< first view; what there was breaks after `ticks`, or never if 0
    crash,            ///< the process of `node`
    crash_in_change,  ///< the process of `node`, `count` effects after it next leaves the active state or installs a view
    crash_at,         ///< the process of `node`, at its `count`th effect from now
    crash_in_large,   ///< the process of `node`, `count` effects into its next posting of a large message of its own
    crash_in_relay,   ///< the process of `node`, `count` effects into its next handing on of a large message
    pause_in_relay,   ///< the process of `node`, for `ticks`, `count` effects into its next handing on
    pause,            ///< the process of `node`, for `ticks`
    work,             ///< the application of `node` is at work, on the thread that steps the member, for `ticks`
    starve,           ///< the process of `node` gets no CPU for `ticks`, and its neighbors can see that
    sleep,            ///< all processes, for `ticks`: the host they are on is suspended
    cut,              ///< `what`, from `node` to `other`; breaks after `ticks`, or never if 0
    cut_present,      ///< likewise, on the connections that are there and no later ones; never breaks
    heal,             ///< from `node` to `other`
    leave,            ///< the process of `node` asks to
    send,             ///< `count` messages from `node` to subgroup `other`, each built for up to `ticks`
    refuse,           ///< the application of `node` takes no messages for `ticks`
    stop,             ///< the process of `node` stops itself: its application failed
    add,              ///< the process of `node` wants `other` in the roster, where that listens
    remove,           ///< likewise, out of it
    move,             ///< likewise, at the place `count`, where later processes of `other` then listen
    drain,            ///< the process of `node` wants `other` drained
    undrain,          ///< likewise, let in again
    found,            ///< the process of `node` is told to found with all that are here, if those that the last view needs
                      ///< are not, and none of them has gone on
    adopt,            ///< whoever leads the view is told to go on with the log of subgroup `other` that `node` has
    forget,           ///< the record of `node` is lost, with its logs, unless a process of it runs
    lose_logs,        ///< its logs alone are
    create,           ///< the process of `node` wants the subgroup number `other` to be there, of the nodes of `count`, a
                      ///< bit each; 0: of all
    drop,             ///< likewise, not to be there
    change,           ///< likewise, to have other senders, a bit each, and a window
    resize,           ///< the process of `node` wants the layout's subgroup number `other` to have the window `count`
    edit,             ///< the file of `node` is of edition `count` from now on, of which its later processes have the sizes
                      ///< of rings
    install,          ///< `node` has a release from now on, of its later processes, that speaks versions `other` to `count`
  };
  Ticks at = 0;
  Kind kind = Kind::start;
  std::uint32_t node = 0;
  std::uint32_t other = 0;
  Ticks ticks = 0;
  std::uint64_t count = 0;
  Cut what = Cut::everything;
  bool large = false;  ///< what it sends does not fit into a row's ring
};

/// The first process of `node` dies before this effect.
struct CrashPoint {
  std::uint32_t node = 0;
  std::uint64_t effect = 0;
};

struct Plan {
  std::uint64_t seed = 0;
  std::vector<NodePlan> nodes;          ///< node id i is nodes[i]
  std::vector<std::uint32_t> founders;  ///< in rank order; where they are named
  views::FoundedBy founded_by = views::FoundedBy::named;
  std::vector<SubgroupPlan> subgroups;
  std::vector<DiskPlan> disks;  ///< by node
  std::vector<SenderPlan> senders;
  std::vector<TablePlan> tables;
  std::uint64_t table_bytes = 0;  ///< of a row, for these
  std::vector<Action> actions;
  std::vector<CrashPoint> crashes;
  Ticks faults_end = 0;  ///< then everything is healed
  Ticks suspect_after = 0;
  bool clocks_go_back = false;  ///< a later start may have a lower incarnation
  bool partition_safety = true;
  std::uint32_t broken_links = 0;  ///< if not 0, nothing else happens to members, but for sleeps that are hardly noticed
  bool deaths = false;  ///< nothing happens but that processes of one host die, one after another, up to the last but one
  bool waits = false;   ///< who has lost the majority waits, and is revived; all nodes begin with a release that can
  bool forces = false;  ///< those that wait for a majority are told to found without it, also when all is healed
  bool storm = false;  ///< so impatient that live members are suspected: nothing is promised but safety
  smc::Ablation policy;
  FabricOptions fabric;
  bool liveness = true;  ///< judge the end; scripts judge themselves
  std::uint64_t events_max = 3'000'000;

  [[nodiscard]] static Plan of(std::uint64_t seed);
  /// The same run with split rows.
  void split_rows() {
    for (SubgroupPlan& subgroup : subgroups) subgroup.profile.split_rows = true;
  }
  [[nodiscard]] std::string describe() const;
};

[[nodiscard]] std::string to_string(const Action& action);
/// Tables of the program's own, in some plans.
void draw_tables(std::uint64_t seed, Plan& plan);
/// Changes of the roster, in some plans.
void draw_rosters(std::uint64_t seed, Plan& plan);
/// Nothing but deaths on one host, in some plans that are fit for it.
void draw_deaths(std::uint64_t seed, Plan& plan);
/// In one of twelve the machine is too busy for its members now and then.
void draw_starving(std::uint64_t seed, Plan& plan);
/// Members whose applications fail to save a state, in some plans.
void draw_failing_saves(std::uint64_t seed, Plan& plan);
/// Nodes that are drained, and perhaps let in again, in some plans.
void draw_drains(std::uint64_t seed, Plan& plan);
/// All processes end, and some are started again; or all that founded are removed, and come back out of sight; in some
/// plans.
void draw_stops(std::uint64_t seed, Plan& plan);
/// Subgroups that are created and dropped, in some plans.
void draw_added(std::uint64_t seed, Plan& plan);
/// The node's process leaves or dies at that time, and another starts. Returns when the next node may be restarted.
[[nodiscard]] Ticks draw_restart(Random& random, Plan& plan, std::uint32_t node, Ticks at);
/// Files with other sizes of rings, in some plans, and nodes that are restarted with them.
void draw_ring_files(std::uint64_t seed, Plan& plan);
/// Other releases, in some plans, and nodes that are restarted with them.
void draw_releases(std::uint64_t seed, Plan& plan);
/// Subgroups that are logged, in some plans, most of which stop as a whole again and again.
void draw_logs(std::uint64_t seed, Plan& plan);
/// Half of those with a minority that alone has the log, and ends and comes back while the others go on.
void draw_log_returns(std::uint64_t seed, Plan& plan);
/// A third of those with a log of which a node that was away has a part alone, when those with all of it are gone.
void draw_adoptions(std::uint64_t seed, Plan& plan);
/// Nodes that trim their logs, in half of those plans.
void draw_trims(std::uint64_t seed, Plan& plan);
/// Objects that are made of their logs, in half of those subgroups.
void draw_logged_objects(std::uint64_t seed, Plan& plan);
/// All processes end, and a minority is told to found without the rest, in some plans; more of those with logs.
void draw_forced(std::uint64_t seed, Plan& plan);
/// Members that wait for a revival, in some plans.
void draw_revivals(std::uint64_t seed, Plan& plan);
/// Members that end when their application takes nothing for too long, in place of ones whose application fails.
void draw_lag(std::uint64_t seed, Plan& plan);
/// Room among the plan's events for the looks of such members; for when the end of its faults is known.
void allow_looks(Plan& plan);
/// Which nodes are in which subgroup of the layout.
[[nodiscard]] LayoutFunction layout_of(const std::vector<SubgroupPlan>& subgroups);

}  // namespace spindrift::sim
