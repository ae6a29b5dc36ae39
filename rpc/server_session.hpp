// The server's side of a session: it only answers. A slot keeps the last response until the client begins the next request
// there, so a repetition gets the same response again, and no handler is called twice for one request.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <spindrift/core/clock.hpp>
#include <spindrift/rpc/calls.hpp>
#include <spindrift/rpc/kept_messages.hpp>
#include <spindrift/rpc/session_parts.hpp>
#include <spindrift/rpc/wire.hpp>

namespace spindrift::rpc {

/// By type; null: requests of that type are not handled.
using RequestHandlers = std::array<RequestHandler*, 256>;

struct ServerSlot {
  enum class State : std::uint8_t {
    idle,       ///< nothing of `request` is kept: there was none, or its client has said that it is over
    receiving,  ///< the request's first `received` packets are there
    handling,   ///< the handler was called, and owes an answer. Nothing of the slot changes until then
    answered,   ///< `response` is repeated as the client asks for it
  };
  State state = State::idle;
  std::uint8_t type = 0;
  CallStatus status{};        ///< of the answer
  bool in_large = false;      ///< the response is in `large`, otherwise in `small`
  bool late = false;          ///< the handler has returned, and still owes the answer, or did then
  std::uint64_t request = 0;  ///< of the newest request; below, everything is over
  std::uint32_t request_bytes = 0;
  std::uint32_t request_packets = 0;  ///< 1 for a request that was refused, whatever its size: it is answered by its first
  std::uint32_t received = 0;
  std::uint64_t burst = 0;              ///< the last one that refers to the response
  std::span<const std::byte> in_place;  ///< the request where the transport has it; empty unless its handler runs on it
  MessageBuffer message;                ///< the request, if it has several packets or is kept
  MessageBuffer small;                  ///< room for a response of one packet, for the session's life (eRPC, section 4.3)
  MessageBuffer large;

  [[nodiscard]] MessageBuffer& response() noexcept { return in_large ? large : small; }
};

class ServerSession {
 public:
  /// `ends` is complete.
  ServerSession(const SessionWorld& world, const SessionEnds& ends, const RequestHandlers& handlers, Time now);

  [[nodiscard]] const SessionEnds& ends() const noexcept { return ends_; }
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  /// Whether no handler owes an answer.
  [[nodiscard]] bool quiet() const noexcept { return handling_ == 0; }

  /// Tells the client, again if need be, that the session is there.
  void accept();
  /// A packet that `ends` proves to be of this session.
  void on_packet(const ReceivedPacket& packet, Time now);
  /// From here on nothing comes and goes; handlers still answer.
  void end() noexcept { ended_ = true; }
  /// Ends because nothing comes from the client any more.
  void lose();
  /// Tells the client.
  void dismiss();
  /// Ends if the client was not heard for too long.
  void check_silence(Time now);
  void forgive_silence(Time now) noexcept { heard_ = now; }

  /// Whether a handler owes the answer to this request.
  [[nodiscard]] bool owes(std::uint64_t request) const noexcept;
  /// As IncomingRequest; all CHECK `owes`.
  [[nodiscard]] std::span<const std::byte> keep(std::uint64_t request);
  [[nodiscard]] Result<std::span<std::byte>> make_response(std::uint64_t request, std::size_t bytes);
  void answer(std::uint64_t request, CallStatus status);

 private:
  [[nodiscard]] ServerSlot& owing_slot(std::uint64_t request);
  void on_request(const ReceivedPacket& packet);
  void on_request_for_response(const PacketHeader& header);
  void on_ping(const PacketHeader& header);
  void begin(ServerSlot& slot, const ReceivedPacket& packet);
  void go_on(ServerSlot& slot, const ReceivedPacket& packet);
  [[nodiscard]] CallStatus judge(ServerSlot& slot);
  void refuse(ServerSlot& slot, CallStatus status);
  void take_piece(ServerSlot& slot, const ReceivedPacket& packet);
  void handle(ServerSlot& slot, std::span<const std::byte> bytes);
  void return_credit(const ServerSlot& slot, std::uint32_t packet);
  void send_response(ServerSlot& slot, std::uint32_t piece);

  const SessionWorld& world_;
  SessionEnds ends_;
  const RequestHandlers& handlers_;
  bool ended_ = false;
  std::uint32_t handling_ = 0;
  Time heard_;
  KeptMessages kept_;
  std::array<ServerSlot, slots_per_session> slots_;
};

}  // namespace spindrift::rpc
