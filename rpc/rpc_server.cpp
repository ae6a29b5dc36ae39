// Takes sessions while there is room for them, and keeps them.
#include <spindrift/rpc/rpc_server.hpp>

#include <algorithm>

#include <spindrift/core/check.hpp>

namespace spindrift::rpc {

Result<void> RpcServer::handle(std::uint8_t type, RequestHandler& handler) {
  if (handlers_[type] != nullptr)
    return Error(ErrorKind::bad_argument, "requests of type " + std::to_string(type) + " have a handler already");
  handlers_[type] = &handler;
  return {};
}

ServerSession& RpcServer::session_of(RequestId request) {
  ServerSession* const session = sessions_.find(request.session);
  CHECK(session != nullptr);
  return *session;
}

std::span<const std::byte> RpcServer::kept(RequestId request) { return session_of(request).keep(request.request); }

Result<std::span<std::byte>> RpcServer::make_response(RequestId request, std::size_t bytes) {
  return session_of(request).make_response(request.request, bytes);
}

void RpcServer::answer(RequestId request, CallStatus status) {
  ServerSession& session = session_of(request);
  session.answer(request.request, status);
  if (session.ended()) ended_.add(request.session.number);
}

bool RpcServer::is_awaited(RequestId request) const noexcept {
  const ServerSession* const session = sessions_.find(request.session);
  return session != nullptr && !session->ended();
}

void RpcServer::dismiss_all() {
  for (std::uint32_t number = 0; number < sessions_.numbers(); ++number) {
    if (ServerSession* const session = sessions_.at(number)) session->dismiss();
    ended_.add(number);
  }
}

void RpcServer::refuse(const SessionOffer& offer, const PacketRoute& to, SessionRefusal reason) {
  ++world_.counts.sessions_refused;
  world_.burst.add_copied(to, {.kind = PacketKind::refuse,
                               .status = static_cast<std::uint8_t>(reason),
                               .session = offer.session,
                               .token = offer.token});
}

void RpcServer::on_connect(const SessionOffer& offer, const PacketRoute& from, Time now) {
  if (const auto known = by_offer_.find(offer.token); known != by_offer_.end()) {
    ServerSession& session = *sessions_.at(known->second);
    const bool again = session.ends().route == from && session.ends().peer_session == offer.session && !session.ended();
    if (again) return session.accept();
    ++world_.counts.packets_strange;
    return;
  }
  if (offer.payload_bytes != world_.payload_bytes) return refuse(offer, from, SessionRefusal::payload_differs);
  if (!has_place(from)) return refuse(offer, from, SessionRefusal::no_credits);
  if (!budget_.take()) return refuse(offer, from, SessionRefusal::no_credits);
  const SessionEnds ends{.route = from,
                         .id = sessions_.next_id(),
                         .token = tokens_.next_token(),
                         .peer_session = offer.session,
                         .peer_token = offer.token,
                         .credits = std::min(offer.credits, world_.options.credits)};
  ServerSession& session = sessions_.put(std::make_unique<ServerSession>(world_, ends, handlers_, now));
  by_offer_.emplace(offer.token, ends.id.number);
  session.accept();
}

bool RpcServer::has_place(const PacketRoute& from) {
  const std::uint32_t most = world_.options.route_sessions_max;
  if (most == 0) return true;
  std::uint32_t there = 0;
  for (std::uint32_t number = 0; number < sessions_.numbers(); ++number) {
    const ServerSession* const session = sessions_.at(number);
    there += session != nullptr && session->ends().route == from ? 1 : 0;
  }
  return there < most;
}

bool RpcServer::on_packet(const ReceivedPacket& packet, const PacketRoute& from, Time now) {
  ServerSession* const session = sessions_.at(packet.header.session);
  if (session == nullptr || !session->ends().proves(packet.header, from)) return false;
  session->on_packet(packet, now);
  if (session->ended()) ended_.add(packet.header.session);
  return true;
}

void RpcServer::on_route_ended(const PacketRoute& route) {
  for (std::uint32_t number = 0; number < sessions_.numbers(); ++number) {
    ServerSession* const session = sessions_.at(number);
    if (session == nullptr || session->ended() || session->ends().route != route) continue;
    session->lose();
    ended_.add(number);
  }
}

void RpcServer::check_silence(Time now) {
  for (std::uint32_t number = 0; number < sessions_.numbers(); ++number) {
    ServerSession* const session = sessions_.at(number);
    if (session == nullptr) continue;
    session->check_silence(now);
    if (session->ended()) ended_.add(number);
  }
}

void RpcServer::forgive_silence(Time now) {
  for (std::uint32_t number = 0; number < sessions_.numbers(); ++number) {
    if (ServerSession* const session = sessions_.at(number)) session->forgive_silence(now);
  }
}

void RpcServer::forget_ended() {
  ended_.visit([&](std::uint32_t number) {
    ServerSession* const session = sessions_.at(number);
    if (session == nullptr || !session->quiet()) return false;  // its last answer lists it again
    by_offer_.erase(session->ends().peer_token);
    sessions_.erase(number);
    budget_.give_back();
    return false;
  });
}

}  // namespace spindrift::rpc
