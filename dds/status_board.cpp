// Statuses that change, the thread that tells listeners, and the bell that wakes wait-sets.
#include <spindrift/dds/status_board.hpp>

#include <algorithm>
#include <chrono>

#include <spindrift/core/limits.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/dds/status_bits.hpp>

namespace spindrift::topics {
namespace {
thread_local bool refuses_to_wait = false;
}

void check_may_wait(const char* call) {
  if (!refuses_to_wait) return;
  throw Exception(Error(ErrorKind::refused, std::string(call) + " in a listener on the poller, which would wait for itself")
                      .fix("call it on another thread, or configure [SPINDRIFT] dds_listeners = thread"));
}

std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
std::int64_t wall_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

ProcessBell& ProcessBell::of_process() {
  static ProcessBell bell;
  return bell;
}
void ProcessBell::ring() {
  const std::lock_guard lock(mutex_);
  ++rung_;
  changed_.notify_all();
}
std::uint64_t ProcessBell::rung() {
  const std::lock_guard lock(mutex_);
  return rung_;
}
void ProcessBell::wait(std::uint64_t since, std::chrono::steady_clock::time_point until) {
  check_may_wait("waiting for a condition");
  std::unique_lock lock(mutex_);
  const auto rang = [&] { return rung_ != since; };
  if (until == std::chrono::steady_clock::time_point::max()) return changed_.wait(lock, rang);
  changed_.wait_until(lock, until, rang);
}

void ListenerThread::start(ListenersOn on) {
  {
    const std::lock_guard lock(monitor_.mutex);
    on_ = on;
  }
  thread_ = value_or_throw(start_thread([this] { run(); }));
}

void ListenerThread::stop() {
  {
    std::unique_lock lock(monitor_.mutex);
    stops_ = true;
    wake_.notify_all();
    if (!is_current()) monitor_.changed.wait(lock, [&] { return running_ == nullptr; });
  }
  if (thread_.joinable()) thread_.join();
}

void ListenerThread::post(std::shared_ptr<StatusBoard> of, std::shared_ptr<StatusBoard> listening) {
  posted_.push_back({std::move(of), std::move(listening)});
  if (!lent_) wake_.notify_all();
}

void ListenerThread::call_here() {
  refuses_to_wait = true;
  {
    std::unique_lock lock(monitor_.mutex);
    while (!stops_ && !posted_.empty() && running_ == nullptr) tell_first(lock);
    lent_ = false;
    if (!posted_.empty()) wake_.notify_all();
  }
  refuses_to_wait = false;
}

void ListenerThread::await_idle(std::unique_lock<std::mutex>& lock, const StatusBoard& board) {
  if (is_current()) return;
  monitor_.changed.wait(lock, [&] { return running_ != &board; });
}

void ListenerThread::run() {
  std::unique_lock lock(monitor_.mutex);
  for (;;) {
    wake_.wait(lock, [&] { return stops_ || (!posted_.empty() && !lent_ && running_ == nullptr); });
    if (stops_) return;
    tell_first(lock);
  }
}

void ListenerThread::tell_first(std::unique_lock<std::mutex>& lock) {
  const Posted next = std::move(posted_.front());
  posted_.pop_front();
  call(lock, next);
}

void ListenerThread::call(std::unique_lock<std::mutex>& lock, const Posted& posted) {
  const std::uint32_t statuses = posted.of->take_posted(*posted.listening);
  ListenerCall call = posted.listening->listener();
  const std::weak_ptr<void> weak = posted.of->entity();
  if (!call || statuses == 0) return;
  running_ = posted.listening.get();
  caller_ = std::this_thread::get_id();
  lock.unlock();
  try {
    if (const auto entity = weak.lock()) call(statuses, entity);
  } catch (const std::exception& thrown) {
    log::warn(log::Room::dds, "a listener threw, and its call is over", {{"what", thrown.what()}});
  }
  call = nullptr;  // what it holds may end here, and would want the monitor
  lock.lock();
  caller_ = std::thread::id();
  running_ = nullptr;
  monitor_.changed.notify_all();
}

void StatusBoard::raise(std::uint32_t statuses) {
  changed_ |= statuses;
  if ((statuses & StatusBit::data) != 0) {
    if (above_) above_->changed_ |= StatusBit::data_on_readers;
    for (auto board = above_; board; board = board->above_) {
      if (!board->hears(StatusBit::data_on_readers)) continue;
      post(board, StatusBit::data_on_readers);
      statuses &= ~StatusBit::data;
      break;
    }
  }
  ProcessBell::of_process().ring();
  post_to_nearest(statuses);
}

void StatusBoard::notify_data() { post_to_nearest(changed_ & StatusBit::data); }

void StatusBoard::post_to_nearest(std::uint32_t statuses) {
  for (auto board = shared_from_this(); board && statuses != 0; board = board->above_) {
    if (!board->hears(statuses)) continue;
    post(board, statuses & board->mask_);
    statuses &= ~board->mask_;
  }
}

void StatusBoard::post(const std::shared_ptr<StatusBoard>& listening, std::uint32_t statuses) {
  std::uint32_t& posted = posted_[listening.get()];
  const bool waits = posted != 0;
  posted |= statuses;
  if (!waits) thread_.post(shared_from_this(), listening);
}

void StatusBoard::clear_data() {
  clear(StatusBit::data);
  if (above_) above_->clear(StatusBit::data_on_readers);
}

void StatusBoard::set_listener(ListenerCall call, std::uint32_t mask, void* who) {
  call_ = std::move(call);
  who_ = who;
  mask_ = mask;
  posted_.erase(this);
  // Statuses that have changed already are told, too.
  if (hears(changed_)) post(shared_from_this(), changed_ & mask_);
}

std::uint32_t StatusBoard::take_posted(const StatusBoard& listening) {
  const auto posted = posted_.extract(&listening);
  return posted.empty() ? 0 : posted.mapped();
}

}  // namespace spindrift::topics
