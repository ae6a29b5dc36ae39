// Deliveries into the ring, and who waits for them.
#include <spindrift/group/feed.hpp>

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
  if (!observed) {
    delivered_.store(number + batch.size(), std::memory_order_release);
    return false;
  }
  delivered_.store(number, std::memory_order_seq_cst);
  writer_->publish({number, last_});
  return awaited_.load(std::memory_order_seq_cst) && awaited_.exchange(false, std::memory_order_seq_cst);
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
  const auto news = [&] { return writer_->written() != position || delivered() > delivered_before; };
  if (news()) return true;
  awaited_.store(true, std::memory_order_seq_cst);
  return news();
}

}  // namespace spindrift::group
