// Calls: their packets out, their answers in.
#include <spindrift/rpc/client_session.hpp>

#include <algorithm>
#include <cstring>

#include <spindrift/core/check.hpp>

namespace spindrift::rpc {
namespace {

/// After `attempts` in vain.
Duration patience(const RpcOptions& options, std::uint32_t attempts) {
  return options.retransmit_after * (1 << std::min(attempts, 3u));
}

}  // namespace

ClientSession::ClientSession(const SessionWorld& world, const SessionEnds& ends, SessionHandler& handler) noexcept
    : world_(world), ends_(ends), handler_(handler), pace_(world.options.congestion) {
  for (std::uint32_t i = 0; i < slots_per_session; ++i) slots_[i].request = i;
}

void ClientSession::connect(Time now) {
  CHECK(state_ == State::idle);
  state_ = State::connecting;
  heard_ = now;
  ask(now);
}

void ClientSession::ask(Time now) {
  asked_ = now;
  const SessionOffer offer{.session = ends_.id.number,
                           .credits = world_.options.credits,
                           .token = ends_.token,
                           .payload_bytes = static_cast<std::uint32_t>(world_.payload_bytes)};
  world_.burst.add_copied(ends_.route, {.kind = PacketKind::connect}, encode(offer));
}

Result<CallId> ClientSession::call(OutgoingCall& call) {
  if (state_ == State::ended) return Error(ErrorKind::group_closed, "the session has ended").fix("connect a new one");
  if (call.handler == nullptr) return Error(ErrorKind::bad_argument, "a call without a handler");
  if (call.request.empty() || call.request.payload_bytes() != world_.payload_bytes)
    return Error(ErrorKind::bad_argument, "the request's buffer was not made for this endpoint").fix("make it by `buffer`");
  if (queue_.size() + active_ >= slots_per_session + world_.options.queued_calls_max)
    return Error(ErrorKind::would_block,
                 std::to_string(queue_.size() + active_) + " calls of the session wait for an answer")
        .fix("wait for answers, or set queued_calls_max higher");
  queue_.push({std::move(call), ++calls_});
  ++world_.counts.calls;
  return CallId{ends_.id, calls_};
}

bool ClientSession::cancel(std::uint64_t call) {
  for (ClientSlot& slot : slots_) {
    if (!slot.active() || slot.queued.number != call) continue;
    finish(slot, CallStatus::canceled);
    return true;
  }
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    if (queue_[i].number != call) continue;
    tell(queue_.remove(i), CallStatus::canceled);
    return true;
  }
  return false;
}

void ClientSession::end(CallStatus status, std::optional<SessionChange> change) {
  if (state_ == State::ended) return;
  state_ = State::ended;
  for (ClientSlot& slot : slots_) {
    if (slot.active()) finish(slot, status);
  }
  while (!queue_.empty()) tell(queue_.pop(), status);
  if (change) handler_.on_session(ends_.id, *change);
}

void ClientSession::lose() {
  ++world_.counts.sessions_lost;
  end(CallStatus::peer_lost, SessionChange::lost);
}

void ClientSession::leave() {
  if (state_ == State::connected) world_.burst.add_copied(ends_.route, ends_.header(PacketKind::leave));
}

void ClientSession::on_packet(const ReceivedPacket& packet, Time now) {
  if (state_ == State::ended) return;
  heard_ = now;
  switch (packet.header.kind) {
    case PacketKind::accept: return on_accept(packet);
    case PacketKind::refuse: return on_refuse(packet.header);
    case PacketKind::credit_return: return on_credit_return(packet.header, now);
    case PacketKind::response: return on_response(packet, now);
    case PacketKind::dismiss: return end(CallStatus::peer_lost, SessionChange::dismissed);
    case PacketKind::pong: return on_pong(packet.header);
    default: return;
  }
}

void ClientSession::on_accept(const ReceivedPacket& packet) {
  const auto grant = decode_grant(packet.payload);
  if (state_ != State::connecting || !grant || grant->credits > world_.options.credits) return;
  ends_.peer_session = grant->session;
  ends_.peer_token = grant->token;
  credits_ = ends_.credits = grant->credits;
  pace_.begin(grant->credits);
  state_ = State::connected;
  handler_.on_session(ends_.id, SessionChange::connected);
}

