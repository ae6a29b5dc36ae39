// Sleeping and waking. Every process rings its own bell, a page that its peers map read-only; a sleeper waits for all its
// peers' bells at once. The invariant: a sleeper says that it sleeps before it reads the bells, and who has news rings
// before it looks for sleepers, both in one total order; so one of the two always sees the other.
//
// A process with many peers has them ring its doorbell instead: it shows them a page that they may write, and waits for that
// alone. The same invariant holds: it says how it sleeps before it reads the doorbell.
//
// The kernel rings for who cannot any more: it marks the word `life` when a thread of a process ends that made a LifeMark.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <linux/futex.h>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/roster.hpp>
#include <spindrift/fabric/shm/region.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric::shm {

/// The page that one process shows its peers. All words are written by the owner alone, or by the kernel in its name; `news`
/// and `unsaid` by any thread of it.
struct BellPage {
  /// Counts the owner's news, wrapping. A futex that sleeping peers wait on. Any value is valid: only change matters.
  alignas(64) std::uint32_t news;
  /// A `Sleep`: whether the owner's poller sleeps, or is about to, and what wakes it. A lie costs its readers a system call
  /// per ring, or its owner a wake.
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
  /// 1: the owner takes a peer's doorbell and says so. 0 in releases that know none.
  std::uint32_t takes_doorbells;
};

/// The state of the poller of a bell's owner, as its peers see it.
enum class Sleep : std::uint32_t {
  awake = 0,
  hears_news = 1,    ///< asleep on the news of all peers, and whatever else
  hears_doorbell = 2,  ///< asleep on its own doorbell, and on the news of peers that have not said that they have it
};
static_assert(offsetof(BellPage, news) == 0 && offsetof(BellPage, sleeping) == 64 && offsetof(BellPage, life) == 128 &&
              sizeof(BellPage) == 192);

inline constexpr std::size_t bell_bytes = sizeof(BellPage);

/// The page that one process shows peers which may write it: they count it up to end its sleep. Any value is valid.
struct DoorbellPage {
  std::uint32_t rings;  ///< wrapping; a futex that the owner waits on. A lie wakes it for nothing, or a moment late
};
inline constexpr std::size_t doorbell_bytes = sizeof(DoorbellPage);

/// futex_waitv takes 128 words. One is the own wake word, and beside peers that ring it one is the own doorbell.
inline constexpr std::size_t waits_max = 128;
/// With so many peers a sleep costs less if they ring a doorbell: each of them has one call more to make then, and the
/// sleeper a wait for each of them less.
inline constexpr std::size_t doorbells_from = 32;
/// Words of life that a sleeper waits on beside its doorbell: those of the nodes behind it, so that any death is noticed
/// before the kernel has taken the dead process's memory down, by some who tell.
inline constexpr std::size_t lives_beside_doorbell = 16;
/// Most peers of a process: what a group has in members, without itself.
inline constexpr std::size_t peers_max = roster_count_max - 1;

/// A peer's bell.
class PeerBell {
 public:
  PeerBell(PeerSegment segment, NodeId node) noexcept : segment_(std::move(segment)), node_(node) {}
  [[nodiscard]] NodeId node() const noexcept { return node_; }
  [[nodiscard]] std::uint32_t* news_word() const noexcept { return &page()->news; }
  [[nodiscard]] std::uint32_t news() const noexcept { return std::atomic_ref(page()->news).load(std::memory_order_seq_cst); }
  [[nodiscard]] Sleep sleeping() const noexcept {
    return static_cast<Sleep>(std::atomic_ref(page()->sleeping).load(std::memory_order_seq_cst));
  }
  [[nodiscard]] bool takes_doorbells() const noexcept {
    return std::atomic_ref(page()->takes_doorbells).load(std::memory_order_relaxed) == 1;
  }

