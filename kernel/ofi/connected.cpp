// One connection: out in order, and back in order.
#include <rdma/fi_errno.h>

#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/kernel/ofi/connections.hpp>
#include <spindrift/kernel/ofi/device.hpp>

namespace spindrift::kernel::ofi {

using fabric::ofi::ofi_error;

Connected::Connected(OfiDevice& device, Connections& connections, Shelf& shelf)
    : device_(device),
      connections_(connections),
      shelf_(shelf),
      life_(shelf.new_life()),
      flights_(shelf.sizes.send_depth, 0),
      inbox_(shelf.sizes),
      heard_(shelf.clock->now()) {}

Connected::~Connected() {
  connections_.remove(life_);
  inbox_.stop();
}

Result<void> Connected::start(Handle<fid_ep> endpoint, fid_eq& events, fid_cq& completions) {
  endpoint_ = std::move(endpoint);
  fid_ep* const fid = endpoint_.get();
  if (const int error = fi_ep_bind(fid, &events.fid, 0); error != 0) return ofi_error("fi_ep_bind", error);
  if (const int error = fi_ep_bind(fid, &completions.fid, FI_TRANSMIT | FI_RECV); error != 0)
    return ofi_error("fi_ep_bind", error);
  if (const int error = fi_enable(fid); error != 0) return ofi_error("fi_enable", error);
  inbox_.start(*fid, life_);
  if (!inbox_.flush()) return Error(ErrorKind::resource, "the provider takes no receive buffers");
  return {};
}

std::size_t Connected::post(std::span<const PhysicalOperation> operations) {
  if (!up()) return 0;
  std::size_t taken = 0;
  for (; taken < operations.size() && flights_.live() + events_.completions() < shelf_.sizes.send_depth; ++taken) {
    const PhysicalOperation& operation = operations[taken];
    const std::uint32_t place = flights_.take(operation);
    if (order_.empty()) heard_ = shelf_.clock->now();
    order_.push_back(place);
    flights_.at(place).status = shelf_.judge(operation);
    // Reads land, and writes are taken, where they are; a message is put together here.
    const bool sends = operation.kind == PhysicalOperation::Kind::send;
    if (sends && flights_.at(place).status == Status::done) flights_.stage(place, operation.header);
  }
  flush();
  tell();
  return taken;
}

void Connected::flush() {
  while (up() && given_ < order_.size()) {
    const std::uint32_t place = order_[given_];
    Flight& flight = flights_.at(place);
    long refused = 0;
    if (flight.status == Status::done) {
      refused = give(*endpoint_, flight, FI_ADDR_UNSPEC, encode({life_, place, false}));
      if (refused == -FI_EAGAIN) return;
      flight.state = Flight::State::given;
    }
    ++given_;
    if (refused != 0) flight.status = status_of_refusal(refused);
    if (flight.status != Status::done) flight.state = Flight::State::over;
    if (flight.status == Status::peer_lost) return break_down(ofi_error("an operation was refused", refused).message());
  }
}

void Connected::tell() {
  while (!order_.empty() && flights_.at(order_.front()).state == Flight::State::over) {
    const std::uint32_t place = order_.front();
    const Flight& flight = flights_.at(place);
    if (flight.operation.signaled || flight.status != Status::done) events_.completed(flight.operation.id, flight.status);
    flights_.put_back(place);
    order_.pop_front();
    --given_;
  }
}

std::size_t Connected::poll(std::span<PhysicalEvent> events) {
  if (events_.empty()) device_.progress();
  return events_.take(events);
}

Result<void> Connected::reset() {
  return Error(ErrorKind::unsupported, "a connected queue pair cannot be reset").fix("destroy it and connect anew");
}

void Connected::on_connected(bool called) {
  if (state_ != State::connecting) return;
  state_ = State::up;
  heard_ = shelf_.clock->now();
  if (!called) return;
  PhysicalEvent event;
  event.kind = PhysicalEvent::Kind::connected;
  events_.push(std::move(event));
}

void Connected::on_completion(const Token& token, std::size_t bytes) {
  if (broken()) return;
  if (token.receive) return events_.push(inbox_.received(token.place, bytes));
  Flight& flight = flights_.at(token.place);
  CHECK(flight.state == Flight::State::given);
  flight.state = Flight::State::over;
  heard_ = shelf_.clock->now();
  tell();
}

void Connected::on_failed_completion(const Token& token, int error) {
  if (broken()) return;
  if (token.receive) {
    // A connection that ends gives its buffers back so; the event queue tells how it ended.
    if (error == FI_ETRUNC) break_down("a message of the peer was longer than the buffers are");
    return;
  }
  Flight& flight = flights_.at(token.place);
  CHECK(flight.state == Flight::State::given);
  flight.state = Flight::State::over;
  flight.status = status_of_completion(error);
  break_down(ofi_error("an operation failed", error).message());
}

void Connected::break_down(std::string reason) {
  if (broken()) return;
  state_ = State::broken;
  inbox_.stop();
  endpoint_.reset();
  for (const std::uint32_t place : order_) {
    Flight& flight = flights_.at(place);
    if (flight.state == Flight::State::over) continue;
    flight.state = Flight::State::over;
    if (flight.status == Status::done) flight.status = Status::peer_lost;
  }
  given_ = order_.size();
  tell();
  PhysicalEvent event;
  event.kind = PhysicalEvent::Kind::broken;
  event.reason = std::move(reason);
  events_.push(std::move(event));
}

// What the provider does not take now it takes when something that it has is over, and that its queue tells.
Time Connected::next_look() const noexcept {
  const bool waits = state_ == State::connecting || (up() && !order_.empty());
  return waits ? heard_ + shelf_.answer_max : never;
}

void Connected::progress(Time now) {
  if (broken()) return;
  if (!inbox_.flush()) return break_down("the provider takes no receive buffers");
  flush();
  tell();
  const bool waits = state_ == State::connecting || !order_.empty();
  if (waits && now - heard_ > shelf_.answer_max) break_down("the peer does not answer");
}

}  // namespace spindrift::kernel::ofi
