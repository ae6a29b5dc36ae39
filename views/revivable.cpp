// Checks the word of those who run the group.
#include <spindrift/views/revivable.hpp>

#include <string>
#include <vector>

#include <spindrift/core/ids_text.hpp>
#include <spindrift/views/epoch.hpp>
#include <spindrift/views/links.hpp>
#include <spindrift/views/versions.hpp>
#include <spindrift/views/view_change.hpp>

namespace spindrift::views {
std::string nodes_in(const View& view, const RankSet& ranks) {
  std::vector<NodeId> nodes;
  for (std::uint32_t i = 0; i < view.members.size(); ++i) {
    if (ranks.contains(Rank(i))) nodes.push_back(view.members[i]);
  }
  return as_argument(nodes);
}

Revivable revivable(Epoch& present, const Links& links) {
  const View& view = present.view();
  Revivable about{view, present.change().suspected(), {}, present.change().mandate().next_attempt()};
  for (std::uint32_t i = 0; i < view.members.size(); ++i) {
    if (is_over(links, {view.members[i], view.incarnations[i]})) about.over.add(Rank(i));
  }
  return about;
}

RankSet majority_that_may_live(const Revivable& about, const RankSet& named) {
  const RankSet rest = RankSet::first(about.view.members.size()).without(named).without(about.over);
  return 2 * rest.count() <= about.view.members.size() ? RankSet() : rest;
}

Result<RankSet> named_to_go_on(const Revivable& about, Rank self, std::span<const NodeId> members, bool force) {
  const View& view = about.view;
  const RankSet all = RankSet::first(view.members.size());
  const RankSet here = all.without(about.suspected);
  const std::string way = "name those that are left: --members " + nodes_in(view, here);
  if (view.roster.version < revivals_since) {
    return Error(ErrorKind::unsupported, "the group speaks version " + std::to_string(view.roster.version) +
                                             " of the protocol, whose members revive no view")
        .fix("end what is left of it, start all with this release, and they found it anew");
  }
  if (about.attempt > revivals_max) {
    return Error(ErrorKind::unsupported, "this view was to be revived too often")
        .fix("end what is left of it, start all again, and they found it anew");
  }
  RankSet named;
  for (const NodeId node : members) {
    const auto rank = view.rank_of(node);
    const std::string who = "node " + std::to_string(node.value());
    if (!rank) return Error(ErrorKind::bad_argument, who + " is no member of the view that is lost").fix(way);
    if (named.contains(*rank)) return Error(ErrorKind::bad_argument, who + " is named twice").fix(way);
    if (about.suspected.contains(*rank))
      return Error(ErrorKind::bad_argument, who + " is named, and this member has parted from it").fix(way);
    named.add(*rank);
  }
  if (!named.contains(self)) {
    const std::string who = "node " + std::to_string(view.members[self.value()].value());
    return Error(ErrorKind::bad_argument, who + " is asked, and is not named itself").fix(way);
  }
  const RankSet rest = majority_that_may_live(about, named);
  if (force || rest.empty()) return named;
  return Error(ErrorKind::refused, "nodes " + nodes_in(view, rest) + " may live: they would be a majority of the " +
                                       std::to_string(view.members.size()) + " members, and may have gone on")
      .fix("see to them first. If they have ended, or must not go on, and cannot be reached: --force");
}

std::optional<Revival> hear_revival(ViewChange& change, Rank self, const Revival& word) {
  Mandate& mandate = change.mandate();
  const ViewChange::Standing standing = change.standing();
  const bool waits = standing == ViewChange::Standing::lost || standing == ViewChange::Standing::awaited;
  const bool takes = waits && word.members.contains(self) && word.members.disjoint(change.suspected());
  const Revival next{mandate.next_attempt(), word.members};
  const bool is_over = word.attempt < next.attempt && !mandate.names(word.members);
  const bool again = takes && is_over && next.attempt <= revivals_max;
  mandate.hear(again ? next : word);
  return again ? std::optional(next) : std::nullopt;
}

}  // namespace spindrift::views
