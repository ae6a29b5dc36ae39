// Reading heads, and following objects.
#include <spindrift/views/object_tracker.hpp>

#include <algorithm>
#include <cstring>

namespace spindrift {

// The head is copied once out of memory that the sender may still write, and only the copy is used.
std::variant<ObjectTracker::Step, ObjectTracker::Plain, ObjectTracker::Fault> ObjectTracker::take(const Delivery& delivery) {
  Head head;
  if (delivery.payload.size() < head_bytes) return Fault{"a message without a head"};
  std::memcpy(&head, delivery.payload.data(), head_bytes);
  if (head.kind == static_cast<std::uint64_t>(Kind::message)) return Plain{delivery.payload.subspan(head_bytes)};
  if (head.kind == static_cast<std::uint64_t>(Kind::piece)) return take_piece(delivery, head);
  if (head.kind != static_cast<std::uint64_t>(Kind::withdrawn)) return Fault{"a head of unknown kind"};
  auto& objects = open_[delivery.sender];
  const auto found = objects.find(head.object);
  if (found == objects.end()) return Step{};
  const Open open = found->second;
  objects.erase(found);
  if (!open.handed_over) return Step{};
  return Step{{}, ObjectEnd{delivery.sender, head.object, ObjectEnd::Why::withdrawn, open.next}};
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

// Of an object with a gap nothing is handed over any more; it is remembered until its last piece.
ObjectTracker::Step ObjectTracker::skip_rest(NodeId sender, const Head& head, std::uint64_t length, Open& open,
                                             ObjectEnd::Why why) {
  Step step;
  const bool tell = open.handed_over || why == ObjectEnd::Why::met_midway;
  if (tell) step.end = ObjectEnd{sender, head.object, why, open.handed_over ? open.next : 0};
  open.handed_over = false;
  if (head.offset + length == head.total) open_[sender].erase(head.object);
  return step;
}

std::vector<ObjectEnd> ObjectTracker::on_view(const SubgroupView& subgroup, std::span<const NodeId> began_anew) {
  std::vector<ObjectEnd> ended;
  std::erase_if(open_, [&](const auto& of_sender) {
    const NodeId sender = of_sender.first;
    const bool anew = std::find(began_anew.begin(), began_anew.end(), sender) != began_anew.end();
    if (subgroup.sender_rank(sender) && !anew) return false;
    for (const auto& [object, open] : of_sender.second) {
      if (open.handed_over) ended.push_back({sender, object, ObjectEnd::Why::sender_gone, open.next});
    }
    return true;
  });
  return ended;
}

}  // namespace spindrift
