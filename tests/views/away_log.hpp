// A view of four nodes in which nobody has the log of the one subgroup, and what its members say of theirs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/views/log_claims.hpp>
#include <spindrift/views/versions.hpp>

namespace spindrift::views {

using Holders = std::vector<LogHolder>;

inline RankSet set_of(std::initializer_list<std::uint32_t> ranks) {
  RankSet set;
  for (const std::uint32_t rank : ranks) set.add(Rank(rank));
  return set;
}
inline LogHolder holder(std::uint32_t node, std::uint64_t incarnation) { return {NodeId(node), incarnation}; }

/// The first `most` nodes, but for those that were in the subgroup before, who stay.
inline LayoutFunction layout_of_most(std::size_t most) {
  return [most](const std::vector<NodeId>& members, const View* before) {
    SubgroupView orders;
    orders.name = "orders";
    orders.storage = SubgroupStorage::logged;
    orders.members = members;
    const auto was_in = [&](NodeId node) { return before != nullptr && before->subgroups[0].member_position(node); };
    std::stable_partition(orders.members.begin(), orders.members.end(), was_in);
    if (orders.members.size() > most) orders.members.resize(most);
    orders.senders = orders.members;
    return std::vector{orders};
  };
}

/// Nodes 0 … 3 as processes 100 … 103; the log of the first subgroup is with holders, and nobody has it.
inline View away(Holders holders, std::uint32_t version = logs_return_since) {
  View view;
  view.id = ViewId(7);
  for (std::uint32_t i = 0; i < 4; ++i) {
    view.members.emplace_back(i);
    view.incarnations.push_back(100 + i);
  }
  view.subgroups = layout_of_most(4)(view.members, nullptr);
  view.subgroups[0].members.clear();
  view.subgroups[0].senders.clear();
  view.subgroups[0].log_holders = std::move(holders);
  view.roster.version = version;
  return view;
}

struct Claims {
  explicit Claims(View of, const RankSet& having = {}) : view(std::move(of)), claims(view, loaded = {having}, &layout) {}
  void say(std::uint32_t node, std::uint64_t since, std::uint64_t version, std::uint64_t link = 7) {
    std::vector<KnownLog> logs;
    if (version > 0) logs = {{SubgroupId(0), {version, {{version, link}}}}};
    claims.hear(Rank(node), {{NodeId(node), 100 + node}, since, std::move(logs)});
  }
  /// Told so; the error, or "" if it is done.
  [[nodiscard]] std::string adopt(std::uint32_t from, bool force = true) {
    const auto told = claims.adopt(SubgroupId(0), NodeId(from), force);
    if (told) return {};
    kind = told.error().kind();
    return told.error().message();
  }
  [[nodiscard]] RankSet found() const { return claims.named() == nullptr ? RankSet() : (*claims.named())[0]; }

  View view;
  std::vector<RankSet> loaded;
  LayoutFunction layout = layout_of_most(4);
  LogClaims claims;
  ErrorKind kind = ErrorKind::bad_input;  ///< of the last error
};

}  // namespace spindrift::views
