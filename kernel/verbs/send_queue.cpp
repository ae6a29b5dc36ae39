// In order out, in order back.
#include <spindrift/kernel/verbs/send_queue.hpp>

#include <algorithm>
#include <utility>

namespace spindrift::kernel::verbs {

OperationStatus status_of(ibv_wc_status status) noexcept {
  switch (status) {
    case IBV_WC_SUCCESS: return OperationStatus::done;
    case IBV_WC_LOC_LEN_ERR:
    case IBV_WC_LOC_QP_OP_ERR:
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_ACCESS_ERR: return OperationStatus::local_error;
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_INV_REQ_ERR: return OperationStatus::access_refused;
    case IBV_WC_RNR_RETRY_EXC_ERR: return OperationStatus::not_ready;
    case IBV_WC_WR_FLUSH_ERR: return OperationStatus::flushed;
    default: return OperationStatus::peer_lost;
  }
}

SendQueue::SendQueue(const DeviceSizes& sizes, const OwnMemory& memory, Reaches reaches)
    : sizes_(sizes), memory_(memory), reaches_(std::move(reaches)), headers_(sizes.send_depth * header_bytes_max) {}

OperationStatus SendQueue::judge(const PhysicalOperation& operation) const {
  if (reaches_ && !reaches_(operation.peer)) return OperationStatus::local_error;
  if (operation.header.size() > header_bytes_max) return OperationStatus::local_error;
  return kernel::judge(operation, memory_, sizes_.message_bytes_max);
}

AdapterRequest SendQueue::request_of(const PhysicalOperation& operation, std::uint32_t number) {
  AdapterRequest request;
  request.kind = operation.kind;
  request.news = operation.news;
  request.number = number;
  request.peer = operation.peer;
  request.remote_address = operation.remote_address;
  request.remote_key = static_cast<std::uint32_t>(operation.remote_key);
  const auto add = [&request](const std::byte* bytes, std::size_t size, std::uint64_t key) {
    request.pieces[static_cast<std::size_t>(request.piece_count++)] = piece_of({bytes, size}, key);
  };
  if (!operation.header.empty()) {
    std::byte* const header = headers_.data() + number % sizes_.send_depth * header_bytes_max;
    std::copy(operation.header.begin(), operation.header.end(), header);
    add(header, operation.header.size(), headers_key_);
  }
  if (operation.bytes > 0) add(operation.local, operation.bytes, operation.local_key);
  return request;
}

// The adapter frees a request's place when a later one is told, so one of a few is told though nobody asked. What is refused
// while requests without a completion are under way has a write of nothing in its place, so that its turn is known.
std::size_t SendQueue::take(std::span<const PhysicalOperation> operations, std::vector<AdapterRequest>& requests) {
  std::size_t taken = 0;
  if (pending_.empty()) unsignaled_ = 0;
  for (; taken < operations.size() && pending_.size() + events_.completions() < sizes_.send_depth; ++taken) {
    const PhysicalOperation& operation = operations[taken];
    PendingRequest pending{
        .number = next_++, .signaled = operation.signaled, .status = judge(operation), .id = operation.id};
    const bool refused = pending.status != OperationStatus::done;
    pending.handed = !refused || unsignaled_ > 0;
    pending_.push_back(pending);
    if (!pending.handed) continue;
    AdapterRequest request;
    if (refused) {
      request.number = pending.number;
      request.peer = last_peer_;
    } else {
      request = request_of(operation, pending.number);
    }
    request.signaled = refused || operation.signaled || ++unsignaled_ >= std::max(sizes_.send_depth / 4, 1U);
    if (request.signaled) unsignaled_ = 0;
    last_peer_ = request.peer;
    requests.push_back(request);
  }
  tell_refused();
  return taken;
}

void SendQueue::tell_first() {
  const PendingRequest pending = pending_.front();
  pending_.pop_front();
  if (pending.signaled || pending.status != OperationStatus::done) events_.completed(pending.id, pending.status);
}

void SendQueue::tell_refused() {
  while (!pending_.empty() && !pending_.front().handed) tell_first();
}

void SendQueue::on_done(std::uint32_t number) {
  while (!pending_.empty() && static_cast<std::int32_t>(number - pending_.front().number) >= 0) tell_first();
  tell_refused();
}

void SendQueue::on_failed(std::uint32_t number, OperationStatus status) {
  const auto failed =
      std::find_if(pending_.begin(), pending_.end(), [&](const PendingRequest& f) { return f.number == number; });
  if (failed == pending_.end()) return;
  if (failed->status == OperationStatus::done) failed->status = status;
  on_done(number);
}

void SendQueue::take_back(std::span<const AdapterRequest> requests) {
  if (requests.empty()) return;
  for (PendingRequest& pending : pending_) {
    if (static_cast<std::int32_t>(pending.number - requests.front().number) < 0) continue;
    pending.handed = false;
    if (pending.status == OperationStatus::done) pending.status = OperationStatus::flushed;
  }
  tell_refused();
}

void SendQueue::fail_all(OperationStatus status) {
  for (PendingRequest& pending : pending_) {
    if (pending.status == OperationStatus::done) pending.status = status;
  }
  while (!pending_.empty()) tell_first();
}

}  // namespace spindrift::kernel::verbs
