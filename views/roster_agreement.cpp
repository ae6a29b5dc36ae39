// Proposals, and who holds them.
#include <spindrift/views/roster_agreement.hpp>

#include <algorithm>
#include <utility>

namespace spindrift::views {
namespace {

bool may_be_in(const Roster& roster, NodeId node) { return roster.nodes.empty() || roster.admits(node); }

}  // namespace

void RosterAgreement::request(std::span<const RosterChange> changes) {
  for (const RosterChange& change : changes) {
    const bool known = std::ranges::find(wanted_, change) != wanted_.end();
    if (!known && wanted_.size() < roster_count_max) wanted_.push_back(change);
  }
}

std::optional<Roster> RosterAgreement::propose() {
  if (held_.contains(self_)) return std::nullopt;
  Roster next = next_edition(view_.roster, wanted_, view_.members);
  if (next.edition == view_.roster.edition) return std::nullopt;
  held_.emplace(self_, Held{next.digest(), next});
  holders_ = RankSet::of(self_);
  return next;
}

bool RosterAgreement::hold(Rank from, Roster roster) {
  if (roster.edition != view_.roster.edition + 1 || held_.contains(from)) return false;
  const Digest digest = roster.digest();
  held_.emplace(from, Held{digest, std::move(roster)});
  return true;
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

bool RosterAgreement::may_join(NodeId node, const RankSet& staying) const {
  return may_be_in(agreed(staying) ? held_.at(self_).roster : view_.roster, node);
}

const Roster* RosterAgreement::held(const Digest& roster) const noexcept {
  const auto at = std::ranges::find_if(held_, [&](const auto& each) { return each.second.digest == roster; });
  return at == held_.end() ? nullptr : &at->second.roster;
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
