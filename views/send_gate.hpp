// The door between application threads and the ring of the present view. Rings come and go with views; a thread that is
// inside keeps the ring that it found alive until it comes out.
//
// The invariant to remember: a thread says that it is inside before it looks which ring is open, the poller closes before it
// looks who is inside, both in one total order; so a closed gate with nobody inside stays empty, and every reservation made
// through it was committed or abandoned.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include <spindrift/core/ids.hpp>
#include <spindrift/smc/send_ring.hpp>

namespace spindrift::views {

class SendGate {
 public:
  enum class Outcome : std::uint8_t {
    reserved,
    full,    ///< the window is full; space comes with deliveries
    closed,  ///< no view takes messages of this subgroup from here now
  };
  /// Space for one message. Commit or abandon it soon, on any thread: later messages, and a change of the view, wait for it.
  struct Claim {
    smc::Reservation reservation;
    smc::SendRing* ring = nullptr;
    std::uint32_t shard = 0;
  };

  SendGate() = default;
  SendGate(const SendGate&) = delete;
  SendGate& operator=(const SendGate&) = delete;

  // Any thread. `bytes` is at most the profile's largest message.
  [[nodiscard]] Outcome reserve(std::uint64_t bytes, Claim& claim) noexcept;
  void commit(const Claim& claim) noexcept;
  void abandon(const Claim& claim) noexcept;
  [[nodiscard]] bool is_open() const noexcept { return ring_.load(std::memory_order_seq_cst) != nullptr; }
  /// The open ring is at most half full.
  [[nodiscard]] bool half_free() const noexcept;

  // The poller.
  void open(smc::SendRing& ring) noexcept { ring_.store(&ring, std::memory_order_seq_cst); }
  void close() noexcept { ring_.store(nullptr, std::memory_order_seq_cst); }
  /// Closed, and no thread is inside: no claim is out.
  [[nodiscard]] bool vacated() const noexcept;

 private:
  // Threads spread over counters of their own lines, so that coming and going costs no line that others write.
  static constexpr std::uint32_t shards = 8;
  struct alignas(cache_line_bytes) Inside {
    std::atomic<std::uint64_t> threads{0};
  };
  [[nodiscard]] static std::uint32_t own_shard() noexcept;

  std::atomic<smc::SendRing*> ring_{nullptr};
  std::array<Inside, shards> inside_;
};

}  // namespace spindrift::views
