// Process 0 writes, those behind it read, and the last one watches their counts in memory that all share.
#include <spindrift/bench/topics.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include <fmt/format.h>

#include <spindrift/bench/group_config.hpp>
#include <spindrift/bench/plain_files.hpp>
#include <spindrift/bench/processes.hpp>
#include <spindrift/bench/topic_ends.hpp>
#include <spindrift/dds/domain_core.hpp>
#include <spindrift/dds/sample_message.hpp>

namespace spindrift::bench {
namespace {

using dds::core::cond::WaitSet;
using dds::domain::DomainParticipant;
using dds::pub::DataWriter;
using dds::sub::DataReader;
using dds::topic::Topic;

constexpr Duration patience = std::chrono::minutes(2);
constexpr Duration warm_up = std::chrono::milliseconds(300);
constexpr const char* topic_name = "bench";
/// A reader that has so many bytes before it holds up the writer, and does not grow.
constexpr std::uint64_t cache_bytes = std::uint64_t{16} << 20U;

/// The place of a run's processes: their runtime directory, and for logged topics a disk and a file that all read.
struct TopicPlace {
  std::string runtime;
  std::string file;  ///< empty: a domain without one
  ListenerPlace listeners = ListenerPlace::thread;

  /// This process's participant from now on. `self`: its node, where there is a file.
  [[nodiscard]] DomainParticipant join(std::uint32_t self) const {
    enter(self);
    return DomainParticipant(0, {}, file);
  }
  void enter(std::uint32_t self) const {
    ::setenv("SPINDRIFT_RUNTIME_DIRECTORY", runtime.c_str(), 1);
    ::setenv("SPINDRIFT_DDS_LISTENERS", name_of(listeners), 1);
    if (!file.empty()) ::setenv("SPINDRIFT_DERECHO_LOCAL_ID", std::to_string(self).c_str(), 1);
    log_errors_only();
  }
};

/// The file of a domain whose topic is logged on that disk.
std::string write_domain_file(const TopicRun& run, const std::string& runtime, const std::string& disk) {
  std::string members = "0";
  for (std::uint32_t node = 1; node <= run.readers; ++node) members += fmt::format(", {}", node);
  const std::uint64_t most = sizeof(topics::SampleEnvelope) + run.bytes;
  const std::string path = runtime + "/bench.cfg";
  std::ofstream(path) << fmt::format(
      "[DERECHO]\nlocal_id = 0\n[SPINDRIFT]\ngroup_name = bench\nmembers = {}\nfabric = shm\nsuspect_after_ms = 60000\n"
      "[PERS]\nfile_path = {}\n[SUBGROUP/DEFAULT]\nmax_smc_payload_size = {}\n[LAYOUT]\n"
      "json_layout = '[{{\"name\": \"{}\"}}, {{\"name\": \"kept\", \"storage\": \"logged\", \"topics\": [\"{}\"]}}]'\n",
      members, disk, std::max<std::uint64_t>(most, 10240), topics::endpoints_subgroup, topic_name);
  return path;
}

/// The memory of a run.
struct TopicArena {
  const TopicRun& run;
  const TopicPlace& place;
  std::span<Gate> gates;         ///< all are there; all is ready; all is written
  std::span<SharedWord> words;   ///< the run is over; so many samples were written; samples in the watched time; its length
  std::span<SharedWord> counts;  ///< by participant

