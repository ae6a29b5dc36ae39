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

const SubgroupView* View::in_layout(std::string_view name) const {
  const auto layout = of_layout();
  const auto at = std::ranges::find(layout, name, &SubgroupView::name);
  return at == layout.end() ? nullptr : &*at;
}

std::vector<SubgroupView> subgroups_of(const LayoutFunction& layout, const Roster& roster,
                                       const std::vector<NodeId>& members, const View* previous) {
  std::vector<SubgroupView> subgroups;
  if (previous == nullptr || previous->roster.added.empty()) {
    subgroups = layout(members, previous);
  } else {
    View shown = *previous;
    shown.subgroups.resize(previous->layout_count());
    shown.roster.added.clear();
    subgroups = layout(members, &shown);
  }
  set_ring_sizes(subgroups, roster.sizes);
  for (const AddedSubgroup& each : roster.added) {
    const std::size_t place = subgroups.size();
    const bool was_there = previous != nullptr && place < previous->subgroups.size() &&
                           !previous->subgroups[place].dropped;
    subgroups.push_back(in_view(each, members, was_there ? &previous->subgroups[place] : nullptr));
  }
  return subgroups;
}

}  // namespace spindrift
