// Regions, operations and sleeping over libfabric.
#include <spindrift/core/fabric/ofi/endpoint.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include <spindrift/core/config/addresses.hpp>
#include <spindrift/core/fabric/endpoint_parts.hpp>

namespace spindrift::fabric::ofi {
namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t peers_max = 1024;
constexpr auto last_words_max = std::chrono::milliseconds(250);

Traits traits_of(std::string_view name) {
  return {.name = name,
          .ordered_writes = true,  // a provider that does not promise it is refused when it is opened
          .needs_target_progress = true,
          .visible_on_completion = false,
          .mappable = false,
          .connectionless = false,
          .copied_bytes_max = std::numeric_limits<std::size_t>::max(),
          .message_bytes_max = message_bytes_max,
          .peers_max = peers_max};
}

}  // namespace

OfiFabric::OfiFabric(const OfiOptions& options, std::uint64_t incarnation, FileDescriptor bell, Rendezvous rendezvous)
    : options_(options),
      incarnation_(incarnation),
      name_(std::string(name_prefix) + options.provider),
      traits_(traits_of(name_)),
      bell_(std::move(bell)),
      rendezvous_(std::move(rendezvous)),
      resolver_([this] { ring(); }) {}

// What was said last is still handed over, if the peers take it; who calls now is turned away.
OfiFabric::~OfiFabric() {
  ends_ = true;
  std::vector<PeerId> left;
  for (const auto& [peer, lane] : peers_) left.push_back(peer);
  for (const PeerId peer : left) disconnect(peer);
  const auto speaks = [](const auto& lane) { return lane->state == Lane::State::closing; };
  const Time limit = clock_.now() + last_words_max;
  while (std::any_of(lanes_.begin(), lanes_.end(), speaks) && clock_.now() < limit) {
    progress();
    if (!provider_->may_block()) continue;
    pollfd ready{provider_->completions_descriptor(), POLLIN, 0};
    static_cast<void>(::poll(&ready, 1, 1));
  }
  lanes_.clear();
  if (listening_) drain_events();
  for (auto& [begin, region] : memory_) ::munmap(region.memory.data(), region.mapped_bytes);
}

Lane* OfiFabric::find(PeerId peer) noexcept {
  const auto at = peers_.find(peer);
  return at == peers_.end() ? nullptr : at->second;
}

Result<Region> OfiFabric::allocate(std::size_t bytes, std::string_view name) {
  if (bytes == 0) return Error(ErrorKind::bad_argument, "a region without bytes").at(std::string(name));
  auto key = random_word();
  if (!key) return std::move(key).error();
  const std::size_t whole = (bytes + page_bytes - 1) / page_bytes * page_bytes;
  void* const memory = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return system_error("mmap", errno).at(std::string(name));
  auto* const begin = static_cast<std::byte*>(memory);
  OwnRegion& region = memory_[begin];
  region.memory = {begin, bytes};
  region.mapped_bytes = whole;
  if (!own_regions_.emplace(RegionKey(*key), &region).second) {
    give_back(region);
    return Error(ErrorKind::resource, "the kernel gave the same random number twice");
  }
  return Region{RegionKey(*key), region.memory};
}

void OfiFabric::release(RegionKey key) {
  const auto at = own_regions_.find(key);
  if (at == own_regions_.end()) return;
  OwnRegion& region = *at->second;
  own_regions_.erase(at);
  region.released = true;
  leaving_.insert(&region);
  give_back(region);
}

// The memory goes when nobody uses it any more. Until then what peers write to it is lost.
void OfiFabric::give_back(OwnRegion& region) {
  if (region.reading > 0 || region.registered > 0) return;
  leaving_.erase(&region);
  std::byte* const begin = region.memory.data();
  ::munmap(begin, region.mapped_bytes);
  memory_.erase(begin);
}

OwnRegion* OfiFabric::region_of(const std::byte* memory) noexcept {
  auto after = memory_.upper_bound(memory);
  if (after == memory_.begin()) return nullptr;
  OwnRegion& region = std::prev(after)->second;
  return memory < region.memory.data() + region.memory.size() ? &region : nullptr;
}

Result<void> OfiFabric::listen(const Address& self) {
  if (self.node != options_.self || listening_) {
    return Error(ErrorKind::bad_argument, "an endpoint listens once, as the node that it was made for")
        .at("node " + std::to_string(self.node.value()));
  }
  auto address = resolve(self.endpoint, false);
  if (!address) return std::move(address).error();
  if (auto claimed = rendezvous_.claim(self.node); !claimed) return claimed;
  auto provider = Provider::open(options_.provider, *address);
  if (!provider) return std::move(provider).error();
  provider_ = std::move(provider).value();
  if (auto opened = provider_->listen(); !opened) return Error(std::move(opened).error()).at(self.endpoint);
  now_ = last_progress_ = clock_.now();
  listening_ = true;
  return {};
}

