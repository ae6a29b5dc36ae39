// One work after the other.
#include <spindrift/group/state_thread.hpp>

#include <system_error>
#include <utility>

#include <spindrift/core/limits.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::group {

void StateThread::give(Work work) {
  if (!thread_.joinable()) {
    try {
      thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    } catch (const std::system_error& why) {
      throw Exception(out_of_threads(why));
    }
  }
  put(std::move(work));
}

void StateThread::dispose(std::shared_ptr<void> what) noexcept {
  if (what == nullptr || !thread_.joinable()) return;
  try {
    put([what = std::move(what)]() mutable { what.reset(); });
  } catch (const std::bad_alloc&) {  // then it is destroyed here
  }
}

void StateThread::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
  works_.clear();
}

void StateThread::put(Work work) {
  {
    const std::lock_guard lock(mutex_);
    works_.push_back(std::move(work));
  }
  given_.notify_one();
}

void StateThread::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (given_.wait(lock, stop, [this] { return !works_.empty(); })) {
    if (stop.stop_requested()) return;
    {
      const Work work = std::move(works_.front());
      works_.pop_front();
      lock.unlock();
      work();
    }  // what it held is destroyed before the lock is taken again
    lock.lock();
  }
}

}  // namespace spindrift::group
