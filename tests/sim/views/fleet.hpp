// A run with views: processes that start, crash, come back, pause, lose touch, join and leave as a plan says, and the
// checkers over all of it. First the faults, under which only safety is judged; then everything heals, and the rest must
// find together and finish.
//
// The invariant to remember: a process is stepped only when something could have changed for it (an event, a landed line, a
// mapped peer's notification, its application, its own progress, its `wake_at`). A protocol that needs polling hangs here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "history.hpp"
#include "log_books.hpp"
#include "node_logs.hpp"
#include "objects.hpp"
#include "plan.hpp"
#include "process.hpp"
#include "records.hpp"
#include "releases.hpp"
#include "ring_files.hpp"
#include "rosters.hpp"
#include "rows.hpp"
#include "senders.hpp"
#include "table_users.hpp"

namespace spindrift::sim {

class Fleet final : public Handler, public NetworkListener {
 public:
  explicit Fleet(Plan plan);
  ~Fleet();

  /// The whole run. What went wrong is in `report()`.
  void run();

  // In pieces, for scripts.
  void begin();
  /// After the faults: the healing, and the last checks.
  void end();
  void run_until(Ticks when);
  /// As `run_until`; then it is that late, also if nothing happened.
  void pass_time_until(Ticks when);
  /// Until it holds or the time is up. Returns whether it holds.
  bool run_while_not(const std::function<bool()>& holds, Ticks at_most);
  void act(const Action& action);
  [[nodiscard]] Ticks now() const noexcept { return scheduler_.now(); }
  /// The newest process of a node; none if it never started.
  [[nodiscard]] Process* newest(std::uint32_t node);
  [[nodiscard]] views::MemberState state_of(std::uint32_t node);
  [[nodiscard]] std::optional<std::string> failure_of(std::uint32_t node);
  /// The nodes of its newest process's view.
  [[nodiscard]] std::vector<std::uint32_t> members_seen_by(std::uint32_t node);
  [[nodiscard]] std::uint64_t delivered(std::uint32_t node, std::uint32_t subgroup);
  /// The window of that subgroup in its newest process's view; 0: it is in none.
  [[nodiscard]] std::uint64_t window(std::uint32_t node, std::uint32_t subgroup);
  [[nodiscard]] bool everything_delivered();
  /// Everybody who runs is active in the newest view, which is this one or a later one, and has all states.
  [[nodiscard]] bool at_rest_in(ViewId least);

  [[nodiscard]] const Plan& plan() const noexcept { return plan_; }
  [[nodiscard]] const Report& report() const noexcept { return report_; }
  [[nodiscard]] std::uint64_t events() const noexcept { return scheduler_.events(); }
  [[nodiscard]] std::uint64_t hash() const noexcept { return mix(scheduler_.hash() ^ history_.hash()); }
  [[nodiscard]] std::uint64_t deliveries() const noexcept { return history_.deliveries(); }
  /// One line per state change and node on standard output.
  void set_verbose(bool verbose) noexcept { verbose_ = verbose; }

  /// Effects of a node's first process so far; for crashes at each of them.
  [[nodiscard]] std::uint64_t effects_of(std::uint32_t node) const;
  /// The same of every node, when this node's first process died; empty if it did not.
  [[nodiscard]] const std::vector<std::uint64_t>& effects_at_crash_of(std::uint32_t node) { return at_crash_[node]; }

  // For tests of the checkers: what goes wrong on purpose.
  using Tamper = std::function<void(Fleet&, std::uint32_t process, std::uint32_t subgroup, std::vector<Delivery>& batch)>;
  void set_tamper(Tamper tamper) { tamper_ = std::move(tamper); }
  using ViewTamper = std::function<void(Fleet&, std::uint32_t process, View& view)>;
  void set_view_tamper(ViewTamper tamper) { view_tamper_ = std::move(tamper); }
  using Meddler = std::function<void(Fleet&, std::uint32_t process, views::Member& member)>;
  void set_meddler(Meddler meddler) { meddler_ = std::move(meddler); }
  [[nodiscard]] History& history() noexcept { return history_; }
  [[nodiscard]] Rows& rows() noexcept { return rows_; }
  [[nodiscard]] Objects& objects() noexcept { return objects_; }
  [[nodiscard]] TableUsers& tables() noexcept { return tables_; }
  [[nodiscard]] Rosters& rosters() noexcept { return rosters_; }
  [[nodiscard]] RingFiles& ring_files() noexcept { return ring_files_; }
  [[nodiscard]] NodeLogs& node_logs() noexcept { return node_logs_; }
  [[nodiscard]] LogBooks& log_books() noexcept { return log_books_; }
  [[nodiscard]] Releases& releases() noexcept { return releases_; }
  [[nodiscard]] std::vector<const View*> running_views() const;
  /// The process was told to found with these, and no others.
  void note_told(Process& process, const std::vector<NodeId>& named);
  [[nodiscard]] Network& network() noexcept { return network_; }

