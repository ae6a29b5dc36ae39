// The thread for errands.
#include <spindrift/dds/errands.hpp>

#include <spindrift/core/limits.hpp>
#include <spindrift/core/log.hpp>

namespace spindrift::topics {

void Errands::start() {
  thread_ = value_or_throw(start_thread([this] { run(); }));
}

void Errands::stop() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Errands::add(std::function<void()> errand) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(errand));
  changed_.notify_all();
}

void Errands::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stops_ || !waiting_.empty(); });
    if (stops_) return;
    const std::function<void()> errand = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    try {
      errand();
    } catch (const std::exception& thrown) {
      // This member leaves, or has ended: who waits hears of that from the group.
      log::info(log::Room::dds, "a message about histories was not sent", {{"reason", thrown.what()}});
    }
    lock.lock();
  }
}

}  // namespace spindrift::topics
