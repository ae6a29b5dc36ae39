// One run in the modeled setting: what is asked, and what came out.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/bench/papers/model/costs.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/smc/ablation.hpp>

namespace spindrift::bench::model {

/// One way to run the protocol: which of the paper's techniques, and what the software costs.
struct System {
  std::string name;
  smc::Ablation policy;
  Software software;
  Lock lock = Lock::none;
  /// As Derecho: every subgroup is evaluated in turn whether it has news or not, each predicate posts for itself, a write
  /// a call, and rings consist of slots. Otherwise smc::SubgroupScheduler: subgroups with news, one push before the upcalls.
  bool in_turn = false;
};

/// Derecho before Spindle.
[[nodiscard]] System baseline();
/// Derecho with the first `stages` of: delivery, receive, send batching, null-sends, posting after the lock's release.
[[nodiscard]] System spindle(int stages);
inline constexpr int spindle_batching = 3;
inline constexpr int spindle_nulls = 4;
inline constexpr int spindle_all = 5;
/// This implementation as a user gets it.
[[nodiscard]] System product();

inline constexpr Ticks for_ever = std::numeric_limits<Ticks>::infinity();

/// Whether the application copies each message to where it is sent from, and from where it is delivered.
struct Copies {
  bool in = false;
  bool out = false;
};

struct Experiment {
  System system;
  Link link;
  std::uint32_t members = 16;
  std::uint32_t senders = 16;  ///< the first ones
  std::uint32_t subgroups = 1;
  std::uint32_t active_subgroups = 1;  ///< the first ones: all senders send there
  DeliveryMode mode = DeliveryMode::ordered;
  std::uint64_t message_bytes = 10240;
  std::uint64_t window = 100;
  /// Messages lie in bulk rings, and travel like this; nothing: in the rows' rings, from the sender to everybody.
  std::optional<smc::Relay> large{};
  std::uint32_t delayed = 0;    ///< of the senders, the last ones
  Ticks delay_ns = 0;           ///< after each of their messages; `for_ever`: they never send
  Ticks message_upcall_ns = 0;  ///< the application's, per message
  Copies copies{};
  /// Members start within the first 100 us, and each of their steps takes up to a tenth longer than it costs, by this seed:
  /// clocks that run alike would let all members march in step.
  std::uint64_t seed = 1;
  std::uint64_t rounds = 600;  ///< the run ends when everybody has delivered as many per sender and active subgroup
};

/// The number of batches of each size; the last place is for all larger ones.
using Histogram = std::array<std::uint64_t, 257>;

struct Batches {
  std::uint64_t count = 0;
  std::uint64_t messages = 0;
  Histogram histogram{};
  void add(std::uint64_t messages);
  void add(const Batches& other);
  [[nodiscard]] double mean() const noexcept;
};

struct Outcome {
  bool stalled = false;            ///< the members stopped delivering before the end; the rates are 0 then
  double messages_per_second = 0;  ///< delivered per member, mean over the members, without the first quarter
  double gigabytes_per_second = 0;
  double latency_us = 0;  ///< of a message, from its commit to its delivery at its sender; mean
  double simulated_seconds = 0;
  // These are means over the members, per message delivered at one:
  double writes = 0;
  double lists = 0;  ///< of writes to one peer; a push to all is one list for each
  double wire_bytes = 0;
  // Shares of the time:
  double posting = 0;
  double waiting = 0;  ///< of a sending thread that is not delayed, for space or the lock
  double active = 0;   ///< of the poller's busy time, for subgroups in which is sent
  Batches sent{};
  Batches received{};
  Batches delivered{};
  /// Steps in which one sender queued nulls, per 1000 messages delivered at it: of a sender that is delayed, and of another.
  double null_runs_delayed = 0;
  double null_runs_continuous = 0;
};

/// Runs until everybody has delivered. The same experiment has the same outcome, to the last digit.
[[nodiscard]] Outcome run(const Experiment& experiment);

}  // namespace spindrift::bench::model
