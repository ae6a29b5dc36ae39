// All server sessions of an endpoint, and the handlers of requests.
#pragma once

#include <unordered_map>

#include <spindrift/rpc/server_session.hpp>
#include <spindrift/rpc/session_parts.hpp>

namespace spindrift::rpc {

class RpcServer {
 public:
  RpcServer(const SessionWorld& world, SessionBudget& budget, TokenSource& tokens) noexcept
      : world_(world), budget_(budget), tokens_(tokens) {}

  /// As RpcEndpoint's.
  [[nodiscard]] Result<void> handle(std::uint8_t type, RequestHandler& handler);
  [[nodiscard]] std::span<const std::byte> kept(RequestId request);
  [[nodiscard]] Result<std::span<std::byte>> make_response(RequestId request, std::size_t bytes);
  void answer(RequestId request, CallStatus status);
  [[nodiscard]] bool is_awaited(RequestId request) const noexcept;
  void dismiss_all();

  void on_connect(const SessionOffer& offer, const PacketRoute& from, Time now);
  /// Whether it is of one of these sessions.
  [[nodiscard]] bool on_packet(const ReceivedPacket& packet, const PacketRoute& from, Time now);
  /// Nothing comes from there or goes there any more: its sessions end.
  void on_route_ended(const PacketRoute& route);
  void check_silence(Time now);
  void forgive_silence(Time now);
  /// Forgets sessions that have ended and whose handlers owe nothing.
  void forget_ended();

  [[nodiscard]] bool has_sessions() const noexcept { return !by_offer_.empty(); }

 private:
  /// Another session may be over that route.
  [[nodiscard]] bool has_place(const PacketRoute& from);
  void refuse(const SessionOffer& offer, const PacketRoute& to, SessionRefusal reason);
  [[nodiscard]] ServerSession& session_of(RequestId request);

  const SessionWorld& world_;
  SessionBudget& budget_;
  TokenSource& tokens_;
  RequestHandlers handlers_{};
  SessionTable<ServerSession> sessions_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_offer_;  ///< the client's token, to the number; never iterated over
  SessionList ended_;
};

}  // namespace spindrift::rpc