  [[nodiscard]] std::uint32_t participants() const noexcept { return run.readers + 1; }
  [[nodiscard]] std::uint32_t processes() const noexcept { return run.readers + 2; }
  [[nodiscard]] bool stopped() const noexcept { return words[0].value.load(std::memory_order_relaxed) != 0; }
  /// The count of the reader that has the fewest; of the writer, where nobody reads.
  [[nodiscard]] std::uint64_t least() const noexcept {
    if (run.way == SampleWay::unread) return counts[0].value.load();
    std::uint64_t fewest = std::numeric_limits<std::uint64_t>::max();
    for (const SharedWord& each : counts.subspan(1)) fewest = std::min(fewest, each.value.load());
    return fewest;
  }
};

/// Writes by `write(number)` from the gate on until the run is over.
template <class Write>
void write_until_stopped(const TopicArena& arena, const Write& write) {
  arena.gates[1].pass_asleep(arena.processes());
  std::uint32_t number = 0;
  while (!arena.stopped()) {
    write(++number);
    arena.counts[0].value.store(number, std::memory_order_relaxed);
  }
  arena.words[1].value.store(number);
  arena.gates[2].pass_asleep(arena.processes());
}

template <class T>
class Taker final : public dds::sub::NoOpDataReaderListener<T> {
 public:
  Taker(SharedWord& count, bool gaps) : count_(count), order_(gaps) {}
  void on_data_available(DataReader<T>& reader) override {
    try {
      take(reader);
    } catch (const std::exception& thrown) {
      failure_ = thrown.what();  // where it is thrown nobody would hear of it
    }
  }
  void take(DataReader<T>& reader) {
    for (const auto& each : reader.take()) {
      if (each.info().valid()) order_.take(read_sample(std::as_bytes(std::span(&each.data(), 1))));
    }
    count_.value.store(order_.count(), std::memory_order_relaxed);
  }
  [[nodiscard]] const SampleOrder& order() const noexcept { return order_; }
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }

