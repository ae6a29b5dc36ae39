// Connections over a pool of virtual queue pairs. The caller connects a pair and greets over it; the other side greets back
// over the pair that its pool has accepted, and knows that the connection stands when the caller says anything more.
#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>

#include <spindrift/core/config/addresses.hpp>
#include <spindrift/core/bytes.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/fabric/connected/endpoint.hpp>
#include <spindrift/fabric/endpoint_parts.hpp>
#include <spindrift/kernel/provider/connection.hpp>
#include <spindrift/kernel/provider/finder.hpp>
#include <spindrift/kernel/provider/vq_fabric.hpp>
#include <spindrift/kernel/ofi/ofi_name.hpp>
#include <spindrift/kernel/ofi/ofi_device.hpp>

namespace spindrift::kernel::vq {
namespace {

/// At which every endpoint of this fabric waits for calls.
constexpr Port listening_port{0x31'71'76'44'4e'50'53};  // "SPNDvq1"
constexpr std::uint32_t pairs_max = 4096;
constexpr std::uint32_t accepted_max = 2048;
constexpr std::uint32_t window = 256;
constexpr std::uint32_t receive_buffers = 64;
constexpr std::uint32_t connected_max = 64;
constexpr std::uint64_t promote_posts = 100;
constexpr std::uint32_t completions_max = 1U << 14U;

struct Classes {
  const char* connectionless;
  const char* connected;
};
std::optional<Classes> classes_of(std::string_view provider) {
  if (provider == "tcp") return Classes{"tcp;ofi_rxm", "tcp"};
  if (provider == "net") return Classes{"net", ""};
  if (provider == "verbs") return Classes{"verbs;ofi_rxm", "verbs"};  // refused by the device, which says why
  return std::nullopt;
}

/// Metadata are plausible if they are of the same provider, and at the node's address as far as that is written in numbers.
/// A host's name is not looked up here, so of a node with one the port alone is checked.
struct Plausibility {
  std::string provider;
  std::map<NodeId, std::string> addresses;  ///< of the roster

  Plausibility(std::string of, std::span<const spindrift::fabric::Address> roster) : provider(std::move(of)) {
    for (const auto& each : roster) addresses.emplace(each.node, each.endpoint);
  }
  bool operator()(NodeId node, const Metadata& metadata) const {
    const auto name = ofi::decode(metadata);
    if (!name || name->connectionless != ofi::connectionless_wire(classes_of(provider)->connectionless)) return false;
    const auto at = addresses.find(node);
    if (at == addresses.end()) return true;
    if (const auto address = connected::resolve(at->second, true))
      return name->address == address_of(*address) && name->connectionless_port == port_of(*address);
    const auto parts = spindrift::config::parse_host_port(at->second);
    return parts && parts->port == std::to_string(name->connectionless_port);
  }
};

/// A device of this fabric's providers that listens there. Errors: as `make_vq` and Fabric::listen.
Result<std::unique_ptr<PhysicalDevice>> open_device(const std::string& provider, const connected::SocketAddress& at) {
  const auto classes = classes_of(provider);
  if (!classes) {
    return Error(ErrorKind::unsupported, "virtual queue pairs are not offered over libfabric's provider " + provider)
        .fix("choose vq:tcp or vq:net in [SPINDRIFT] fabric");
  }
  OfiDeviceOptions options;
  options.connectionless = classes->connectionless;
  options.connected = classes->connected;
  SPINDRIFT_TRY_ASSIGN(const auto listen, connected::in_numbers(at));
  const bool six = at.storage.ss_family == AF_INET6;
  options.listen = (six ? "[" : "") + listen.host + (six ? "]:" : ":") + listen.port;
  options.sizes.receive_buffers = receive_buffers;
  options.sizes.message_bytes_max =
      connected::message_bytes_max + connected::header_bytes + sizeof(vq_header) + Metadata::bytes_max;
  return make_ofi_device(options);
}

class VqTransport final : public connected::Transport {
 public:
  /// The arena is the source of the endpoint's memory, and outlives it.
  VqTransport(const VqOptions& options, RegionArena& arena)
      : provider_(options.provider),
        arena_(arena),
        copies_(arena),
        completions_(completions_max),
        finder_(options, Plausibility(options.provider, options.roster), seen_) {}

