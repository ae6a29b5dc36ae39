// The device that has an address, opened, with what one endpoint needs of it: events, completions and their descriptors, and
// memory that is registered.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <spindrift/fabric/connected/socket_address.hpp>
#include <spindrift/fabric/connected/wire.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/fabric/verbs/credits.hpp>
#include <spindrift/fabric/verbs/library.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric::verbs {

using connected::SocketAddress;

constexpr int way_found_in_ms = 2000;  ///< to a peer, and its route

/// The limits that are asked of each queue pair, cut to what the device can.
struct QueuePairLimits {
  std::uint32_t send_depth = 256;
  std::uint32_t receive_depth = Credits::buffers;
  std::uint32_t pieces = 1;          ///< of memory, that one request is put together of
  std::uint32_t inline_bytes = 256;  ///< of a write that goes with its request
  std::uint64_t operation_bytes_max = std::uint64_t{1} << 30U;
  std::uint8_t reads_max = 16;  ///< under way
  bool memory_windows = false;
};

/// Not movable: everything in it points at it.
class Device {
 public:
  /// Opens the device that has the address; port 0: any. Errors: refused (no device has it), unsupported, resource.
  [[nodiscard]] static Result<std::unique_ptr<Device>> open(const SocketAddress& at, const QueuePairLimits& wishes);
  /// One line, for people, of what was found and why it is used so.
  void tell_choices();

  /// Errors: refused (the port is in use), resource.
  [[nodiscard]] Result<void> listen();
  /// Starts a connection's identity toward a peer; its events carry `number`. Errors: resource.
  [[nodiscard]] Result<Handle<rdma_cm_id>> call(const SocketAddress& peer, std::uint32_t number);
  /// Completions of so many queue pairs fit. Errors: resource.
  [[nodiscard]] Result<void> make_room(std::size_t queue_pairs);
  /// Errors: resource.
  [[nodiscard]] Result<void> make_queue_pair(rdma_cm_id& id, ibv_pd& domain);
  [[nodiscard]] Result<void> connect(rdma_cm_id& id, std::span<const std::byte> greeting);
  [[nodiscard]] Result<void> accept(rdma_cm_id& id, std::span<const std::byte> greeting);

  /// `access` is of ibv_access_flags; relaxed ordering is never among them: a guard would overtake what it guards. Errors:
  /// resource.
  [[nodiscard]] Result<Handle<ibv_mr>> register_memory(ibv_pd& domain, std::span<std::byte> memory, int access);
  [[nodiscard]] Result<Handle<ibv_mw>> make_window();
  [[nodiscard]] Result<Handle<ibv_pd>> make_domain();

  [[nodiscard]] ibv_pd& domain() noexcept { return *domain_; }
  [[nodiscard]] ibv_cq& completions() noexcept { return *completions_; }
  [[nodiscard]] rdma_event_channel& events() noexcept { return *events_; }
  [[nodiscard]] int events_descriptor() const noexcept { return events_->fd; }
  [[nodiscard]] int completions_descriptor() const noexcept { return channel_->fd; }
  [[nodiscard]] const QueuePairLimits& limits() const noexcept { return limits_; }
  /// With the port that it is bound to.
  [[nodiscard]] const SocketAddress& address() const noexcept { return address_; }
  /// The rdma_cm id that listens; its device and port are the address's.
  [[nodiscard]] rdma_cm_id& listener() noexcept { return *listener_; }

  /// The next completion makes the descriptor readable. Costs nothing while that is so already.
  void arm() noexcept;
  /// Takes what made it readable.
  void disarm() noexcept;

 private:
  Device() = default;
  [[nodiscard]] Result<void> open_queues();
  [[nodiscard]] Result<Handle<rdma_cm_id>> make_id(void* context);
  [[nodiscard]] Result<void> try_queue_pair();
  [[nodiscard]] ibv_qp_init_attr wishes() noexcept;
  [[nodiscard]] rdma_conn_param parameters(std::span<const std::byte> greeting) const noexcept;

  SocketAddress address_;
  QueuePairLimits limits_;
  int in_order_ = -1;  ///< whether the bytes of one write land in their order: 1, 0, or -1 if nobody says
  bool armed_ = false;
  std::size_t completions_max_ = 0;
  Handle<rdma_event_channel> events_;
  Handle<rdma_cm_id> listener_;
  Handle<ibv_pd> domain_;
  Handle<ibv_comp_channel> channel_;
  Handle<ibv_cq> completions_;
};

}  // namespace spindrift::fabric::verbs
