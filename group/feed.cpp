// Deliveries into the ring, and who waits for them.
#include <spindrift/group/feed.hpp>

#include <sched.h>

#include <algorithm>

namespace spindrift::group {

bool Feed::on_delivery(std::span<const Delivery> batch, const Clock& clock) noexcept {
  if (batch.empty()) return false;
  if (!observed_.load(std::memory_order_seq_cst)) {
    now_ = {now_.delivered + batch.size(), MessagePlace::of(batch.back())};
    end_.write(now_, [] {});
    return false;
  }
  const std::uint64_t of_readers = limit_.load(std::memory_order_relaxed);
  writer_->show_limit(of_readers);
  const std::uint64_t shares = 1 + readers_.load(std::memory_order_relaxed);
  const std::uint64_t affordable = budget_.limit(writer_->written(), writer_->lap(), shares, clock.now());
  const std::uint64_t limit = std::min(of_readers, affordable);
  if (writer_->written() + sizeof(FeedRecord) <= limit) {
    write(batch, limit);
  } else {
    now_ = {now_.delivered + batch.size(), MessagePlace::of(batch.back())};
  }
  end_.write(now_, [this] { writer_->publish(now_); });
  return awaited_.load(std::memory_order_seq_cst) && awaited_.exchange(false, std::memory_order_seq_cst);
}

void Feed::write(std::span<const Delivery> batch, std::uint64_t limit) noexcept {
  for (const Delivery& each : batch) {
    FeedRecord record;
    record.view = each.view.value();
    record.sequence = each.sequence.value();
    record.index = each.index.value();
    record.number = now_.delivered;
    record.previous_view = now_.last.view.value();
    record.previous_sequence = now_.last.sequence.value();
    record.sender = each.sender.value();
    record.sender_rank = each.sender_rank.value();
    writer_->append(record, each.payload, limit);
    now_ = {now_.delivered + 1, MessagePlace::of(each)};
  }
}

Feed::Snapshot Feed::snapshot() const noexcept {
  std::uint64_t written = 0;
  std::optional<FeedEnd> end;
  while (!(end = end_.read([&] { written = writer_->written(); }))) sched_yield();  // the poller may wait for its CPU
  return {written, *end};
}

Result<void> Feed::begin() {
  if (!writer_) {
    SPINDRIFT_TRY_ASSIGN(auto memory, fabric::shm::OwnSegment::create(feed_bytes(message_bytes_max_), "feed of " + name_));
    SPINDRIFT_TRY(memory.seal(fabric::Access::read));
    memory_.emplace(std::move(memory));
    writer_.emplace(memory_->memory());
  }
  observed_.store(true, std::memory_order_seq_cst);
  return {};
}

void Feed::on_readers(std::uint64_t count) noexcept {
  readers_.store(count, std::memory_order_relaxed);
  if (count == 0) observed_.store(false, std::memory_order_seq_cst);
}

void Feed::on_position(std::uint64_t position) noexcept {
  const std::uint64_t limit = std::min(position, writer_->written()) + writer_->lap();
  if (limit > limit_.load(std::memory_order_relaxed)) limit_.store(limit, std::memory_order_relaxed);
}

// Either the poller's next look at the word finds it set, or what is read here has what the poller wrote.
bool Feed::passed(std::uint64_t position, std::uint64_t delivered_before) noexcept {
  const auto news = [&] {
    const std::optional<FeedEnd> end = end_.read();
    return writer_->written() != position || !end || end->delivered > delivered_before;
  };
  if (news()) return true;
  awaited_.store(true, std::memory_order_seq_cst);
  return news();
}

}  // namespace spindrift::group
