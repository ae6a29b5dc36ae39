// A table of places, and libfabric's three calls.
#include <spindrift/kernel/ofi/flights.hpp>

#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include <spindrift/core/check.hpp>

namespace spindrift::kernel::ofi {
namespace {

constexpr unsigned place_bits = 25;

}  // namespace

void* encode(Token token) noexcept {
  const std::uint64_t word = token.life << (place_bits + 1) | std::uint64_t{token.place} << 1 | (token.receive ? 1 : 0);
  return reinterpret_cast<void*>(word);  // NOLINT: never followed
}

Token decode_token(const void* context) noexcept {
  const auto word = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(context));
  const auto place = static_cast<std::uint32_t>(word >> 1 & ((std::uint64_t{1} << place_bits) - 1));
  return {word >> (place_bits + 1), place, (word & 1) != 0};
}

Flights::Flights(std::uint32_t live_max, std::uint32_t abandoned_max)
    : live_max_(live_max), abandoned_max_(abandoned_max), flights_(live_max + abandoned_max) {
  clear();
}

void Flights::clear() noexcept {
  free_.clear();
  for (std::uint32_t place = places(); place-- > 0;) {
    flights_[place].state = Flight::State::free;
    free_.push_back(place);
  }
  live_ = abandoned_ = 0;
}

std::uint32_t Flights::take(const PhysicalOperation& operation) {
  CHECK(!full());
  const std::uint32_t place = free_.back();
  free_.pop_back();
  ++live_;
  Flight& flight = flights_[place];
  flight.state = Flight::State::waiting;
  flight.status = Status::done;
  flight.staged = false;
  flight.operation = operation;
  flight.operation.header = {};
  return place;
}

void Flights::stage(std::uint32_t place, std::span<const std::byte> header) {
  Flight& flight = flights_[place];
  const PhysicalOperation& operation = flight.operation;
  flight.staged = true;
  flight.copy.resize(header.size() + operation.bytes);
  if (operation.kind == PhysicalOperation::Kind::read) return;
  const auto after_header = std::copy(header.begin(), header.end(), flight.copy.begin());
  if (operation.bytes > 0) std::copy_n(operation.local, operation.bytes, after_header);
}

void Flights::land(std::uint32_t place) noexcept {
  const Flight& flight = flights_[place];
  const bool copies = flight.staged && flight.operation.kind == PhysicalOperation::Kind::read;
  if (copies && !flight.copy.empty()) std::memcpy(flight.operation.local, flight.copy.data(), flight.copy.size());
}

void Flights::put_back(std::uint32_t place) noexcept {
  Flight& flight = flights_[place];
  CHECK(flight.state != Flight::State::free);
  --(flight.state == Flight::State::abandoned ? abandoned_ : live_);
  flight.state = Flight::State::free;
  free_.push_back(place);
}

bool Flights::abandon(std::uint32_t place) noexcept {
  Flight& flight = flights_[place];
  CHECK(flight.state == Flight::State::given);
  if (!flight.staged || abandoned_ == abandoned_max_) return false;
  flight.state = Flight::State::abandoned;
  --live_;
  ++abandoned_;
  return true;
}

long give(fid_ep& endpoint, Flight& flight, fi_addr_t to, void* context) {
  const PhysicalOperation& operation = flight.operation;
  iovec local{operation.local, operation.bytes};
  if (flight.staged) local = {flight.copy.data(), flight.copy.size()};
  // Of a connection, the acknowledgement of what is signaled says that all before it has arrived.
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

Status status_of_completion(int error) noexcept {
  switch (error) {
    case FI_EACCES:
    case FI_EPERM:
    case FI_EKEYREJECTED: return Status::access_refused;
    case FI_ENORX: return Status::not_ready;
    default: return Status::peer_lost;
  }
}

Status status_of_refusal(long error) noexcept {
  switch (-error) {
    case FI_EINVAL:
    case FI_EMSGSIZE:
    case FI_EFAULT:
    case FI_ENOSYS:
    case FI_EOPNOTSUPP: return Status::local_error;
    default: return Status::peer_lost;
  }
}

}  // namespace spindrift::kernel::ofi
