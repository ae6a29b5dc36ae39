// Posting to one peer, with what the provider does not take yet kept in order.
#include <spindrift/fabric/ofi/connection.hpp>

#include <algorithm>
#include <utility>

#include <spindrift/fabric/endpoint_parts.hpp>

namespace spindrift::fabric::ofi {
namespace {

constexpr std::size_t buffers = 8;
constexpr std::size_t buffer_bytes = connected::header_bytes + connected::message_bytes_max;
constexpr std::uint64_t news_word = 1;

}  // namespace

// A token is a place and its generation, never a pointer: what the provider gives back late hits nothing.
void* Flights::reserve(MessageEndpoint& connection) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(flights_.size()));
    flights_.push_back({.place = free_.back()});
  }
  const std::uint32_t place = free_.back();
  free_.pop_back();
  flights_[place].connection = &connection;
  return reinterpret_cast<void*>(std::uintptr_t{flights_[place].generation} << 32U | place);  // NOLINT
}

Flights::Flight& Flights::at(void* token) noexcept {
  return flights_[reinterpret_cast<std::uintptr_t>(token) & 0xffff'ffff];
}

Flights::Flight* Flights::find(void* token) noexcept {
  const auto word = reinterpret_cast<std::uintptr_t>(token);
  const std::size_t place = word & 0xffff'ffff;
  if (place >= flights_.size()) return nullptr;
  Flight& flight = flights_[place];
  return flight.generation != word >> 32U || flight.connection == nullptr ? nullptr : &flight;
}

void Flights::clear(Flight& flight) noexcept {
  if (flight.request.region != nullptr) {
    --flight.request.region->reading;
    flight.connection->unsent_bytes -= flight.request.bytes;
  }
  flight = {.place = flight.place, .generation = flight.generation + 1};
  free_.push_back(flight.place);
}

void Flights::drop(const MessageEndpoint& connection) noexcept {
  for (Flight& flight : flights_) {
    if (flight.connection == &connection) clear(flight);
  }
}

std::size_t Flights::under_way(const MessageEndpoint& connection) const noexcept {
  return static_cast<std::size_t>(std::count_if(flights_.begin(), flights_.end(), [&](const Flight& flight) {
    return flight.connection == &connection && flight.request.kind != OfiRequest::Kind::receive;
  }));
}

void MessageEndpoint::close() {
  revoke_all();
  endpoint_.reset();
  flights_.drop(*this);
  backlog_.drop();
}

Result<void> MessageEndpoint::start_receiving() {
  buffers_ = std::make_unique_for_overwrite<std::byte[]>(buffers * buffer_bytes);
  for (std::size_t i = 0; i < buffers; ++i) {
    void* const token = flights_.reserve(*this);
    OfiRequest& buffer = flights_.at(token).request;
    buffer.kind = OfiRequest::Kind::receive;
    buffer.context = i;
    receive_again(token);
    if (broken()) return Error(ErrorKind::resource, *broken());
  }
  return {};
}

void MessageEndpoint::taken(void* token) {
  if (full()) return held_.push_back(token);
  receive_again(token);
}

void MessageEndpoint::resume() {
  for (void* const token : std::exchange(held_, {})) receive_again(token);
}

void MessageEndpoint::receive_again(void* token) {
  std::byte* const buffer = buffers_.get() + flights_.at(token).request.context * buffer_bytes;
  const long failed = fi_recv(endpoint_.get(), buffer, buffer_bytes, nullptr, FI_ADDR_UNSPEC, token);
  if (failed != 0) break_down(ofi_error("fi_recv", failed).message());
}

std::span<const std::byte> MessageEndpoint::received(const OfiRequest& buffer, std::size_t bytes) const noexcept {
  return {buffers_.get() + buffer.context * buffer_bytes, bytes <= buffer_bytes ? bytes : 0};
}

void MessageEndpoint::post(OfiRequest request) {
  backlog_.post(*this, std::move(request), [this](OfiRequest& each) { return offer(each); });
}

void MessageEndpoint::flush() {
  backlog_.flush(*this, [this](OfiRequest& each) { return offer(each); });
}

void MessageEndpoint::send(std::span<const std::byte> message, bool signaled, std::uint64_t context) {
  OfiRequest request;
  request.kind = OfiRequest::Kind::send;
  request.signaled = signaled;
  request.context = context;
  request.bytes = message.size();
  request.owned.assign(message.begin(), message.end());
  post(std::move(request));
}

void MessageEndpoint::transfer(const connected::Transfer& transfer) {
  OfiRequest request;
  static_cast<connected::Transfer&>(request) = transfer;
  if (transfer.reads) {
    request.kind = OfiRequest::Kind::read;
    request.copied = false;
    request.region = nullptr;
  } else if (transfer.copied && (transfer.signaled || transfer.bytes > inject_bytes_)) {
    // Small ones the provider copies itself, if it takes them at once.
    request.owned.assign(transfer.local, transfer.local + transfer.bytes);
  }
  post(std::move(request));
}

Result<MessageEndpoint::Right> MessageEndpoint::give_right(connected::OwnRegion& region, Access access) {
  SPINDRIFT_TRY_ASSIGN(const std::uint64_t key, random_word());
  SPINDRIFT_TRY_ASSIGN(auto handle, provider_.register_memory(region.memory, access, key));
  const std::uint64_t given = fi_mr_key(handle.get());
  return Right{given, provider_.address_of(region.memory.data()),
               std::make_unique<connected::HeldRegistration<Handle<fid_mr>>>(std::move(handle))};
}

// Whether the provider took it.
bool MessageEndpoint::offer(OfiRequest& request) {
  const bool injected = request.bytes <= inject_bytes_ && !request.signaled && request.kind != OfiRequest::Kind::read &&
                        request.region == nullptr;
  void* const token = injected ? nullptr : flights_.reserve(*this);
  const long failed = pass_on(request, token);
  if (failed == 0) {
    if (request.region != nullptr) unsent_bytes += request.bytes;
    if (token != nullptr) flights_.at(token).request = std::move(request);
    return true;
  }
  if (token != nullptr) flights_.finish(token);
  if (failed != -FI_EAGAIN) break_down(ofi_error("an operation failed", failed).message());
  return false;
}

long MessageEndpoint::pass_on(const OfiRequest& request, void* token) {
  fid_ep* const to = endpoint_.get();
  const std::byte* const local = request.owned.empty() ? request.local : request.owned.data();
  const std::uint64_t address = request.address;
  const std::uint64_t key = request.remote_key;
  switch (request.kind) {
    case OfiRequest::Kind::send:
      if (token == nullptr) return fi_inject(to, local, request.bytes, FI_ADDR_UNSPEC);
      return fi_send(to, local, request.bytes, nullptr, FI_ADDR_UNSPEC, token);
    case OfiRequest::Kind::read:
      return fi_read(to, const_cast<std::byte*>(local), request.bytes, nullptr, FI_ADDR_UNSPEC, address, key, token);
    case OfiRequest::Kind::write:
      if (token == nullptr && !request.more)
        return fi_inject_writedata(to, local, request.bytes, news_word, FI_ADDR_UNSPEC, address, key);
      if (token == nullptr) return fi_inject_write(to, local, request.bytes, FI_ADDR_UNSPEC, address, key);
      if (!request.more)
        return fi_writedata(to, local, request.bytes, nullptr, news_word, FI_ADDR_UNSPEC, address, key, token);
      return fi_write(to, local, request.bytes, nullptr, FI_ADDR_UNSPEC, address, key, token);
    case OfiRequest::Kind::receive: break;
  }
  return -FI_EINVAL;
}

}  // namespace spindrift::fabric::ofi
