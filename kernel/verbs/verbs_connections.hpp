// The connected half of a device: one listener, and reliable connections that rdma_cm makes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/fabric/verbs/device.hpp>
#include <spindrift/kernel/device_parts.hpp>
#include <spindrift/kernel/connection_table.hpp>
#include <spindrift/kernel/receive_buffers.hpp>
#include <spindrift/kernel/verbs/verbs_name.hpp>
#include <spindrift/kernel/verbs/send_queue.hpp>

namespace spindrift::kernel::verbs {

using fabric::verbs::Handle;

struct VerbsShared : DeviceShared {
  std::unique_ptr<fabric::verbs::Device> adapter{};

  /// Memory that the adapter may use for operations of this process. Errors: resource.
  [[nodiscard]] Result<Handle<ibv_mr>> register_own(std::span<std::byte> bytes) {
    return adapter->register_memory(adapter->domain(), bytes, IBV_ACCESS_LOCAL_WRITE);
  }
};

/// The token that a caller's private data carry (untrusted); nothing if they are of another protocol.
[[nodiscard]] std::optional<std::uint64_t> token_said(std::span<const std::byte> said) noexcept;

class VerbsConnections;
class VerbsDevice;

/// One reliable connection.
class VerbsConnection final : public PhysicalQueuePair {
 public:
  VerbsConnection(VerbsDevice& device, VerbsConnections& connections, VerbsShared& shared, bool calls);
  ~VerbsConnection() override;

  [[nodiscard]] std::size_t post(std::span<const PhysicalOperation> operations) override;
  [[nodiscard]] std::size_t take(std::span<PhysicalEvent> events) override { return queue_.events().take(events); }
  void give_back(std::uint64_t buffer) override { buffers_.give_back(buffer); }

  /// The identity that it is made of: own, or a caller's.
  void set_identity(Handle<rdma_cm_id> id) noexcept { id_ = std::move(id); }
  [[nodiscard]] rdma_cm_id* id() noexcept { return id_.get(); }
  /// Makes the queue pair, with its buffers. Errors: resource.
  [[nodiscard]] Result<void> make_queue_pair();
  /// Events of a connection that it calls.
  void on_way_found(rdma_cm_event_type how_far, std::uint64_t token);
  void on_established();
  void on_completion(const CompletionToken& token, const ibv_wc& completion);
  /// Every operation under way is told as over; the queue pair goes, and with it the peer's last way in.
  void break_down(std::string reason, OperationStatus status);
  void progress(Time now);

  [[nodiscard]] ConnectionState& state() noexcept { return state_; }
  [[nodiscard]] bool has_events() const noexcept { return !queue_.events().empty(); }
  [[nodiscard]] Time next_look() const noexcept { return state_.silent_at(!queue_.idle()); }

 private:
  void give_buffers();
  void shut() noexcept;

  VerbsConnections& connections_;
  VerbsShared& shared_;
  const bool calls_;
  ConnectionState state_;
  SendQueue queue_;
  ReceiveBuffers buffers_;
  std::vector<AdapterRequest> requests_;  ///< while a list is posted
  Handle<ibv_mr> headers_registered_;
  Handle<ibv_mr> buffers_registered_;
  Handle<rdma_cm_id> id_;
  bool has_queue_pair_ = false;
};

class VerbsConnections {
 public:
  VerbsConnections(VerbsDevice& device, VerbsShared& shared)
      : device_(device), shared_(shared), connections_(shared.answer_max) {}

  /// Errors: bad_argument (another family), resource.
  [[nodiscard]] Result<std::unique_ptr<PhysicalQueuePair>> connect(const VerbsName& peer, std::uint64_t token);
  /// Takes what rdma_cm reports.
  void take_reports();
  void progress(Time now);
  [[nodiscard]] ConnectionTable<VerbsConnection>& table() noexcept { return connections_; }
  [[nodiscard]] const ConnectionTable<VerbsConnection>& table() const noexcept { return connections_; }

 private:
  void on_request(Handle<rdma_cm_id> id, std::span<const std::byte> said);

  VerbsDevice& device_;
  VerbsShared& shared_;
  std::map<std::uint32_t, std::uint64_t> tokens_;  // of calls that are on their way, by life
  ConnectionTable<VerbsConnection> connections_;
};

}  // namespace spindrift::kernel::verbs
