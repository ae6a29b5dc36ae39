// One connection: out in order, and back in order.
#include <rdma/fi_errno.h>

#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/kernel/ofi/ofi_connections.hpp>
#include <spindrift/kernel/ofi/libfabric_device.hpp>

namespace spindrift::kernel::ofi {

using fabric::ofi::ofi_error;

OfiConnection::OfiConnection(OfiDevice& device, OfiConnections& connections, OfiShared& shared)
    : device_(device),
      connections_(connections),
      shared_(shared),
      life_(shared.new_life()),
      pending_(shared.sizes.send_depth, 0),
      buffers_(shared.sizes),
      heard_(shared.clock->now()) {}

OfiConnection::~OfiConnection() { connections_.remove(life_); }

Result<void> OfiConnection::start(Handle<fid_ep> endpoint, fid_eq& events, fid_cq& completions) {
  endpoint_ = std::move(endpoint);
  fid_ep* const fid = endpoint_.get();
  if (const int error = fi_ep_bind(fid, &events.fid, 0); error != 0) return ofi_error("fi_ep_bind", error);
  if (const int error = fi_ep_bind(fid, &completions.fid, FI_TRANSMIT | FI_RECV); error != 0)
    return ofi_error("fi_ep_bind", error);
  if (const int error = fi_enable(fid); error != 0) return ofi_error("fi_enable", error);
  buffers_.start(life_);
  if (!offer(*fid, buffers_, life_)) return Error(ErrorKind::resource, "the provider takes no receive buffers");
  return {};
}

std::size_t OfiConnection::post(std::span<const PhysicalOperation> operations) {
  if (!up()) return 0;
  std::size_t taken = 0;
  for (; taken < operations.size() && pending_.live() + events_.completions() < shared_.sizes.send_depth; ++taken) {
    const PhysicalOperation& operation = operations[taken];
    const std::uint32_t place = pending_.take(operation);
    if (order_.empty()) heard_ = shared_.clock->now();
    order_.push_back(place);
    pending_.at(place).status = shared_.judge(operation);
    // Reads land, and writes are taken, where they are; a message is put together here.
    const bool sends = operation.kind == PhysicalOperation::Kind::send;
    if (sends && pending_.at(place).status == Status::done) pending_.stage(place, operation.header);
  }
  flush();
  tell();
  return taken;
}

void OfiConnection::flush() {
  while (up() && given_ < order_.size()) {
    const std::uint32_t place = order_[given_];
    PendingOperation& pending = pending_.at(place);
    long refused = 0;
    if (pending.status == Status::done) {
      refused = give(*endpoint_, pending, FI_ADDR_UNSPEC, to_context({life_, false, place}));
      if (refused == -FI_EAGAIN) return;
      pending.state = PendingOperation::State::given;
    }
    ++given_;
    if (refused != 0) pending.status = status_of_refusal(refused);
    if (pending.status != Status::done) pending.state = PendingOperation::State::over;
    if (pending.status == Status::peer_lost) return break_down(ofi_error("an operation was refused", refused).message());
  }
}

void OfiConnection::tell() {
  while (!order_.empty() && pending_.at(order_.front()).state == PendingOperation::State::over) {
    const std::uint32_t place = order_.front();
    const PendingOperation& pending = pending_.at(place);
    if (pending.operation.signaled || pending.status != Status::done)
      events_.completed(pending.operation.id, pending.status);
    pending_.put_back(place);
    order_.pop_front();
    --given_;
  }
}

std::size_t OfiConnection::poll(std::span<PhysicalEvent> events) {
  if (events_.empty()) device_.progress();
  return events_.take(events);
}

void OfiConnection::give_back(std::uint64_t buffer) {
  buffers_.give_back(buffer);
  if (!broken()) static_cast<void>(offer(*endpoint_, buffers_, life_));  // a refusal is found by the next pass
}

Result<void> OfiConnection::reset() {
  return Error(ErrorKind::unsupported, "a connected queue pair cannot be reset").fix("destroy it and connect anew");
}

void OfiConnection::on_connected(bool called) {
  if (state_ != State::connecting) return;
  state_ = State::up;
  heard_ = shared_.clock->now();
  if (!called) return;
  PhysicalEvent event;
  event.kind = PhysicalEvent::Kind::connected;
  events_.push(std::move(event));
}

void OfiConnection::on_completion(const CompletionToken& token, std::size_t bytes) {
  if (broken()) return;
  if (token.receive) return events_.push(buffers_.received(token.which, bytes));
  PendingOperation& pending = pending_.at(token.which);
  CHECK(pending.state == PendingOperation::State::given);
  pending.state = PendingOperation::State::over;
  heard_ = shared_.clock->now();
  tell();
}

void OfiConnection::on_failed_completion(const CompletionToken& token, int error) {
  if (broken()) return;
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
  if (broken()) return;
  state_ = State::broken;
  endpoint_.reset();
  for (const std::uint32_t place : order_) {
    PendingOperation& pending = pending_.at(place);
    if (pending.state == PendingOperation::State::over) continue;
    pending.state = PendingOperation::State::over;
    if (pending.status == Status::done) pending.status = Status::peer_lost;
  }
  given_ = order_.size();
  tell();
  PhysicalEvent event;
  event.kind = PhysicalEvent::Kind::broken;
  event.reason = std::move(reason);
  events_.push(std::move(event));
}

// What the provider does not take now it takes when something that it has is over, and that its queue tells.
Time OfiConnection::next_look() const noexcept {
  const bool waits = state_ == State::connecting || (up() && !order_.empty());
  return waits ? heard_ + shared_.answer_max : never;
}

void OfiConnection::progress(Time now) {
  if (broken()) return;
  if (!offer(*endpoint_, buffers_, life_)) return break_down("the provider takes no receive buffers");
  flush();
  tell();
  const bool waits = state_ == State::connecting || !order_.empty();
  if (waits && now - heard_ > shared_.answer_max) break_down("the peer does not answer");
}

}  // namespace spindrift::kernel::ofi
