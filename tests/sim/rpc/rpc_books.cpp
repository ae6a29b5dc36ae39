// Judges calls.
#include "rpc_books.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "random.hpp"

namespace spindrift::sim {
namespace {

constexpr std::uint64_t order_secret = 0x7b1d5a3c9e2f4068;

std::uint64_t order_word(const RpcOrder& order) {
  // One after the other, so that no change of one field makes up for that of another.
  return mix(mix(order.call ^ order_secret) ^ std::uint64_t{order.response_bytes} << 32 ^
             static_cast<std::uint64_t>(order.work));
}

}  // namespace

void fill(std::span<std::byte> bytes, std::uint64_t key) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(mix(key + i / 8) >> i % 8 * 8);
}

bool filled(std::span<const std::byte> bytes, std::uint64_t key) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != static_cast<std::byte>(mix(key + i / 8) >> i % 8 * 8)) return false;
  }
  return true;
}

void RpcOrder::write(std::span<std::byte> request) const {
  const auto head = field_bytes(call, response_bytes, static_cast<std::uint32_t>(work), order_word(*this));
  static_assert(sizeof head == bytes);
  std::copy(head.begin(), head.end(), request.begin());
  fill(request.subspan(bytes), call);
}

std::optional<RpcOrder> RpcOrder::read(std::span<const std::byte> request) {
  ByteReader fields(request);
  RpcOrder order;
  order.call = fields.get<std::uint64_t>();
  order.response_bytes = fields.get<std::uint32_t>();
  order.work = static_cast<Work>(fields.get<std::uint32_t>() % 4);
  const auto word = fields.get<std::uint64_t>();
  if (!fields.ok() || word != order_word(order) || !filled(request.subspan(bytes), order.call)) return std::nullopt;
  return order;
}

void RpcBooks::violated(const std::string& invariant, const std::string& what) {
  if (!clean()) return;
  invariant_ = invariant;
  what_ = what;
}

CallNumber RpcBooks::begin(const BookedCall& call) {
  calls_.push_back(call);
  return calls_.size() - 1;
}

void RpcBooks::on_handled(std::uint32_t server, std::span<const std::byte> request) {
  const auto order = RpcOrder::read(request);
  if (!order || order->call >= calls_.size()) {
    if (plan_.packets.hostile < 0) violated("C2", fmt::format("node {} is given a request that nobody made", server));
    return;
  }
  BookedCall& call = calls_[order->call];
  if (hostile(call.caller) || hostile(server)) return;
  if (call.server != server)
    violated("C2", fmt::format("call {} to node {} comes to node {}", order->call, call.server, server));
  if (++call.handled > 1) violated("C1", fmt::format("call {} is handled again", order->call));
}

bool RpcBooks::has_cause(const BookedCall& call, rpc::CallStatus status, Time now) const {
  using enum rpc::CallStatus;
  const bool fits = call.response_bytes <= call.response_room;
  switch (status) {
    case answered: return call.handled == 1 && fits && !call.fails && call.handled_type;
    case unhandled: return call.handled == 0 && !call.handled_type;
    case overloaded: return plan_.scarce_memory() && (call.handled == 0 || call.without_room);
    case failed: return call.handled == 1 && call.fails;
    case too_large: return call.handled == 1 && !fits;
    case timed_out: return now >= call.deadline;
    case canceled: return call.canceled;
    case session_closed: return call.closed;
    case peer_lost: return plan_.can_lose_sessions() || plan_.scarce || call.closed;
  }
  return false;
}

void RpcBooks::on_answered(CallNumber number, const rpc::CallAnswer& answer, Time now) {
  BookedCall& call = of(number);
  if (call.ended) return violated("C4", fmt::format("call {} ends again", number));
  call.ended = answer.status;
  using enum rpc::CallStatus;
  if (answer.status == timed_out || answer.status == canceled) gave_up_.insert(call.caller);
  if (hostile(call.caller) || hostile(call.server)) return;
  if (!has_cause(call, answer.status, now))
    return violated("C4", fmt::format("call {} ends as {}, without a cause", number, rpc::to_string(answer.status)));
  if (!RpcOrder::read(answer.request.data())) violated("C5", fmt::format("the request of call {} was changed", number));
  const bool same = answer.response.size() == call.response_bytes && filled(answer.response.data(), ~number);
  if (answer.status == answered && !same)
    violated("C2", fmt::format("call {} is given a response that is not its own", number));
}

