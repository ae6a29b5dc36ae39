// A table of places, and libfabric's three calls.
#include <spindrift/kernel/ofi/pending_operations.hpp>

#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>

#include <spindrift/core/check.hpp>

namespace spindrift::kernel::ofi {
PendingOperations::PendingOperations(std::uint32_t live_max, std::uint32_t abandoned_max)
    : live_max_(live_max), abandoned_max_(abandoned_max), pending_(live_max + abandoned_max) {
  clear();
}

void PendingOperations::clear() noexcept {
  free_.clear();
  for (std::uint32_t place = places(); place-- > 0;) {
    pending_[place].state = PendingOperation::State::free;
    free_.push_back(place);
  }
  live_ = abandoned_ = 0;
}

std::uint32_t PendingOperations::take(const PhysicalOperation& operation) {
  CHECK(!full());
  const std::uint32_t place = free_.back();
  free_.pop_back();
  ++live_;
  PendingOperation& pending = pending_[place];
  pending.state = PendingOperation::State::waiting;
  pending.status = OperationStatus::done;
  pending.staged = false;
  pending.operation = operation;
  pending.operation.header = {};
  return place;
}

void PendingOperations::stage(std::uint32_t place, std::span<const std::byte> header) {
  PendingOperation& pending = pending_[place];
  const PhysicalOperation& operation = pending.operation;
  pending.staged = true;
  pending.copy.resize(header.size() + operation.bytes);
  if (operation.kind == PhysicalOperation::Kind::read) return;
  const auto after_header = std::copy(header.begin(), header.end(), pending.copy.begin());
  if (operation.bytes > 0) std::copy_n(operation.local, operation.bytes, after_header);
}

void PendingOperations::land(std::uint32_t place) noexcept {
  const PendingOperation& pending = pending_[place];
  const bool copies = pending.staged && pending.operation.kind == PhysicalOperation::Kind::read;
  if (copies && !pending.copy.empty()) std::memcpy(pending.operation.local, pending.copy.data(), pending.copy.size());
}

void PendingOperations::put_back(std::uint32_t place) noexcept {
  PendingOperation& pending = pending_[place];
  CHECK(pending.state != PendingOperation::State::free);
  --(pending.state == PendingOperation::State::abandoned ? abandoned_ : live_);
  pending.state = PendingOperation::State::free;
  free_.push_back(place);
}

bool PendingOperations::abandon(std::uint32_t place) noexcept {
  PendingOperation& pending = pending_[place];
  CHECK(pending.state == PendingOperation::State::given);
  if (!pending.staged || abandoned_ == abandoned_max_) return false;
  pending.state = PendingOperation::State::abandoned;
  --live_;
  ++abandoned_;
  return true;
}

long give(fid_ep& endpoint, PendingOperation& pending, fi_addr_t to, void* context) {
  const PhysicalOperation& operation = pending.operation;
  iovec local{operation.local, operation.bytes};
  if (pending.staged) local = {pending.copy.data(), pending.copy.size()};
  // On a connection, the acknowledgement of what is signaled says that all before it has arrived.
  const std::uint64_t acknowledged = FI_COMPLETION | (operation.signaled ? FI_DELIVERY_COMPLETE : 0);
  if (operation.kind == PhysicalOperation::Kind::send) {
    fi_msg message{};
    message.msg_iov = &local;
    message.iov_count = 1;
    message.addr = to;
    message.context = context;
    return fi_sendmsg(&endpoint, &message, acknowledged);
  }
  fi_rma_iov remote{operation.remote_address, local.iov_len, operation.remote_key};
  fi_msg_rma transfer{};
  transfer.msg_iov = &local;
  transfer.iov_count = 1;
  transfer.addr = to;
  transfer.rma_iov = &remote;
  transfer.rma_iov_count = 1;
  transfer.context = context;
  if (operation.kind == PhysicalOperation::Kind::read) return fi_readmsg(&endpoint, &transfer, FI_COMPLETION);
  if (!operation.news) return fi_writemsg(&endpoint, &transfer, acknowledged);
  transfer.data = 1;
  return fi_writemsg(&endpoint, &transfer, acknowledged | FI_REMOTE_CQ_DATA);
}

bool offer(fid_ep& endpoint, ReceiveBuffers& buffers, std::uint32_t life) {
  for (auto buffer = buffers.next_free(); buffer; buffer = buffers.next_free()) {
    const auto refused = fi_recv(&endpoint, buffer->bytes.data(), buffer->bytes.size(), nullptr, FI_ADDR_UNSPEC,
                                 to_context({life, true, buffer->place}));
    if (refused == -FI_EAGAIN) return true;
    if (refused != 0) return false;
    buffers.lend();
  }
  return true;
}

OperationStatus status_of_completion(int error) noexcept {
  switch (error) {
    case FI_EACCES:
    case FI_EPERM:
    case FI_EKEYREJECTED: return OperationStatus::access_refused;
    case FI_ENORX: return OperationStatus::not_ready;
    default: return OperationStatus::peer_lost;
  }
}

OperationStatus status_of_refusal(long error) noexcept {
  switch (-error) {
    case FI_EINVAL:
    case FI_EMSGSIZE:
    case FI_EFAULT:
    case FI_ENOSYS:
    case FI_EOPNOTSUPP: return OperationStatus::local_error;
    default: return OperationStatus::peer_lost;
  }
}

}  // namespace spindrift::kernel::ofi
