// Operations that a queue pair has taken: each in a place of its own until it is over, and nobody, neither the provider nor
// the owner of the queue pair, needs to hear of it any more.
//
// Remember: of what is staged the provider has a copy, and the caller's memory is free of it. What is not staged may be read
// or written until the provider says that it is over or its endpoint is closed.
#pragma once

#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <spindrift/kernel/device_parts.hpp>
#include <spindrift/kernel/device_events.hpp>
#include <spindrift/kernel/physical.hpp>
#include <spindrift/kernel/receive_buffers.hpp>

namespace spindrift::kernel::ofi {

struct PendingOperation {
  enum class State : std::uint8_t {
    free,
    waiting,    ///< the provider has not taken it
    given,      ///< the provider has it
    over,       ///< it has its status, and waits for its turn to be told
    abandoned,  ///< told as lost, but the provider still has it
  };
  State state = State::free;
  OperationStatus status = OperationStatus::done;
  bool staged = false;
  PhysicalOperation operation;  ///< without its header
  std::vector<std::byte> copy;  ///< of what is staged
};

/// A token as libfabric carries it.
[[nodiscard]] inline void* to_context(const CompletionToken& token) noexcept {
  return reinterpret_cast<void*>(encode(token));  // NOLINT: never followed
}
[[nodiscard]] inline CompletionToken token_of(const void* context) noexcept {
  return decode_token(reinterpret_cast<std::uintptr_t>(context));
}

/// Takes what is in a completion queue: `on_completion(token, bytes)` for what is over, `on_failure(token, error)` for what
/// failed; nothing for the news that a peer has written. False if the queue itself has failed.
template <class OnCompletion, class OnFailure>
[[nodiscard]] bool drain(fid_cq& completions, OnCompletion&& on_completion, OnFailure&& on_failure) {
  std::array<fi_cq_msg_entry, 64> entries;
  while (true) {
    const auto count = fi_cq_read(&completions, entries.data(), entries.size());
    if (count == -FI_EAVAIL) {
      fi_cq_err_entry error{};
      if (fi_cq_readerr(&completions, &error, 0) < 0) return true;
      on_failure(token_of(error.op_context), error.err);
      continue;
    }
    if (count < 0) return count == -FI_EAGAIN;
    for (const fi_cq_msg_entry& entry : std::span(entries).first(static_cast<std::size_t>(count))) {
      const bool is_news = (entry.flags & (FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA)) != 0;
      if (!is_news) on_completion(token_of(entry.op_context), entry.len);
    }
    if (static_cast<std::size_t>(count) < entries.size()) return true;
  }
}

class PendingOperations {
 public:
  PendingOperations(std::uint32_t live_max, std::uint32_t abandoned_max);

  [[nodiscard]] bool full() const noexcept { return live_ == live_max_; }
  /// Not when full.
  [[nodiscard]] std::uint32_t take(const PhysicalOperation& operation);
  /// The provider is to have a copy: header and bytes of writes and sends as they are now; a read lands in the copy first.
  void stage(std::uint32_t place, std::span<const std::byte> header);
  [[nodiscard]] PendingOperation& at(std::uint32_t place) noexcept { return pending_[place]; }
  [[nodiscard]] std::uint32_t places() const noexcept { return static_cast<std::uint32_t>(pending_.size()); }
  /// Its bytes are where they belong, if it is a read that succeeded.
  void land(std::uint32_t place) noexcept;
  void put_back(std::uint32_t place) noexcept;
  /// Whether there was room to keep it.
  [[nodiscard]] bool abandon(std::uint32_t place) noexcept;
  /// Those that are neither free nor abandoned.
  [[nodiscard]] std::uint32_t live() const noexcept { return live_; }
  void clear() noexcept;

 private:
  const std::uint32_t live_max_;
  const std::uint32_t abandoned_max_;
  std::vector<PendingOperation> pending_;
  std::vector<std::uint32_t> free_;
  std::uint32_t live_ = 0;
  std::uint32_t abandoned_ = 0;
};

/// Offers it to the provider, which answers 0, -FI_EAGAIN or why not. `to` is ignored by connected endpoints.
[[nodiscard]] long give(fid_ep& endpoint, PendingOperation& pending, fi_addr_t to, void* context);

/// Offers the endpoint every receive buffer that is free. False if it refuses for good.
[[nodiscard]] bool offer(fid_ep& endpoint, ReceiveBuffers& buffers, std::uint32_t life);

/// The status of an operation that ended with this error of libfabric's queues.
[[nodiscard]] OperationStatus status_of_completion(int error) noexcept;
/// The status of an operation that was refused at the call: the operation itself is wrong, or there is no way to the peer.
[[nodiscard]] OperationStatus status_of_refusal(long error) noexcept;

}  // namespace spindrift::kernel::ofi
