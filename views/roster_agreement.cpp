// Proposals, and who holds them.
#include <spindrift/views/roster_agreement.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

#include <spindrift/views/roster_wishes.hpp>

namespace spindrift::views {
namespace {

// A subgroup stays at its place, and keeps what it may not change, until it is dropped; none takes the name of one of the
// layout; and those of the layout keep to sizes in which there is room for their messages.
bool keeps_places(const View& view, const Roster& next) {
  const std::vector<AddedSubgroup>& now = view.roster.added;
  if (next.added.size() < now.size()) return false;
  if (next.sizes.size() != view.roster.sizes.size() || (!next.sizes.empty() && !fit(next.sizes, view.of_layout())))
    return false;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const bool stays = !now[i].name.empty() && !next.added[i].name.empty();
    if (stays && !may_become(now[i], next.added[i])) return false;
  }
  return std::ranges::none_of(next.added, [&](const AddedSubgroup& each) {
    return !each.name.empty() && view.in_layout(each.name) != nullptr;
  });
}

bool may_be_in(const Roster& roster, NodeId node) { return roster.nodes.empty() || roster.admits(node); }

}  // namespace

void RosterAgreement::request(Rank by, std::span<const RosterChange> changes) {
  for (const RosterChange& change : changes) {
    if (takes_out(change, view_.members[by.value()])) removers_.add(by);
    const bool known = std::ranges::find(wanted_, change) != wanted_.end();
    if (!known && wanted_.size() < roster_changes_max) wanted_.push_back(change);
  }
}

bool RosterAgreement::on_file(Rank from, std::vector<RingSizes> sizes) {
  if (!fit(sizes, view_.of_layout())) return false;
  files_.insert_or_assign(from, std::move(sizes));
  return true;
}

// One member whose file still says what it said before, or says nothing yet, is enough that it stays as it is.
const std::vector<RingSizes>* RosterAgreement::alike_in_all_files() const {
  const auto differs = [this](const auto& each) { return each.second != files_.begin()->second; };
  const bool all = !files_.empty() && files_.size() == view_.members.size();
  return all && std::ranges::none_of(files_, differs) ? &files_.begin()->second : nullptr;
}

std::optional<Roster> RosterAgreement::propose(std::uint32_t spoken) {
  if (held_.contains(self_)) return std::nullopt;
  Roster next = next_edition(view_.roster, wanted_, view_);
  const std::vector<RingSizes>* const sizes = alike_in_all_files();
  if (sizes != nullptr && next.filed != Digest()) {
    next.sizes = *sizes;
    next.filed = digest_of(*sizes);
    next.edition = view_.roster.edition + 1;
  }
  if (spoken > view_.roster.version) {
    next.version = spoken;
    next.edition = view_.roster.edition + 1;
  }
  if (next.edition == view_.roster.edition) return std::nullopt;
  keep(self_, next);
  return next;
}

bool RosterAgreement::hold(Rank from, Roster roster) {
  if (!keeps_places(view_, roster) || roster.version < view_.roster.version) return false;
  if (roster.edition != view_.roster.edition + 1 || held_.contains(from)) return false;
  keep(from, std::move(roster));
  return true;
}

void RosterAgreement::keep(Rank from, Roster roster) {
  for (std::uint32_t i = 0; i < view_.members.size(); ++i) {
    if (!may_be_in(roster, view_.members[i])) (from == self_ ? struck_ : struck_by_others_).add(Rank(i));
  }
  const Digest digest = roster.digest();
  held_.emplace(from, Held{digest, std::move(roster)});
}

void RosterAgreement::on_held(Rank from, const Digest& roster) {
  const auto own = held_.find(self_);
  if (own != held_.end() && own->second.digest == roster) holders_.add(from);
}

std::optional<Digest> RosterAgreement::agreed(const RankSet& staying) const {
  const auto own = held_.find(self_);
  if (own == held_.end() || staying.empty() || !holders_.includes(staying)) return std::nullopt;
  for (std::uint32_t i = 0; i < view_.members.size(); ++i) {
    if (staying.contains(Rank(i)) && !own->second.roster.admits(view_.members[i])) return std::nullopt;
  }
  return own->second.digest;
}

RankSet RosterAgreement::bound() const noexcept {
  RankSet bound = struck_.without(struck_.without(removers_));
  bound.add(struck_by_others_);
  return bound;
}

bool RosterAgreement::may_join(NodeId node, const Versions& speaks, const RankSet& staying) const {
  const Roster& next = agreed(staying) ? held_.at(self_).roster : view_.roster;
  return may_be_in(next, node) && (next.version == 0 || speaks.speaks(next.version));
}

const Roster* RosterAgreement::held(const Digest& roster) const noexcept {
  const auto at = std::ranges::find_if(held_, [&](const auto& each) { return each.second.digest == roster; });
  return at == held_.end() ? nullptr : &at->second.roster;
}

std::vector<SubgroupId> dropped_by(const View& view, const Roster& next) {
  std::vector<SubgroupId> dropped;
  for (std::size_t i = 0; i < view.roster.added.size() && i < next.added.size(); ++i) {
    if (view.roster.added[i].name.empty() || !next.added[i].name.empty()) continue;
    dropped.emplace_back(static_cast<std::uint32_t>(view.layout_count() + i));
  }
  return dropped;
}

std::vector<SubgroupId> silenced_by(const View& view, const Roster& next, NodeId self) {
  std::vector<SubgroupId> silenced = dropped_by(view, next);
  for (std::size_t i = 0; i < view.roster.added.size() && i < next.added.size(); ++i) {
    const std::size_t place = view.layout_count() + i;
    if (next.added[i].name.empty() || !view.subgroups[place].sender_rank(self)) continue;
    if (in_view(next.added[i], {self}, nullptr).senders.empty()) silenced.emplace_back(static_cast<std::uint32_t>(place));
  }
  return silenced;
}

bool RosterAgreement::admits(const Decree& decree) const noexcept {
  const Roster* const roster = next(decree);
  if (roster == nullptr) return false;
  for (std::uint32_t i = 0; i < view_.members.size(); ++i) {
    if (decree.stays(Rank(i)) && !may_be_in(*roster, view_.members[i])) return false;
  }
  return std::ranges::all_of(decree.joins, [&](const Join& join) { return may_be_in(*roster, join.node); });
}

}  // namespace spindrift::views
