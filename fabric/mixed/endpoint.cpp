// The endpoint of two parts. A peer's id says which part has it; all else that names something means the same to both. The
// far part is looked at with connections in every pass, without them when a descriptor or a timer says so, so that a group
// that is all on one host pays for shm alone.
//
// The invariant to remember: a node is reached in one way only. The part that is not to have it turns it away.

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/core/config/addresses.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/fabric/mixed/mixed.hpp>

namespace spindrift::fabric::mixed {
namespace {

/// A call that failed is repeated 20 ms later at the earliest.
constexpr std::uint32_t passes_between_looks = 16;

Traits traits_of(std::string_view name, const Traits& near, const Traits& far) {
  return {.name = name,
          .ordered_writes = near.ordered_writes && far.ordered_writes,
          .needs_target_progress = near.needs_target_progress || far.needs_target_progress,
          .visible_on_completion = near.visible_on_completion && far.visible_on_completion,
          .mappable = near.mappable,
          .connectionless = false,
          .copied_bytes_max = std::min(near.copied_bytes_max, far.copied_bytes_max),
          .message_bytes_max = std::min(near.message_bytes_max, far.message_bytes_max),
          .peers_max = far.peers_max,
          .buffered_bytes = far.buffered_bytes};
}

/// The near part's memory, which it has to keep while the far part may use it.
class Kept final : public connected::Registration {
 public:
  Kept(Part& owner, RegionKey region) noexcept : owner_(owner), region_(region) {}
  ~Kept() override { owner_.release(region_); }

 private:
  Part& owner_;
  const RegionKey region_;
};

std::string host_of(const Address& address) {
  const auto parts = config::parse_host_port(address.endpoint);
  return parts ? parts->host : address.endpoint;
}

class MixedFabric final : public Fabric {
 public:
  MixedFabric(std::unique_ptr<shm::LocalPart> near, std::unique_ptr<connected::Endpoint> far)
      : name_(std::string(near->traits().name) + "+" + std::string(far->traits().name)),
        near_(std::move(near)),
        far_(std::move(far)),
        traits_(traits_of(name_, near_->traits(), far_->traits())) {}

  [[nodiscard]] const Traits& traits() const noexcept override { return traits_; }
  [[nodiscard]] Result<Region> allocate(std::size_t bytes, std::string_view name) override {
    SPINDRIFT_TRY_ASSIGN(const Region region, near_->allocate(bytes, name));
    SPINDRIFT_TRY(far_->adopt(region.key, region.memory, std::make_unique<Kept>(*near_, region.key)));
    return region;
  }

  void release(RegionKey region) override { far_->release(region); }
  [[nodiscard]] Result<void> listen(const Address& self) override {
    SPINDRIFT_TRY(near_->listen(self));
    SPINDRIFT_TRY(far_->listen(self));
    SPINDRIFT_TRY(near_->watch_beside(far_->descriptors()));
    self_ = self;
    listening_ = true;
    return {};
  }

  [[nodiscard]] Result<void> connect(const Address& peer) override {
    if (!listening_ || peer.node == self_.node) {
      return Error(ErrorKind::bad_argument, "an endpoint connects to other nodes, and listens before it connects")
          .at("node " + std::to_string(peer.node.value()));
    }
    auto way = decide(peer);
    if (!way) return Error(std::move(way).error()).at("node " + std::to_string(peer.node.value()));
    part(*way == Way::near ? Way::far : Way::near).turn_away(peer.node, why_not(peer.node, *way));
    part(*way).turn_away(peer.node, std::nullopt);
    return part(*way).connect(peer);
  }

  void disconnect(PeerId peer) override { part_of(peer).disconnect(inner(peer)); }
  [[nodiscard]] Result<void> expose(PeerId peer, RegionKey region, Access access) override {
    if (!far_->has(region)) return Error(ErrorKind::bad_argument, "this endpoint has no region of that key");
    return part_of(peer).expose(inner(peer), region, access);
  }

