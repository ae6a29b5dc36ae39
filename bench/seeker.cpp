// Lookups driven to their end by the thread that wants to know.
#include <spindrift/bench/seeker.hpp>

#include <sched.h>

#include <cstring>
#include <utility>

namespace spindrift::bench {

namespace {

using kernel::Completion;
using kernel::MetaCluster;
using kernel::MetaEntry;
using kernel::MetaSearch;
using kernel::OperationStatus;
using kernel::Request;

constexpr Duration patience = std::chrono::seconds(10);

Error no_answer() {
  return Error(ErrorKind::timed_out, "the meta server does not answer").fix("run it again while the machine has less to do");
}

auto counted_from(NodeId first) {
  return [first](std::uint32_t position) { return NodeId(first.value() + position); };
}

double per_second(std::uint32_t count, Duration time) {
  return static_cast<double>(count) * 1e9 / static_cast<double>(time.count());
}

}  // namespace

Seeker::Seeker(const kernel::MetaServer& server, const Sizes& sizes)
    : server_(server),
      sizes_(sizes),
      completions_(64),
      directory_(clock_, {.nodes_max = sizes.nodes_max, .lookups_max = lookups_max, .answer_max = patience}) {
  pairs_.reserve(sizes.pairs_max);
}

std::unique_ptr<Seeker> Seeker::start(kernel::PhysicalDevice& device, const kernel::MetaServer& server, const Sizes& sizes) {
  std::unique_ptr<Seeker> seeker(new Seeker(server, sizes));
  seeker->open(device);
  static_cast<void>(seeker->read_twice());
  return seeker;
}

void Seeker::open(kernel::PhysicalDevice& device) {
  kernel::PoolOptions options;
  options.self = NodeId(1U << 30U);
  options.pairs_max = sizes_.pairs_max + 2;  // and those that read the table
  options.remote = &directory_;
  pool_ = value_or_throw(kernel::Pool::open(device, options));
  value_or_throw(directory_.open(*pool_, {server_}));
  bytes_keys_ = value_or_throw(pool_->register_local(bytes_));
  reader_ = value_or_throw(pool_->create(completions_, {.once = false, .messages = false}));
  value_or_throw(pool_->connect(reader_, server_.metadata, kernel::Port{}));
}

void Seeker::progress() {
  auto moved = value_or_throw(pool_->progress(clock_.now()));
  const bool found = directory_.progress();
  if (sizes_.yields && !moved && !found) ::sched_yield();
}

kernel::Directory::Answer Seeker::await_answer(Time start) {
  while (true) {
    if (auto answer = directory_.take_answer()) {
      if (answer->state == MetaSearch::State::found) return *answer;
      throw Exception(Error(ErrorKind::member_lost, "the meta server does not say how a node is reached"));
    }
    progress();
    if (clock_.now() - start > patience) throw Exception(no_answer());
  }
}

void Seeker::look_up(NodeId first, std::uint32_t count) {
  return look_up_each(count, counted_from(first), [](NodeId) {});
}

void Seeker::look_up_and_connect(std::span<const NodeId> nodes) {
  return look_up_each(
      static_cast<std::uint32_t>(nodes.size()), [nodes](std::uint32_t position) { return nodes[position]; },
      [this](NodeId node) { return connect(node, true); });
}

template <class NodeAt, class OnFound>
void Seeker::look_up_each(std::uint32_t count, NodeAt node_at, OnFound on_found) {
  const Time start = clock_.now();
  std::uint32_t asked = 0;
  for (std::uint32_t found = 0; found < count; ++found) {
    for (; asked < count && asked < found + lookups_max; ++asked) directory_.look_up(node_at(asked));
    on_found(await_answer(start).node);
  }
}

void Seeker::connect(NodeId node, bool messages) {
  const kernel::Metadata* const metadata = find(node);
  if (metadata == nullptr) throw Exception(Error(ErrorKind::member_lost, "a node that was found is not known"));
  const auto pair = value_or_throw(pool_->create(completions_, {.once = false, .messages = messages}));
  pairs_.push_back(pair);
  value_or_throw(pool_->connect(pair, *metadata, kernel::Port(1)));
}

Seeker::Found Seeker::connect_unknown(NodeId node) {
  const std::uint64_t reads = directory_.reads();
  const Time start = clock_.now();
  directory_.look_up(node);
  static_cast<void>(directory_.progress());
  static_cast<void>(await_answer(start));
  connect(node, true);
  const Duration took = clock_.now() - start;
  return Found{static_cast<std::uint64_t>(took.count()), directory_.reads() - reads};
}

std::uint64_t Seeker::read_twice() {
  const Time start = clock_.now();
  read(server_.geometry.cluster_offset(0), MetaCluster::bytes);
  read(server_.geometry.entry_offset(0), MetaEntry::bytes);
  return static_cast<std::uint64_t>((clock_.now() - start).count());
}

void Seeker::read(std::uint64_t offset, std::size_t bytes) {
  return carry_out(reader_, {.kind = Request::Kind::read,
                             .signaled = true,
                             .context = 0,
                             .local = std::span(bytes_).first(bytes),
                             .local_memory = bytes_keys_,
                             .remote_address = server_.address + offset,
                             .remote_key = server_.key});
}

void Seeker::connect_and_write(NodeId node, const kernel::MemoryKeys& memory, std::uint64_t value) {
  connect(node, false);
  std::memcpy(bytes_.data(), &value, sizeof value);
  return carry_out(pairs_.back(), {.kind = Request::Kind::write,
                                   .signaled = true,
                                   .context = 0,
                                   .local = std::span(bytes_).first(8),
                                   .local_memory = bytes_keys_,
                                   .remote_address = memory.remote_base,
                                   .remote_key = memory.remote_key});
}

void Seeker::carry_out(kernel::PairId pair, const Request& request) {
  const Time start = clock_.now();
  std::array<Completion, 1> done;
  bool posted = false;
  while (!posted || completions_.take(done) == 0) {
    if (!posted) {
      const auto taken = pool_->post(pair, std::span(&request, 1));
      if (!taken && taken.error().kind() != ErrorKind::would_block) throw Exception(taken.error());
      posted = taken && *taken == 1;
    }
    progress();
    if (clock_.now() - start > patience) throw Exception(no_answer());
  }
  if (done[0].status == OperationStatus::done) return;
  throw Exception(Error(ErrorKind::member_lost, "an operation failed: " + std::string(to_string(done[0].status))));
}

double Seeker::connect_unknown_per_second(NodeId first, std::uint32_t count) {
  const Time start = clock_.now();
  look_up_each(count, counted_from(first), [this](NodeId node) { connect(node, true); });
  return per_second(count, clock_.now() - start);
}

double Seeker::connect_known_per_second(NodeId first, std::uint32_t nodes, std::uint32_t count) {
  const Time start = clock_.now();
  for (std::uint32_t i = 0; i < count; ++i) connect(NodeId(first.value() + i % nodes), true);
  return per_second(count, clock_.now() - start);
}

void Seeker::close_all() {
  for (const kernel::PairId pair : pairs_) pool_->close(pair);
  pairs_.clear();
}

}  // namespace spindrift::bench
