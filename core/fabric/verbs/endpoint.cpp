// Regions, operations and sleeping over verbs.
#include <spindrift/core/fabric/verbs/endpoint.hpp>

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

namespace spindrift::fabric::verbs {
namespace {

using connected::header_bytes;

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t peers_max = 1024;
constexpr auto last_words_max = std::chrono::milliseconds(250);

constexpr Traits traits_of_verbs{.name = "verbs",
                                 .ordered_writes = true,
                                 .needs_target_progress = false,
                                 // The peer's device has the bytes then; they may still be on their way to its memory.
                                 .visible_on_completion = false,
                                 .mappable = false,
                                 .connectionless = false,
                                 .copied_bytes_max = std::numeric_limits<std::size_t>::max(),
                                 .message_bytes_max = connected::message_bytes_max,
                                 .peers_max = peers_max};

}  // namespace

VerbsFabric::VerbsFabric(const VerbsOptions& options, std::uint64_t incarnation, FileDescriptor bell,
                         Rendezvous rendezvous)
    : options_(options),
      incarnation_(incarnation),
      traits_(traits_of_verbs),
      bell_(std::move(bell)),
      rendezvous_(std::move(rendezvous)),
      resolver_([this] { ring(); }) {}

// What was said last is still handed over, if the peers take it; who calls now is turned away.
VerbsFabric::~VerbsFabric() {
  ends_ = true;
  std::vector<PeerId> left;
  for (const auto& [peer, lane] : peers_) left.push_back(peer);
  for (const PeerId peer : left) disconnect(peer);
  const auto speaks = [](const auto& lane) { return lane->state == Lane::State::closing; };
  const Time limit = clock_.now() + last_words_max;
  while (std::any_of(lanes_.begin(), lanes_.end(), speaks) && clock_.now() < limit) {
    device_->arm();
    progress();
    pollfd ready{device_->completions_descriptor(), POLLIN, 0};
    if (std::any_of(lanes_.begin(), lanes_.end(), speaks)) static_cast<void>(::poll(&ready, 1, 1));
    device_->disarm();
  }
  lanes_.clear();
  if (listening_) drain_events();
  for (auto& [begin, region] : memory_) {
    region.registered.reset();
    ::munmap(region.memory.data(), region.mapped_bytes);
  }
}

Lane* VerbsFabric::find(PeerId peer) noexcept {
  const auto at = peers_.find(peer);
  return at == peers_.end() ? nullptr : at->second;
}

Result<Region> VerbsFabric::allocate(std::size_t bytes, std::string_view name) {
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

void VerbsFabric::release(RegionKey key) {
  const auto at = own_regions_.find(key);
  if (at == own_regions_.end()) return;
  OwnRegion& region = *at->second;
  own_regions_.erase(at);
  region.released = true;
  if (region.reading > 0) {  // their end is told by nothing, unless it is asked for
    for (const auto& lane : lanes_) {
      lane->mark();
      lane->ring();
    }
  }
  give_back(region);
}

// The memory goes when nobody uses it any more. Until then what peers write to it is lost.
void VerbsFabric::give_back(OwnRegion& region) {
  if (region.reading > 0 || region.granted > 0) return;
  for (const auto& lane : lanes_) lane->forget_source(region);
  region.registered.reset();
  std::byte* const begin = region.memory.data();
  ::munmap(begin, region.mapped_bytes);
  memory_.erase(begin);
}

OwnRegion* VerbsFabric::region_of(const std::byte* memory, std::size_t bytes) noexcept {
  auto after = memory_.upper_bound(memory);
  if (after == memory_.begin()) return nullptr;
  OwnRegion& region = std::prev(after)->second;
  const auto offset = static_cast<std::size_t>(memory - region.memory.data());
  return offset <= region.memory.size() && bytes <= region.memory.size() - offset ? &region : nullptr;
}

Result<void> VerbsFabric::listen(const Address& self) {
  if (self.node != options_.self || listening_) {
    return Error(ErrorKind::bad_argument, "an endpoint listens once, as the node that it was made for")
        .at("node " + std::to_string(self.node.value()));
  }
  auto address = connected::resolve(self.endpoint, false);
  if (!address) return std::move(address).error();
  if (auto claimed = rendezvous_.claim(self.node); !claimed) return claimed;
  auto device = Device::open(*address, options_.memory_windows);
  if (!device) return Error(std::move(device).error()).at(self.endpoint);
  device_ = std::move(device).value();
  if (auto opened = device_->listen(); !opened) return Error(std::move(opened).error()).at(self.endpoint);
  device_->tell_choices();
  now_ = last_progress_ = clock_.now();
  listening_ = true;
  return {};
}

Result<void> VerbsFabric::connect(const Address& peer) {
  if (peer.node == options_.self || !listening_) {
    return Error(ErrorKind::bad_argument, "an endpoint connects to other nodes, and listens before it connects")
        .at("node " + std::to_string(peer.node.value()));
  }
  if (auto parts = config::parse_host_port(peer.endpoint); !parts) {
    return Error(std::move(parts).error()).at("node " + std::to_string(peer.node.value()));
  }
  Node& node = nodes_[peer.node];
  node.endpoint = peer.endpoint;
  const bool linked = std::any_of(lanes_.begin(), lanes_.end(), [&](const auto& lane) {
    return lane->node == peer.node && lane->state == Lane::State::up;
  });
  if (linked || node.wanted) return {};
  node.wanted = true;
  node.pause = {};
  now_ = clock_.now();
  call(peer.node, node);
  return {};
}

void VerbsFabric::disconnect(PeerId peer) {
  Lane* const lane = find(peer);
  if (lane == nullptr) return;
  peers_.erase(peer);
  std::erase_if(events_, [peer](const Event& event) { return event.peer == peer; });
  nodes_[lane->node].wanted = false;
  revoke(*lane);
  say(*lane, connected::encode(connected::Kind::goodbye, 0), true);
  lane->ring();
  lane->state = Lane::State::closing;
  lane->deadline = clock_.now() + last_words_max;
  next_timer_ = std::min(next_timer_, lane->deadline);
  unsettled_ = true;
}

// From here on nothing of the peer lands in this process's memory.
void VerbsFabric::revoke(Lane& lane) {
  while (!lane.granted.empty()) {
    OwnRegion* const region = lane.revoke(lane.granted.begin()->first);
    if (region->released) give_back(*region);
  }
}

Result<void> VerbsFabric::expose(PeerId peer, RegionKey key, Access access) {
  const auto at = own_regions_.find(key);
  if (at == own_regions_.end()) return Error(ErrorKind::bad_argument, "this endpoint has no region of that key");
  Lane* const lane = find(peer);
  if (lane == nullptr) return {};  // its `lost` event says so
  const bool twice =
      std::any_of(lane->granted.begin(), lane->granted.end(), [&](const auto& each) { return each.second.region == key; });
  if (twice) return Error(ErrorKind::bad_argument, "the region is already exposed to this peer");
  auto exposure = lane->grant(key, *at->second, access);
  if (!exposure) return std::move(exposure).error();
  say(*lane, connected::encode(*exposure));
  lane->ring();
  return {};
}

Result<std::span<const std::byte>> VerbsFabric::map(PeerId, RegionKey) {
  return Error(ErrorKind::unsupported, "no region of another host can be mapped");
}

void VerbsFabric::unmap(PeerId peer, RegionKey region) {
  Lane* const lane = find(peer);
  if (lane == nullptr) return;
  const auto at = lane->exposed.find(region);
  if (at == lane->exposed.end()) return;
  say(*lane, connected::encode(connected::Kind::unmapped, at->second.remote_key));
  lane->ring();
  lane->exposed.erase(at);
}

// In as many parts as it takes.
void VerbsFabric::say(Lane& lane, std::span<const std::byte> message, bool signaled, std::uint64_t context) {
  for (std::size_t done = 0; done < message.size();) {
    const auto part = message.subspan(done, std::min<std::size_t>(message.size() - done, buffer_bytes));
    done += part.size();
    Request request;
    request.kind = Request::Kind::send;
    request.more = done < message.size();
    request.signaled = signaled && !request.more;
    request.context = context;
    request.bytes = static_cast<std::uint32_t>(part.size());
    request.owned.assign(part.begin(), part.end());
    lane.post(std::move(request));
  }
}

Result<void> VerbsFabric::check(const Operation& operation) {
  Lane* const lane = find(operation.peer);
  if (lane == nullptr) return check_absent(operation.peer, newest_peer_);
  std::optional<ExposedRegion> target;
  if (const auto at = lane->exposed.find(operation.region); at != lane->exposed.end())
    target = ExposedRegion{at->second.bytes, at->second.access};
  if (auto checked = check_operation(operation, traits_, target); !checked) return checked;
  if (operation.copied || operation.kind == Operation::Kind::send) return {};
  OwnRegion* const source = region_of(operation.local, operation.bytes);
  return source == nullptr ? Result<void>() : lane->make_source(*source);
}

void VerbsFabric::execute(const Operation& operation) {
  Lane* const lane = find(operation.peer);
  if (lane == nullptr) return;
  if (std::find(rung_.begin(), rung_.end(), lane) == rung_.end()) rung_.push_back(lane);
  if (operation.kind == Operation::Kind::send) {
    std::vector<std::byte> message(header_bytes + operation.bytes);
    const auto kind = static_cast<std::uint64_t>(connected::Kind::user);
    std::copy_n(reinterpret_cast<const std::byte*>(&kind), header_bytes, message.begin());
    std::copy_n(operation.local, operation.bytes, message.begin() + header_bytes);
    return say(*lane, message, operation.signaled, operation.context);
  }
  const Exposure& target = lane->exposed.at(operation.region);
  OwnRegion* const region = operation.copied ? nullptr : region_of(operation.local, operation.bytes);
  const std::uint64_t piece_max = region == nullptr ? staged_bytes_max : device_->limits().operation_bytes_max;
  std::uint64_t done = 0;
  do {
    Request request;
    request.kind = operation.kind == Operation::Kind::read ? Request::Kind::read : Request::Kind::write;
    request.copied = operation.copied;
    request.local = operation.local + done;
    request.bytes = static_cast<std::uint32_t>(std::min(operation.bytes - done, piece_max));
    request.address = target.address + operation.offset + done;
    request.remote_key = static_cast<std::uint32_t>(target.remote_key);
    request.region = region;
    done += request.bytes;
    request.signaled = operation.signaled && done == operation.bytes;
    request.context = operation.context;
    lane->post(std::move(request));
  } while (done < operation.bytes);
}

Result<void> VerbsFabric::post(std::span<const Operation> operations) {
  for (const Operation& operation : operations) {
    if (auto checked = check(operation); !checked) return checked;
  }
  rung_.clear();
  for (const Operation& operation : operations) execute(operation);
  for (Lane* const lane : rung_) lane->ring();
  return {};
}

std::size_t VerbsFabric::poll(std::span<Event> events) {
  if (listening_) progress();
  std::size_t count = 0;
  for (; count < events.size() && !events_.empty(); ++count) {
    events[count] = std::move(events_.front());
    events_.pop_front();
    Lane* const lane = events[count].kind == Event::Kind::message ? find(events[count].peer) : nullptr;
    if (lane == nullptr) continue;
    --lane->unheard;
    for (const std::uint32_t buffer : std::exchange(lane->held, {})) lane->give_back(buffer);
  }
  return count;
}

// The descriptor is armed before the caller's last look, so that what comes after it is told.
void VerbsFabric::prepare_sleep() noexcept {
  asleep_.store(true, std::memory_order_seq_cst);
  if (listening_) device_->arm();
}

void VerbsFabric::cancel_sleep() noexcept { asleep_.store(false, std::memory_order_relaxed); }

// What came before the descriptor was armed, and was not looked at, is no reason to sleep either.
void VerbsFabric::sleep(Time deadline) noexcept {
  const bool news = listening_ && drain_completions();
  if (!news && events_.empty()) {
    const Time until = std::min(deadline, listening_ && next_timer_ != Time{} ? next_timer_ : never);
    timespec wait{};
    if (until != never) {
      const Duration left = std::max(until - clock_.now(), Duration{});
      wait.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(left).count();
      wait.tv_nsec = (left % std::chrono::seconds(1)).count();
    }
    pollfd ready[] = {{bell_.get(), POLLIN, 0},
                      {listening_ ? device_->completions_descriptor() : -1, POLLIN, 0},
                      {listening_ ? device_->events_descriptor() : -1, POLLIN, 0}};
    static_cast<void>(::ppoll(ready, 3, until == never ? nullptr : &wait, nullptr));
    if ((ready[0].revents & POLLIN) != 0) {
      std::uint64_t rings = 0;
      [[maybe_unused]] const auto taken = ::read(bell_.get(), &rings, sizeof rings);
    }
    if ((ready[1].revents & POLLIN) != 0) device_->disarm();
    passes_ = UINT32_MAX / 2;  // look at the event channel too
  }
  asleep_.store(false, std::memory_order_relaxed);
  if (listening_) progress();
}

void VerbsFabric::wake() noexcept {
  if (asleep_.load(std::memory_order_seq_cst)) ring();
}

// Fails only if it has been rung 2^64 times and nobody looked.
void VerbsFabric::ring() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(bell_.get(), &one, sizeof one);
}

}  // namespace spindrift::fabric::verbs

namespace spindrift::fabric {

Result<std::unique_ptr<Fabric>> make_verbs(const VerbsOptions& options) {
  if (auto loaded = verbs::library(); !loaded) return std::move(loaded).error();
  auto incarnation = random_word();
  if (!incarnation) return std::move(incarnation).error();
  FileDescriptor bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell) return system_error("eventfd", errno);
  auto rendezvous = Rendezvous::open(options.runtime_directory, options.group_name);
  if (!rendezvous) return std::move(rendezvous).error();
  return std::unique_ptr<Fabric>(
      std::make_unique<verbs::VerbsFabric>(options, *incarnation, std::move(bell), std::move(rendezvous).value()));
}

}  // namespace spindrift::fabric
