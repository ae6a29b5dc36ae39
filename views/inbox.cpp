// Keeping deliveries for later.
#include <spindrift/views/inbox.hpp>

#include <algorithm>
#include <array>
#include <cstring>

namespace spindrift::views {
namespace {

constexpr std::size_t batch_max = 512;
/// sender, sender rank, index, sequence, view, payload bytes
using Head = std::array<std::uint64_t, 6>;

}  // namespace

void Inbox::keep(std::span<const Delivery> batch) {
  for (const Delivery& delivery : batch) {
    Kept kept{delivery, {delivery.payload.begin(), delivery.payload.end()}};
    kept.delivery.payload = kept.bytes;
    bytes_ += kept.bytes.size() + sizeof(Kept);
    kept_.push_back(std::move(kept));
  }
}

void Inbox::clear() noexcept {
  kept_.clear();
  bytes_ = 0;
}

std::uint64_t Inbox::count_of(NodeId sender) const {
  const auto is_its = [&](const Kept& kept) { return kept.delivery.sender == sender; };
  return static_cast<std::uint64_t>(std::count_if(kept_.begin(), kept_.end(), is_its));
}

bool Inbox::flush(SubgroupId id, smc::DeliverySink& to) {
  if (loading_ || kept_.empty() || !to.accepts(id)) return false;
  batch_.clear();
  const std::size_t count = std::min(kept_.size(), batch_max);
  for (std::size_t i = 0; i < count; ++i) batch_.push_back(kept_[i].delivery);
  to.on_delivery(id, batch_);
  for (std::size_t i = 0; i < count; ++i) {
    bytes_ -= kept_.front().bytes.size() + sizeof(Kept);
    kept_.pop_front();
  }
  return true;
}

std::vector<std::byte> Inbox::encode() const {
  std::vector<std::byte> bytes;
  for (const Kept& kept : kept_) {
    const Delivery& delivery = kept.delivery;
    const Head head{delivery.sender.value(), delivery.sender_rank.value(), delivery.index.value(), delivery.sequence.value(),
                    delivery.view.value(), kept.bytes.size()};
    const auto raw = std::as_bytes(std::span(head));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
    bytes.insert(bytes.end(), kept.bytes.begin(), kept.bytes.end());
  }
  return bytes;
}

bool Inbox::prepend(std::span<const std::byte> bytes) {
  std::deque<Kept> earlier;
  while (!bytes.empty()) {
    Head head;
    if (bytes.size() < sizeof head) return false;
    std::memcpy(head.data(), bytes.data(), sizeof head);
    bytes = bytes.subspan(sizeof head);
    if (head[0] > 0xffffffff || head[1] > 0xffffffff || head[5] > bytes.size()) return false;
    const auto payload = bytes.first(head[5]);
    bytes = bytes.subspan(head[5]);
    Kept kept{{NodeId(static_cast<std::uint32_t>(head[0])),
               SenderRank(static_cast<std::uint32_t>(head[1])),
               MessageIndex(head[2]),
               SequenceNumber(head[3]),
               {},
               ViewId(head[4])},
              {payload.begin(), payload.end()}};
    kept.delivery.payload = kept.bytes;
    bytes_ += kept.bytes.size() + sizeof(Kept);
    earlier.push_back(std::move(kept));
  }
  for (Kept& kept : kept_) earlier.push_back(std::move(kept));
  kept_ = std::move(earlier);
  return true;
}

}  // namespace spindrift::views
