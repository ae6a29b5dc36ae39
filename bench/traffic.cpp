// Each member is a forked process. Its poller counts into memory that all share; the first member's main thread watches,
// that is: it sleeps, and notes everybody's counts before and after. All main threads sleep while messages flow.
#include <spindrift/bench/traffic.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <spindrift/bench/payload.hpp>
#include <spindrift/bench/processes.hpp>
#include <spindrift/bench/traffic_arena.hpp>
#include <spindrift/group/group.hpp>
#include <spindrift/group/probe.hpp>

namespace spindrift::bench {

namespace {

constexpr Duration patience = std::chrono::seconds(30);
/// Waiting is no shorter than this on an idle machine.
constexpr Duration shortest_wait = std::chrono::microseconds(50);
constexpr std::uint32_t threads_max = 256;
void pause(Duration time) noexcept {
  const timespec request{std::chrono::duration_cast<std::chrono::seconds>(time).count(), time.count() % 1'000'000'000};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &request, nullptr);
}

void spend(Duration time, Spending by) noexcept {
  if (by == Spending::waiting) return pause(time);
  const std::uint64_t end_ns = nanoseconds_now() + static_cast<std::uint64_t>(time.count());
  while (nanoseconds_now() < end_ns) {
  }
}

/// The first word of every payload: which thread of its sender sent it, and its number there.
struct TrafficStamp {
  std::uint64_t thread;
  std::uint64_t number;
  [[nodiscard]] std::uint64_t pack() const noexcept { return thread << 48 | number; }
  [[nodiscard]] static TrafficStamp unpack(std::uint64_t word) noexcept {
    return {word >> 48, word & ((std::uint64_t{1} << 48) - 1)};
  }
};

/// Takes one stream's deliveries, on the poller thread.
class StreamReceiver {
  using Counts = std::array<std::uint64_t, traffic_members_max>;  ///< by sender

 public:
  StreamReceiver(const Stream& stream, std::uint32_t members, StreamCounts& place, smc::LapClock clock)
      : stream_(stream), place_(place), clock_(clock), next_(std::size_t{members} * stream.threads) {}

  void on_delivery(std::span<const Delivery> batch) {
    if (clock_ == nullptr) return take(batch);
    const Time began = clock_();
    take(batch);
    handling_ns_.fetch_add(static_cast<std::uint64_t>((clock_() - began).count()), std::memory_order_relaxed);
  }

  [[nodiscard]] std::uint64_t handling_ns() const noexcept { return handling_ns_.load(std::memory_order_relaxed); }

  void await(std::uint64_t messages) noexcept {
    awaited_.store(true);
    for (std::uint64_t seen = total_.load(); seen < messages; seen = total_.load()) total_.wait(seen);
  }

 private:
  void take(std::span<const Delivery> batch) {
    Counts counts{};
    std::uint64_t sum = 0;
    for (const Delivery& delivery : batch) {
      const std::uint32_t sender = delivery.sender_rank.value();
      check_order(sender, delivery.payload);
      sum += read_lines(delivery.payload);
      ++counts[sender];
      if (stream_.handling == Duration{}) continue;
      spend(stream_.handling, stream_.handling_by);
      show(counts);  // a batch may last longer than the watch
    }
    keep(sum);
    show(counts);
    const auto size_class = std::min<std::size_t>(std::bit_width(batch.size()) - 1, batch_classes - 1);
    place_.delivery_batches[size_class].fetch_add(1, std::memory_order_relaxed);
    total_.fetch_add(batch.size());
    if (awaited_.load()) total_.notify_one();
  }

  void check_order(std::uint32_t sender, std::span<const std::byte> payload) {
    std::uint64_t word = 0;
    std::memcpy(&word, payload.data(), sizeof word);
    const TrafficStamp stamp = TrafficStamp::unpack(word);
    if (stamp.thread < stream_.threads && stamp.number == next_[sender * stream_.threads + stamp.thread]++) return;
    throw Exception(Error(ErrorKind::member_lost, fmt::format("message {} of thread {} of sender {} came out of its order",
                                                              stamp.number, stamp.thread, sender)));
  }

  /// Moves the counts to where everybody sees them.
  void show(Counts& counts) noexcept {
    for (std::size_t sender = 0; sender < counts.size(); ++sender) {
      if (counts[sender] > 0)
        place_.delivered_of[sender].fetch_add(std::exchange(counts[sender], 0), std::memory_order_relaxed);
    }
  }

  const Stream& stream_;
  StreamCounts& place_;
  smc::LapClock clock_;
  std::atomic<std::uint64_t> handling_ns_{0};
  std::vector<std::uint64_t> next_;  ///< by sender, by thread: the number that must come
  std::atomic<std::uint64_t> total_{0};
  std::atomic<bool> awaited_{false};
};

class TrafficMember {
 public:
  TrafficMember(const TrafficArena& arena, std::uint32_t self)
      : arena_(arena),
        run_(arena.run),
        self_(self),
        stepper_(std::make_shared<smc::AblatedStepper>(run_.policy, run_.streams.size())),
        group_(member_config(arena.shape, arena.directory, NodeId(self)), {}, probe()) {}

  void run() {
    group_.on_failure([this](const Error& failure) { complain(failure.to_string()); });
    for (std::uint32_t number = 0; number < run_.streams.size(); ++number) take(number);
    arena_.started().pass_asleep(arena_.processes());
    start_senders();
    if (self_ == 0) watch();
    arena_.stopped().pass_asleep(run_.members);
    if (run_.policy.null_sends) await_the_rest();
    note_counters();
    over_.store(true);
    arena_.ended().pass_asleep(arena_.processes());
    if (run_.policy.null_sends) return group_.leave();
    ::_exit(0);  // senders may wait for space that never comes
  }

 private:
  /// A run without an experiment takes the product's own steps.
  group::Probe probe() const {
    if (run_.policy.changes_nothing()) return {.policy = run_.policy};
    return {.policy = run_.policy, .stepper = stepper_};
  }

  /// A failure of a member after the first of them has gone home is no fault.
  void complain(const std::string& failure) const noexcept {
    if (!over_.load()) fmt::print(stderr, "member {}: {}\n", self_, failure);
  }

  [[nodiscard]] Subgroup& subgroup(std::uint32_t number) { return group_.subgroup(numbered_subgroup(number)); }

  void take(std::uint32_t number) {
    const Stream& stream = run_.streams[number];
    receivers_.push_back(
        std::make_unique<StreamReceiver>(stream, run_.members, arena_.place(number, self_), run_.policy.clock));
    subgroup(number).on_delivery(
        [receiver = receivers_.back().get()](std::span<const Delivery> batch) { receiver->on_delivery(batch); },
        stream.own_thread ? HandlerThread::own : HandlerThread::shared);
  }

  [[nodiscard]] bool slow() const noexcept { return self_ >= run_.members - run_.slow_senders; }

  void start_senders() {
    if (slow() && !run_.slow_after) return;
    std::vector<std::uint32_t> active;
    for (std::uint32_t number = 0; number < run_.streams.size(); ++number) {
      if (run_.streams[number].active) active.push_back(number);
    }
    if (run_.in_turn && !active.empty()) start_sender(active, 0);
    if (run_.in_turn) return;
    for (const std::uint32_t number : active) {
      for (std::uint32_t thread = 0; thread < run_.streams[number].threads; ++thread) start_sender({number}, thread);
    }
  }

  void start_sender(std::vector<std::uint32_t> numbers, std::uint64_t thread) {
    senders_.emplace_back([this, numbers = std::move(numbers), thread] {
      try {
        send_until_stopped(numbers, thread);
      } catch (const Exception& failure) {
        complain(failure.what());
      }
    });
  }

  void send_until_stopped(const std::vector<std::uint32_t>& numbers, std::uint64_t thread) {
    std::vector<std::byte> source(run_.message_bytes, std::byte{1});
    std::vector<Subgroup*> subgroups;
    for (const std::uint32_t number : numbers) subgroups.push_back(&subgroup(number));
    const Duration pace = slow() ? *run_.slow_after : Duration{};
    std::uint64_t rounds = 0;
    do {  // at least once, however soon the stop comes
      const std::uint64_t word = TrafficStamp{thread, rounds}.pack();
      std::memcpy(source.data(), &word, sizeof word);
      for (Subgroup* const to : subgroups) to->send(source);
      if (pace > Duration{}) spend(pace, pace < shortest_wait ? Spending::computing : Spending::waiting);
      ++rounds;
    } while (arena_.stop.value.load(std::memory_order_relaxed) == 0);
    for (const std::uint32_t number : numbers) arena_.place(number, self_).sent.fetch_add(rounds);
  }

  void watch() {
    pause(run_.warm_up);
    note(0);
    pause(run_.watch);
    note(1);
    arena_.stop.value.store(1);
  }

  void note(std::size_t which) {
    arena_.noted_at_ns[which].value.store(nanoseconds_now());
    for (StreamCounts& place : arena_.places) {
      for (std::size_t sender = 0; sender < run_.members; ++sender)
        place.noted[which][sender].store(place.delivered_of[sender].load());
    }
  }

  void await_the_rest() {
    for (std::thread& sender : senders_) sender.join();
    arena_.silent().pass_asleep(arena_.processes());
    for (std::size_t stream = 0; stream < run_.streams.size(); ++stream) receivers_[stream]->await(arena_.sent(stream));
  }

  // Everything awaited is counted by now, for a batch is counted before it is handled.
  void note_counters() {
    const std::vector<CounterValue> counters = group_.counters();
    const auto value = [&](const std::string& name) {
      const auto found =
          std::find_if(counters.begin(), counters.end(), [&](const CounterValue& counter) { return counter.name == name; });
      if (found == counters.end()) throw Exception(Error(ErrorKind::unsupported, "nobody counts " + name));
      return found->value;
    };
    for (std::uint32_t stream = 0; stream < run_.streams.size(); ++stream) {
      StreamCounts& place = arena_.place(stream, self_);
      for (std::size_t sender = 0; sender < run_.members; ++sender)
        place.at_end[sender].store(place.delivered_of[sender].load());
      const std::string prefix = fmt::format("subgroup.{}.", numbered_subgroup(stream));
      for (std::size_t i = 0; i < counter_names.size(); ++i) place.counters[i] = value(prefix + counter_names[i]);
      if (run_.policy.clock == nullptr) continue;
      const auto spent = [&](smc::PassPart part) { return stepper_->spent_ns(SubgroupId(stream), part); };
      const std::uint64_t in_handler = receivers_[stream]->handling_ns();
      place.predicate_ns = {spent(smc::PassPart::receive),
                            spent(smc::PassPart::null_sends),
                            spent(smc::PassPart::send),
                            spent(smc::PassPart::stability),
                            spent(smc::PassPart::delivery) - std::min(in_handler, spent(smc::PassPart::delivery)),
                            in_handler,
                            spent(smc::PassPart::push)};
    }
  }

  const TrafficArena& arena_;
  const TrafficRun& run_;
  const std::uint32_t self_;
  std::atomic<bool> over_{false};
  std::vector<std::unique_ptr<StreamReceiver>> receivers_;
  std::shared_ptr<smc::AblatedStepper> stepper_;
  Group group_;  // its poller calls the receivers
  std::vector<std::thread> senders_;
};

void run_traffic_member(const TrafficArena& arena, std::uint32_t self) {
  log_errors_only();
  ::prctl(PR_SET_TIMERSLACK, 1UL);  // or every wait would be 50 µs longer; threads inherit it
  name_thread("member-poller");     // which the group's thread inherits
  TrafficMember member(arena, self);
  name_thread("member-app");
  member.run();
}

double by(std::uint64_t count, std::uint64_t batches) {
  return batches == 0 ? 0 : static_cast<double>(count) / static_cast<double>(batches);
}

double watched_share(const TrafficArena& arena, std::uint64_t sent) {
  std::uint64_t watched = 0;
  for (std::size_t i = 0; i < arena.run.watchers.reading; ++i) watched += arena.watched[i].value.load();
  return by(watched, sent * arena.run.watchers.reading);
}

StreamResult summarize_stream(const TrafficArena& arena, std::size_t stream) {
  const TrafficRun& run = arena.run;
  StreamResult result;
  std::array<std::uint64_t, counter_names.size()> sums{};
  std::array<std::uint64_t, predicate_names.size()> predicate_ns{};
  std::uint64_t fewest = ~std::uint64_t{0};
  std::uint64_t fewest_prompt = ~std::uint64_t{0};
  for (std::size_t member = 0; member < run.members; ++member) {
    const StreamCounts& place = arena.place(stream, member);
    std::uint64_t watched = 0;
    std::uint64_t prompt = 0;
    std::uint64_t total = 0;
    for (std::size_t sender = 0; sender < run.members; ++sender) {
      const std::uint64_t count = place.noted[1][sender].load() - place.noted[0][sender].load();
      watched += count;
      if (sender < run.members - run.slow_senders) prompt += count;
      total += place.at_end[sender].load();
    }
    fewest = std::min(fewest, watched);
    fewest_prompt = std::min(fewest_prompt, prompt);
    result.delivered.push_back(total);
    result.sent += place.sent.load();
    for (std::size_t size_class = 0; size_class < batch_classes; ++size_class)
      result.delivery_batches[size_class] += place.delivery_batches[size_class].load();
    for (std::size_t counter = 0; counter < sums.size(); ++counter) sums[counter] += place.counters[counter];
    for (std::size_t i = 0; i < predicate_ns.size(); ++i) predicate_ns[i] += place.predicate_ns[i];
  }
  result.messages_per_second = static_cast<double>(fewest) / arena.watched_seconds();
  result.prompt_per_second = static_cast<double>(fewest_prompt) / arena.watched_seconds();
  result.watched_share = watched_share(arena, result.sent);
  result.null_runs = sums[null_runs];
  const std::uint64_t of_others =
      sums[delivered] + sums[delivered_nulls] - std::min(sums[sent], sums[delivered] + sums[delivered_nulls]);
  // A run of nulls is one record, however many messages it stands for. Without nulls every record is one message.
  const std::uint64_t records = run.policy.null_sends ? result.sent + sums[null_runs] : sums[sent];
  result.batches = {by(records, sums[send_batches]), by(of_others, sums[receive_batches]),
                    by(sums[delivered], sums[delivery_batches])};
  for (std::size_t i = 0; i < predicate_ns.size(); ++i) result.predicate_ns[i] = by(predicate_ns[i], sums[delivered]);
  return result;
}

void check_run(const TrafficRun& run) {
  CHECK(run.members >= 2 && run.members <= traffic_members_max && run.slow_senders < run.members && run.message_bytes >= 8);
  CHECK(run.watchers.count() == 0 || run.policy.null_sends);
  for (const Stream& stream : run.streams) CHECK(stream.threads >= 1 && stream.threads <= threads_max);
}

GroupShape shape_of(const TrafficRun& run) {
  // A handler that is slow on purpose is no sign of a member that hangs.
  GroupShape shape{run.members,
                   run.members,
                   profile_for(run.message_bytes, run.window),
                   {{"SPINDRIFT/suspect_after_ms", "60000", "the bench"}},
                   static_cast<std::uint32_t>(run.streams.size())};
  shape.settings.insert(shape.settings.end(), run.settings.begin(), run.settings.end());
  return shape;
}

}  // namespace

std::vector<StreamResult> run_traffic(const TrafficRun& run) {
  check_run(run);
  const GroupShape shape = shape_of(run);
  auto directory = PrivateDirectory::make();
  static_cast<void>(
      member_config(shape, directory.path(), NodeId(0)));  // a wrong setting is an error before the first process

  constexpr std::size_t gates = 4;
  const std::size_t words_offset = gates * sizeof(Gate);
  const std::size_t places_offset = words_offset + 3 * sizeof(SharedWord);
  const std::size_t places = run.streams.size() * run.members;
  const std::size_t watched_offset = places_offset + places * sizeof(StreamCounts);
  auto memory = SharedMemory::make(watched_offset + run.watchers.count() * sizeof(SharedWord));
  const auto words = memory.make_objects<SharedWord>(words_offset, 3);
  const TrafficArena arena{run,
                           shape,
                           directory.path(),
                           memory.make_objects<Gate>(0, gates),
                           words[0],
                           words.subspan(1),
                           memory.make_objects<StreamCounts>(places_offset, places),
                           memory.make_objects<SharedWord>(watched_offset, run.watchers.count())};
  const auto what = [&] {
    return fmt::format("traffic of {} members in {} subgroups failed", run.members, run.streams.size());
  };
  explained(what, [&] {
    const auto body = [&](std::uint32_t self) {
      self < run.members ? run_traffic_member(arena, self) : run_watcher(arena, self - run.members);
    };
    run_processes(run.members + run.watchers.count(), run.warm_up + run.watch + patience, body);
  });
  std::vector<StreamResult> results;
  for (std::size_t stream = 0; stream < run.streams.size(); ++stream) results.push_back(summarize_stream(arena, stream));
  return results;
}

}  // namespace spindrift::bench