void RpcBooks::on_crash(std::uint32_t node) {
  for (BookedCall& call : calls_) call.orphan = call.orphan || (call.caller == node && !call.ended);
}

void RpcBooks::on_lost(std::uint32_t client, std::uint32_t server) {
  if (hostile(client) || hostile(server) || plan_.can_lose_sessions()) return;
  const bool strangers = plan_.packets.strange > 0 || plan_.packets.hostile >= 0;
  violated(strangers ? "C8" : "C7",
           fmt::format("node {} loses its session with node {}, whose packets all arrive", client, server));
}

void RpcBooks::on_sent(std::uint32_t node, const rpc::ReceivedPacket& packet, bool went_back) {
  const rpc::PacketHeader& header = packet.header;
  const bool of_call = header.kind == rpc::PacketKind::request || header.kind == rpc::PacketKind::request_for_response;
  if (!of_call || plan_.packets.hostile >= 0) return;
  auto& slots = wire_[header.token];
  SlotOnWire& slot = slots[header.request % rpc::slots_per_session];
  if (slot.request != header.request) slot = {.request = header.request};
  slot.sent = header.packet + 1u;
  slot.taken = std::min(slot.taken, std::uint32_t{header.packet});
  std::uint32_t under_way = 0;
  for (const SlotOnWire& each : slots) under_way += each.sent - std::min(each.sent, each.taken);
  if (!went_back && !gave_up_.contains(node) && under_way > plan_.options.credits)
    violated("C3", fmt::format("{} packets of a session are under way, with {} credits", under_way, plan_.options.credits));
}

void RpcBooks::on_taken(const rpc::ReceivedPacket& packet) {
  const rpc::PacketHeader& header = packet.header;
  if (header.kind == rpc::PacketKind::accept) {
    if (const auto grant = rpc::decode_grant(packet.payload)) server_token_[header.token] = grant->token;
    return;
  }
  const auto session = server_token_.find(header.token);
  if (session == server_token_.end()) return;
  if (header.kind != rpc::PacketKind::credit_return && header.kind != rpc::PacketKind::response) return;
  SlotOnWire& slot = wire_[session->second][header.request % rpc::slots_per_session];
  if (slot.request != header.request || slot.taken != header.packet || slot.taken >= slot.sent) return;
  slot.taken = header.status == 0 ? slot.taken + 1 : slot.sent;  // a refusal answers all that was sent
}

void RpcBooks::check_kept(std::uint32_t server, std::uint64_t bytes) {
  if (bytes > plan_.options.kept_bytes_max)
    violated("C9", fmt::format("node {} keeps {} bytes, of {}", server, bytes, plan_.options.kept_bytes_max));
}

void RpcBooks::check_credits(std::uint32_t credits, std::size_t open_calls, std::uint32_t agreed) {
  if (credits > agreed) violated("C3", fmt::format("a session with {} credits has {}", agreed, credits));
  if (open_calls == 0 && credits != agreed)
    violated("C3", fmt::format("an idle session has {} of {} credits", credits, agreed));
}

void RpcBooks::check_all_ended() {
  for (CallNumber number = 0; number < calls_.size(); ++number) {
    const BookedCall& call = calls_[number];
    if (!call.ended && !call.orphan)
      return violated("C6", fmt::format("call {} of node {} to node {} never ends", number, call.caller, call.server));
    const bool repeated = call.ended == rpc::CallStatus::overloaded && plan_.scarce_memory();
    if (call.has_to_be_answered && call.ended != rpc::CallStatus::answered && !repeated)
      return violated("C6", fmt::format("call {} of node {} to node {} is not answered, though all is well", number,
                                        call.caller, call.server));
  }
}

bool RpcBooks::all_ended() const {
  return std::all_of(calls_.begin(), calls_.end(), [](const BookedCall& call) { return call.ended || call.orphan; });
}

std::uint64_t RpcBooks::with_status(rpc::CallStatus status) const {
  return static_cast<std::uint64_t>(
      std::count_if(calls_.begin(), calls_.end(), [&](const BookedCall& call) { return call.ended == status; }));
}

}  // namespace spindrift::sim
