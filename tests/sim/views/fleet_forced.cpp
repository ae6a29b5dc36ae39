// Foundings by force, by somebody who sees all of the group: when those that are missing are dead, and had not gone on.
#include <algorithm>

#include "fleet.hpp"

namespace spindrift::sim {

using views::MemberState;

namespace {

bool remembers(const views::ViewRecord& record, ViewId view) {
  return (record.last && record.last->id == view) ||
         std::ranges::any_of(record.accepted, [view](const auto& each) { return each.id == view; });
}

template <class T>
std::vector<T> in_order(std::vector<T> all) {
  std::ranges::sort(all);
  return all;
}

std::vector<NodeId> nodes_of(const views::RecordedView& view) {
  std::vector<NodeId> nodes;
  for (const views::Join& each : view.members) nodes.push_back(each.node);
  return nodes;
}

}  // namespace

// All that run look for the group, and see each other; and one of them knows of the newest view that anybody was in.
bool Fleet::forcible(const Process& process) {
  if (!process.running_ || process.frozen_ || process.state_ != MemberState::looking) return false;
  if (!sees_who_looks(process)) return false;
  const View* const newest = history_.newest_view();
  if (newest == nullptr || plan_.founded_by == views::FoundedBy::present) return false;
  bool known = false;
  for (const auto& each : processes_) {
    if (!each->running_) continue;
    if (each->frozen_ || each->state_ != MemberState::looking || is_imposter(each->node_)) return false;
    const views::ViewRecord* const record = records_.record(each->node_);
    known |= record != nullptr && remembers(*record, newest->id);
  }
  return known;
}

// Exactly those are to be named that are here and have a part: all others are refused.
bool Fleet::force(Process& process) {
  if (!forcible(process)) return false;
  std::vector<NodeId> others;
  for (const auto& each : processes_) {
    if (each->running_ && each.get() != &process) others.emplace_back(each->node_);
  }
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << others.size(); ++bits) {
    std::vector<NodeId> named{NodeId(process.node_)};
    for (std::size_t i = 0; i < others.size(); ++i) {
      if ((bits >> i & 1) != 0) named.push_back(others[i]);
    }
    if (process.member_->revive(named, true)) {
      note_told(process, named);
      return true;
    }
  }
  return false;
}

void Fleet::note_told(Process& process, const std::vector<NodeId>& named) {
  say(process, "is told to found without a majority, with " + std::to_string(named.size()) + " nodes");
  std::vector<std::uint64_t> incarnations;
  for (const NodeId node : named) incarnations.push_back(newest(node.value())->incarnation_);
  told_to_found_.push_back({in_order(named), in_order(std::move(incarnations)), process.index_, scheduler_.now()});
  cause_at_ = scheduler_.now();
  on_news(process.index_);
}

// People who tell all nodes at once wait for what comes of it before they say it again. Foundings by force of which each is
// told anew before its messages have arrived could outdo each other for ever.
bool Fleet::was_told_just_now(const Process& process) const {
  const FabricOptions& fabric = plan_.fabric;
  const Ticks pause = 16 * (fabric.delay_ns_max + fabric.jitter_ns_max + fabric.clog_ns_max);
  return std::ranges::any_of(told_to_found_, [&](const Told& told) {
    return told.process == process.index_ && scheduler_.now() - told.at < pause;
  });
}

// V30: a founding of a later era than all that anybody has recorded is one that somebody was told.
void Fleet::check_forced() {
  for (const views::RecordedView& view : records_.take_foundings_of_later_eras()) {
    if (std::ranges::find(told_to_found_, in_order(nodes_of(view)), &Told::nodes) != told_to_found_.end()) continue;
    report_.violate("V30", "view " + std::to_string(view.id.value()) + " of " + std::to_string(view.members.size()) +
                               " nodes, of a later era, is to be founded, which nobody was told");
  }
}

void Fleet::note_founded(const View& view) {
  if (std::ranges::find(told_to_found_, in_order(view.incarnations), &Told::incarnations) == told_to_found_.end()) return;
  report_.hit(Probe::founded_by_force);
  const View* const newest = history_.newest_view();
  if (newest == nullptr || newest->id >= view.id) return;
  const auto has_a_part = [newest](NodeId node) { return newest->rank_of(node).has_value(); };
  if (std::ranges::none_of(view.members, has_a_part)) report_.hit(Probe::founded_by_those_left_behind);
}

// Those that were left behind found with the roster that they know, which others may have changed.
const View* Fleet::known_before(const View& view, const View* before) const {
  if (before == nullptr || !history_.is_first(view.id) || views::era_of(view.id) == views::era_of(before->id)) return before;
  for (const View* each = before; each != nullptr; each = history_.earlier_than(each->id)) {
    if (Rosters::follows(view.roster, each->roster)) return each;
  }
  return before;
}

// Promised to a founding by force whose founder is here they follow no group of an earlier era, until that gives it up.
void Fleet::blame_for_promises(const std::vector<views::Removal>& removed) {
  for (const views::Removal& each : removed) {
    const Process* const process = newest(each.node.value());
    if (process != nullptr && process->state_ == MemberState::looking && is_bound(*process)) history_.blame(process->index_);
  }
}

// It has promised itself to a founding that it was named for, and whoever was given up founded an earlier view meanwhile: it
// follows that no more, and has to be started again.
bool Fleet::is_bound(const Process& process) {
  const View* const newest = history_.newest_view();
  const views::ViewRecord* const record = records_.record(process.node_);
  if (newest == nullptr || record == nullptr) return false;
  const auto names_it = [&](const Told& told) {
    return std::ranges::binary_search(told.incarnations, process.incarnation_);
  };
  const auto is_later = [&](const views::RecordedView& each) {
    return each.founded && views::era_of(each.id) > views::era_of(newest->id);
  };
  return std::ranges::any_of(told_to_found_, names_it) && std::ranges::any_of(record->accepted, is_later);
}

// A process may be told before it has read what the last members to leave have stored, and has then no view to go on from.
bool Fleet::host_knows_of_end(const Process& process) const {
  const View* const newest = history_.newest_view();
  for (std::uint32_t node = 0; node < plan_.nodes.size(); ++node) {
    const views::ViewRecord* const record = records_.record(node);
    if (record == nullptr || !record->last || plan_.nodes[node].host != plan_.nodes[process.node_].host) continue;
    if (record->last->members.empty() && (newest == nullptr || record->last->id > newest->id)) return true;
  }
  return false;
}

// They are all here still, look for the group, and nobody else does who could make them a majority.
bool Fleet::was_told_to_found(const Process& process) {
  const auto names_it = [&](const Told& told) {
    return std::ranges::binary_search(told.incarnations, process.incarnation_);
  };
  const auto told = std::ranges::find_if(told_to_found_.rbegin(), told_to_found_.rend(), names_it);
  if (told == told_to_found_.rend() || !forcible(process) || host_knows_of_end(process)) return false;
  const auto count = std::ranges::count_if(processes_, [](const auto& each) { return each->running_; });
  return static_cast<std::size_t>(count) == told->nodes.size() &&
         std::ranges::all_of(told->incarnations, [&](std::uint64_t incarnation) {
           return processes_[*history_.process_of(incarnation)]->running_;
         });
}

}  // namespace spindrift::sim