  [[nodiscard]] Result<Descriptors> open(const connected::SocketAddress& at, NodeId self,
                                         std::uint64_t incarnation) override {
    SPINDRIFT_TRY_ASSIGN(const std::uint64_t start, spindrift::fabric::random_word());
    SPINDRIFT_TRY_ASSIGN(device_, open_device(provider_, at));
    PoolOptions options;
    options.self = self;
    options.start = static_cast<std::uint32_t>(start);
    options.pairs_max = pairs_max;
    options.window = window;
    options.connected_max = device_->traits().connected ? connected_max : 0;
    options.promote_posts = promote_posts;
    options.break_is_loss = true;
    options.fetch_bytes_max = 0;  // no message of this fabric is too large to be sent
    SPINDRIFT_TRY_ASSIGN(pool_, Pool::open(*device_, options));
    pool_->count_in(counters_);
    SPINDRIFT_TRY(pool_->bind(listening_port, completions_, accepted_max));
    SPINDRIFT_TRY(arena_.register_with(*pool_));
    SPINDRIFT_TRY_ASSIGN(const std::size_t bytes, finder_.table_bytes());
    SPINDRIFT_TRY_ASSIGN(const auto table, arena_.take(bytes));
    seen_.time = SystemClock().now();
    SPINDRIFT_TRY(finder_.open(*pool_, table, {incarnation, device_->metadata()}));
    return Descriptors{device_->descriptor(), -1};
  }

  // Knowledge of a node whose connection this process has ended is over with it, also while the last words are on their
  // way.
  [[nodiscard]] Reach reach(NodeId node) override {
    for (const auto& [pair, connection] : pairs_) {
      if (connection->node() != node || connection->stage != PairConnection::Stage::linked) continue;
      connection->stage = PairConnection::Stage::left;
      finder_.on_unlinked(node, connection->call().incarnation);
    }
    const Route route = finder_.route_to(node);
    switch (route.way) {
      case Route::Way::wait: return Reach::later;
      case Route::Way::by_address: return Reach::by_address;
      case Route::Way::cached:
      case Route::Way::looked_up: routes_[node] = route; return Reach::by_record;
    }
    return Reach::by_address;
  }

  [[nodiscard]] std::optional<NodeId> next_reachable() override {
    if (reachable_.empty()) return std::nullopt;
    const NodeId node = reachable_.back();
    reachable_.pop_back();
    return node;
  }

  [[nodiscard]] Result<connected::ConnectionPointer> call(const connected::Opening& opening,
                                                          const connected::SocketAddress* address) override {
    Route route{.way = Route::Way::by_address};
    Metadata metadata;
    if (address == nullptr) {
      route = routes_.extract(opening.call.node).mapped();
      metadata = route.record.metadata;
    } else {
      ofi::OfiName name;
      name.connectionless = *ofi::connectionless_wire(classes_of(provider_)->connectionless);
      name.address = kernel::address_of(*address);
      name.connectionless_port = port_of(*address);
      metadata = ofi::encode(name);
    }
    SPINDRIFT_TRY_ASSIGN(const PairId pair, pool_->create(completions_, {}));
    auto connection = std::make_unique<PairConnection>(opening.call, context(), pair);
    connection->route = route;
    connection->reached_by = metadata;
    Result<void> done = pool_->connect(pair, metadata, listening_port);
    if (done) done = introduce(*connection, opening.greeting);
    if (!done) {
      if (address == nullptr) finder_.on_call_failed(opening.call.node, false);
      return std::move(done).error();
    }
    pairs_.emplace(pair, connection.get());
    return connected::ConnectionPointer(std::move(connection));
  }

  [[nodiscard]] std::optional<std::span<const std::byte>> waiting_call() override {
    if (newcomers_.empty()) return std::nullopt;
    return newcomers_.front().greeting;
  }

  [[nodiscard]] Result<connected::ConnectionPointer> answer(const connected::Opening& opening) override {
    const Newcomer newcomer = std::move(newcomers_.front());
    newcomers_.pop_front();
    auto connection = std::make_unique<PairConnection>(opening.call, context(), newcomer.pair);
    connection->introduced = newcomer.introduced;
    connection->reached_by = newcomer.introduced.metadata;
    SPINDRIFT_TRY(introduce(*connection, opening.greeting));
    pairs_.emplace(newcomer.pair, connection.get());
    return connected::ConnectionPointer(std::move(connection));
  }

  void turn_away() override {
    refuse(newcomers_.front().pair);
    newcomers_.pop_front();
  }

  void on_gone(connected::Connection& gone) override {
    const auto& connection = static_cast<PairConnection&>(gone);
    pairs_.erase(connection.pair());
    switch (connection.stage) {
      case PairConnection::Stage::linked: return finder_.on_unlinked(gone.node(), gone.call().incarnation);
      case PairConnection::Stage::stale: return finder_.on_call_failed(gone.node(), true);
      case PairConnection::Stage::calling:
        if (connection.route.record.incarnation != 0) finder_.on_call_failed(gone.node(), false);
        return;
      case PairConnection::Stage::turned_away:
      case PairConnection::Stage::answering:
      case PairConnection::Stage::left: return;
    }
  }

