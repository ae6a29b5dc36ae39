// Members of views, and why they are.
#include "history.hpp"

#include <algorithm>

namespace spindrift::sim {
namespace {

std::string name_of(const View& view) {
  std::string text = "view " + std::to_string(view.id.value()) + " of";
  for (std::size_t i = 0; i < view.members.size(); ++i) text += " " + std::to_string(view.members[i].value());
  return text;
}

bool same(const SubgroupView& a, const SubgroupView& b) {
  return a.name == b.name && a.members == b.members && a.senders == b.senders && a.inadequate == b.inadequate;
}

bool same(const View& a, const View& b) {
  return a.members == b.members && a.incarnations == b.incarnations && a.roster == b.roster &&
         std::equal(a.subgroups.begin(), a.subgroups.end(), b.subgroups.begin(), b.subgroups.end(),
                    [](const SubgroupView& x, const SubgroupView& y) { return same(x, y); });
}

}  // namespace

// No majority remembers it, and what is founded is not behind it, or nobody does: an id above the first is behind a founding
// that came to nothing then.
bool History::is_forgotten(const View& last, ViewId founded) const {
  if (!remembering_) return false;
  const std::size_t remembering = remembering_(last);
  return remembering == 0 || (founded <= last.id && 2 * remembering <= last.members.size());
}

// A total loss: all founders started anew, nobody of the old group is left, nor is its last view remembered.
bool History::founded_again(std::uint32_t index, const View& view) {
  if (processes_[index].view || views_.empty() || views_.begin()->second.incarnations == view.incarnations) return false;
  const View* const known = this->view(view.id);  // a newcomer may be the last that hears of its view
  if (known != nullptr && known->incarnations == view.incarnations) return false;
  const View& last = views_.rbegin()->second;
  if (view.id > ViewId(0) && !is_forgotten(last, view.id)) return false;
  const auto lives = [](const Process& process) { return process.view && !process.ended; };
  if (std::any_of(processes_.begin(), processes_.end(), lives)) return false;
  past_.push_back(std::exchange(views_, {}));
  founded_.clear();
  for (auto& logs : logs_of_) logs.clear();
  ++generation_;
  return true;
}

// Nobody in it was in a view before, and it follows from none. A slow founder may hear of it last: others of it have founded
// a later view since.
bool History::founded_by_memory(std::uint32_t index, const View& view) const {
  if (view.id == ViewId(0) || processes_[index].view || views_.contains(view.id)) return false;
  if (!decided_ || decided_(view)) return false;
  return std::ranges::all_of(view.incarnations, [&](std::uint64_t incarnation) {
    const auto process = process_of(incarnation);
    return process && (!processes_[*process].view || *processes_[*process].view > view.id);
  });
}

// V21: nodes that remember found only when no majority of the last view can go on, and behind it. What has been overtaken
// when its founder goes there was founded before the later one, and ends: of its members no majority comes (L1).
void History::check_founding(std::uint32_t index, const View& view) {
  founded_.insert(view.id);
  report_.hit(Probe::founded_by_memory);
  const bool overtaken = std::ranges::any_of(view.incarnations, [&](std::uint64_t incarnation) {
    return processes_[*process_of(incarnation)].view > view.id;
  });
  if (views_.empty() || overtaken) return;
  const View& last = views_.rbegin()->second;
  const auto is_back = [&](NodeId node) { return view.rank_of(node).has_value(); };
  if (!std::ranges::all_of(last.members, is_back)) report_.hit(Probe::founded_without_a_minority);
  if (view.id < last.id) violate("V21", index, "founded " + name_of(view) + " though there was " + name_of(last));
  // The others of the last view, once it is decided who goes on, only do not know yet that they have left.
  const auto next = next_ ? next_(last) : std::nullopt;
  const std::vector<std::uint64_t>& going_on = next ? *next : last.incarnations;
  const auto lives = [&](std::uint64_t incarnation) {
    const auto process = process_of(incarnation);
    return process && processes_[*process].view && !processes_[*process].ended;
  };
  if (2 * std::ranges::count_if(going_on, lives) > std::ssize(going_on))
    violate("V21", index, "founded " + name_of(view) + " beside a living majority of " + name_of(last));
}

// V1–V3, V6, J4: who is in which view is one function, and every change has a cause.
void History::check_view(std::uint32_t index, const View& view) {
  const Process& process = processes_[index];
  const auto rank = view.rank_of(NodeId(process.node));
  if (!rank || view.incarnations.size() != view.members.size() || view.incarnations[rank->value()] != process.incarnation) {
    return violate("V1", index, "installed " + name_of(view) + " without itself");
  }
  if (process.view && !views::is_right_behind(*process.view, view.id)) {
    violate("V2", index, "went from view " + std::to_string(process.view->value()) + " to " + name_of(view));
  }
  if (process.ended) violate("V5", index, "installed a view after its end");
  const auto [known, fresh] = views_.emplace(view.id, view);
  if (!fresh) {
    if (!same(known->second, view)) violate("V3", index, name_of(view) + ", others: " + name_of(known->second));
    return;
  }
  std::vector<NodeId> nodes = view.members;
  std::sort(nodes.begin(), nodes.end());
  if (std::adjacent_find(nodes.begin(), nodes.end()) != nodes.end())
    violate("J4", index, "a node is twice in " + name_of(view));
  const View* const before = before_of(view);
  for (std::size_t i = 0; i < view.members.size(); ++i) {
    const auto other = process_of(view.incarnations[i]);
    if (!other || processes_[*other].node != view.members[i].value()) {
      return violate("V6", index, "a member of " + name_of(view) + " never started");
    }
    if (plan_.nodes[view.members[i].value()].imposter != plan_.nodes[process.node].imposter)
      violate("J5", index, "an imposter is in " + name_of(view));
    const auto old = before == nullptr ? std::nullopt : before->rank_of(view.members[i]);
    const bool new_here = !old || before->incarnations[old->value()] != view.incarnations[i];
    const std::optional<ViewId> present = processes_[*other].view;
    // A slow founder may go into its view when a majority of that has remembered it, and founded another.
    const bool overtaken = (is_first(view.id) && present > view.id) || (present && is_overtaken(*present));
    if (present && !processes_[*other].ended && new_here && !overtaken) {  // what a dead one said may come late
      violate("J4", index, "a process that was out came back in " + name_of(view));
    }
    if (before != nullptr && new_here) check_linked(*other, *before, view);
    processes_[*other].listed = true;
  }
  if (before == nullptr) check_founders_linked(view);
  // A newcomer may die while the view changes for it; not again and again.
  const bool idle = before != nullptr && before->members == view.members && before->incarnations == view.incarnations &&
                    before->roster == view.roster;
  idle_changes_ = idle ? idle_changes_ + 1 : 0;
  if (idle_changes_ == idle_changes_max) violate("V6", index, "views change and change nothing, up to " + name_of(view));
}

// Most of those that one founded with have founded another view since, of which it has not heard; nor they of its own.
bool History::is_overtaken(ViewId id) const {
  if (!is_first(id) || behind(id) != nullptr) return false;
  const auto elsewhere = std::ranges::count_if(views_.at(id).incarnations, [&](std::uint64_t incarnation) {
    const auto process = process_of(incarnation);
    return process && processes_[*process].view > id;
  });
  return 2 * static_cast<std::size_t>(elsewhere) > views_.at(id).members.size();
}

std::size_t History::starts_of(NodeId node) const {
  return static_cast<std::size_t>(std::count_if(processes_.begin(), processes_.end(), [&](const Process& process) {
    return process.node == node.value();
  }));
}

// V6: a newcomer is linked with every member that was there and stays.
void History::check_linked(std::uint32_t newcomer, const View& before, const View& after) {
  for (const std::uint64_t incarnation : after.incarnations) {
    const std::uint32_t other = *process_of(incarnation);
    if (!heard_ || !was_there_before(other, after) || heard_(other, newcomer)) continue;
    violate("V6", newcomer, "was taken into " + name_of(after) + " without a link with node " +
                                std::to_string(processes_[other].node) + " of " + name_of(before));
  }
}

// V6: those that found had met when they promised. What became of their links since is nobody's mistake.
void History::check_founders_linked(const View& first) {
  for (const std::uint64_t one : first.incarnations) {
    for (const std::uint64_t two : first.incarnations) {
      const std::uint32_t reader = *process_of(one);
      const std::uint32_t speaker = *process_of(two);
      if (!heard_ || reader == speaker || processes_[reader].blamed || processes_[speaker].blamed) continue;
      if (heard_(reader, speaker)) continue;
      violate("V6", reader, "is in the founding of " + name_of(first) + " without a link with node " +
                                std::to_string(processes_[speaker].node));
    }
  }
}

const View* History::before_of(const View& view) const {
  return is_first(view.id) ? nullptr : right_before(view.id);
}

const View* History::right_before(ViewId id) const {
  for (auto at = views_.lower_bound(id); at != views_.begin();) {
    if (views::is_right_behind((--at)->first, id)) return &at->second;
  }
  return nullptr;
}

const View* History::earlier_than(ViewId id) const {
  const auto at = views_.lower_bound(id);
  return at == views_.begin() ? nullptr : &std::prev(at)->second;
}

const View* History::behind(ViewId id) const {
  const auto next = std::find_if(views_.upper_bound(id), views_.end(),
                                 [id](const auto& each) { return views::is_right_behind(id, each.first); });
  return next == views_.end() ? nullptr : &next->second;
}

bool History::was_there_before(std::uint32_t index, const View& view) const {
  const View* const before = before_of(view);
  if (before == nullptr) return false;
  const auto& incarnations = before->incarnations;
  return std::find(incarnations.begin(), incarnations.end(), processes_[index].incarnation) != incarnations.end();
}

// One of two that accuse each other goes: also the one that rightly suspected the other, if that comes back just then. But a
// newcomer goes before a member that was there, unless somebody says that it is the newcomer who revives the view.
bool History::accuses_one_that_stays(std::uint32_t index, const View& before, const View& after) const {
  if (!suspects_) return false;
  const views::RankSet suspects = suspects_(before.id, index);
  const bool revived = after.id != views::id_behind(before.id, 0);
  for (std::uint32_t i = 0; i < before.members.size(); ++i) {
    const std::uint32_t other = *process_of(before.incarnations[i]);
    if (!suspects.contains(Rank(i)) || !processes_[other].blamed) continue;
    if (!revived && was_there_before(index, before) && !was_there_before(other, before)) continue;
    const auto rank = after.rank_of(before.members[i]);
    if (rank && after.incarnations[rank->value()] == before.incarnations[i]) return true;
  }
  return false;
}

// V6: nobody is removed who did nothing and had nothing done to.
void History::check_changes(std::uint32_t index, const views::NewView& news) {
  const View* const before = before_of(news.view);
  if (before == nullptr || !processes_[index].view) return;
  for (const views::Removal& removal : news.failed) {
    const auto rank = before->rank_of(removal.node);
    if (!rank) return violate("V6", index, "removed a node that was not in the view");
    const auto who = process_of(before->incarnations[rank->value()]);
    // A process that comes late into the first view, or never, may have promised itself to another start of the founder.
    const bool never_came =
        is_first(before->id) && who && (!processes_[*who].view || starts_of(before->members.front()) > 1);
    const bool healthy = !plan_.storm && who && !processes_[*who].blamed && !never_came;
    if (healthy && !accuses_one_that_stays(*who, *before, news.view)) {
      violate("V6", index, "removed healthy node " + std::to_string(removal.node.value()) + ": " + removal.reason);
    }
  }
  std::size_t gone = 0;
  for (std::size_t i = 0; i < before->members.size(); ++i) {
    const auto rank = news.view.rank_of(before->members[i]);
    gone += !rank || news.view.incarnations[rank->value()] != before->incarnations[i] ? 1 : 0;
  }
  const std::size_t come = news.view.members.size() - (before->members.size() - gone);
  if (gone != news.failed.size() + news.left.size() || come != news.joined.size()) {
    violate("V6", index, "the changes that were told are not those that were made in " + name_of(news.view));
  }
}

}  // namespace spindrift::sim
