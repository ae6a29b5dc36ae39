// A pool and its virtual queue pairs: memory, binding, posting. What comes back is in pool_progress.cpp, messages are in
// pool_messages.cpp.
#include <spindrift/kernel/pool.hpp>

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include <spindrift/core/check.hpp>
#include <spindrift/kernel/pool_parts.hpp>

namespace spindrift::kernel {

namespace {

static_assert(static_cast<int>(Status::done) == VQ_DONE && static_cast<int>(Status::local_error) == VQ_LOCAL_ERROR &&
              static_cast<int>(Status::access_refused) == VQ_ACCESS_REFUSED &&
              static_cast<int>(Status::peer_lost) == VQ_PEER_LOST && static_cast<int>(Status::not_ready) == VQ_NOT_READY &&
              static_cast<int>(Status::flushed) == VQ_FLUSHED);

}  // namespace

CompletionQueue::CompletionQueue(std::uint32_t capacity) : ring_(std::bit_ceil(std::max(capacity, 2U))) {
  vq_completions_init(&completions_, ring_.data(), static_cast<std::uint32_t>(ring_.size()));
}

std::size_t CompletionQueue::take(std::span<Completion> to) {
  std::size_t taken = 0;
  vq_completion one{};
  while (taken < to.size() && vq_take(&completions_, &one, 1) == 1) {
    to[taken++] = {PairId(one.pair), one.wr_id, one.bytes, static_cast<Completion::Kind>(one.operation),
                   static_cast<Status>(one.status)};
  }
  for (; taken < to.size() && !received_.empty(); received_.pop_front()) to[taken++] = received_.front();
  return taken;
}

Pool::Pool(Device& device, const PoolOptions& options)
    : device_(device),
      options_(options),
      message_bytes_max_(device.traits().message_bytes_max - sizeof(vq_header) - Metadata::bytes_max),
      pairs_(options.pairs_max),
      seats_(options.pairs_max),
      fetched_(options.pairs_max) {
  const vq_world world{.context = this,
                       .local_allowed = local_allowed,
                       .remote_allowed = remote_allowed,
                       .post = hand_over,
                       .node = options.self.value(),
                       .start = options.start,
                       .message_bytes_max = static_cast<std::uint32_t>(message_bytes_max_),
                       .metadata_bytes = device.metadata().size};
  vq_pool_init(&core_, &world, pairs_.data(), options.pairs_max);
}

// The queue pairs first: from then on nothing that they were told of is touched.
Pool::~Pool() {
  physicals_.clear();
  for (const auto& [key, own] : own_) device_.deregister(own.keys);
  for (const auto& [metadata, peer] : peers_) device_.forget(peer.handle);
}

Result<std::unique_ptr<Pool>> Pool::open(Device& device, const PoolOptions& options) {
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
  if (auto opened = pool->open_queue_pairs(); !opened) return std::move(opened).error();
  return pool;
}

Result<void> Pool::open_queue_pairs() {
  for (std::uint32_t i = 0; i < options_.queue_pairs; ++i) {
    auto queue_pair = device_.open();
    if (!queue_pair) return std::move(queue_pair).error();
    add(std::move(queue_pair).value());
  }
  return {};
}

Pool::Physical& Pool::add(std::unique_ptr<PhysicalQueuePair> queue_pair) {
  auto physical = std::make_unique<Physical>();
  physical->queue_pair = std::move(queue_pair);
  physical->slots.resize(device_.traits().send_depth);
  const bool in_order = device_.traits().ordered_completions || device_.traits().connected_in_order;
  vq_physical_init(&physical->core, physical->slots.data(), device_.traits().send_depth,
                   physical->queue_pair->connectionless() ? device_.traits().ordered_completions : in_order, physical.get());
  physicals_.push_back(std::move(physical));
  return *physicals_.back();
}

Result<MemoryKeys> Pool::register_memory(std::span<std::byte> memory, fabric::Access access) {
  auto keys = device_.register_memory(memory, access);
  if (!keys) return keys;
  own_.emplace(++newest_key_, Own{memory, access, *keys});
  MemoryKeys given = *keys;
  given.local_key = newest_key_;
  return given;
}

Result<MemoryKeys> Pool::register_local(std::span<std::byte> memory) {
  auto keys = device_.register_local(memory);
  if (!keys) return keys;
  own_.emplace(++newest_key_, Own{memory, std::nullopt, *keys});
  MemoryKeys given = *keys;
  given.local_key = newest_key_;
  return given;
}

Result<void> Pool::deregister(const MemoryKeys& keys) {
  const auto found = own_.find(keys.local_key);
  if (found == own_.end()) return {};
  for (const auto& physical : physicals_) {
    const bool used = std::any_of(physical->slots.begin(), physical->slots.end(), [&](const vq_slot& slot) {
      return slot.state != VQ_SLOT_FREE && slot.request.local_key == keys.local_key;
    });
    if (used) return Error(ErrorKind::would_block, "a request on this memory is under way").fix("take its completion first");
  }
  device_.deregister(found->second.keys);
  own_.erase(found);
  return {};
}

Pool::Seat* Pool::seat_of(PairId pair) const noexcept {
  const auto place = static_cast<std::uint32_t>(pair.value());
  if (place >= seats_.size() || !seats_[place] || seats_[place]->id != pair) return nullptr;
  return seats_[place].get();
}

Result<PairId> Pool::create(CompletionQueue& completions, const PairOptions& options) {
  const PairId id(vq_create(&core_, &completions.completions_, options.once ? VQ_ONCE : 0));
  if (id == PairId{}) {
    return Error(ErrorKind::resource, fmt::format("all {} virtual queue pairs are in use", pairs_.size()))
        .fix("close some, or open the pool with a larger pairs_max");
  }
  auto& seat = seats_[static_cast<std::uint32_t>(id.value())];
  CHECK(seat == nullptr);
  seat = std::make_unique<Seat>();
  seat->id = id;
  seat->completions = &completions;
  seat->wants_messages = options.messages;
  ++counts_.pairs;
  return id;
}

Result<Pool::Peers::iterator> Pool::take_in(const Metadata& metadata) {
  if (metadata.size > Metadata::bytes_max) return Error(ErrorKind::bad_argument, "metadata are too long");
  const auto known = peers_.find(metadata);
  if (known != peers_.end()) {
    if (!known->second.lost) return known;
    return Error(ErrorKind::member_lost, "the peer was lost").fix("close the pairs that talked to it, then connect again");
  }
  auto handle = device_.resolve(metadata);
  if (!handle) return std::move(handle).error();
  return peers_.emplace(metadata, Peer{*handle}).first;
}

void Pool::leave(Peers::iterator peer) {
  if (--peer->second.pairs > 0) return;
  device_.forget(peer->second.handle);
  peers_.erase(peer);
  any_freed_ = true;
}

Pool::Physical& Pool::least_used() const {
  const auto end = physicals_.begin() + options_.queue_pairs;  // the connectionless ones were opened first
  return **std::min_element(physicals_.begin(), end,
                            [](const auto& left, const auto& right) { return left->core.pairs < right->core.pairs; });
}

Result<void> Pool::connect(PairId pair, const Metadata& peer, Port port) {
  auto taken = take_in(peer);
  if (!taken) return std::move(taken).error();
  ++(*taken)->second.pairs;
  auto bound = bind_pair(pair, *taken, port.value(), false);
  if (!bound) leave(*taken);
  return bound;
}

// The caller has counted the pair at its peer.
Result<void> Pool::bind_pair(PairId pair, Peers::iterator peer, std::uint64_t remote, bool remote_known) {
  Seat* const seat = seat_of(pair);
  if (seat == nullptr) return Error(ErrorKind::group_closed, "there is no such virtual queue pair");
  if (seat->peer) return Error(ErrorKind::refused, "the virtual queue pair is connected").fix("create another");
  if (seat->wants_messages) {
    seat->messages.resize(options_.window);
    seat->kept.resize(options_.window);
  }
  const Physical* const connected = peer->second.connected;
  const bool is_up = connected != nullptr && connected->role == Physical::Role::connected;
  const int code =
      vq_bind(&core_, pair.value(), is_up ? &peer->second.connected->core : &least_used().core, peer->second.handle.value(),
              remote, remote_known, seat->messages.data(), static_cast<std::uint32_t>(seat->messages.size()));
  CHECK(code == 0);
  seat->peer = peer;
  return {};
}

Result<void> Pool::bind(Port port, CompletionQueue& completions, std::uint32_t pairs_max) {
  Listener& listener = listeners_[port];
  if (listener.completions != nullptr) {
    return Error(ErrorKind::refused, fmt::format("port {} is bound", port.value())).fix("bind another");
  }
  listener.completions = &completions;
  listener.pairs_max = pairs_max;
  return {};
}

void Pool::close(PairId pair) {
  Seat* const seat = seat_of(pair);
  if (seat == nullptr) return;
  if (seat->accepted_by != nullptr) {
    seat->accepted_by->accepted.erase({seat->stranger_node, seat->stranger});
    if (seat->heard) seat->accepted_by->heard.add({seat->stranger_node, seat->stranger});
    std::erase(seat->accepted_by->ready, pair);
    std::erase(seat->accepted_by->newcomers, pair);
  }
  if (seat->fetcher != PairId{}) close(seat->fetcher);
  static_cast<void>(vq_close(&core_, pair.value()));
  any_freed_ = true;
  closed_.push_back(std::move(seats_[static_cast<std::uint32_t>(pair.value())]));
  sweep();
}

bool Pool::is_gone(PairId pair) const noexcept {
  return seat_of(pair) == nullptr &&
         std::none_of(closed_.begin(), closed_.end(), [&](const auto& seat) { return seat->id == pair; });
}

std::optional<Status> Pool::failure(PairId pair) const noexcept {
  const vq_pair* const core = vq_find(const_cast<vq_pool*>(&core_), pair.value());
  if (core == nullptr || core->state != VQ_PAIR_FAILED) return std::nullopt;
  return static_cast<Status>(core->status);
}

Result<std::size_t> Pool::post(PairId pair, std::span<const Request> requests) {
  std::size_t posted = 0;
  requests_.clear();
  for (const Request& request : requests) {
    const bool send = request.kind == Request::Kind::send;
    const bool large = send && request.local.size() > message_bytes_max_;
    if (request.local.size() > VQ_NONE) return Error(ErrorKind::bad_argument, "a request is longer than 4 GiB");
    vq_request core{.wr_id = request.context,
                    .local = reinterpret_cast<std::uint64_t>(request.local.data()),
                    .remote = send ? 0 : request.remote_address,
                    .local_key = request.local_memory.local_key,
                    .remote_key = send ? 0 : request.remote_key,
                    .bytes = static_cast<std::uint32_t>(request.local.size()),
                    .operation = static_cast<std::uint16_t>(request.kind),
                    .flags = static_cast<std::uint16_t>((request.signaled ? VQ_SIGNALED : 0) | (large ? VQ_LARGE : 0) |
                                                        (request.news ? VQ_NEWS : 0))};
    if (const auto own = own_.find(core.local_key); large && own != own_.end()) {
      const Own& region = own->second;
      core.remote = region.keys.remote_base + (core.local - reinterpret_cast<std::uint64_t>(region.memory.data()));
      core.remote_key = region.keys.remote_key;
    }
    requests_.push_back(core);
  }
  std::uint32_t at = 0;
  const std::int32_t taken =
      vq_post(&core_, pair.value(), requests_.data(), static_cast<std::uint32_t>(requests_.size()), &at);
  if (taken < 0) return refusal(pair, taken, at);
  (*seat_of(pair)->peer)->second.posts += static_cast<std::uint64_t>(taken);
  posted = static_cast<std::size_t>(taken);
  return posted;
}

Error Pool::refusal(PairId pair, int code, std::uint32_t at) const {
  const std::string which = fmt::format("request {} of the list", at);
  switch (code) {
    case VQ_BAD_PAIR: return Error(ErrorKind::group_closed, "there is no such virtual queue pair, or it is closed");
    case VQ_UNBOUND:
      return Error(ErrorKind::bad_argument, "the virtual queue pair is not connected").fix("connect it first");
    case VQ_FAILED: {
      const auto status = failure(pair);
      return Error(ErrorKind::member_lost,
                   fmt::format("the virtual queue pair failed: {}", to_string(status.value_or(Status::flushed))))
          .fix("take its completions, close it and connect another");
    }
    case VQ_BAD_LOCAL:
      return Error(ErrorKind::bad_argument,
                   "its local memory is not in the registration that it names, or peers may not "
                   "read what they should")
          .at(which)
          .fix("register the memory with this pool, for reading if it is sent and larger than message_bytes_max");
    case VQ_BAD_REMOTE:
      return Error(ErrorKind::bad_argument, "the peer has registered no such memory for this")
          .at(which)
          .fix("ask the peer for the key and range of a registration that is not taken back");
    case VQ_LOOK_UP:
      return Error(ErrorKind::would_block, "whether the peer has such memory is being asked").at(which).fix("post it again");
    default: return Error(ErrorKind::bad_argument, "no such operation, or flags or sizes that it cannot have").at(which);
  }
}

int Pool::local_allowed(void* self, const vq_pair* /*pair*/, const vq_request* request) {
  const Pool& pool = *static_cast<const Pool*>(self);
  const auto own = pool.own_.find(request->local_key);
  if (own == pool.own_.end()) return 0;
  const auto begin = reinterpret_cast<std::uint64_t>(own->second.memory.data());
  const std::uint64_t bytes = own->second.memory.size();
  if (request->local < begin || request->bytes > bytes || request->local - begin > bytes - request->bytes) return 0;
  return (request->flags & VQ_LARGE) == 0 || own->second.access == fabric::Access::read;
}

int Pool::remote_allowed(void* self, const vq_pair* pair, const vq_request* request) {
  const Pool& pool = *static_cast<const Pool*>(self);
  if (pool.options_.remote == nullptr) return 1;
  const Seat& seat = *pool.seats_[static_cast<std::size_t>(pair - pool.pairs_.data())];
  const auto access = request->operation == VQ_READ ? fabric::Access::read : fabric::Access::write;
  switch (pool.options_.remote->check((*seat.peer)->first, request->remote_key, request->remote, request->bytes, access)) {
    case RemoteMemory::Verdict::allowed: return 1;
    case RemoteMemory::Verdict::refused: return 0;
    case RemoteMemory::Verdict::unknown: return -1;
  }
  return 0;
}

std::uint32_t Pool::hand_over(void* self, vq_physical* physical, const vq_posted* list, std::uint32_t count) {
  const Pool& pool = *static_cast<const Pool*>(self);
  CHECK(count <= VQ_SEGMENT);
  std::array<PhysicalOperation, VQ_SEGMENT> operations;
  std::array<std::array<std::byte, sizeof(vq_header) + Metadata::bytes_max>, VQ_SEGMENT> headers;
  for (std::uint32_t i = 0; i < count; ++i) {
    const vq_request& request = *list[i].request;
    PhysicalOperation& operation = operations[i];
    const auto own = pool.own_.find(request.local_key);
    operation = {.kind = static_cast<PhysicalOperation::Kind>(request.operation),
                 .signaled = list[i].signaled != 0,
                 .news = (request.flags & VQ_NEWS) != 0,
                 .peer = PeerHandle(list[i].peer),
                 .id = list[i].id,
                 .local = reinterpret_cast<std::byte*>(request.local),
                 .bytes = request.bytes,
                 .local_key = own == pool.own_.end() ? 0 : own->second.keys.local_key,
                 .remote_address = request.remote,
                 .remote_key = request.remote_key,
                 .header = {}};
    if (request.operation != VQ_SEND) continue;
    if ((request.flags & VQ_LARGE) != 0) operation.bytes = 0;
    std::memcpy(headers[i].data(), &list[i].header, sizeof(vq_header));
    const std::size_t metadata_bytes = list[i].header.metadata_bytes;
    std::memcpy(headers[i].data() + sizeof(vq_header), pool.device_.metadata().bytes.data(), metadata_bytes);
    operation.header = std::span(headers[i]).first(sizeof(vq_header) + metadata_bytes);
  }
  auto& to = *static_cast<Physical*>(physical->context);
  return static_cast<std::uint32_t>(to.queue_pair->post(std::span(operations).first(count)));
}

Pool::Counts Pool::counts() const noexcept {
  Counts counts = counts_;
  counts.rejected += core_.rejected;
  counts.replays = core_.replays;
  for (const auto& physical : physicals_) counts.strays += physical->core.strays;
  return counts;
}

}  // namespace spindrift::kernel
