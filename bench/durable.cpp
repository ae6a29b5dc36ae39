// Each member is a process. It tells how far it is in memory that all share; one more process watches there.
#include <spindrift/bench/durable.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <optional>
#include <span>
#include <thread>

#include <fmt/format.h>

#include <spindrift/bench/group_config.hpp>
#include <spindrift/bench/payload.hpp>
#include <spindrift/bench/plain_files.hpp>
#include <spindrift/bench/processes.hpp>
#include <spindrift/group/group.hpp>

namespace spindrift::bench {
namespace {

constexpr Duration patience = std::chrono::minutes(2);
constexpr std::uint64_t warm_messages = 10;

/// A group of a run, with its directories.
class DurableGroup {
 public:
  DurableGroup(const DurableRun& run, std::uint32_t subgroups)
      : members_(run.members),
        runtime_(PrivateDirectory::make()),
        disk_(run.directory),
        shape_{run.members, run.members, profile_for(run.message_bytes), run.settings, subgroups, 1} {
    shape_.settings.push_back({"PERS/file_path", disk_.path(), "the bench"});
    // A disk that stands still for long is what is measured, and no sign of a member that hangs.
    shape_.settings.push_back({"SPINDRIFT/suspect_after_ms", "60000", "the bench"});
    static_cast<void>(config_of(0));  // a wrong setting is an error before the first process
  }
  [[nodiscard]] std::uint32_t members() const noexcept { return members_; }
  [[nodiscard]] const DiskDirectory& disk() const noexcept { return disk_; }
  [[nodiscard]] Config config_of(std::uint32_t member) const {
    return member_config(shape_, runtime_.path(), NodeId(member));
  }
  [[nodiscard]] std::string logged_name() const { return numbered_subgroup(shape_.subgroups - 1); }
  [[nodiscard]] Commits commits() const {
    std::vector<std::string> journals;
    for (std::uint32_t member = 0; member < members_; ++member)
      journals.push_back(fmt::format("{}/bench/{}", disk_.path(), member));
    return read_commits(journals);
  }

 private:
  std::uint32_t members_;
  PrivateDirectory runtime_;
  DiskDirectory disk_;
  GroupShape shape_;
};

/// The versions of a member's own messages, one at a time.
class OwnMessage {
 public:
  explicit OwnMessage(NodeId self) : self_(self) {}

  void on_delivery(std::span<const Delivery> batch) noexcept {
    for (const Delivery& delivery : batch) {
      keep(read_lines(delivery.payload));
      if (delivery.sender == self_) tell(delivery.version + 1);
    }
  }
  void give_up() noexcept { tell(std::numeric_limits<std::uint64_t>::max()); }
  /// The version of the next one after that which was taken before.
  [[nodiscard]] std::uint64_t take() noexcept {
    for (std::uint64_t seen = behind_.load(); seen == taken_; seen = behind_.load()) behind_.wait(seen);
    taken_ = behind_.load();
    return taken_ - 1;
  }

 private:
  void tell(std::uint64_t behind) noexcept {
    behind_.store(behind);
    behind_.notify_one();
  }
  NodeId self_;
  std::atomic<std::uint64_t> behind_{0};
  std::uint64_t taken_ = 0;
};

struct LatencyArena {
  const DurableGroup& group;
  std::uint64_t message_bytes;
  std::span<Gate> gates;  ///< all are there; all have sent
  std::uint32_t senders;
  std::uint64_t messages;
  std::span<std::uint64_t> times_ns;  ///< by sender
};

void run_latency_member(const LatencyArena& arena, std::uint32_t self) {
  log_errors_only();
  name_thread("member-poller");
  OwnMessage own{NodeId(self)};
  Group group(arena.group.config_of(self));
  name_thread("member-app");
  Subgroup& subgroup = group.subgroup(arena.group.logged_name());
  group.on_failure([&](const Error&) { own.give_up(); });
  subgroup.on_delivery([&](std::span<const Delivery> batch) { own.on_delivery(batch); });
  const std::vector<std::byte> source(arena.message_bytes, std::byte{1});
  arena.gates[0].pass_asleep(arena.group.members());
  for (std::uint64_t i = 0; self < arena.senders && i < warm_messages + arena.messages; ++i) {
    const std::uint64_t begin_ns = nanoseconds_now();
    subgroup.send(source);
    subgroup.await_durable(own.take());
    if (i >= warm_messages) arena.times_ns[self * arena.messages + i - warm_messages] = nanoseconds_now() - begin_ns;
  }
  // A leave changes the view, which must not fall into another member's time.
  arena.gates[1].pass_asleep(arena.group.members());
  group.leave();
}

/// One member's counts, on lines that nobody else writes.
struct alignas(cache_line_bytes) LoadCounts {
  std::atomic<std::uint64_t> delivered{0};  ///< of the unlogged subgroup
  std::atomic<std::uint64_t> durable{0};    ///< version of the other
  std::atomic<std::uint64_t> sent{0};       ///< to that
};

struct LoadArena {
  const DurableGroup& group;
  const DurableRun& run;
  const GroupLoad& load;
  std::span<Gate> gates;  ///< all are there; all have sent; all is durable
  std::span<SharedWord> words;
  std::span<LoadCounts> counts;

