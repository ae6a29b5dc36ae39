// Keeps client sessions, and goes to those with something to do alone.
#include <spindrift/rpc/rpc_client.hpp>

namespace spindrift::rpc {

void RpcClient::mark(std::uint32_t number) {
  ready_.add(number);
  busy_.add(number);
}

Result<SessionId> RpcClient::connect(const PacketRoute& to, SessionHandler& handler, Time now) {
  if (!budget_.take()) {
    return Error(ErrorKind::resource, "all " + std::to_string(world_.options.receive_packets) +
                                          " packets that the transport has room for are promised to sessions")
        .fix("close sessions, set credits lower, or give the transport more room");
  }
  const SessionEnds ends{.route = to, .id = sessions_.next_id(), .token = tokens_.next_token()};
  ClientSession& session = sessions_.put(std::make_unique<ClientSession>(world_, ends, handler));
  ++count_;
  session.connect(now);
  mark(ends.id.number);
  return ends.id;
}

void RpcClient::close(SessionId id) {
  ClientSession* const session = sessions_.find(id);
  if (session == nullptr) return;
  session->leave();
  session->end(CallStatus::session_closed, std::nullopt);
  ready_.add(id.number);
}

void RpcClient::close_all() {
  for (std::uint32_t number = 0; number < sessions_.numbers(); ++number) {
    if (const ClientSession* session = sessions_.at(number)) close(session->ends().id);
  }
}

Result<CallId> RpcClient::call(SessionId id, OutgoingCall& call) {
  ClientSession* const session = sessions_.find(id);
  if (session == nullptr) return Error(ErrorKind::group_closed, "the session has ended").fix("connect a new one");
  SPINDRIFT_TRY_ASSIGN(const CallId made, session->call(call));
  mark(id.number);
  return made;
}

bool RpcClient::cancel(CallId call) {
  ClientSession* const session = sessions_.find(call.session);
  if (session == nullptr) return false;
  ready_.add(call.session.number);
  return session->cancel(call.call);
}

bool RpcClient::on_packet(const ReceivedPacket& packet, const PacketRoute& from, Time now) {
  ClientSession* const session = sessions_.at(packet.header.session);
  if (session == nullptr || !session->ends().proves(packet.header, from)) return false;
  ready_.add(packet.header.session);
  session->on_packet(packet, now);
  return true;
}

// A handler that connects there again is told by the transport, once it has sent something; so nothing here goes in circles.
void RpcClient::on_route_ended(const PacketRoute& route) {
  const std::uint32_t numbers = sessions_.numbers();
  for (std::uint32_t number = 0; number < numbers; ++number) {
    ClientSession* const session = sessions_.at(number);
    if (session == nullptr || session->ended() || session->ends().route != route) continue;
    ready_.add(number);
    session->lose();
  }
}

void RpcClient::check_progress(Time now) {
  busy_.visit([&](std::uint32_t number) {
    ClientSession* const session = sessions_.at(number);
    if (session == nullptr) return false;
    ready_.add(number);
    return session->check_progress(now);
  });
}

void RpcClient::check_silence(Time now) {
  for (std::uint32_t number = 0; number < sessions_.numbers(); ++number) {
    ClientSession* const session = sessions_.at(number);
    if (session == nullptr) continue;
    session->check_silence(now);
    if (session->ended()) ready_.add(number);
  }
}

void RpcClient::forgive_silence(Time now) {
  for (std::uint32_t number = 0; number < sessions_.numbers(); ++number) {
    if (ClientSession* const session = sessions_.at(number)) session->forgive_silence(now);
  }
}

void RpcClient::send_due(std::uint32_t number, Time now) {
  ClientSession* const session = sessions_.at(number);
  if (session == nullptr) return;
  if (session->ended()) {
    sessions_.erase(number);
    budget_.give_back();
    --count_;
    return;
  }
  const Time again = session->send_due(now);
  if (again == never) return;
  in_wheel_.resize(sessions_.numbers());
  if (in_wheel_[number]) return;
  in_wheel_[number] = true;
  wheel_.put(number, again);
}

void RpcClient::send_due(Time now) {
  wheel_.advance(now, [&](std::uint32_t number) {
    in_wheel_[number] = false;
    ready_.add(number);
  });
  ready_.visit([&](std::uint32_t number) {
    send_due(number, now);
    return false;
  });
}

}  // namespace spindrift::rpc
