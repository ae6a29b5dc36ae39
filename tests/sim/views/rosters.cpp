// Files, wishes, and the rosters of views.
#include "rosters.hpp"

#include <algorithm>

namespace spindrift::sim {

std::optional<RosterChange::Kind> change_of(Action::Kind kind) noexcept {
  switch (kind) {
    case Action::Kind::add: return RosterChange::Kind::add;
    case Action::Kind::remove: return RosterChange::Kind::remove;
    case Action::Kind::move: return RosterChange::Kind::move;
    case Action::Kind::drain: return RosterChange::Kind::drain;
    case Action::Kind::undrain: return RosterChange::Kind::undrain;
    default: return std::nullopt;
  }
}

Roster Rosters::file_of(std::uint32_t node) const {
  Roster file;
  for (std::uint32_t i = 0; i < plan_.nodes.size(); ++i) {
    const bool names = plan_.nodes[i].listed && (plan_.nodes[node].names >> i & 1) != 0;
    if (names || i == node) file.nodes.push_back({NodeId(i), i == node ? endpoint_of(i) : endpoint_at(0)});
  }
  return file;
}

void Rosters::on_start(std::uint32_t process, std::uint32_t node, const std::vector<const View*>& running) {
  Start& start = starts_[process];
  const bool named = plan_.founded_by == views::FoundedBy::named;
  start = {NodeId(node), named && !plan_.nodes[node].listed && running.empty(), file_of(node)};
  for (const View* const view : running) start.unlisted |= !view->roster.admits(NodeId(node));
}

bool Rosters::on_wish(std::uint32_t process, const RosterChange& change, const View& view) {
  if (!check(view.roster, change, view.members)) return false;
  if (!in_effect(view.roster, change)) wishes_[process].push_back(change);
  return true;
}

void Rosters::on_view(std::uint32_t process, const View& view, const View* before) {
  const auto violate = [&](const char* invariant, const std::string& what) {
    const std::string name = "process " + std::to_string(process) + ", view " + std::to_string(view.id.value());
    report_.violate(invariant, name + ": " + what);
  };
  for (const NodeId node : view.members) {
    if (!view.roster.contains(node)) violate("V16", "node " + std::to_string(node.value()) + " is not in the roster");
    if (view.roster.is_drained(node)) violate("V20", "node " + std::to_string(node.value()) + " is drained");
  }
  const auto knows = [&](NodeId node) { return starts_.at(process).file.contains(node); };
  if (before == nullptr && view.id == ViewId(0) && !std::ranges::all_of(view.members, knows))
    report_.hit(Probe::founded_beyond_a_file);
  if (before != nullptr) {
    const bool same = view.roster == before->roster;
    Roster as_before = view.roster;
    as_before.edition = before->roster.edition;
    const bool next = view.roster.edition == before->roster.edition + 1 && as_before != before->roster;
    if (!same && !next) violate("V17", "the roster of edition " + std::to_string(view.roster.edition) + " follows none");
    if (next) report_.hit(Probe::roster_changed);
    for (const NodeId node : before->members) {
      if (next && !view.roster.contains(node)) report_.hit(Probe::removed_from_the_roster);
      if (next && view.roster.is_drained(node)) report_.hit(Probe::left_when_drained);
    }
  }
  const auto was_drained = [&](NodeId node) { return before != nullptr && before->roster.is_drained(node); };
  for (const NodeAddress& each : view.roster.nodes) {
    if (was_drained(each.node) && view.roster.admits(each.node)) report_.hit(Probe::let_in_again);
  }
  if (before != nullptr && !before->rank_of(starts_.at(process).node) && !std::ranges::all_of(view.members, knows))
    report_.hit(Probe::found_by_a_notice);
  for (auto& [other, start] : starts_) start.unlisted |= !view.roster.admits(start.node);
  const auto over = [&](const RosterChange& wish) {
    return in_effect(view.roster, wish) || !check(view.roster, wish, view.members);
  };
  if (const auto own = wishes_.find(process); own != wishes_.end()) std::erase_if(own->second, over);
}

bool Rosters::finds(std::uint32_t process, const View& view,
                    const std::function<std::optional<std::string>(NodeId)>& endpoint_of_member) const {
  const Start& start = starts_.at(process);
  if (!view.roster.admits(start.node)) return false;
  const auto is_at = [&](const Roster& roster, NodeId member) {
    const NodeAddress* const known = roster.find(member);
    return known != nullptr && endpoint_of_member(member) == known->endpoint;
  };
  const bool present = plan_.founded_by == views::FoundedBy::present;  // it finds whoever is there
  return (present || std::ranges::any_of(view.members, [&](NodeId member) { return is_at(start.file, member); })) &&
         std::ranges::all_of(view.members, [&](NodeId member) { return is_at(view.roster, member); });
}

std::optional<std::string> Rosters::open_wish(std::uint32_t process) const {
  const auto own = wishes_.find(process);
  if (own == wishes_.end() || own->second.empty()) return std::nullopt;
  const RosterChange& wish = own->second.front();
  constexpr const char* kinds[] = {"added", "removed", "moved", "drained", "let in again"};
  return "wants node " + std::to_string(wish.node.value()) + " " + kinds[static_cast<std::size_t>(wish.kind)] +
         ", which is neither granted nor impossible";
}

}  // namespace spindrift::sim
