// A sender's byte ring: any number of application threads reserve space without a lock, build their message in place and
// commit; the poller picks up the committed prefix and, later, gives space back.
//
// The invariant to remember: one 64-bit word {record number, byte position} is reserved by compare-and-swap, so numbers and
// positions never disagree, and the same word, stored in the record's slot, says "committed up to here".
//
// Records lie one behind another and never wrap: what does not fit before the end of the ring starts again at its beginning,
// behind a padding record. Numbers in the packed word are taken modulo 2^24, positions in units of 8 bytes modulo 2^40; the
// window is far smaller than either, so differences are exact.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <spindrift/core/check.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/smc/record.hpp>
#include <spindrift/smc/reservation.hpp>

namespace spindrift::smc {

/// Bytes of the ring that became committed: one range, or two if they wrap.
struct CommittedRanges {
  struct Range {
    std::uint64_t offset = 0;  ///< from the ring's start
    std::uint64_t bytes = 0;
  };
  std::array<Range, 2> range;
};

class SendRing {
 public:
  /// `ring` is `profile.ring_bytes` of zeroed shared memory that outlives this object.
  SendRing(std::span<std::byte> ring, const Profile& profile);

  /// Space for a payload of `bytes` (at most the profile's `ring_payload_max`; CHECKed, callers refuse it before), or
  /// nothing if the window in messages or in bytes is full.
  [[nodiscard]] std::optional<Reservation> reserve(std::uint64_t bytes) noexcept {
    Reservation reservation;
    if (!reserve(bytes, reservation)) return std::nullopt;
    return reservation;
  }
  /// The same into `reservation`, for who sends every message: what passes through memory on the way waits for the stores of
  /// the message before (decision 0022). False: the window is full.
  [[nodiscard, gnu::always_inline]] bool reserve(std::uint64_t bytes, Reservation& reservation) noexcept;
  /// Publishes the message to the poller. Everything written to the payload before is sent.
  void commit(const Reservation& reservation) noexcept;
  /// Gives the reservation up: it travels as a null.
  void abandon(const Reservation& reservation) noexcept;
  /// As `commit`, for a record of another kind, whose payload in this ring is of so many bytes.
  void commit_as(const Reservation& reservation, RecordKind kind, std::uint64_t payload_bytes) noexcept;

  /// Queues a null run so that this sender's count reaches `count_owed`, if records reserved so far do not already. False
  /// if a run is needed and there is no space for it.
  bool queue_nulls(std::uint64_t count_owed) noexcept;
  /// Takes up to `records_max` records of the committed prefix, and none behind the one with which they have `bytes_max`,
  /// nor, with `one_large`, behind a large one. Returns their bytes. `committed_count` grows.
  CommittedRanges collect(std::uint64_t records_max, std::uint64_t bytes_max = ~std::uint64_t{0},
                          bool one_large = false) noexcept;
  /// Messages (nulls included) collected so far.
  [[nodiscard]] std::uint64_t committed_count() const noexcept { return collected_ + collected_extra_; }
  /// Messages reserved so far, committed or not.
  [[nodiscard]] std::uint64_t reserved_count() const noexcept;
  /// The same without the nulls behind the last of them that is none: nobody waits for those.
  [[nodiscard]] std::uint64_t sent_count() const noexcept;
  /// Messages collected so far, nulls left out.
  [[nodiscard]] std::uint64_t messages_collected() const noexcept { return collected_ - null_runs_collected_; }
  /// The index of the next message to be collected, if it is committed, and neither a null run nor abandoned.
  [[nodiscard]] std::optional<std::uint64_t> next_message() const noexcept;
  /// Bytes of the ring, heads and padding included, of what was collected behind the first `count` messages; what was
  /// released is not among them.
  [[nodiscard]] std::uint64_t bytes_behind(std::uint64_t count) const noexcept;
  /// Gives back the space of the first `count` messages. Returns whether any space became free.
  bool release(std::uint64_t count) noexcept;

  /// How much of the window, or of the ring if that is more, is in use: 1 to 100, 0 for nothing at all.
  [[nodiscard]] std::uint64_t used_percent() const noexcept;
  /// Nothing is reserved that was not collected.
  [[nodiscard]] bool drained() const noexcept;
  /// Something is committed that was not collected.
  [[nodiscard]] bool has_committed() const noexcept;
  /// At most half of the window, in messages and in bytes, is in use: worth waking a thread that waits for space.
  [[nodiscard]] bool half_free() const noexcept;
  [[nodiscard]] std::uint64_t null_runs() const noexcept { return null_runs_queued_; }

 private:
  /// The packed word.
  struct Mark {
    std::uint64_t number = 0;    ///< modulo 2^24
    std::uint64_t position = 0;  ///< in 8-byte units, modulo 2^40
    [[nodiscard]] static constexpr Mark unpack(std::uint64_t word) noexcept { return {word >> 40, word & position_mask}; }
    [[nodiscard]] constexpr std::uint64_t pack() const noexcept { return number << 40 | position; }
  };
  struct NullRun {
    std::uint64_t record = 0;
    std::uint64_t count = 0;
  };
  static constexpr std::uint64_t unit_bytes = 8;
  static constexpr std::uint64_t position_mask = (std::uint64_t{1} << 40) - 1;

