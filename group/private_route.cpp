// The present view and the connections say how a member is reached.
#include <spindrift/group/private_route.hpp>

namespace spindrift::group {

// A member takes private messages of those that are in its own view. One that is said to be ready has installed this view,
// or a later one.
PrivateRoute private_route(const views::Member& from, NodeId to) {
  using Way = PrivateRoute::Way;
  const views::Epoch* const present = from.epoch();
  const bool ended = from.state() == views::MemberState::left || from.state() == views::MemberState::failed;
  if (present == nullptr || ended) return {};
  const auto rank = present->view().rank_of(to);
  if (!rank || present->change().suspected().contains(*rank)) return {};
  const auto other = from.links().peers().connection_of(to);
  if (!other || !views::rank_of(present->view(), other->who)) return {Way::shut};
  return {present->change().ready(*rank) ? Way::open : Way::shut, other->id};
}

}  // namespace spindrift::group
