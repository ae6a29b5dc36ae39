// The futex calls behind the bell. Words of bells are shared between processes; the wake word is private to this one.
#include <spindrift/fabric/shm/bell.hpp>

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include <spindrift/core/asymmetric_barrier.hpp>
#include <spindrift/core/check.hpp>

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

namespace spindrift::fabric::shm {
namespace {

constexpr Duration deaf_for = std::chrono::milliseconds(1);

long futex_waitv_call(futex_waitv* waits, std::uint32_t count, const timespec* deadline) noexcept {
  return ::syscall(SYS_futex_waitv, waits, count, 0U, deadline, CLOCK_MONOTONIC);
}

void futex_wake_all(void* word, int flags) noexcept {
  ::syscall(SYS_futex, word, FUTEX_WAKE | flags, INT_MAX, nullptr, nullptr, 0);
}

futex_waitv wait_for(void* word, std::uint32_t seen, std::uint32_t flags) noexcept {
  futex_waitv wait{};
  wait.val = seen;
  wait.uaddr = reinterpret_cast<std::uintptr_t>(word);
  wait.flags = FUTEX_32 | flags;
  return wait;
}

timespec to_timespec(Time time) noexcept {
  const auto since_boot = std::max(time.time_since_epoch(), Duration::zero());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_boot);
  timespec result{};
  result.tv_sec = static_cast<time_t>(seconds.count());
  result.tv_nsec = static_cast<long>((since_boot - seconds).count());
  return result;
}

/// An empty list is refused with EINVAL by a kernel that knows the call.
bool kernel_has_futex_waitv() noexcept { return futex_waitv_call(nullptr, 0, nullptr) == 0 || errno != ENOSYS; }

}  // namespace

Result<Bell> Bell::create() {
  if (!kernel_has_futex_waitv()) {
    return Error(ErrorKind::unsupported,
                 "this kernel, or what runs this process, has no futex_waitv, with which shm waits for all peers at once")
        .fix("run Linux 5.16 or newer, allow system call 449 in the container's seccomp profile, and run members outside of "
             "tools that do not know the call, as valgrind");
  }
  SPINDRIFT_TRY_ASSIGN(OwnSegment segment, OwnSegment::create(bell_bytes, "bell"));
  SPINDRIFT_TRY(segment.seal(Access::read));
  SPINDRIFT_TRY_ASSIGN(OwnSegment doorbell, OwnSegment::create(doorbell_bytes, "doorbell"));
  SPINDRIFT_TRY(doorbell.seal(Access::write));
  Bell bell(std::move(segment), std::move(doorbell));
  std::atomic_ref(bell.page()->takes_doorbells).store(1, std::memory_order_relaxed);
  return bell;
}

// The thread that makes an endpoint need not be the one that polls it later.
void Bell::name_poller() noexcept {
  thread_local const auto self = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  const std::atomic_ref poller(page()->poller);
  if (poller.load(std::memory_order_relaxed) != self) poller.store(self, std::memory_order_relaxed);
}

void Bell::ring(std::span<const PeerBell* const> peers) noexcept {
  name_poller();
  std::atomic_ref(page()->news).fetch_add(1, std::memory_order_seq_cst);
  bool heard = false;
  for (const PeerBell* peer : peers) {
    const Sleep sleep = peer->sleeping();
    if (sleep == Sleep::awake) continue;
    if (sleep == Sleep::hears_doorbell && peer->has_doorbell()) {
      peer->ring_doorbell();
    } else if (!std::exchange(heard, true)) {
      futex_wake_all(&page()->news, 0);
    }
  }
}

bool Bell::wait_on(const futex_waitv& wait) noexcept {
  if (wait_count_ == waits_.size()) return false;
  waits_[wait_count_++] = wait;
  return true;
}

