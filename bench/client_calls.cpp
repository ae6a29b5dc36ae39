// Members and a client, each a process.
#include <spindrift/bench/client_calls.hpp>

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <spindrift/bench/group_config.hpp>
#include <spindrift/bench/group_network.hpp>
#include <spindrift/bench/plain_files.hpp>
#include <spindrift/bench/processes.hpp>
#include <spindrift/core/config/addresses.hpp>
#include <spindrift/group/client.hpp>
#include <spindrift/group/group.hpp>
#include <spindrift/group/replicated.hpp>

namespace spindrift::bench {
namespace {

constexpr Duration patience = std::chrono::minutes(2);
constexpr std::uint64_t warm_calls = 50;
constexpr std::size_t updates_at_once = 64;
constexpr std::uint64_t message_bytes_least = 1024;
constexpr std::uint64_t head_bytes_max = 512;  // of a request, in a message of the group

/// The object: the last value that was put, and how many were.
class Register {
 public:
  std::uint64_t put(std::string value) {
    value_ = std::move(value);
    return ++puts_;
  }
  [[nodiscard]] std::uint64_t puts() const { return puts_; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value_, puts_);
  }
  using Methods = Replicates<&Register::put, &Register::puts>;

 private:
  std::string value_;
  std::uint64_t puts_ = 0;
};

/// A group whose members let clients in, with its directories.
class ServedGroup {
 public:
  explicit ServedGroup(const ClientRun& run)
      : network_(GroupNetwork::make("shm+tcp", "none", run.members)),
        runtime_(PrivateDirectory::make()),
        shape_{run.members, run.members, profile_for(std::max(message_bytes_least, run.argument_bytes + head_bytes_max)),
               run.settings} {
    for (const ConfigOverride& each : network_.settings()) shape_.settings.push_back(each);
    shape_.settings.push_back({"SPINDRIFT/client_port", "7900", "the bench"});
    if (!run.directory.empty()) {
      disk_.emplace(run.directory);
      shape_.logged_subgroups = 1;
      shape_.settings.push_back({"PERS/file_path", disk_->path(), "the bench"});
    }
    static_cast<void>(config_of(0));  // a wrong setting is an error before the first process
  }
  [[nodiscard]] Config config_of(std::uint32_t member) const {
    return member_config(shape_, runtime_.path(), NodeId(member));
  }
  [[nodiscard]] std::string client_address_of(std::uint32_t member) const {
    return config::client_address_of(config_of(member), NodeId(member));
  }
  [[nodiscard]] Commits commits() const {
    std::vector<std::string> journals;
    for (std::uint32_t member = 0; disk_ && member < shape_.members; ++member)
      journals.push_back(fmt::format("{}/bench/{}", disk_->path(), member));
    return read_commits(journals);
  }

 private:
  GroupNetwork network_;
  PrivateDirectory runtime_;
  std::optional<DiskDirectory> disk_;
  GroupShape shape_;
};

struct ClientArena {
  const ServedGroup& group;
  const ClientRun& run;
  std::span<Gate> gates;              ///< all are there; the client has what it wants
  std::span<std::uint64_t> times_ns;  ///< by ask
  std::span<SharedWord> words;        ///< updates that were made at once, and how long that took
};

void run_member(const ClientArena& arena, std::uint32_t self) {
  log_errors_only();
  name_thread("member-poller");
  Group group(arena.group.config_of(self));
  auto object = group.replicated<Register>(subgroup_name);
  object.loaded();
  object.offer();
  arena.gates[0].pass_asleep(arena.run.members + 1);
  arena.gates[1].pass_asleep(arena.run.members + 1);
  group.leave();
}

class MeasuredClient {
 public:
  explicit MeasuredClient(const ClientArena& arena)
      : arena_(arena),
        client_({.members = {arena.group.client_address_of(arena.run.members - 1)}, .group_name = {}, .keys = {}}),
        object_(client_.replicated<Register>(subgroup_name)),
        value_(arena.run.argument_bytes, 'x') {}

  void run() {
    for (std::size_t ask = 0; ask < client_asks; ++ask) measure(ClientAsk{static_cast<std::uint8_t>(ask)});
    measure_rate();
  }

 private:
  void call(ClientAsk ask) {
    switch (ask) {
      case ClientAsk::update: {
        const auto put = object_.update<&Register::put>(value_);
        static_cast<void>(put.get());
        last_ = put.place();
        return;
      }
      case ClientAsk::ordered_query: return static_cast<void>(object_.ordered_query<&Register::puts>().get());
      case ClientAsk::query_after: return static_cast<void>(object_.query_after<&Register::puts>(last_).get());
      case ClientAsk::query: return static_cast<void>(object_.query<&Register::puts>().get());
    }
  }
  void measure(ClientAsk ask) {
    for (std::uint64_t i = 0; i < warm_calls; ++i) call(ask);
    const auto times = arena_.times_ns.subspan(static_cast<std::size_t>(ask) * arena_.run.calls, arena_.run.calls);
    for (std::uint64_t& time : times) {
      const std::uint64_t begin_ns = nanoseconds_now();
      call(ask);
      time = nanoseconds_now() - begin_ns;
    }
  }
  void measure_rate() {
    std::deque<ClientFuture<std::uint64_t>> open;
    const std::uint64_t begin_ns = nanoseconds_now();
    const std::uint64_t end_ns = begin_ns + static_cast<std::uint64_t>(arena_.run.duration.count());
    std::uint64_t answered = 0;
    while (nanoseconds_now() < end_ns) {
      while (open.size() < updates_at_once) open.push_back(object_.update<&Register::put>(value_));
      static_cast<void>(open.front().get());
      open.pop_front();
      ++answered;
    }
    arena_.words[0].value.store(answered);
    arena_.words[1].value.store(nanoseconds_now() - begin_ns);
    for (const auto& each : open) static_cast<void>(each.get());
  }

  const ClientArena& arena_;
  Client client_;
  ClientObject<Register> object_;
  const std::string value_;
  MessagePlace last_{};
};

void run_client(const ClientArena& arena) {
  log_errors_only();
  name_thread("client");
  arena.gates[0].pass_asleep(arena.run.members + 1);
  MeasuredClient(arena).run();
  arena.gates[1].pass_asleep(arena.run.members + 1);
}

}  // namespace

ClientTimes measure_client(const ClientRun& run) {
  const ServedGroup group(run);
  const std::size_t words_at = 2 * sizeof(Gate);
  const std::size_t times_at = words_at + 2 * sizeof(SharedWord);
  auto memory = SharedMemory::make(times_at + client_asks * run.calls * sizeof(std::uint64_t));
  const ClientArena arena{group, run, memory.make_objects<Gate>(0, 2),
                          memory.make_objects<std::uint64_t>(times_at, client_asks * run.calls),
                          memory.make_objects<SharedWord>(words_at, 2)};
  explained([&] { return fmt::format("a group of {} members with a client failed", run.members); },
            [&] {
              run_processes(run.members + 1, patience + run.duration, [&](std::uint32_t self) {
                self == run.members ? run_client(arena) : run_member(arena, self);
              });
            });
  ClientTimes result;
  for (std::size_t ask = 0; ask < client_asks; ++ask) {
    const auto times = arena.times_ns.subspan(ask * run.calls, run.calls);
    result.latencies_ns[ask].assign(times.begin(), times.end());
  }
  result.updates_per_second = static_cast<double>(arena.words[0].value.load()) * 1e9 /
                              static_cast<double>(arena.words[1].value.load());
  result.commits = group.commits();
  return result;
}

}  // namespace spindrift::bench