  void on_event(EventKind kind, std::uint32_t which) override;
  void on_news(std::uint32_t endpoint) override;
  void on_action(std::uint32_t endpoint) override;
  void on_posted(const Write& write) override;
  void on_landing(const Write& write, std::uint64_t offset, const std::byte* bytes, std::size_t size) override {
    rows_.on_landing(write, offset, bytes, size);
  }
  void on_landed(const Write& write, std::uint64_t offset, std::size_t size) override;
  void on_zombie(const Write&) override { report_.hit(Probe::zombie_write); }
  void on_broken() override { cause_at_ = scheduler_.now(); }

 private:
  friend class Process;
  friend class StateSink;

  /// In the number of a timer, beside the subgroup: its thread has saved or loaded a state.
  static constexpr std::uint32_t state_done = 0x40;
  /// Likewise: a part of what is to be replayed to its application was read.
  static constexpr std::uint32_t replay_due = 0x80;

  // fleet.cpp: processes and their steps
  void start_process(std::uint32_t node);
  [[nodiscard]] std::uint64_t clock_of_next() const;
  void launch(Process& process);
  void schedule_step(Process& process);
  void step_process(Process& process);
  void guarded_step(Process& process);
  void step_again(Process& process);
  [[nodiscard]] views::Member::Step step_with_tables(Process& process);
  void after_step(Process& process);
  void watch_epochs(Process& process);
  void note_state(Process& process);
  void exit_process(Process& process);
  void crash(Process& process);
  void stop_member(Process& process, const char* why);
  void upcall(Process& process);
  [[nodiscard]] bool alive(std::uint32_t node) const;
  void say(const Process& process, const std::string& what);
  void say_logs(const Process& process, const View& view);

  // fleet_decisions.cpp
  /// Whether some process knows that the view follows from the one before.
  [[nodiscard]] bool is_decided(const View& view) const;
  /// The incarnations of the view that follows from that one, if some process knows it.
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> decided_behind(const View& view) const;

  // fleet_faults.cpp
  void pause(Process& process, Ticks ticks);
  void starve(Process& process, Ticks ticks);
  void work(Process& process, Ticks ticks);
  [[nodiscard]] Ticks beat_beside() const;
  void beat(Process& process);
  void sleep(Process& process, Ticks ticks);
  void stand_still(Process& process, Ticks ticks);
  void light_fuse(const Write& write);
  void blame(std::uint32_t node);
  void start_apart(const Action& action);
  void keep_apart(Process& process);
  void part(std::uint32_t node, std::uint32_t other, std::optional<Ticks> breaks);
  void want(const Action& action);
  [[nodiscard]] std::vector<std::uint32_t> misplaced_in(const View& view);
  void blame_misplaced(const View& view);
  void blame_for_save(const Process& source, SubgroupId subgroup);
  void note_crash_in_change(const Process& process);
  void note_view(Process& process, const views::NewView& news);
  void check_awake(const Process& process, const views::Member::Step& step);
  [[nodiscard]] bool most_found_another(const View& founded) const;
  void check_majority(const Process& process);
  void check_deaths(const Process& process);
  void check_cost_of_links();
  [[nodiscard]] bool is_imposter(std::uint32_t node) const { return plan_.nodes[node].imposter; }
  [[nodiscard]] bool strangers_rule(std::uint32_t node) const;
  [[nodiscard]] bool told_by_the_dead(const std::function<bool(const View&)>& is_meant) const;
  [[nodiscard]] bool founds_beside_strangers(const View& view) const;
  [[nodiscard]] bool speaks_too_little(const Process& process) const;
  void note_failure(const Process& process);
  void check_lag(const Process& process);
  void note_transfers(const Process& process);

