// What the pool reports, and calls.
#include <spindrift/kernel/provider/transport.hpp>

#include <netdb.h>

#include <array>
#include <map>
#include <utility>

#include <spindrift/core/config/addresses.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/fabric/connected/endpoint.hpp>
#include <spindrift/fabric/endpoint_parts.hpp>
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

Result<std::string> in_numbers(const connected::SocketAddress& address) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  const int failed = ::getnameinfo(reinterpret_cast<const sockaddr*>(&address.storage), address.bytes, host.data(),
                                   host.size(), port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  if (failed != 0) return Error(ErrorKind::bad_argument, std::string("getnameinfo: ") + ::gai_strerror(failed));
  const bool six = address.storage.ss_family == AF_INET6;
  return (six ? "[" : "") + std::string(host.data()) + (six ? "]:" : ":") + port.data();
}

/// Who is of the same providers, at the node's address as far as that is written in numbers. A host's name is not looked up
/// here, so of a node with one the port alone is checked.
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
  auto listen = in_numbers(at);
  if (!listen) return std::move(listen).error();
  OfiDeviceOptions options;
  options.connectionless = classes->connectionless;
  options.connected = classes->connected;
  options.listen = *listen;
  options.sizes.receive_buffers = receive_buffers;
  options.sizes.message_bytes_max =
      connected::message_bytes_max + connected::header_bytes + sizeof(vq_header) + Metadata::bytes_max;
  return make_ofi_device(options);
}

}  // namespace

VqTransport::VqTransport(const VqOptions& options, Arena& arena)
    : provider_(options.provider),
      arena_(arena),
      staging_(arena),
      completions_(completions_max),
      finder_(options, Plausibility(options.provider, options.roster), seen_) {}

