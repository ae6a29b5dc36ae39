// The shm endpoint as its poller sees it: own regions, linked peers with their bells and regions, completions. Everything
// here belongs to the poller; the watcher hands over finished events.
#include <spindrift/fabric/shm/shm.hpp>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <spindrift/fabric/endpoint_parts.hpp>
#include <spindrift/fabric/rendezvous.hpp>
#include <spindrift/fabric/shm/bell.hpp>
#include <spindrift/fabric/shm/part.hpp>
#include <spindrift/fabric/shm/region.hpp>
#include <spindrift/fabric/shm/watcher.hpp>
#include <spindrift/fabric/word_copy.hpp>

namespace spindrift::fabric {
namespace shm {
namespace {

constexpr Traits shm_traits{
    .name = "shm",
    .ordered_writes = true,
    .needs_target_progress = false,
    .visible_on_completion = true,
    .mappable = true,
    .connectionless = false,
    .copied_bytes_max = std::numeric_limits<std::size_t>::max(),  // every write is a copy into the peer's memory
    .message_bytes_max = message_bytes_max,
    .peers_max = shm::peers_max,
};

// A new link takes some, and a member opens files now and then.
constexpr std::size_t descriptors_for_files = 16;

class ShmFabric final : public LocalPart {
 public:
  ShmFabric(const ShmOptions& options, std::uint64_t incarnation, Bell bell, Rendezvous rendezvous)
      : self_(options.self),
        meeting_place_(options.runtime_directory + "/" + options.group_name),
        bell_(std::move(bell)),
        watcher_(options.self, incarnation, bell_, std::move(rendezvous), options.audit) {
    reserve_descriptors();
  }

  [[nodiscard]] const Traits& traits() const noexcept override { return shm_traits; }
  [[nodiscard]] Result<Region> allocate(std::size_t bytes, std::string_view name) override;
  void release(RegionKey region) override;
  [[nodiscard]] Result<void> listen(const Address& self) override;
  [[nodiscard]] Result<void> connect(const Address& peer) override;
  void disconnect(PeerId peer) override;
  [[nodiscard]] Result<void> expose(PeerId peer, RegionKey region, Access access) override;
  [[nodiscard]] Result<std::span<const std::byte>> map(PeerId peer, RegionKey region) override;
  void unmap(PeerId peer, RegionKey region) override;
  [[nodiscard]] Result<void> check(std::span<const Operation> operations) override;
  [[nodiscard]] Result<void> post(std::span<const Operation> operations) override;
  [[nodiscard]] std::size_t poll(std::span<Event> events) override;
  [[nodiscard]] bool starved(PeerId peer) override;
  [[nodiscard]] Result<std::vector<NodeId>> present() const override;
  void count_in(CounterBlock* block) override { watcher_.refusals()->count_in(block); }
  void notify() noexcept override { bell_.ring(bells_); }
  void prepare_sleep() noexcept override { bell_.prepare(bells_); }
  void sleep(Time deadline) noexcept override { bell_.sleep(deadline); }
  void cancel_sleep() noexcept override { bell_.cancel(); }
  void wake() noexcept override { bell_.wake(); }
  [[nodiscard]] const std::string& meeting_place() const noexcept override { return meeting_place_; }
  void turn_away(NodeId node, std::optional<Error> why) override { watcher_.handshake()->turn_away(node, std::move(why)); }
  [[nodiscard]] Result<void> watch_beside(const Beside& others) override { return watcher_.beside().watch(others); }
  [[nodiscard]] std::uint32_t beside_ready() const noexcept override { return watcher_.beside().ready(); }
  void watch_again(std::uint32_t which) noexcept override { watcher_.beside().watch_again(which); }

 private:
  struct PeerRegion {
    PeerSegment segment;
    bool mapped = false;  ///< handed out by `map`: stays until it is unmapped, also when the peer is gone
  };
  struct KeptRegion {
    PeerSegment segment;
    bool mappable;  ///< its owner was dying, so the caller may not have heard of it yet
  };
  struct Peer {
    NodeId node;
    std::unique_ptr<PeerBell> bell;
    std::unordered_map<RegionKey, PeerRegion> regions;  ///< exposed by the peer
    std::unordered_set<RegionKey> exposed;              ///< exposed to the peer
    bool doorbell_shown = false;
  };

