// A pool: what its user asks for is handed to the part whose job it is; each pass goes through all of them in one order.
#include <spindrift/kernel/pool.hpp>

#include <array>
#include <bit>
#include <utility>

#include <fmt/format.h>

namespace spindrift::kernel {

using Role = PhysicalPair::Role;
using Repair = PhysicalPair::Repair;

namespace {

constexpr std::size_t events_at_once = 32;

std::size_t message_room(const DeviceTraits& traits) {
  return traits.message_bytes_max - sizeof(vq_header) - Metadata::bytes_max;
}

vq_world headers_of(const PhysicalDevice& device, const PoolOptions& options) {
  vq_world world{};
  world.node = options.self.value();
  world.start = options.start;
  world.message_bytes_max = static_cast<std::uint32_t>(message_room(device.traits()));
  world.metadata_bytes = device.metadata().size;
  return world;
}

}  // namespace

Pool::Pool(PhysicalDevice& device, const PoolOptions& options)
    : device_(device),
      message_bytes_max_(message_room(device.traits())),
      window_(options.window),
      memory_(device),
      peers_(device),
      physicals_(device, memory_),
      pairs_(options.pairs_max, headers_of(device, options), options.remote, memory_, peers_, physicals_),
      fetches_(pairs_, peers_, options.pairs_max, options.look_up_max),
      messages_(pairs_, peers_, memory_, fetches_, options),
      promotions_(device, peers_, physicals_, pairs_, options) {}

// The memory of pairs that read large messages goes after them.
Pool::~Pool() {
  physicals_.clear();
  memory_.clear();
}

Result<std::unique_ptr<Pool>> Pool::open(PhysicalDevice& device, const PoolOptions& options) {
  const DeviceTraits& traits = device.traits();
  if (!traits.connectionless) {
    return Error(ErrorKind::unsupported, fmt::format("{} has no connectionless queue pairs", traits.name))
        .fix("use a device that has them");
  }
  if (options.queue_pairs == 0 || options.pairs_max == 0 || !std::has_single_bit(options.window) ||
      options.window > VQ_WINDOW_MAX || traits.message_bytes_max <= sizeof(vq_header) + Metadata::bytes_max) {
    return Error(ErrorKind::bad_argument,
                 "a pool needs a queue pair, a pair, a window that is a power of two up to 65536, and "
                 "messages with room for their header");
  }
  std::unique_ptr<Pool> pool(new Pool(device, options));
  SPINDRIFT_TRY(pool->physicals_.open(options.queue_pairs));
  return pool;
}

Result<void> Pool::deregister(const MemoryKeys& keys) {
  if (physicals_.uses(keys.local_key))
    return Error(ErrorKind::would_block, "a request on this memory is under way").fix("take its completion first");
  memory_.remove(keys);
  return {};
}

Result<PairId> Pool::create(CompletionQueue& completions, const PairOptions& options) {
  return pairs_.create(completions, options.once ? VQ_ONCE : 0, options.messages ? window_ : 0);
}

Result<void> Pool::connect(PairId pair, const Metadata& peer, Port port) {
  SPINDRIFT_TRY_ASSIGN(const PoolPeers::Place joined, peers_.join(peer));
  auto bound = pairs_.bind(pair, joined, port.value(), false);
  if (!bound) peers_.leave(joined);
  return bound;
}

void Pool::introduce(PairId pair, const Metadata& peer) {
  const VirtualPair* const known = pairs_.find(pair);
  if (known != nullptr && known->peer && peer.size <= Metadata::bytes_max) (*known->peer)->second.introduced = peer;
}

vq_request Pool::core_request(const Request& request) const {
  const bool send = request.kind == Request::Kind::send;
  const bool large = send && request.local.size() > message_bytes_max_;
  vq_request core{.wr_id = request.context,
                  .local = reinterpret_cast<std::uint64_t>(request.local.data()),
                  .remote = send ? 0 : request.remote_address,
                  .local_key = request.local_memory.local_key,
                  .remote_key = send ? 0 : request.remote_key,
                  .bytes = static_cast<std::uint32_t>(request.local.size()),
                  .operation = static_cast<std::uint16_t>(request.kind),
                  .flags = static_cast<std::uint16_t>((request.signaled ? VQ_SIGNALED : 0) | (large ? VQ_LARGE : 0) |
                                                      (request.news ? VQ_NEWS : 0))};
  if (large) memory_.name_for_peer(core);
  return core;
}

Result<std::size_t> Pool::post(PairId pair, std::span<const Request> requests) {
  requests_.clear();
  for (const Request& request : requests) {
    if (request.local.size() > VQ_NONE) return Error(ErrorKind::bad_argument, "a request is longer than 4 GiB");
    requests_.push_back(core_request(request));
  }
  std::uint32_t at = 0;
  const std::int32_t taken =
      vq_post(&pairs_.core(), pair.value(), requests_.data(), static_cast<std::uint32_t>(requests_.size()), &at);
  if (taken < 0) return refusal(pair, taken, at);
  (*pairs_.find(pair)->peer)->second.posts += static_cast<std::uint64_t>(taken);
  return static_cast<std::size_t>(taken);
}

Error Pool::refusal(PairId pair, int code, std::uint32_t at) const {
  const auto of_request = [at](ErrorKind kind, const char* what) {
    return Error(kind, what).at(fmt::format("request {} of the list", at));
  };
  switch (code) {
    case VQ_BAD_PAIR: return Error(ErrorKind::group_closed, "there is no such virtual queue pair, or it is closed");
    case VQ_UNBOUND:
      return Error(ErrorKind::bad_argument, "the virtual queue pair is not connected").fix("connect it first");
    case VQ_FAILED:
      return Error(ErrorKind::member_lost, fmt::format("the virtual queue pair failed: {}",
                                                       to_string(failure(pair).value_or(OperationStatus::flushed))))
          .fix("take its completions, close it and connect another");
    case VQ_BAD_LOCAL:
      return of_request(ErrorKind::bad_argument,
                        "its local memory is not in the registration that it names, or peers may "
                        "not read what they should")
          .fix("register the memory with this pool, for reading if it is sent and larger than message_bytes_max");
    case VQ_BAD_REMOTE:
      return of_request(ErrorKind::bad_argument, "the peer has registered no such memory for this")
          .fix("ask the peer for the key and range of a registration that is not taken back");
    case VQ_LOOK_UP:
      return of_request(ErrorKind::would_block, "whether the peer has such memory is being asked").fix("post it again");
    default: return of_request(ErrorKind::bad_argument, "no such operation, or flags or sizes that it cannot have");
  }
}

Result<bool> Pool::progress(Time now) {
  bool any = false;
  messages_.set_time(now);
  promotions_.take_accepted();
  for (const auto& physical : physicals_.all()) {
    const Drained drained = drain(*physical);
    SPINDRIFT_TRY_ASSIGN(const bool repaired, look_after(*physical, drained.broken));
    any |= drained.any || repaired;
  }
  for (const Metadata& lost : peers_.take_lost(!any)) on_peer_lost(lost);
  messages_.take_fetched();
  pairs_.pay();
  promotions_.sample(now);
  promotions_.erase_unused();
  pairs_.close_untold();
  pairs_.sweep();
  messages_.take_waiting_calls();
  show();
  return any;
}

Pool::Drained Pool::drain(PhysicalPair& physical) {
  std::array<PhysicalEvent, events_at_once> events;
  Drained drained;
  for (bool more = true; more;) {
    const std::size_t count = physical.queue_pair->take(events);
    for (const PhysicalEvent& event : std::span(events).first(count)) {
      switch (event.kind) {
        case PhysicalEvent::Kind::completed: on_completed(physical, event); break;
        case PhysicalEvent::Kind::received: messages_.on_received(physical, event); break;
        case PhysicalEvent::Kind::broken: drained.broken = true; break;
        case PhysicalEvent::Kind::connected: promotions_.on_connected(physical); break;
      }
    }
    drained.any |= count > 0;
    // Until all that was flushed has been told, what is posted to that peer is flushed too.
    more = physical.repair == Repair::replay && count == events.size();
  }
  return drained;
}

void Pool::on_completed(PhysicalPair& physical, const PhysicalEvent& event) {
  if (event.status == OperationStatus::peer_lost) on_peer_of_operation_lost(physical, event.id);
  vq_on_completion(&pairs_.core(), &physical.core, event.id, static_cast<std::uint8_t>(event.status));
  if (event.status != OperationStatus::done) pairs_.note_failures();
  // If one failure breaks the queue pair, all that it flushed is posted again when it works again.
  const bool breaks = physical.core.ordered != 0;
  if (event.status == OperationStatus::flushed && !breaks && physical.repair == Repair::none)
    physical.repair = Repair::replay;
}

void Pool::on_peer_of_operation_lost(const PhysicalPair& physical, std::uint64_t id) {
  const auto place = static_cast<std::uint32_t>(id);
  if (place >= physical.slots.size()) return;
  const vq_slot& slot = physical.slots[place];
  if (slot.state != VQ_SLOT_POSTED || slot.turn != static_cast<std::uint32_t>(id >> 32)) return;  // it is no operation's id
  if (PoolPeer* const peer = peers_.find(PeerHandle(vq_find(&pairs_.core(), slot.pair)->peer))) promotions_.on_lost(*peer);
}

Result<bool> Pool::look_after(PhysicalPair& physical, bool broken) {
  if (broken && physical.role != Role::connectionless) {
    promotions_.on_broken(physical);
    return true;
  }
  if (broken) {
    physical.repair = Repair::reset;
    ++breaks_;
    vq_on_broken(&pairs_.core(), &physical.core);
    pairs_.note_failures();
  }
  switch (physical.repair) {
    case Repair::none: return false;
    case Repair::replay: replay(physical); return false;
    case Repair::reset:
      SPINDRIFT_TRY(physical.queue_pair->reset());
      replay(physical);
      return true;
  }
  return false;
}

void Pool::replay(PhysicalPair& physical) {
  const bool some_wait = vq_replay(&pairs_.core(), &physical.core, &physical.core, 0) > 0;
  physical.repair = some_wait ? Repair::replay : Repair::none;
}

void Pool::on_peer_lost(const Metadata& metadata) {
  const auto peer = peers_.find(metadata);
  if (peer == peers_.all().end()) return;
  promotions_.on_lost(peer->second);
  pairs_.for_each([&](const VirtualPair& pair, const vq_pair&) {
    if (pair.peer == peer) vq_fail(&pairs_.core(), pair.id.value(), VQ_PEER_LOST);
  });
  pairs_.note_failures();
}

Pool::Counts Pool::counts() const noexcept {
  const Promotions::Counts& promoted = promotions_.counts();
  return {.pairs = pairs_.size(),
          .accepted = messages_.accepted(),
          .replays = pairs_.core().replays,
          .breaks = breaks_ + promoted.breaks,
          .rejected = messages_.rejected() + pairs_.core().rejected,
          .connected = promoted.connected,
          .moves = promoted.moves};
}

void Pool::count_in(CounterBlock* block) {
  static constexpr std::array names{"vq.pairs",  "vq.connected_made", "vq.pairs_moved",
                                    "vq.breaks", "vq.replays",        "vq.rejected_messages"};
  for (std::size_t i = 0; i < names.size(); ++i) shown_[i] = block == nullptr ? Counter() : block->counter(names[i]);
  show();
}

void Pool::show() {
  const Counts now = counts();
  const std::array values{now.pairs, now.connected, now.moves, now.breaks, now.replays, now.rejected};
  for (std::size_t i = 0; i < values.size(); ++i) shown_[i].set(values[i]);
}

}  // namespace spindrift::kernel
