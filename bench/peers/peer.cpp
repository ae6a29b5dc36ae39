// Members and one watcher, who notes what all have delivered, are forked processes with memory in common.
#include "peer.hpp"

#include <fcntl.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <limits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <spindrift/bench/payload.hpp>
#include <spindrift/bench/report.hpp>
#include <spindrift/core/file_descriptor.hpp>

namespace spindrift::peers {

using namespace spindrift::bench;

struct PeerArena {
  const Options& options;
  Gate& connected;
  SharedWord& stop;
  SharedWord& senders_done;
  std::span<SharedWord> rate;  ///< of each member, by the watcher: messages per second
  std::span<Tally> tallies;
};

namespace {

constexpr Duration patience = std::chrono::seconds(60);

void pause(double seconds) noexcept {
  const auto whole = static_cast<std::time_t>(seconds);
  const timespec request{whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &request, nullptr);
}

void watch(const PeerArena& arena) {
  const std::uint32_t members = arena.options.members;
  arena.connected.pass_asleep(members + 1);
  pause(arena.options.warm_up);
  std::vector<std::uint64_t> before;
  const std::uint64_t start_ns = nanoseconds_now();
  for (const Tally& tally : arena.tallies) before.push_back(tally.delivered.load());
  pause(arena.options.watch);
  const double seconds = seconds_between(start_ns, nanoseconds_now());
  for (std::uint32_t member = 0; member < members; ++member) {
    const std::uint64_t count = arena.tallies[member].delivered.load() - before[member];
    arena.rate[member].value.store(static_cast<std::uint64_t>(static_cast<double>(count) / seconds));
  }
  arena.stop.value.store(1);
}

Options read_options(int argc, char** argv) {
  Options options;
  CLI::App app("One run of one middleware; bench/peers/run drives it");
  app.add_option("--members", options.members)->check(CLI::Range(2U, members_max));
  app.add_option("--senders", options.senders);
  app.add_option("--size", options.bytes)->check(CLI::Range(16, 10240));
  app.add_option("--warm-up", options.warm_up);
  app.add_option("--watch", options.watch);
  app.add_option("--place", options.place, "What the peer needs to find its servers");
  app.add_flag_callback(
      "--provenance",
      [] {
        fmt::print("{}\n", to_json({"provenance", {}, "", {0}, {}}, provenance()));
        std::exit(0);
      },
      "Print what was built and where it runs");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return options;
}

struct Stamp {
  std::uint64_t sender;
  std::uint64_t number;
};

}  // namespace

Scene::Scene(const PeerArena& arena, std::uint32_t self)
    : arena_(arena), self_(self), source_(arena.options.bytes, std::byte{1}), expected_(arena.options.senders) {}

const Options& Scene::options() const noexcept { return arena_.options; }
void Scene::ready() noexcept { arena_.connected.pass_asleep(options().members + 1); }
bool Scene::stopped() const noexcept { return arena_.stop.value.load(std::memory_order_relaxed) != 0; }
void Scene::sent_all() noexcept {
  arena_.senders_done.value.fetch_add(1);
  futex_wake(arena_.senders_done, std::numeric_limits<int>::max());
}
bool Scene::over() const noexcept { return arena_.senders_done.value.load(std::memory_order_relaxed) == options().senders; }

void Scene::await_over() const noexcept {
  SharedWord& done = arena_.senders_done;
  for (std::uint64_t seen = done.value.load(); seen < options().senders; seen = done.value.load()) futex_wait(done, seen);
}

std::span<const std::byte> Scene::next_message() noexcept {
  const Stamp stamp{self_, written_++};
  std::memcpy(source_.data(), &stamp, sizeof stamp);
  return source_;
}

void Scene::write(std::span<std::byte> to) noexcept { std::memcpy(to.data(), next_message().data(), to.size()); }

void Scene::on_delivery(std::span<const std::byte> message) noexcept {
  Stamp stamp{};
  std::memcpy(&stamp, message.data(), sizeof stamp);
  keep(read_lines(message));
  Tally& tally = arena_.tallies[self_];
  std::uint64_t& expected = expected_[stamp.sender % expected_.size()];
  if (stamp.number < expected) {
    tally.repeated.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  tally.lost.store(tally.lost.load(std::memory_order_relaxed) + stamp.number - expected, std::memory_order_relaxed);
  expected = stamp.number + 1;
  tally.delivered.store(++delivered_, std::memory_order_relaxed);
}

void enter_network(const std::string& name) {
  const FileDescriptor file(::open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw Exception(system_error("open namespace " + name, errno));
  if (::setns(file.get(), CLONE_NEWNET) != 0) throw Exception(system_error("setns " + name, errno));
}

int run_peer(int argc, char** argv, bool senders_deliver, const std::function<void(Scene&)>& member) {
  const Options options = read_options(argc, argv);
  constexpr std::size_t words = 2 + members_max;
  const std::size_t tallies_offset = sizeof(Gate) + words * sizeof(SharedWord);
  auto memory = SharedMemory::make(tallies_offset + options.members * sizeof(Tally));
  const auto word = memory.make_objects<SharedWord>(sizeof(Gate), words);
  const PeerArena arena{options,         memory.make_objects<Gate>(0, 1)[0],
                        word[0],         word[1],
                        word.subspan(2), memory.make_objects<Tally>(tallies_offset, options.members)};
  try {
    run_processes(options.members + 1, patience, [&](std::uint32_t self) {
      if (self == options.members) return watch(arena);
      Scene scene(arena, self);
      member(scene);
    });
  } catch (const Exception& failure) {
    fmt::print(stderr, "{}\n", failure.what());
    return 1;
  }
  std::uint64_t rate = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t lost = 0;
  std::uint64_t repeated = 0;
  for (std::uint32_t self = senders_deliver ? 0 : options.senders; self < options.members; ++self) {
    rate = std::min(rate, arena.rate[self].value.load());
    lost += arena.tallies[self].lost.load();
    repeated += arena.tallies[self].repeated.load();
  }
  fmt::print("{{\"messages_per_second\": {}, \"lost\": {}, \"repeated\": {}}}\n", rate, lost, repeated);
  return 0;
}

}  // namespace spindrift::peers