  void take_reports(connected::TransportEvents&) override {}
  bool take_completions(connected::TransportEvents& to, Time now) override {
    seen_.time = now;
    auto moved = pool_->progress(seen_.time);
    if (const bool still = !moved; still != std::exchange(stands_still_, still) && still)
      log::error(log::Room::fabric, "the pool stands still", {{"reason", moved.error().to_string()}});
    for (const auto& [pair, connection] : pairs_) take_messages(to, *connection);
    take_finished(to);
    take_newcomers(to);
    for (const auto& [pair, connection] : pairs_) connection->look_for_failure();
    let_go(to);
    fenced_bytes_.set(arena_.fenced_bytes());
    const auto reachable = finder_.progress();
    reachable_.insert(reachable_.end(), reachable.begin(), reachable.end());
    return moved && *moved;
  }

  [[nodiscard]] bool may_block(connected::TransportEvents&) noexcept override {
    return newcomers_.empty() && !pool_->is_due() && !finder_.is_due() && device_->may_block();
  }
  [[nodiscard]] Time next_look() const noexcept override { return std::min(device_->next_look(), finder_.deadline()); }
  void shut() noexcept override {
    if (device_ != nullptr) device_->end();
    arena_.on_pool_gone();
    pool_.reset();
    device_.reset();
    leaving_.clear();
  }

  [[nodiscard]] std::uint64_t address_of(const connected::OwnRegion&) const noexcept override { return 0; }
  void count_in(CounterBlock* block) override {
    counters_ = block;
    finder_.count_in(block);
    if (pool_ != nullptr) pool_->count_in(block);
    fenced_bytes_ = block == nullptr ? Counter() : block->counter("vq.fenced_bytes");
    fenced_bytes_.set(arena_.fenced_bytes());
  }

 private:
  using Message = std::vector<std::byte>;
  /// The time of the last pass.
  struct PassClock final : Clock {
    [[nodiscard]] Time now() const noexcept override { return time; }
    Time time{};
  };
  /// A pair that a peer has connected, with the first that it said.
  struct Newcomer {
    PairId pair;
    Message greeting;
    Introduction introduced;
  };

  [[nodiscard]] PairContext context() noexcept { return {*pool_, arena_, copies_, leaving_, seen_.time}; }
  void take_finished(connected::TransportEvents& to) {
    std::array<Completion, 64> done;
    for (std::size_t count = completions_.take(done); count > 0; count = completions_.take(done)) {
      for (const Completion& completion : std::span(done).first(count)) {
        const auto at = pairs_.find(completion.pair);
        if (at == pairs_.end()) continue;  // closed meanwhile
        PairConnection& connection = *at->second;
        for (auto over = connection.take_finished(completion); over; over = connection.take_finished(completion)) {
          if (over->region != nullptr) to.on_unused(*over->region);
          if (over->signaled) to.on_completed(connection, over->context);
        }
      }
    }
  }

  // Before what the pool knows of failures: what a peer said last comes before its end. While the caller takes nothing,
  // nothing more is taken from the pair, and its window keeps the peer waiting.
  void take_messages(connected::TransportEvents& to, PairConnection& connection) {
    while (!connection.full() && !connection.broken() && !connection.goodbye) {
      const auto message = pool_->take_message(connection.pair());
      if (!message) return;
      if (connection.stage == PairConnection::Stage::calling) {
        on_answer(to, connection, *message);
        continue;
      }
      if (connection.stage == PairConnection::Stage::answering) {
        to.on_first_word(connection, *message);
        if (connection.call().state == connected::PeerCall::State::up) on_linked(connection);
      }
      to.on_message(connection, *message);
    }
  }

  void take_newcomers(connected::TransportEvents& to) {
    for (auto next = pool_->next_accepted(listening_port); next && *next; next = pool_->next_accepted(listening_port)) {
      const PairId pair = **next;
      auto message = pool_->take_message(pair);
      if (!message) {
        pool_->close(pair);
        continue;
      }
      const std::span<const std::byte> said = *message;
      const auto introduced = decode_introduction(said.subspan(std::min(said.size(), sizeof(connected::GreetingBytes))));
      if (!introduced) {
        refuse(pair);
        continue;
      }
      newcomers_.push_back({pair, *std::move(message), *introduced});
      to.on_reports_due();
    }
  }

