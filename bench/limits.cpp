// The limits' loops. They are written for speed alone, and every process of them is bound to nothing except where a limit
// is about two CPUs.
#include <spindrift/bench/limits.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <thread>

#include <sched.h>
#include <unistd.h>

#include <spindrift/bench/payload.hpp>
#include <spindrift/bench/processes.hpp>

namespace spindrift::bench {

namespace {

constexpr Duration patience = std::chrono::minutes(2);

void pin_or_throw(std::uint32_t position) {
  if (pin_to_cpu(position)) return;
  throw Exception(
      Error(ErrorKind::unsupported, "this limit needs two CPUs").fix("run it on a machine, or in a cgroup, with two"));
}

/// Seconds that `first` takes on one CPU while `second` runs on another.
template <class First, class Second>
double time_pair(const SharedMemory& memory, std::size_t result_offset, First first, Second second) {
  const auto seconds = memory.make_objects<double>(result_offset, 1);
  run_processes(2, patience, [&](std::uint32_t process) {
    pin_or_throw(process);
    if (process == 1) return second();
    const std::uint64_t start_ns = nanoseconds_now();
    first();
    seconds[0] = seconds_between(start_ns, nanoseconds_now());
  });
  return seconds[0];
}

void publish_by_futex(SharedWord& word, std::uint64_t value) {
  word.value.store(value);
  futex_wake(word, 1);
}

void await_by_futex(SharedWord& word, std::uint64_t value) {
  while (word.value.load() != value) futex_wait(word, value - 1);
}

void ask_by_futex(std::span<SharedWord> words, std::uint64_t round) {
  publish_by_futex(words[0], round);
  await_by_futex(words[1], round);
}

void answer_by_futex(std::span<SharedWord> words, std::uint64_t round) {
  await_by_futex(words[0], round);
  publish_by_futex(words[1], round);
}

struct BareRow {
  SharedWord committed;  ///< messages of this member
  SharedWord received;   ///< sequence numbers below are here
  SharedWord delivered;  ///< sequence numbers below were delivered here
};

/// The members of one bare multicast have this in common. Slots lie in `ring` by sender, then by index modulo the window.
struct BareArena {
  const BareMulticast& run;
  std::uint64_t per_sender;
  std::span<BareRow> rows;
  Gate& gate;
  std::byte* ring;

  [[nodiscard]] std::byte* slot(std::uint64_t sender, std::uint64_t index) const noexcept {
    return ring + (sender * run.window + index % run.window) * slot_bytes();
  }
  [[nodiscard]] std::uint64_t slot_bytes() const noexcept { return sizeof(std::uint64_t) + run.message_bytes; }
};

/// One member: everything is done by one thread, or all but sending, which another does. Each yields when it finds nothing
/// to do.
class BareMember {
 public:
  BareMember(const BareArena& arena, std::uint32_t self, std::span<std::uint64_t> latencies_ns)
      : arena_(arena),
        self_(self),
        latencies_ns_(latencies_ns),
        senders_(arena.run.senders),
        all_(arena.per_sender * senders_),
        source_(arena.run.message_bytes, std::byte{1}) {}

  double run() {
    const bool sends = self_ < senders_;
    const bool apart = sends && arena_.run.sending_apart;
    std::thread sender;
    const std::uint64_t start_ns = arena_.gate.pass(arena_.run.members);
    if (apart) {
      sender = std::thread([this] { repeat([this] { return sent_ < arena_.per_sender; }, [this] { return send(); }); });
    }
    repeat([this] { return delivered_ < all_; },
           [&] {
             const bool sent = sends && !apart && send();
             const bool received = receive();
             const bool delivered = deliver();
             return sent || received || delivered;
           });
    const double seconds = seconds_between(start_ns, nanoseconds_now());
    if (apart) sender.join();
    return seconds;
  }

 private:
  template <class Unfinished, class Pass>
  static void repeat(Unfinished unfinished, Pass pass) {
    for (std::uint32_t idle_passes = 0; unfinished();) {
      if (pass()) {
        idle_passes = 0;
      } else if (++idle_passes > 20) {
        ::sched_yield();
      }
    }
  }

  static constexpr std::uint64_t batch_max = 32;