Result<VqTransport::Descriptors> VqTransport::open(const connected::SocketAddress& at, NodeId self,
                                                   std::uint64_t incarnation) {
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

void VqTransport::count_in(CounterBlock* block) {
  counters_ = block;
  finder_.count_in(block);
  if (pool_ != nullptr) pool_->count_in(block);
  fenced_bytes_ = block == nullptr ? Counter() : block->counter("vq.fenced_bytes");
  fenced_bytes_.set(arena_.fenced_bytes());
}

// What was known of a node whose connection this process has ended is over with it, also while the last words are on their
// way.
VqTransport::Reach VqTransport::reach(NodeId node) {
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

std::optional<NodeId> VqTransport::next_reachable() {
  if (reachable_.empty()) return std::nullopt;
  const NodeId node = reachable_.back();
  reachable_.pop_back();
  return node;
}

Result<void> VqTransport::introduce(PairConnection& connection, const connected::GreetingBytes& greeting) {
  const MetaKeeper& table = finder_.table();
  SPINDRIFT_TRY_ASSIGN(const MemoryKeys keys, connection.let_read(table.memory()));
  const auto rest = encode(Introduction{{keys.remote_key, keys.remote_base, table.geometry()}, device_->metadata()});
  Message message(greeting.begin(), greeting.end());
  message.insert(message.end(), rest.begin(), rest.end());
  connection.say(message, false);
  if (connection.broken()) return Error(ErrorKind::resource, *connection.broken());
  return {};
}

Result<std::unique_ptr<connected::Connection>> VqTransport::call(const connected::PeerCall& call,
                                                                 const connected::SocketAddress* address,
                                                                 const connected::GreetingBytes& greeting) {
  Route route{.way = Route::Way::by_address};
  Metadata metadata;
  if (address == nullptr) {
    route = routes_.extract(call.node).mapped();
    metadata = route.record.metadata;
  } else {
    ofi::OfiName name;
    name.connectionless = *ofi::connectionless_wire(classes_of(provider_)->connectionless);
    name.address = kernel::address_of(*address);
    name.connectionless_port = port_of(*address);
    metadata = ofi::encode(name);
  }
  SPINDRIFT_TRY_ASSIGN(const PairId pair, pool_->create(completions_, {}));
  auto connection = std::make_unique<PairConnection>(call, context(), pair);
  connection->route = route;
  connection->reached_by = metadata;
  Result<void> done = pool_->connect(pair, metadata, listening_port);
  if (done) done = introduce(*connection, greeting);
  if (!done) {
    if (address == nullptr) finder_.on_call_failed(call.node, false);
    return std::move(done).error();
  }
  pairs_.emplace(pair, connection.get());
  return std::unique_ptr<connected::Connection>(std::move(connection));
}

std::optional<std::span<const std::byte>> VqTransport::waiting_call() {
  if (newcomers_.empty()) return std::nullopt;
  return newcomers_.front().greeting;
}

Result<std::unique_ptr<connected::Connection>> VqTransport::answer(const connected::PeerCall& call,
                                                                   const connected::GreetingBytes& greeting) {
  const Newcomer newcomer = std::move(newcomers_.front());
  newcomers_.pop_front();
  auto connection = std::make_unique<PairConnection>(call, context(), newcomer.pair);
  connection->introduced = newcomer.introduced;
  connection->reached_by = newcomer.introduced.metadata;
  SPINDRIFT_TRY(introduce(*connection, greeting));
  pairs_.emplace(newcomer.pair, connection.get());
  return std::unique_ptr<connected::Connection>(std::move(connection));
}

void VqTransport::turn_away() {
  refuse(newcomers_.front().pair);
  newcomers_.pop_front();
}

// The other side is told when the connection closes.
void VqTransport::refuse(PairId pair) {
  connected::PeerCall nobody;
  nobody.state = connected::PeerCall::State::answering;
  PairConnection(nobody, context(), pair).close();
}

bool VqTransport::take_completions(connected::TransportEvents& to, Time now) {
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

void VqTransport::take_newcomers(connected::TransportEvents& to) {
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

void VqTransport::take_finished(connected::TransportEvents& to) {
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
void VqTransport::take_messages(connected::TransportEvents& to, PairConnection& connection) {
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

void VqTransport::on_answer(connected::TransportEvents& to, PairConnection& connection, std::span<const std::byte> message) {
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

void VqTransport::on_linked(PairConnection& connection) {
  if (connection.broken()) return;
  connection.stage = PairConnection::Stage::linked;
  finder_.on_linked({.node = connection.node(),
                     .record = {connection.call().incarnation, connection.introduced->metadata},
                     .table = connection.introduced->table,
                     .reached_by = connection.reached_by,
                     .way = connection.route.way});
}

void VqTransport::on_gone(connected::Connection& gone) {
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

void VqTransport::let_go(connected::TransportEvents& to) {
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

void VqTransport::shut() noexcept {
  if (device_ != nullptr) device_->end();
  arena_.on_pool_gone();
  pool_.reset();
  device_.reset();
  leaving_.clear();
}

}  // namespace spindrift::kernel::vq

namespace spindrift::kernel {
namespace {

Result<std::unique_ptr<fabric::connected::Endpoint>> endpoint_of(const VqOptions& options,
                                                                 std::optional<fabric::Rendezvous> rendezvous) {
  auto arena = std::make_unique<vq::Arena>();
  auto transport = std::make_unique<vq::VqTransport>(options, *arena);
  return fabric::connected::Endpoint::make({options.self, options.silence_max, std::move(rendezvous)},
                                           {.name = "vq:" + options.provider,
                                            .needs_target_progress = true,
                                            .gathers_small_writes = true,
                                            .buffered_bytes = fabric::connected::socket_bytes},
                                           std::move(transport), std::move(arena));
}

}  // namespace

Result<std::unique_ptr<fabric::Fabric>> make_vq(const VqOptions& options) {
  SPINDRIFT_TRY_ASSIGN(auto rendezvous, fabric::Rendezvous::open(options.runtime_directory, options.group_name));
  SPINDRIFT_TRY_ASSIGN(auto endpoint, endpoint_of(options, std::move(rendezvous)));
  return std::unique_ptr<fabric::Fabric>(std::move(endpoint));
}

Result<std::unique_ptr<fabric::connected::Endpoint>> make_vq_part(const VqOptions& options) {
  return endpoint_of(options, std::nullopt);
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
