// Deliveries into the ring, and who waits for them.
#include <spindrift/group/feed.hpp>

namespace spindrift::group {

bool Feed::on_delivery(std::span<const Delivery> batch) noexcept {
  if (batch.empty()) return false;
  const bool observed = observed_.load(std::memory_order_seq_cst);
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
    writer_->append(record, each.payload);
    last_ = MessagePlace::of(each);
  }
  last_ = MessagePlace::of(batch.back());
  delivered_.store(delivered_.load(std::memory_order_relaxed) + batch.size(), std::memory_order_seq_cst);
  if (!observed) return false;
  writer_->publish();
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

// Either the poller's next look at the word finds it set, or the position that is read here has what the poller wrote.
bool Feed::passed(std::uint64_t position) noexcept {
  if (writer_->written() != position) return true;
  awaited_.store(true, std::memory_order_seq_cst);
  return writer_->written() != position;
}

}  // namespace spindrift::group
