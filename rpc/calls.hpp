// The users' view of calls: sessions and calls by name, what a call is given and what it comes back with, and how a handler
// answers. A call is carried out at most once: exactly once if it is answered, once or not at all if it ends otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/rpc/message_buffer.hpp>
#include <spindrift/rpc/packet_transport.hpp>

namespace spindrift::rpc {

/// A session of one endpoint. Never names another one, also when that is over.
struct SessionId {
  std::uint32_t number = 0;
  std::uint32_t generation = 0;  ///< of the number; 0 names no session
  bool operator==(const SessionId&) const = default;
};

/// A call of a session, from `RpcEndpoint::call` to its answer.
struct CallId {
  SessionId session;
  std::uint64_t call = 0;
  bool operator==(const CallId&) const = default;
};

/// A request at the server, from its handler to its answer.
struct RequestId {
  SessionId session;
  std::uint64_t request = 0;
  bool operator==(const RequestId&) const = default;
};

/// How a call ended. The first four travel with a response, so their numbers stay.
enum class CallStatus : std::uint8_t {
  answered = 0,    ///< the response is there
  unhandled = 1,   ///< the server has no handler for the request's type: it was not carried out
  failed = 2,      ///< the server's handler failed to make a response
  overloaded = 3,  ///< the server has no memory left for it, and did not carry it out: worth another attempt, later
  too_large,       ///< carried out, but the response does not fit into the buffer for it
  timed_out,       ///< its deadline came first
  canceled,        ///< by `cancel`
  session_closed,  ///< by an end of the session that this side asked for
  peer_lost,       ///< the peer ended the session, refused it, was silent for too long, or its route is over
};
inline constexpr std::uint8_t call_status_on_wire_last = 3;
[[nodiscard]] std::string_view to_string(CallStatus status) noexcept;

struct CallAnswer {
  CallStatus status{};
  CallId call;
  std::uint64_t tag = 0;   ///< as the call was given
  MessageBuffer request;   ///< the caller's again
  MessageBuffer response;  ///< the same; its size is that of the response if there is one, else 0
};

/// A part of the program that is told how calls end: on the thread that steps the endpoint, in `step`, `cancel` or `close`.
/// It may use the endpoint, but for `step`.
class CallHandler {
 public:
  virtual void on_answer(CallAnswer&& answer) = 0;

 protected:
  ~CallHandler() = default;
};

struct OutgoingCall {
  std::uint8_t type = 0;
  MessageBuffer request{};         ///< made by the endpoint's `buffer`; the message is its first `size()` bytes
  MessageBuffer response{};        ///< as large as the largest response that is wanted
  CallHandler* handler = nullptr;  ///< outlives the call
  std::uint64_t tag = 0;
  Time deadline = never;  ///< noticed within an eighth of `retransmit_after`
};

/// Why a server has no session for a client.
enum class SessionRefusal : std::uint8_t {
  no_credits = 1,      ///< its receive packets are promised to other sessions
  payload_differs = 2  ///< its packets have another size
};

enum class SessionChange : std::uint8_t {
  connected,        ///< calls go out
  no_credits,       ///< it was refused for that reason
  payload_differs,  ///< it was refused for that reason
  dismissed,        ///< the server has ended it
  lost,             ///< the server was silent for too long, or its route is over
};

/// A part of the program that is told of the sessions that this endpoint asked for. All changes but `connected` are a
/// session's last, and come behind the answers of its calls.
class SessionHandler {
 public:
  virtual void on_session(SessionId session, SessionChange change) = 0;

 protected:
  ~SessionHandler() = default;
};

class ServerSession;

/// A request while its handler runs. A handler that does not answer before it returns keeps the id, and answers later by
/// `RpcEndpoint::answer`: each request has to be answered once, or else its slot is of no more use to the client. Handlers
/// that make calls of their own may wait for each other's slots and credits in a circle: give such calls deadlines.
class IncomingRequest {
 public:
  IncomingRequest(ServerSession& session, RequestId id, std::uint8_t type, std::span<const std::byte> bytes) noexcept
      : session_(session), id_(id), bytes_(bytes), type_(type) {}

  [[nodiscard]] RequestId id() const noexcept { return id_; }
  [[nodiscard]] std::uint8_t type() const noexcept { return type_; }
  /// The way to its client, by which the transport may know who that is.
  [[nodiscard]] const PacketRoute& route() const noexcept;
  /// The message, perhaps where the transport received it: until the handler returns, or answers, if that is earlier.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  /// The message until the request is answered, copied if it has to be.
  [[nodiscard]] std::span<const std::byte> keep();
  /// Room for a response of that size; a second call replaces the first. Errors: resource (it is longer than a packet, and
  /// beyond what the endpoint may keep: answer `overloaded` if nothing has been done yet, otherwise `failed`). CHECKs
  /// `message_bytes_most`, and that there was no answer.
  [[nodiscard]] Result<std::span<std::byte>> make_response(std::size_t bytes);
  /// Answers with the response that was made, which is none for any status but `answered`. CHECKs the same, and that the
  /// status is one of those that travel.
  void answer(CallStatus status = CallStatus::answered);

 private:
  ServerSession& session_;
  RequestId id_;
  std::span<const std::byte> bytes_;
  std::uint8_t type_;
};

class RequestHandler {
 public:
  virtual void on_request(IncomingRequest& request) = 0;

 protected:
  ~RequestHandler() = default;
};

/// Draws the tokens of sessions: 64 bits that nobody can guess, for they are all that proves a packet.
class TokenSource {
 public:
  [[nodiscard]] virtual std::uint64_t next_token() = 0;

 protected:
  ~TokenSource() = default;
};

}  // namespace spindrift::rpc
