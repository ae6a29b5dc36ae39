// One member under chaos: sends to every subgroup, delivers, keeps a replicated state, and writes everything down.
//
//   chaos_worker CONFIG ID JOURNAL SEED
//
// SIGTERM: leaves gracefully. SIGUSR1: the next delivery is slow. SIGUSR2: sends without pause for a while.
// Exit codes: 0 left; 9 removed; 10 no majority; 3 refused; 5 nobody was there; 1 anything else.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <istream>
#include <ostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <spindrift/core/config/config.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/group/group.hpp>

#include "journal.hpp"

namespace spindrift::chaos {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds slow_upcall(120);
constexpr milliseconds flood_time(150);

std::atomic<bool> slow_next{false};
std::atomic<bool> flood{false};

/// In front of every message; the rest is filled with a pattern of it.
struct Header {
  std::uint64_t incarnation = 0;
  std::uint64_t counter = 0;
  std::uint32_t node = 0;
  std::uint32_t bytes = 0;
};

std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15ULL + (a << 6U) + (a >> 2U)));
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

std::byte filler(const Header& header, std::uint64_t at) noexcept {
  return static_cast<std::byte>(header.incarnation + header.counter * 31 + at);
}

/// A place in a log, in one word: the view in which it began, and the deliveries since.
constexpr unsigned begun_at = 40;
constexpr std::uint64_t count_mask = (std::uint64_t{1} << begun_at) - 1;