 private:
  SharedWord& count_;
  SampleOrder order_;
  std::string failure_;
};

template <class T>
void run_writer(const TopicArena& arena) {
  const DomainParticipant participant = arena.place.join(0);
  const Topic<T> topic(participant, topic_name, topic_qos(arena.run.quality));
  DataWriter<T> writer(dds::pub::Publisher(participant), topic);
  arena.gates[0].pass_asleep(arena.processes());
  WaitSet waitset;
  waitset += dds::core::cond::StatusCondition(writer);
  const std::size_t readers = arena.run.way == SampleWay::unread ? 0 : arena.run.readers;
  while (dds::pub::matched_subscriptions(writer).size() < readers) waitset.wait(dds::core::Duration::from_secs(60));
  T sample{};
  if (arena.run.way == SampleWay::copied) {
    return write_until_stopped(arena, [&](std::uint32_t number) {
      sample.number = number;
      writer.write(sample);
    });
  }
  write_until_stopped(arena, [&](std::uint32_t number) {
    writer.write_in_place([&](T& made) { fill(made, number, sample); });
  });
}

template <class T>
void run_reader(const TopicArena& arena, std::uint32_t self) {
  using dds::core::policy::History;
  using dds::core::policy::ResourceLimits;
  const DomainParticipant participant = arena.place.join(self);
  const Topic<T> topic(participant, topic_name, topic_qos(arena.run.quality));
  Taker<T> taker(arena.counts[self], arena.run.quality == TopicQuality::unordered);
  dds::sub::qos::DataReaderQos qos(topic.qos());
  qos << History::KeepAll() << ResourceLimits(static_cast<std::int32_t>(cache_bytes / sizeof(T)));
  std::optional<DataReader<T>> reader;
  if (arena.run.way != SampleWay::unread)
    reader.emplace(dds::sub::Subscriber(participant), topic, qos, &taker, dds::core::status::StatusMask::data_available());
  arena.gates[0].pass_asleep(arena.processes());
  arena.gates[1].pass_asleep(arena.processes());
  arena.gates[2].pass_asleep(arena.processes());
  if (!reader) return;
  reader->listener(nullptr, dds::core::status::StatusMask::none());
  if (!taker.failure().empty()) throw Exception(Error(ErrorKind::bad_input, taker.failure()));
  if (arena.run.quality == TopicQuality::unordered) return;
  WaitSet waitset;
  waitset += dds::sub::cond::ReadCondition(*reader, dds::sub::status::DataState::any());
  for (taker.take(*reader); taker.order().last() < arena.words[1].value.load(); taker.take(*reader))
    waitset.wait(dds::core::Duration::from_secs(60));
}

void run_untyped(const TopicArena& arena, std::uint32_t self) {
  arena.place.enter(self);
  SampleOrder order(false);
  std::atomic<std::uint64_t> last{0};
  Group group(topics::DomainCore::config(0, {}));
  const std::uint64_t usual = group.subgroup(topics::endpoints_subgroup).message_bytes_max();
  group.subgroup(topics::endpoints_subgroup).on_delivery([](auto) {});
  arena.gates[0].pass_asleep(arena.processes());
  AddedSubgroup added;
  added.name = topic_name;
  added.profile = topics::topic_profile(arena.run.bytes, usual);
  Subgroup& subgroup = group.create_subgroup(added);
  subgroup.on_delivery([&](std::span<const Delivery> batch) {
    for (const Delivery& each : batch) order.take(read_sample(each.payload));
    arena.counts[self].value.store(order.count(), std::memory_order_relaxed);
    last.store(order.last());
    last.notify_one();
  });
  if (self == 0) {
    with_type_of(arena.run.bytes, [&](auto sample) {
      write_until_stopped(arena, [&](std::uint32_t number) {
        subgroup.send(sizeof sample, [&](std::span<std::byte> to) {
          sample.number = number;
          std::memcpy(to.data(), &sample, sizeof sample);
        });
      });
    });
  } else {
    arena.gates[1].pass_asleep(arena.processes());
    arena.gates[2].pass_asleep(arena.processes());
  }
  for (std::uint64_t seen = last.load(); seen < arena.words[1].value.load(); seen = last.load()) last.wait(seen);
  group.leave();
}

void run_watcher(const TopicArena& arena) {
  for (Gate& gate : arena.gates.first(2)) gate.pass_asleep(arena.processes());
  pause_for(warm_up);
  const std::uint64_t before = arena.least();
  const std::uint64_t begin_ns = nanoseconds_now();
  pause_for(arena.run.watch);
  arena.words[2].value.store(arena.least() - before);
  arena.words[3].value.store(nanoseconds_now() - begin_ns);
  arena.words[0].value.store(1);
  arena.gates[2].pass_asleep(arena.processes());
}

void run_participant(const TopicArena& arena, std::uint32_t self) {
  if (self == arena.participants()) return run_watcher(arena);
  if (arena.run.way == SampleWay::untyped) return run_untyped(arena, self);
  with_type_of(arena.run.bytes, [&](auto sample) {
    using T = decltype(sample);
    self == 0 ? run_writer<T>(arena) : run_reader<T>(arena, self);
  });
}

/// Sends the next one when one is back, until all have been there.
template <class T>
class Pinger final : public dds::sub::NoOpDataReaderListener<T> {
 public:
  Pinger(DataWriter<T>& writer, std::span<std::uint64_t> times_ns) : writer_(writer), times_ns_(times_ns) {}
  void send() {
    begin_ns_ = nanoseconds_now();
    writer_.write_in_place([&](T& made) { fill(made, number_ + 1, source_); });
  }
  void on_data_available(DataReader<T>& reader) override {
    for (const auto& each : reader.take()) {
      if (!each.info().valid()) continue;
      const std::uint64_t now_ns = nanoseconds_now();
      keep(read_sample(std::as_bytes(std::span(&each.data(), 1))));
      if (number_ >= warm_trips) times_ns_[number_ - warm_trips] = now_ns - begin_ns_;
      if (++number_ < warm_trips + times_ns_.size()) send();
    }
    done_.store(number_ >= warm_trips + times_ns_.size());
    done_.notify_one();
  }
  void await() const { done_.wait(false); }

 private:
  static constexpr std::uint32_t warm_trips = 200;
  DataWriter<T>& writer_;
  std::span<std::uint64_t> times_ns_;
  T source_{};
  std::uint64_t begin_ns_ = 0;
  std::uint32_t number_ = 0;
  std::atomic<bool> done_{false};
};

template <class T>
class Ponger final : public dds::sub::NoOpDataReaderListener<T> {
 public:
  explicit Ponger(DataWriter<T>& writer) : writer_(writer) {}
  void on_data_available(DataReader<T>& reader) override {
    for (const auto& each : reader.take()) {
      if (each.info().valid()) writer_.write_in_place([&](T& made) { made = each.data(); });
    }
  }

