// The connected half of a device: one listener, and reliable connections that rdma_cm makes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/fabric/verbs/device.hpp>
#include <spindrift/kernel/completion_token.hpp>
#include <spindrift/kernel/connection_table.hpp>
#include <spindrift/kernel/receive_buffers.hpp>
#include <spindrift/kernel/verbs/verbs_name.hpp>
#include <spindrift/kernel/verbs/send_queue.hpp>

namespace spindrift::kernel::verbs {

using fabric::verbs::Handle;

/// What every queue pair of a device may look at; outlives them.
struct VerbsShared {
  DeviceSizes sizes;
  Duration answer_max{};
  const Clock* clock = nullptr;
  OwnMemory memory;
  std::unique_ptr<fabric::verbs::Device> adapter;
  std::uint32_t lives = 0;  ///< given out to queue pairs, never twice

  [[nodiscard]] std::uint32_t new_life() noexcept { return ++lives; }
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

  [[nodiscard]] bool connectionless() const noexcept override { return false; }
  [[nodiscard]] std::size_t post(std::span<const PhysicalOperation> operations) override;
  [[nodiscard]] std::size_t poll(std::span<PhysicalEvent> events) override;
  [[nodiscard]] std::size_t take(std::span<PhysicalEvent> events) override { return queue_.events().take(events); }
  void give_back(std::uint64_t buffer) override { buffers_.give_back(buffer); }
  [[nodiscard]] Result<void> reset() override;

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
  void break_down(std::string reason, Status status);
  void progress(Time now);
  /// Its silence counts from now on.
  void excuse(Time now) noexcept { heard_ = now; }

  [[nodiscard]] std::uint32_t life() const noexcept { return life_; }
  [[nodiscard]] bool up() const noexcept { return state_ == State::up; }
  [[nodiscard]] bool broken() const noexcept { return state_ == State::broken; }
  [[nodiscard]] bool calls() const noexcept { return calls_; }
  [[nodiscard]] bool has_events() const noexcept { return !queue_.events().empty(); }
  [[nodiscard]] Time next_look() const noexcept;

 private:
  enum class State : std::uint8_t { connecting, up, broken };

  void give_buffers();
  void shut() noexcept;

  VerbsDevice& device_;
  VerbsConnections& connections_;
  VerbsShared& shared_;
  const std::uint32_t life_;
  const bool calls_;
  State state_ = State::connecting;
  SendQueue queue_;
  ReceiveBuffers buffers_;
  std::vector<AdapterRequest> requests_;  ///< while a list is posted
  Time heard_{};
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
  [[nodiscard]] Device::Accepted accepted() { return connections_.take(); }
  /// Takes what rdma_cm reports.
  void take_reports();
  void progress(Time now);
  void remove(std::uint32_t life) { connections_.remove(life); }
  [[nodiscard]] VerbsConnection* find(std::uint32_t life) noexcept { return connections_.find(life); }
  [[nodiscard]] bool quiet() const noexcept { return connections_.quiet(); }
  [[nodiscard]] Time next_look() const noexcept { return connections_.next_look(); }

 private:
  void on_request(Handle<rdma_cm_id> id, std::span<const std::byte> said);

  VerbsDevice& device_;
  VerbsShared& shared_;
  std::map<std::uint32_t, std::uint64_t> tokens_;  // of calls that are on their way, by life
  ConnectionTable<VerbsConnection> connections_;
};

}  // namespace spindrift::kernel::verbs
