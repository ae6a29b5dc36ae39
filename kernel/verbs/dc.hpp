// DC queue pairs: a target, at which peers' operations and messages arrive, and initiators, each of which reaches every
// target whose name and key are known. (Mellanox' dynamically connected transport, as rdma-core's mlx5dv(7) has it; KRCore,
// section 2.3.)
//
// The invariant to remember: an initiator whose operation failed is in its error state, and everything behind the failure is
// flushed. It is reset only after each of those has had its completion, so that none of them is told twice or later.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/kernel/verbs/dc_calls.hpp>
#include <spindrift/kernel/peer_table.hpp>
#include <spindrift/kernel/receive_buffers.hpp>
#include <spindrift/kernel/verbs/verbs_name.hpp>
#include <spindrift/kernel/verbs/send_queue.hpp>

namespace spindrift::kernel::verbs {

/// The port of the adapter whose queue pairs they are, and what all of them are made of.
struct DcPort {
  const DcCalls* calls = nullptr;
  ibv_context* context = nullptr;
  ibv_pd* domain = nullptr;
  ibv_cq* completions = nullptr;
  std::uint8_t port = 1;
  std::uint16_t lid = 0;       ///< 0: RoCE, whose peers are reached by GID alone
  ibv_gid gid{};               ///< of the node's address
  std::uint8_t gid_index = 0;  ///< in the port's table
  ibv_mtu mtu = IBV_MTU_1024;
  std::uint32_t buffers_key = 0;  ///< local, of the memory of receive buffers
};

/// Everything for this device arrives at its target, which stays while initiators come and go.
class DcTarget {
 public:
  /// `life`: at the head of its buffers' tokens. The buffers of `buffers` are registered and outlive it. Errors: resource.
  [[nodiscard]] static Result<std::unique_ptr<DcTarget>> open(const DcPort& port, std::uint32_t life, std::uint32_t key,
                                                              ReceiveBuffers& buffers);

  [[nodiscard]] TargetName name() const noexcept;
  /// Gives the adapter the buffers that are free. Errors: resource.
  [[nodiscard]] Result<void> give_buffers();

 private:
  DcTarget(const DcPort& port, std::uint32_t life, std::uint32_t key, ReceiveBuffers& buffers)
      : port_(port), life_(life), key_(key), buffers_(buffers) {}
  [[nodiscard]] Result<void> start(std::uint32_t buffers);

  const DcPort& port_;
  const std::uint32_t life_;
  const std::uint32_t key_;
  ReceiveBuffers& buffers_;
  DcHandle<ibv_srq> shared_queue_;
  DcHandle<ibv_qp> target_;
};

/// Targets of peers, with the way to each.
using DcPeers = PeerTable<TargetName, DcHandle<ibv_ah>>;
/// Errors: resource (no way to its GID).
[[nodiscard]] Result<DcHandle<ibv_ah>> way_to(const DcPort& port, const TargetName& target);

/// An initiator, and what it has under way. Completions of it are handed to `on_completion` by who polls their queue.
class DcInitiator {
 public:
  DcInitiator(const DcPort& port, const DcPeers& peers, std::uint32_t life, const DeviceSizes& sizes,
              const OwnMemory& memory);
  DcInitiator(const DcInitiator&) = delete;
  DcInitiator& operator=(const DcInitiator&) = delete;

  /// Makes it ready to send; its headers are registered. Errors: resource.
  [[nodiscard]] Result<void> open();
  [[nodiscard]] std::size_t post(std::span<const PhysicalOperation> operations);
  void on_completion(std::uint32_t number, ibv_wc_status status);
  /// After `broken`. Errors: bad_argument (it is not broken), resource.
  [[nodiscard]] Result<void> reset();

  [[nodiscard]] SendQueue& queue() noexcept { return queue_; }
  [[nodiscard]] std::uint32_t life() const noexcept { return life_; }
  /// Whether the adapter has something whose completion has not come.
  [[nodiscard]] bool idle() const noexcept { return queue_.idle(); }

 private:
  enum class State : std::uint8_t { shut, ready, failing, broken };

  [[nodiscard]] Result<void> get_ready();
  [[nodiscard]] Result<void> change(ibv_qp_attr& state, int mask, const char* where);
  void hand_over(const AdapterRequest& request) noexcept;
  void fail(std::string reason);
  void tell_broken();

  const DcPort& port_;
  const DcPeers& peers_;
  const std::uint32_t life_;
  const std::uint32_t send_depth_;
  State state_ = State::shut;
  std::string reason_;
  SendQueue queue_;
  std::vector<AdapterRequest> requests_;  ///< while a list is posted
  DcHandle<ibv_qp> initiator_;
  ibv_qp_ex* extended_ = nullptr;
  mlx5dv_qp_ex* mlx5_ = nullptr;
};

}  // namespace spindrift::kernel::verbs
