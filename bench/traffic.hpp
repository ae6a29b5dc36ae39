// Traffic of any shape in a group of real processes: several subgroups, some of them idle, some with slow senders or slow
// handlers. Watched for a while, then stopped and counted to the last message.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <spindrift/bench/group_config.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/smc/ablation.hpp>

namespace spindrift::bench {

inline constexpr std::size_t traffic_members_max = 16;
/// Batches of 1, 2–3, 4–7, …: by the position of the size's highest bit.
inline constexpr std::size_t batch_classes = 16;

/// The way in which a handler or a sender spends time.
enum class Spending : std::uint8_t {
  computing,  ///< keeps its CPU
  waiting,    ///< leaves the CPU to others, as one that waits for a disk does
};

/// The traffic of one subgroup. Every member is in it.
struct Stream {
  bool active = true;         ///< otherwise nobody sends here
  std::uint32_t threads = 1;  ///< of each sender
  Duration handling{};        ///< what the delivery handler takes for each message besides, at every member
  Spending handling_by = Spending::computing;
  bool own_thread = false;  ///< the delivery handler has one, at every member
};

/// Processes that observe the first subgroup.
struct Watchers {
  std::uint32_t reading = 0;
  std::uint32_t standing = 0;  ///< read nothing as long as messages flow
  bool idle_class = false;     ///< the reading ones get CPUs that nobody else wants (SCHED_IDLE)

  [[nodiscard]] std::uint32_t count() const noexcept { return reading + standing; }
};

struct TrafficRun {
  std::uint32_t members = 3;              ///< all may send
  std::vector<Stream> streams{Stream()};  ///< one subgroup each
  std::uint64_t message_bytes = 1024;     ///< at least 8; written by the sender, read at delivery
  std::uint64_t window = 0;               ///< messages of one sender on their way; 0: what a user gets
  std::uint32_t slow_senders = 0;         ///< the last so many members
  std::optional<Duration>
      slow_after{};      ///< what they wait after each message, computing if it is short; nothing: they never send
  bool in_turn = false;  ///< one thread of each member sends to all active streams in turn, instead of one for each
  Watchers watchers;     ///< only with null-sends
  smc::Ablation policy;  ///< without null-sends nothing is counted to the end: some of it can never be delivered
  Duration warm_up = std::chrono::milliseconds(100);
  Duration watch = std::chrono::milliseconds(500);
  std::vector<ConfigOverride> settings;
};

/// Means of all members together, over the whole run.
struct BatchMeans {
  double sent = 0;       ///< records, messages or runs of nulls, that became visible at once
  double received = 0;   ///< messages of all other senders that were acknowledged at once
  double delivered = 0;  ///< messages in one upcall
};

/// The names of the parts into which a poller's time goes. With a clock in the policy.
inline constexpr std::array predicate_names{"receive", "null-sends", "send", "stability", "delivery", "upcall", "post"};

struct StreamResult {
  /// The part of all messages of the run that a reading watcher got, mean of them; the rest was told to them as missed.
  double watched_share = 0;
  double messages_per_second = 0;        ///< of all senders while watched, at the member that delivered the fewest
  double prompt_per_second = 0;          ///< the same of the senders that are not slow
  std::uint64_t sent = 0;                ///< by all threads of all senders; 0 where that was not counted
  std::uint64_t null_runs = 0;           ///< by all senders
  std::vector<std::uint64_t> delivered;  ///< at each member, to the end of the run
  BatchMeans batches;
  std::array<std::uint64_t, batch_classes> delivery_batches{};  ///< upcalls of all members by the size of their batch
  /// Nanoseconds for each message delivered, mean of all members; the first stream has the posting of all.
  std::array<double, predicate_names.size()> predicate_ns{};
};

/// One result per stream. Every member checks that it delivers each thread's messages in the order sent, without a gap, and
/// in the end all of them; one that sees a fault says so on standard error, and the run fails. Errors: bad_config, resource;
/// would_block if the run does not end.
[[nodiscard]] std::vector<StreamResult> run_traffic(const TrafficRun& run);

}  // namespace spindrift::bench
