// Processes: how they start, step, die and end.
#include "fleet.hpp"

#include <algorithm>
#include <cstdio>

namespace spindrift::sim {
namespace {

using views::MemberState;

constexpr std::uint32_t subgroup_bits = 8;
constexpr std::uint32_t wake_alone = 0xff;  ///< in place of a subgroup: only a wake-up is due
constexpr std::uint32_t exit_due = 0xfe;    ///< the process ends
constexpr std::uint32_t subgroup_mask = 0x3f;

}  // namespace

Fleet::Fleet(Plan plan)
    : plan_(std::move(plan)),
      schedule_(plan_.seed, Purpose::schedule),
      faults_(plan_.seed, Purpose::faults),
      revivals_(plan_.seed, Purpose::revivals),
      network_(scheduler_, Random(plan_.seed, Purpose::fabric), plan_.fabric, report_, *this),
      history_(plan_, report_),
      objects_(plan_, history_, report_),
      rows_(report_, plan_.partition_safety),
      senders_(scheduler_, plan_, history_, network_, report_, [this](std::uint32_t process) {
        cause_at_ = scheduler_.now();
        on_news(process);
      }),
      tables_(scheduler_, plan_, report_, [this](std::uint32_t process) { on_news(process); }),
      rosters_(plan_, report_),
      ring_files_(plan_, report_, [this](std::uint64_t incarnation) { return history_.process_of(incarnation); }),
      releases_(plan_, report_, [this](std::uint64_t incarnation) { return history_.process_of(incarnation); }),
      records_(plan_),
      node_logs_(scheduler_, plan_, report_, log_hooks()),
      log_books_(plan_, history_, report_,
                 [this](std::uint32_t node, std::uint32_t id) -> const NodeLog& { return node_logs_.log(node, id); }) {
  history_.set_suspects([this](ViewId view, std::uint32_t process) {
    const RowBook* const book = rows_.book(view, process);
    return book == nullptr ? views::RankSet() : Rows::suspected(*book);
  });
  history_.set_decided([this](const View& view) { return is_decided(view); });
  history_.set_next([this](const View& view) { return decided_behind(view); });
  history_.set_remembering([this](const View& view) { return records_.remembering(view); });
  history_.set_heard([this](std::uint32_t reader, std::uint32_t speaker) { return network_.heard(reader, speaker); });
}

Fleet::~Fleet() = default;

void Fleet::run() {
  begin();
  run_until(plan_.faults_end);
  end();
}

void Fleet::end() {
  if (!report_.failed() && plan_.liveness) judge();
  if (!report_.failed()) network_.check_released();
  if (report_.violation()) {
    report_.violation()->event = events();
    report_.violation()->what += where();
  }
}

void Fleet::begin() {
  for (std::uint32_t i = 0; i < plan_.actions.size(); ++i) scheduler_.at(plan_.actions[i].at, *this, EventKind::fault, i);
}

void Fleet::pass_time_until(Ticks when) {
  scheduler_.at(when, *this, EventKind::idle, 0);
  run_until(when);
}

void Fleet::run_until(Ticks when) {
  run_while_not([] { return false; }, when - scheduler_.now());
}

bool Fleet::run_while_not(const std::function<bool()>& holds, Ticks at_most) {
  const Ticks until = scheduler_.now() + at_most;
  for (std::uint64_t count = 0; !report_.failed(); ++count) {
    if (count % 32 == 0 && holds()) return true;
    if (scheduler_.empty() || scheduler_.next() > until) return holds();
    scheduler_.run_one();
    // V13: nothing goes round in circles.
    if (scheduler_.events() > plan_.events_max) report_.violate("V13", "the group does not come to rest");
  }
  return false;
}

void Fleet::on_event(EventKind kind, std::uint32_t which) {
  switch (kind) {
    case EventKind::start: start_process(which); break;
    case EventKind::step: step_process(*processes_[which]); break;
    case EventKind::beat: beat(*processes_[which]); break;
    case EventKind::fault:
      // After the healing there are no faults any more; all that were to start have started.
      if (!calm_) act(plan_.actions[which]);
      break;
    case EventKind::timer: {
      Process& process = *processes_[which >> subgroup_bits];
      const std::uint32_t what = which & wake_alone;
      if (what == exit_due) return exit_process(process);
      if (what != wake_alone) {
        cause_at_ = scheduler_.now();
        if ((what & replay_due) != 0) {
          process.go_on_replaying(what & subgroup_mask);
        } else {
          (what & state_done) != 0 ? process.end_state_work(what & subgroup_mask) : process.resume(what);
        }
      }
      on_news(process.index_);
      break;
    }
    default: break;
  }
}

bool Fleet::alive(std::uint32_t node) const {
  return std::any_of(processes_.begin(), processes_.end(),
                     [&](const auto& process) { return process->node_ == node && process->running_; });
}

Process* Fleet::newest(std::uint32_t node) {
  for (auto at = processes_.rbegin(); at != processes_.rend(); ++at) {
    if ((*at)->node_ == node) return at->get();
  }
  return nullptr;
}

void Fleet::start_process(std::uint32_t node) {
  if (alive(node)) return;
  const Process* const newest_before = newest(node);
  const std::uint32_t index = network_.add_endpoint(NodeId(node));
  network_.set_host(index, plan_.nodes[node].host);
  processes_.push_back(std::make_unique<Process>(*this, index, node, records_.incarnation_after(node, clock_of_next())));
  Process& process = *processes_.back();
  if (newest_before != nullptr) report_.hit(Probe::restarted);
  history_.on_start(index, node, process.incarnation_);
  if (newest_before != nullptr && plan_.clocks_go_back) history_.blame(index);  // which of the two is later nobody can tell
  if (newest_before == nullptr) {
    for (const CrashPoint& crash : plan_.crashes) {
      if (crash.node == node) process.dies_at_ = crash.effect;
    }
  }
  // A node whose links were or will be cut may be missed by others at any time.
  for (const Action& action : plan_.actions) {
    const bool apart = action.kind == Action::Kind::start_apart && action.at <= scheduler_.now();
    if (action.kind != Action::Kind::cut && !apart) continue;
    if (action.node == node || action.other == node) history_.blame(index);
  }
  launch(process);
}

void Fleet::launch(Process& process) {
  views::MemberOptions options;
  options.self = NodeId(process.node_);
  options.incarnation = process.incarnation_;
  options.roster = rosters_.file_of(process.node_);
  rosters_.on_start(process.index_, process.node_, running_views());
  // If founders are not everybody, a second start of a node that remembers nothing must not found a second group.
  const bool restarted = std::any_of(processes_.begin(), processes_.end(), [&](const auto& other) {
    return other->node_ == process.node_ && other.get() != &process;
  });
  options.founded_by = plan_.founded_by;
  const bool named = plan_.founded_by == views::FoundedBy::named;
  const bool forgot = restarted && records_.was_lost(process.node_);
  process.founds_ = !named || !forgot || plan_.founders.size() == plan_.nodes.size();
  if (named) options.memory = &records_.open(process.node_);
  if (named) options.logs = node_logs_.open(process.index_, process.node_);
  if (options.logs != nullptr) log_books_.on_open(process.index_);
  if (named && process.founds_) {
    for (const std::uint32_t founder : plan_.founders) options.founders.emplace_back(founder);
  }
  options.identity = {"simulated", {plan_.seed, plan_.nodes[process.node_].imposter ? 2u : 1u},
                      releases_.on_start(process.index_, process.node_)};
  options.layout = ring_files_.on_start(process.index_, process.node_);
  options.multicasting.policy = plan_.policy;
  options.table_bytes = plan_.table_bytes;
  options.multicasting.stepper = smc::stepper_of(plan_.policy);
  options.suspect_after = Duration(plan_.suspect_after);
  if (plan_.waits) options.terms.on_loss = views::Mandate::OnLoss::wait;
  if (!plan_.partition_safety) options.terms.rule = views::Mandate::Rule::all_left;
  if (process.index_ < plan_.nodes.size()) options.lagging_after = Duration(plan_.nodes[process.node_].lagging_after);
  SimFabric& endpoint = network_.endpoint(process.index_);
  if (auto listening = endpoint.listen({NodeId(process.node_), rosters_.endpoint_of(process.node_)}); !listening) {
    return report_.violate("L1", listening.error().to_string());
  }
  process.member_ = std::make_unique<views::Member>(std::move(options), endpoint, process, process.counters_);
  process.running_ = true;
  senders_.begin(process.index_, process.node_, *process.member_);
  tables_.begin(process.index_, process.node_);
  if (auto started = process.member_->start(); !started) return report_.violate("L1", started.error().to_string());
  note_state(process);
  process.comes_late();
  on_news(process.index_);
}

void Fleet::on_news(std::uint32_t index) {
  if (index >= processes_.size()) return;
  Process& process = *processes_[index];
  process.dirty_ = true;
  schedule_step(process);
}

void Fleet::on_posted(const Write& write) {
  light_fuse(write);
  rows_.on_posted(write);
}

void Fleet::on_landed(const Write& write, std::uint64_t offset, std::size_t size) {
  scheduler_.trace(write.offset << 24 ^ offset << 8 ^ std::uint64_t{write.to} << 4 ^ write.from ^ size);
  // The first line of a row has the heartbeat and words about the view.
  if (offset >= cache_line_bytes) cause_at_ = scheduler_.now();
  rows_.on_landed(write, offset, size);
}

// Effects count also outside of steps; only within one can the process die of them.
void Fleet::on_action(std::uint32_t index) {
  if (index >= processes_.size()) return;
  Process& process = *processes_[index];
  const std::uint64_t effect = process.effects_++;
  if (process.pauses_ && effect >= process.pauses_->at) stand_still(process, std::exchange(process.pauses_, {})->ticks);
  if (process.in_step_ && process.dies_at_ && effect >= *process.dies_at_) throw ProcessDied{};
}

// From time to time an upcall takes so long that its member is shown to live in the middle of the pass.
void Fleet::upcall(Process& process) {
  on_action(process.index_);
  if (plan_.suspect_after > 0 && process.in_step_ && process.effects_ % 8 == 0) process.member_->show_life(SubgroupId(0));
}

void Fleet::schedule_step(Process& process) {
  if (process.step_scheduled_ || !process.running_ || process.frozen_) return;
  process.step_scheduled_ = true;
  const Ticks slowest =
      calm_ ? std::min<Ticks>(plan_.nodes[process.node_].step_ns_max, 2'000) : plan_.nodes[process.node_].step_ns_max;
  const auto delay = 1 + schedule_.below(static_cast<std::uint64_t>(slowest));
  scheduler_.at(std::max(scheduler_.now() + static_cast<Ticks>(delay), process.paused_until_), *this, EventKind::step,
                process.index_);
}

void Fleet::step_process(Process& process) {
  process.step_scheduled_ = false;
  if (!process.running_ || process.frozen_) return;
  if (process.paused_until_ > scheduler_.now()) return schedule_step(process);
  process.dirty_ = false;
  guarded_step(process);
  if (report_.failed() || !process.running_) return;
  if (process.dirty_) schedule_step(process);
}

void Fleet::guarded_step(Process& process) {
  process.in_step_ = true;
  const Ticks cause_at = cause_at_;
  const std::uint64_t told = process.told_;
  const views::Epoch* const epoch = process.member_->epoch();
  try {
    const views::Member::Step step = step_with_tables(process);
    process.in_step_ = false;
    if (process.told_ > told && process.member_->epoch() == epoch) check_prompt(process, cause_at);
    if (step.progress) cause_at_ = scheduler_.now();
    ++process.steps_;
    if (meddler_) meddler_(*this, process.index_, *process.member_);
    check_awake(process, step);
    if (!step.progress && !process.dirty_ && schedule_.chance(1, 16)) step_again(process);
    if (step.progress) process.dirty_ = true;
    if (step.wake_at != never && step.wake_at != process.wake_at_) {
      process.wake_at_ = step.wake_at;
      scheduler_.at(step.wake_at.time_since_epoch().count(), *this, EventKind::timer,
                    process.index_ << subgroup_bits | wake_alone);
    }
    // Words that a step wrote before its process died or failed are there for those who map its row.
  } catch (const ProcessDied&) {
    process.in_step_ = false;
    cause_at_ = scheduler_.now();
    unheard_until_ = scheduler_.now() + plan_.fabric.lost_ns_max;
    note_crash_in_change(process);
    return crash(process);
  } catch (const ApplicationFailed&) {
    process.in_step_ = false;
    cause_at_ = scheduler_.now();
    stop_member(process, "the application failed");
  }
  after_step(process);
}

// A pass of the poller: what the application has set goes with it, and what others have set is taken behind it.
views::Member::Step Fleet::step_with_tables(Process& process) {
  views::Member& member = *process.member_;
  const bool wrote = member.epoch() != nullptr && tables_.write(process.index_, member.epoch()->table());
  views::Member::Step step = member.step(scheduler_.time());
  const bool ended = member.state() == MemberState::failed || member.state() == MemberState::left;
  step.progress |= wrote;
  if (ended || member.epoch() == nullptr) return step;
  step.progress |= tables_.read(process.index_, member.epoch()->table(), member.epoch()->change().everybody_ready());
  return step;
}

// L1: nobody sleeps over a suspicion that it has not acted upon.
void Fleet::check_awake(const Process& process, const views::Member::Step& step) {
  const views::Epoch* const epoch = process.member_->epoch();
  if (step.progress || epoch == nullptr || process.member_->state() == MemberState::failed) return;
  if (epoch->change().state() != views::ViewChange::State::steady || epoch->change().suspected().empty()) return;
  report_.violate("L1", "node " + std::to_string(process.node_) + " sleeps over what it suspects");
}

// S6: the same table gives the same triggers: after a step without progress, with nothing new, a step does nothing.
void Fleet::step_again(Process& process) {
  const std::uint64_t actions = process.effects_;
  const std::uint64_t notified = network_.endpoint(process.index_).actions();
  const bool progress = process.member_->step(scheduler_.time()).progress;
  if (progress || actions != process.effects_ || notified != network_.endpoint(process.index_).actions()) {
    report_.violate("S6", "node " + std::to_string(process.node_) + " acted again although nothing changed");
  }
}

void Fleet::after_step(Process& process) {
  watch_epochs(process);
  check_proposal(process);
  check_stuck(process);
  rows_.after_step(process.index_);
  note_state(process);
  check_forced();
  if (plan_.waits || plan_.forces) look_after(process);
}

// Which memory belongs to which view.
void Fleet::watch_epochs(Process& process) {
  const auto& epochs = process.member_->epochs();
  if (epochs.empty()) return;
  const ViewId newest = epochs.back()->id();
  for (const auto& epoch : epochs) {
    const View* const view = history_.view(epoch->id());
    if (view == nullptr) continue;
    if (rows_.book(epoch->id(), process.index_) == nullptr) {
      rows_.on_row(process.index_, epoch->self(), *view, epoch->row().memory.data());
      process.watched_.push_back(epoch->id());
    }
    if (epoch->begun() && process.complete_ == epoch->id()) continue;
    for (const views::Epoch::Line& line : epoch->lines()) {
      if (line.mirror) rows_.on_mirror(line.mirror->memory.data(), epoch->id(), process.index_);
    }
    for (std::uint32_t s = 0; s < epoch->beside().size(); ++s) {
      const views::Epoch::Beside& beside = epoch->beside()[s];
      if (beside.ring) rows_.on_ring(beside.ring->memory, *view, process.index_, s);
      if (beside.bulk_ring) rows_.on_bulk(beside.bulk_ring->memory, *view, process.index_, s, true);
      if (beside.bulk_mirrors) rows_.on_bulk(beside.bulk_mirrors->memory, *view, process.index_, s, false);
    }
    if (epoch->begun()) process.complete_ = epoch->id();
  }
  std::erase_if(process.watched_, [&](ViewId id) {
    const bool here = std::any_of(epochs.begin(), epochs.end(), [&](const auto& epoch) { return epoch->id() == id; });
    if (!here) rows_.on_released(process.index_, id);
    return !here;
  });
  process.newest_epoch_ = newest;
}

void Fleet::say(const Process& process, const std::string& what) {
  if (!verbose_) return;
  const auto view = history_.view_of(process.index_);
  std::printf("%12lld ns  node %-2u process %-2u view %-3s %s\n", static_cast<long long>(scheduler_.now()), process.node_,
              process.index_, view ? std::to_string(view->value()).c_str() : "-", what.c_str());
}

void Fleet::note_state(Process& process) {
  const MemberState state = process.member_->state();
  if (state == process.state_) return;
  const MemberState before = process.state_;
  process.state_ = state;
  process.was_active_ |= state == MemberState::active;
  tables_.on_state(process.index_, state, process.member_->failure());
  say(process, std::string(views::to_string(state)) +
                   (process.member_->failure() ? "  " + process.member_->failure()->to_string() : ""));
  if (process.change_fuse_ &&
      (state == MemberState::changing || (state == MemberState::installing && before == MemberState::looking))) {
    process.dies_at_ = process.effects_ + *std::exchange(process.change_fuse_, std::nullopt);
  }
  if (before == MemberState::looking && history_.view_of(process.index_)) keep_apart(process);
  if (state == MemberState::changing && before == MemberState::installing) report_.hit(Probe::change_while_installing);
  if (state != MemberState::left && state != MemberState::failed) return;
  if (network_.connections_of(process.index_) > 0) {
    report_.violate("V5", "node " + std::to_string(process.node_) + " has ended and holds on to a connection");
  }
  if (state == MemberState::left) history_.check_left(process.index_);
  views::Epoch* const last = process.member_->epoch();
  if (state == MemberState::left && last != nullptr && !leaving_)
    rosters_.on_left(process.index_, last->view(), *last->rosters().next(last->change().decree()));
  if (state == MemberState::left) log_books_.check_left(process.index_, process.loading());
  if (before == MemberState::looking) history_.blame(process.index_);  // others may have taken it in meanwhile
  history_.on_end(process.index_);
  if (state == MemberState::failed) {
    note_failure(process);
    blame(process.node_);
  }
  const auto lingers = faults_.below(static_cast<std::uint64_t>(plan_.nodes[process.node_].lingers_ns_max));
  scheduler_.at(scheduler_.now() + static_cast<Ticks>(lingers), *this, EventKind::timer,
                process.index_ << subgroup_bits | exit_due);
}

void Fleet::exit_process(Process& process) {
  if (!process.running_) return;
  process.running_ = false;
  node_logs_.end(process.index_);
  senders_.end(process.index_);
  tables_.end(process.index_);
  rows_.on_end(process.index_);
  records_.on_end(process.node_);
  history_.blame(process.index_);
  network_.close(process.index_);
}

void Fleet::crash(Process& process) {
  if (!process.running_) return;
  say(process, "crashed");
  note_transfers(process);
  process.running_ = false;
  process.crashed_ = true;
  node_logs_.crash(process.index_);
  records_.on_end(process.node_);
  rows_.on_crash(process.incarnation_);
  if (std::vector<std::uint64_t>& effects = at_crash_[process.node_]; effects.empty()) {
    for (std::uint32_t node = 0; node < plan_.nodes.size(); ++node) effects.push_back(effects_of(node));
  }
  history_.on_end(process.index_);
  history_.blame(process.index_);
  senders_.end(process.index_);
  tables_.end(process.index_);
  // Others may have seen what it stored in its last, unfinished step; memory that it gave back in it is gone.
  for (const ViewId id : process.watched_) {
    const RowBook* const book = rows_.book(id, process.index_);
    if (book != nullptr && !network_.endpoint(process.index_).holds(book->memory)) rows_.on_released(process.index_, id);
  }
  rows_.after_step(process.index_);
  rows_.on_end(process.index_);
  if (network_.crash(process.index_)) report_.hit(Probe::crash_mid_write);
}

void Fleet::stop_member(Process& process, const char* why) {
  blame(process.node_);
  process.member_->stop(Error(ErrorKind::member_lost, why));
  report_.hit(Probe::stopped_by_its_application);
}

}  // namespace spindrift::sim
