// Clients and one watcher are forked processes with memory in common.
#include "writes.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <spindrift/bench/processes.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::peers {

using namespace spindrift::bench;

namespace {

constexpr Duration patience = std::chrono::seconds(60);

/// Times by their size: 64 classes for each power of two, so that a percentile is true to 1.6 %.
constexpr std::size_t classes_per_power = 64;
constexpr std::size_t time_classes = 40 * classes_per_power;

std::size_t class_of(std::uint64_t ns) noexcept {
  if (ns < 2 * classes_per_power) return ns;
  const auto power = static_cast<std::size_t>(std::bit_width(ns)) - 7;
  return std::min(power * classes_per_power + (ns >> power), time_classes - 1);
}

double ns_of(std::size_t time_class) noexcept {
  if (time_class < 2 * classes_per_power) return static_cast<double>(time_class);
  const std::size_t power = time_class / classes_per_power - 1;
  return std::ldexp(static_cast<double>(time_class % classes_per_power + classes_per_power) + 0.5, static_cast<int>(power));
}

/// One client's counts, on lines that nobody else writes.
struct alignas(cache_line_bytes) WriteTally {
  std::atomic<std::uint64_t> ended{0};
  std::array<std::atomic<std::uint64_t>, time_classes> times{};  ///< of those that ended while it was watched
};

enum Phase : std::uint64_t { before_watch, watching, over };

}  // namespace

struct WriteArena {
  const WriteOptions& options;
  Gate& connected;
  SharedWord& phase;
  SharedWord& rate;
  std::span<WriteTally> tallies;
};

namespace {

std::uint64_t ended(const WriteArena& arena) noexcept {
  std::uint64_t sum = 0;
  for (const WriteTally& each : arena.tallies) sum += each.ended.load();
  return sum;
}

Duration seconds_long(double seconds) noexcept {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

void watch(const WriteArena& arena) {
  arena.connected.pass_asleep(arena.options.clients + 1);
  pause_for(seconds_long(arena.options.warm_up));
  const std::uint64_t begin_ns = nanoseconds_now();
  const std::uint64_t before = ended(arena);
  arena.phase.value.store(watching);
  pause_for(seconds_long(arena.options.watch));
  const double seconds = seconds_between(begin_ns, nanoseconds_now());
  const std::uint64_t count = ended(arena) - before;
  arena.phase.value.store(over);
  arena.rate.value.store(static_cast<std::uint64_t>(static_cast<double>(count) / seconds));
}

double percentile_us(const WriteArena& arena, double fraction) {
  std::array<std::uint64_t, time_classes> sums{};
  std::uint64_t count = 0;
  for (const WriteTally& tally : arena.tallies) {
    for (std::size_t i = 0; i < time_classes; ++i) {
      sums[i] += tally.times[i].load();
      count += tally.times[i].load();
    }
  }
  auto left = static_cast<std::uint64_t>(fraction * static_cast<double>(count));
  for (std::size_t i = 0; i < time_classes; ++i) {
    if (sums[i] > left) return ns_of(i) / 1e3;
    left -= sums[i];
  }
  return 0;
}

WriteOptions read_options(int argc, char** argv) {
  WriteOptions options;
  CLI::App app("One run of clients that write durably to one store; bench/peers/durable drives it");
  app.add_option("--clients", options.clients)->check(CLI::Range(1, 16));
  app.add_option("--size", options.bytes)->check(CLI::Range(16, 10240));
  app.add_option("--outstanding", options.outstanding)->check(CLI::Range(1, 1024));
  app.add_option("--warm-up", options.warm_up);
  app.add_option("--watch", options.watch);
  app.add_option("--place", options.place, "What the client needs to find its servers");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return options;
}

}  // namespace

WriteScene::WriteScene(const WriteArena& arena, std::uint32_t self)
    : arena_(arena), self_(self), payload_(arena.options.bytes, std::byte{'1'}) {}

const WriteOptions& WriteScene::options() const noexcept { return arena_.options; }
void WriteScene::ready() noexcept { arena_.connected.pass_asleep(options().clients + 1); }
bool WriteScene::stopped() const noexcept { return arena_.phase.value.load(std::memory_order_relaxed) == over; }

std::uint64_t WriteScene::begin() {
  begun_ns_.emplace(next_, nanoseconds_now());
  return next_++;
}

void WriteScene::end(std::uint64_t number) {
  const auto begun = begun_ns_.find(number);
  if (begun == begun_ns_.end())
    throw Exception(Error(ErrorKind::bad_input, fmt::format("write {} is not on its way, and was said to be done", number)));
  const std::uint64_t ns = nanoseconds_now() - begun->second;
  begun_ns_.erase(begun);
  WriteTally& tally = arena_.tallies[self_];
  if (arena_.phase.value.load(std::memory_order_relaxed) == watching)
    tally.times[class_of(ns)].fetch_add(1, std::memory_order_relaxed);
  tally.ended.fetch_add(1, std::memory_order_relaxed);
}

int run_writes(int argc, char** argv, const std::function<void(WriteScene&)>& client) {
  const WriteOptions options = read_options(argc, argv);
  constexpr std::size_t tallies_offset = sizeof(Gate) + 2 * sizeof(SharedWord);
  auto memory = SharedMemory::make(tallies_offset + options.clients * sizeof(WriteTally));
  const auto words = memory.make_objects<SharedWord>(sizeof(Gate), 2);
  const WriteArena arena{options, memory.make_objects<Gate>(0, 1)[0], words[0], words[1],
                         memory.make_objects<WriteTally>(tallies_offset, options.clients)};
  try {
    run_processes(options.clients + 1, patience, [&](std::uint32_t self) {
      if (self == options.clients) return watch(arena);
      WriteScene scene(arena, self);
      client(scene);
    });
  } catch (const Exception& failure) {
    fmt::print(stderr, "{}\n", failure.what());
    return 1;
  }
  fmt::print("{{\"writes_per_second\": {}, \"p50_us\": {:.1f}, \"p99_us\": {:.1f}}}\n", arena.rate.value.load(),
             percentile_us(arena, 0.5), percentile_us(arena, 0.99));
  return 0;
}

}  // namespace spindrift::peers
