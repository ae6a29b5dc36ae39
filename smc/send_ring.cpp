// Reserve and commit for application threads; collect, nulls and release for the poller.
#include <spindrift/smc/send_ring.hpp>

#include <algorithm>
#include <bit>

#include <spindrift/core/check.hpp>

namespace spindrift::smc {

SendRing::SendRing(std::span<std::byte> ring, const Profile& profile)
    : ring_(ring.data()),
      ring_units_(profile.ring_bytes / unit_bytes),
      window_(profile.window_messages),
      message_bytes_max_(profile.ring_payload_max()),
      slot_mask_(std::bit_ceil(profile.window_messages) - 1),
      slots_(std::make_unique<std::atomic<std::uint64_t>[]>(slot_mask_ + 1)),
      null_runs_(std::make_unique<NullRun[]>(slot_mask_ + 1)) {
  CHECK(std::has_single_bit(profile.ring_bytes) && ring.size() >= profile.ring_bytes);
  CHECK(window_ >= 1 && window_ <= std::uint64_t{1} << 20);
  // A record and the padding before it always fit into an empty ring.
  CHECK(2 * record_bytes(message_bytes_max_) <= profile.ring_bytes);
  CHECK(profile.bulk_ring_bytes == 0 || profile.large_message_bytes >= descriptor_bytes);
}

bool SendRing::queue_nulls(std::uint64_t count_owed) noexcept {
  if (committed_count() >= count_owed) return true;  // without a look at the tail, which other cores write
  std::uint64_t tail = tail_.load(std::memory_order_acquire);
  for (;;) {
    const std::uint64_t record = full_number(Mark::unpack(tail).number);
    const std::uint64_t reserved = record + queued_extra_;
    if (reserved >= count_owed) return true;
    const std::uint64_t count = count_owed - reserved;
    CHECK(count <= 0xffffffff);

    Reservation reservation;
    const Attempt attempt = try_advance(tail, header_bytes / unit_bytes, reservation);
    if (attempt == Attempt::full) return false;
    if (attempt == Attempt::lost_race) continue;
    null_run(null_runs_queued_++) = {record, count};
    queued_extra_ += count - 1;
    publish(reservation, {static_cast<std::uint32_t>(count), RecordKind::null_run, reservation.number});
    return true;
  }
}

CommittedRanges SendRing::collect(std::uint64_t records_max, std::uint64_t bytes_max, bool one_large) noexcept {
  CommittedRanges ranges;
  CommittedRanges::Range* range = &ranges.range[0];
  range->offset = (collected_position_ & (ring_units_ - 1)) * unit_bytes;

  for (; records_max > 0 && ranges.range[0].bytes + ranges.range[1].bytes < bytes_max; --records_max) {
    const Mark after = Mark::unpack(slots_[collected_ & slot_mask_].load(std::memory_order_acquire));
    if (after.number != ((collected_ + 1) & record_number_mask)) break;

    const std::uint64_t units = (after.position - collected_position_) & position_mask;
    const std::uint64_t offset = collected_position_ & (ring_units_ - 1);
    const bool padded = offset + units > ring_units_;
    if (padded) range->bytes += header_bytes;  // of the padding only its header is news
    if (padded || (offset == 0 && range->bytes > 0)) range = &ranges.range[1];
    range->bytes += (padded ? offset + units - ring_units_ : units) * unit_bytes;

    if (null_runs_collected_ < null_runs_queued_ && null_run(null_runs_collected_).record == collected_) {
      collected_extra_ += null_run(null_runs_collected_++).count - 1;
    }
    collected_position_ += units;
    ++collected_;
    if (one_large && kind_at(padded ? 0 : offset) == RecordKind::large) break;
  }
  return ranges;
}

RecordKind SendRing::kind_at(std::uint64_t offset) const noexcept {
  return static_cast<RecordKind>(load_acquire(ring_ + offset * unit_bytes) >> 32 & 0xff);
}

SendRing::Passed SendRing::passed_with(std::uint64_t count) const noexcept {
  Passed passed{released_, released_extra_, null_runs_released_};
  bool inside_run = false;
  while (passed.null_runs < null_runs_collected_) {
    const NullRun& run = null_runs_[passed.null_runs & slot_mask_];
    const std::uint64_t first = run.record + passed.extra;  // index of the run's first message
    if (count < first + run.count) {
      if (count >= first) passed.records = run.record;
      inside_run = count >= first;
      break;
    }
    passed.extra += run.count - 1;
    passed.records = run.record + 1;
    ++passed.null_runs;
  }
  if (!inside_run && count > passed.extra) passed.records = std::max(passed.records, count - passed.extra);
  return passed;
}

std::uint64_t SendRing::bytes_behind(std::uint64_t count) const noexcept {
  const std::uint64_t record = passed_with(count).records;
  if (record >= collected_) return 0;
  // The slot of what was released may be another record's by now.
  const std::uint64_t word = record == released_ ? free_.load(std::memory_order_relaxed)
                                                 : slots_[(record - 1) & slot_mask_].load(std::memory_order_relaxed);
  return ((collected_position_ - Mark::unpack(word).position) & position_mask) * unit_bytes;
}

std::optional<std::uint64_t> SendRing::next_message() const noexcept {
  const Mark behind = Mark::unpack(slots_[collected_ & slot_mask_].load(std::memory_order_acquire));
  if (behind.number != ((collected_ + 1) & record_number_mask)) return std::nullopt;
  const std::uint64_t offset = collected_position_ & (ring_units_ - 1);
  const bool wraps = offset + ((behind.position - collected_position_) & position_mask) > ring_units_;
  const RecordKind kind = kind_at(wraps ? 0 : offset);
  if (kind != RecordKind::data && kind != RecordKind::large) return std::nullopt;
  return committed_count();
}

bool SendRing::release(std::uint64_t count) noexcept {
  CHECK(count <= committed_count());
  const Passed passed = passed_with(count);
  const std::uint64_t record = passed.records;
  released_extra_ = passed.extra;
  null_runs_released_ = passed.null_runs;
  if (record == released_) return false;

  CHECK(record > released_ && record <= collected_);
  released_ = record;
  const Mark behind = Mark::unpack(slots_[(record - 1) & slot_mask_].load(std::memory_order_relaxed));
  // Sequentially consistent: a thread about to wait for space either sees this or is seen waiting.
  free_.store(Mark{record & record_number_mask, behind.position}.pack(), std::memory_order_seq_cst);
  return true;
}

std::uint64_t SendRing::full_number(std::uint64_t number) const noexcept {
  return collected_ + ((number - collected_) & record_number_mask);
}

std::uint64_t SendRing::reserved_count() const noexcept {
  return full_number(Mark::unpack(tail_.load(std::memory_order_acquire)).number) + queued_extra_;
}

std::uint64_t SendRing::sent_count() const noexcept {
  std::uint64_t records = full_number(Mark::unpack(tail_.load(std::memory_order_acquire)).number);
  std::uint64_t extra = queued_extra_;
  for (std::uint64_t at = null_runs_queued_; at > null_runs_released_; --at) {
    const NullRun& run = null_runs_[(at - 1) & slot_mask_];
    if (run.record + 1 != records) break;
    --records;
    extra -= run.count - 1;
  }
  return records + extra;
}

bool SendRing::drained() const noexcept {
  return Mark::unpack(tail_.load(std::memory_order_seq_cst)).number == (collected_ & record_number_mask);
}

std::uint64_t SendRing::used_percent() const noexcept {
  const Mark tail = Mark::unpack(tail_.load(std::memory_order_relaxed));
  const Mark free = Mark::unpack(free_.load(std::memory_order_relaxed));
  const std::uint64_t records = (tail.number - free.number) & record_number_mask;
  const std::uint64_t units = (tail.position - free.position) & position_mask;
  return std::max((100 * records + window_ - 1) / window_, (100 * units + ring_units_ - 1) / ring_units_);
}

bool SendRing::half_free() const noexcept {
  const Mark tail = Mark::unpack(tail_.load(std::memory_order_relaxed));
  const Mark free = Mark::unpack(free_.load(std::memory_order_relaxed));
  return 2 * ((tail.number - free.number) & record_number_mask) <= window_ &&
         2 * ((tail.position - free.position) & position_mask) <= ring_units_;
}

bool SendRing::has_committed() const noexcept {
  const Mark after = Mark::unpack(slots_[collected_ & slot_mask_].load(std::memory_order_seq_cst));
  return after.number == ((collected_ + 1) & record_number_mask);
}

}  // namespace spindrift::smc
