// Composing a decree of what the rows say.
#include <spindrift/views/compose.hpp>

#include <algorithm>

namespace spindrift::views {
namespace {

// A member with which the last of a subgroup's state would go stays if somebody comes in that can get it from there; it
// leaves when it has given it in the next view. A newcomer is not kept that has no connection with who stays for that.
void keep_last_holders(Decree& decree, const View& view, const std::vector<Candidate>& candidates) {
  for (const RankSet& loaded : decree.loaded) {
    if (loaded.empty() || !decree.left.includes(loaded)) continue;
    std::uint32_t giver = 0;
    while (!loaded.contains(Rank(giver))) ++giver;
    const auto can_get = [&](const Join& join) {
      const auto is_linked = [&](const Candidate& each) {
        return each.who == join && each.linked.contains(Rank(giver));
      };
      return join.node != view.members[giver] && std::any_of(candidates.begin(), candidates.end(), is_linked);
    };
    if (std::none_of(decree.joins.begin(), decree.joins.end(), can_get)) continue;
    decree.left = decree.left.without(RankSet::of(Rank(giver)));
    std::erase_if(decree.joins, [&](const Join& join) { return !can_get(join); });
  }
}

// A member that is bound to a roster which the decree does not name stays, and nobody comes in without a link with it.
void keep_bound(Decree& decree, const RankSet& bound, const std::vector<Candidate>& candidates) {
  const RankSet back = decree.left.without(decree.left.without(bound));
  decree.left = decree.left.without(bound);
  std::erase_if(decree.joins, [&](const Join& join) {
    return !std::ranges::find(candidates, join, &Candidate::who)->linked.includes(back);
  });
}

}  // namespace

Decree compose(const Composition& of, const std::vector<Candidate>& candidates) {
  Decree decree;
  decree.failed = of.failed;
  decree.left = of.leaving;
  const View& view = of.view;
  const std::size_t stay = view.members.size() - decree.failed.count();  // who leaves may have to stay, see below
  for (const Candidate& candidate : candidates) {
    const auto rank = view.rank_of(candidate.who.node);
    if (rank && decree.stays(*rank)) continue;
    if (decree.joins.size() < sst::joins_max && stay + decree.joins.size() < member_count_max)
      decree.joins.push_back(candidate.who);
  }
  for (std::uint32_t s = 0; s < view.subgroups.size(); ++s) {
    const SubgroupView& subgroup = view.subgroups[s];
    std::vector<std::uint64_t>& trim = decree.trim.emplace_back(subgroup.senders.size(), ~std::uint64_t{0});
    RankSet& loaded = decree.loaded.emplace_back();
    if (subgroup.members.empty()) loaded = of.loaded[s].without(of.failed);
    for (const NodeId node : subgroup.members) {
      const Rank rank = *view.rank_of(node);
      if (of.failed.contains(rank)) continue;
      const sst::SubgroupBlock& row = *of.table.layout(rank).subgroup(SubgroupId(s));
      const bool says_so = of.table.read(rank, row.loaded).equals(1);
      if (says_so || of.loaded[s].contains(rank)) loaded.add(rank);  // a view that never began has no words
      for (std::uint32_t sender = 0; sender < trim.size(); ++sender) {
        const auto received =
            of.table.read(rank, row.received_of + sender * sst::word_bytes).within(0, ~std::uint64_t{0});
        trim[sender] = std::min(trim[sender], received.value());  // can_deliver bounds what comes of it
      }
    }
    for (std::uint64_t& count : trim) count = count == ~std::uint64_t{0} ? 0 : count;
    if (loaded.empty() && of.logs_found != nullptr) loaded = (*of.logs_found)[s].without(of.failed).without(of.leaving);
  }
  keep_last_holders(decree, view, candidates);
  return decree;
}

Decree compose_with_roster(const Composition& of, const RosterAgreement& rosters, std::vector<Candidate> candidates) {
  const RankSet all = RankSet::first(of.view.members.size());
  const auto stranger = [&](const Candidate& each, const RankSet& stay) {
    return !rosters.may_join(each.who.node, each.speaks, stay);
  };
  const RankSet stay = all.without(of.failed).without(of.leaving);
  std::erase_if(candidates, [&](const Candidate& each) { return stranger(each, stay); });
  Decree decree = compose(of, candidates);
  decree.roster = rosters.agreed(all.without(decree.failed).without(decree.left));
  if (!decree.roster) keep_bound(decree, rosters.bound(), candidates);
  const RankSet kept = all.without(decree.failed).without(decree.left);
  std::erase_if(decree.joins, [&](const Join& join) {
    return stranger(*std::ranges::find(candidates, join, &Candidate::who), kept);
  });
  return decree;
}

}  // namespace spindrift::views
