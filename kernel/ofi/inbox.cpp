// Buffers go round: provider, owner, provider.
#include <spindrift/kernel/ofi/inbox.hpp>

#include <rdma/fi_errno.h>

#include <algorithm>

#include <spindrift/core/check.hpp>

namespace spindrift::kernel::ofi {
namespace {

constexpr unsigned place_bits = 25;
constexpr std::uint64_t place_mask = (std::uint64_t{1} << place_bits) - 1;

}  // namespace

void Inbox::start(fid_ep& endpoint, std::uint64_t life) {
  if (memory_ == nullptr) memory_ = std::make_unique_for_overwrite<std::byte[]>(buffer_bytes_ * places_.size());
  endpoint_ = &endpoint;
  life_ = life;
  std::fill(places_.begin(), places_.end(), With::nobody);
  waiting_.clear();
  for (auto place = static_cast<std::uint32_t>(places_.size()); place-- > 0;) waiting_.push_back(place);
}

bool Inbox::flush() {
  while (endpoint_ != nullptr && !waiting_.empty()) {
    const std::uint32_t place = waiting_.back();
    const auto refused = fi_recv(endpoint_, memory_.get() + place * buffer_bytes_, buffer_bytes_, nullptr, FI_ADDR_UNSPEC,
                                 encode({life_, place, true}));
    if (refused == -FI_EAGAIN) return true;
    if (refused != 0) return false;
    places_[place] = With::provider;
    waiting_.pop_back();
  }
  return true;
}

PhysicalEvent Inbox::received(std::uint32_t place, std::size_t bytes) {
  CHECK(place < places_.size() && places_[place] == With::provider);
  places_[place] = With::owner;
  PhysicalEvent event;
  event.kind = PhysicalEvent::Kind::received;
  event.id = life_ << place_bits | place;
  event.bytes = {memory_.get() + place * buffer_bytes_, std::min(bytes, buffer_bytes_)};
  return event;
}

void Inbox::spoiled(std::uint32_t place) {
  CHECK(place < places_.size() && places_[place] == With::provider);
  ++rejected_;
  places_[place] = With::nobody;
  waiting_.push_back(place);
}

void Inbox::give_back(std::uint64_t id) {
  if (id >> place_bits != life_) return;
  const auto place = static_cast<std::uint32_t>(id & place_mask);
  CHECK(place < places_.size() && places_[place] == With::owner);
  places_[place] = With::nobody;
  waiting_.push_back(place);
  static_cast<void>(flush());
}

}  // namespace spindrift::kernel::ofi