  // fleet_revivals.cpp
  [[nodiscard]] std::vector<NodeId> left_of(const Process& process);
  [[nodiscard]] bool may_have_gone_on(const View& view) const;
  [[nodiscard]] bool sees_who_looks(const Process& process) const;
  [[nodiscard]] bool revivable(const Process& process);
  void revive(Process& process);
  void look_after(Process& process);
  [[nodiscard]] bool founds_beside_the_revived(const View& view) const;

  // fleet_forced.cpp
  [[nodiscard]] bool forcible(const Process& process);
  [[nodiscard]] bool force(Process& process);
  [[nodiscard]] bool was_told_just_now(const Process& process) const;
  [[nodiscard]] const View* known_before(const View& view, const View* before) const;
  void blame_for_promises(const std::vector<views::Removal>& removed);
  void check_forced();
  void note_founded(const View& view);
  [[nodiscard]] bool host_knows_of_end(const Process& process) const;
  [[nodiscard]] bool was_told_to_found(const Process& process);
  [[nodiscard]] bool is_bound(const Process& process);

  // fleet_adoptions.cpp
  void adopt(const Action& action);

  // fleet_liveness.cpp
  void heal_everything();
  void judge();
  struct Unsettled {
    const char* invariant = "L1";
    std::string what;
  };
  void check_stuck(const Process& process);
  void check_proposal(const Process& process);
  void check_prompt(const Process& process, Ticks since);
  [[nodiscard]] bool waits_for_the_dead(const Process& process) const;
  [[nodiscard]] bool waits_for_the_misplaced(const Process& process);
  [[nodiscard]] std::optional<Unsettled> unsettled();
  [[nodiscard]] std::optional<Unsettled> unsettled_looking(const Process& process);
  [[nodiscard]] std::vector<std::uint32_t> core();
  [[nodiscard]] bool group_lives();
  [[nodiscard]] bool founders_complete();
  [[nodiscard]] bool memory_suffices();
  [[nodiscard]] bool logs_suffice(const View& last);
  [[nodiscard]] NodeLogs::Hooks log_hooks();
  [[nodiscard]] bool looks(std::uint32_t node);
  void freeze_minority();
  [[nodiscard]] std::optional<std::string> wrong_gate();
  void check_memory();
  void leave_all();
  [[nodiscard]] std::string where();
  [[nodiscard]] Ticks patience() const { return 40 * plan_.suspect_after + 200'000'000; }
  [[nodiscard]] Ticks news_of_loss_takes() const;

  Plan plan_;
  Report report_;
  Scheduler scheduler_;
  Random schedule_;
  Random faults_;
  Random revivals_;
  Network network_;
  History history_;
  Objects objects_;
  Rows rows_;
  Senders senders_;
  TableUsers tables_;
  Rosters rosters_;
  RingFiles ring_files_;
  Releases releases_;
  Records records_;
  NodeLogs node_logs_;
  LogBooks log_books_;
  std::vector<std::unique_ptr<Process>> processes_;
  Tamper tamper_;
  ViewTamper view_tamper_;
  Meddler meddler_;
  std::vector<Delivery> tampered_;
  std::map<std::uint32_t, std::vector<std::uint64_t>> at_crash_;  ///< by node
  std::map<ViewId, std::vector<NodeId>> named_;  ///< by view that was revived: who was told last to go on
  struct Told {
    std::vector<NodeId> nodes;  ///< in order
    std::vector<std::uint64_t> incarnations;
    std::uint32_t process = 0;
    Ticks at = 0;
  };
  std::vector<Told> told_to_found_;  ///< by force
  Ticks cause_at_ = 0;  ///< when something happened last that may let somebody deliver; heartbeats do not
  Ticks unheard_until_ = 0;  ///< peers have heard of the last death in a step, whose stores they may see without a bell
  bool calm_ = false;                                             ///< no more faults, everybody is quick
  bool verbose_ = false;
  bool leaving_ = false;
};

}  // namespace spindrift::sim
