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

using kernel::Device;
using kernel::MemoryKeys;
using kernel::PeerHandle;
using kernel::PhysicalEvent;
using kernel::PhysicalOperation;
using kernel::PhysicalQueuePair;
using kernel::Status;

constexpr Duration patience = std::chrono::seconds(10);

std::uint64_t since(Time start, Time now) { return static_cast<std::uint64_t>((now - start).count()); }

constexpr kernel::DeviceSizes sizes{.send_depth = 16, .receive_buffers = 16};

/// Who reaches: a device that is made for one sample. Its memory goes after it.
struct Caller {
  alignas(8) std::array<std::byte, 8> bytes{};
  std::unique_ptr<Device> device;
  std::unique_ptr<PhysicalQueuePair> open;
  MemoryKeys keys;
  SystemClock clock;

  Result<void> start(const std::string& provider) {
    auto made = open_loopback_device(provider, sizes);
    if (!made) return std::move(made).error();
    device = std::move(made).value();
    auto opened = device->open();
    if (!opened) return std::move(opened).error();
    open = std::move(opened).value();
    auto registered = device->register_memory(bytes, fabric::Access::write);
    if (!registered) return std::move(registered).error();
    keys = *registered;
    return {};
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
  Result<std::vector<std::uint64_t>> run(std::span<const PhysicalOperation> operations, Time start) {
    if (open->post(operations) != operations.size()) return Error(ErrorKind::resource, "the queue pair takes too little");
    std::vector<std::uint64_t> times;
    std::array<PhysicalEvent, Reach::peers_max> events;
    while (times.size() < operations.size()) {
      const std::size_t count = open->poll(events);
      const Time now = clock.now();
      for (std::size_t i = 0; i < count; ++i) {
        if (events[i].status != Status::done || events[i].kind == PhysicalEvent::Kind::broken)
          return Error(ErrorKind::member_lost, "an operation failed: " + std::string(to_string(events[i].status)));
        times.push_back(since(start, now));
      }
      if (now - start > patience) return Error(ErrorKind::timed_out, "a peer does not answer");
    }
    return times;
  }
};

class ReachRun final : public Reach {
 public:
  explicit ReachRun(std::string provider) : provider_(std::move(provider)) {}
  ~ReachRun() override {
    ends_.store(true, std::memory_order_relaxed);
    if (thread_.joinable()) thread_.join();
  }

  Result<void> start() {
    for (Peer& peer : peers_) {
      if (auto started = peer.start(provider_, sizes); !started) return started;
    }
    if (auto started = keeper_.start(provider_, lookups_max + known_nodes); !started) return started;
    thread_ = std::thread([this] {
      while (!ends_.load(std::memory_order_relaxed)) {
        // Peers whose turn it is not take no time from those that are reached.
        const std::uint32_t reached = reached_.load(std::memory_order_relaxed);
        for (Peer& peer : std::span(peers_).first(reached)) peer.poll();
        keeper_.poll();
        std::this_thread::yield();
      }
    });
    return {};
  }

  Result<ReachTimes> measure(std::uint32_t peers, std::uint32_t samples) override {
    ReachTimes times;
    std::uint64_t writing_ns = 0;
    std::uint64_t connecting_ns = 0;
    std::uint64_t table_reads = 0;
    reached_.store(peers, std::memory_order_relaxed);
    for (std::uint32_t sample = 0; sample < samples; ++sample) {
      Caller caller;
      if (auto started = caller.start(provider_); !started) return std::move(started).error();
      auto written = reach_connectionless(caller, peers, times);
      if (!written) return std::move(written).error();
      if (auto opened = open_endpoint(caller, times); !opened) return std::move(opened).error();
      if (auto virtually = connect_virtually(caller, peers, times); !virtually) return std::move(virtually).error();
      auto looked_up = connect_unknown(caller, peers, times);
      if (!looked_up) return std::move(looked_up).error();
      auto connected = reach_connected(caller, peers, times);
      if (!connected) return std::move(connected).error();
      table_reads += *looked_up;
      writing_ns += *written;
      connecting_ns += *connected;
    }
    const double reached = 1e9 * peers * samples;
    times.reads_per_lookup = static_cast<double>(table_reads) / (double{1} * peers * samples);
    times.first_writes_per_second = reached / static_cast<double>(writing_ns);
    times.connects_per_second = reached / static_cast<double>(connecting_ns);
    return times;
  }

  Result<ConnectRates> measure_rates(std::uint32_t lookups) override {
    reached_.store(0, std::memory_order_relaxed);
    auto device = open_loopback_device(provider_, {.send_depth = 64, .receive_buffers = 16, .peers_max = 2 * lookups_max});
    if (!device) return std::move(device).error();
    const std::uint32_t pairs = std::max(lookups, known_nodes);
    auto seeker = Seeker::start(**device, keeper_.server(), {.nodes_max = known_nodes + lookups, .pairs_max = pairs});
    if (!seeker) return std::move(seeker).error();
    if (auto known = (*seeker)->look_up(NodeId(1), known_nodes); !known) return std::move(known).error();
    ConnectRates rates;
    constexpr int rounds = 16;
    for (int round = 0; round < rounds; ++round) {
      (*seeker)->close_all();
      auto rate = (*seeker)->connect_known_per_second(NodeId(1), known_nodes, pairs);
      if (!rate) return std::move(rate).error();
      rates.known += *rate / rounds;
    }
    (*seeker)->close_all();
    auto rate = (*seeker)->connect_unknown_per_second(NodeId(known_nodes + 1), lookups);
    if (!rate) return std::move(rate).error();
    rates.unknown = *rate;
    return rates;
  }

