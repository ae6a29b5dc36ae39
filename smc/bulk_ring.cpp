// Pieces of the bulk ring, one behind another; what does not fit before the end begins at the start.
#include <spindrift/smc/bulk_ring.hpp>

#include <bit>

#include <spindrift/core/check.hpp>

namespace spindrift::smc {

BulkRing::BulkRing(std::span<std::byte> memory, SendRing& ring, std::uint64_t message_bytes_max)
    : memory_(memory.data()), bytes_(memory.size()), message_bytes_max_(message_bytes_max), ring_(ring) {
  CHECK(std::has_single_bit(bytes_) && bytes_ >= bulk_alignment);
  // A message and what is left out before it always fit into an empty ring.
  CHECK(2 * bulk_bytes(message_bytes_max_) <= bytes_);
}

// The tail moves only when the record was got too, so a full row's ring leaves no trace here.
std::optional<Reservation> BulkRing::reserve(std::uint64_t bytes) noexcept {
  SPINDRIFT_CHECK(bytes >= 1 && bytes <= message_bytes_max_);
  const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
  const std::uint64_t left = bytes_ - (tail & (bytes_ - 1));
  const std::uint64_t position = bulk_bytes(bytes) <= left ? tail : tail + left;
  const LargeDescriptor descriptor{position, bytes};
  if (descriptor.end() - free_.load(std::memory_order_acquire) > bytes_) return std::nullopt;

  auto reservation = ring_.reserve(descriptor_bytes);
  if (!reservation) return std::nullopt;
  tail_.store(descriptor.end(), std::memory_order_relaxed);
  store_release(reservation->payload.data(), descriptor.position);
  store_release(reservation->payload.data() + sizeof(std::uint64_t), descriptor.length);
  reservation->payload = {memory_ + descriptor.offset(bytes_), bytes};
  return reservation;
}

// Sequentially consistent: a thread about to wait for space either sees this or is seen waiting.
void BulkRing::release(std::uint64_t end) noexcept {
  SPINDRIFT_CHECK(end >= free_.load(std::memory_order_relaxed));
  free_.store(end, std::memory_order_seq_cst);
}

bool BulkRing::half_free() const noexcept {
  const std::uint64_t free = free_.load(std::memory_order_relaxed);
  return 2 * (tail_.load(std::memory_order_relaxed) - free) <= bytes_;
}

}  // namespace spindrift::smc
