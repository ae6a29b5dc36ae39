// The decorator: checks what is posted at once, lets it act when it is due, and hides what a cut or a pause keeps away.
#include <spindrift/fabric/fault/fault.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <spindrift/fabric/endpoint_parts.hpp>
#include <spindrift/fabric/fault/delayed_link.hpp>

namespace spindrift::fabric {
namespace fault {
namespace {

class FaultFabric final : public Fabric {
 public:
  FaultFabric(std::unique_ptr<Fabric> inner, FaultPlan plan, const Clock& clock)
      : inner_(std::move(inner)), plan_(std::move(plan)), clock_(clock), dice_(plan_.seed), traits_(inner_->traits()) {
    if (plan_.hide_mapping) traits_.mappable = false;
    if (plan_.early_completion) traits_.visible_on_completion = false;
  }

  [[nodiscard]] const Traits& traits() const noexcept override { return traits_; }
  [[nodiscard]] Result<Region> allocate(std::size_t bytes, std::string_view name) override {
    auto region = inner_->allocate(bytes, name);
    if (region) own_regions_.emplace(region->key, region->memory);
    return region;
  }

  void release(RegionKey region) override {
    const auto at = own_regions_.find(region);
    if (at == own_regions_.end()) return;
    farewells_.push_back({std::nullopt, region, at->second});
    own_regions_.erase(at);
    advance_farewells();
  }

  [[nodiscard]] Result<void> listen(const Address& self) override { return inner_->listen(self); }
  [[nodiscard]] Result<void> connect(const Address& peer) override { return inner_->connect(peer); }
  void disconnect(PeerId peer) override {
    links_.erase(peer);
    std::erase_if(events_, [peer](const Event& event) { return event.peer == peer; });
    inner_->disconnect(peer);
  }

  [[nodiscard]] Result<void> expose(PeerId peer, RegionKey region, Access access) override {
    if (!own_regions_.contains(region)) return Error(ErrorKind::bad_argument, "this endpoint has no region of that key");
    const auto link = links_.find(peer);
    if (link == links_.end() || link->second.empty()) return inner_->expose(peer, region, access);
    link->second.add_exposure(region, access, clock_.now());  // behind the sends that are still on their way
    return {};
  }

  [[nodiscard]] Result<std::span<const std::byte>> map(PeerId peer, RegionKey region) override {
    if (!plan_.hide_mapping) return inner_->map(peer, region);
    return Error(ErrorKind::unsupported, "the fault plan hides mappings").fix("set FaultPlan::hide_mapping to false");
  }

  void unmap(PeerId peer, RegionKey region) override {
    if (const auto link = links_.find(peer); link != links_.end()) {
      std::erase_if(link->second.regions, [region](const DelayedLink::PeerRegion& theirs) { return theirs.key == region; });
    }
    farewells_.push_back({peer, region, {}});
    advance_farewells();
  }

  [[nodiscard]] Result<void> post(std::span<const Operation> operations) override {
    for (const Operation& operation : operations) SPINDRIFT_TRY(check(operation));
    const Time now = clock_.now();
    for (const Operation& operation : operations) {
      const auto link = links_.find(operation.peer);
      if (link == links_.end()) continue;
      link->second.add(operation, now);
      if (plan_.early_completion && operation.signaled && operation.kind != Operation::Kind::read) {
        events_.push_back({.kind = Event::Kind::completed,
                           .peer = operation.peer,
                           .node = link->second.node,
                           .context = operation.context});
      }
    }
    advance(now);
    return {};
  }