 private:
  using Kind = PhysicalOperation::Kind;

  /// How long all of them took.
  Result<std::uint64_t> reach_connectionless(Caller& caller, std::uint32_t peers, ReachTimes& times) {
    std::vector<PhysicalOperation> writes;
    std::vector<PhysicalOperation> reads;
    const Time start = caller.clock.now();
    for (std::uint32_t i = 0; i < peers; ++i) {
      const Time before = caller.clock.now();
      const auto handle = caller.device->resolve(peers_[i].metadata);
      if (!handle) return handle.error();
      times.resolve.push_back(since(before, caller.clock.now()));
      writes.push_back(caller.operation(Kind::write, i, *handle, peers_[i].write_keys));
      reads.push_back(caller.operation(Kind::read, i, *handle, peers_[i].read_keys));
    }
    auto written = caller.run(writes, start);
    if (!written) return std::move(written).error();
    times.first_write.insert(times.first_write.end(), written->begin(), written->end());
    auto read = caller.run(reads, caller.clock.now());
    if (!read) return std::move(read).error();
    times.read.insert(times.read.end(), read->begin(), read->end());
    return written->back();
  }

  /// One pair to each peer first, so that its metadata are there; then another, which is measured.
  Result<void> connect_virtually(Caller& caller, std::uint32_t peers, ReachTimes& times) {
    auto pool = kernel::Pool::open(*caller.device, {});
    if (!pool) return std::move(pool).error();
    kernel::CompletionQueue completions(64);
    for (const bool known : {false, true}) {
      for (std::uint32_t i = 0; i < peers; ++i) {
        const Time before = caller.clock.now();
        const auto pair = (*pool)->create(completions, {});
        if (!pair) return pair.error();
        const Time made = caller.clock.now();
        if (auto connected = (*pool)->connect(*pair, peers_[i].metadata, kernel::Port(1)); !connected) return connected;
        if (!known) continue;
        const Time done = caller.clock.now();
        times.virtual_pair.push_back(since(before, done));
        times.virtual_connect.push_back(since(made, done));
      }
    }
    return {};
  }

  /// One more than those that the device has.
  Result<void> open_endpoint(Caller& caller, ReachTimes& times) {
    const Time before = caller.clock.now();
    const auto opened = caller.device->open();
    if (!opened) return opened.error();
    times.endpoint.push_back(since(before, caller.clock.now()));
    return {};
  }

  /// By turns with the two reads, once one node has been looked up. How often the table was read for the others.
  Result<std::uint64_t> connect_unknown(Caller& caller, std::uint32_t peers, ReachTimes& times) {
    constexpr std::uint32_t nodes = peers_max + 1;
    auto seeker = Seeker::start(*caller.device, keeper_.server(), {.nodes_max = nodes, .pairs_max = nodes});
    if (!seeker) return std::move(seeker).error();
    if (auto first = (*seeker)->connect_unknown(NodeId(1)); !first) return std::move(first).error();
    std::uint64_t reads = 0;
    for (std::uint32_t i = 0; i < peers; ++i) {
      auto found = (*seeker)->connect_unknown(NodeId(2 + i));
      if (!found) return std::move(found).error();
      auto limit = (*seeker)->read_twice();
      if (!limit) return std::move(limit).error();
      times.unknown.push_back(found->ns);
      times.two_reads.push_back(*limit);
      reads += found->reads;
    }
    return reads;
  }

  Result<std::uint64_t> reach_connected(Caller& caller, std::uint32_t peers, ReachTimes& times) {
    struct Call {
      std::unique_ptr<PhysicalQueuePair> queue_pair;
      Time start{};
    };
    std::vector<Call> calls;
    std::uint64_t last = 0;
    const Time start = caller.clock.now();
    for (std::uint32_t i = 0; i < peers; ++i) {
      const Time before = caller.clock.now();
      auto made = caller.device->connect(peers_[i].metadata, i);
      if (!made) return std::move(made).error();
      calls.push_back({std::move(made).value(), before});
    }
    std::array<PhysicalEvent, 1> event;
    for (std::size_t connected = 0; connected < calls.size();) {
      for (const Call& call : calls) {
        if (call.queue_pair->poll(event) == 0) continue;
        if (event[0].kind != PhysicalEvent::Kind::connected)
          return Error(ErrorKind::member_lost, "a connection broke: " + event[0].reason);
        const Time now = caller.clock.now();
        times.connect.push_back(since(call.start, now));
        last = since(start, now);
        ++connected;
      }
      if (caller.clock.now() - start > patience) return Error(ErrorKind::timed_out, "a peer does not accept");
    }
    return last;
  }

  const std::string provider_;
  static constexpr std::uint32_t known_nodes = 8;

  std::array<Peer, peers_max> peers_;
  TableKeeper keeper_;
  std::atomic<std::uint32_t> reached_{peers_max};
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Reach>> Reach::start(const std::string& provider) {
  auto run = std::make_unique<ReachRun>(provider);
  if (auto started = run->start(); !started) return std::move(started).error();
  return std::unique_ptr<Reach>(std::move(run));
}

}  // namespace spindrift::bench
