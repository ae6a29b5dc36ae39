// The verbs endpoint as its poller sees it: own regions, lanes to peers, and who is being called.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <spindrift/core/fabric/connected/resolver.hpp>
#include <spindrift/core/fabric/fabric.hpp>
#include <spindrift/core/fabric/rendezvous.hpp>
#include <spindrift/core/fabric/verbs/device.hpp>
#include <spindrift/core/fabric/verbs/lane.hpp>
#include <spindrift/core/fabric/verbs/verbs.hpp>
#include <spindrift/core/file_descriptor.hpp>

namespace spindrift::fabric::verbs {

class VerbsFabric final : public Fabric {
 public:
  VerbsFabric(const VerbsOptions& options, std::uint64_t incarnation, FileDescriptor bell, Rendezvous rendezvous);
  ~VerbsFabric() override;

  [[nodiscard]] const Traits& traits() const noexcept override { return traits_; }
  [[nodiscard]] Result<Region> allocate(std::size_t bytes, std::string_view name) override;
  void release(RegionKey region) override;
  [[nodiscard]] Result<void> listen(const Address& self) override;
  [[nodiscard]] Result<void> connect(const Address& peer) override;
  void disconnect(PeerId peer) override;
  [[nodiscard]] Result<void> expose(PeerId peer, RegionKey region, Access access) override;
  [[nodiscard]] Result<std::span<const std::byte>> map(PeerId peer, RegionKey region) override;
  void unmap(PeerId peer, RegionKey region) override;
  [[nodiscard]] Result<void> post(std::span<const Operation> operations) override;
  [[nodiscard]] std::size_t poll(std::span<Event> events) override;
  void notify() noexcept override {}  // nobody maps a region of this process
  void prepare_sleep() noexcept override;
  void sleep(Time deadline) noexcept override;
  void cancel_sleep() noexcept override;
  void wake() noexcept override;

 private:
  /// What this process has to do with a node that it called or was called by.
  struct Node {
    std::string endpoint;
    bool wanted = false;
    bool resolving = false;
    std::uint64_t attempts = 0;  ///< the number of the last one
    Time next_attempt{};
    Duration pause{};
    std::string last_failure;
  };
  /// What rdma_cm reports, copied out of its event.
  struct Report {
    rdma_cm_event_type kind = RDMA_CM_EVENT_ADDR_RESOLVED;
    int status = 0;
    rdma_cm_id* id = nullptr;
    std::uint32_t lane = 0;
    std::vector<std::byte> data;
  };

  // endpoint.cpp: memory and operations
  [[nodiscard]] Lane* find(PeerId peer) noexcept;
  [[nodiscard]] Result<void> check(const Operation& operation);
  void execute(const Operation& operation);
  [[nodiscard]] OwnRegion* region_of(const std::byte* memory, std::size_t bytes) noexcept;
  void say(Lane& lane, std::span<const std::byte> message, bool signaled = false, std::uint64_t context = 0);
  void ring() noexcept;
  void give_back(OwnRegion& region);
  void revoke(Lane& lane);

  // completions.cpp: what the device reports
  bool drain_completions();
  void on_completion(const ibv_wc& completion);
  void on_finished(Lane& lane, std::uint32_t sequence);
  void on_control(Lane& lane, const connected::Control& control);
  void tell(Lane& lane, Event event);

  // links.cpp: calls, and what ends
  void progress();
  void drain_events();
  void on_report(const Report& report);
  void on_request(Handle<rdma_cm_id> id, std::span<const std::byte> data);
  [[nodiscard]] bool make_room_for(const connected::Greeting& greeting);
  void answer(Handle<rdma_cm_id> id, const connected::Greeting& greeting);
  void on_way_found(Lane& lane, rdma_cm_event_type how_far);
  void on_connected(Lane& lane, std::span<const std::byte> data);
  void up(Lane& lane);
  void lose(Lane& lane, const std::string& reason);
  void call(NodeId id, Node& node);
  void call(NodeId id, Node& node, const SocketAddress& address);
  void attempt_failed(Node& node, std::string why);
  void hang_up(Lane& lane);
  void add(std::unique_ptr<Lane> lane);
  [[nodiscard]] Lane* lane_of(std::uint32_t number) noexcept;
  [[nodiscard]] connected::Greeting greeting_to(NodeId node);
  void sweep();
  void keep_time();

  const VerbsOptions options_;
  const std::uint64_t incarnation_;
  Traits traits_;
  const SystemClock clock_;
  Time now_{};
  Time last_progress_{};
  Time next_timer_{};
  Time next_alive_{};
  std::uint32_t passes_ = 0;  ///< since the event channel was looked at
  bool unsettled_ = false;    ///< somebody is being called, answers or closes: the event channel is looked at in every pass
  bool listening_ = false;
  bool ends_ = false;

  FileDescriptor bell_;
  std::atomic<bool> asleep_{false};
  Rendezvous rendezvous_;
  std::unique_ptr<Device> device_;
  std::map<const std::byte*, OwnRegion> memory_;  ///< by where it begins; places stay
  std::unordered_map<RegionKey, OwnRegion*> own_regions_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::unordered_map<std::uint32_t, Lane*> numbers_;
  std::uint32_t newest_number_ = 0;
  std::unordered_map<PeerId, Lane*> peers_;
  PeerId newest_peer_;
  std::map<NodeId, Node> nodes_;
  std::deque<Event> events_;
  std::vector<Lane*> rung_;  ///< while a list is posted: whom it is for
  connected::Resolver resolver_;
};

}  // namespace spindrift::fabric::verbs
