// Keeping deliveries for later.
#include <spindrift/views/kept_deliveries.hpp>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include <spindrift/core/bytes.hpp>

namespace spindrift::views {
namespace {

constexpr std::size_t batch_max = 512;
constexpr std::uint64_t is_message = 1;
constexpr std::uint64_t is_boundary = 2;
/// Before every delivery, whose payload follows, and every boundary, whose lists of nodes do, as 32-bit words.
struct Head {
  std::uint64_t kind = 0;
  std::uint64_t view = 0;
  std::uint64_t bytes = 0;  ///< that follow
  // A delivery has these:
  std::uint64_t sender = 0;
  std::uint64_t sender_rank = 0;
  std::uint64_t index = 0;
  std::uint64_t sequence = 0;
  // A boundary has this:
  std::uint64_t senders = 0;  ///< how many nodes are of the first list; the others began anew
};
static_assert(sizeof(Head) == 64);

std::uint64_t list_bytes(const ObjectBoundary& boundary) noexcept {
  return (boundary.senders.size() + boundary.began_anew.size()) * sizeof(NodeId);
}

// A member that has the state is in the subgroup, or that is inadequate, so its boundaries are right for the newcomer, too.
std::optional<ObjectBoundary> boundary_of(const Head& head, ByteReader lists) {
  const std::uint64_t nodes = lists.rest().size() / sizeof(NodeId);
  if (lists.rest().size() % sizeof(NodeId) != 0 || head.senders > nodes) return std::nullopt;
  ObjectBoundary boundary{.view = ViewId(head.view), .here = true, .senders = {}, .began_anew = {}};
  for (std::uint64_t i = 0; i < nodes; ++i)
    (i < head.senders ? boundary.senders : boundary.began_anew).push_back(lists.get<NodeId>());
  return boundary;
}

}  // namespace

std::uint64_t KeptDeliveries::bytes_of(const Kept& kept) noexcept {
  if (const auto* const message = std::get_if<Message>(&kept)) return sizeof kept + message->bytes.size();
  return sizeof kept + list_bytes(*std::get_if<ObjectBoundary>(&kept));
}

void KeptDeliveries::count(const Kept& kept) noexcept {
  bytes_ += bytes_of(kept);
  deliveries_ += std::holds_alternative<Message>(kept) ? 1 : 0;
}

void KeptDeliveries::push(Kept kept) {
  count(kept);
  kept_.push_back(std::move(kept));
}

void KeptDeliveries::pop() noexcept {
  bytes_ -= bytes_of(kept_.front());
  deliveries_ -= std::holds_alternative<Message>(kept_.front()) ? 1 : 0;
  kept_.pop_front();
}

KeptDeliveries::Message KeptDeliveries::copy_of(const Delivery& delivery) {
  Message message{delivery, {delivery.payload.begin(), delivery.payload.end()}};
  message.delivery.payload = message.bytes;
  return message;
}

void KeptDeliveries::keep(std::span<const Delivery> batch) {
  for (const Delivery& delivery : batch) push(copy_of(delivery));
}

void KeptDeliveries::keep(ObjectBoundary boundary) { push(std::move(boundary)); }

void KeptDeliveries::drop_deliveries() {
  std::deque<Kept> all = std::exchange(kept_, {});
  bytes_ = 0;
  deliveries_ = 0;
  for (Kept& kept : all) {
    if (std::holds_alternative<ObjectBoundary>(kept)) push(std::move(kept));
  }
}

std::uint64_t KeptDeliveries::count_of(NodeId sender) const {
  const auto is_its = [&](const Kept& kept) {
    const auto* const message = std::get_if<Message>(&kept);
    return message != nullptr && message->delivery.sender == sender;
  };
  return static_cast<std::uint64_t>(std::count_if(kept_.begin(), kept_.end(), is_its));
}

void KeptDeliveries::pass_boundaries(SubgroupId id, Upcalls& to) {
  while (!kept_.empty() && !to.busy(id)) {
    const auto* const boundary = std::get_if<ObjectBoundary>(&kept_.front());
    if (boundary == nullptr) return;
    to.on_boundary(id, *boundary);
    pop();
  }
}

bool KeptDeliveries::flush(SubgroupId id, Upcalls& to) {
  pass_boundaries(id, to);
  if (loading() || !to.accepts(id)) return false;
  state_ = State::settled;
  if (empty()) return false;
  batch_.clear();
  for (const Kept& kept : kept_) {
    const auto* const message = std::get_if<Message>(&kept);
    if (message == nullptr || batch_.size() == batch_max) break;
    batch_.push_back(message->delivery);
  }
  to.on_delivery(id, batch_);
  for (std::size_t i = 0; i < batch_.size(); ++i) pop();
  pass_boundaries(id, to);
  return true;
}

std::vector<std::byte> KeptDeliveries::encode() const {
  ByteWriter writer;
  for (const Kept& kept : kept_) {
    if (const auto* const message = std::get_if<Message>(&kept)) {
      const Delivery& delivery = message->delivery;
      writer.put(Head{.kind = is_message,
                      .view = delivery.view.value(),
                      .bytes = message->bytes.size(),
                      .sender = delivery.sender.value(),
                      .sender_rank = delivery.sender_rank.value(),
                      .index = delivery.index.value(),
                      .sequence = delivery.sequence.value()});
      writer.put_bytes(message->bytes);
    } else if (writer.size() > 0) {
      const auto& boundary = *std::get_if<ObjectBoundary>(&kept);
      writer.put(Head{.kind = is_boundary,
                      .view = boundary.view.value(),
                      .bytes = list_bytes(boundary),
                      .senders = boundary.senders.size()});
      for (const auto* const nodes : {&boundary.senders, &boundary.began_anew})
        writer.put_bytes(std::as_bytes(std::span(*nodes)));
    }
  }
  return writer.take();
}

bool KeptDeliveries::prepend(std::span<const std::byte> bytes) {
  std::deque<Kept> earlier;
  for (ByteReader reader(bytes); !reader.complete();) {
    const auto head = reader.get<Head>();
    const auto payload = reader.get_bytes(head.bytes);
    if (!reader.ok()) return false;
    if (head.kind == is_boundary) {
      auto boundary = boundary_of(head, ByteReader(payload));
      if (!boundary) return false;
      earlier.emplace_back(std::move(*boundary));
      continue;
    }
    if (head.kind != is_message || head.sender > 0xffffffff || head.sender_rank > 0xffffffff) return false;
    earlier.emplace_back(copy_of({NodeId(static_cast<std::uint32_t>(head.sender)),
                                  SenderRank(static_cast<std::uint32_t>(head.sender_rank)),
                                  MessageIndex(head.index),
                                  SequenceNumber(head.sequence),
                                  payload,
                                  ViewId(head.view)}));
  }
  for (const Kept& kept : earlier) count(kept);
  std::move(kept_.begin(), kept_.end(), std::back_inserter(earlier));
  kept_ = std::move(earlier);
  return true;
}

}  // namespace spindrift::views