Result<void> OfiFabric::connect(const Address& peer) {
  if (peer.node == options_.self || !listening_) {
    return Error(ErrorKind::bad_argument, "an endpoint connects to other nodes, and listens before it connects")
        .at("node " + std::to_string(peer.node.value()));
  }
  if (auto parts = config::parse_host_port(peer.endpoint); !parts) {
    return Error(std::move(parts).error()).at("node " + std::to_string(peer.node.value()));
  }
  Node& node = nodes_[peer.node];
  node.endpoint = peer.endpoint;
  if (has_lane(peer.node, {Lane::State::up}) || node.wanted) return {};
  node.wanted = true;
  node.pause = {};
  now_ = clock_.now();
  call(peer.node, node);
  return {};
}

void OfiFabric::disconnect(PeerId peer) {
  Lane* const lane = find(peer);
  if (lane == nullptr) return;
  peers_.erase(peer);
  std::erase_if(events_, [peer](const Event& event) { return event.peer == peer; });
  nodes_[lane->node].wanted = false;
  revoke(*lane);
  say(*lane, encode(Kind::goodbye, 0), true);
  lane->state = Lane::State::closing;
  lane->deadline = clock_.now() + last_words_max;
  next_timer_ = std::min(next_timer_, lane->deadline);
  unsettled_ = true;
}

// From here on nothing of the peer lands in this process's memory.
void OfiFabric::revoke(Lane& lane) {
  for (auto& [key, registration] : std::exchange(lane.registered, {})) {
    registration.handle.reset();
    --registration.memory->registered;
    if (registration.memory->released) give_back(*registration.memory);
  }
}

Result<void> OfiFabric::expose(PeerId peer, RegionKey key, Access access) {
  const auto at = own_regions_.find(key);
  if (at == own_regions_.end()) return Error(ErrorKind::bad_argument, "this endpoint has no region of that key");
  Lane* const lane = find(peer);
  if (lane == nullptr) return {};  // its `lost` event says so
  const bool twice = std::any_of(lane->registered.begin(), lane->registered.end(),
                                 [&](const auto& each) { return each.second.region == key; });
  if (twice) return Error(ErrorKind::bad_argument, "the region is already exposed to this peer");
  auto remote_key = random_word();
  if (!remote_key) return std::move(remote_key).error();
  OwnRegion& region = *at->second;
  auto handle = provider_->register_memory(region.memory, access, *remote_key);
  if (!handle) return std::move(handle).error();
  const std::uint64_t given = fi_mr_key(handle->get());
  lane->registered.emplace(given, Lane::Registration{key, &region, access, std::move(handle).value()});
  ++region.registered;
  say(*lane, encode(Exposure{key, given, provider_->address_of(region.memory.data()), region.memory.size(), access}));
  return {};
}

Result<std::span<const std::byte>> OfiFabric::map(PeerId, RegionKey) {
  return Error(ErrorKind::unsupported, "no region of another host can be mapped");
}

void OfiFabric::unmap(PeerId peer, RegionKey region) {
  Lane* const lane = find(peer);
  if (lane == nullptr) return;
  const auto at = lane->exposed.find(region);
  if (at == lane->exposed.end()) return;
  say(*lane, encode(Kind::unmapped, at->second.remote_key));
  lane->exposed.erase(at);
}

void OfiFabric::say(Lane& lane, std::span<const std::byte> message, bool signaled) {
  Request request;
  request.signaled = signaled;
  request.kind = Request::Kind::send;
  request.bytes = message.size();
  request.owned.assign(message.begin(), message.end());
  lane.post(std::move(request));
}

Result<void> OfiFabric::check(const Operation& operation) {
  const Lane* const lane = find(operation.peer);
  if (lane == nullptr) return check_absent(operation.peer, newest_peer_);
  std::optional<ExposedRegion> target;
  if (const auto at = lane->exposed.find(operation.region); at != lane->exposed.end()) {
    target = {at->second.bytes, at->second.access};
  }
  return check_operation(operation, traits_, target);
}

// Whether it went into the message of small writes. Where the target has to act anyway to see a write, one that acts for
// several costs it less, and costs this side one system call.
bool OfiFabric::gather(const Operation& operation) {
  if (operation.kind != Operation::Kind::write || !operation.copied || operation.signaled ||
      operation.bytes > small_write_bytes_max) {
    return false;
  }
  Lane* const lane = find(operation.peer);
  if (lane == nullptr) return true;
  const Exposure& target = lane->exposed.at(operation.region);
  const SmallWrite write{target.remote_key, target.address + operation.offset, {operation.local, operation.bytes}};
  if (gathered_for_ == lane && append(gathered_, write)) return true;
  send_gathered();
  gathered_for_ = lane;
  return append(gathered_, write);
}

void OfiFabric::send_gathered() {
  if (gathered_for_ != nullptr) say(*gathered_for_, gathered_);
  gathered_for_ = nullptr;
  gathered_.clear();
}