  bool send() noexcept {
    std::uint64_t delivered_everywhere = all_;
    for (const BareRow& row : arena_.rows)
      delivered_everywhere = std::min(delivered_everywhere, row.delivered.value.load(std::memory_order_acquire));
    const std::uint64_t free_below = delivered_everywhere / senders_ + arena_.run.window;
    const std::uint64_t until = std::min({arena_.per_sender, free_below, sent_ + batch_max});
    if (sent_ >= until) return false;
    if (!latencies_ns_.empty()) sent_at_ns_ = nanoseconds_now();
    for (; sent_ < until; ++sent_) {
      std::byte* slot = arena_.slot(self_, sent_);
      const std::uint64_t length = source_.size();
      if (arena_.run.touch) std::memcpy(slot + sizeof length, source_.data(), source_.size());
      std::memcpy(slot, &length, sizeof length);
    }
    arena_.rows[self_].committed.value.store(sent_, std::memory_order_release);
    return true;
  }

  bool receive() noexcept {
    std::uint64_t here = std::numeric_limits<std::uint64_t>::max();
    for (std::uint64_t sender = 0; sender < senders_; ++sender)
      here = std::min(here, arena_.rows[sender].committed.value.load(std::memory_order_acquire) * senders_ + sender);
    if (here <= received_) return false;
    received_ = here;
    arena_.rows[self_].received.value.store(received_, std::memory_order_release);
    return true;
  }

  bool deliver() noexcept {
    std::uint64_t stable = all_;
    for (const BareRow& row : arena_.rows) stable = std::min(stable, row.received.value.load(std::memory_order_acquire));
    if (delivered_ >= stable) return false;
    for (; delivered_ < stable; ++delivered_) {
      const std::byte* slot = arena_.slot(delivered_ % senders_, delivered_ / senders_);
      std::uint64_t length = 0;
      std::memcpy(&length, slot, sizeof length);
      keep(arena_.run.touch ? read_lines({slot + sizeof length, length}) : length);
    }
    if (!latencies_ns_.empty()) latencies_ns_[delivered_ - 1] = nanoseconds_now() - sent_at_ns_;
    arena_.rows[self_].delivered.value.store(delivered_, std::memory_order_release);
    return true;
  }

