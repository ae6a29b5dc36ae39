// The libfabric endpoint as its poller sees it: own regions, lanes to peers, and who is being called.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <spindrift/core/fabric/connected/resolver.hpp>
#include <spindrift/core/fabric/fabric.hpp>
#include <spindrift/core/fabric/ofi/lane.hpp>
#include <spindrift/core/fabric/ofi/ofi.hpp>
#include <spindrift/core/fabric/ofi/provider.hpp>
#include <spindrift/core/fabric/rendezvous.hpp>
#include <spindrift/core/file_descriptor.hpp>

namespace spindrift::fabric::ofi {

class OfiFabric final : public Fabric {
 public:
  OfiFabric(const OfiOptions& options, std::uint64_t incarnation, FileDescriptor bell, Rendezvous rendezvous);
  ~OfiFabric() override;

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

  // endpoint.cpp: memory and operations
  [[nodiscard]] Lane* find(PeerId peer) noexcept;
  [[nodiscard]] Result<void> check(const Operation& operation);
  [[nodiscard]] bool gather(const Operation& operation);
  void send_gathered();
  void execute(const Operation& operation, bool news);
  [[nodiscard]] OwnRegion* region_of(const std::byte* memory) noexcept;
  void say(Lane& lane, std::span<const std::byte> message, bool signaled = false);
  void ring() noexcept;
  void give_back(OwnRegion& region);
  void revoke(Lane& lane);

  // links.cpp: what the provider reports, and calls
  void progress();
  bool drain_completions();
  void on_completion(const fi_cq_msg_entry& entry);
  void on_failed_completion();
  void on_received(Lane& lane, void* token, std::size_t bytes);
  void on_control(Lane& lane, const Control& control);
  void on_writes(Lane& lane, std::span<const std::byte> writes);
  void tell(Lane& lane, Event event);
  void drain_events();
  void on_request(fi_info* info, std::span<const std::byte> data);
  [[nodiscard]] bool unheard(Lane& lane, const Greeting& greeting) const;
  [[nodiscard]] bool make_room_for(const Greeting& greeting);
  void answer(fi_info& info, const Greeting& greeting);
  void on_connected(fid_t which, std::span<const std::byte> data);
  void on_event_error();
  void up(Lane& lane);
  void lose(Lane& lane);
  void call(NodeId id, Node& node);
  void call(NodeId id, Node& node, const SocketAddress& address);
  void attempt_failed(Node& node, std::string why);
  void hang_up(Lane& lane);
  [[nodiscard]] Lane* lane_of(fid_t which) noexcept;
  [[nodiscard]] bool has_lane(NodeId node, std::initializer_list<Lane::State> states) const noexcept;
  [[nodiscard]] Greeting greeting_to(NodeId node);
  void sweep();
  void keep_time();

  const OfiOptions options_;
  const std::uint64_t incarnation_;
  const std::string name_;
  const Traits traits_;
  const SystemClock clock_;
  Time now_{};
  Time last_progress_{};
  Time next_timer_{};
  Time next_alive_{};
  std::uint32_t passes_ = 0;  ///< since the event queue was looked at
  bool unsettled_ = false;    ///< somebody is being called, answers or closes: the event queue is looked at in every pass
  bool listening_ = false;
  bool ends_ = false;

  FileDescriptor bell_;
  std::atomic<bool> asleep_{false};
  Rendezvous rendezvous_;
  std::unique_ptr<Provider> provider_;
  std::map<const std::byte*, OwnRegion> memory_;  ///< by where it begins; places stay
  std::unordered_map<RegionKey, OwnRegion*> own_regions_;
  std::unordered_set<OwnRegion*> leaving_;  ///< released, and still used by peers or operations
  Flights flights_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::unordered_map<PeerId, Lane*> peers_;
  PeerId newest_peer_;
  std::map<NodeId, Node> nodes_;
  std::deque<Event> events_;
  Lane* gathered_for_ = nullptr;  ///< while a list is posted
  std::vector<std::byte> gathered_;
  Resolver resolver_;
};

}  // namespace spindrift::fabric::ofi
