// Every thread is stepped when something has come to its device; between that it stands still.
#include <spindrift/bench/model/connecting.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <spindrift/core/check.hpp>
#include <spindrift/kernel/directory.hpp>
#include <spindrift/kernel/meta_table.hpp>
#include <spindrift/kernel/meta_values.hpp>
#include <spindrift/kernel/pool.hpp>

namespace spindrift::bench::model {

namespace {

using kernel::Metadata;
using kernel::PairId;
using kernel::Port;

struct alignas(cache_line_bytes) Line {
  std::array<std::byte, cache_line_bytes> bytes{};
};

/// Of node `name`: as it is called in the table. Nobody is spoken to but the server, so all are reached alike.
Metadata metadata_of(std::uint32_t name) {
  Metadata metadata;
  metadata.size = 8;
  metadata.bytes[7] = std::byte{1};
  std::copy_n(reinterpret_cast<const std::byte*>(&name), sizeof name, metadata.bytes.begin());
  return metadata;
}

/// The meta server, with nodes 1 … `nodes` in its table.
class Server {
 public:
  Server(CardNetwork& network, std::uint32_t nodes) : device_(network.add()) {
    const auto geometry = value_or_throw(kernel::MetaGeometry::for_entries(nodes));
    lines_.resize((geometry.bytes() + sizeof(Line) - 1) / sizeof(Line));
    const std::span region(reinterpret_cast<std::byte*>(lines_.data()), geometry.bytes());
    kernel::MetaTable table = value_or_throw(kernel::MetaTable::format(region, geometry));
    for (std::uint32_t node = 1; node <= nodes; ++node) {
      const kernel::NodeRecord record{node, metadata_of(node)};
      value_or_throw(table.put(kernel::meta_key_of(NodeId(node)), kernel::encode(record)));
    }
    const auto keys = value_or_throw(device_->register_memory(region, fabric::Access::read));
    server_ = {NodeId(0), device_->metadata(), geometry, keys.remote_base, keys.remote_key};
  }
  [[nodiscard]] const kernel::MetaServer& server() const noexcept { return server_; }

 private:
  std::unique_ptr<CardDevice> device_;
  std::vector<Line> lines_;
  kernel::MetaServer server_;
};

/// A thread with a device, a pool and a directory of its own.
class Seeking {
 public:
  Seeking(CardNetwork& network, const kernel::MetaServer& server, std::uint32_t nodes_max, std::uint32_t pairs_max)
      : device(network.add()), clock_(*device), directory(clock_, {.nodes_max = nodes_max}) {
    kernel::PoolOptions options;
    options.pairs_max = pairs_max + 2;
    options.remote = &directory;
    pool = value_or_throw(kernel::Pool::open(*device, options));
    value_or_throw(directory.open(*pool, {server}));
  }

  /// Takes what has come by then.
  void progress(Ticks at) {
    device->now_ns = std::max(device->now_ns, at);
    static_cast<void>(value_or_throw(pool->progress(clock_.now())));
    static_cast<void>(directory.progress());
  }
  /// A pair to a node that was found. What it takes is the caller's to count.
  PairId connect(NodeId node) {
    const kernel::NodeRecord* const record = directory.find(node);
    CHECK(record != nullptr && record->metadata == metadata_of(node.value()));
    const PairId pair = value_or_throw(pool->create(completions_, {.once = false, .messages = false}));
    value_or_throw(pool->connect(pair, record->metadata, Port(1)));
    return pair;
  }

  std::unique_ptr<CardDevice> device;

 private:
  CardClock clock_;
  kernel::CompletionQueue completions_{64};

 public:
  kernel::Directory directory;
  std::unique_ptr<kernel::Pool> pool;
};

/// Connects, and is done when it has connected so often.
class Client {
 public:
  Client(CardNetwork& network, const kernel::MetaServer& server, std::uint32_t nodes, std::uint32_t first,
         std::uint32_t goal)
      : costs_(network.costs()), seeking_(network, server, nodes, 1), nodes_(nodes), next_(first), goal_(goal) {}

  void begin() {
    begun_ns_ = seeking_.device->now_ns;
    seeking_.device->now_ns += costs_.connect_call_ns;
    seeking_.directory.look_up(NodeId(1 + next_++ % nodes_));
    seeking_.progress(0);
  }
  void step(Ticks at) {
    seeking_.progress(at);
    while (const auto answer = seeking_.directory.take_answer()) {
      CHECK(answer->state == kernel::MetaSearch::State::found);
      const PairId pair = seeking_.connect(answer->node);
      seeking_.pool->close(pair);
      spent_ns_ += seeking_.device->now_ns - begun_ns_;
      if (++connected_ < goal_) begin();
    }
  }
  [[nodiscard]] Ticks spent_ns() const noexcept { return spent_ns_; }
  [[nodiscard]] Ticks done_ns() const noexcept { return seeking_.device->now_ns; }
  [[nodiscard]] std::uint64_t reads() const noexcept { return seeking_.directory.reads(); }
  [[nodiscard]] bool done() const noexcept { return connected_ == goal_; }

