// Handing batches to a thread and back.
#include <spindrift/group/handler_worker.hpp>

#include <algorithm>
#include <utility>

#include <spindrift/core/check.hpp>

namespace spindrift {
namespace {

/// As in a ring: payloads begin at multiples of this.
constexpr std::size_t payload_alignment = 8;

std::size_t aligned(std::size_t bytes) { return (bytes + payload_alignment - 1) / payload_alignment * payload_alignment; }

}  // namespace

HandlerWorker::HandlerWorker(Handler handler, std::function<void()> done)
    : handler_(std::move(handler)), done_(std::move(done)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

void HandlerWorker::give(std::span<const Delivery> batch) {
  CHECK(!busy() && !failure_ && !batch.empty());
  ++given_count_;
  batch_.assign(batch.begin(), batch.end());
  std::size_t total = 0;
  for (const Delivery& delivery : batch_) total += aligned(delivery.payload.size());
  bytes_.resize(std::max(bytes_.size(), total));
  std::size_t at = 0;
  for (Delivery& delivery : batch_) {
    std::copy(delivery.payload.begin(), delivery.payload.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(at));
    delivery.payload = std::span(bytes_).subspan(at, delivery.payload.size());
    at += aligned(delivery.payload.size());
  }
  {
    std::lock_guard lock(mutex_);
    busy_.store(true, std::memory_order_release);
  }
  given_.notify_one();
}

void HandlerWorker::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (given_.wait(lock, stop, [this] { return busy(); })) {
    lock.unlock();
    try {
      handler_(batch_);
    } catch (...) {
      failure_ = std::current_exception();
    }
    busy_.store(false, std::memory_order_release);
    done_();
    lock.lock();
  }
}

}  // namespace spindrift
