// Regions, operations and sleep, as the caller asks for them.
#include <spindrift/fabric/connected/endpoint.hpp>

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include <spindrift/core/config/addresses.hpp>
#include <spindrift/fabric/endpoint_parts.hpp>

namespace spindrift::fabric::connected {
namespace {

constexpr std::size_t peers_max = 1024;
constexpr auto last_words_max = std::chrono::milliseconds(250);

Traits traits_of(const Character& character) {
  return {.name = character.name,
          .ordered_writes = true,  // a provider that does not promise it is refused when it is opened
          .needs_target_progress = character.needs_target_progress,
          // The peer's side may have the bytes then; they may still be on their way to its memory.
          .visible_on_completion = false,
          .mappable = false,
          .connectionless = false,
          .copied_bytes_max = std::numeric_limits<std::size_t>::max(),
          .message_bytes_max = message_bytes_max,
          .peers_max = peers_max,
          .buffered_bytes = character.buffered_bytes};
}

/// Whether last words are on their way.
bool speaking(const PeerConnections& connections) {
  return std::any_of(connections.all().begin(), connections.all().end(),
                     [](const auto& each) { return each->call().state == PeerCall::State::closing && !each->lingers; });
}

}  // namespace

const SystemClock Endpoint::system_clock;

Result<std::unique_ptr<Endpoint>> Endpoint::make(EndpointOptions options, Character character,
                                                 std::unique_ptr<Transport> transport, std::unique_ptr<MemorySource> memory,
                                                 const Clock& clock) {
  SPINDRIFT_TRY_ASSIGN(const std::uint64_t incarnation, random_word());
  FileDescriptor bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell) return system_error("eventfd", errno);
  return std::unique_ptr<Endpoint>(new Endpoint(std::move(options), std::move(character), incarnation, std::move(bell),
                                                std::move(transport), std::move(memory), clock));
}

Endpoint::Endpoint(EndpointOptions options, Character character, std::uint64_t incarnation, FileDescriptor bell,
                   std::unique_ptr<Transport> transport, std::unique_ptr<MemorySource> memory, const Clock& clock)
    : self_(options.self),
      incarnation_(incarnation),
      character_(std::move(character)),
      traits_(traits_of(character_)),
      clock_(clock),
      sleeper_(std::move(bell)),
      transport_(std::move(transport)),
      regions_(std::move(memory),
               [this](const OwnRegion& region) {
                 for (const auto& connection : connections_.all()) connection->forget(region);
               }),
      connections_(
          self_, incarnation_,
          {.connections_max = peers_max, .remote_key_max = character_.remote_key_max, .silence_max = options.silence_max},
          Proofs(std::move(options.credentials), std::move(options.audit), self_, incarnation_, clock_.now(),
                 options.proved_by),
          *transport_, regions_, [this] { sleeper_.ring(); }) {}

Result<std::unique_ptr<Fabric>> Endpoint::alone(Result<std::unique_ptr<Endpoint>> part, const std::string& runtime_directory,
                                                const std::string& group_name) {
  SPINDRIFT_TRY_ASSIGN(auto endpoint, std::move(part));
  SPINDRIFT_TRY_ASSIGN(auto rendezvous, Rendezvous::open(runtime_directory, group_name));
  endpoint->rendezvous_.emplace(std::move(rendezvous));
  return std::unique_ptr<Fabric>(std::move(endpoint));
}

Endpoint::~Endpoint() {
  connections_.finish(clock_.now());
  const Time limit = clock_.now() + last_words_max;
  while (speaking(connections_) && clock_.now() < limit) {
    transport_->arm();
    connections_.progress(clock_.now());
    if (!speaking(connections_) || !connections_.may_block()) continue;
    const auto signals = sleeper_.sleep(std::chrono::milliseconds(1));
    if (signals.completions) transport_->disarm();
  }
  if (listening_) connections_.close_all();
  transport_->shut();
  regions_.clear();
}

Result<Region> Endpoint::allocate(std::size_t bytes, std::string_view name) { return regions_.allocate(bytes, name); }

// Until the memory goes, what peers write to it is lost.
void Endpoint::release(RegionKey key) {
  OwnRegion* const region = regions_.release(key);
  if (region == nullptr) return;
  if (region->reading > 0) {
    for (const auto& connection : connections_.all()) connection->mark();
  }
  regions_.settle(*region);
}

Result<void> Endpoint::listen(const Address& self) {
  if (self.node != self_ || listening_) {
    return Error(ErrorKind::bad_argument, "an endpoint listens once, as the node that it was made for")
        .at("node " + std::to_string(self.node.value()));
  }
  SPINDRIFT_TRY_ASSIGN(const SocketAddress address, resolve(self.endpoint, false));
  if (rendezvous_) SPINDRIFT_TRY(rendezvous_->claim(self.node));
  auto opened = transport_->open(address, self_, incarnation_);
  if (!opened) return Error(std::move(opened).error()).at(self.endpoint);
  sleeper_.watch(*opened);
  connections_.begin(clock_.now());
  listening_ = true;
  return {};
}

Result<void> Endpoint::connect(const Address& peer) {
  const auto at_node = [&peer](Error error) { return std::move(error).at("node " + std::to_string(peer.node.value())); };
  if (peer.node == self_ || !listening_) {
    return at_node(Error(ErrorKind::bad_argument, "an endpoint connects to other nodes, and listens before it connects"));
  }
  if (auto parts = config::parse_host_port(peer.endpoint); !parts) return at_node(std::move(parts).error());
  connections_.connect(peer, clock_.now());
  return {};
}