// A peer that has the doorbell tells by it what it changes: it sees how this poller sleeps only after it has made a change,
// and this poller looks once more after it has said so and read the doorbell.
void Bell::prepare(std::span<const PeerBell* const> peers) noexcept {
  CHECK(peers.size() <= peers_max);
  name_poller();
  const bool by_doorbell = peers.size() >= doorbells_from;
  // The wake word is read first: a `wake` that takes the flag away changes the word afterwards, and then this sleep must
  // end, or nobody would see it.
  waits_[0] = wait_for(&wake_word_, wake_word_.load(std::memory_order_seq_cst), FUTEX_PRIVATE_FLAG);
  wait_count_ = 1;
  const Sleep sleep = by_doorbell ? Sleep::hears_doorbell : Sleep::hears_news;
  std::atomic_ref(page()->sleeping).store(static_cast<std::uint32_t>(sleep), std::memory_order_seq_cst);
  heavy_barrier();  // for `wake`
  if (by_doorbell) {
    std::uint32_t& rings = doorbell_page()->rings;
    waits_[wait_count_++] = wait_for(&rings, std::atomic_ref(rings).load(std::memory_order_seq_cst), 0);
  }
  deaf_ = false;
  for (const PeerBell* peer : peers) {
    if (by_doorbell && peer->rings_doorbell()) continue;
    deaf_ |= !wait_on(wait_for(peer->news_word(), peer->news(), 0));
  }
  for (const PeerBell* peer : peers.first(by_doorbell ? lives_beside_doorbell : peers.size())) {
    if (!wait_on(wait_for(peer->life_word(), peer->life(), 0))) break;
  }
}

void Bell::sleep(Time deadline) noexcept {
  // Only while more than a hundred peers are linked at once: each that says that it has the doorbell ends the sleep, too.
  if (deaf_) deadline = std::min(deadline, SystemClock().now() + deaf_for);
  const timespec until = to_timespec(deadline);
  const long result = futex_waitv_call(waits_.data(), wait_count_, deadline == never ? nullptr : &until);
  // EAGAIN: a word had changed already. EINTR: a signal; the caller looks and comes back.
  CHECK(result >= 0 || errno == EAGAIN || errno == ETIMEDOUT || errno == EINTR);
  cancel();
}

void Bell::cancel() noexcept { std::atomic_ref(page()->sleeping).store(0, std::memory_order_release); }

// A poller not seen asleep here has not yet looked once more, as it does after it says so; then it finds what the caller
// changed before. Of several callers one wakes it: until it runs, the others need no system call each. What wakes a sleeping
// poller will soon be its peers' business as well: they wake at the same time, not one after another.
void Bell::wake() noexcept {
  light_barrier();
  std::atomic_ref sleeping(page()->sleeping);
  if (sleeping.load(std::memory_order_relaxed) == 0 || sleeping.exchange(0, std::memory_order_seq_cst) == 0) return;
  wake_word_.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(&wake_word_, FUTEX_PRIVATE_FLAG);
  std::atomic_ref(page()->news).fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(&page()->news, 0);
}

void PeerBell::tell_others() const noexcept { futex_wake_all(life_word(), 0); }

void PeerBell::ring_doorbell() const noexcept {
  std::uint32_t& rings = reinterpret_cast<DoorbellPage*>(doorbell_->memory().data())->rings;
  std::atomic_ref(rings).fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(&rings, 0);
}

LifeMark::LifeMark(Bell& bell) noexcept : word_(bell.life_word()) {
  std::size_t bytes = 0;
  CHECK(::syscall(SYS_get_robust_list, 0, &before_, &bytes) == 0);
  head_.list.next = &entry_;
  entry_.next = &head_.list;
  head_.futex_offset = reinterpret_cast<std::intptr_t>(word_) - reinterpret_cast<std::intptr_t>(&entry_);
  CHECK(::syscall(SYS_set_robust_list, &head_, sizeof head_) == 0);
  // The kernel wakes a sleeper only where the word says that there is one, and no peer can write it.
  const auto holder = static_cast<std::uint32_t>(::syscall(SYS_gettid)) | FUTEX_WAITERS;
  std::atomic_ref(*word_).store(holder, std::memory_order_seq_cst);
}

LifeMark::~LifeMark() {
  std::atomic_ref(*word_).store(0, std::memory_order_seq_cst);
  CHECK(::syscall(SYS_set_robust_list, before_, sizeof head_) == 0);
}

}  // namespace spindrift::fabric::shm