  [[nodiscard]] std::uint32_t processes() const noexcept {
    return run.members + 1 + (load.plain_bytes > 0 ? run.members : 0);
  }
  [[nodiscard]] bool stopped() const noexcept { return words[0].value.load(std::memory_order_relaxed) != 0; }
  [[nodiscard]] std::uint64_t least(std::atomic<std::uint64_t> LoadCounts::*which) const noexcept {
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (const LoadCounts& each : counts) least = std::min(least, (each.*which).load());
    return least;
  }
};

/// The counts at one instant.
struct LoadCount {
  std::uint64_t durable = 0;
  std::uint64_t unlogged = 0;
};

class LoadMember {
 public:
  LoadMember(const LoadArena& arena, std::uint32_t self)
      : arena_(arena), counts_(arena.counts[self]), own_(NodeId(self)), group_(arena.group.config_of(self)) {}

  void run() {
    Subgroup& logged = group_.subgroup(arena_.group.logged_name());
    logged.on_durable([this](std::uint64_t version) { counts_.durable.store(version); });
    group_.on_failure([this](const Error&) { own_.give_up(); });
    logged.on_delivery([this](std::span<const Delivery> batch) { own_.on_delivery(batch); });
    if (arena_.load.unlogged) {
      group_.subgroup(subgroup_name).on_delivery([this](std::span<const Delivery> batch) {
        for (const Delivery& delivery : batch) keep(read_lines(delivery.payload));
        counts_.delivered.store(counts_.delivered.load(std::memory_order_relaxed) + batch.size());
      });
    }
    arena_.gates[0].pass_asleep(arena_.processes());
    send_all(logged);
    arena_.gates[1].pass_asleep(arena_.run.members);
    await_all(logged);
    arena_.gates[2].pass_asleep(arena_.run.members);
    group_.leave();
  }

 private:
  // An end of this member ends both threads' sends.
  void send_all(Subgroup& logged) {
    std::exception_ptr failure;
    {
      const std::jthread beside([&] {
        try {
          if (arena_.load.unlogged) static_cast<void>(send(group_.subgroup(subgroup_name)));
        } catch (...) {
          failure = std::current_exception();
        }
      });
      counts_.sent.store(send_logged(logged));
    }
    if (failure) std::rethrow_exception(failure);
  }
  /// Returns how many it has sent.
  std::uint64_t send(Subgroup& to) const {
    const std::vector<std::byte> source(arena_.run.message_bytes, std::byte{1});
    std::uint64_t sent = 0;
    for (; !arena_.stopped(); ++sent) to.send(source);
    return sent;
  }
  std::uint64_t send_logged(Subgroup& logged) {
    if (arena_.load.logging == Logging::none) return 0;
    if (arena_.load.logging == Logging::without_pause) return send(logged);
    const std::vector<std::byte> source(arena_.run.message_bytes, std::byte{1});
    std::uint64_t sent = 0;
    for (; !arena_.stopped(); ++sent) {
      logged.send(source);
      logged.await_durable(own_.take());
    }
    return sent;
  }
  void await_all(const Subgroup& logged) const {
    std::uint64_t sent = 0;
    for (const LoadCounts& each : arena_.counts) sent += each.sent.load();
    if (sent > 0 && !logged.await_durable(sent - 1, patience))
      throw Exception(
          Error(ErrorKind::would_block, fmt::format("of {} messages {} are durable", sent, logged.durable_version())));
  }

