// Reading heads, and following objects.
#include <spindrift/views/object_tracker.hpp>

#include <algorithm>

#include <spindrift/core/bytes.hpp>

namespace spindrift {

// The head is copied once out of memory that the sender may still write, and only the copy is used.
std::variant<ObjectTracker::Step, ObjectTracker::Plain, ObjectTracker::Fault> ObjectTracker::take(const Delivery& delivery) {
  const auto taken = field_at_front<Head>(delivery.payload);
  if (!taken) return Fault{"a message without a head"};
  const Head& head = *taken;
  if (head.kind == static_cast<std::uint64_t>(Kind::message)) return Plain{delivery.payload.subspan(head_bytes)};
  if (head.kind == static_cast<std::uint64_t>(Kind::piece)) return take_piece(delivery, head);
  if (head.kind != static_cast<std::uint64_t>(Kind::withdrawn)) return Fault{"a head of unknown kind"};
  auto& objects = open_[delivery.sender];
  const auto found = objects.find(head.object);
  if (found == objects.end()) return Step{};
  const Open open = found->second;
  objects.erase(found);
  Step step;
  step.end = end_of(delivery.sender, head.object, open, ObjectEnd::Why::withdrawn);
  return step;
}

std::optional<ObjectEnd> ObjectTracker::end_of(NodeId sender, std::uint64_t object, const Open& open, ObjectEnd::Why why) {
  if (!open.handed_over) return std::nullopt;
  return ObjectEnd{sender, object, why, open.next};
}

std::variant<ObjectTracker::Step, ObjectTracker::Plain, ObjectTracker::Fault> ObjectTracker::take_piece(
    const Delivery& delivery, const Head& head) {
  const auto bytes = delivery.payload.subspan(head_bytes);
  if (head.offset > head.total || bytes.size() > head.total - head.offset || (bytes.empty() && head.total != 0)) {
    return Fault{"a piece outside of its object"};
  }
  auto& objects = open_[delivery.sender];
  auto found = objects.find(head.object);
  if (found == objects.end()) {
    if (objects.size() == open_max) return Fault{"more objects at once than a member sends"};
    found = objects.emplace(head.object, Open{head.total, head.offset, head.offset == 0}).first;
    if (head.offset != 0) {
      return skip_rest(delivery.sender, head, bytes.size(), found->second, ObjectEnd::Why::met_midway);
    }
  }
  Open& open = found->second;
  if (head.total != open.total) return Fault{"an object that changes its size"};
  if (!open.handed_over || head.offset != open.next) {
    return skip_rest(delivery.sender, head, bytes.size(), open, ObjectEnd::Why::pieces_lost);
  }
  open.next += bytes.size();
  Step step;
  step.piece = ObjectPiece{delivery.sender, head.object, head.offset, head.total, bytes, delivery.view, delivery.sequence};
  if (open.next == open.total) {
    step.end = ObjectEnd{delivery.sender, head.object, ObjectEnd::Why::complete, open.total};
    objects.erase(found);
  }
  return step;
}

// Nothing is handed over any more of an object with a gap; it is remembered until its last piece.
ObjectTracker::Step ObjectTracker::skip_rest(NodeId sender, const Head& head, std::uint64_t length, Open& open,
                                             ObjectEnd::Why why) {
  Step step;
  const bool tell = open.handed_over || why == ObjectEnd::Why::met_midway;
  if (tell) step.end = ObjectEnd{sender, head.object, why, open.handed_over ? open.next : 0};
  open.handed_over = false;
  if (head.offset + length == head.total) open_[sender].erase(head.object);
  return step;
}

ObjectBoundary ObjectBoundary::of(const View& view, SubgroupId subgroup, NodeId self, std::span<const NodeId> joined) {
  const SubgroupView& now = view.subgroup(subgroup);
  const bool adequate = now.inadequate.empty();
  return {.view = view.id,
          .here = !now.dropped && (!adequate || now.member_position(self).has_value()),
          .senders = adequate ? now.senders : view.members,
          .began_anew = {joined.begin(), joined.end()}};
}

bool ObjectBoundary::lets_go_on(NodeId sender) const {
  const auto is_in = [sender](const std::vector<NodeId>& nodes) {
    return std::find(nodes.begin(), nodes.end(), sender) != nodes.end();
  };
  return is_in(senders) && !is_in(began_anew);
}

std::vector<ObjectEnd> ObjectTracker::on_view(const ObjectBoundary& boundary) {
  std::vector<ObjectEnd> ended;
  std::erase_if(open_, [&](const auto& of_sender) {
    const NodeId sender = of_sender.first;
    const bool goes_on = boundary.lets_go_on(sender);
    if (boundary.here && goes_on) return of_sender.second.empty();
    const ObjectEnd::Why why = goes_on ? ObjectEnd::Why::moved_out : ObjectEnd::Why::sender_gone;
    for (const auto& [object, open] : of_sender.second) {
      if (const auto end = end_of(sender, object, open, why)) ended.push_back(*end);
    }
    return true;
  });
  return ended;
}

std::size_t ObjectTracker::under_way() const noexcept {
  std::size_t count = 0;
  for (const auto& [sender, objects] : open_) count += objects.size();
  return count;
}

}  // namespace spindrift
