// Files, wishes, and the rosters of views.
#include "rosters.hpp"

#include <algorithm>

#include <spindrift/views/roster_wishes.hpp>

namespace spindrift::sim {

std::optional<RosterChange::Kind> change_of(Action::Kind kind) noexcept {
  switch (kind) {
    case Action::Kind::add: return RosterChange::Kind::add;
    case Action::Kind::remove: return RosterChange::Kind::remove;
    case Action::Kind::move: return RosterChange::Kind::move;
    case Action::Kind::drain: return RosterChange::Kind::drain;
    case Action::Kind::undrain: return RosterChange::Kind::undrain;
    case Action::Kind::create: return RosterChange::Kind::create;
    case Action::Kind::drop: return RosterChange::Kind::drop;
    case Action::Kind::change: return RosterChange::Kind::change;
    case Action::Kind::resize: return RosterChange::Kind::resize;
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

RosterChange Rosters::wish_of(const Action& action, const Roster& now) const {
  RosterChange wish{.kind = *change_of(action.kind)};
  if (!is_of_subgroup(action.kind)) {
    wish.node = NodeId(action.other);
    const bool move = action.kind == Action::Kind::move;
    if (wish.has_endpoint()) wish.endpoint = move ? endpoint_at(action.count) : endpoint_of(action.other);
    return wish;
  }
  if (action.kind == Action::Kind::resize) {
    const SubgroupPlan& subgroup = plan_.subgroups[action.other];
    wish.sizes = {subgroup.name, subgroup.profile.ring_bytes << (action.count % 2), action.count};
    return wish;
  }
  wish.subgroup.name = "a" + std::to_string(action.other);
  if (action.kind == Action::Kind::drop) return wish;
  const SubgroupPlan& shape = plan_.subgroups.back();  // all that are created are alike
  wish.subgroup.mode = shape.mode;
  wish.subgroup.profile = shape.profile;
  for (std::uint32_t i = 0; i < plan_.nodes.size(); ++i) {
    if ((action.count >> i & 1) == 0) continue;
    (action.kind == Action::Kind::change ? wish.subgroup.senders : wish.subgroup.members).emplace_back(i);
  }
  if (action.kind == Action::Kind::change) {
    if (const AddedSubgroup* const there = now.find_added(wish.subgroup.name)) wish.subgroup.members = there->members;
    wish.subgroup.profile.window_messages = action.count >> window_shift;
    if (wish.subgroup.profile.window_messages % 2 == 1) wish.subgroup.profile.ring_bytes *= 2;
  }
  return wish;
}

bool Rosters::on_wish(std::uint32_t process, const RosterChange& change, const View& view) {
  if (!check(view.roster, change, view)) return false;
  if (!in_effect(view.roster, change)) wishes_[process].push_back(change);
  return true;
}

// V22: behind the layout's subgroups are those of the roster, each at its place as long as it is there; and between two at
// one place there is a view without either.
void Rosters::check_added(const View& view, const View* before, const Violate& violate) {
  const auto of_layout = static_cast<std::size_t>(std::ranges::count(plan_.subgroups, false, &SubgroupPlan::added));
  if (view.subgroups.size() != of_layout + view.roster.added.size())
    return violate("V22", "it has " + std::to_string(view.subgroups.size()) + " subgroups");
  if (view.subgroups.empty()) report_.hit(Probe::view_without_subgroups);
  for (std::size_t i = 0; i < view.roster.added.size(); ++i) {
    const AddedSubgroup& should = view.roster.added[i];
    const SubgroupView& is = view.subgroups[of_layout + i];
    const bool known = before != nullptr && i < before->roster.added.size();
    const AddedSubgroup was = known ? before->roster.added[i] : AddedSubgroup();
    if (is.name != should.name || is.dropped != should.name.empty() || (is.dropped && !is.members.empty()))
      return violate("V22", "its subgroup \"" + is.name + "\" is not that of the roster");
    const auto belongs = [&](NodeId node) {
      return should.members.empty() || std::ranges::find(should.members, node) != should.members.end();
    };
    for (const NodeId node : view.members) {
      if (!is.members.empty() && is.member_position(node).has_value() != belongs(node))
        violate("V22", "node " + std::to_string(node.value()) + " does not belong where it is");
    }
    if (!was.name.empty() && !should.name.empty() && !may_become(was, should))
      return violate("V22", "subgroup " + should.name + " took the place of " + was.name + " from one view to the next");
    if (was.name.empty() && !should.name.empty()) report_.hit(Probe::subgroup_created);
    if (!was.name.empty() && !should.name.empty() && was != should) report_.hit(Probe::subgroup_changed);
    if (known && was.name.empty() && !should.name.empty()) report_.hit(Probe::place_filled_again);
    if (!was.name.empty() && should.name.empty()) report_.hit(Probe::subgroup_dropped);
  }
  if (before != nullptr && view.roster.added.size() < before->roster.added.size())
    violate("V22", "it has fewer places than the one before");
}

bool Rosters::follows(const Roster& roster, const Roster& before) {
  if (roster == before) return true;
  Roster as_before = roster;
  as_before.edition = before.edition;
  return roster.edition == before.edition + 1 && as_before != before;
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
  check_added(view, before, violate);
  const auto knows = [&](NodeId node) { return starts_.at(process).file.contains(node); };
  if (before == nullptr && view.id == ViewId(0) && !std::ranges::all_of(view.members, knows))
    report_.hit(Probe::founded_beyond_a_file);
  if (before != nullptr) {
    const bool next = view.roster != before->roster;
    const std::string name = "the roster of edition " + std::to_string(view.roster.edition);
    if (!follows(view.roster, before->roster)) violate("V17", name + " follows none");
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
    return in_effect(view.roster, wish) || !check(view.roster, wish, view);
  };
  if (const auto own = wishes_.find(process); own != wishes_.end()) std::erase_if(own->second, over);
}

// V18: who removes itself goes with the roster that has it removed, unless somebody else has it go.
void Rosters::on_left(std::uint32_t process, const View& view, const Roster& with) {
  const NodeId node = starts_.at(process).node;
  const auto has_it_go = [node](const Action& action) {
    const auto change = change_of(action.kind);
    const bool strikes = change == RosterChange::Kind::remove || change == RosterChange::Kind::drain;
    const bool by_itself = NodeId(action.node) == node;
    return by_itself ? action.kind == Action::Kind::leave : strikes && NodeId(action.other) == node;
  };
  const auto own = wishes_.find(process);
  if (own == wishes_.end() || std::ranges::any_of(plan_.actions, has_it_go)) return;
  for (const RosterChange& wish : own->second) {
    if (!views::takes_out(wish, node) || in_effect(with, wish) || !check(with, wish, view)) continue;
    report_.violate("V18", "process " + std::to_string(process) + " left without the roster for which it had asked");
  }
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
  constexpr const char* kinds[] = {"added", "removed", "moved", "drained", "let in again", "created", "dropped", "changed",
                                   "resized"};
  const std::string& name = wish.kind == RosterChange::Kind::resize ? wish.sizes.subgroup : wish.subgroup.name;
  const std::string what = wish.is_of_subgroup() ? "subgroup " + name : "node " + std::to_string(wish.node.value());
  return "wants " + what + " " + kinds[static_cast<std::size_t>(wish.kind)] + ", which is neither granted nor impossible";
}

}  // namespace spindrift::sim
