// Peers that do nothing but poll, and who reaches for them with a device that has never spoken to anybody.
#include <spindrift/bench/reach.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <span>
#include <thread>
#include <utility>

#include <spindrift/bench/reached.hpp>
#include <spindrift/bench/seeker.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/kernel/pool.hpp>

namespace spindrift::bench {

namespace {

using kernel::MemoryKeys;
using kernel::OperationStatus;
using kernel::PeerHandle;
using kernel::PhysicalDevice;
using kernel::PhysicalEvent;
using kernel::PhysicalOperation;
using kernel::PhysicalQueuePair;

constexpr Duration patience = std::chrono::seconds(10);

std::uint64_t since(Time start, Time now) { return static_cast<std::uint64_t>((now - start).count()); }

constexpr kernel::DeviceSizes sizes{.send_depth = 16, .receive_buffers = 16};

}  // namespace

/// The caller has a device that is made for one sample. Its memory goes after it.
struct ReachCaller {
  alignas(8) std::array<std::byte, 8> bytes{};
  std::unique_ptr<PhysicalDevice> device;
  std::unique_ptr<PhysicalQueuePair> open;
  MemoryKeys keys;
  SystemClock clock;

  void start(const std::string& provider) {
    device = open_loopback_device(provider, sizes);
    open = value_or_throw(device->open());
    keys = value_or_throw(device->register_memory(bytes, fabric::Access::write));
  }

  PhysicalOperation operation(PhysicalOperation::Kind kind, std::size_t id, PeerHandle peer, const MemoryKeys& remote) {
    PhysicalOperation made;
    made.kind = kind;
    made.signaled = true;
    made.id = id;
    made.peer = peer;
    made.local = bytes.data();
    made.bytes = static_cast<std::uint32_t>(bytes.size());
    made.local_key = keys.local_key;
    made.remote_address = remote.remote_base;
    made.remote_key = remote.remote_key;
    return made;
  }