void ClientSession::on_refuse(const PacketHeader& header) {
  if (state_ != State::connecting) return;
  switch (static_cast<SessionRefusal>(header.status)) {
    case SessionRefusal::no_credits: return end(CallStatus::peer_lost, SessionChange::no_credits);
    case SessionRefusal::payload_differs: return end(CallStatus::peer_lost, SessionChange::payload_differs);
  }
}

ClientSlot* ClientSession::slot_in_turn(const PacketHeader& header) noexcept {
  ClientSlot& slot = slots_[header.request % slots_per_session];
  const bool in_turn =
      slot.active() && slot.request == header.request && header.packet == slot.received && slot.received < slot.sent;
  if (in_turn) return &slot;
  ++world_.counts.packets_out_of_turn;
  return nullptr;
}

void ClientSession::advance(ClientSlot& slot, const PacketHeader& header, Time now) noexcept {
  const bool of_network = !header.late && slot.received >= slot.ambiguous;
  if (of_network) pace_.on_answered(index_of(slot), slot.received, now);
  ++slot.received;
  ++credits_;
  slot.progress = now;
  slot.attempts = 0;
}

void ClientSession::on_credit_return(const PacketHeader& header, Time now) {
  ClientSlot* const slot = slot_in_turn(header);
  if (slot == nullptr) return;
  if (slot->received + 1 >= slot->request_packets) {  // the last piece of a request is answered by the response alone
    ++world_.counts.packets_strange;
    return;
  }
  advance(*slot, header, now);
}

bool ClientSession::take_response_header(ClientSlot& slot, const ReceivedPacket& packet, std::uint32_t piece) {
  const PacketHeader& header = packet.header;
  MessageBuffer& response = slot.queued.call.response;
  const bool sound = header.status <= call_status_on_wire_last && (header.status == 0 || header.message_bytes == 0) &&
                     (piece == 0 || (header.status == 0 && header.message_bytes == response.size())) &&
                     packet.payload.size() == bytes_in_packet(header.message_bytes, world_.payload_bytes, piece);
  if (!sound) {
    ++world_.counts.packets_strange;
    return false;
  }
  if (piece > 0) return true;
  if (header.message_bytes > response.capacity()) {
    finish(slot, CallStatus::too_large);
    return false;
  }
  response.resize(header.message_bytes);
  slot.response_packets = packets_of(header.message_bytes, world_.payload_bytes);
  return true;
}

void ClientSession::on_response(const ReceivedPacket& packet, Time now) {
  ClientSlot* const slot = slot_in_turn(packet.header);
  if (slot == nullptr) return;
  const auto status = static_cast<CallStatus>(packet.header.status);
  const bool early = slot->received + 1 < slot->request_packets;  // before all of the request is there
  if (early && status != CallStatus::unhandled && status != CallStatus::overloaded) {
    ++world_.counts.packets_strange;
    return;
  }
  const std::uint32_t piece = early ? 0 : slot->received + 1 - slot->request_packets;
  if (!take_response_header(*slot, packet, piece)) return;
  if (!packet.payload.empty()) {
    std::memcpy(slot->queued.call.response.data().data() + world_.payload_bytes * piece, packet.payload.data(),
                packet.payload.size());
  }
  advance(*slot, packet.header, now);
  if (early || slot->received == slot->sendable()) finish(*slot, status);
}

void ClientSession::on_pong(const PacketHeader& header) noexcept {
  ClientSlot& slot = slots_[header.request % slots_per_session];
  if (slot.request == header.request) slot.kept = false;
}

void ClientSession::tell_what_is_over() {
  if (state_ != State::connected || !queue_.empty()) return;  // the calls that wait will have the slots
  for (const ClientSlot& slot : slots_) {
    if (slot.active() || !slot.kept) continue;
    PacketHeader header = ends_.header(PacketKind::ping);
    header.request = slot.request;
    world_.burst.add_copied(ends_.route, header);
  }
}

void ClientSession::start(ClientSlot& slot) {
  slot.queued = queue_.pop();
  slot.request += slots_per_session;
  slot.request_packets = slot.queued.call.request.packets();
  slot.response_packets = slot.sent = slot.received = slot.ambiguous = slot.attempts = 0;
  ++active_;
}

