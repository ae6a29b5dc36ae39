// The heartbeats of a member whose application or disk holds up the poller: as long as the poller is in an upcall, another
// thread shows from time to time that the member lives. The others wait for it then, and do not take it for dead.
//
// An upcall is whatever the poller calls in the middle of a pass and cannot know the end of: a handler, or the commit of a
// record of views. (docs/decisions/0044, 0072)
//
// While no upcalls come the thread rests, so that a quiet member has one thread less that wakes.
//
// The invariant to remember: the thread touches what is the poller's only between two exchanges of one word, which keep the
// upcall from returning; and the poller is in the protocol only outside of them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/config/config.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::group {

/// How long one upcall may hold up everybody, by [SPINDRIFT] handler_stuck_after_ms; 0: as long as it takes.
[[nodiscard]] Duration handler_stuck_after(const Config& config);

class UpcallHeartbeats {
 public:
  static constexpr Duration report_after = std::chrono::seconds(1);
  static constexpr Duration report_interval = std::chrono::seconds(10);

  enum class HeldBy : std::uint8_t { application, disk };
  /// The one that an upcall waits for.
  struct Whose {
    std::optional<SubgroupId> subgroup{};  ///< whose handler is at work; nothing: one of the group's, such as on_view
    HeldBy held_by = HeldBy::application;
    Whose(SubgroupId handler) noexcept : subgroup(handler) {}  // NOLINT: implicit, as nearly all are
    Whose(std::nullopt_t) noexcept {}                          // NOLINT: the same
    explicit Whose(HeldBy by) noexcept : held_by(by) {}
    bool operator==(const Whose&) const noexcept = default;
  };
  /// An upcall that has lasted for longer than it may.
  struct Stuck {
    Whose whose;
    Duration lasted{};
  };
  /// The thread does this while the poller cannot return from its upcall.
  struct Duties {
    std::function<void(Whose)> show_life;
    std::function<void(Whose, Duration)> report;  ///< that the upcall has lasted so long
    std::function<void(const Stuck&)> give_up;    ///< this member is not shown to live any more
  };

  /// `patience`: for how long a member may be silent; 0: silence is no ground for suspicion, and there is no thread.
  /// `stuck_after`: for how long one upcall is covered up; 0: as long as it takes. `clock` outlives this.
  UpcallHeartbeats(Duration patience, Duration stuck_after, Duties duties, const Clock& clock) noexcept
      : patience_(patience), stuck_after_(stuck_after), duties_(std::move(duties)), clock_(clock) {}
  /// Outside of upcalls.
  ~UpcallHeartbeats();
  UpcallHeartbeats(const UpcallHeartbeats&) = delete;
  UpcallHeartbeats& operator=(const UpcallHeartbeats&) = delete;

  /// Starts the thread. Errors: resource.
  [[nodiscard]] Result<void> start();

  /// The poller is in an upcall while this lives.
  class Upcall {
   public:
    Upcall(UpcallHeartbeats& heartbeats, Whose whose) noexcept : heartbeats_(heartbeats) { heartbeats_.enter(whose); }
    ~Upcall() { heartbeats_.leave(); }
    Upcall(const Upcall&) = delete;
    Upcall& operator=(const Upcall&) = delete;

   private:
    UpcallHeartbeats& heartbeats_;
  };
  /// The poller is in the protocol for a moment, on behalf of a handler, while this lives. Inside of an upcall or not.
  class Interlude {
   public:
    explicit Interlude(UpcallHeartbeats& heartbeats) noexcept
        : heartbeats_(heartbeats), whose_(heartbeats.whose_), in_upcall_(heartbeats.in_upcall()) {
      if (in_upcall_) heartbeats_.leave();
    }
    ~Interlude() {
      if (in_upcall_) heartbeats_.enter(whose_);
    }
    Interlude(const Interlude&) = delete;
    Interlude& operator=(const Interlude&) = delete;

   private:
    UpcallHeartbeats& heartbeats_;
    const Whose whose_;
    const bool in_upcall_;
  };

  /// The poller, outside of upcalls: the first since the last call in which its member was no longer shown to live, if there
  /// was one.
  [[nodiscard]] std::optional<Stuck> take_stuck() noexcept { return std::exchange(stuck_, std::nullopt); }

  /// The thread's turn, in a time of its own; what `start` makes it do each eighth of the patience.
  void on_turn(Time now);

 private:
  // The word: the number of the upcall, and behind it who has the member.
  enum class Holder : std::uint64_t { protocol, application, heartbeat };
  static constexpr std::uint64_t holder_bits = 2;

  [[nodiscard]] static constexpr std::uint64_t word_of(std::uint64_t upcall, Holder holder) noexcept {
    return upcall << holder_bits | static_cast<std::uint64_t>(holder);
  }
  [[nodiscard]] bool in_upcall() const noexcept {
    return word_.load(std::memory_order_relaxed) != word_of(upcall_, Holder::protocol);
  }
  void enter(Whose whose) noexcept;
  void leave() noexcept;
  void cover(Duration lasted, Time now);
  void give_up(Duration lasted);
  void run();
  void rest(std::unique_lock<std::mutex>& lock, std::uint64_t since);
  void end_rest() noexcept;

  /// An upcall that a turn has seen.
  struct Seen {
    std::uint64_t word = 0;
    Time since{};
    Time next_report{};
  };

  const Duration patience_;
  const Duration stuck_after_;
  const Duties duties_;
  const Clock& clock_;
  std::uint64_t upcall_ = 0;  ///< the poller's: the number of the last one
  Whose whose_{std::nullopt};  ///< of whoever has the member
  std::optional<Stuck> stuck_;  ///< the same: the first since the poller asked
  std::atomic<std::uint64_t> word_{0};
  std::optional<Seen> seen_;  ///< the thread's
  std::mutex mutex_;
  std::condition_variable ends_;
  bool ending_ = false;             ///< behind the mutex
  std::atomic<bool> resting_{false};  ///< changed behind the mutex; the poller looks whenever it enters an upcall
  std::thread thread_;
};

}  // namespace spindrift::group
