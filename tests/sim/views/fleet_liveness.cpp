// The second phase: all heals; who is left finds together, delivers, takes in who waits, survives one more loss, and leaves.
#include <algorithm>

#include "fleet.hpp"
#include "suspects_of_row.hpp"

namespace spindrift::sim {

using views::MemberState;

void Fleet::heal_everything() {
  calm_ = true;
  cause_at_ = scheduler_.now();
  network_.calm();
  node_logs_.calm();
  senders_.hurry();
  tables_.hurry();
  for (std::uint32_t a = 0; a < plan_.nodes.size(); ++a) {
    for (std::uint32_t b = 0; b < plan_.nodes.size(); ++b) {
      if (a != b) network_.heal(NodeId(a), NodeId(b));
    }
  }
  for (const auto& process : processes_) {
    process->dies_at_.reset();
    process->change_fuse_.reset();
    process->accepting_.assign(process->accepting_.size(), true);
    on_news(process->index_);
    if (process->paused_until_ <= scheduler_.now()) continue;
    process->paused_until_ = 0;
    senders_.pause(process->index_, 0);
    senders_.resume(process->index_);
    process->step_scheduled_ = false;
    on_news(process->index_);
  }
  // A process that died comes back, or does not.
  for (std::uint32_t node = 0; node < plan_.nodes.size(); ++node) {
    if (!alive(node) && faults_.chance(1, 2)) start_process(node);
  }
}

// Processes that are in the newest view for good.
std::vector<std::uint32_t> Fleet::core() {
  std::vector<std::uint32_t> core;
  const View* const newest = history_.newest_view();
  for (const auto& process : processes_) {
    if (newest == nullptr || !process->running_ || process->frozen_ || process->state_ != MemberState::active) continue;
    if (history_.view_of(process->index_) == newest->id) core.push_back(process->index_);
  }
  return core;
}

bool Fleet::group_lives() { return !core().empty(); }

// L1: nobody gives up who can see how its view ended. What comes later it need not see.
void Fleet::check_stuck(const Process& process) {
  const views::Epoch* const epoch = process.member_->epoch();
  if (epoch == nullptr || epoch->change().state() != views::ViewChange::State::stuck) return;
  if (process.state_ == MemberState::failed) return;
  const sst::Table& table = epoch->table();
  for (std::uint32_t i = 0; i < epoch->view().members.size(); ++i) {
    if (Rank(i) == epoch->self() || epoch->change().suspected().contains(Rank(i)) || !table.attached(Rank(i))) continue;
    const sst::RowLayout& row = table.layout(Rank(i));
    const std::uint64_t decided = load_acquire(table.bytes(Rank(i), row.decided()));
    if (decided == 0 || decided != load_acquire(table.bytes(Rank(i), row.accepted()))) continue;
    return report_.violate("L1", "node " + std::to_string(process.node_) + " gave up although it sees how its view ended");
  }
}

// V12: a leader that proposes has taken up every accusation in the rows that it goes by, and is not accused by any of them.
void Fleet::check_proposal(const Process& process) {
  const views::Epoch* const epoch = process.member_->epoch();
  const RowBook* const book = epoch == nullptr ? nullptr : rows_.book(epoch->id(), process.index_);
  if (book == nullptr || book->released) return;
  const std::uint64_t accepted = book->layout.accepted();
  if (book->now(accepted) == book->earlier(accepted) || book->now(accepted) != book->rank.value() + 1) return;
  const views::RankSet own = book->suspects_now();
  const sst::Table& table = epoch->table();
  for (std::uint32_t i = 0; i < epoch->view().members.size(); ++i) {
    if (own.contains(Rank(i)) || !table.attached(Rank(i))) continue;
    const auto word = [&](std::uint64_t offset) { return load_acquire(table.bytes(Rank(i), offset)); };
    if (own.includes(suspects_of_row(table.layout(Rank(i)), epoch->view().members.size(), word))) continue;
    return report_.violate("V12", "node " + std::to_string(process.node_) + " proposes against an accusation that it sees");
  }
}

// L2: while a view lasts, a delivery, and news of space, follow closely upon what makes them possible: a message, an
// acknowledgement, room at the application, a step that did something. What waits until a heartbeat happens to wake its
// member is a lost wake-up.
void Fleet::check_prompt(const Process& process, Ticks since) {
  if (process.state_ != MemberState::active) return;
  // A member that lags ends when its time is over, which wakes it by itself.
  if (const auto& failure = process.member_->failure(); failure && failure->kind() == ErrorKind::lagging) return;
  if (process.member_->epoch()->change().state() != views::ViewChange::State::steady) return;
  if (scheduler_.now() <= unheard_until_) return;
  const FabricOptions& fabric = plan_.fabric;
  // A member that holds messages back looks for room at the receivers from time to time: nothing tells it that there is
  // some.
  const Ticks look_for_room = plan_.policy.unsent_bytes_max < smc::Policy{}.unsent_bytes_max ? 100'000 : 0;
  const Ticks passage =
      fabric.delay_ns_max + fabric.jitter_ns_max + fabric.line_gap_ns_max + fabric.clog_ns_max + look_for_room;
  const Ticks latest = std::max(since, process.paused_until_) + 2 * (plan_.nodes[process.node_].step_ns_max + passage);
  if (scheduler_.now() <= latest) return;
  report_.violate("L2", "node " + std::to_string(process.node_) + " woke " +
                            std::to_string(scheduler_.now() - since) + " ns after the last thing that could have woken it");
}

// A founder goes into its view before the others hear of it. Until they do, they may promise themselves to another one, for
// a majority of them remembers that founding: then the first one's view has no majority any more, and none follows it. One
// that has promised itself so may have to wait for the first one's end before it can go on, as a neighbor of its.
bool Fleet::most_found_another(const View& founded) const {
  if (history_.behind(founded.id) != nullptr) return false;
  const auto elsewhere = std::count_if(founded.incarnations.begin(), founded.incarnations.end(), [&](std::uint64_t each) {
    const Process& process = *processes_[*history_.process_of(each)];
    if (const auto now = history_.view_of(process.index_)) return *now > founded.id;
    const views::ViewRecord* const record = records_.record(process.node_);
    return process.running_ && record != nullptr && std::ranges::any_of(record->accepted, [&](const auto& accepted) {
             return accepted.founded && accepted.id > founded.id;
           });
  });
  return 2 * static_cast<std::size_t>(elsewhere) > founded.members.size();
}

// A process that does not suspect silence waits for ever for one that died before they met.
bool Fleet::waits_for_the_dead(const Process& process) const {
  const views::Epoch* const epoch = process.member_->epoch();
  if (plan_.suspect_after != 0 || epoch == nullptr) return false;
  for (std::uint32_t i = 0; i < epoch->view().members.size(); ++i) {
    if (epoch->table().attached(Rank(i)) || epoch->change().suspected().contains(Rank(i))) continue;
    if (!processes_[*history_.process_of(epoch->view().incarnations[i])]->running_) return true;
  }
  return false;
}

// Two newcomers that do not find each other wait for ever where nobody suspects silence: their view never begins.
bool Fleet::waits_for_the_misplaced(const Process& process) {
  const views::Epoch* const epoch = process.member_->epoch();
  return plan_.suspect_after == 0 && epoch != nullptr && process.state_ == MemberState::installing &&
         misplaced_in(epoch->view()).size() > 1;
}

std::optional<Fleet::Unsettled> Fleet::unsettled_looking(const Process& process) {
  const std::string name = "node " + std::to_string(process.node_);
  const View* const newest = history_.newest_view();
  if (process.member_->leave_requested()) return Unsettled{.what = name + " wants to leave and does not"};
  const auto endpoint_of = [&](NodeId node) -> std::optional<std::string> {
    const Process* const member = this->newest(node.value());
    if (member == nullptr || !member->running_ || member->frozen_) return std::nullopt;
    return network_.endpoint(member->index_).listens_at();
  };
  const bool owed = newest != nullptr && is_imposter(process.node_) == is_imposter(newest->members.front().value()) &&
                    rosters_.finds(process.index_, *newest, endpoint_of);
  if (owed && !core().empty() && !is_bound(process)) return Unsettled{"L6", name + " is not taken in"};
  if (core().empty() && memory_suffices()) return Unsettled{.what = name + " waits although enough remember the last view"};
  if (was_told_to_found(process)) return Unsettled{"V30", name + " was told to found, and waits"};
  if (newest == nullptr && founders_complete()) return Unsettled{.what = name + " waits for a group that could begin"};
  return std::nullopt;
}

// L1, L6, V5, V18, V29: everybody is in the newest view, or has ended, or waits for what does not exist.
std::optional<Fleet::Unsettled> Fleet::unsettled() {
  const std::vector<std::uint32_t> members = core();
  const View* const newest = history_.newest_view();
  for (const auto& process : processes_) {
    if (!process->running_ || process->frozen_) continue;
    const std::string name = "node " + std::to_string(process->node_);
    switch (process->state_) {
      case MemberState::active:
        if (history_.view_of(process->index_) != newest->id) return Unsettled{.what = name + " is in an old view"};
        if (process->member_->leave_requested()) return Unsettled{.what = name + " wants to leave and does not"};
        if (const auto wish = rosters_.open_wish(process->index_)) return Unsettled{"V18", name + " " + *wish};
        if (const auto sizes = ring_files_.not_adopted(*newest)) return Unsettled{"V25", name + " " + *sizes};
        if (const auto version = releases_.not_raised(*newest)) return Unsettled{"V27", name + " " + *version};
        break;
      case MemberState::looking:
        if (const auto found = unsettled_looking(*process)) return found;
        break;
      case MemberState::stranded:
        if (!revivable(*process) && members.empty()) break;
        return Unsettled{"V29", name + " waits, and is to be revived, or the group goes on without it"};
      case MemberState::installing:
      case MemberState::changing:
      case MemberState::concluding:
      case MemberState::departing:
        if (waits_for_the_dead(*process) || waits_for_the_misplaced(*process)) break;
        return Unsettled{.what = name + " is " + std::string(views::to_string(process->state_))};
      case MemberState::idle:
      case MemberState::left:
      case MemberState::failed: break;
    }
  }
  if (members.empty()) return std::nullopt;
  for (std::size_t i = 0; i < newest->members.size(); ++i) {
    const auto process = history_.process_of(newest->incarnations[i]);
    if (!processes_[*process]->running_ || processes_[*process]->frozen_ ||
        processes_[*process]->state_ != MemberState::active) {
      return Unsettled{.what = "node " + std::to_string(newest->members[i].value()) + " is gone but still in the view"};
    }
  }
  return std::nullopt;
}

bool Fleet::at_rest_in(ViewId least) {
  const View* const newest = history_.newest_view();
  if (newest == nullptr || newest->id < least || unsettled()) return false;
  return std::none_of(processes_.begin(), processes_.end(), [&](const auto& process) {
    if (!process->running_ || process->state_ != MemberState::active) return false;
    for (std::uint32_t s = 0; s < plan_.subgroups.size(); ++s) {
      if (process->member_->deliveries().loading(SubgroupId(s))) return true;
    }
    return false;
  });
}

// By then, whoever has lost a connection has heard of it and taken a step.
Ticks Fleet::news_of_loss_takes() const {
  Ticks breaks = plan_.fabric.lost_ns_max;
  for (const Action& action : plan_.actions) {
    if (action.kind == Action::Kind::cut) breaks = std::max(breaks, action.ticks);
  }
  Ticks step = 0;
  for (const NodePlan& node : plan_.nodes) step = std::max(step, node.step_ns_max);
  return breaks + step;
}

void Fleet::judge() {
  heal_everything();
  const auto settle = [&](const char* when) {
    const auto settled = [&] { return !unsettled(); };
    if (run_while_not(settled, patience()) || report_.failed() || plan_.storm) return;
    // One that waits looks seldom: what it revived just now has the same time once more.
    const bool revived = plan_.waits && cause_at_ > scheduler_.now() - patience() / 2;
    if (revived && (run_while_not(settled, patience()) || report_.failed())) return;
    if (plan_.suspect_after == 0 && !group_lives()) return;
    const Unsettled found = *unsettled();
    report_.violate(found.invariant, found.what + ", long " + when);
  };
  run_until(scheduler_.now() + news_of_loss_takes());
  settle("after everything healed");
  if (report_.failed() || !group_lives()) return;
  report_.hit(Probe::group_survived);
  if (faults_.chance(1, 2)) {
    freeze_minority();
    settle("after a minority was lost");
    if (report_.failed() || !group_lives()) return;
  }
  tables_.finish(core());
  const auto quiet = [&] {
    const std::vector<std::uint32_t> members = core();
    if (unsettled()) return false;
    return std::none_of(members.begin(), members.end(), [&](std::uint32_t process) { return senders_.busy(process); }) &&
           history_.complete(members) && !objects_.left_open(members) && !wrong_gate() && !tables_.unfinished(members) &&
           !log_books_.incomplete(members);
  };
  const bool done = run_while_not(quiet, patience() + 2'000'000'000);
  if (report_.failed() || plan_.storm) return;
  history_.check_complete(core());
  if (const auto open = objects_.left_open(core())) report_.violate("M12", *open);
  if (const auto open = log_books_.incomplete(core())) report_.violate(open->invariant, open->what);
  if (const auto wrong = wrong_gate()) report_.violate("L2", *wrong);
  if (const auto wrong = tables_.unfinished(core())) report_.violate(wrong->invariant, wrong->what);
  if (!done && !report_.failed()) report_.violate("L2", "a thread still waits for space");
  if (!report_.failed()) check_memory();
  if (report_.failed()) return;
  leave_all();
}

// V11: at rest, memory belongs to the present view, or to one that somebody still needs. And nobody goes on with a state.
void Fleet::check_memory() {
  const auto sends = [&](std::uint32_t index) { return processes_[index]->member_->transfers().sending(); };
  const auto nobody_sends = [&] {
    const std::vector<std::uint32_t> members = core();
    return std::none_of(members.begin(), members.end(), sends);
  };
  if (!run_while_not(nobody_sends, patience()) && !report_.failed()) {
    return report_.violate("V11", "a state is sent to somebody who does not want it");
  }
  if (report_.failed()) return;
  for (const std::uint32_t index : core()) {
    std::uint64_t own = 0;
    std::uint64_t lent = 0;
    for (const auto& epoch : processes_[index]->member_->epochs()) {
      ++own;
      for (const views::Epoch::Line& line : epoch->lines()) {
        own += line.mirror ? 1 : 0;
        lent += (line.theirs ? 1 : 0) + line.beside.size();
      }
      for (const views::Epoch::Beside& beside : epoch->beside()) {
        own += (beside.ring ? 1 : 0) + (beside.bulk_ring ? 1 : 0) + (beside.bulk_mirrors ? 1 : 0);
      }
    }
    const Network::Holdings held = network_.holdings(index);
    if (held.own <= own && held.lent <= lent) continue;
    return report_.violate("V11", "node " + std::to_string(processes_[index]->node_) + " holds " + std::to_string(held.own) +
                                      " regions and " + std::to_string(held.lent) + " of others, of its views " +
                                      std::to_string(own) + " and " + std::to_string(lent));
  }
}

// A minority of the newest view is lost for ever: dead, or silent.
void Fleet::freeze_minority() {
  std::vector<std::uint32_t> members = core();
  const std::size_t most = (members.size() - 1) / 2;
  if (most == 0) return;
  const std::size_t count = faults_.between(1, most);
  for (std::size_t i = members.size(); i > 1; --i) std::swap(members[i - 1], members[faults_.below(i)]);
  for (std::size_t i = 0; i < count; ++i) {
    Process& process = *processes_[members[i]];
    history_.blame(process.index_);
    if (plan_.suspect_after == 0 || faults_.chance(1, 2)) {
      crash(process);
      continue;
    }
    say(process, "freezes for ever");
    process.frozen_ = true;
    senders_.end(process.index_);
    report_.hit(Probe::frozen_for_ever);
  }
}

// L2: whoever may send in the newest view can.
std::optional<std::string> Fleet::wrong_gate() {
  const View* const newest = history_.newest_view();
  for (const std::uint32_t index : core()) {
    for (std::uint32_t s = 0; s < plan_.subgroups.size(); ++s) {
      const Process& process = *processes_[index];
      const bool sends = subgroup_at(*newest, s).sender_rank(NodeId(process.node_)).has_value();
      const auto gate = process.member_->gate(SubgroupId(s));
      if (sends == (gate != nullptr && gate->is_open())) continue;
      return "node " + std::to_string(process.node_) + (sends ? " may not" : " may") + " send to subgroup " +
             std::to_string(s) + ", against its view";
    }
  }
  return std::nullopt;
}

// Everybody leaves, in any order, at once or one after another; the last one alone.
void Fleet::leave_all() {
  leaving_ = true;
  std::vector<std::uint32_t> members = core();
  for (std::size_t i = members.size(); i > 1; --i) std::swap(members[i - 1], members[faults_.below(i)]);
  const bool at_once = faults_.chance(1, 2);
  Ticks last = scheduler_.now();
  for (const std::uint32_t index : members) {
    if (!at_once) {
      last += static_cast<Ticks>(faults_.spread(1, 500'000));
      run_until(last);
    }
    processes_[index]->member_->request_leave();
    on_news(index);
  }
  const auto left = [&] {
    return std::all_of(processes_.begin(), processes_.end(), [](const auto& process) {
      return !process->running_ || process->frozen_ || process->state_ == MemberState::left ||
             process->state_ == MemberState::failed || process->state_ == MemberState::looking;
    });
  };
  run_while_not(left, patience());
  if (report_.failed()) return;
  // A view that takes in a newcomer that dies at once may be left without a majority.
  const auto newcomer_died = [&](const Process& process) {
    const std::vector<std::uint64_t>& view = history_.view(*history_.view_of(process.index_))->incarnations;
    return process.state_ == MemberState::failed && std::any_of(view.begin(), view.end(), [&](std::uint64_t incarnation) {
             const std::uint32_t other = *history_.process_of(incarnation);
             return !processes_[other]->running_ && std::find(members.begin(), members.end(), other) == members.end();
           });
  };
  // A view meanwhile had it, or others without which it is no majority, in a subgroup whose log lacks what its application
  // was given.
  const auto set_back_or_beside = [&](const Process& process) {
    if (process.member_->deliveries().set_back()) return true;
    const std::vector<std::uint64_t>& view = history_.view(*history_.view_of(process.index_))->incarnations;
    const std::optional<Error>& failure = process.member_->failure();
    return failure && failure->kind() == ErrorKind::no_majority && std::ranges::any_of(view, [&](std::uint64_t incarnation) {
             return processes_[*history_.process_of(incarnation)]->member_->deliveries().set_back().has_value();
           });
  };
  for (const std::uint32_t index : members) {
    if (processes_[index]->state_ == MemberState::left || newcomer_died(*processes_[index])) continue;
    if (waits_for_the_misplaced(*processes_[index])) continue;
    if (set_back_or_beside(*processes_[index])) continue;
    return report_.violate("L1", "node " + std::to_string(processes_[index]->node_) + " asked to leave and did not");
  }
  report_.hit(Probe::all_left);
}

bool Fleet::everything_delivered() { return history_.complete(core()); }

std::string Fleet::where() {
  std::string text = " [at " + std::to_string(scheduler_.now()) + " ns;";
  for (const auto& process : processes_) {
    text += " " + std::to_string(process->node_) + "." + std::to_string(process->index_) + "=" +
            (process->crashed_  ? "crashed"
             : process->frozen_ ? "frozen"
                                : std::string(views::to_string(process->state_)));
    if (const auto view = history_.view_of(process->index_)) text += "@" + std::to_string(view->value());
  }
  return text + "]";
}

std::vector<std::uint32_t> Fleet::members_seen_by(std::uint32_t node) {
  std::vector<std::uint32_t> members;
  const Process* const process = newest(node);
  if (process == nullptr || !history_.view_of(process->index_)) return members;
  for (const NodeId member : history_.view(*history_.view_of(process->index_))->members) members.push_back(member.value());
  return members;
}

std::uint64_t Fleet::delivered(std::uint32_t node, std::uint32_t subgroup) {
  const Process* const process = newest(node);
  return process == nullptr ? 0 : history_.delivered(process->index_, subgroup);
}

std::uint64_t Fleet::window(std::uint32_t node, std::uint32_t subgroup) {
  const Process* const process = newest(node);
  if (process == nullptr || process->member_->epoch() == nullptr) return 0;
  return subgroup_at(process->member_->epoch()->view(), subgroup).profile.window_messages;
}

std::uint64_t Fleet::effects_of(std::uint32_t node) const {
  for (const auto& process : processes_) {
    if (process->node_ == node) return process->effects_;
  }
  return 0;
}

MemberState Fleet::state_of(std::uint32_t node) {
  const Process* const process = newest(node);
  return process == nullptr ? MemberState::idle : process->state_;
}

std::optional<std::string> Fleet::failure_of(std::uint32_t node) {
  const Process* const process = newest(node);
  if (process == nullptr || !process->member_->failure()) return std::nullopt;
  return process->member_->failure()->to_string();
}

}  // namespace spindrift::sim
