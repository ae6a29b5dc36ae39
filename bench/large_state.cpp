// Each member is a process, and the first one conducts: a thread of it sends at a pace, another waits for what it called. It
// sees that a checkpoint is made and on the disk by the first segment of a journal, which is needed until then.
#include <spindrift/bench/large_state.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <spindrift/bench/group_config.hpp>
#include <spindrift/bench/plain_files.hpp>
#include <spindrift/bench/processes.hpp>
#include <spindrift/group/replicated.hpp>
#include <spindrift/store/format.hpp>

namespace spindrift::bench {
namespace {

constexpr Duration patience = std::chrono::minutes(3);
constexpr Duration pace = std::chrono::milliseconds(1);
constexpr Duration look = std::chrono::milliseconds(20);
constexpr std::uint64_t block_of_state = std::uint64_t{1} << 20U;
constexpr std::size_t samples_max = std::size_t{1} << 20U;
constexpr const char* state_name = "state";

/// Grows by blocks.
class LargeState {
 public:
  void grow(std::uint64_t bytes) { blocks_.emplace_back(bytes, static_cast<char>('a' + blocks_.size() % 26)); }
  void touch(std::uint64_t number) {
    std::string& block = blocks_[number % blocks_.size()];
    ++block[number % block.size()];
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(blocks_);
  }
  using Methods = Replicates<&LargeState::grow, &LargeState::touch>;

 private:
  std::vector<std::string> blocks_;
};

/// Times of one member's, which it alone writes, and which are read when it has ended.
class Samples {
 public:
  void add(StatePhase phase, std::uint64_t ns) noexcept {
    if (count_ < samples_max) samples_[count_++] = ns << 2U | static_cast<std::uint64_t>(phase);
  }
  void take(std::vector<std::uint64_t> StateTimes::*which, std::span<StateTimes> phases) const {
    for (const std::uint64_t each : std::span(samples_).first(count_)) (phases[each & 3U].*which).push_back(each >> 2U);
  }

 private:
  std::size_t count_ = 0;
  std::array<std::uint64_t, samples_max> samples_{};
};

/// A message's payload.
struct Sent {
  std::uint64_t at_ns = 0;
  StatePhase phase = StatePhase::quiet;
};

enum GateOf : std::uint8_t { there, come, loaded, done, gates };

struct StateArena {
  const LargeStateRun& run;
  std::string journals;  ///< each member's is the directory of its number
  std::function<Config(std::uint32_t)> config_of;
  std::span<Gate> gates;
  std::span<Samples> messages;         ///< by member
  std::span<Samples> calls;            ///< one
  std::span<SharedWord> phases_ns;  ///< how long each took

  [[nodiscard]] std::uint32_t newcomer() const noexcept { return run.members - 1; }
};

std::uint64_t blocks_of(const LargeStateRun& run) {
  return std::max<std::uint64_t>(1, (run.state_bytes + block_of_state - 1) / block_of_state);
}

// With more messages than these the first checkpoint is made: those that let the state grow, and those of the quiet phase.
std::uint64_t history_of(const LargeStateRun& run) {
  return blocks_of(run) + static_cast<std::uint64_t>(run.quiet / pace) + 100;
}

std::string config_text(const LargeStateRun& run, const std::string& runtime, const std::string& journals) {
  std::string members;
  for (std::uint32_t member = 0; member < run.members; ++member)
    members += fmt::format("{}{}", member == 0 ? "" : ", ", member);
  const std::string founders = members.substr(0, members.rfind(','));
  return fmt::format(
      "[SPINDRIFT]\ngroup_name = bench\nruntime_directory = {}\nmembers = {}\nfounders = {}\n\n"
      "[LAYOUT]\njson_layout = '[{{\"name\": \"{}\", \"senders\": [0]}}, {{\"name\": \"{}\", \"senders\": [0], "
      "\"storage\": \"logged\", \"history\": {}}}]'\n\n[PERS]\nfile_path = {}\n",
      runtime, members, founders, subgroup_name, state_name, history_of(run), journals);
}

/// Waits for calls in the order in which they were made, on a thread of its own.
class CallWatch {
 public:
  explicit CallWatch(Samples& samples) : samples_(samples), thread_([this](const std::stop_token& stop) { run(stop); }) {}

  void add(const Sent& sent, Future<void> call) {
    const std::lock_guard lock(mutex_);
    calls_.emplace_back(sent, std::move(call));
    added_.notify_one();
  }

 private:
  void run(const std::stop_token& stop) {
    for (;;) {
      std::unique_lock lock(mutex_);
      if (!added_.wait(lock, stop, [this] { return !calls_.empty(); })) return;
      const auto [sent, call] = std::move(calls_.front());
      calls_.pop_front();
      lock.unlock();
      try {
        call.delivered();
      } catch (const Exception&) {
        return;  // the group is over, which the conductor meets itself
      }
      samples_.add(sent.phase, nanoseconds_now() - sent.at_ns);
    }
  }

  Samples& samples_;
  std::mutex mutex_;
  std::condition_variable_any added_;
  std::deque<std::pair<Sent, Future<void>>> calls_;
  std::jthread thread_;
};

class StateMember {
 public:
  StateMember(const StateArena& arena, std::uint32_t self)
      : arena_(arena),
        group_(arena.config_of(self)),
        state_(group_.replicated<LargeState>(state_name)),
        counts_(self != arena.newcomer()) {
    group_.subgroup(subgroup_name).on_delivery([this, &samples = arena.messages[self]](std::span<const Delivery> batch) {
      for (const Delivery& delivery : batch) note(delivery, samples);
    });
    state_.loaded(patience);
  }
  Replicated<LargeState>& state() noexcept { return state_; }
  Subgroup& messages() { return group_.subgroup(subgroup_name); }
  void leave() { group_.leave(); }

