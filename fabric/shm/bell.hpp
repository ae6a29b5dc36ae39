// Sleeping and waking. Every process rings its own bell, a page that its peers map read-only; a sleeper waits for all its
// peers' bells at once. The invariant: a sleeper says that it sleeps before it reads the bells, and who has news rings
// before it looks for sleepers, both in one total order; so one of the two always sees the other.
//
// The kernel rings for who cannot any more: it marks the word `life` when a thread of a process ends that made a LifeMark.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include <linux/futex.h>

#include <spindrift/core/clock.hpp>
#include <spindrift/fabric/shm/region.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric::shm {

/// The page that one process shows its peers. All words are written by the owner alone, or by the kernel in its name; `news`
/// and `unsaid` by any thread of it.
struct BellPage {
  /// Counts the owner's news, wrapping. A futex that sleeping peers wait on. Any value is valid: only change matters.
  alignas(64) std::uint32_t news;
  /// 1 while the owner's poller sleeps or is about to, else 0. A lie costs its readers one system call per ring.
  alignas(64) std::uint32_t sleeping;
  /// A robust futex: the thread that holds it while the owner lives, FUTEX_OWNER_DIED once that has ended without a word.
  /// A lie costs its owner its links. 0: none holds it.
  alignas(64) std::uint32_t life;
  /// The thread of the owner that polls, as the kernel numbers it; 0: none has. A lie has no effect but on how long its
  /// owner may be silent.
  std::uint32_t poller;
  /// The owner's connections on which words of its still wait for room, or were lost when it ended them. Not 0 when it dies:
  /// not everything that it had to say is heard. A lie has no effect but on what its silence says when it is dead.
  std::uint32_t unsaid;
};
static_assert(offsetof(BellPage, news) == 0 && offsetof(BellPage, sleeping) == 64 && offsetof(BellPage, life) == 128 &&
              sizeof(BellPage) == 192);

inline constexpr std::size_t bell_bytes = sizeof(BellPage);
/// futex_waitv takes 128 words; one is the own wake word. Words of life come behind all bells, as far as they fit: the
/// deaths of others are known when the kernel has taken their memory down.
inline constexpr std::size_t bells_max = 127;

/// A peer's bell.
class PeerBell {
 public:
  explicit PeerBell(PeerSegment segment) noexcept : segment_(std::move(segment)) {}
  [[nodiscard]] std::uint32_t* news_word() const noexcept { return &page()->news; }
  [[nodiscard]] std::uint32_t news() const noexcept { return std::atomic_ref(page()->news).load(std::memory_order_seq_cst); }
  [[nodiscard]] bool sleeping() const noexcept {
    return std::atomic_ref(page()->sleeping).load(std::memory_order_seq_cst) != 0;
  }
  [[nodiscard]] std::uint32_t* life_word() const noexcept { return &page()->life; }
  [[nodiscard]] std::uint32_t life() const noexcept { return std::atomic_ref(page()->life).load(std::memory_order_seq_cst); }
  /// The owner has died, or is dying: none of its threads will do anything again.
  [[nodiscard]] bool owner_died() const noexcept { return (life() & FUTEX_OWNER_DIED) != 0; }
  [[nodiscard]] std::uint32_t poller() const noexcept {
    return std::atomic_ref(page()->poller).load(std::memory_order_relaxed);
  }
  /// The owner, which is gone, left nothing unsaid.
  [[nodiscard]] bool said_all() const noexcept {
    return std::atomic_ref(page()->unsaid).load(std::memory_order_acquire) == 0;
  }
  /// Wakes all others that sleep on the owner's life, for the kernel has woken but one.
  void tell_others() const noexcept;

 private:
  [[nodiscard]] BellPage* page() const noexcept { return reinterpret_cast<BellPage*>(segment_.memory().data()); }
  PeerSegment segment_;
};

/// This process's bell and its sleep. All calls by the poller, except `wake`.
class Bell {
 public:
  /// Errors: unsupported (no futex_waitv), resource.
  [[nodiscard]] static Result<Bell> create();
  Bell(Bell&& other) noexcept : segment_(std::move(other.segment_)) {}

  /// For passing to peers; sealed.
  [[nodiscard]] int descriptor() const noexcept { return segment_.descriptor(); }

  /// Tells the peers that there is news: one system call if any of them sleeps, whatever their number.
  void ring(std::span<const PeerBell* const> peers) noexcept;

  void prepare(std::span<const PeerBell* const> peers) noexcept;
  void sleep(Time deadline) noexcept;
  void cancel() noexcept;

  /// Any thread. If the own poller sleeps, it and the peers that wait for its news wake together.
  void wake() noexcept;

  /// Words to one peer more wait, or are lost: before anything is done that is to come behind them. One caller at a time.
  void withhold() noexcept { std::atomic_ref(page()->unsaid).fetch_add(1, std::memory_order_seq_cst); }
  /// Those of one that waited are said.
  void said() noexcept { std::atomic_ref(page()->unsaid).fetch_sub(1, std::memory_order_seq_cst); }

  [[nodiscard]] std::uint32_t* life_word() noexcept { return &page()->life; }

 private:
  explicit Bell(OwnSegment segment) noexcept : segment_(std::move(segment)) {}
  void name_poller() noexcept;
  [[nodiscard]] BellPage* page() const noexcept { return reinterpret_cast<BellPage*>(segment_.memory().data()); }

  OwnSegment segment_;
  std::array<futex_waitv, bells_max + 1> waits_{};
  std::uint32_t wait_count_ = 0;
  alignas(64) std::atomic<std::uint32_t> wake_word_ = 0;  ///< private to this process; counts wakes, wrapping
};

/// While it lives, the thread that made it holds the bell's word of life: should the process die, the kernel says so in that
/// word as soon as the thread ends, before it takes down the process's memory, which for some gigabytes takes a good part of
/// a second. That thread has no robust mutexes of its own meanwhile. One for each bell; it ends on the thread that made it.
class LifeMark {
 public:
  explicit LifeMark(Bell& bell) noexcept;
  ~LifeMark();
  LifeMark(const LifeMark&) = delete;
  LifeMark& operator=(const LifeMark&) = delete;

 private:
  std::uint32_t* word_;
  robust_list entry_{};
  robust_list_head head_{};
  robust_list_head* before_ = nullptr;  ///< the C library's
};

}  // namespace spindrift::fabric::shm