 private:
  const CardCosts& costs_;
  Seeking seeking_;
  const std::uint32_t nodes_;
  std::uint32_t next_;
  const std::uint32_t goal_;
  std::uint32_t connected_ = 0;
  Ticks begun_ns_ = 0;
  Ticks spent_ns_ = 0;
};

/// The first worker of a host, which looks up the other hosts for all of them, and its neighbours, who connect to whom it
/// has found. Each connects to every worker of every host.
class MeshHost {
 public:
  MeshHost(CardNetwork& network, const kernel::MetaServer& server, std::uint32_t own, std::uint32_t workers,
           std::uint32_t hosts)
      : costs_(network.costs()),
        seeking_(network, server, hosts, workers),
        own_(own),
        hosts_(hosts),
        each_(workers / hosts) {}

  void begin() {
    seeking_.device->now_ns += costs_.connect_call_ns;
    neighbours_ns_ = seeking_.device->now_ns + (each_ - 1) * costs_.pair_ns;
    for (std::uint32_t i = 1; i < hosts_; ++i) seeking_.directory.look_up(NodeId(1 + (own_ + i) % hosts_));
    seeking_.progress(0);
    // Its neighbours need no lookup, so it connects to them meanwhile.
    seeking_.device->now_ns += (each_ - 1) * costs_.pair_ns;
  }
  void step(Ticks at) {
    seeking_.progress(at);
    while (const auto answer = seeking_.directory.take_answer()) {
      CHECK(answer->state == kernel::MetaSearch::State::found);
      neighbours_ns_ = std::max(neighbours_ns_, seeking_.device->now_ns) + each_ * costs_.pair_ns;
      for (std::uint32_t i = 0; i < each_; ++i) static_cast<void>(seeking_.connect(answer->node));
      seeking_.device->now_ns += each_ * costs_.pair_ns;
      ++found_;
    }
  }
  [[nodiscard]] bool done() const noexcept { return found_ == hosts_ - 1; }
  [[nodiscard]] Ticks done_ns() const noexcept {
    return each_ == 1 ? seeking_.device->now_ns : std::max(neighbours_ns_, seeking_.device->now_ns);
  }

 private:
  const CardCosts& costs_;
  Seeking seeking_;
  const std::uint32_t own_;
  const std::uint32_t hosts_;
  const std::uint32_t each_;  ///< workers of a host
  std::uint32_t found_ = 0;   ///< hosts
  Ticks neighbours_ns_ = 0;   ///< until when they are busy, all alike
};

/// Steps whoever something has come to, until nobody waits for anything. The server is device 0.
template <class Actor>
void run_all(CardNetwork& network, std::vector<std::unique_ptr<Actor>>& actors) {
  for (const auto& actor : actors) actor->begin();
  while (const auto next = network.next()) actors[next->device - 1]->step(next->at);
  CHECK(std::all_of(actors.begin(), actors.end(), [](const auto& actor) { return actor->done(); }));
}

/// A pool with pairs to targets that have memory to be read.
class Reading {
 public:
  Reading(const CardCosts& costs, std::uint32_t queue_pairs, std::span<const std::uint32_t> targets)
      : network_(costs), device_(network_.add()), clock_(*device_), bytes_(targets.size() * 8) {
    const std::uint32_t count = 1 + *std::max_element(targets.begin(), targets.end());
    for (std::uint32_t i = 0; i < count; ++i) {
      targets_.push_back(network_.add());
      keys_.push_back(value_or_throw(targets_[i]->register_memory(memory_, fabric::Access::read)));
    }
    kernel::PoolOptions options;
    options.queue_pairs = queue_pairs;
    options.pairs_max = static_cast<std::uint32_t>(targets.size());
    pool_ = value_or_throw(kernel::Pool::open(*device_, options));
    own_keys_ = value_or_throw(pool_->register_local(bytes_));
    for (const std::uint32_t target : targets) {
      pairs_.push_back({value_or_throw(pool_->create(completions_, {.once = false, .messages = false})), target});
      value_or_throw(pool_->connect(pairs_.back().id, targets_[target]->metadata(), Port{}));
    }
  }