  /// Null if the peer is gone.
  [[nodiscard]] Peer* find(PeerId peer) noexcept;
  [[nodiscard]] Result<void> check_one(const Operation& operation);
  void execute(const Operation& operation);
  [[nodiscard]] bool note(News& news);
  void show_doorbell();
  [[nodiscard]] bool note_doorbell(News& news);
  void look_for_deaths();
  void forget(PeerId peer, bool dying = false);
  [[nodiscard]] bool note_death(Event& event);
  void reserve_descriptors();

  const NodeId self_;
  const std::string meeting_place_;
  std::unordered_map<RegionKey, OwnSegment> own_regions_;
  std::unordered_map<PeerId, Peer> peers_;
  PeerId newest_peer_;
  std::vector<const PeerBell*> bells_;                        ///< of all linked peers, as `Bell::prepare` wants them
  std::map<std::pair<PeerId, RegionKey>, KeptRegion> kept_;  ///< regions of lost peers that somebody may still read
  std::map<PeerId, std::unique_ptr<PeerBell>> dying_;         ///< of lost peers whose processes still end
  std::deque<Event> completions_;
  Bell bell_;
  Watcher watcher_;
};

ShmFabric::Peer* ShmFabric::find(PeerId peer) noexcept {
  const auto at = peers_.find(peer);
  return at == peers_.end() ? nullptr : &at->second;
}

Result<Region> ShmFabric::allocate(std::size_t bytes, std::string_view name) {
  SPINDRIFT_TRY_ASSIGN(const std::uint64_t key, random_word());
  SPINDRIFT_TRY_ASSIGN(OwnSegment segment, OwnSegment::create(bytes, name));
  const auto [at, fresh] = own_regions_.emplace(RegionKey(key), std::move(segment));
  if (!fresh) return Error(ErrorKind::resource, "the kernel gave the same random number twice");
  reserve_descriptors();
  return Region{at->first, at->second.memory()};
}

void ShmFabric::release(RegionKey region) {
  const auto at = own_regions_.find(region);
  if (at == own_regions_.end()) return;
  for (auto& [id, peer] : peers_) peer.exposed.erase(region);
  watcher_.defer_unmap(std::move(at->second).into_mapping());
  own_regions_.erase(at);
  reserve_descriptors();
}

// A view's regions stand beside those of the next one for a while.
void ShmFabric::reserve_descriptors() { watcher_.handshake()->keep_free(own_regions_.size() + descriptors_for_files); }

Result<void> ShmFabric::listen(const Address& self) {
  if (self.node != self_ || watcher_.started()) {
    return Error(ErrorKind::bad_argument, "an shm endpoint listens once, as the node that it was made for")
        .at("node " + std::to_string(self.node.value()));
  }
  return watcher_.start(self_);
}

Result<void> ShmFabric::connect(const Address& peer) {
  if (peer.node == self_ || !watcher_.started()) {
    return Error(ErrorKind::bad_argument, "an shm endpoint connects to other nodes, and listens before it connects")
        .at("node " + std::to_string(peer.node.value()));
  }
  return watcher_.handshake()->connect(peer.node);
}

void ShmFabric::disconnect(PeerId peer) {
  watcher_.handshake()->disconnect(peer);
  forget(peer);
}

Result<void> ShmFabric::expose(PeerId peer, RegionKey region, Access access) {
  const auto at = own_regions_.find(region);
  if (at == own_regions_.end()) return Error(ErrorKind::bad_argument, "this endpoint has no region of that key");
  Peer* to = find(peer);
  if (to == nullptr) return {};  // its `lost` event says so
  OwnSegment& segment = at->second;
  SPINDRIFT_TRY(segment.seal(access));
  if (!to->exposed.insert(region).second) {
    return Error(ErrorKind::bad_argument, "the region is already exposed to this peer");
  }
  watcher_.links()->send_exposure(peer, {region, segment.memory().size(), access}, segment.descriptor());
  return {};
}

Result<std::span<const std::byte>> ShmFabric::map(PeerId peer, RegionKey region) {
  Peer* from = find(peer);
  if (const auto kept = kept_.find({peer, region}); kept != kept_.end() && kept->second.mappable)
    return std::span<const std::byte>(kept->second.segment.memory());
  if (from == nullptr) return Error(ErrorKind::bad_argument, "the peer is gone");
  const auto at = from->regions.find(region);
  if (at == from->regions.end() || at->second.segment.access() != Access::read) return not_exposed("reading");
  at->second.mapped = true;
  return std::span<const std::byte>(at->second.segment.memory());
}

void ShmFabric::unmap(PeerId peer, RegionKey region) {
  if (const auto kept = kept_.find({peer, region}); kept != kept_.end()) {
    watcher_.defer_unmap(std::move(kept->second.segment).into_mapping());
    kept_.erase(kept);
  }
  Peer* from = find(peer);
  if (from == nullptr) return;
  const auto at = from->regions.find(region);
  if (at == from->regions.end()) return;
  watcher_.links()->give_back(peer, region);
  watcher_.defer_unmap(std::move(at->second.segment).into_mapping());
  from->regions.erase(at);
}

Result<void> ShmFabric::check_one(const Operation& operation) {
  const Peer* const peer = find(operation.peer);
  if (peer == nullptr) return check_absent(operation.peer, newest_peer_);
  std::optional<ExposedRegion> target;
  if (const auto at = peer->regions.find(operation.region); at != peer->regions.end()) {
    target = {at->second.segment.memory().size(), at->second.segment.access()};
  }
  return check_operation(operation, shm_traits, target);
}

void ShmFabric::execute(const Operation& operation) {
  Peer* peer = find(operation.peer);
  if (peer == nullptr) return;
  if (operation.kind == Operation::Kind::send) {
    watcher_.links()->send_message(operation.peer, std::span<const std::byte>(operation.local, operation.bytes));
  } else {
    std::byte* const remote = peer->regions.at(operation.region).segment.memory().data() + operation.offset;
    if (operation.kind == Operation::Kind::write) copy_to_shared(remote, operation.local, operation.bytes);
    if (operation.kind == Operation::Kind::read) copy_from_shared(operation.local, remote, operation.bytes);
  }
  if (!operation.signaled) return;
  completions_.push_back(
      {.kind = Event::Kind::completed, .peer = operation.peer, .node = peer->node, .context = operation.context});
}

Result<void> ShmFabric::check(std::span<const Operation> operations) {
  for (const Operation& operation : operations) SPINDRIFT_TRY(check_one(operation));
  return {};
}

Result<void> ShmFabric::post(std::span<const Operation> operations) {
  SPINDRIFT_TRY(check(operations));
  bool wrote = false;
  for (const Operation& operation : operations) {
    execute(operation);
    wrote = wrote || operation.kind == Operation::Kind::write;
  }
  if (wrote) notify();
  return {};
}

std::size_t ShmFabric::poll(std::span<Event> events) {
  look_for_deaths();
  std::size_t count = 0;
  for (; count < events.size() && !completions_.empty(); ++count) {
    events[count] = std::move(completions_.front());
    completions_.pop_front();
  }
  while (count < events.size() && watcher_.has_news()) {
    auto news = watcher_.links()->take();
    if (!news) break;
    if (note(*news)) events[count++] = std::move(news->event);
  }
  return count;
}

// This process's own watcher may be the one that waits, with what the peer has said long ago.
bool ShmFabric::starved(PeerId peer) {
  const Peer* const of = find(peer);
  const auto process = watcher_.links()->process_of(peer);
  if (of == nullptr || !process) return false;
  return waits_for_machine(*process, of->bell->poller()) || waits_for_machine(*process, of->bell->watcher()) ||
         waits_for_machine(::getpid(), bell_.watcher());
}

// A node that looks for a group beside many others is linked with most of them already.
Result<std::vector<NodeId>> ShmFabric::present() const {
  std::unordered_set<NodeId> linked;
  for (const PeerBell* const bell : bells_) linked.insert(bell->node());
  return watcher_.rendezvous().others([&](NodeId node) { return linked.contains(node); });
}

void ShmFabric::look_for_deaths() {
  for (const PeerBell* bell : bells_) {
    if (!bell->owner_died()) continue;
    bell->tell_others();
    const auto owner =
        std::find_if(peers_.begin(), peers_.end(), [bell](const auto& each) { return each.second.bell.get() == bell; });
    watcher_.on_owner_died(owner->first);
  }
}

/// Takes note of an event at this side before the caller sees it. Whether it is to be seen.
bool ShmFabric::note(News& news) {
  Event& event = news.event;
  if (news.kind != News::Kind::event) return note_doorbell(news);
  switch (event.kind) {
    case Event::Kind::connected: {
      event.mappable = true;  // every peer is on this host
      Peer& peer = peers_[event.peer];
      peer.node = event.node;
      peer.bell = std::make_unique<PeerBell>(std::move(*news.segment), event.node);
      const auto behind = [this](const PeerBell* bell) { return bell->node().value() - self_.value(); };
      bells_.insert(std::ranges::upper_bound(bells_, behind(peer.bell.get()), {}, behind), peer.bell.get());
      newest_peer_ = event.peer;
      show_doorbell();
      return true;
    }
    case Event::Kind::exposed:
      peers_.at(event.peer).regions.try_emplace(event.region, PeerRegion{std::move(*news.segment)});
      return true;
    case Event::Kind::lost:
      if (Peer* const peer = find(event.peer); peer != nullptr && event.dying)
        dying_.emplace(event.peer, std::make_unique<PeerBell>(std::move(*peer->bell)));
      forget(event.peer, event.dying);
      return true;
    case Event::Kind::died: return note_death(event);
    case Event::Kind::message:
    case Event::Kind::completed:
    case Event::Kind::ended: return true;
  }
  return true;
}

/// Once there are many peers, all are shown the own doorbell.
void ShmFabric::show_doorbell() {
  if (bells_.size() < doorbells_from) return;
  for (auto& [id, peer] : peers_) {
    if (!peer.bell->takes_doorbells() || std::exchange(peer.doorbell_shown, true)) continue;
    watcher_.links()->send_doorbell(id, bell_.doorbell_descriptor());
  }
}

/// Nothing of it is the caller's. A peer hears that its doorbell is taken once this poller would use it.
bool ShmFabric::note_doorbell(News& news) {
  Peer* const peer = find(news.event.peer);
  if (peer == nullptr) return false;
  if (news.kind == News::Kind::doorbell_taken) {
    peer->bell->set_rings_doorbell();
  } else {
    peer->bell->set_doorbell(std::move(*news.segment));
    watcher_.links()->send_doorbell_taken(news.event.peer);
  }
  return false;
}

/// Whether the caller was told that the peer is dying.
bool ShmFabric::note_death(Event& event) {
  const auto bell = dying_.extract(event.peer);
  if (bell.empty()) return false;
  event.complete = bell.mapped()->said_all();
  return true;
}

// The caller may not know yet what a peer that dies has shown; it gives that back.
void ShmFabric::forget(PeerId peer, bool dying) {
  const auto at = peers_.find(peer);
  if (at == peers_.end()) return;
  std::erase(bells_, at->second.bell.get());
  for (auto& [key, region] : at->second.regions) {
    if (region.mapped || dying) {
      const bool mappable = dying && region.segment.access() == Access::read;
      kept_.emplace(std::pair{peer, key}, KeptRegion{std::move(region.segment), mappable});
    } else {
      watcher_.defer_unmap(std::move(region.segment).into_mapping());
    }
  }
  std::erase_if(completions_, [peer](const Event& event) { return event.peer == peer; });
  peers_.erase(at);
}

}  // namespace

Result<std::unique_ptr<LocalPart>> make_part(const ShmOptions& options) {
  SPINDRIFT_TRY_ASSIGN(Bell bell, Bell::create());
  SPINDRIFT_TRY_ASSIGN(Rendezvous rendezvous, Rendezvous::open(options.runtime_directory, options.group_name));
  SPINDRIFT_TRY_ASSIGN(const std::uint64_t incarnation, random_word());
  return std::unique_ptr<LocalPart>(
      std::make_unique<ShmFabric>(options, incarnation, std::move(bell), std::move(rendezvous)));
}

}  // namespace shm

Result<std::unique_ptr<Fabric>> make_shm(const ShmOptions& options) {
  SPINDRIFT_TRY_ASSIGN(std::unique_ptr<Fabric> part, shm::make_part(options));
  return part;
}

}  // namespace spindrift::fabric
