// Regions, peers, messages and sleep, as the caller asks for them.
#include <spindrift/fabric/connected/endpoint.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include <spindrift/core/check.hpp>
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

}  // namespace

Result<Beginning> make_part_beginning() {
  auto incarnation = random_word();
  if (!incarnation) return std::move(incarnation).error();
  FileDescriptor bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell) return system_error("eventfd", errno);
  return Beginning{*incarnation, std::move(bell), std::nullopt, private_mappings()};
}

Result<Beginning> make_beginning(const std::string& runtime_directory, const std::string& group_name) {
  auto beginning = make_part_beginning();
  if (!beginning) return beginning;
  auto rendezvous = Rendezvous::open(runtime_directory, group_name);
  if (!rendezvous) return std::move(rendezvous).error();
  beginning->rendezvous.emplace(std::move(rendezvous).value());
  return beginning;
}

const SystemClock Endpoint::system_clock;

Endpoint::Endpoint(NodeId self, Duration silence_max, Character character, Beginning beginning, const Clock& clock)
    : self_(self),
      silence_max_(silence_max),
      character_(std::move(character)),
      incarnation_(beginning.incarnation),
      traits_(traits_of(character_)),
      clock_(clock),
      bell_(std::move(beginning.bell)),
      rendezvous_(std::move(beginning.rendezvous)),
      regions_(std::move(beginning.memory),
               [this](const OwnRegion& region) {
                 for (const auto& lane : lanes_) lane->forget(region);
               }),
      resolver_([this] { ring(); }) {}

Endpoint::~Endpoint() { CHECK(lanes_.empty()); }

void Endpoint::end() {
  ends_ = true;
  for (auto& [id, node] : nodes_) node.wanted = false;
  std::vector<PeerId> left;
  for (const auto& [peer, lane] : peers_) left.push_back(peer);
  for (const PeerId peer : left) disconnect(peer);
  const auto speaks = [this] {
    return std::any_of(lanes_.begin(), lanes_.end(), [](const auto& lane) { return lane->state == Lane::State::closing; });
  };
  const Time limit = clock_.now() + last_words_max;
  while (speaks() && clock_.now() < limit) {
    arm();
    progress();
    if (!speaks() || !may_block()) continue;
    pollfd ready{descriptors_.completions, POLLIN, 0};
    static_cast<void>(::poll(&ready, 1, 1));
    if ((ready.revents & POLLIN) != 0) disarm();
  }
  for (const auto& lane : std::exchange(lanes_, {})) {
    on_gone(*lane);
    lane->close();
  }
  if (listening_) take_reports();
  shut();
  regions_.clear();
}

std::uint64_t Endpoint::unsent_bytes(PeerId peer) const noexcept {
  const auto at = peers_.find(peer);
  return at == peers_.end() ? 0 : at->second->unsent_bytes;
}

Lane* Endpoint::find(PeerId peer) noexcept {
  const auto at = peers_.find(peer);
  return at == peers_.end() ? nullptr : at->second;
}

Result<Region> Endpoint::allocate(std::size_t bytes, std::string_view name) { return regions_.allocate(bytes, name); }

// Until the memory goes, what peers write to it is lost.
void Endpoint::release(RegionKey key) {
  OwnRegion* const region = regions_.release(key);
  if (region == nullptr) return;
  if (region->reading > 0) {
    for (const auto& lane : lanes_) lane->mark();
  }
  regions_.settle(*region);
}

Result<void> Endpoint::listen(const Address& self) {
  if (self.node != self_ || listening_) {
    return Error(ErrorKind::bad_argument, "an endpoint listens once, as the node that it was made for")
        .at("node " + std::to_string(self.node.value()));
  }
  auto address = resolve(self.endpoint, false);
  if (!address) return std::move(address).error();
  if (rendezvous_) {
    if (auto claimed = rendezvous_->claim(self.node); !claimed) return claimed;
  }
  auto opened = open(*address);
  if (!opened) return Error(std::move(opened).error()).at(self.endpoint);
  descriptors_ = *opened;
  now_ = last_progress_ = awake_ = clock_.now();
  listening_ = true;
  return {};
}