 private:
  void note(const Delivery& delivery, Samples& samples) const noexcept {
    Sent sent;
    std::memcpy(&sent, delivery.payload.data(), sizeof sent);
    if (counts_) samples.add(sent.phase, nanoseconds_now() - sent.at_ns);
  }

  const StateArena& arena_;
  Group group_;
  Replicated<LargeState> state_;
  bool counts_;
};

/// The first member.
class Conductor {
 public:
  Conductor(const StateArena& arena, StateMember& member) : arena_(arena), member_(member), calls_(arena.calls[0]) {}

  void run() {
    for (std::uint64_t i = 0; i < blocks_of(arena_.run); ++i)
      member_.state().post<&LargeState::grow>(std::min(block_of_state, arena_.run.state_bytes)).delivered();
    std::jthread sending([this](const std::stop_token& stop) { send_at_pace(stop); });
    watch(StatePhase::quiet, [&] { pause_for(arena_.run.quiet); });
    watch(StatePhase::checkpoint, [&] { await_checkpoints(); });
    watch(StatePhase::newcomer, [&] {
      arena_.gates[come].pass_asleep(2);
      arena_.gates[loaded].pass_asleep(2);
    });
    sending.request_stop();
    sending.join();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  template <class Work>
  void watch(StatePhase phase, Work work) {
    phase_.store(phase);
    const std::uint64_t begin_ns = nanoseconds_now();
    work();
    arena_.phases_ns[static_cast<std::size_t>(phase)].value.store(nanoseconds_now() - begin_ns);
  }

  void send_at_pace(const std::stop_token& stop) {
    try {
      std::uint64_t number = 0;
      for (auto due = std::chrono::steady_clock::now(); !stop.stop_requested(); due += pace) {
        std::this_thread::sleep_until(due);
        const Sent sent{nanoseconds_now(), phase_.load()};
        member_.messages().send(std::as_bytes(std::span(&sent, 1)));
        calls_.add(sent, member_.state().post<&LargeState::touch>(number++));
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  [[nodiscard]] bool has_checkpoint(std::uint32_t member) const {
    return !std::filesystem::exists(fmt::format("{}/bench/{}/{}", arena_.journals, member, store::segment_name(0)));
  }

  void await_checkpoints() const {
    const std::uint64_t begin_ns = nanoseconds_now();
    for (std::uint32_t member = 0; member < arena_.newcomer();) {
      if (has_checkpoint(member)) {
        ++member;
        continue;
      }
      if (nanoseconds_now() - begin_ns > static_cast<std::uint64_t>(patience.count()))
        throw Exception(Error(ErrorKind::would_block, fmt::format("member {} makes no checkpoint", member)));
      pause_for(look);
    }
  }

  const StateArena& arena_;
  StateMember& member_;
  std::atomic<StatePhase> phase_{StatePhase::quiet};
  std::exception_ptr failure_;
  CallWatch calls_;
};

void run_state_member(const StateArena& arena, std::uint32_t self) {
  log_errors_only();
  const bool comes_later = self == arena.newcomer();
  if (comes_later) arena.gates[come].pass_asleep(2);
  name_thread(comes_later ? "newcomer-poller" : "member-poller");  // which the group's threads inherit
  StateMember member(arena, self);
  name_thread("member-app");
  if (comes_later) arena.gates[loaded].pass_asleep(2);
  else arena.gates[there].pass_asleep(arena.run.members - 1);
  if (self == 0) Conductor(arena, member).run();
  // A leave changes the view, which must not fall into a time.
  arena.gates[done].pass_asleep(arena.run.members);
  member.leave();
}

std::array<StateTimes, state_phases> results(const StateArena& arena) {
  std::array<StateTimes, state_phases> all{};
  for (const Samples& each : arena.messages) each.take(&StateTimes::messages_ns, all);
  arena.calls[0].take(&StateTimes::calls_ns, all);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].seconds = static_cast<double>(arena.phases_ns[i].value.load()) * 1e-9;
  return all;
}

}  // namespace

std::array<StateTimes, state_phases> large_state_times(const LargeStateRun& run) {
  CHECK(run.members >= 2);
  const PrivateDirectory runtime = PrivateDirectory::make();
  const DiskDirectory disk(run.directory);
  const auto config_of = [&](std::uint32_t member) {
    std::vector<ConfigOverride> overrides = run.settings;
    overrides.push_back({"DERECHO/local_id", std::to_string(member), "the bench"});
    return value_or_throw(
        Config::parse(config_text(run, runtime.path(), disk.path()), "the bench's configuration", overrides));
  };
  static_cast<void>(config_of(0));  // a wrong setting is an error before the first process
  constexpr std::size_t words_at = gates * sizeof(Gate);
  constexpr std::size_t samples_at = words_at + state_phases * sizeof(SharedWord);
  auto memory = SharedMemory::make(samples_at + (run.members + 1) * sizeof(Samples));
  const auto samples = memory.make_objects<Samples>(samples_at, run.members + 1);
  const StateArena arena{run,
                         disk.path(),
                         config_of,
                         memory.make_objects<Gate>(0, gates),
                         samples.subspan(1),
                         samples.first(1),
                         memory.make_objects<SharedWord>(words_at, state_phases)};
  explained([&] { return fmt::format("{} members with a state of {} bytes failed", run.members, run.state_bytes); },
            [&] {
              run_processes(run.members, 3 * patience, [&](std::uint32_t member) { run_state_member(arena, member); });
            });
  return results(arena);
}

}  // namespace spindrift::bench
