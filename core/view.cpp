// Look-ups in a view.
#include <spindrift/core/view.hpp>

#include <algorithm>

namespace spindrift {
namespace {

std::optional<std::uint32_t> position(const std::vector<NodeId>& nodes, NodeId node) {
  const auto found = std::find(nodes.begin(), nodes.end(), node);
  if (found == nodes.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - nodes.begin());
}

}  // namespace

std::optional<std::uint32_t> SubgroupView::member_position(NodeId node) const { return position(members, node); }

std::optional<SenderRank> SubgroupView::sender_rank(NodeId node) const {
  const auto at = position(senders, node);
  return at ? std::optional(SenderRank(*at)) : std::nullopt;
}

std::optional<Rank> View::rank_of(NodeId node) const {
  const auto at = position(members, node);
  return at ? std::optional(Rank(*at)) : std::nullopt;
}

}  // namespace spindrift