  enum class Attempt : std::uint8_t { lost_race, full, reserved };
  /// One try to move the tail by a record of `units`, which sets all of `reservation` but the payload; on a lost race `tail`
  /// is the newer one.
  [[nodiscard, gnu::always_inline]] Attempt try_advance(std::uint64_t& tail, std::uint64_t units,
                                                        Reservation& reservation) noexcept;
  void publish(const Reservation& reservation, RecordHeader header) noexcept;
  static void put_header(std::byte* at, RecordHeader header) noexcept;
  /// The kind of the own record at that unit, which is committed.
  [[nodiscard]] RecordKind kind_at(std::uint64_t offset) const noexcept;
  [[nodiscard]] std::uint64_t full_number(std::uint64_t number) const noexcept;
  [[nodiscard]] NullRun& null_run(std::uint64_t at) noexcept { return null_runs_[at & slot_mask_]; }
  /// The records that are wholly among the first `count` messages, and what that passes of null runs.
  struct Passed {
    std::uint64_t records = 0;
    std::uint64_t extra = 0;      ///< as `released_extra_`
    std::uint64_t null_runs = 0;  ///< as `null_runs_released_`
  };
  [[nodiscard]] Passed passed_with(std::uint64_t count) const noexcept;

  std::byte* ring_;
  std::uint64_t ring_units_;
  std::uint64_t window_;
  std::uint64_t message_bytes_max_;
  std::uint64_t slot_mask_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> slots_;  // by record number: the packed tail behind a committed record

  alignas(cache_line_bytes) std::atomic<std::uint64_t> tail_{0};  // application threads and poller
  std::atomic<std::uint64_t> free_seen_{0};                       // theirs: `free_`, or what it was some time ago
  alignas(cache_line_bytes) std::atomic<std::uint64_t> free_{0};  // poller writes: everything before it may be reused

  // The poller's own.
  alignas(cache_line_bytes) std::uint64_t collected_ = 0;  // records
  std::uint64_t collected_position_ = 0;                   // units, not taken modulo
  std::uint64_t collected_extra_ = 0;                      // messages beyond one per record, in collected null runs
  std::uint64_t queued_extra_ = 0;                         // the same over all queued null runs
  std::uint64_t released_ = 0;                             // records
  std::uint64_t released_extra_ = 0;                       // messages beyond one per record, in released null runs
  std::unique_ptr<NullRun[]> null_runs_;  // queue of runs in flight; indices below grow for ever
  std::uint64_t null_runs_released_ = 0;
  std::uint64_t null_runs_collected_ = 0;
  std::uint64_t null_runs_queued_ = 0;
};

// The path of every message that is sent is in the header, so that it is one piece of code with its caller.

// Ring words are read by other processes while later records are written; the slot's release orders them, the atomic store
// keeps each whole.
inline void SendRing::put_header(std::byte* at, RecordHeader header) noexcept {
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(at)).store(header.encode(), std::memory_order_relaxed);
}

inline bool SendRing::reserve(std::uint64_t bytes, Reservation& reservation) noexcept {
  SPINDRIFT_CHECK(bytes <= message_bytes_max_);
  std::uint64_t tail = tail_.load(std::memory_order_relaxed);
  Attempt attempt = Attempt::lost_race;
  while (attempt == Attempt::lost_race) attempt = try_advance(tail, record_bytes(bytes) / unit_bytes, reservation);
  if (attempt == Attempt::full) return false;
  reservation.payload = {reservation.header + header_bytes, bytes};
  return true;
}

// The poller's word about free space is read only when the last one read does not suffice: its line comes from another core.
inline SendRing::Attempt SendRing::try_advance(std::uint64_t& tail, std::uint64_t units, Reservation& reservation) noexcept {
  const Mark from = Mark::unpack(tail);
  const std::uint64_t offset = from.position & (ring_units_ - 1);
  const std::uint64_t padding = offset + units > ring_units_ ? ring_units_ - offset : 0;
  const auto fits = [&](Mark free) {
    const std::uint64_t records = (from.number - free.number) & record_number_mask;
    const std::uint64_t used = (from.position - free.position) & position_mask;
    return records < window_ && used + padding + units <= ring_units_;
  };

  if (!fits(Mark::unpack(free_seen_.load(std::memory_order_acquire)))) {
    const std::uint64_t free = free_.load(std::memory_order_acquire);
    free_seen_.store(free, std::memory_order_release);
    if (!fits(Mark::unpack(free))) {
      // A tail read before others reserved and the poller released looks full; only an unchanged tail is believed.
      const std::uint64_t now = tail_.load(std::memory_order_acquire);
      const Attempt attempt = now == tail ? Attempt::full : Attempt::lost_race;
      tail = now;
      return attempt;
    }
  }
  const Mark after{(from.number + 1) & record_number_mask, (from.position + padding + units) & position_mask};
  if (!tail_.compare_exchange_weak(tail, after.pack(), std::memory_order_acq_rel, std::memory_order_relaxed)) {
    return Attempt::lost_race;
  }

  if (padding > 0) {
    put_header(ring_ + offset * unit_bytes,
               {static_cast<std::uint32_t>(padding * unit_bytes), RecordKind::padding, from.number});
  }
  reservation.header = ring_ + (padding > 0 ? 0 : offset) * unit_bytes;
  reservation.number = from.number;
  reservation.after = after.pack();
  return Attempt::reserved;
}

inline void SendRing::publish(const Reservation& reservation, RecordHeader header) noexcept {
  put_header(reservation.header, header);
  slots_[reservation.number & slot_mask_].store(reservation.after, std::memory_order_release);
}

inline void SendRing::commit(const Reservation& reservation) noexcept {
  publish(reservation, {static_cast<std::uint32_t>(reservation.payload.size()), RecordKind::data, reservation.number});
}

inline void SendRing::abandon(const Reservation& reservation) noexcept {
  publish(reservation, {static_cast<std::uint32_t>(reservation.payload.size()), RecordKind::abandoned, reservation.number});
}

inline void SendRing::commit_as(const Reservation& reservation, RecordKind kind, std::uint64_t payload_bytes) noexcept {
  publish(reservation, {static_cast<std::uint32_t>(payload_bytes), kind, reservation.number});
}

}  // namespace spindrift::smc
