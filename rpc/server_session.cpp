// Requests in, each to its handler once; responses out, as often as the client asks.
#include <spindrift/rpc/server_session.hpp>

#include <cstring>
#include <string>

#include <spindrift/core/check.hpp>

namespace spindrift::rpc {

ServerSession::ServerSession(const SessionWorld& world, const SessionEnds& ends, const RequestHandlers& handlers, Time now)
    : world_(world), ends_(ends), handlers_(handlers), heard_(now), kept_(world) {
  for (std::uint32_t i = 0; i < slots_per_session; ++i) {
    slots_[i].request = i;
    slots_[i].small = MessageBuffer(world.payload_bytes, world.payload_bytes);
  }
}

void ServerSession::accept() {
  const SessionGrant grant{.session = ends_.id.number, .credits = ends_.credits, .token = ends_.token};
  world_.burst.add_copied(ends_.route, ends_.header(PacketKind::accept), encode(grant));
}

void ServerSession::on_packet(const ReceivedPacket& packet, Time now) {
  if (ended_) return;
  heard_ = now;
  switch (packet.header.kind) {
    case PacketKind::request: return on_request(packet);
    case PacketKind::request_for_response: return on_request_for_response(packet.header);
    case PacketKind::ping: return on_ping(packet.header);
    case PacketKind::leave: return end();
    default: return;
  }
}

void ServerSession::dismiss() {
  if (!ended_) world_.burst.add_copied(ends_.route, ends_.header(PacketKind::dismiss));
  end();
}

void ServerSession::check_silence(Time now) {
  if (!ended_ && now - heard_ >= world_.options.silence_max) lose();
}

void ServerSession::lose() {
  ++world_.counts.sessions_lost;
  end();
}

void ServerSession::on_ping(const PacketHeader& ping) {
  PacketHeader pong = ends_.header(PacketKind::pong);
  ServerSlot& slot = slots_[ping.request % slots_per_session];
  if (slot.request <= ping.request && slot.state != ServerSlot::State::handling) {
    world_.burst.let_go(slot.burst);
    kept_.drop(slot.message);
    kept_.drop(slot.large);
    slot.in_large = false;
    slot.request = ping.request;
    slot.state = ServerSlot::State::idle;
  }
  if (slot.request > ping.request || slot.state == ServerSlot::State::idle) pong.request = ping.request;
  world_.burst.add_copied(ends_.route, pong);
}

void ServerSession::on_request(const ReceivedPacket& packet) {
  ServerSlot& slot = slots_[packet.header.request % slots_per_session];
  if (packet.header.request > slot.request) return begin(slot, packet);
  if (packet.header.request == slot.request) return go_on(slot, packet);
  ++world_.counts.packets_out_of_turn;
}

void ServerSession::begin(ServerSlot& slot, const ReceivedPacket& packet) {
  const PacketHeader& header = packet.header;
  if (slot.state == ServerSlot::State::handling || header.packet != 0) {
    ++world_.counts.packets_out_of_turn;
    return;
  }
  world_.burst.let_go(slot.burst);
  kept_.drop_if_large(slot.large);
  kept_.drop_if_large(slot.message);
  slot.state = ServerSlot::State::receiving;
  slot.type = header.request_type;
  slot.request = header.request;
  slot.request_bytes = header.message_bytes;
  slot.request_packets = packets_of(header.message_bytes, world_.payload_bytes);
  slot.received = 0;
  slot.late = false;
  const CallStatus verdict = judge(slot);
  if (verdict != CallStatus::answered) return refuse(slot, verdict);
  take_piece(slot, packet);
}

CallStatus ServerSession::judge(ServerSlot& slot) {
  if (handlers_[slot.type] == nullptr || slot.request_bytes > world_.options.message_bytes_max) return CallStatus::unhandled;
  if (slot.request_packets == 1 || kept_.provide(slot.message, slot.request_bytes)) return CallStatus::answered;
  kept_.drop(slot.large);  // it was there only to be used again
  if (kept_.provide(slot.message, slot.request_bytes)) return CallStatus::answered;
  ++world_.counts.requests_overloaded;
  return CallStatus::overloaded;
}

void ServerSession::refuse(ServerSlot& slot, CallStatus status) {
  slot.request_packets = slot.received = 1;
  slot.small.resize(0);
  slot.in_large = false;
  slot.status = status;
  slot.state = ServerSlot::State::answered;
  send_response(slot, 0);
}

void ServerSession::go_on(ServerSlot& slot, const ReceivedPacket& packet) {
  const PacketHeader& header = packet.header;
  if (slot.state == ServerSlot::State::idle) {
    ++world_.counts.packets_out_of_turn;
    return;
  }
  if (header.message_bytes != slot.request_bytes || header.request_type != slot.type) {
    ++world_.counts.packets_strange;
    return;
  }
  if (slot.state == ServerSlot::State::receiving && header.packet == slot.received) return take_piece(slot, packet);
  ++world_.counts.packets_out_of_turn;
  if (header.packet >= slot.received) return;
  if (header.packet + 1u < slot.request_packets) return return_credit(slot, header.packet);
  if (slot.state == ServerSlot::State::answered) send_response(slot, 0);
}

void ServerSession::take_piece(ServerSlot& slot, const ReceivedPacket& packet) {
  const bool in_place = slot.request_packets == 1;
  if (!in_place) std::memcpy(slot.message.piece(slot.received).data(), packet.payload.data(), packet.payload.size());
  ++slot.received;
  if (slot.received < slot.request_packets) return return_credit(slot, packet.header.packet);
  slot.state = ServerSlot::State::handling;
  ++handling_;
  handle(slot, in_place ? packet.payload : std::span<const std::byte>(slot.message.data()));
}

void ServerSession::handle(ServerSlot& slot, std::span<const std::byte> bytes) {
  ++world_.counts.handled;
  slot.small.resize(0);
  slot.in_large = false;
  if (slot.request_packets == 1) {
    ++world_.counts.handled_in_place;
    slot.in_place = bytes;
  }
  IncomingRequest request(*this, {ends_.id, slot.request}, slot.type, bytes);
  handlers_[slot.type]->on_request(request);
  slot.in_place = {};
  slot.late = slot.state == ServerSlot::State::handling;
}

void ServerSession::return_credit(const ServerSlot& slot, std::uint32_t packet) {
  PacketHeader header = ends_.header(PacketKind::credit_return);
  header.request = slot.request;
  header.packet = static_cast<std::uint16_t>(packet);
  world_.burst.add_copied(ends_.route, header);
}

void ServerSession::on_request_for_response(const PacketHeader& header) {
  ServerSlot& slot = slots_[header.request % slots_per_session];
  const bool answered = slot.state == ServerSlot::State::answered && header.request == slot.request;
  if (!answered || header.packet < slot.request_packets ||
      header.packet + 1u - slot.request_packets >= slot.response().packets()) {
    ++world_.counts.packets_out_of_turn;
    return;
  }
  send_response(slot, header.packet + 1u - slot.request_packets);
}

void ServerSession::send_response(ServerSlot& slot, std::uint32_t piece) {
  if (ended_) return;
  MessageBuffer& response = slot.response();
  PacketHeader header = ends_.header(PacketKind::response);
  header.request_type = slot.type;
  header.status = static_cast<std::uint8_t>(slot.status);
  header.request = slot.request;
  header.message_bytes = static_cast<std::uint32_t>(response.size());
  header.packet = static_cast<std::uint16_t>(slot.request_packets - 1 + piece);
  header.late = slot.late && piece == 0;
  slot.burst = world_.burst.add(ends_.route, header, response, piece);
}

bool ServerSession::owes(std::uint64_t request) const noexcept {
  const ServerSlot& slot = slots_[request % slots_per_session];
  return slot.state == ServerSlot::State::handling && slot.request == request;
}

ServerSlot& ServerSession::owing_slot(std::uint64_t request) {
  CHECK(owes(request));
  return slots_[request % slots_per_session];
}

std::span<const std::byte> ServerSession::keep(std::uint64_t request) {
  ServerSlot& slot = owing_slot(request);
  if (slot.request_packets == 1 && slot.in_place.data() != nullptr) {
    CHECK(kept_.provide(slot.message, slot.request_bytes));  // a message of one packet is not counted
    if (!slot.in_place.empty()) std::memcpy(slot.message.data().data(), slot.in_place.data(), slot.in_place.size());
    slot.in_place = {};
  }
  return slot.message.data();
}

Result<std::span<std::byte>> ServerSession::make_response(std::uint64_t request, std::size_t bytes) {
  ServerSlot& slot = owing_slot(request);
  CHECK(bytes <= message_bytes_most);
  slot.in_large = bytes > world_.payload_bytes && kept_.provide(slot.large, bytes);
  if (slot.in_large || bytes <= world_.payload_bytes) {
    slot.response().resize(bytes);
    return slot.response().data();
  }
  slot.small.resize(0);
  return Error(ErrorKind::resource, "there is no room for a response of " + std::to_string(bytes) + " bytes")
      .at("a session that keeps " + std::to_string(kept_.bytes()) + " bytes, of an endpoint that keeps " +
          std::to_string(world_.kept.used()))
      .fix("answer `overloaded` or `failed`, or set kept_bytes_max and session_kept_bytes_max higher");
}

void ServerSession::answer(std::uint64_t request, CallStatus status) {
  ServerSlot& slot = owing_slot(request);
  CHECK(static_cast<std::uint8_t>(status) <= call_status_on_wire_last);
  if (status != CallStatus::answered) static_cast<void>(make_response(request, 0));
  slot.status = status;
  slot.state = ServerSlot::State::answered;
  --handling_;
  kept_.drop_if_large(slot.message);
  send_response(slot, 0);
}

const PacketRoute& IncomingRequest::route() const noexcept { return session_.ends().route; }
std::span<const std::byte> IncomingRequest::keep() { return session_.keep(id_.request); }
Result<std::span<std::byte>> IncomingRequest::make_response(std::size_t bytes) {
  return session_.make_response(id_.request, bytes);
}
void IncomingRequest::answer(CallStatus status) { session_.answer(id_.request, status); }

std::string_view to_string(CallStatus status) noexcept {
  switch (status) {
    case CallStatus::answered: return "answered";
    case CallStatus::unhandled: return "unhandled";
    case CallStatus::failed: return "failed";
    case CallStatus::overloaded: return "overloaded";
    case CallStatus::too_large: return "too large";
    case CallStatus::timed_out: return "timed out";
    case CallStatus::canceled: return "canceled";
    case CallStatus::session_closed: return "session closed";
    case CallStatus::peer_lost: return "peer lost";
  }
  return "unknown";
}

}  // namespace spindrift::rpc
