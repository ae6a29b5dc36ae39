// All client sessions of an endpoint.
#pragma once

#include <spindrift/rpc/client_session.hpp>
#include <spindrift/rpc/session_parts.hpp>

namespace spindrift::rpc {

class RpcClient {
 public:
  RpcClient(const SessionWorld& world, SessionBudget& budget, TokenSource& tokens) noexcept
      : world_(world), budget_(budget), tokens_(tokens) {}

  /// As RpcEndpoint's.
  [[nodiscard]] Result<SessionId> connect(const PacketRoute& to, SessionHandler& handler, Time now);
  void close(SessionId session);
  void close_all();
  [[nodiscard]] Result<CallId> call(SessionId session, OutgoingCall& call);
  bool cancel(CallId call);
  [[nodiscard]] const ClientSession* find(SessionId session) const noexcept { return sessions_.find(session); }

  /// Whether it is of one of these sessions.
  [[nodiscard]] bool on_packet(const ReceivedPacket& packet, const PacketRoute& from, Time now);
  /// Nothing comes from there or goes there any more: its sessions are lost.
  void on_route_ended(const PacketRoute& route);
  void check_progress(Time now);
  void check_silence(Time now);
  void forgive_silence(Time now);
  /// Sends what the credits let through, and forgets sessions that have ended.
  void send_due(Time now);

  [[nodiscard]] bool has_news() const noexcept { return !ready_.empty(); }
  [[nodiscard]] Time pace_due() const noexcept { return wheel_.next_due(); }
  [[nodiscard]] bool waits_for_progress() const noexcept { return !busy_.empty(); }
  [[nodiscard]] bool has_sessions() const noexcept { return count_ > 0; }

 private:
  void mark(std::uint32_t number);
  void send_due(std::uint32_t number, Time now);

  const SessionWorld& world_;
  SessionBudget& budget_;
  TokenSource& tokens_;
  SessionTable<ClientSession> sessions_;
  SessionList ready_;  ///< something may be due to be sent, or to be forgotten
  SessionList busy_;   ///< something is awaited
  PacingWheel wheel_;
  std::vector<bool> in_wheel_;  ///< by number
  std::uint32_t count_ = 0;
};

}  // namespace spindrift::rpc