 private:
  DataWriter<T>& writer_;
};

/// One end: its writer's topic, and the topic of which its listener hears.
template <class T>
struct TripEnds {
  TripEnds(const DomainParticipant& participant, const char* out_name, const char* back_name)
      : out(participant, out_name, topic_qos(TopicQuality::atomic)),
        back(participant, back_name, topic_qos(TopicQuality::atomic)),
        writer(dds::pub::Publisher(participant), out),
        reader(dds::sub::Subscriber(participant), back, dds::sub::qos::DataReaderQos(back.qos())) {}
  void hear(dds::sub::DataReaderListener<T>* listener) {
    reader.listener(listener, listener == nullptr ? dds::core::status::StatusMask::none()
                                                  : dds::core::status::StatusMask::data_available());
  }
  void await_other() {
    WaitSet waitset;
    waitset += dds::core::cond::StatusCondition(writer);
    while (dds::pub::matched_subscriptions(writer).empty()) waitset.wait(dds::core::Duration::from_secs(60));
  }

  Topic<T> out;
  Topic<T> back;
  DataWriter<T> writer;
  DataReader<T> reader;
};

template <class T>
void run_trip_end(const TopicPlace& place, std::uint32_t self, std::span<Gate> gates, std::span<std::uint64_t> times_ns) {
  const DomainParticipant participant = place.join(self);
  TripEnds<T> ends(participant, self == 0 ? "ping" : "pong", self == 0 ? "pong" : "ping");
  Pinger<T> pinger(ends.writer, times_ns);
  Ponger<T> ponger(ends.writer);
  ends.hear(self == 0 ? static_cast<dds::sub::DataReaderListener<T>*>(&pinger) : &ponger);
  ends.await_other();
  gates[0].pass_asleep(2);
  if (self == 0) {
    pinger.send();
    pinger.await();
  }
  gates[1].pass_asleep(2);
  ends.hear(nullptr);
}

}  // namespace

const char* name_of(TopicQuality quality) noexcept {
  constexpr std::array names{"unordered", "atomic", "stored", "logged"};
  return names[static_cast<std::size_t>(quality)];
}

const char* name_of(SampleWay way) noexcept {
  constexpr std::array names{"in place", "copied", "in place, unread", "untyped"};
  return names[static_cast<std::size_t>(way)];
}

const char* name_of(ListenerPlace place) noexcept { return place == ListenerPlace::poller ? "poller" : "thread"; }

double samples_per_second(const TopicRun& run) {
  const PrivateDirectory runtime = PrivateDirectory::make();
  std::optional<DiskDirectory> disk;
  TopicPlace place{runtime.path(), {}, run.listeners};
  if (run.quality == TopicQuality::logged) {
    disk.emplace(run.directory);
    place.file = write_domain_file(run, runtime.path(), disk->path());
  }
  const SharedMemory memory = SharedMemory::make(3 * sizeof(Gate) + (4 + run.readers + 1) * sizeof(SharedWord));
  const TopicArena arena{run, place, memory.make_objects<Gate>(0, 3), memory.make_objects<SharedWord>(3 * sizeof(Gate), 4),
                         memory.make_objects<SharedWord>(3 * sizeof(Gate) + 4 * sizeof(SharedWord), run.readers + 1)};
  run_processes(arena.processes(), patience, [&](std::uint32_t self) { run_participant(arena, self); });
  return static_cast<double>(arena.words[2].value.load()) / (static_cast<double>(arena.words[3].value.load()) * 1e-9);
}

std::vector<std::uint64_t> topic_round_trips_ns(const TripRun& run) {
  const PrivateDirectory runtime = PrivateDirectory::make();
  const TopicPlace place{runtime.path(), {}, run.listeners};
  const SharedMemory memory = SharedMemory::make(2 * sizeof(Gate) + run.count * sizeof(std::uint64_t));
  const std::span<Gate> gates = memory.make_objects<Gate>(0, 2);
  const std::span<std::uint64_t> times_ns = memory.make_objects<std::uint64_t>(2 * sizeof(Gate), run.count);
  run_processes(2, patience, [&](std::uint32_t self) {
    with_type_of(run.bytes, [&](auto sample) { run_trip_end<decltype(sample)>(place, self, gates, times_ns); });
  });
  return {times_ns.begin(), times_ns.end()};
}

}  // namespace spindrift::bench
