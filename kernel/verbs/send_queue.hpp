// Operations that a queue pair has taken, from the post to the completion: what the adapter is asked for, and what of it is
// told to the owner.
//
// The invariant to remember: an adapter carries out what one queue pair was given in that order, so one completion tells of
// all requests before it. One that is refused here takes its turn all the same.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include <spindrift/kernel/device_events.hpp>
#include <spindrift/kernel/device_parts.hpp>
#include <spindrift/kernel/receive_buffers.hpp>

namespace spindrift::kernel::verbs {

/// One operation, as the adapter is asked for it.
struct AdapterRequest {
  PhysicalOperation::Kind kind = PhysicalOperation::Kind::write;
  bool signaled = false;
  bool news = false;
  std::uint32_t number = 0;  ///< comes back with its completion
  PeerHandle peer;
  std::array<ibv_sge, 2> pieces{};
  int piece_count = 0;
  std::uint64_t remote_address = 0;
  std::uint32_t remote_key = 0;
};

/// One piece of registered memory.
[[nodiscard]] inline ibv_sge piece_of(std::span<const std::byte> bytes, std::uint64_t key) noexcept {
  return {reinterpret_cast<std::uintptr_t>(bytes.data()), static_cast<std::uint32_t>(bytes.size()),
          static_cast<std::uint32_t>(key)};
}

/// Gives the adapter the buffers that are free, registered under `key`: `post(list)` answers as rdma-core's calls do.
template <class Post>
[[nodiscard]] int lend_all(ReceiveBuffers& buffers, std::uint32_t life, std::uint32_t key, Post&& post) {
  const std::vector<ReceiveBuffers::Buffer> free = buffers.lend_all();
  std::vector<ibv_recv_wr> works(free.size());
  std::vector<ibv_sge> pieces(free.size());
  for (std::size_t i = 0; i < free.size(); ++i) {
    pieces[i] = piece_of(free[i].bytes, key);
    works[i].wr_id = encode(CompletionToken{life, true, free[i].place});
    works[i].sg_list = &pieces[i];
    works[i].num_sge = 1;
    works[i].next = i + 1 < works.size() ? &works[i + 1] : nullptr;
  }
  return works.empty() ? 0 : post(works.data());
}

/// The status of an operation, by the adapter's.
[[nodiscard]] OperationStatus status_of(ibv_wc_status status) noexcept;

class SendQueue {
 public:
  /// A message with a longer header is refused as `local_error`.
  static constexpr std::size_t header_bytes_max = 128;
  using Reaches = std::function<bool(PeerHandle)>;

  /// `reaches`: whether a peer is known; null: the only one is.
  SendQueue(const DeviceSizes& sizes, const OwnMemory& memory, Reaches reaches);

  /// Headers are kept here until they are sent; these bytes are to be registered.
  [[nodiscard]] std::span<std::byte> headers() noexcept { return headers_; }
  void set_headers_key(std::uint32_t key) noexcept { headers_key_ = key; }

  /// Takes operations up to the first for which there is no room, and appends what is to be handed over.
  [[nodiscard]] std::size_t take(std::span<const PhysicalOperation> operations, std::vector<AdapterRequest>& requests);
  /// The request is over, and with it all before; what was refused behind them has its turn.
  void on_done(std::uint32_t number);
  /// It failed, and all before it are over.
  void on_failed(std::uint32_t number, OperationStatus status);
  /// The adapter took none of them after all, the last that `take` gave out: they end as `flushed`, in their turn.
  void take_back(std::span<const AdapterRequest> requests);
  /// Everything that is under way is over so.
  void fail_all(OperationStatus status);

  [[nodiscard]] bool idle() const noexcept { return pending_.empty(); }
  [[nodiscard]] DeviceEvents& events() noexcept { return events_; }
  [[nodiscard]] const DeviceEvents& events() const noexcept { return events_; }

 private:
  struct PendingRequest {
    std::uint32_t number = 0;
    bool signaled = false;  ///< by the owner
    bool handed = false;    ///< the adapter has it, or a request in its place
    OperationStatus status = OperationStatus::done;
    std::uint64_t id = 0;
  };

  [[nodiscard]] OperationStatus judge(const PhysicalOperation& operation) const;
  [[nodiscard]] AdapterRequest request_of(const PhysicalOperation& operation, std::uint32_t number);
  void tell_refused();
  void tell_first();

  const DeviceSizes sizes_;
  const OwnMemory& memory_;
  const Reaches reaches_;
  std::vector<std::byte> headers_;
  std::uint32_t headers_key_ = 0;
  std::deque<PendingRequest> pending_;
  std::uint32_t next_ = 0;
  std::uint32_t unsignaled_ = 0;  ///< handed over since the last that has a completion
  PeerHandle last_peer_;          ///< the peer of the last operation handed over
  DeviceEvents events_;
};

}  // namespace spindrift::kernel::verbs