  /// Posts them and notes how long after `start` each was over.
  std::vector<std::uint64_t> run(std::span<const PhysicalOperation> operations, Time start) {
    if (open->post(operations) != operations.size())
      throw Exception(Error(ErrorKind::resource, "the queue pair takes too little"));
    std::vector<std::uint64_t> times;
    std::array<PhysicalEvent, Reach::peers_max> events;
    while (times.size() < operations.size()) {
      const std::size_t count = open->poll(events);
      const Time now = clock.now();
      for (std::size_t i = 0; i < count; ++i) {
        if (events[i].status != OperationStatus::done || events[i].kind == PhysicalEvent::Kind::broken)
          throw Exception(Error(ErrorKind::member_lost, "an operation failed: " + std::string(to_string(events[i].status))));
        times.push_back(since(start, now));
      }
      if (now - start > patience) throw Exception(Error(ErrorKind::timed_out, "a peer does not answer"));
    }
    return times;
  }
};

Reach::Reach(std::string provider) : provider_(std::move(provider)) {
  for (ReachedPeer& peer : peers_) peer.start(provider_, sizes);
  keeper_.start(provider_, lookups_max + known_nodes);
  thread_ = std::thread([this] {
    while (!ends_.load(std::memory_order_relaxed)) {
      // Peers whose turn it is not take no time from those that are reached.
      const std::uint32_t reached = reached_.load(std::memory_order_relaxed);
      for (ReachedPeer& peer : std::span(peers_).first(reached)) peer.poll();
      keeper_.poll();
      std::this_thread::yield();
    }
  });
}

Reach::~Reach() {
  ends_.store(true, std::memory_order_relaxed);
  thread_.join();
}

ReachTimes Reach::measure(std::uint32_t peers, std::uint32_t samples) {
  ReachTimes times;
  std::uint64_t writing_ns = 0;
  std::uint64_t connecting_ns = 0;
  std::uint64_t table_reads = 0;
  reached_.store(peers, std::memory_order_relaxed);
  for (std::uint32_t sample = 0; sample < samples; ++sample) {
    ReachCaller caller;
    caller.start(provider_);
    auto written = reach_connectionless(caller, peers, times);
    open_endpoint(caller, times);
    connect_virtually(caller, peers, times);
    auto looked_up = connect_unknown(caller, peers, times);
    auto connected = reach_connected(caller, peers, times);
    table_reads += looked_up;
    writing_ns += written;
    connecting_ns += connected;
  }
  const double reached = 1e9 * peers * samples;
  times.reads_per_lookup = static_cast<double>(table_reads) / (double{1} * peers * samples);
  times.first_writes_per_second = reached / static_cast<double>(writing_ns);
  times.connects_per_second = reached / static_cast<double>(connecting_ns);
  return times;
}

ConnectRates Reach::measure_rates(std::uint32_t lookups) {
  reached_.store(0, std::memory_order_relaxed);
  auto device = open_loopback_device(provider_, {.send_depth = 64, .receive_buffers = 16, .peers_max = 2 * lookups_max});
  const std::uint32_t pairs = std::max(lookups, known_nodes);
  auto seeker = Seeker::start(*device, keeper_.server(), {.nodes_max = known_nodes + lookups, .pairs_max = pairs});
  seeker->look_up(NodeId(1), known_nodes);
  ConnectRates rates;
  constexpr int rounds = 16;
  for (int round = 0; round < rounds; ++round) {
    seeker->close_all();
    auto rate = seeker->connect_known_per_second(NodeId(1), known_nodes, pairs);
    rates.known += rate / rounds;
  }
  seeker->close_all();
  rates.unknown = seeker->connect_unknown_per_second(NodeId(known_nodes + 1), lookups);
  return rates;
}

std::uint64_t Reach::reach_connectionless(ReachCaller& caller, std::uint32_t peers, ReachTimes& times) {
  std::vector<PhysicalOperation> writes;
  std::vector<PhysicalOperation> reads;
  const Time start = caller.clock.now();
  for (std::uint32_t i = 0; i < peers; ++i) {
    const Time before = caller.clock.now();
    const auto handle = value_or_throw(caller.device->resolve(peers_[i].metadata));
    times.resolve.push_back(since(before, caller.clock.now()));
    writes.push_back(caller.operation(PhysicalOperation::Kind::write, i, handle, peers_[i].write_keys));
    reads.push_back(caller.operation(PhysicalOperation::Kind::read, i, handle, peers_[i].read_keys));
  }
  auto written = caller.run(writes, start);
  times.first_write.insert(times.first_write.end(), written.begin(), written.end());
  auto read = caller.run(reads, caller.clock.now());
  times.read.insert(times.read.end(), read.begin(), read.end());
  return written.back();
}

void Reach::connect_virtually(ReachCaller& caller, std::uint32_t peers, ReachTimes& times) {
  auto pool = value_or_throw(kernel::Pool::open(*caller.device, {}));
  kernel::CompletionQueue completions(64);
  for (const bool known : {false, true}) {
    for (std::uint32_t i = 0; i < peers; ++i) {
      const Time before = caller.clock.now();
      const auto pair = value_or_throw(pool->create(completions, {}));
      const Time made = caller.clock.now();
      value_or_throw(pool->connect(pair, peers_[i].metadata, kernel::Port(1)));
      if (!known) continue;
      const Time done = caller.clock.now();
      times.virtual_pair.push_back(since(before, done));
      times.virtual_connect.push_back(since(made, done));
    }
  }
}

void Reach::open_endpoint(ReachCaller& caller, ReachTimes& times) {
  const Time before = caller.clock.now();
  const auto opened = value_or_throw(caller.device->open());
  times.endpoint.push_back(since(before, caller.clock.now()));
}

std::uint64_t Reach::connect_unknown(ReachCaller& caller, std::uint32_t peers, ReachTimes& times) {
  constexpr std::uint32_t nodes = peers_max + 1;
  auto seeker = Seeker::start(*caller.device, keeper_.server(), {.nodes_max = nodes, .pairs_max = nodes});
  static_cast<void>(seeker->connect_unknown(NodeId(1)));
  std::uint64_t reads = 0;
  for (std::uint32_t i = 0; i < peers; ++i) {
    auto found = seeker->connect_unknown(NodeId(2 + i));
    auto limit = seeker->read_twice();
    times.unknown.push_back(found.ns);
    times.two_reads.push_back(limit);
    reads += found.reads;
  }
  return reads;
}

std::uint64_t Reach::reach_connected(ReachCaller& caller, std::uint32_t peers, ReachTimes& times) {
  struct ConnectAttempt {
    std::unique_ptr<PhysicalQueuePair> queue_pair;
    Time start{};
  };
  std::vector<ConnectAttempt> calls;
  std::uint64_t last = 0;
  const Time start = caller.clock.now();
  for (std::uint32_t i = 0; i < peers; ++i) {
    const Time before = caller.clock.now();
    auto made = value_or_throw(caller.device->connect(peers_[i].metadata, i));
    calls.push_back({std::move(made), before});
  }
  std::array<PhysicalEvent, 1> event;
  for (std::size_t connected = 0; connected < calls.size();) {
    for (const ConnectAttempt& call : calls) {
      if (call.queue_pair->poll(event) == 0) continue;
      if (event[0].kind != PhysicalEvent::Kind::connected)
        throw Exception(Error(ErrorKind::member_lost, "a connection broke: " + event[0].reason));
      const Time now = caller.clock.now();
      times.connect.push_back(since(call.start, now));
      last = since(start, now);
      ++connected;
    }
    if (caller.clock.now() - start > patience) throw Exception(Error(ErrorKind::timed_out, "a peer does not accept"));
  }
  return last;
}

}  // namespace spindrift::bench