  [[nodiscard]] Result<std::span<const std::byte>> map(PeerId peer, RegionKey region) override {
    return part_of(peer).map(inner(peer), region);
  }
  void unmap(PeerId peer, RegionKey region) override { part_of(peer).unmap(inner(peer), region); }
  // The order of operations to one peer is kept, for one part has them all.
  [[nodiscard]] Result<void> post(std::span<const Operation> operations) override {
    near_operations_.clear();
    far_operations_.clear();
    for (const Operation& operation : operations) {
      auto& list = way_of(operation.peer) == Way::near ? near_operations_ : far_operations_;
      list.push_back(operation);
      list.back().peer = inner(operation.peer);
    }
    if (near_operations_.empty()) return far_->post(far_operations_);
    if (far_operations_.empty()) return near_->post(near_operations_);
    SPINDRIFT_TRY(far_->check(far_operations_));
    SPINDRIFT_TRY(near_->post(near_operations_));
    return far_->post(far_operations_);
  }

  [[nodiscard]] std::uint64_t unsent_bytes(PeerId peer) const noexcept override {
    return part_of(peer).unsent_bytes(inner(peer));
  }
  [[nodiscard]] bool starved(PeerId peer) override { return part_of(peer).starved(inner(peer)); }
  void count_in(CounterBlock* block) override {
    near_->count_in(block);
    far_->count_in(block);
  }
  [[nodiscard]] std::size_t poll(std::span<Event> events) override {
    std::size_t count = near_->poll(events);
    for (Event& event : events.first(count)) event.peer = outer(event.peer, Way::near);
    if (!listening_ || !far_is_due()) return count;
    // Nobody has to look while the poller does; but one that never sleeps, and has nobody there, waits for the descriptors.
    const std::uint32_t ready = far_->busy() ? 0 : near_->beside_ready();
    if (ready != 0 || std::exchange(far_has_news_, false)) far_->take_signals((ready & 1U) != 0, (ready & 2U) != 0);
    const std::span<Event> rest = events.subspan(count);
    const std::size_t more = far_->poll(rest);
    for (Event& event : rest.first(more)) event.peer = outer(event.peer, Way::far);
    // After which a descriptor tells only what has come since; what takes several passes is told by none.
    if (!far_->busy()) far_has_news_ = !far_->may_sleep();
    if (ready != 0) near_->watch_again(ready);
    return count + more;
  }

  void notify() noexcept override { near_->notify(); }
  // The descriptors are looked at again before this process says that it sleeps: what makes one readable from then on is
  // noted before `sleep` looks at the notes, or ends it.
  void prepare_sleep() noexcept override {
    if (listening_) take_signals();
    near_->prepare_sleep();
    far_->prepare_sleep();
  }

  void sleep(Time deadline) noexcept override {
    if (!listening_) return near_->sleep(deadline);
    // Without connections nothing comes that the descriptors, which are all looked at, do not tell.
    // Asked first: with connections, nothing else takes the signals back that made a descriptor readable.
    const bool quiet = far_->busy() ? far_->may_sleep() : !far_has_news_;
    if (!quiet || near_->beside_ready() != 0) {
      cancel_sleep();
    } else {
      near_->sleep(std::min(deadline, far_->next_timer()));
      far_->cancel_sleep();
      passes_ = passes_between_looks;
    }
    if (far_->busy()) static_cast<void>(far_->poll({}));  // so that what ended the sleep is visible
  }

  void cancel_sleep() noexcept override {
    near_->cancel_sleep();
    far_->cancel_sleep();
  }

  void wake() noexcept override { near_->wake(); }

 private:
  enum class Way : std::uint32_t { near, far };

