// The statuses of one entity that changed, and whoever hears of it: conditions, and a listener on its participant's thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include <spindrift/dds/endpoint.hpp>

namespace spindrift::topics {

/// The guard of all that a participant has, and the place where its threads wait for each other.
struct Monitor {
  std::mutex mutex;
  std::condition_variable changed;
  /// The last time that the application asserted that the participant lives, or wrote by a writer that says so.
  std::atomic<std::int64_t> asserted_ns{0};

  /// Waits until `done` holds, at most so many nanoseconds; whether it does.
  template <class Done>
  bool await(std::unique_lock<std::mutex>& lock, std::int64_t limit_ns, const Done& done) {
    constexpr std::int64_t year_ns = 365LL * 24 * 3600 * 1'000'000'000;  // beyond it clocks overflow
    if (limit_ns < year_ns) return changed.wait_for(lock, std::chrono::nanoseconds(limit_ns), done);
    changed.wait(lock, done);
    return true;
  }
};

/// Rings for all wait-sets of the process: some condition may have changed.
class ProcessBell {
 public:
  [[nodiscard]] static ProcessBell& of_process();
  void ring();
  [[nodiscard]] std::uint64_t rung();
  /// Returns when it has rung since it had rung so often, or the time is over.
  void wait(std::uint64_t since, std::chrono::steady_clock::time_point until);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t rung_ = 0;
};

class StatusBoard;

/// The caller of listeners that hear of what the poller brings.
enum class ListenersOn : std::uint8_t { thread, poller };

/// Throws refused if the calling thread is a poller that calls listeners: it would wait for what only itself can bring.
void check_may_wait(const char* call);

/// The thread that calls the listeners of one participant's entities, one at a time. So a listener may wait, write
/// and read, and holds up other listeners alone. Or the poller calls those that are to hear of what it took in, and the
/// thread only the rest.
class ListenerThread {
 public:
  explicit ListenerThread(Monitor& monitor) : monitor_(monitor) {}
  ~ListenerThread() { stop(); }
  ListenerThread(const ListenerThread&) = delete;
  ListenerThread& operator=(const ListenerThread&) = delete;

  void start(ListenersOn on);
  /// Whether the caller is a listener.
  [[nodiscard]] bool is_current() const noexcept { return std::this_thread::get_id() == caller_.load(); }
  /// Returns when no listener is called any more; at once where one itself says so.
  void stop();
  /// The poller's, behind `lend`: calls what is posted, unless a listener runs, which leaves it to the thread. A listener
  /// that would wait is refused. Without the monitor.
  void call_here();

  // With the monitor held:
  /// The poller's, before it tells of what it took in. Says who calls: if the poller, it is to do so by `call_here`, and
  /// until then the thread has nothing to do.
  [[nodiscard]] ListenersOn lend() noexcept {
    lent_ = on_ == ListenersOn::poller;
    return on_;
  }
  /// `listening`'s listener is to be told what is posted for it on the board `of`.
  void post(std::shared_ptr<StatusBoard> of, std::shared_ptr<StatusBoard> listening);
  /// Returns when that board's listener does not run; at once on its own thread.
  void await_idle(std::unique_lock<std::mutex>& lock, const StatusBoard& board);

 private:
  struct Posted {
    std::shared_ptr<StatusBoard> of;
    std::shared_ptr<StatusBoard> listening;
  };
  void run();
  void tell_first(std::unique_lock<std::mutex>& lock);
  void call(std::unique_lock<std::mutex>& lock, const Posted& posted);

  Monitor& monitor_;
  std::condition_variable wake_;
  std::deque<Posted> posted_;
  const StatusBoard* running_ = nullptr;
  std::atomic<std::thread::id> caller_{};  // the thread on which a listener runs
  ListenersOn on_ = ListenersOn::thread;
  bool lent_ = false;
  bool stops_ = false;
  std::thread thread_;
};

/// A listener's call: these statuses of the entity changed, which is kept alive.
using ListenerCall = std::function<void(std::uint32_t statuses, const std::shared_ptr<void>& entity)>;

/// The rule of OMG: a status is told to the listener of the entity, if that has it in its mask, else to that of the
/// publisher or subscriber, else to the participant's. That samples came is told to a subscriber's or participant's listener
/// for all readers, if there is one, and only else to one for that reader.
class StatusBoard : public std::enable_shared_from_this<StatusBoard> {
 public:
  /// `above`: of what the entity is a part; may be null.
  explicit StatusBoard(ListenerThread& thread, std::shared_ptr<StatusBoard> above = nullptr)
      : thread_(thread), above_(std::move(above)) {}

  // With the monitor held:
  /// The entity of which listeners are told.
  void bind(std::weak_ptr<void> entity) { entity_ = std::move(entity); }
  /// These changed.
  void raise(std::uint32_t statuses);
  /// Tells of samples that nobody looked at the listeners that hear of one reader's.
  void notify_data();
  /// Samples of a reader were looked at.
  void clear_data();
  /// They were looked at.
  void clear(std::uint32_t statuses) { changed_ &= ~statuses; }
  [[nodiscard]] std::uint32_t changed() const noexcept { return changed_; }
  /// `who`: the listener that the application gave, which it is told again.
  void set_listener(ListenerCall call, std::uint32_t mask, void* who = nullptr);
  [[nodiscard]] void* who() const noexcept { return who_; }
  [[nodiscard]] const ListenerCall& listener() const noexcept { return call_; }
  [[nodiscard]] const std::weak_ptr<void>& entity() const noexcept { return entity_; }
  /// The statuses that the listener of that board is to hear of now.
  [[nodiscard]] std::uint32_t take_posted(const StatusBoard& listening);

 private:
  [[nodiscard]] bool hears(std::uint32_t statuses) const { return call_ && (mask_ & statuses) != 0; }
  void post(const std::shared_ptr<StatusBoard>& listening, std::uint32_t statuses);
  void post_to_nearest(std::uint32_t statuses);

  ListenerThread& thread_;
  const std::shared_ptr<StatusBoard> above_;
  std::weak_ptr<void> entity_;
  std::uint32_t changed_ = 0;
  std::uint32_t mask_ = 0;
  ListenerCall call_;
  void* who_ = nullptr;
  std::map<const StatusBoard*, std::uint32_t> posted_;  // by whose listener is to hear of it
};

/// Nanoseconds of the clock that deadlines are of.
[[nodiscard]] std::int64_t steady_ns();
/// Nanoseconds since 1970, by which samples are stamped.
[[nodiscard]] std::int64_t wall_ns();

}  // namespace spindrift::topics