  [[nodiscard]] std::uint64_t unsent_bytes(PeerId peer) const noexcept override { return inner_->unsent_bytes(peer); }
  [[nodiscard]] bool starved(PeerId peer) override { return inner_->starved(peer); }
  [[nodiscard]] Result<std::vector<NodeId>> present() const override { return inner_->present(); }
  void count_in(CounterBlock* block) override { inner_->count_in(block); }
  [[nodiscard]] std::size_t poll(std::span<Event> events) override {
    const Time now = clock_.now();
    advance(now);
    if (paused_until(now)) return 0;
    std::size_t count = 0;
    const auto take_own = [&] {
      for (; count < events.size() && !events_.empty(); ++count) {
        events[count] = std::move(events_.front());
        events_.pop_front();
      }
    };
    take_own();
    while (count < events.size()) {
      const std::size_t taken = inner_->poll(events.subspan(count, 1));
      if (taken == 0) break;
      if (plan_.hide_mapping) events[count].mappable = false;
      if (admit(events[count])) ++count;
    }
    return count;
  }

  void notify() noexcept override {
    if (paused_until(clock_.now())) {
      notify_due_ = true;
    } else {
      inner_->notify();
    }
  }

  void prepare_sleep() noexcept override { inner_->prepare_sleep(); }
  void sleep(Time deadline) noexcept override {
    const auto pause_end = paused_until(clock_.now());
    inner_->sleep(std::min(deadline, pause_end.value_or(next_due())));
    advance(clock_.now());
  }

  void cancel_sleep() noexcept override { inner_->cancel_sleep(); }
  void wake() noexcept override { inner_->wake(); }

 private:
  /// When the pause of this moment ends, or nothing.
  [[nodiscard]] std::optional<Time> paused_until(Time now) const noexcept {
    for (const Pause& pause : plan_.pauses) {
      if (pause.from <= now && now < pause.until) return pause.until;
    }
    return std::nullopt;
  }

  void advance(Time now) {
    advance_losses(now);
    if (paused_until(now)) return;
    if (std::exchange(notify_due_, false)) inner_->notify();
    std::vector<std::pair<PeerId, Error>> broken;
    for (auto& [peer, link] : links_) {
      if (link.cut <= now) continue;
      auto advanced =
          link.advance(now, [&, peer = peer](const DelayedLink::Action& action) { return perform(peer, action); });
      // The caller was told that it is taken; so the link is to blame.
      if (!advanced) broken.emplace_back(peer, std::move(advanced).error());
    }
    for (auto& [peer, reason] : broken) lose(peer, std::move(reason));
    advance_farewells();
  }

  void advance_losses(Time now) {
    for (std::size_t i = 0; i < plan_.losses.size(); ++i) {
      const LinkLoss& loss = plan_.losses[i];
      if (losses_done_[i] || now < loss.from) continue;
      losses_done_[i] = true;
      for (auto& [peer, link] : links_) {
        if (link.node != loss.node) continue;
        link.cut = loss.from;
        link.report = loss.from + loss.reported_after;
      }
    }
    if (paused_until(now)) return;
    std::vector<PeerId> reported;
    for (const auto& [peer, link] : links_) {
      if (link.report <= now) reported.push_back(peer);
    }
    for (const PeerId peer : reported) {
      const std::string node = std::to_string(links_.at(peer).node.value());
      lose(peer, Error(ErrorKind::member_lost, "the fault plan cut the link to node " + node));
    }
  }

  void advance_farewells() {
    std::erase_if(farewells_, [this](const Farewell& farewell) {
      if (farewell.peer) {
        const auto link = links_.find(*farewell.peer);
        if (link != links_.end() && link->second.targets(farewell.region)) return false;
        inner_->unmap(*farewell.peer, farewell.region);
        return true;
      }
      const bool needed = std::any_of(links_.begin(), links_.end(), [&](const auto& entry) {
        return entry.second.needs(farewell.region, farewell.memory);
      });
      if (!needed) inner_->release(farewell.region);
      return !needed;
    });
  }

  void lose(PeerId peer, Error reason) {
    Event lost{.kind = Event::Kind::lost, .peer = peer, .node = links_.at(peer).node, .reason = std::move(reason)};
    links_.erase(peer);
    inner_->disconnect(peer);
    events_.push_back(std::move(lost));
  }

