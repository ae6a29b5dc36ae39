// Files, wishes, and the rosters of views.
#include "rosters.hpp"

#include <algorithm>

namespace spindrift::sim {

Roster Rosters::file_of(std::uint32_t node) const {
  Roster file;
  for (std::uint32_t i = 0; i < plan_.nodes.size(); ++i) {
    if (plan_.nodes[i].listed || i == node) file.nodes.push_back({NodeId(i), i == node ? endpoint_of(i) : endpoint_at(0)});
  }
  return file;
}

void Rosters::on_start(std::uint32_t process, std::uint32_t node, const std::vector<const Roster*>& running) {
  Start& start = starts_[process];
  start = {NodeId(node), !plan_.nodes[node].listed && running.empty(), file_of(node)};
  for (const Roster* const roster : running) start.unlisted |= !roster->contains(NodeId(node));
}

bool Rosters::on_wish(std::uint32_t process, const RosterChange& change, const Roster& roster) {
  if (!check(roster, change)) return false;
  if (!in_effect(roster, change)) wishes_[process].push_back(change);
  return true;
}

void Rosters::on_view(std::uint32_t process, const View& view, const View* before) {
  const auto violate = [&](const char* invariant, const std::string& what) {
    const std::string name = "process " + std::to_string(process) + ", view " + std::to_string(view.id.value());
    report_.violate(invariant, name + ": " + what);
  };
  for (const NodeId node : view.members) {
    if (!view.roster.contains(node)) violate("V16", "node " + std::to_string(node.value()) + " is not in the roster");
  }
  if (before != nullptr) {
    const bool same = view.roster == before->roster;
    const bool next = view.roster.edition == before->roster.edition + 1 && view.roster.nodes != before->roster.nodes;
    if (!same && !next) violate("V17", "the roster of edition " + std::to_string(view.roster.edition) + " follows none");
    if (next) report_.hit(Probe::roster_changed);
    for (const NodeId node : before->members) {
      if (next && !view.roster.contains(node)) report_.hit(Probe::removed_from_the_roster);
    }
  }
  const auto knows = [&](NodeId node) { return starts_.at(process).file.contains(node); };
  if (before != nullptr && !before->rank_of(starts_.at(process).node) && !std::ranges::all_of(view.members, knows))
    report_.hit(Probe::found_by_a_notice);
  for (auto& [other, start] : starts_) start.unlisted |= !view.roster.contains(start.node);
  const auto over = [&](const RosterChange& wish) { return in_effect(view.roster, wish) || !check(view.roster, wish); };
  if (const auto own = wishes_.find(process); own != wishes_.end()) std::erase_if(own->second, over);
}

bool Rosters::finds(std::uint32_t process, const View& view,
                    const std::function<std::optional<std::string>(NodeId)>& endpoint_of_member) const {
  const Start& start = starts_.at(process);
  if (!view.roster.contains(start.node)) return false;
  const auto is_at = [&](const Roster& roster, NodeId member) {
    const NodeAddress* const known = roster.find(member);
    return known != nullptr && endpoint_of_member(member) == known->endpoint;
  };
  return std::ranges::any_of(view.members, [&](NodeId member) { return is_at(start.file, member); }) &&
         std::ranges::all_of(view.members, [&](NodeId member) { return is_at(view.roster, member); });
}

std::optional<std::string> Rosters::open_wish(std::uint32_t process) const {
  const auto own = wishes_.find(process);
  if (own == wishes_.end() || own->second.empty()) return std::nullopt;
  const RosterChange& wish = own->second.front();
  constexpr const char* kinds[] = {"added", "removed", "moved"};
  return "wants node " + std::to_string(wish.node.value()) + " " + kinds[static_cast<std::size_t>(wish.kind)] +
         ", which is neither granted nor impossible";
}

}  // namespace spindrift::sim
