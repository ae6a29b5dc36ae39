// Revivals of views that have lost their majority, by somebody who sees all of the group: when nobody can have gone on.
#include <algorithm>

#include "fleet.hpp"

namespace spindrift::sim {

using views::MemberState;

namespace {

// Nodes may be out of each other's sight by such an action.
bool hides(const Action& action) {
  switch (action.kind) {
    case Action::Kind::cut:
    case Action::Kind::cut_present:
    case Action::Kind::start_apart:
    case Action::Kind::move:
    case Action::Kind::remove:
    case Action::Kind::forget:
    case Action::Kind::lose_logs: return true;
    default: return false;
  }
}

// It has lost the majority, or waits for a leader that may know more, and has lost it itself.
bool waits(const views::Member& member) {
  const auto awaited = views::ViewChange::Standing::awaited;
  return member.state() == MemberState::stranded ||
         (member.state() == MemberState::changing && member.epoch()->change().standing() == awaited);
}

}  // namespace

// The members of its view that a stranded process trusts.
std::vector<NodeId> Fleet::left_of(const Process& process) {
  const views::Epoch& epoch = *process.member_->epoch();
  std::vector<NodeId> left;
  for (std::uint32_t i = 0; i < epoch.view().members.size(); ++i) {
    if (!epoch.change().suspected().contains(Rank(i))) left.push_back(epoch.view().members[i]);
  }
  return left;
}

// A process, be it dead, knows how that view ended, or there is a later one.
bool Fleet::may_have_gone_on(const View& view) const {
  if (history_.newest_view() == nullptr || history_.newest_view()->id > view.id) return true;
  return std::ranges::any_of(processes_, [&](const auto& each) {
    return each->member_ && std::ranges::any_of(each->member_->epochs(), [&](const auto& epoch) {
      if (epoch == nullptr) return false;  // its process died when it gave that back
      return epoch->id() > view.id ||
             (epoch->id() == view.id && epoch->change().state() == views::ViewChange::State::decided);
    });
  });
}

// Processes that look for a group out of its sight may be about to found one.
bool Fleet::sees_who_looks(const Process& process) const {
  return std::ranges::all_of(processes_, [&](const auto& each) {
    const bool another = each.get() != &process;
    if (!another || !each->running_ || each->frozen_ || each->state_ != MemberState::looking) return true;
    const auto link = process.member_->links().peers().connection_of(NodeId(each->node_));
    return link && link->who.incarnation == each->incarnation_;
  });
}

// All that are left of its view are stranded in it, and trust each other; every other one is dead, has ended, or is stranded
// there, too.
bool Fleet::revivable(const Process& process) {
  if (process.state_ != MemberState::stranded || !process.running_ || process.frozen_) return false;
  const View& view = process.member_->epoch()->view();
  if (may_have_gone_on(view) || view.roster.version < views::revivals_since || !sees_who_looks(process)) return false;
  const std::vector<NodeId> left = left_of(process);
  // Those that were named before may go on at any moment.
  if (const auto named = named_.find(view.id); named != named_.end()) {
    const auto was_named = [&](NodeId node) { return std::ranges::find(named->second, node) != named->second.end(); };
    if (!std::ranges::all_of(left, was_named)) return false;
  }
  for (std::size_t i = 0; i < view.members.size(); ++i) {
    const Process& member = *processes_[*history_.process_of(view.incarnations[i])];
    const bool is_left = std::ranges::find(left, view.members[i]) != left.end();
    const bool over = !member.running_ || member.state_ == MemberState::failed || member.state_ == MemberState::left;
    if (over && !is_left) continue;
    const views::Epoch* const epoch = member.member_->epoch();
    if (over || member.frozen_ || !waits(*member.member_) || epoch->id() != view.id) return false;
    if (is_left && left_of(member) != left) return false;
  }
  return true;
}

void Fleet::revive(Process& process) {
  const std::vector<NodeId> left = left_of(process);
  say(process, "is told to revive the view, with " + std::to_string(left.size()) + " members");
  if (auto revived = process.member_->revive(left, true); !revived)
    return report_.violate("V29", "node " + std::to_string(process.node_) + ": " + revived.error().to_string());
  report_.hit(Probe::revived);
  rows_.on_revival(process.member_->epoch()->id());
  named_[process.member_->epoch()->id()] = left;
  cause_at_ = scheduler_.now();
  on_news(process.index_);
}

// The one limit of revivals: those that were given up are a majority of what they remember. Started anew before they have
// met who was revived they found a group of their own, which ends when the two meet (docs/protocol.md). Or the revived one
// died before it was in its view, and founds behind that beside theirs.
bool Fleet::founds_beside_the_revived(const View& view) const {
  const View* const newest = history_.newest_view();
  if (newest == nullptr) return false;
  if (views::era_of(newest->id) > views::era_of(view.id)) return true;
  const bool lives = std::ranges::any_of(processes_, [&](const auto& each) {
    return each->running_ && history_.view_of(each->index_) == newest->id;
  });
  return lives && views::era_of(view.id) > views::era_of(newest->id) && !is_decided(view);
}

// Nodes that are started anew out of sight could found a group beside what is revived.
void Fleet::look_after(Process& process) {
  const bool in_sight = calm_ || std::ranges::none_of(plan_.actions, hides);
  if (plan_.waits && in_sight && revivable(process) && revivals_.chance(1, 4)) revive(process);
  const bool may_force = plan_.forces && calm_ && looks(process.node_) && !was_told_just_now(process);
  if (may_force && revivals_.chance(1, 16)) static_cast<void>(force(process));
}

}  // namespace spindrift::sim