  const BareArena& arena_;
  std::uint32_t self_;
  std::span<std::uint64_t> latencies_ns_;  // empty, or the sender's with window 1: one per message
  std::uint64_t senders_;
  std::uint64_t all_;
  std::vector<std::byte> source_;
  std::uint64_t sent_ = 0;  // the sending thread's, as sent_at_ns_ is
  alignas(cache_line_bytes) std::uint64_t received_ = 0;
  std::uint64_t delivered_ = 0;
  std::uint64_t sent_at_ns_ = 0;
};

/// Runs all members; the latencies, if wanted, are copied out of shared memory at the end.
double run_bare(const BareMulticast& run, std::vector<std::uint64_t>* latencies_ns) {
  const std::uint64_t per_sender = (run.messages + run.senders - 1) / run.senders;
  const std::uint64_t latency_count = latencies_ns ? per_sender : 0;
  const std::uint64_t rows_offset = sizeof(Gate);
  const std::uint64_t seconds_offset = rows_offset + run.members * sizeof(BareRow);
  const std::uint64_t latencies_offset = seconds_offset + run.members * sizeof(SharedWord);
  const std::uint64_t ring_offset = (latencies_offset + latency_count * sizeof(std::uint64_t) + 4095) / 4096 * 4096;
  auto memory = SharedMemory::make(ring_offset + run.senders * run.window * (sizeof(std::uint64_t) + run.message_bytes));

  const auto seconds = memory.make_objects<double>(seconds_offset, run.members);
  const auto latencies = memory.make_objects<std::uint64_t>(latencies_offset, latency_count);
  const BareArena arena{run, per_sender, memory.make_objects<BareRow>(rows_offset, run.members),
                        memory.make_objects<Gate>(0, 1)[0], memory.data() + ring_offset};
  run_processes(run.members, patience, [&](std::uint32_t self) {
    name_thread("limit");
    seconds[self] = BareMember(arena, self, self == 0 ? latencies : std::span<std::uint64_t>()).run();
  });
  if (latencies_ns) latencies_ns->assign(latencies.begin(), latencies.end());
  return *std::max_element(seconds.begin(), seconds.end());
}

}  // namespace

double cache_line_round_trip_ns() {
  constexpr std::uint64_t rounds = 500'000;
  auto memory = SharedMemory::make(4096);
  const auto words = memory.make_objects<SharedWord>(0, 2);
  const auto await = [](const SharedWord& word, std::uint64_t value) {
    while (word.value.load(std::memory_order_acquire) != value) {
    }
  };
  const auto seconds = time_pair(
      memory, 1024,
      [&] {
        for (std::uint64_t round = 1; round <= rounds; ++round) {
          words[0].value.store(round, std::memory_order_release);
          await(words[1], round);
        }
      },
      [&] {
        for (std::uint64_t round = 1; round <= rounds; ++round) {
          await(words[0], round);
          words[1].value.store(round, std::memory_order_release);
        }
      });
  return seconds / static_cast<double>(rounds) * 1e9;
}

double futex_round_trip_ns() {
  constexpr std::uint64_t rounds = 50'000;
  auto memory = SharedMemory::make(4096);
  const auto words = memory.make_objects<SharedWord>(0, 2);
  const auto seconds = time_pair(
      memory, 1024,
      [&] {
        for (std::uint64_t round = 1; round <= rounds; ++round) ask_by_futex(words, round);
      },
      [&] {
        for (std::uint64_t round = 1; round <= rounds; ++round) answer_by_futex(words, round);
      });
  return seconds / static_cast<double>(rounds) * 1e9;
}

std::vector<std::uint64_t> futex_latencies_ns(std::uint64_t exchanges, Duration rest) {
  constexpr std::uint64_t latencies_offset = 4096;
  auto memory = SharedMemory::make(latencies_offset + exchanges * sizeof(std::uint64_t));
  const auto words = memory.make_objects<SharedWord>(0, 2);
  const auto latencies = memory.make_objects<std::uint64_t>(latencies_offset, exchanges);
  time_pair(
      memory, 1024,
      [&] {
        for (std::uint64_t round = 1; round <= exchanges; ++round) {
          std::this_thread::sleep_for(rest);
          const std::uint64_t start_ns = nanoseconds_now();
          ask_by_futex(words, round);
          latencies[round - 1] = nanoseconds_now() - start_ns;
        }
      },
      [&] {
        for (std::uint64_t round = 1; round <= exchanges; ++round) answer_by_futex(words, round);
      });
  return std::vector<std::uint64_t>(latencies.begin(), latencies.end());
}

double ring_messages_per_second(std::uint64_t message_bytes, Duration duration) {
  const std::uint64_t slots = std::max<std::uint64_t>((1u << 20) / message_bytes, 2);
  auto memory = SharedMemory::make(4096 + slots * message_bytes);
  const auto words = memory.make_objects<SharedWord>(0, 3);
  SharedWord &written = words[0], &read = words[1], &stop = words[2];
  std::byte* ring = memory.data() + 4096;

  const auto writer = [&] {
    const std::vector<std::byte> source(message_bytes, std::byte{1});
    const std::uint64_t end_ns = nanoseconds_now() + static_cast<std::uint64_t>(duration.count());
    const std::uint64_t publish_every = message_bytes > 4000 ? 1 : 8;
    std::uint64_t count = 0;
    while (count % 1024 != 0 || nanoseconds_now() < end_ns) {
      while (count - read.value.load(std::memory_order_acquire) >= slots) {
      }
      std::memcpy(ring + count % slots * message_bytes, source.data(), message_bytes);
      if (++count % publish_every == 0) written.value.store(count, std::memory_order_release);
    }
    stop.value.store(1, std::memory_order_release);
  };
  const auto reader = [&] {
    std::uint64_t count = 0;
    while (stop.value.load(std::memory_order_relaxed) == 0) {
      const std::uint64_t until = written.value.load(std::memory_order_acquire);
      while (count < until) {
        keep(read_lines({ring + count % slots * message_bytes, message_bytes}));
        if (++count % 16 == 0) read.value.store(count, std::memory_order_release);
      }
      read.value.store(count, std::memory_order_release);
    }
  };
  const auto seconds = time_pair(memory, 1024, writer, reader);
  return static_cast<double>(written.value.load()) / seconds;
}

double bare_multicast_seconds(const BareMulticast& run) { return run_bare(run, nullptr); }

std::vector<std::uint64_t> bare_multicast_latencies_ns(std::uint32_t members, std::uint64_t message_bytes,
                                                       std::uint64_t messages) {
  std::vector<std::uint64_t> latencies_ns;
  run_bare({members, 1, message_bytes, 1, true, messages}, &latencies_ns);
  return latencies_ns;
}

}  // namespace spindrift::bench