  /// One over each pair, all posted by one system call. How long until the last is over.
  Ticks read_all() {
    const Ticks start_ns = device_->now_ns;
    device_->now_ns += network_.costs().system_call_ns;
    std::size_t over = 0;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const kernel::Request read{.kind = kernel::Request::Kind::read,
                                 .signaled = true,
                                 .context = i,
                                 .local = std::span(bytes_).subspan(i * 8, 8),
                                 .local_memory = own_keys_,
                                 .remote_address = keys_[pairs_[i].target].remote_base,
                                 .remote_key = keys_[pairs_[i].target].remote_key};
      CHECK(value_or_throw(pool_->post(pairs_[i].id, std::span(&read, 1))) == 1);
    }
    while (over < pairs_.size()) {
      const auto next = network_.next();
      CHECK(next.has_value());
      device_->now_ns = std::max(device_->now_ns, next->at);
      static_cast<void>(value_or_throw(pool_->progress(clock_.now())));
      std::array<kernel::Completion, 64> done;
      const std::size_t count = completions_.take(done);
      for (const kernel::Completion& each : std::span(done).first(count)) CHECK(each.status == kernel::Status::done);
      over += count;
    }
    return device_->now_ns - start_ns;
  }

 private:
  struct Pair {
    PairId id;
    std::uint32_t target;
  };
  CardNetwork network_;
  std::unique_ptr<CardDevice> device_;
  CardClock clock_;
  std::vector<std::byte> bytes_;
  alignas(8) std::array<std::byte, 8> memory_{};
  std::vector<std::unique_ptr<CardDevice>> targets_;
  std::vector<kernel::MemoryKeys> keys_;
  kernel::CompletionQueue completions_{1024};
  std::unique_ptr<kernel::Pool> pool_;
  kernel::MemoryKeys own_keys_;
  std::vector<Pair> pairs_;
};

}  // namespace

ConnectingOutcome run_connecting(const CardCosts& costs, std::uint32_t clients, std::uint32_t connections_each) {
  constexpr std::uint32_t nodes = 1000;
  CardNetwork network(costs);
  const Server server(network, nodes);
  std::vector<std::unique_ptr<Client>> all;
  for (std::uint32_t i = 0; i < clients; ++i)
    all.push_back(std::make_unique<Client>(network, server.server(), nodes, 7 * i, connections_each));
  run_all(network, all);
  Ticks spent_ns = 0;
  Ticks last_ns = 0;
  std::uint64_t reads = 0;
  for (const auto& client : all) {
    spent_ns += client->spent_ns();
    last_ns = std::max(last_ns, client->done_ns());
    reads += client->reads();
  }
  const double connections = double{1} * clients * connections_each;
  return {spent_ns / connections / 1000, connections * 1e9 / last_ns, static_cast<double>(reads) / connections};
}

// Everybody waits for everybody before, once more wait than are answered in the time of an answer's way.
ConnectingOutcome run_asking(const CardCosts& costs, std::uint32_t clients) {
  const Ticks alone_ns = costs.connect_call_ns + 2 * costs.thread_ns() + costs.flight_ns + costs.answer_ns;
  const Ticks each_ns = std::max(alone_ns, clients * costs.answer_ns);
  return {each_ns / 1000, clients * 1e9 / each_ns, 0};
}

double run_mesh(const CardCosts& costs, std::uint32_t workers, std::uint32_t hosts) {
  CHECK(hosts >= 2 && workers % hosts == 0);
  CardNetwork network(costs);
  const Server server(network, hosts);
  std::vector<std::unique_ptr<MeshHost>> all;
  for (std::uint32_t i = 0; i < hosts; ++i)
    all.push_back(std::make_unique<MeshHost>(network, server.server(), i, workers, hosts));
  run_all(network, all);
  Ticks last_ns = 0;
  for (const auto& host : all) last_ns = std::max(last_ns, host->done_ns());
  return last_ns / 1000;
}

double run_read(const CardCosts& costs) {
  constexpr std::array<std::uint32_t, 1> one{0};
  Reading reading(costs, 1, one);
  static_cast<void>(reading.read_all());
  return reading.read_all() / 1000;
}

double run_batch(const CardCosts& costs, std::uint32_t queue_pairs, std::uint32_t draws) {
  double sum = 0;
  std::mt19937_64 random(1);
  for (std::uint32_t draw = 0; draw < draws; ++draw) {
    std::array<std::uint32_t, 64> targets;
    for (std::uint32_t& target : targets) target = static_cast<std::uint32_t>(random() % 10);
    sum += Reading(costs, queue_pairs, targets).read_all() / 1000;
  }
  return sum / draws;
}

}  // namespace spindrift::bench::model