  const LoadArena& arena_;
  LoadCounts& counts_;
  OwnMessage own_;
  Group group_;
};

void watch(const LoadArena& arena) {
  const auto note = [&] { return LoadCount{arena.least(&LoadCounts::durable), arena.least(&LoadCounts::delivered)}; };
  arena.gates[0].pass_asleep(arena.processes());
  pause_for(arena.load.warm_up);
  const std::uint64_t begin_ns = nanoseconds_now();
  const LoadCount before = note();
  pause_for(arena.load.watch);
  const LoadCount after = note();
  arena.words[1].value.store(nanoseconds_now() - begin_ns);
  arena.words[2].value.store(after.durable - before.durable);
  arena.words[3].value.store(after.unlogged - before.unlogged);
  arena.words[0].value.store(1);
}

void write_plain_files(const LoadArena& arena, std::uint32_t number) {
  name_thread("plain-file");
  GrowingFile file(arena.group.disk().path() + fmt::format("/plain{}", number));
  const store::Blocks blocks(store::whole_blocks(arena.load.plain_bytes));
  arena.gates[0].pass_asleep(arena.processes());
  while (!arena.stopped()) file.append_and_sync(blocks);
}

void run_load_process(const LoadArena& arena, std::uint32_t number) {
  const std::uint32_t members = arena.run.members;
  if (number == members) return watch(arena);
  if (number > members) return write_plain_files(arena, number - members - 1);
  log_errors_only();
  name_thread("member-poller");  // which the group's threads inherit
  LoadMember member(arena, number);
  name_thread("member-app");
  member.run();
}

std::string what_failed(const DurableRun& run) {
  return fmt::format("a group of {} members with a logged subgroup failed, messages of {} bytes", run.members,
                     run.message_bytes);
}

}  // namespace

DurableLatencies durable_latencies_ns(const DurableRun& run, std::uint32_t senders, std::uint64_t messages) {
  const DurableGroup group(run, 1);
  auto memory = SharedMemory::make(2 * sizeof(Gate) + senders * messages * sizeof(std::uint64_t));
  const LatencyArena arena{
      group,   run.message_bytes, memory.make_objects<Gate>(0, 2),
      senders, messages,          memory.make_objects<std::uint64_t>(2 * sizeof(Gate), senders * messages)};
  explained([&] { return what_failed(run); },
            [&] { run_processes(run.members, patience, [&](std::uint32_t self) { run_latency_member(arena, self); }); });
  return {{arena.times_ns.begin(), arena.times_ns.end()}, group.commits()};
}

LoadRates durable_load(const DurableRun& run, const GroupLoad& load) {
  constexpr std::size_t gates = 3;
  constexpr std::size_t words = 4;
  constexpr std::size_t counts_offset = gates * sizeof(Gate) + words * sizeof(SharedWord);
  const DurableGroup group(run, load.unlogged ? 2 : 1);
  auto memory = SharedMemory::make(counts_offset + run.members * sizeof(LoadCounts));
  const LoadArena arena{group,
                        run,
                        load,
                        memory.make_objects<Gate>(0, gates),
                        memory.make_objects<SharedWord>(gates * sizeof(Gate), words),
                        memory.make_objects<LoadCounts>(counts_offset, run.members)};
  explained([&] { return what_failed(run); },
            [&] {
              run_processes(arena.processes(), load.warm_up + load.watch + patience,
                            [&](std::uint32_t number) { run_load_process(arena, number); });
            });
  const double seconds = static_cast<double>(arena.words[1].value.load()) * 1e-9;
  return {static_cast<double>(arena.words[2].value.load()) / seconds,
          static_cast<double>(arena.words[3].value.load()) / seconds, group.commits()};
}

}  // namespace spindrift::bench
