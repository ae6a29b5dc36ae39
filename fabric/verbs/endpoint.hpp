// The verbs endpoint: what the device reports, and operations, of which each list rings once for each peer.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include <spindrift/fabric/connected/endpoint.hpp>
#include <spindrift/fabric/verbs/device.hpp>
#include <spindrift/fabric/verbs/lane.hpp>
#include <spindrift/fabric/verbs/verbs.hpp>

namespace spindrift::fabric::verbs {

class VerbsFabric final : public connected::Endpoint {
 public:
  VerbsFabric(const VerbsOptions& options, connected::Beginning beginning);
  ~VerbsFabric() override { end(); }

  [[nodiscard]] Result<void> check(std::span<const Operation> operations) override;
  [[nodiscard]] Result<void> post(std::span<const Operation> operations) override;

 private:
  /// What rdma_cm reports, copied out of its event.
  struct Report {
    rdma_cm_event_type kind = RDMA_CM_EVENT_ADDR_RESOLVED;
    int status = 0;
    rdma_cm_id* id = nullptr;
    std::uint32_t lane = 0;
    std::vector<std::byte> data;
  };

  // endpoint.cpp: operations
  [[nodiscard]] Lane* lane_to(PeerId peer) noexcept { return static_cast<Lane*>(find(peer)); }
  [[nodiscard]] Result<void> prepare(const Operation& operation);
  void execute(const Operation& operation);

  // completions.cpp: what the device reports
  bool take_completions() override;
  void on_writes(connected::Lane& lane, std::span<const std::byte> writes) override;
  void on_completion(const ibv_wc& completion);
  void on_finished(Lane& lane, std::uint32_t sequence);
  void arm() noexcept override { device_->arm(); }
  void disarm() noexcept override { device_->disarm(); }
  [[nodiscard]] bool may_block() noexcept override { return !take_completions(); }

  // links.cpp: calls, and what rdma_cm reports
  [[nodiscard]] Result<Descriptors> open(const connected::SocketAddress& at) override;
  [[nodiscard]] Result<std::unique_ptr<connected::Lane>> start_call(NodeId node,
                                                                    const connected::SocketAddress& address) override;
  void take_reports() override;
  void on_gone(connected::Lane& lane) override { numbers_.erase(static_cast<Lane&>(lane).number); }
  void on_report(const Report& report);
  void on_request(Handle<rdma_cm_id> id, std::span<const std::byte> data);
  void on_way_found(Lane& lane, rdma_cm_event_type how_far);
  [[nodiscard]] Lane* lane_of(std::uint32_t number) noexcept;

  const bool memory_windows_;
  std::unique_ptr<Device> device_;
  std::unordered_map<std::uint32_t, Lane*> numbers_;
  std::uint32_t newest_number_ = 0;
  std::vector<Lane*> rung_;  ///< while a list is posted: whom it is for
};

}  // namespace spindrift::fabric::verbs