Result<void> Endpoint::expose(PeerId peer, RegionKey key, Access access) {
  OwnRegion* const region = regions_.find(key);
  if (region == nullptr) return Error(ErrorKind::bad_argument, "this endpoint has no region of that key");
  Connection* const connection = connections_.find(peer);
  if (connection == nullptr) return {};  // its `lost` event says so
  const bool twice = std::any_of(connection->granted.begin(), connection->granted.end(),
                                 [&](const auto& each) { return each.second.region == key; });
  if (twice) return Error(ErrorKind::bad_argument, "the region is already exposed to this peer");
  SPINDRIFT_TRY_ASSIGN(const Exposure exposure, connection->grant(key, *region, access));
  connection->say_sealed(encode(exposure), false);
  return {};
}

Result<std::span<const std::byte>> Endpoint::map(PeerId, RegionKey) {
  return Error(ErrorKind::unsupported, "no region of another host can be mapped");
}

void Endpoint::unmap(PeerId peer, RegionKey region) {
  Connection* const connection = connections_.find(peer);
  if (connection == nullptr) return;
  const auto at = connection->exposed.find(region);
  if (at == connection->exposed.end()) return;
  connection->say_sealed(encode(Kind::unmapped, at->second.remote_key), false);
  connection->exposed.erase(at);
}

std::uint64_t Endpoint::unsent_bytes(PeerId peer) const noexcept {
  const Connection* const connection = connections_.find(peer);
  return connection == nullptr ? 0 : connection->unsent_bytes;
}

// Memory that is written from, or read into, is known to the transport before anything of the list is executed.
Result<void> Endpoint::check_one(const Operation& operation) {
  Connection* const connection = connections_.find(operation.peer);
  if (connection == nullptr) return check_absent(operation.peer, connections_.newest_peer());
  std::optional<ExposedRegion> target;
  if (const auto at = connection->exposed.find(operation.region); at != connection->exposed.end())
    target = ExposedRegion{at->second.bytes, at->second.access};
  SPINDRIFT_TRY(check_operation(operation, traits_, target));
  if (!character_.prepares_memory || operation.copied || operation.kind == Operation::Kind::send) return {};
  OwnRegion* const source = regions_.holding(operation.local, operation.bytes);
  return source == nullptr ? Result<void>() : connection->prepare(*source);
}

Result<void> Endpoint::check(std::span<const Operation> operations) {
  for (const Operation& operation : operations) SPINDRIFT_TRY(check_one(operation));
  return {};
}

void Endpoint::execute(Connection& connection, const Operation& operation, bool more) {
  if (operation.kind == Operation::Kind::send) {
    const auto message = user_message({operation.local, operation.bytes});
    return connection.send_sealed(message, operation.signaled, operation.context);
  }
  const Exposure& target = connection.exposed.at(operation.region);
  connection.transfer({.reads = operation.kind == Operation::Kind::read,
                       .signaled = operation.signaled,
                       .copied = operation.copied,
                       .more = more,
                       .local = operation.local,
                       .bytes = operation.bytes,
                       .address = target.address + operation.offset,
                       .remote_key = target.remote_key,
                       .context = operation.context,
                       .region = operation.copied ? nullptr : regions_.holding(operation.local, operation.bytes)});
}

Result<void> Endpoint::post(std::span<const Operation> operations) {
  SPINDRIFT_TRY(check(operations));
  rung_.clear();
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& operation = operations[i];
    Connection* const connection = connections_.find(operation.peer);
    if (character_.gathers_small_writes && small_writes_.gather(operation, connection)) continue;
    small_writes_.send();
    if (connection == nullptr) continue;
    if (std::find(rung_.begin(), rung_.end(), connection) == rung_.end()) rung_.push_back(connection);
    const bool more = i + 1 < operations.size() && operations[i + 1].peer == operation.peer &&
                      operations[i + 1].kind != Operation::Kind::read;
    execute(*connection, operation, more);
  }
  small_writes_.send();
  for (Connection* const connection : rung_) connection->ring();
  return {};
}

std::size_t Endpoint::poll(std::span<Event> events) {
  if (listening_) connections_.progress(clock_.now());
  return connections_.take(events);
}

// Armed before the caller's last look, so that what comes after it is told.
void Endpoint::prepare_sleep() noexcept {
  sleeper_.prepare();
  if (listening_) transport_->arm();
}

void Endpoint::cancel_sleep() noexcept {
  sleeper_.cancel();
  connections_.on_awake(clock_.now());
}

// The caller does not sleep either while something that came before its last look was not looked at.
void Endpoint::sleep(Time deadline) noexcept {
  if (may_sleep()) {
    const Time until = std::min(deadline, next_timer());
    const auto signals = sleeper_.sleep(until == never ? Duration::max() : until - clock_.now());
    take_signals(signals.bell, signals.completions);
  }
  cancel_sleep();
  if (listening_) connections_.progress(clock_.now());
}

void Endpoint::take_signals(bool bell, bool completions) noexcept {
  if (bell) sleeper_.take_rings();
  if (completions) transport_->disarm();
  connections_.expect_reports();
}

}  // namespace spindrift::fabric::connected