void ClientSession::send(ClientSlot& slot, Time now) {
  OutgoingCall& call = slot.queued.call;
  PacketHeader header = ends_.header(PacketKind::request);
  header.request_type = call.type;
  header.request = slot.request;
  header.packet = static_cast<std::uint16_t>(slot.sent);
  if (slot.sent < slot.request_packets) {
    header.message_bytes = static_cast<std::uint32_t>(call.request.size());
    world_.burst.add(ends_.route, header, call.request, slot.sent);
    pace_.on_sent(index_of(slot), slot.sent, call.request.piece(slot.sent).size() + header_bytes, now);
  } else {
    header.kind = PacketKind::request_for_response;
    world_.burst.add_copied(ends_.route, header);
    pace_.on_sent(index_of(slot), slot.sent, world_.payload_bytes + header_bytes, now);  // for what it asks for
  }
  ++slot.sent;
  --credits_;
}

Time ClientSession::send_due(Time now) {
  if (state_ != State::connected) return never;
  for (std::uint32_t i = 0; i < slots_per_session && !queue_.empty(); ++i) {
    if (!slots_[i].active()) start(slots_[i]);
  }
  bool paced = false;
  for (std::uint32_t i = 0; i < slots_per_session && credits_ > 0; ++i) {
    ClientSlot& slot = slots_[(first_slot_ + i) % slots_per_session];
    if (!slot.active()) continue;
    if (slot.sent == slot.received) slot.progress = now;
    while (credits_ > 0 && slot.sent < slot.sendable() && pace_.may_send(now)) send(slot, now);
    paced = paced || (credits_ > 0 && slot.sent < slot.sendable());
  }
  if (credits_ == 0 || paced) first_slot_ = (first_slot_ + 1) % slots_per_session;
  return paced ? pace_.next() : never;
}

void ClientSession::go_back(ClientSlot& slot, Time now) noexcept {
  credits_ += slot.sent - slot.received;
  slot.ambiguous = std::max(slot.ambiguous, slot.sent);
  slot.sent = slot.received;
  slot.progress = now;
  ++slot.attempts;
  ++world_.counts.retransmissions;
}

void ClientSession::end_late_calls(Time now) {
  for (ClientSlot& slot : slots_) {
    if (slot.active() && slot.queued.call.deadline <= now) finish(slot, CallStatus::timed_out);
  }
  for (std::size_t i = 0; i < queue_.size();) {
    if (queue_[i].call.deadline <= now) {
      tell(queue_.remove(i), CallStatus::timed_out);
    } else {
      ++i;
    }
  }
}

bool ClientSession::check_progress(Time now) {
  end_late_calls(now);
  if (state_ == State::ended) return false;
  if (state_ == State::connecting) {
    if (now - asked_ >= patience(world_.options, attempts_)) {
      ++attempts_;
      ask(now);
    }
    return true;
  }
  for (ClientSlot& slot : slots_) {
    const bool waits = slot.active() && slot.sent != slot.received;
    if (waits && now - slot.progress >= patience(world_.options, slot.attempts)) go_back(slot, now);
  }
  return open_calls() > 0;
}

void ClientSession::check_silence(Time now) {
  if (state_ == State::ended) return;
  if (now - heard_ >= world_.options.silence_max) return lose();
  tell_what_is_over();
  if (state_ != State::connected || now - std::max(heard_, asked_) < world_.options.silence_max / 4) return;
  asked_ = now;
  world_.burst.add_copied(ends_.route, ends_.header(PacketKind::ping));
}

void ClientSession::finish(ClientSlot& slot, CallStatus status) {
  credits_ += slot.sent - slot.received;
  QueuedCall over = std::move(slot.queued);
  slot.queued.number = 0;
  slot.kept = slot.kept || slot.request_packets > 1 || slot.response_packets != 1;
  slot.sent = slot.received;
  --active_;
  tell(std::move(over), status);
}

void ClientSession::tell(QueuedCall&& queued, CallStatus status) {
  if (status == CallStatus::answered) {
    ++world_.counts.answers;
  } else {
    ++world_.counts.failures;
    queued.call.response.resize(0);
  }
  queued.call.handler->on_answer({.status = status,
                                  .call = {ends_.id, queued.number},
                                  .tag = queued.call.tag,
                                  .request = std::move(queued.call.request),
                                  .response = std::move(queued.call.response)});
}

}  // namespace spindrift::rpc