  /// The peer has shown its doorbell.
  void set_doorbell(PeerSegment doorbell) noexcept { doorbell_.emplace(std::move(doorbell)); }
  [[nodiscard]] bool has_doorbell() const noexcept { return doorbell_.has_value(); }
  /// Ends the peer's sleep: one system call.
  void ring_doorbell() const noexcept;
  /// The peer has said that it has the own doorbell: it ends sleeps on that.
  void set_rings_doorbell() noexcept { rings_doorbell_ = true; }
  [[nodiscard]] bool rings_doorbell() const noexcept { return rings_doorbell_; }

  [[nodiscard]] std::uint32_t* life_word() const noexcept { return &page()->life; }
  [[nodiscard]] std::uint32_t life() const noexcept { return std::atomic_ref(page()->life).load(std::memory_order_seq_cst); }
  /// The owner has died, or is dying: none of its threads will do anything again.
  [[nodiscard]] bool owner_died() const noexcept { return (life() & FUTEX_OWNER_DIED) != 0; }
  /// The thread of the owner that holds its life, as the kernel numbers it. The poller waits for that now and then.
  [[nodiscard]] std::uint32_t watcher() const noexcept { return life() & FUTEX_TID_MASK; }
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
  NodeId node_;
  std::optional<PeerSegment> doorbell_;
  bool rings_doorbell_ = false;
};

/// This process's bell and its sleep. All calls by the poller, except `wake`.
class Bell {
 public:
  /// Errors: unsupported (no futex_waitv), resource.
  [[nodiscard]] static Result<Bell> create();
  Bell(Bell&& other) noexcept : segment_(std::move(other.segment_)), doorbell_(std::move(other.doorbell_)) {}

  /// For passing to peers; sealed.
  [[nodiscard]] int descriptor() const noexcept { return segment_.descriptor(); }
  [[nodiscard]] int doorbell_descriptor() const noexcept { return doorbell_.descriptor(); }

  /// Tells the peers that there is news: one system call if any of them sleeps on that, whatever their number, and one for
  /// each that waits for its doorbell.
  void ring(std::span<const PeerBell* const> peers) noexcept;

  /// `peers` in the order of their nodes, beginning behind the own one: of the first ones deaths are noticed in a sleep.
  void prepare(std::span<const PeerBell* const> peers) noexcept;
  /// Ends early where some peer has news, and may do so for nothing.
  void sleep(Time deadline) noexcept;
  void cancel() noexcept;

  /// Any thread. If the own poller sleeps, it and the peers that wait for its news wake together.
  void wake() noexcept;

  /// Words to one peer more wait, or are lost: before anything is done that is to come behind them. One caller at a time.
  void withhold() noexcept { std::atomic_ref(page()->unsaid).fetch_add(1, std::memory_order_seq_cst); }
  /// Those of one that waited are said.
  void said() noexcept { std::atomic_ref(page()->unsaid).fetch_sub(1, std::memory_order_seq_cst); }

  [[nodiscard]] std::uint32_t* life_word() noexcept { return &page()->life; }
  /// The thread of this process that holds its life; 0: none does yet.
  [[nodiscard]] std::uint32_t watcher() const noexcept {
    return std::atomic_ref(page()->life).load(std::memory_order_seq_cst) & FUTEX_TID_MASK;
  }

 private:
  Bell(OwnSegment segment, OwnSegment doorbell) noexcept : segment_(std::move(segment)), doorbell_(std::move(doorbell)) {}
  void name_poller() noexcept;
  [[nodiscard]] bool wait_on(const futex_waitv& wait) noexcept;
  [[nodiscard]] BellPage* page() const noexcept { return reinterpret_cast<BellPage*>(segment_.memory().data()); }
  [[nodiscard]] DoorbellPage* doorbell_page() const noexcept {
    return reinterpret_cast<DoorbellPage*>(doorbell_.memory().data());
  }

  OwnSegment segment_;
  OwnSegment doorbell_;
  std::array<futex_waitv, waits_max> waits_{};
  std::uint32_t wait_count_ = 0;
  bool deaf_ = false;  ///< more peers do not know the doorbell yet than one call waits for
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
