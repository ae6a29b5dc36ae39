// Deliveries into the ring, and who waits for them.
#include <spindrift/group/feed.hpp>

#include <sched.h>

#include <algorithm>

namespace spindrift::group {

bool Feed::on_delivery(std::span<const Delivery> batch) noexcept {
  if (batch.empty()) return false;
  const bool observed = observed_.load(std::memory_order_seq_cst);
  const std::uint64_t limit = limit_.load(std::memory_order_relaxed);
  std::uint64_t number = delivered_.load(std::memory_order_relaxed);
  for (const Delivery& each : batch) {
    if (!observed) break;
    FeedRecord record;
    record.view = each.view.value();
    record.sequence = each.sequence.value();
    record.index = each.index.value();
    record.number = number++;
    record.previous_view = last_.view.value();
    record.previous_sequence = last_.sequence.value();
    record.sender = each.sender.value();
    record.sender_rank = each.sender_rank.value();
    writer_->append(record, each.payload, limit);
    last_ = MessagePlace::of(each);
  }
  last_ = MessagePlace::of(batch.back());
  if (!observed) number += batch.size();
  const std::uint64_t version = version_.load(std::memory_order_relaxed);
  version_.store(version + 1, std::memory_order_seq_cst);
  if (observed) writer_->publish({number, last_});
  last_view_.store(last_.view.value(), std::memory_order_release);
  last_sequence_.store(last_.sequence.value(), std::memory_order_release);
  delivered_.store(number, std::memory_order_release);
  version_.store(version + 2, std::memory_order_seq_cst);
  return observed && awaited_.load(std::memory_order_seq_cst) && awaited_.exchange(false, std::memory_order_seq_cst);
}

Feed::Snapshot Feed::snapshot() const noexcept {
  while (true) {
    const std::uint64_t version = version_.load(std::memory_order_seq_cst);
    const Snapshot seen{writer_->written(),
                        {delivered_.load(std::memory_order_acquire),
                         {ViewId(last_view_.load(std::memory_order_acquire)),
                          SequenceNumber(last_sequence_.load(std::memory_order_acquire))}}};
    if (version % 2 == 0 && version_.load(std::memory_order_seq_cst) == version) return seen;
    sched_yield();  // the poller may be waiting for its CPU
  }
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

void Feed::on_position(std::uint64_t position) noexcept {
  const std::uint64_t limit = std::min(position, writer_->written()) + writer_->lap();
  if (limit > limit_.load(std::memory_order_relaxed)) limit_.store(limit, std::memory_order_relaxed);
}

// Either the poller's next look at the word finds it set, or what is read here has what the poller wrote.
bool Feed::passed(std::uint64_t position, std::uint64_t delivered_before) noexcept {
  const auto news = [&] {
    return writer_->written() != position || delivered_.load(std::memory_order_seq_cst) > delivered_before;
  };
  if (news()) return true;
  awaited_.store(true, std::memory_order_seq_cst);
  return news();
}

}  // namespace spindrift::group
