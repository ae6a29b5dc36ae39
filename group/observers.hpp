// The observers of a member: processes of this host that read what it delivers, and that it never waits for. A thread
// answers them; the poller writes feeds, and at most tells that thread that somebody waits for news.
//
// The invariant to remember: of what an observer does or leaves undone, three words reach the poller: that somebody waits,
// how far the feed may be written, and how many have it. None makes it wait, or write more than the feed holds.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/group/feeds.hpp>
#include <spindrift/group/observer_calls.hpp>

namespace spindrift::group {

class Observers {
 public:
  static constexpr std::size_t callers_max = 256;
  /// So many descriptors this process keeps free of observers.
  static constexpr std::size_t descriptors_kept = 128;
  /// Observers are woken no more often than that; of a quiet subgroup, at once.
  static constexpr Duration between_wakes = std::chrono::milliseconds(1);

  /// `view` gives the present one, on any thread; `shapes` and `bytes_per_second` are as in Feeds. The directory outlives
  /// this object.
  Observers(NodeId self, const GuardedDirectory& directory, const std::vector<SubgroupView>& shapes,
            std::uint64_t bytes_per_second, std::function<View()> view);
  /// Ends, as by `end`.
  ~Observers();
  Observers(const Observers&) = delete;
  Observers& operator=(const Observers&) = delete;

  /// Listens, and starts the thread. Errors: resource.
  [[nodiscard]] Result<void> start();

  // The poller.
  void on_delivery(SubgroupId subgroup, std::span<const Delivery> batch) noexcept {
    if (feeds_.on_delivery(subgroup, batch, clock_)) wake();
  }
  /// A subgroup is new in the view that is told of next.
  void add(SubgroupId id, const SubgroupView& shape) { feeds_.add(id, shape); }
  /// Another view: who stood by may be fed, and who is fed may have to look elsewhere.
  void on_view() noexcept;
  /// This member delivers nothing any more: all observers are told why, and nobody can call.
  void end(const std::string& why) noexcept;

 private:
  struct Caller {
    enum class State : std::uint8_t {
      greeting,     ///< it has not said what it wants
      standing_by,  ///< this member is not in its subgroup at present, or another one feeds it
      reading,      ///< it has the feed
      waiting,      ///< and wants to be woken
      over,
    };
    FileDescriptor socket;
    State state = State::greeting;
    SubgroupId subgroup{};
    std::uint64_t fed_by = 0;    ///< 1 + the node of another member that feeds it; 0: none
    std::uint64_t position = 0;  ///< waiting: until there is more than that, or more was delivered
    std::uint64_t delivered = 0;
  };
  using State = Caller::State;

  void wake() noexcept;
  void run();
  /// False: all is over.
  [[nodiscard]] bool on_woken();
  void accept_callers();
  void on_packet(Caller& caller);
  void on_hello(Caller& caller, const ObserverPacket& hello);
  void feed(Caller& caller);
  void look_at_view();
  void wake_waiting();
  [[nodiscard]] int milliseconds_to_wake() const;
  void refuse(Caller& caller, ObserverRefusal why, std::string text);
  void say(Caller& caller, const ObserverPacket& packet, int descriptor = -1);
  /// Callers that are over go, and feeds hear how many read them.
  void tidy();
  [[nodiscard]] bool to_be_fed(const Caller& caller, const View& view) const;

  const NodeId self_;
  const GuardedDirectory& directory_;
  const std::function<View()> view_;
  Feeds feeds_;
  FileDescriptor listening_;
  FileDescriptor event_;
  FileDescriptor spare_;  // given up to turn callers away when the process may open nothing more
  const SystemClock clock_;
  Time next_line_{};       // of the log, about callers that are none; the thread's, as is what follows
  Time next_wake_{};       // not before
  bool wake_due_ = false;  // somebody who waits may have to be woken then
  std::list<Caller> callers_;
  std::atomic<bool> view_changed_{false};
  std::mutex mutex_;
  std::optional<std::string> end_;  // behind the mutex
  std::thread thread_;
};

}  // namespace spindrift::group