  void on_answer(connected::TransportEvents& to, PairConnection& connection, std::span<const std::byte> message) {
    const auto control = connected::decode_control(message);
    if (control && control->kind == connected::Kind::goodbye) {
      connection.stage = PairConnection::Stage::turned_away;
      return connection.break_down("it turned the call away");
    }
    const auto greeting = connected::decode_greeting(message);
    // Another start than the one in the table may be told of nothing that was found out for that one.
    const std::uint64_t meant = connection.route.record.incarnation;
    if (greeting && meant != 0 && meant != greeting->incarnation) {
      connection.stage = PairConnection::Stage::stale;
      return connection.break_down("what was known of it is of another start");
    }
    if (greeting) connection.introduced = decode_introduction(message.subspan(sizeof(connected::GreetingBytes)));
    if (greeting && !connection.introduced) return connection.break_down("it says of its meta table what no process does");
    to.on_established(connection, message);
    if (connection.broken()) return;
    if (connection.route.way == Route::Way::by_address) pool_->introduce(connection.pair(), connection.introduced->metadata);
    connection.say(connected::encode(connected::Kind::alive, 0), false);
    on_linked(connection);
  }

  void on_linked(PairConnection& connection) {
    if (connection.broken()) return;
    connection.stage = PairConnection::Stage::linked;
    finder_.on_linked({.node = connection.node(),
                       .record = {connection.call().incarnation, connection.introduced->metadata},
                       .table = connection.introduced->table,
                       .reached_by = connection.reached_by,
                       .way = connection.route.way});
  }

  void let_go(connected::TransportEvents& to) {
    for (std::size_t i = 0; i < leaving_.size();) {
      if (!pool_->is_gone(leaving_[i].pair)) {
        ++i;
        continue;
      }
      const Leaving gone = std::move(leaving_[i]);
      leaving_.erase(leaving_.begin() + static_cast<std::ptrdiff_t>(i));
      for (const PostedPiece& piece : gone.pieces) {
        if (piece.region == nullptr) continue;
        --piece.region->reading;
        to.on_unused(*piece.region);
      }
    }
  }

  // The other side is told when the connection closes.
  void refuse(PairId pair) {
    connected::PeerCall nobody;
    nobody.state = connected::PeerCall::State::answering;
    PairConnection(nobody, context(), pair).close();
  }

  /// Says this side's first words, and gives the right to read its meta table that goes with them.
  [[nodiscard]] Result<void> introduce(PairConnection& connection, const connected::GreetingBytes& greeting) {
    const MetaKeeper& table = finder_.table();
    SPINDRIFT_TRY_ASSIGN(const MemoryKeys keys, connection.let_read(table.memory()));
    const Introduction introduction{{keys.remote_key, keys.remote_base, table.geometry()}, device_->metadata()};
    connection.say(ByteWriter().put(greeting).put_bytes(encode(introduction)).take(), false);
    if (connection.broken()) return Error(ErrorKind::resource, *connection.broken());
    return {};
  }

  const std::string provider_;
  RegionArena& arena_;
  CopyStore copies_;
  CompletionQueue completions_;
  Finder finder_;
  std::unordered_map<NodeId, Route> routes_;  ///< of nodes that are about to be called by them
  std::vector<NodeId> reachable_;
  std::unique_ptr<PhysicalDevice> device_;
  std::unique_ptr<Pool> pool_;
  std::unordered_map<PairId, PairConnection*> pairs_;
  std::deque<Newcomer> newcomers_;
  std::deque<Leaving> leaving_;
  PassClock seen_;
  CounterBlock* counters_ = nullptr;  ///< before there is a pool: in which it will count
  Counter fenced_bytes_;
  bool stands_still_ = false;  ///< the pool said that it cannot repair itself now
};

}  // namespace
}  // namespace spindrift::kernel::vq

namespace spindrift::kernel {

Result<std::unique_ptr<fabric::connected::Endpoint>> make_vq_part(const VqOptions& options) {
  auto arena = std::make_unique<vq::RegionArena>();
  auto transport = std::make_unique<vq::VqTransport>(options, *arena);
  return fabric::connected::Endpoint::make({options.self, options.silence_max, options.credentials, options.audit},
                                           {.name = "vq:" + options.provider,
                                            .needs_target_progress = true,
                                            .gathers_small_writes = true,
                                            .buffered_bytes = fabric::connected::socket_bytes},
                                           std::move(transport), std::move(arena));
}

Result<std::unique_ptr<fabric::Fabric>> make_vq(const VqOptions& options) {
  return fabric::connected::Endpoint::alone(make_vq_part(options), options.runtime_directory, options.group_name);
}

Result<void> try_vq_address(const std::string& provider, const std::string& endpoint) {
  SPINDRIFT_TRY_ASSIGN(const auto address, vq::connected::resolve(endpoint, false));
  SPINDRIFT_TRY(vq::open_device(provider, address));
  return {};
}

std::string vq_connectionless(std::string_view provider) {
  const auto classes = vq::classes_of(provider);
  return classes ? classes->connectionless : "";
}

}  // namespace spindrift::kernel
