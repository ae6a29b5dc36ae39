// Buffers go round: adapter, owner, adapter.
#include <spindrift/kernel/verbs/inbox.hpp>

#include <algorithm>
#include <utility>

#include <spindrift/core/check.hpp>

namespace spindrift::kernel::verbs {

Inbox::Inbox(const DeviceSizes& sizes, std::uint32_t life)
    : life_(life),
      buffer_bytes_(sizes.message_bytes_max),
      memory_(sizes.receive_buffers * sizes.message_bytes_max),
      places_(sizes.receive_buffers, With::nobody) {
  for (std::uint32_t place = 0; place < sizes.receive_buffers; ++place) free_.push_back(place);
}

std::vector<Inbox::Buffer> Inbox::take_free() {
  std::vector<Buffer> buffers;
  for (const std::uint32_t place : std::exchange(free_, {})) {
    places_[place] = With::adapter;
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data() + place * buffer_bytes_);
    buffers.push_back({place, address, static_cast<std::uint32_t>(buffer_bytes_), key_});
  }
  return buffers;
}

PhysicalEvent Inbox::received(std::uint32_t place, std::size_t bytes) {
  CHECK(place < places_.size() && places_[place] == With::adapter);
  places_[place] = With::owner;
  PhysicalEvent event;
  event.kind = PhysicalEvent::Kind::received;
  event.id = std::uint64_t{life_} << 32U | place;
  event.bytes = {memory_.data() + place * buffer_bytes_, std::min(bytes, buffer_bytes_)};
  return event;
}

void Inbox::spent(std::uint32_t place) {
  CHECK(place < places_.size() && places_[place] == With::adapter);
  places_[place] = With::nobody;
  free_.push_back(place);
}

void Inbox::give_back(std::uint64_t id) {
  if (id >> 32U != life_) return;
  const auto place = static_cast<std::uint32_t>(id);
  CHECK(place < places_.size() && places_[place] == With::owner);
  places_[place] = With::nobody;
  free_.push_back(place);
}

}  // namespace spindrift::kernel::verbs