  [[nodiscard]] static PeerId outer(PeerId inner, Way way) noexcept {
    return PeerId(inner.value() << 1U | static_cast<std::uint32_t>(way));
  }
  [[nodiscard]] static PeerId inner(PeerId outer) noexcept { return PeerId(outer.value() >> 1U); }
  [[nodiscard]] static Way way_of(PeerId outer) noexcept { return static_cast<Way>(outer.value() & 1U); }
  [[nodiscard]] Part& part(Way way) const noexcept {
    return way == Way::near ? static_cast<Part&>(*near_) : static_cast<Part&>(*far_);
  }
  [[nodiscard]] Part& part_of(PeerId peer) const noexcept { return part(way_of(peer)); }
  // From what both ends are told alike, and from nothing that one of them may see differently.
  [[nodiscard]] Result<Way> decide(const Address& peer) {
    const auto same = config::same_host(self_.endpoint, peer.endpoint);
    if (!same) return config::parse_host_port(peer.endpoint).error();
    const Way way = *same ? Way::near : Way::far;
    const auto [at, fresh] = ways_.try_emplace(peer.node, way);
    if (!fresh && std::exchange(at->second, way) == way) return way;
    const std::size_t most = near_->traits().peers_max;
    const auto is_near = [](const auto& each) { return each.second == Way::near; };
    if (static_cast<std::size_t>(std::count_if(ways_.begin(), ways_.end(), is_near)) > most) {
      ways_.erase(at);
      return Error(ErrorKind::unsupported,
                   "more than " + std::to_string(most) + " peers have this node's host, " + host_of(self_))
          .fix("use fewer processes on one host");
    }
    log::info(log::Room::fabric, "peer's way",
              {{"node", peer.node},
               {"fabric", part(way).traits().name},
               {"reason", *same ? "it has this node's host, " + host_of(self_) + "; they meet in " + near_->meeting_place()
                                : "its host, " + host_of(peer) + ", is another than this node's, " + host_of(self_)}});
    return way;
  }

  [[nodiscard]] Error why_not(NodeId node, Way way) const {
    const std::string theirs(part(way == Way::near ? Way::far : Way::near).traits().name);
    const std::string ours =
        way == Way::near
            ? "has this one's host here, and is to be reached over shm in " + near_->meeting_place()
            : "has another host here than this one, and is to be reached over " + std::string(far_->traits().name);
    return Error(ErrorKind::refused, "it called over " + theirs + ", but " + ours)
        .at("node " + std::to_string(node.value()))
        .fix(
            "give all members the same [SPINDRIFT] addresses, in which those of one host, and no others, have the same "
            "host");
  }

  [[nodiscard]] bool far_is_due() noexcept {
    if (far_->busy() || far_has_news_ || near_->beside_ready() != 0) return true;
    if (far_->idle() || ++passes_ < passes_between_looks) return false;
    passes_ = 0;
    return true;
  }

  void take_signals() noexcept {
    const std::uint32_t ready = near_->beside_ready();
    if (ready == 0) return;
    far_->take_signals((ready & 1U) != 0, (ready & 2U) != 0);
    far_has_news_ = true;
    near_->watch_again(ready);
  }

  const std::string name_;
  const std::unique_ptr<shm::LocalPart> near_;  // has the memory: ends last
  const std::unique_ptr<connected::Endpoint> far_;
  const Traits traits_;
  Address self_;
  bool listening_ = false;
  std::map<NodeId, Way> ways_;
  bool far_has_news_ = false;  ///< that no descriptor need tell again
  std::uint32_t passes_ = 0;   ///< since the far part was polled while it has no connection
  std::vector<Operation> near_operations_;
  std::vector<Operation> far_operations_;
};

}  // namespace
}  // namespace spindrift::fabric::mixed

namespace spindrift::fabric {

std::unique_ptr<Fabric> make_mixed(std::unique_ptr<shm::LocalPart> near, std::unique_ptr<connected::Endpoint> far) {
  return std::make_unique<mixed::MixedFabric>(std::move(near), std::move(far));
}

}  // namespace spindrift::fabric