/// The same for all processes of the machine.
std::uint64_t now_ns() noexcept {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

/// One subgroup's replicated state: where its history began, how long it is, and a digest of all of it.
struct State {
  std::uint64_t begun = 0;
  std::uint64_t count = 0;
  std::uint64_t digest = 0;
  bool ready = false;
};

class Worker {
 public:
  Worker(const Config& config, Journal& journal, std::uint64_t seed)
      : self_(config.local_id()),
        seed_(seed),
        journal_(journal),
        places_(value_or_throw(config.view()).subgroups.size()),
        states_(places_.size()) {
    for (const SubgroupView& subgroup : value_or_throw(config.view()).subgroups) {
      names_.push_back(subgroup.name);
      large_above_.push_back(subgroup.profile.bulk_ring_bytes > 0 ? subgroup.profile.large_message_bytes : 0);
    }
    journal_.append(Kind::start, {.node = self_.value(), .incarnation = seed_});
  }

  GroupOptions options() {
    GroupOptions options;
    options.on_view = [this](const NewView& news) { on_view(news); };
    options.on_dropped = [this](Subgroup& subgroup, std::uint64_t messages) {
      const auto index = std::find(names_.begin(), names_.end(), subgroup.name()) - names_.begin();
      journal_.append(Kind::dropped, {.subgroup = static_cast<std::uint32_t>(index), .value = messages});
    };
    return options;
  }

  void attend(Group& group) {
    for (const std::string& name : group.subgroup_names()) {
      const auto subgroup = static_cast<std::uint32_t>(subgroups_.size());
      Subgroup& handle = group.subgroup(name);
      subgroups_.push_back(&handle);
      ordered_.push_back(handle.description().mode == DeliveryMode::ordered);
      handle.on_state([this, subgroup](std::ostream& to) { save(subgroup, to); },
                      [this, subgroup](std::istream& from) { load(subgroup, from); });
      handle.on_delivery([this, subgroup](std::span<const Delivery> batch) {
        if (slow_next.exchange(false)) std::this_thread::sleep_for(slow_upcall);
        for (const Delivery& delivery : batch) deliver(subgroup, delivery);
      });
    }
    attending_.store(true, std::memory_order_release);
  }

  /// Until the group is left or lost.
  void send_until_closed(std::uint32_t subgroup) {
    std::minstd_rand random(static_cast<std::uint32_t>(seed_ + subgroup));
    for (std::uint64_t counter = 0;; ++counter) {
      Header header{.incarnation = seed_,
                    .counter = counter,
                    .node = self_.value(),
                    .bytes = static_cast<std::uint32_t>(bytes_of_next(subgroup, random))};
      const std::uint64_t had = places_[subgroup].load(std::memory_order_acquire);
      try {
        subgroups_[subgroup]->send(header.bytes, [&](std::span<std::byte> to) {
          std::memcpy(to.data(), &header, sizeof header);
          for (std::uint64_t at = sizeof header; at < to.size(); ++at) to[at] = filler(header, at);
        });
      } catch (const Exception&) {
        return;  // what it was, the main thread learns from `wait`
      }
      journal_.append(Kind::sent,
                      {.subgroup = subgroup, .begun = had >> begun_at, .count = had & count_mask, .value = counter});
      const bool pause = !flood.load(std::memory_order_relaxed) || journal_.nearly_full();
      if (pause)
        std::this_thread::sleep_for(std::chrono::microseconds(journal_.nearly_full() ? 20'000 : 200 + random() % 2000));
    }
  }

  [[nodiscard]] std::size_t subgroup_count() const noexcept { return subgroups_.size(); }

 private:
  /// Now and then a message of many lines, or a large one where there are such: the least of them, the largest, or between.
  [[nodiscard]] std::uint64_t bytes_of_next(std::uint32_t subgroup, std::minstd_rand& random) const {
    const std::uint64_t most = subgroups_[subgroup]->message_bytes_max();
    const std::uint64_t large = large_above_[subgroup];
    switch (const std::uint64_t kind = random() % 150) {
      case 0:
      case 1:
      case 2: return sizeof(Header) + random() % 6000;
      case 3:
      case 4:
      case 5:
        if (large == 0) break;
        return kind == 3 ? large + 1 : kind == 4 ? most : large + 1 + random() % (most - large);
      default: break;
    }
    return sizeof(Header) + random() % 200;
  }

  void on_view(const NewView& news) {
    view_ = news.view.id.value();
    journal_.append(Kind::view, {.view = view_, .count = now_ns(), .value = news.view.members.size()});
    for (std::size_t i = 0; i < news.view.members.size(); ++i) {
      journal_.append(Kind::member,
                      {.node = news.view.members[i].value(), .incarnation = news.view.incarnations[i], .view = view_});
    }
    // The boundary counts only if nothing older can still come: see Subgroup::on_delivery on what waits for a handler.
    const bool was_attending = std::exchange(attended_, attending_.load(std::memory_order_acquire));
    for (std::uint32_t s = 0; s < states_.size(); ++s) {
      State& state = states_[s];
      if (was_attending && state.ready && news.view.subgroups[s].member_position(self_))
        record(Kind::boundary, s, {.view = view_});
      if (view_ == 0) state.ready = true;
    }
    for (const SubgroupId lost : news.state_lost) states_[lost.value()] = {};  // begins anew with the first delivery
  }

  void deliver(std::uint32_t subgroup, const Delivery& delivery) {
    Header header;
    const bool whole = delivery.payload.size() >= sizeof header;
    if (whole) std::memcpy(&header, delivery.payload.data(), sizeof header);
    bool good = whole && header.bytes == delivery.payload.size() && header.node == delivery.sender.value();
    for (std::uint64_t at = sizeof header; good && at < delivery.payload.size(); ++at)
      good = delivery.payload[at] == filler(header, at);
    if (!good) wrong(subgroup, Wrong::payload);
    State& state = states_[subgroup];
    if (!state.ready) state = {.begun = delivery.view.value(), .ready = true};
    ++state.count;
    state.digest = mix(mix(state.digest, header.incarnation), header.counter);
    record(Kind::delivery, subgroup,
           {.node = header.node, .incarnation = header.incarnation, .view = view_, .value = header.counter});
    if (large_above_[subgroup] > 0 && delivery.payload.size() > large_above_[subgroup])
      journal_.append(Kind::large, {.subgroup = subgroup, .node = header.node, .value = delivery.payload.size()});
    places_[subgroup].store(state.begun << begun_at | state.count, std::memory_order_release);
  }

  void save(std::uint32_t subgroup, std::ostream& to) {
    const State& state = states_[subgroup];
    to << state.ready << ' ' << state.begun << ' ' << state.count << ' ' << state.digest << ' ';
    // Sometimes a state of several pieces.
    for (std::uint64_t i = 0; i < (state.count % 3 == 0 ? 40'000 : 3); ++i) to << 'x';
  }

  void load(std::uint32_t subgroup, std::istream& from) {
    if (states_[subgroup].ready) wrong(subgroup, Wrong::loaded_twice);
    State state;
    std::string rest;
    from >> state.ready >> state.begun >> state.count >> state.digest >> rest;
    if (!from || rest.size() != (state.count % 3 == 0 ? 40'000 : 3)) wrong(subgroup, Wrong::broken_state);
    // The unordered subgroup's digest is each member's own.
    states_[subgroup] = state;
    if (!state.ready) return;  // nothing was delivered yet: the source had nothing but the beginning
    record(Kind::loaded, subgroup, {.view = view_});
  }

  void record(Kind kind, std::uint32_t subgroup, Record record) {
    const State& state = states_[subgroup];
    record.subgroup = subgroup;
    record.begun = state.begun;
    record.count = state.count;
    record.digest = state.digest;
    journal_.append(kind, record);
  }
  void wrong(std::uint32_t subgroup, Wrong what) {
    journal_.append(Kind::bad, {.subgroup = subgroup, .view = view_, .value = static_cast<std::uint64_t>(what)});
  }

  NodeId self_;
  std::uint64_t seed_;
  Journal& journal_;
  std::vector<std::string> names_;  ///< by subgroup
  std::vector<Subgroup*> subgroups_;
  std::vector<bool> ordered_;
  std::vector<std::uint64_t> large_above_;          ///< by subgroup: bytes; 0 where no message is large
  std::vector<std::atomic<std::uint64_t>> places_;  ///< by subgroup: what was delivered, for the sending threads
  std::atomic<bool> attending_{false};
  // The poller's:
  bool attended_ = false;
  std::uint64_t view_ = 0;
  std::vector<State> states_;
};

int code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::removed:
    case ErrorKind::given_up: return 9;
    case ErrorKind::no_majority: return 10;
    case ErrorKind::refused: return 3;
    case ErrorKind::timed_out: return 5;
    default: return 1;
  }
}

/// Waits for SIGTERM in a thread of its own, and for the others in between. `over`: the group is left or lost already.
void obey_signals(sigset_t signals, Group& group, Journal& journal, const std::atomic<bool>& over) {
  for (;;) {
    int signal = 0;
    if (::sigwait(&signals, &signal) != 0) continue;
    if (signal == SIGUSR1) slow_next.store(true);
    if (signal == SIGUSR2) {
      flood.store(true);
      std::this_thread::sleep_for(flood_time);
      flood.store(false);
    }
    if (signal != SIGTERM) continue;
    if (over.load()) return;
    journal.append(Kind::leaving, {.count = now_ns()});
    try {
      group.leave();
    } catch (const Exception&) {  // the main thread hears of it
    }
    return;
  }
}

/// A roster without this node may have it leave before it has all its handlers.
bool attends(Worker& worker, Group& group) {
  try {
    worker.attend(group);
    return true;
  } catch (const Exception& failure) {
    if (failure.error().kind() != ErrorKind::group_closed) throw;
    return false;
  }
}

/// Sends and obeys until the group is left or lost.
void work(Worker& worker, Group& group, Journal& journal, const sigset_t& signals) {
  std::atomic<bool> over = false;
  std::thread obeying([&] { obey_signals(signals, group, journal, over); });
  std::vector<std::thread> sending;
  for (std::uint32_t s = 0; s < worker.subgroup_count(); ++s)
    sending.emplace_back([&worker, s] { worker.send_until_closed(s); });
  std::exception_ptr failure;
  try {
    group.wait();  // a roster without this node has it leave, too
  } catch (const Exception&) {
    failure = std::current_exception();
  }
  over.store(true);
  ::kill(::getpid(), SIGTERM);  // lets the obeying thread go
  for (std::thread& thread : sending) thread.join();
  obeying.join();
  if (failure) std::rethrow_exception(failure);
}

int run(const Config& config, Journal& journal, std::uint64_t seed) {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGUSR1, SIGUSR2}) ::sigaddset(&signals, signal);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  try {
    Worker worker(config, journal, seed);
    Group group(config, worker.options());
    if (attends(worker, group)) {
      work(worker, group, journal, signals);
    } else {
      group.wait();
    }
    journal.append(Kind::left, {});
    return 0;
  } catch (const Exception& failure) {
    journal.append(Kind::ended, {.value = static_cast<std::uint64_t>(failure.error().kind())});
    std::fprintf(stderr, "ended: %s\n", failure.what());
    return code_of(failure.error().kind());
  }
}

}  // namespace
}  // namespace spindrift::chaos

int main(int argument_count, char** arguments) {
  using namespace spindrift;
  if (argument_count != 5) {
    std::fprintf(stderr, "usage: chaos_worker CONFIG ID JOURNAL SEED\n");
    return 2;
  }
  const auto config = Config::read(arguments[1], {{"DERECHO/local_id", arguments[2], "argument"}});
  if (!config || !log::set_levels(config->log_level())) {
    std::fprintf(stderr, "bad configuration: %s\n", config ? "log level" : config.error().to_string().c_str());
    return 2;
  }
  chaos::Journal journal(arguments[3]);
  return chaos::run(*config, journal, std::strtoull(arguments[4], nullptr, 10));
}
