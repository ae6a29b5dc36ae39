// The faults of a plan.
#include <algorithm>

#include "fleet.hpp"

namespace spindrift::sim {

using views::MemberState;

void Fleet::blame(std::uint32_t node) {
  for (const auto& process : processes_) {
    if (process->node_ == node) history_.blame(process->index_);
  }
}

// By it the next process is to get its incarnation.
std::uint64_t Fleet::clock_of_next() const {
  const std::uint64_t drawn = mix(plan_.seed ^ mix(processes_.size()));
  return plan_.clocks_go_back ? drawn : std::uint64_t{processes_.size()} << 48 | drawn >> 16;
}

void Fleet::act(const Action& action) {
  Process* const process = newest(action.node);
  const bool runs = process != nullptr && process->running_;
  switch (action.kind) {
    case Action::Kind::start: return start_process(action.node);
    case Action::Kind::start_apart: return start_apart(action);
    case Action::Kind::crash:
      if (!runs) return;
      note_crash_in_change(*process);
      return crash(*process);
    case Action::Kind::crash_in_change:
      if (runs) process->change_fuse_ = action.count;
      return;
    case Action::Kind::crash_at:
      if (runs) process->dies_at_ = process->effects_ + action.count;
      return;
    case Action::Kind::crash_in_large:
    case Action::Kind::crash_in_relay:
    case Action::Kind::pause_in_relay: {
      if (!runs) return;
      const bool own = action.kind == Action::Kind::crash_in_large;
      process->large_fuse_ = {own ? Rows::LargePost::own : Rows::LargePost::handed_on, action.count, action.ticks};
      return;
    }
    case Action::Kind::pause:
      if (runs) pause(*process, action.ticks);
      return;
    case Action::Kind::starve:
      if (runs) starve(*process, action.ticks);
      return;
    case Action::Kind::work:
      if (runs && process->member_->epoch() != nullptr) work(*process, action.ticks);  // before, nothing calls it
      return;
    case Action::Kind::sleep:
      report_.hit(Probe::all_slept);
      for (const auto& each : processes_) {
        if (each->running_) sleep(*each, action.ticks);
      }
      return;
    case Action::Kind::cut:
      blame(action.node);
      blame(action.other);
      report_.hit(Probe::cut_link);
      return network_.cut(NodeId(action.node), NodeId(action.other), action.what,
                          action.ticks > 0 ? std::optional(action.ticks) : std::nullopt);
    case Action::Kind::cut_present:
      blame(action.node);
      blame(action.other);
      return network_.cut_present(NodeId(action.node), NodeId(action.other), action.what);
    case Action::Kind::heal:
      report_.hit(Probe::partition_healed);
      cause_at_ = scheduler_.now();  // what waited goes on: perhaps a state, and what is kept behind it
      return network_.heal(NodeId(action.node), NodeId(action.other));
    case Action::Kind::leave:
      if (!runs) return;
      if (senders_.busy(process->index_)) report_.hit(Probe::leave_with_pending_sends);
      process->member_->request_leave();
      return on_news(process->index_);
    case Action::Kind::send: {
      if (!runs) return;
      SenderPlan sender;
      sender.node = action.node;
      sender.subgroup = action.other;
      sender.messages = static_cast<std::uint32_t>(action.count);
      sender.large = action.large;
      sender.hold_ns_max = std::max<Ticks>(action.ticks, 1);
      return senders_.add(process->index_, sender);
    }
    case Action::Kind::refuse:
      if (runs) process->refuse(action.ticks);
      return;
    case Action::Kind::stop:
      if (!runs) return;
      stop_member(*process, "told to stop");
      return after_step(*process);
    case Action::Kind::found:
      if (runs) static_cast<void>(force(*process));
      return;
    case Action::Kind::adopt: return adopt(action);
    case Action::Kind::forget:
      if (runs || records_.record(action.node) == nullptr) return;
      report_.hit(Probe::record_lost);
      records_.lose(action.node);
      if (records_.record(action.node) == nullptr) node_logs_.lose(action.node, processes_.size());
      return;
    case Action::Kind::lose_logs:
      if (runs || !records_.lose_logs(action.node, clock_of_next())) return;
      report_.hit(Probe::logs_lost);
      return node_logs_.lose(action.node, processes_.size());
    case Action::Kind::move:
    case Action::Kind::add:
    case Action::Kind::remove:
    case Action::Kind::drain:
    case Action::Kind::undrain:
    case Action::Kind::create:
    case Action::Kind::drop:
    case Action::Kind::change:
    case Action::Kind::resize: return want(action);
    case Action::Kind::edit: return ring_files_.edit(action.node, action.count);
    case Action::Kind::install:
      return releases_.install(action.node, {action.other, static_cast<std::uint32_t>(action.count)});
  }
}

// The views in which processes run.
std::vector<const View*> Fleet::running_views() const {
  std::vector<const View*> views;
  for (const auto& process : processes_) {
    const views::Epoch* const epoch = process->running_ && process->member_ ? process->member_->epoch() : nullptr;
    if (epoch != nullptr) views.push_back(&epoch->view());
  }
  return views;
}

// Two newcomers that listen elsewhere than the roster says do not find each other.
std::vector<std::uint32_t> Fleet::misplaced_in(const View& view) {
  std::vector<std::uint32_t> misplaced;
  for (const std::uint64_t incarnation : view.incarnations) {
    const auto process = history_.process_of(incarnation);
    if (!process) continue;
    const NodeAddress* const known = view.roster.find(NodeId(processes_[*process]->node_));
    if (known != nullptr && known->endpoint != network_.endpoint(*process).listens_at()) misplaced.push_back(*process);
  }
  return misplaced;
}

void Fleet::blame_misplaced(const View& view) {
  for (const std::uint32_t process : misplaced_in(view)) history_.blame(process);
}

// Its application failed, and those that wait for the state did: nobody is to be blamed for a view without them.
void Fleet::blame_for_save(const Process& source, SubgroupId subgroup) {
  report_.hit(Probe::state_not_saved);
  blame(source.node_);
  for (const auto& process : processes_) {
    const bool loads = process->running_ && process->member_->deliveries().loading(subgroup);
    if (loads || (process->running_ && process->state_ != MemberState::active)) blame(process->node_);
  }
}

// A change that is impossible is wanted by nobody.
void Fleet::want(const Action& action) {
  Process* const process = newest(action.node);
  if (process == nullptr || !process->running_ || process->frozen_ || process->state_ != MemberState::active) return;
  const View& view = process->member_->epoch()->view();
  const RosterChange change = rosters_.wish_of(action, view.roster);
  if (!rosters_.on_wish(process->index_, change, view)) return;
  ring_files_.on_wish(change);
  if (action.kind == Action::Kind::move) rosters_.relocate(action.other, action.count);
  process->member_->change_roster({change});
  on_news(process->index_);
}

// A process starts without a link with one other node, or loses it in its first view. If that other one is a member by then,
// it is the newcomer that has to go.
void Fleet::start_apart(const Action& action) {
  if (alive(action.node)) return;
  const Process* const other = newest(action.other);
  // One that was in no active view is a newcomer itself when they meet: of those two either goes.
  if (other != nullptr && !(other->running_ && other->was_active_)) history_.blame(other->index_);
  const auto breaks = action.ticks > 0 ? std::optional(action.ticks) : std::nullopt;
  if (action.count == 0) part(action.node, action.other, breaks);
  start_process(action.node);
  if (action.count > 0) newest(action.node)->loses_ = {action.other, breaks};
}

void Fleet::part(std::uint32_t node, std::uint32_t other, std::optional<Ticks> breaks) {
  network_.cut(NodeId(node), NodeId(other), Cut::everything, breaks);
  network_.cut(NodeId(other), NodeId(node), Cut::everything, breaks);
  report_.hit(Probe::newcomer_without_a_link);
}

void Fleet::keep_apart(Process& process) {
  if (!process.loses_) return;
  const auto [node, breaks] = *std::exchange(process.loses_, std::nullopt);
  const Process* const other = newest(node);
  const View& view = *history_.view(*history_.view_of(process.index_));
  if (calm_ || other == nullptr || !other->running_) return;
  if (!history_.was_there_before(other->index_, view)) history_.blame(other->index_);
  part(process.node_, node, breaks);
}

// Effects are counted from the first post of that message on, which is about to be made.
void Fleet::light_fuse(const Write& write) {
  Process& process = *processes_[write.from];
  if (!process.large_fuse_ || !process.in_step_ || rows_.large_post(write) != process.large_fuse_->at) return;
  const Process::LargeFuse fuse = *std::exchange(process.large_fuse_, std::nullopt);
  if (fuse.effects > 0) {
    const std::uint64_t effect = process.effects_ + fuse.effects - 1;
    if (fuse.pause > 0)
      process.pauses_ = {effect, fuse.pause};
    else
      process.dies_at_ = effect;
    return;
  }
  if (fuse.pause == 0) throw ProcessDied{};
  stand_still(process, fuse.pause);
}

// A process that sleeps while all others do, and wakes with them, has missed nothing that they have not.
void Fleet::sleep(Process& process, Ticks ticks) {
  say(process, "pauses for " + std::to_string(ticks) + " ns");
  process.paused_until_ = std::max(process.paused_until_, scheduler_.now() + ticks);  // a pause within a pause is none
  senders_.pause(process.index_, process.paused_until_);
}

// Notes where in a change of the view the leader died.
void Fleet::note_crash_in_change(const Process& process) {
  if (process.state_ == MemberState::installing) report_.hit(Probe::crash_while_installing);
  if (process.member_->epochs().empty()) return;
  const RowBook* const book = rows_.book(process.member_->epoch()->id(), process.index_);
  if (book == nullptr || book->released) return;
  if (process.state_ != MemberState::changing) return;
  report_.hit(Probe::crash_while_changing);
  if (!Rows::leads(*book)) return;
  const std::uint64_t own = book->rank.value() + 1;
  if (Rows::word(*book, book->layout.decided()) != 0) {
    report_.hit(Probe::leader_crashed_after_deciding);
  } else if (Rows::word(*book, book->layout.accepted()) == own) {
    report_.hit(Probe::leader_crashed_after_proposing);
  } else {
    report_.hit(Probe::leader_crashed_before_proposing);
  }
}

// Situations that a change of the view went through.
void Fleet::note_view(Process& process, const views::NewView& news) {
  if (verbose_) {
    std::string members;
    for (const NodeId node : news.view.members) members += " " + std::to_string(node.value());
    say(process, "installs view " + std::to_string(news.view.id.value()) + ":" + members);
    say_logs(process, news.view);
  }
  if (news.failed.size() >= 2) report_.hit(Probe::two_failures_in_one_change);
  if (!news.failed.empty() && !news.joined.empty() && news.view.id.value() > 0 && process.newest_epoch_) {
    report_.hit(Probe::join_and_failure_in_one_change);
  }
  if (!news.left.empty()) report_.hit(Probe::left_gracefully);
  if (!news.state_lost.empty()) report_.hit(Probe::state_lost);
  for (std::size_t s = 0; s < news.view.subgroups.size(); ++s) {
    if (news.view.subgroups[s].inadequate.empty()) continue;
    report_.hit(Probe::inadequate_subgroup);
  }
  for (const NodeId node : news.joined) {
    const auto runs_before = std::count_if(processes_.begin(), processes_.end(), [&](const auto& other) {
      return other->node_ == node.value() && history_.was_in_a_view(other->index_);
    });
    if (runs_before > 1 && process.newest_epoch_) report_.hit(Probe::rejoined);
  }
  if (!process.newest_epoch_) return;
  const auto& epochs = process.member_->epochs();
  if (epochs.size() < 2) return;
  const RowBook* const book = rows_.book(epochs[epochs.size() - 2]->id(), process.index_);
  if (book == nullptr || book->released) return;
  const std::uint64_t ballot = Rows::word(*book, book->layout.decided());
  if (ballot > 1) report_.hit(Probe::decided_by_a_later_leader);
  if (ballot > 0) {
    const View& before = *history_.view(epochs[epochs.size() - 2]->id());
    const auto rank = static_cast<std::uint32_t>((ballot - 1) % before.members.size());  // also of a revival
    const auto leader = history_.process_of(before.incarnations[rank]);
    if (leader && *leader != process.index_ &&
        (!processes_[*leader]->running_ || Rows::suspected(*book).contains(Rank(rank)))) {
      report_.hit(Probe::decided_by_another_than_its_leader);
    }
  }
}

// A newcomer waits for a state, and the first that has it dies.
void Fleet::note_transfers(const Process& process) {
  const auto id = history_.view_of(process.index_);
  if (!id || history_.view(*id) == nullptr) return;  // it had ended, and a group was founded anew since
  const View& view = *history_.view(*id);
  for (std::uint32_t s = 0; s < view.subgroups.size(); ++s) {
    const Process* source = nullptr;
    bool awaited = false;
    for (const NodeId node : view.subgroups[s].members) {
      const Process* const other = newest(node.value());
      if (other == nullptr || !other->running_ || history_.view_of(other->index_) != id) continue;
      const bool loading = other->member_->deliveries().loading(SubgroupId(s));
      awaited |= loading;
      if (!loading && source == nullptr) source = other;
    }
    if (awaited && source == &process) report_.hit(Probe::transfer_source_died);
  }
}

// V19: where processes of one host do nothing but die, whoever is left goes on, once all have read each other.
void Fleet::check_deaths(const Process& process) {
  if (!plan_.deaths || calm_ || !process.was_active_) return;
  report_.violate("V19", "node " + std::to_string(process.node_) +
                             " gave up, and all that are gone are dead: " + process.member_->failure()->to_string());
}

// L1: nobody gives up among a majority that nothing happened to.
void Fleet::check_majority(const Process& process) {
  const View& view = *history_.view(*history_.view_of(process.index_));
  if (history_.is_first(view.id)) {
    // The nodes that a founder told before it died, and those that it did not, cannot become a group: all have to be started
    // again.
    if (!processes_[*history_.process_of(view.incarnations.front())]->running_) return;
    // A process that still has a connection of a founder's dead start waits for its end, perhaps longer than the next start
    // waits.
    if (news_of_loss_takes() >= plan_.suspect_after) return;
    if (most_found_another(view)) return;
  }
  // A slow process may come into a view when the others have gone on without it: V6 has asked them why.
  const View* const next = history_.behind(view.id);
  if (next != nullptr && std::find(next->incarnations.begin(), next->incarnations.end(), process.incarnation_) ==
                             next->incarnations.end()) {
    return;
  }
  // Newcomers lead nothing before all have read each other: when whoever took them in is gone, they begin anew.
  const views::ViewChange& change = process.member_->epoch()->change();
  if (!change.everybody_ready() && change.newcomers().contains(change.leader())) return;
  // Some may have heard of a false suspicion, by a cut or for a dead start with a later clock, when another dies, and two
  // camps be left.
  const bool cut = std::any_of(plan_.actions.begin(), plan_.actions.end(), [](const Action& action) {
    return action.kind == Action::Kind::cut || action.kind == Action::Kind::start_apart;
  });
  const auto ended = [&](std::uint64_t incarnation) {
    const Process& member = *processes_[*history_.process_of(incarnation)];
    return !member.running_ || member.frozen_;
  };
  if ((cut || plan_.clocks_go_back) && std::any_of(view.incarnations.begin(), view.incarnations.end(), ended)) return;
  const auto healthy = std::count_if(view.incarnations.begin(), view.incarnations.end(), [&](std::uint64_t incarnation) {
    const std::uint32_t index = *history_.process_of(incarnation);
    const Process& member = *processes_[index];
    return member.running_ && !member.frozen_ && !history_.blamed(index) && member.state_ != MemberState::left;
  });
  if (2 * static_cast<std::size_t>(healthy) <= view.members.size()) return;
  report_.violate("L1", "node " + std::to_string(process.node_) + " gave up among a healthy majority: " +
                            process.member_->failure()->to_string());
}

// V14: a broken link costs one member at most.
void Fleet::check_cost_of_links() {
  if (plan_.broken_links == 0 || calm_) return;
  const auto failed = std::count_if(processes_.begin(), processes_.end(), [](const auto& each) {
    return each->state_ == MemberState::failed;
  });
  if (failed <= plan_.broken_links) return;
  report_.violate("V14", std::to_string(failed) + " members are gone, and " + std::to_string(plan_.broken_links) +
                             " links broke");
}

// V15: a member ends for lag only if it was told to, and its application has kept it waiting.
void Fleet::check_lag(const Process& process) {
  report_.hit(Probe::ended_for_lag);
  if (process.kept_waiting_ && plan_.nodes[process.node_].lagging_after > 0) return;
  report_.violate("V15", "node " + std::to_string(process.node_) + " ended for lag, and " +
                             (process.kept_waiting_ ? "was to wait" : "its application took everything at once"));
}

// The first found where whoever is there does, be they imposters or not, and then the others are strangers to the group.
bool Fleet::strangers_rule(std::uint32_t node) const {
  if (plan_.founded_by == views::FoundedBy::named) return false;
  const auto is_of_strangers = [&](const View& view) {
    return is_imposter(view.members.front().value()) != is_imposter(node);
  };
  const View* const newest = history_.newest_view();
  return newest != nullptr ? is_of_strangers(*newest) : told_by_the_dead(is_of_strangers);
}

// The one limit of founding by who is present: those that differ, and the first of all has died (docs/protocol.md).
bool Fleet::founds_beside_strangers(const View& view) const {
  const View* const other = history_.view(view.id);
  return plan_.founded_by == views::FoundedBy::present && view.id == ViewId(0) && other != nullptr &&
         is_imposter(other->members.front().value()) != is_imposter(view.members.front().value());
}

// A member tells others of a view before its application hears of it, and may die between.
bool Fleet::told_by_the_dead(const std::function<bool(const View&)>& is_meant) const {
  return std::ranges::any_of(processes_, [&](const auto& each) {
    const views::Epoch* const epoch = each->member_->epoch();
    return each->crashed_ && epoch != nullptr && history_.view_of(each->index_) != epoch->id() && is_meant(epoch->view());
  });
}

// It may be the view that the dead one told of whose version the process does not speak.
bool Fleet::speaks_too_little(const Process& process) const {
  return releases_.unspoken(process.index_, history_.newest_view()) ||
         told_by_the_dead([&](const View& view) { return releases_.unspoken(process.index_, &view); });
}

void Fleet::note_failure(const Process& process) {
  check_cost_of_links();
  const Error& error = *process.member_->failure();
  if (error.kind() == ErrorKind::no_majority) {
    report_.hit(Probe::lost_majority);
    check_deaths(process);
    if (!plan_.storm) check_majority(process);
  }
  if (error.kind() == ErrorKind::removed || error.kind() == ErrorKind::given_up) report_.hit(Probe::was_removed);
  if (error.kind() == ErrorKind::lagging) check_lag(process);
  if (error.kind() != ErrorKind::refused) return;
  if (plan_.nodes[process.node_].imposter) return report_.hit(Probe::imposter_refused);
  if (error.message().ends_with("it is drained")) report_.hit(Probe::refused_when_drained);
  // J5 refuses strangers; a process that agrees, is in the roster and was in no view is no stranger, whoever else is one.
  if (speaks_too_little(process)) return report_.hit(Probe::refused_for_its_version);
  const auto leaves_it_out = [&](const View& view) { return !view.roster.admits(NodeId(process.node_)); };
  const bool stranger =
      rosters_.unlisted(process.index_) || told_by_the_dead(leaves_it_out) || strangers_rule(process.node_);
  if (!history_.was_in_a_view(process.index_) && !stranger) {
    report_.violate("L6", "node " + std::to_string(process.node_) + " was turned away: " + error.to_string());
  }
}

}  // namespace spindrift::sim