void OfiFabric::execute(const Operation& operation, bool news) {
  Lane* const lane = find(operation.peer);
  if (lane == nullptr) return;
  Request request;
  request.signaled = operation.signaled;
  request.context = operation.context;
  request.bytes = operation.bytes;
  request.local = operation.local;
  if (operation.kind == Operation::Kind::send) {
    request.kind = Request::Kind::send;
    request.bytes = header_bytes + operation.bytes;
    request.owned.resize(request.bytes);
    const auto kind = static_cast<std::uint64_t>(Kind::user);
    std::copy_n(reinterpret_cast<const std::byte*>(&kind), header_bytes, request.owned.begin());
    std::copy_n(operation.local, operation.bytes, request.owned.begin() + header_bytes);
    return lane->post(std::move(request));
  }
  const Exposure& target = lane->exposed.at(operation.region);
  request.address = target.address + operation.offset;
  request.remote_key = target.remote_key;
  if (operation.kind == Operation::Kind::read) {
    request.kind = Request::Kind::read;
  } else {
    request.news = news;
    request.copied = operation.copied;
    // Small ones the provider copies itself, if it takes them at once.
    const bool small = operation.bytes <= provider_->info().tx_attr->inject_size;
    if (operation.copied && (operation.signaled || !small))
      request.owned.assign(operation.local, operation.local + operation.bytes);
    if (!operation.copied) request.reads = region_of(operation.local);
  }
  lane->post(std::move(request));
}

Result<void> OfiFabric::post(std::span<const Operation> operations) {
  for (const Operation& operation : operations) {
    if (auto checked = check(operation); !checked) return checked;
  }
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& operation = operations[i];
    if (gather(operation)) continue;
    send_gathered();
    const bool more = i + 1 < operations.size() && operations[i + 1].peer == operation.peer &&
                      operations[i + 1].kind != Operation::Kind::read;
    execute(operation, !more);
  }
  send_gathered();
  return {};
}

std::size_t OfiFabric::poll(std::span<Event> events) {
  if (listening_) progress();
  std::size_t count = 0;
  for (; count < events.size() && !events_.empty(); ++count) {
    events[count] = std::move(events_.front());
    events_.pop_front();
    Lane* const lane = events[count].kind == Event::Kind::message ? find(events[count].peer) : nullptr;
    if (lane == nullptr) continue;
    --lane->unheard;
    for (void* const token : std::exchange(lane->held, {})) lane->receive_again(token);
  }
  return count;
}

void OfiFabric::prepare_sleep() noexcept { asleep_.store(true, std::memory_order_seq_cst); }

void OfiFabric::cancel_sleep() noexcept { asleep_.store(false, std::memory_order_relaxed); }

// Nothing is taken from the provider between the caller's last look and the blocking: a write that lands is told by the
// provider's descriptors, once.
void OfiFabric::sleep(Time deadline) noexcept {
  const bool may_block = events_.empty() && (!listening_ || provider_->may_block());
  if (may_block) {
    const Time until = std::min(deadline, listening_ && next_timer_ != Time{} ? next_timer_ : never);
    timespec wait{};
    if (until != never) {
      const Duration left = std::max(until - clock_.now(), Duration{});
      wait.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(left).count();
      wait.tv_nsec = (left % std::chrono::seconds(1)).count();
    }
    pollfd ready[] = {{bell_.get(), POLLIN, 0},
                      {listening_ ? provider_->completions_descriptor() : -1, POLLIN, 0},
                      {listening_ ? provider_->events_descriptor() : -1, POLLIN, 0}};
    static_cast<void>(::ppoll(ready, 3, until == never ? nullptr : &wait, nullptr));
    if ((ready[0].revents & POLLIN) != 0) {
      std::uint64_t rings = 0;
      [[maybe_unused]] const auto taken = ::read(bell_.get(), &rings, sizeof rings);
    }
    passes_ = UINT32_MAX / 2;  // look at the event queue too
  }
  asleep_.store(false, std::memory_order_relaxed);
  if (listening_) progress();
}

void OfiFabric::wake() noexcept {
  if (asleep_.load(std::memory_order_seq_cst)) ring();
}

// Fails only if it has been rung 2^64 times and nobody looked.
void OfiFabric::ring() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(bell_.get(), &one, sizeof one);
}

}  // namespace spindrift::fabric::ofi

namespace spindrift::fabric {

Result<std::unique_ptr<Fabric>> make_ofi(const OfiOptions& options) {
  auto incarnation = random_word();
  if (!incarnation) return std::move(incarnation).error();
  FileDescriptor bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell) return system_error("eventfd", errno);
  auto rendezvous = Rendezvous::open(options.runtime_directory, options.group_name);
  if (!rendezvous) return std::move(rendezvous).error();
  return std::unique_ptr<Fabric>(
      std::make_unique<ofi::OfiFabric>(options, *incarnation, std::move(bell), std::move(rendezvous).value()));
}

}  // namespace spindrift::fabric
