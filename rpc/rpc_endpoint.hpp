// An endpoint of calls between processes: client and server of any number of sessions, over one transport (eRPC, NSDI'19).
// It is a protocol object: stepped by its owner with the time, it takes the packets that have come, calls handlers, and
// sends one burst. Start here; `client_session.hpp` and `server_session.hpp` have the protocol of a session.
//
// Threading: one thread, which also owns the transport; all handlers run on it. Lifetime: the transport, the source of
// tokens and all handlers outlive the endpoint. An endpoint that is destroyed tells nobody anything: call `end` and `step`
// before.
#pragma once

#include <cstdint>
#include <span>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/rpc/calls.hpp>
#include <spindrift/rpc/message_buffer.hpp>
#include <spindrift/rpc/options.hpp>
#include <spindrift/rpc/packet_transport.hpp>
#include <spindrift/rpc/rpc_client.hpp>
#include <spindrift/rpc/rpc_server.hpp>
#include <spindrift/rpc/send_burst.hpp>

namespace spindrift::rpc {

class RpcEndpoint {
 public:
  /// CHECKs the options, which `RpcOptions::check` judges.
  RpcEndpoint(PacketTransport& transport, TokenSource& tokens, const RpcOptions& options);
  RpcEndpoint(const RpcEndpoint&) = delete;
  RpcEndpoint& operator=(const RpcEndpoint&) = delete;

  /// Requests of that type go to `handler`, from all sessions. Errors: bad_argument (there is one already).
  [[nodiscard]] Result<void> handle(std::uint8_t type, RequestHandler& handler) { return server_.handle(type, handler); }

  /// Begins a session with who answers at `to`. Calls may be made at once; they wait until it is connected. `handler` is
  /// told what becomes of it. Errors: resource (there is no credit for another session).
  [[nodiscard]] Result<SessionId> connect(const PacketRoute& to, SessionHandler& handler) {
    return client_.connect(to, handler, now_);
  }
  /// Ends a session of `connect`: its calls end with `session_closed` before this returns. The server is told once; if that
  /// is lost, silence tells it. Ignores sessions that are over.
  void close(SessionId session) { client_.close(session); }

  /// Memory for requests and responses up to `bytes`, which is `message_bytes_most` at most.
  [[nodiscard]] MessageBuffer buffer(std::size_t bytes) const { return MessageBuffer(bytes, payload_bytes_); }
  /// Takes the call; its handler is told how it ends, once and never from within this. It goes out with the next step.
  /// Errors, with which it stays the caller's: bad_argument, would_block (too many wait), group_closed (the session has
  /// ended).
  [[nodiscard]] Result<CallId> call(SessionId session, OutgoingCall& call) { return client_.call(session, call); }
  /// Ends a call with `canceled` before this returns; false if it is over. The server may carry it out nevertheless.
  bool cancel(CallId call) { return client_.cancel(call); }

  /// For handlers that answer later, on this thread: as the functions of IncomingRequest, once it has returned. CHECKs that
  /// the request was not answered. Also when its session is over, the answer is owed.
  [[nodiscard]] std::span<const std::byte> kept(RequestId request) { return server_.kept(request); }
  [[nodiscard]] Result<std::span<std::byte>> make_response(RequestId request, std::size_t bytes) {
    return server_.make_response(request, bytes);
  }
  void answer(RequestId request, CallStatus status = CallStatus::answered) { server_.answer(request, status); }
  /// Whether an answer would go to anybody: the session of a request that was not answered is not over.
  [[nodiscard]] bool is_awaited(RequestId request) const noexcept { return server_.is_awaited(request); }

  /// Ends all sessions of both sides. The peers are told with the next step, once.
  void end();

  /// Takes what has come, and sends what is due. Time never goes back. Sessions over a route that the transport
  /// says to be over are lost. Returns whether anything had come. Never from a
  /// handler.
  bool step(Time now);
  /// When to step even if nothing comes: what is past, if there is something to send; `never`, if there is nothing to wait
  /// for.
  [[nodiscard]] Time next_due() const noexcept;

  /// Null if it is over.
  [[nodiscard]] const ClientSession* session(SessionId session) const noexcept { return client_.find(session); }
  [[nodiscard]] const RpcCounts& counts() const noexcept { return counts_; }
  /// Bytes of requests and responses that are kept now, out of `kept_bytes_max`.
  [[nodiscard]] std::uint64_t kept_bytes() const noexcept { return kept_.used(); }
  [[nodiscard]] std::uint64_t packets_sent() const noexcept { return burst_.packets_sent(); }

 private:
  void on_packet(const IncomingPacket& packet);
  void check_timers();

  PacketTransport& transport_;
  const RpcOptions options_;
  const std::size_t payload_bytes_;
  RpcCounts counts_;
  SendBurst burst_;
  ByteBudget kept_;
  SessionWorld world_;
  SessionBudget budget_;
  RpcClient client_;
  RpcServer server_;
  Time now_{};           ///< of the step under way, or the last one
  Time progress_due_{};  ///< of the client's sessions that wait for something
  Time silence_due_{};
};

}  // namespace spindrift::rpc
