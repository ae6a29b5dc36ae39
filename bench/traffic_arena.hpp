// The memory that all processes of a run of traffic share.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include <spindrift/bench/processes.hpp>
#include <spindrift/bench/traffic.hpp>

namespace spindrift::bench {

inline constexpr std::array counter_names{"sent",      "null_runs",       "send_batches",    "receive_batches",
                                   "delivered", "delivered_nulls", "delivery_batches"};
enum CounterPlace : std::size_t {
  sent,
  null_runs,
  send_batches,
  receive_batches,
  delivered,
  delivered_nulls,
  delivery_batches
};

using CountsBySender = std::array<std::atomic<std::uint64_t>, traffic_members_max>;

/// One member's part in one stream, written by that member but for what is noted.
struct alignas(cache_line_bytes) StreamCounts {
  CountsBySender delivered_of{};
  std::array<CountsBySender, 2> noted{};  ///< `delivered_of` before and after the watch
  CountsBySender at_end{};  ///< the same when all that is awaited has come, and nobody has gone: an end delivers more
  std::array<std::atomic<std::uint64_t>, batch_classes> delivery_batches{};
  std::array<std::uint64_t, counter_names.size()> counters{};
  std::array<std::uint64_t, predicate_names.size()> predicate_ns{};
  std::atomic<std::uint64_t> sent{0};
};

/// All processes of a run share this.
struct TrafficArena {
  const TrafficRun& run;
  const GroupShape& shape;
  const std::string& directory;
  std::span<Gate> gates;
  SharedWord& stop;
  std::span<SharedWord> noted_at_ns;
  std::span<StreamCounts> places;  ///< stream by stream, in it member by member
  std::span<SharedWord> watched;   ///< messages that each watcher got

  [[nodiscard]] std::uint64_t processes() const noexcept { return run.members + run.watchers.count(); }
  [[nodiscard]] double watched_seconds() const noexcept {
    return seconds_between(noted_at_ns[0].value.load(), noted_at_ns[1].value.load());
  }
  [[nodiscard]] std::uint64_t sent(std::size_t stream) const noexcept {
    std::uint64_t messages = 0;
    for (std::size_t member = 0; member < run.members; ++member) messages += place(stream, member).sent.load();
    return messages;
  }
  [[nodiscard]] StreamCounts& place(std::size_t stream, std::size_t member) const noexcept {
    return places[stream * run.members + member];
  }
  [[nodiscard]] Gate& started() const noexcept { return gates[0]; }
  [[nodiscard]] Gate& stopped() const noexcept { return gates[1]; }
  [[nodiscard]] Gate& silent() const noexcept { return gates[2]; }
  [[nodiscard]] Gate& ended() const noexcept { return gates[3]; }
};

/// The process of one observer of the first stream. In the end it has accounted for each of its messages: it got it, or was
/// told that it missed it. Throws Exception, as Observer does.
void run_watcher(const TrafficArena& arena, std::uint32_t number);

}  // namespace spindrift::bench
