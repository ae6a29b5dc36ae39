// Buffers go round: adapter, owner, adapter.
#include <spindrift/kernel/receive_buffers.hpp>

#include <algorithm>

#include <spindrift/core/check.hpp>

namespace spindrift::kernel {

void ReceiveBuffers::start(std::uint32_t life) {
  if (memory_ == nullptr) memory_ = std::make_unique_for_overwrite<std::byte[]>(buffer_bytes_ * places_.size());
  life_ = life;
  std::fill(places_.begin(), places_.end(), With::nobody);
  free_.clear();
  for (std::uint32_t place = count(); place-- > 0;) free_.push_back(place);
}

std::optional<ReceiveBuffers::Buffer> ReceiveBuffers::next_free() const noexcept {
  if (free_.empty()) return std::nullopt;
  return Buffer{free_.back(), bytes_of(free_.back())};
}

void ReceiveBuffers::lend() noexcept {
  places_[free_.back()] = With::adapter;
  free_.pop_back();
}

std::vector<ReceiveBuffers::Buffer> ReceiveBuffers::lend_all() {
  std::vector<Buffer> lent;
  for (auto buffer = next_free(); buffer; buffer = next_free()) {
    lent.push_back(*buffer);
    lend();
  }
  return lent;
}

PhysicalEvent ReceiveBuffers::received(std::uint32_t place, std::size_t bytes) {
  CHECK(place < places_.size() && places_[place] == With::adapter);
  places_[place] = With::owner;
  PhysicalEvent event;
  event.kind = PhysicalEvent::Kind::received;
  event.id = std::uint64_t{life_} << 32U | place;
  event.bytes = bytes_of(place).first(std::min(bytes, buffer_bytes_));
  return event;
}

void ReceiveBuffers::spent(std::uint32_t place) {
  CHECK(place < places_.size() && places_[place] == With::adapter);
  places_[place] = With::nobody;
  free_.push_back(place);
}

void ReceiveBuffers::give_back(std::uint64_t id) {
  if (id >> 32U != life_) return;
  const auto place = static_cast<std::uint32_t>(id);
  CHECK(place < places_.size() && places_[place] == With::owner);
  places_[place] = With::nobody;
  free_.push_back(place);
}

}  // namespace spindrift::kernel
