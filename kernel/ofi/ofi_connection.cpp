// One connection: out in order, and back in order.
#include <rdma/fi_errno.h>

#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/kernel/ofi/ofi_connections.hpp>

namespace spindrift::kernel::ofi {

OfiConnection::OfiConnection(PhysicalDevice& device, OfiConnections& connections, OfiShared& shared)
    : PhysicalQueuePair(device),
      connections_(connections),
      shared_(shared),
      state_(shared.new_life(), shared.answer_max, shared.clock->now()),
      pending_(shared.sizes.send_depth, 0),
      buffers_(shared.sizes) {}

OfiConnection::~OfiConnection() { connections_.table().remove(state_.life()); }

Result<void> OfiConnection::start(Handle<fid_ep> endpoint, fid_eq& events, fid_cq& completions) {
  endpoint_ = std::move(endpoint);
  SPINDRIFT_TRY(ProviderDomain::enable(*endpoint_, completions, events.fid));
  buffers_.start(state_.life());
  if (!offer(*endpoint_, buffers_, state_.life()))
    return Error(ErrorKind::resource, "the provider takes no receive buffers");
  return {};
}

std::size_t OfiConnection::post(std::span<const PhysicalOperation> operations) {
  if (!state_.up()) return 0;
  std::size_t taken = 0;
  for (; taken < operations.size() && pending_.live() + events_.completions() < shared_.sizes.send_depth; ++taken) {
    const PhysicalOperation& operation = operations[taken];
    const std::uint32_t place = pending_.take(operation);
    if (order_.empty()) state_.hear(shared_.clock->now());
    order_.push_back(place);
    pending_.at(place).status = judge(operation, shared_.memory, shared_.sizes.message_bytes_max);
    // Reads land, and writes are taken, where they are; a message is put together here.
    const bool sends = operation.kind == PhysicalOperation::Kind::send;
    if (sends && pending_.at(place).status == OperationStatus::done) pending_.stage(place, operation.header);
  }
  flush();
  tell();
  return taken;
}

void OfiConnection::flush() {
  while (state_.up() && given_ < order_.size()) {
    const std::uint32_t place = order_[given_];
    PendingOperation& pending = pending_.at(place);
    long refused = 0;
    if (pending.status == OperationStatus::done) {
      refused = give(*endpoint_, pending, FI_ADDR_UNSPEC, to_context({state_.life(), false, place}));
      if (refused == -FI_EAGAIN) return;
      pending.state = PendingOperation::State::given;
    }
    ++given_;
    if (refused != 0) pending.status = status_of_refusal(refused);
    if (pending.status != OperationStatus::done) pending.state = PendingOperation::State::over;
    if (pending.status == OperationStatus::peer_lost)
      return break_down(ofi_error("an operation was refused", refused).message());
  }
}

void OfiConnection::tell() {
  while (!order_.empty() && pending_.at(order_.front()).state == PendingOperation::State::over) {
    const std::uint32_t place = order_.front();
    const PendingOperation& pending = pending_.at(place);
    if (pending.operation.signaled || pending.status != OperationStatus::done)
      events_.completed(pending.operation.id, pending.status);
    pending_.put_back(place);
    order_.pop_front();
    --given_;
  }
}

void OfiConnection::give_back(std::uint64_t buffer) {
  buffers_.give_back(buffer);
  if (!state_.broken())
    static_cast<void>(offer(*endpoint_, buffers_, state_.life()));  // a refusal is found by the next pass
}

void OfiConnection::on_connected(bool called) {
  if (state_.establish(shared_.clock->now()) && called) events_.connected();
}

void OfiConnection::on_completion(const CompletionToken& token, std::size_t bytes) {
  if (state_.broken()) return;
  if (token.receive) return events_.push(buffers_.received(token.which, bytes));
  PendingOperation& pending = pending_.at(token.which);
  CHECK(pending.state == PendingOperation::State::given);
  pending.state = PendingOperation::State::over;
  state_.hear(shared_.clock->now());
  tell();
}

void OfiConnection::on_failed_completion(const CompletionToken& token, int error) {
  if (state_.broken()) return;
  if (token.receive) {
    // A connection that ends gives its buffers back so; the event queue tells how it ended.
    if (error == FI_ETRUNC) break_down("a message of the peer was longer than the buffers are");
    return;
  }
  PendingOperation& pending = pending_.at(token.which);
  CHECK(pending.state == PendingOperation::State::given);
  pending.state = PendingOperation::State::over;
  pending.status = status_of_completion(error);
  break_down(ofi_error("an operation failed", error).message());
}

void OfiConnection::break_down(std::string reason) {
  if (!state_.end()) return;
  endpoint_.reset();
  for (const std::uint32_t place : order_) {
    PendingOperation& pending = pending_.at(place);
    if (pending.state == PendingOperation::State::over) continue;
    pending.state = PendingOperation::State::over;
    if (pending.status == OperationStatus::done) pending.status = OperationStatus::peer_lost;
  }
  given_ = order_.size();
  tell();
  events_.broken(std::move(reason));
}

void OfiConnection::progress(Time now) {
  if (state_.broken()) return;
  if (!offer(*endpoint_, buffers_, state_.life())) return break_down("the provider takes no receive buffers");
  flush();
  tell();
  if (now > next_look()) break_down("the peer does not answer");
}

}  // namespace spindrift::kernel::ofi
