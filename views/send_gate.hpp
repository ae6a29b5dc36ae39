// The gate between application threads and the ring of the present view. Rings come and go with views; a thread that is
// inside keeps the ring that it found alive until it comes out.
//
// The invariant to remember: a thread says that it is inside before it looks which ring is open, the poller closes before it
// looks who is inside, with a barrier between at both; so a closed gate with nobody inside stays empty, and every
// reservation made through it was committed or abandoned.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include <spindrift/core/asymmetric_barrier.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/smc/bulk_ring.hpp>
#include <spindrift/smc/send_ring.hpp>
#include <spindrift/views/send_claim.hpp>

namespace spindrift::views {

class SendGate {
 public:
  enum class Outcome : std::uint8_t {
    reserved,
    full,    ///< the window is full; space comes with deliveries
    closed,  ///< no view takes messages of this subgroup from here now
  };
  using Claim = SendClaim;

  SendGate() = default;
  SendGate(const SendGate&) = delete;
  SendGate& operator=(const SendGate&) = delete;

  // Any thread. `bytes` is at most the profile's `ring_payload_max`.
  [[nodiscard, gnu::always_inline]] Outcome reserve(std::uint64_t bytes, Claim& claim) noexcept;
  /// The same for a message larger than that, and not than the largest; by one thread at a time.
  [[nodiscard]] Outcome reserve_large(std::uint64_t bytes, Claim& claim) noexcept;
  void commit(const Claim& claim) noexcept;
  void abandon(const Claim& claim) noexcept;
  [[nodiscard]] bool is_open() const noexcept { return ring_.load(std::memory_order_seq_cst) != nullptr; }
  /// The open ring is at most half full, and so is its bulk ring. False: or the gate is closed.
  [[nodiscard]] bool half_free() noexcept;

  // The poller.
  /// `bulk`: of the same multicast; null if no message is large.
  void open(smc::SendRing& ring, smc::BulkRing* bulk = nullptr) noexcept {
    bulk_.store(bulk, std::memory_order_relaxed);
    ring_.store(&ring, std::memory_order_seq_cst);
  }
  /// Whether it was open. `vacated` means something only behind a heavy barrier.
  bool close() noexcept { return ring_.exchange(nullptr, std::memory_order_seq_cst) != nullptr; }
  /// Closed, and no thread is inside: no claim is out.
  [[nodiscard]] bool vacated() const noexcept;

 private:
  // Every thread of the process has a place to itself, as long as there are some, and counts there without an atomic
  // addition; the others share the last one.
  static constexpr std::uint32_t own_places = 15;
  static constexpr std::uint32_t shared_place = own_places;
  struct alignas(cache_line_bytes) Inside {
    std::atomic<std::uint64_t> claims{0};
  };
  class ThreadPlace;
  [[nodiscard]] static std::uint32_t own_place() noexcept;
  void come_in(std::uint32_t place) noexcept;
  void go_out(std::uint32_t place) noexcept;

  std::atomic<smc::SendRing*> ring_{nullptr};
  std::atomic<smc::BulkRing*> bulk_{nullptr};  // of the ring opened last
  std::array<Inside, own_places + 1> inside_;
};

// The path of every message, in the header so that it is one piece of code with its caller.

inline void SendGate::come_in(std::uint32_t place) noexcept {
  std::atomic<std::uint64_t>& claims = inside_[place].claims;
  if (place == shared_place) {
    claims.fetch_add(1, std::memory_order_relaxed);
  } else {
    claims.store(claims.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  light_barrier();
}

inline void SendGate::go_out(std::uint32_t place) noexcept {
  std::atomic<std::uint64_t>& claims = inside_[place].claims;
  if (place == shared_place) {
    claims.fetch_sub(1, std::memory_order_release);
  } else {
    claims.store(claims.load(std::memory_order_relaxed) - 1, std::memory_order_release);
  }
}

inline SendGate::Outcome SendGate::reserve(std::uint64_t bytes, Claim& claim) noexcept {
  if (!is_open()) return Outcome::closed;
  claim.place = own_place();
  claim.bulk = nullptr;
  come_in(claim.place);
  Outcome outcome = Outcome::closed;
  claim.ring = ring_.load(std::memory_order_seq_cst);
  if (claim.ring != nullptr) {
    outcome = Outcome::full;
    if (claim.ring->reserve(bytes, claim.reservation)) return Outcome::reserved;
  }
  go_out(claim.place);
  return outcome;
}

inline void SendGate::commit(const Claim& claim) noexcept {
  if (claim.bulk == nullptr) {
    claim.ring->commit(claim.reservation);
  } else {
    claim.bulk->commit(claim.reservation);
  }
  go_out(claim.place);
}

inline void SendGate::abandon(const Claim& claim) noexcept {
  if (claim.bulk == nullptr) {
    claim.ring->abandon(claim.reservation);
  } else {
    claim.bulk->abandon(claim.reservation);
  }
  go_out(claim.place);
}

}  // namespace spindrift::views
