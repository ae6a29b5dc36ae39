// The multicast measured over a matrix of parameters, each cell several times, the group and its limit by turns: whatever
// else the machine does meanwhile falls on both.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <spindrift/bench/report.hpp>
#include <spindrift/core/config/config.hpp>

namespace spindrift::bench {

/// Which members send.
enum class Senders : std::uint8_t { one, half, all };
/// The number of `members` that send; at least one.
[[nodiscard]] std::uint32_t sender_count(Senders senders, std::uint32_t members) noexcept;

struct Matrix {
  std::vector<std::uint32_t> members{2, 3, 4, 5, 6, 7, 8};
  std::vector<Senders> senders{Senders::one, Senders::all};
  std::vector<std::uint64_t> message_bytes{100, 1024, 10240};
  std::vector<bool> touch{true, false};
  std::uint64_t window = 0;      ///< messages of one sender in flight, of the group and the limit; 0: what a user gets
  std::uint64_t ring_bytes = 0;  ///< of the group; 0: what a user gets
  std::uint64_t messages = 0;    ///< per run, all senders together; 0: as many as take about `seconds`
  double seconds = 0.5;          ///< per run
  std::uint32_t repeats = 3;
  std::vector<ConfigOverride> settings;
};

struct LatencyMatrix {
  std::vector<std::uint32_t> members{2, 3, 4, 5, 6, 7, 8};
  std::uint64_t message_bytes = 64;
  std::uint64_t messages = 0;  ///< per run; 0: as many as take about `seconds`
  double seconds = 0.5;
  std::uint32_t rest_ms = 0;  ///< before each message, so that everybody sleeps; 0: none
  bool beside_tcp = false;    ///< the limit is the round trip of as many bytes over a TCP connection
  std::uint32_t repeats = 3;
  std::vector<ConfigOverride> settings;
};

/// Runs so many messages and tells the seconds they took.
using Trial = std::function<double(std::uint64_t messages)>;
/// The number of messages that takes about `seconds`, found by trials. Errors: the first failed trial's.
[[nodiscard]] std::uint64_t messages_for(double seconds, const Trial& run);

/// One figure per cell: messages per second delivered at each member; and where one of two members sends and payloads are
/// touched another, of the same runs, beside a plain ring from one writer to one reader. Errors: the first failed run's.
void measure_throughput(const Matrix& matrix, FigureReport& report);

/// Three figures per number of members: p50, p99 and p99.9 of send → own delivery, one sender with one message on its way.
/// With a rest the limit is a futex there and back after the same rest, none with one CPU: the bare multicast never sleeps.
/// Beside TCP both ends of the round trip spin; with a rest both sleep in the kernel.
void measure_latency(const LatencyMatrix& matrix, FigureReport& report);

}  // namespace spindrift::bench
