// A sender's ring for large messages: memory beside the row, from which a message takes one piece, in the order of its
// record in the row's ring. The record holds a descriptor of two words, so a large message is ordered, counted, delivered
// and sent again like any other.
//
// The invariant to remember: pieces are taken and given back in the order of their records, so one position says what is
// free. A piece is given back when every member has delivered its message, and by then everybody who handed it on is done.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include <spindrift/smc/record.hpp>
#include <spindrift/smc/send_ring.hpp>

namespace spindrift::smc {

class BulkRing {
 public:
  /// `memory` is `bulk_ring_bytes` of a profile, page aligned; it and `ring`, the row's, outlive this object.
  BulkRing(std::span<std::byte> memory, SendRing& ring, std::uint64_t message_bytes_max);

  /// Space for a payload of `bytes`, 1 to the profile's `message_bytes_max` (CHECKed), at a multiple of 64 bytes, and a
  /// record for it; or nothing if either ring is full. By one thread at a time, beside any number in the row's ring.
  [[nodiscard]] std::optional<Reservation> reserve(std::uint64_t bytes) noexcept;
  /// Publishes the message to the poller. Any thread.
  void commit(const Reservation& reservation) noexcept { ring_.commit_as(reservation, RecordKind::large, descriptor_bytes); }
  /// Gives the reservation up: it travels as a null. Any thread.
  void abandon(const Reservation& reservation) noexcept {
    ring_.commit_as(reservation, RecordKind::large_abandoned, descriptor_bytes);
  }

  /// The poller: everything before this position in the stream may be taken again.
  void release(std::uint64_t end) noexcept;
  /// The position in the stream up to which space was given back; the poller.
  [[nodiscard]] std::uint64_t released() const noexcept { return free_.load(std::memory_order_relaxed); }
  /// How much is in use: 1 to 100, 0 for nothing at all. The poller.
  [[nodiscard]] std::uint64_t used_percent() const noexcept {
    return (100 * (tail_.load(std::memory_order_relaxed) - released()) + bytes_ - 1) / bytes_;
  }
  /// At most half is in use.
  [[nodiscard]] bool half_free() const noexcept;
  /// The ring that holds the descriptors.
  [[nodiscard]] const SendRing* records() const noexcept { return &ring_; }

 private:
  std::byte* memory_;
  std::uint64_t bytes_;
  std::uint64_t message_bytes_max_;
  SendRing& ring_;
  std::atomic<std::uint64_t> tail_{0};                            // who reserves writes
  alignas(cache_line_bytes) std::atomic<std::uint64_t> free_{0};  // the poller writes
};

}  // namespace spindrift::smc