  [[nodiscard]] Result<void> perform(PeerId peer, const DelayedLink::Action& action) {
    if (action.exposure) return inner_->expose(peer, action.operation.region, *action.exposure);
    return inner_->post({&action.operation, 1});
  }

  [[nodiscard]] Result<void> check(const Operation& operation) const {
    const auto at = links_.find(operation.peer);
    if (at == links_.end()) return check_absent(operation.peer, newest_peer_);
    const auto& regions = at->second.regions;
    const auto region = std::find_if(regions.begin(), regions.end(),
                                     [&](const DelayedLink::PeerRegion& each) { return each.key == operation.region; });
    std::optional<ExposedRegion> target;
    if (region != regions.end()) target = {region->bytes, region->access};
    return check_operation(operation, traits_, target);
  }

  /// Whether the caller may see this event of the inner fabric.
  [[nodiscard]] bool admit(const Event& event) {
    if (event.kind == Event::Kind::connected) {
      DelayedLink& link = links_.try_emplace(event.peer, plan_, dice_).first->second;
      link.node = event.node;
      newest_peer_ = std::max(newest_peer_, event.peer);
      return true;
    }
    if (event.kind == Event::Kind::ended || event.kind == Event::Kind::died) return true;
    const auto at = links_.find(event.peer);
    if (at == links_.end()) return false;
    DelayedLink& link = at->second;
    if (link.cut != never) return false;  // also its `lost`: the plan says when that is seen
    if (event.kind == Event::Kind::exposed) link.regions.push_back({event.region, event.region_bytes, event.access});
    if (event.kind == Event::Kind::lost) links_.erase(at);
    return true;
  }

  [[nodiscard]] Time next_due() const noexcept {
    Time next = never;
    for (std::size_t i = 0; i < plan_.losses.size(); ++i) {
      if (!losses_done_[i]) next = std::min(next, plan_.losses[i].from);
    }
    for (const auto& [peer, link] : links_) next = std::min({next, link.report, link.cut == never ? link.due() : never});
    return next;
  }

  std::unique_ptr<Fabric> inner_;
  const FaultPlan plan_;
  const Clock& clock_;
  Dice dice_;
  Traits traits_;
  /// A region that was given back while delayed operations may still need it: the caller believes them done.
  struct Farewell {
    std::optional<PeerId> peer;  ///< nothing: an own region
    RegionKey region;
    std::span<std::byte> memory;  ///< of an own region
  };
  std::map<RegionKey, std::span<std::byte>> own_regions_;  ///< not given back
  std::vector<Farewell> farewells_;
  std::map<PeerId, DelayedLink> links_;  ///< of linked peers
  PeerId newest_peer_;
  std::vector<bool> losses_done_ = std::vector<bool>(plan_.losses.size());
  std::deque<Event> events_;  ///< made here
  bool notify_due_ = false;
};

}  // namespace
}  // namespace fault

Result<std::unique_ptr<Fabric>> make_fault(std::unique_ptr<Fabric> inner, FaultPlan plan, const Clock& clock) {
  const auto bad = [](const char* what) { return Error(ErrorKind::bad_argument, what).at("FaultPlan"); };
  if (plan.delay_min < Duration(0) || plan.delay_max < plan.delay_min) return bad("delay_min .. delay_max is no range");
  if (plan.line_gap_max < Duration(0)) return bad("line_gap_max is negative");
  for (const auto& pause : plan.pauses) {
    if (pause.until < pause.from) return bad("a pause ends before it begins");
  }
  for (const auto& loss : plan.losses) {
    if (loss.reported_after < Duration(0)) return bad("a loss is reported before it happens");
  }
  return std::unique_ptr<Fabric>(std::make_unique<fault::FaultFabric>(std::move(inner), std::move(plan), clock));
}

}  // namespace spindrift::fabric