Result<void> Endpoint::connect(const Address& peer) {
  if (peer.node == self_ || !listening_) {
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

// Rights end first: from then on no write of the peer begins to land in this process's memory; and one that had begun lands
// in memory that waits for the end of the lane.
void Endpoint::disconnect(PeerId peer) {
  Lane* const lane = find(peer);
  if (lane == nullptr) return;
  peers_.erase(peer);
  std::erase_if(events_, [peer](const Event& event) { return event.peer == peer; });
  nodes_[lane->node].wanted = false;
  lane->take_rights_back();
  regions_.settle_released();
  lane->say(encode(Kind::goodbye, 0), true);
  lane->state = Lane::State::closing;
  lane->deadline = clock_.now() + last_words_max;
  next_timer_ = std::min(next_timer_, lane->deadline);
  unsettled_ = true;
}

Result<void> Endpoint::expose(PeerId peer, RegionKey key, Access access) {
  OwnRegion* const region = regions_.find(key);
  if (region == nullptr) return Error(ErrorKind::bad_argument, "this endpoint has no region of that key");
  Lane* const lane = find(peer);
  if (lane == nullptr) return {};  // its `lost` event says so
  const bool twice =
      std::any_of(lane->granted.begin(), lane->granted.end(), [&](const auto& each) { return each.second.region == key; });
  if (twice) return Error(ErrorKind::bad_argument, "the region is already exposed to this peer");
  auto exposure = lane->grant(key, *region, access);
  if (!exposure) return std::move(exposure).error();
  lane->say(encode(*exposure), false);
  return {};
}

Result<std::span<const std::byte>> Endpoint::map(PeerId, RegionKey) {
  return Error(ErrorKind::unsupported, "no region of another host can be mapped");
}

void Endpoint::unmap(PeerId peer, RegionKey region) {
  Lane* const lane = find(peer);
  if (lane == nullptr) return;
  const auto at = lane->exposed.find(region);
  if (at == lane->exposed.end()) return;
  lane->say(encode(Kind::unmapped, at->second.remote_key), false);
  lane->exposed.erase(at);
}

Result<void> Endpoint::check_one(const Operation& operation) {
  const Lane* const lane = find(operation.peer);
  if (lane == nullptr) return check_absent(operation.peer, newest_peer_);
  std::optional<ExposedRegion> target;
  if (const auto at = lane->exposed.find(operation.region); at != lane->exposed.end())
    target = ExposedRegion{at->second.bytes, at->second.access};
  return check_operation(operation, traits_, target);
}

Result<void> Endpoint::check(std::span<const Operation> operations) {
  for (const Operation& operation : operations) {
    if (auto checked = check_one(operation); !checked) return checked;
  }
  return {};
}

void Endpoint::completed(Lane& lane, std::uint64_t context) {
  if (lane.state != Lane::State::up) return;
  Event done;
  done.kind = Event::Kind::completed;
  done.context = context;
  tell(lane, std::move(done));
}

void Endpoint::message_came(Lane& lane, std::span<const std::byte> message) {
  lane.heard = now_;
  const auto control = decode_control(message);
  if (!control) return lane.break_down("it does not keep to the protocol of connections");
  if (lane.state != Lane::State::closing) on_control(lane, *control);
}

void Endpoint::on_control(Lane& lane, const Control& control) {
  Event event;
  switch (control.kind) {
    case Kind::alive: return;
    case Kind::goodbye: lane.goodbye = true; return;
    case Kind::user:
      event.kind = Event::Kind::message;
      event.bytes.assign(control.payload.begin(), control.payload.end());
      ++lane.unheard;
      return tell(lane, std::move(event));
    case Kind::writes: return on_writes(lane, control.payload);
    case Kind::exposed:
      if (control.exposure.remote_key > character_.remote_key_max || lane.exposed.size() == regions_per_peer_max ||
          !lane.exposed.emplace(control.exposure.region, control.exposure).second)
        return lane.break_down("it exposed too many regions, one twice, or under no key of this transport");
      event.kind = Event::Kind::exposed;
      event.region = control.exposure.region;
      event.region_bytes = control.exposure.bytes;
      event.access = control.exposure.access;
      return tell(lane, std::move(event));
    case Kind::unmapped: {
      OwnRegion* const region = lane.revoke(control.remote_key);
      if (region == nullptr) return lane.break_down("it gave back a region that it did not have");
      return settle(*region);
    }
  }
}

void Endpoint::tell(Lane& lane, Event event) {
  event.node = lane.node;
  if (lane.state != Lane::State::up) return lane.early.push_back(std::move(event));
  event.peer = lane.peer;
  events_.push_back(std::move(event));
}

std::size_t Endpoint::poll(std::span<Event> events) {
  if (listening_) progress();
  std::size_t count = 0;
  for (; count < events.size() && !events_.empty(); ++count) {
    events[count] = std::move(events_.front());
    events_.pop_front();
    Lane* const lane = events[count].kind == Event::Kind::message ? find(events[count].peer) : nullptr;
    if (lane == nullptr) continue;
    --lane->unheard;
    lane->resume();
  }
  return count;
}

// Armed before the caller's last look, so that what comes after it is told.
void Endpoint::prepare_sleep() noexcept {
  asleep_.store(true, std::memory_order_seq_cst);
  if (listening_) arm();
}

void Endpoint::cancel_sleep() noexcept {
  asleep_.store(false, std::memory_order_relaxed);
  awake_ = clock_.now();
}

// What came before the caller's last look and was not looked at is no reason to sleep either.
void Endpoint::sleep(Time deadline) noexcept {
  const bool quiet = !listening_ || may_block();
  if (quiet && events_.empty()) {
    const Time until = std::min(deadline, next_timer());
    timespec wait{};
    if (until != never) {
      const Duration left = std::max(until - clock_.now(), Duration{});
      wait.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(left).count();
      wait.tv_nsec = (left % std::chrono::seconds(1)).count();
    }
    pollfd ready[] = {{bell_.get(), POLLIN, 0}, {descriptors_.completions, POLLIN, 0}, {descriptors_.reports, POLLIN, 0}};
    static_cast<void>(::ppoll(ready, 3, until == never ? nullptr : &wait, nullptr));
    take_signals((ready[0].revents & POLLIN) != 0, (ready[1].revents & POLLIN) != 0);
  }
  cancel_sleep();
  if (listening_) progress();
}

void Endpoint::take_signals(bool bell, bool completions) noexcept {
  if (bell) {
    std::uint64_t rings = 0;
    [[maybe_unused]] const auto taken = ::read(bell_.get(), &rings, sizeof rings);
  }
  if (completions) disarm();
  expect_reports();
}

void Endpoint::wake() noexcept {
  if (asleep_.load(std::memory_order_seq_cst)) ring();
}

// Fails only if it has been rung 2^64 times and nobody looked.
void Endpoint::ring() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(bell_.get(), &one, sizeof one);
}

}  // namespace spindrift::fabric::connected
