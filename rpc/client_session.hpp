// The client's side of a session: it alone drives. Every packet of the server answers one of the client's, so credits, order
// and repetition are kept here (eRPC, section 5). Per slot, with N packets of the request and M of the response:
//
//   received <= sent <= N + M - 1     packet n of the server answers packet n of the client
//   credits + the sum over slots of (sent - received) = the session's credits
//
// A packet out of turn is dropped; what was not answered for long is sent again from there on.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/rpc/call_queue.hpp>
#include <spindrift/rpc/congestion.hpp>
#include <spindrift/rpc/session_parts.hpp>
#include <spindrift/rpc/wire.hpp>

namespace spindrift::rpc {

/// One call under way.
struct ClientSlot {
  QueuedCall queued;  ///< number 0: none
  std::uint64_t request = 0;
  std::uint32_t request_packets = 0;
  std::uint32_t response_packets = 0;  ///< 0: not known yet
  std::uint32_t sent = 0;
  std::uint32_t received = 0;
  std::uint32_t ambiguous = 0;  ///< packets below it were sent twice: their answers do not say to which time they belong
  std::uint32_t attempts = 0;   ///< to go back, since a packet was received
  bool kept = false;            ///< the server may have a buffer for more than a packet, of a call that is over
  Time progress{};              ///< since then something is awaited: the last packet received, or what was sent after it

  [[nodiscard]] bool active() const noexcept { return queued.number != 0; }
  /// Packets that may be sent by what is known now.
  [[nodiscard]] std::uint32_t sendable() const noexcept {
    return response_packets == 0 ? request_packets : request_packets + response_packets - 1;
  }
};

class ClientSession {
 public:
  /// `ends` has the peer's route and what is this side's; the rest comes with `on_accept`.
  ClientSession(const SessionWorld& world, const SessionEnds& ends, SessionHandler& handler) noexcept;

  [[nodiscard]] const SessionEnds& ends() const noexcept { return ends_; }
  [[nodiscard]] bool ended() const noexcept { return state_ == State::ended; }
  /// Packets that may be sent now.
  [[nodiscard]] std::uint32_t credits() const noexcept { return credits_; }
  /// Neither answered nor ended otherwise.
  [[nodiscard]] std::size_t open_calls() const noexcept { return queue_.size() + active_; }

  /// Asks the server for the session, until it answers.
  void connect(Time now);
  /// Takes the call out of `call`; it goes out with the next `send_due`. Errors: bad_argument, would_block,
  /// group_closed (the session has ended); then `call` stays as it is.
  [[nodiscard]] Result<CallId> call(OutgoingCall& call);
  /// Ends a call; false if it is over. What the server does with it is not known.
  bool cancel(std::uint64_t call);
  /// Ends the session: its calls with that status, and then it is told, if there is a change to tell.
  void end(CallStatus status, std::optional<SessionChange> change);
  /// Ends the session because nothing comes from the server any more.
  void lose();
  /// Tells the server.
  void leave();

  /// A packet that `ends` proves to be of this session.
  void on_packet(const ReceivedPacket& packet, Time now);

  /// Sends what credits and pace let through. Returns when to come again for the pace; `never` if it holds nothing up.
  [[nodiscard]] Time send_due(Time now);
  [[nodiscard]] const SessionPace& pace() const noexcept { return pace_; }
  /// Ends calls whose time is over, and goes back where nothing came for long. Returns whether to come again for that.
  bool check_progress(Time now);
  /// Pings the server, or finds that it is lost.
  void check_silence(Time now);
  /// This side itself was away; so the server may have spoken.
  void forgive_silence(Time now) noexcept { heard_ = now; }

 private:
  enum class State : std::uint8_t { idle, connecting, connected, ended };

  void ask(Time now);
  void on_accept(const ReceivedPacket& packet);
  void on_refuse(const PacketHeader& header);
  void on_credit_return(const PacketHeader& header, Time now);
  void on_response(const ReceivedPacket& packet, Time now);
  void on_pong(const PacketHeader& header) noexcept;
  void tell_what_is_over();
  /// The slot whose turn it is to get this packet; null if it is not.
  [[nodiscard]] ClientSlot* slot_in_turn(const PacketHeader& header) noexcept;
  /// Whether the first packet of a response, or a later one, fits what is known. Ends the call if its buffer is too small.
  [[nodiscard]] bool take_response_header(ClientSlot& slot, const ReceivedPacket& packet, std::uint32_t piece);
  void advance(ClientSlot& slot, const PacketHeader& header, Time now) noexcept;
  void start(ClientSlot& slot);
  void send(ClientSlot& slot, Time now);
  [[nodiscard]] static std::uint32_t index_of(const ClientSlot& slot) noexcept {
    return static_cast<std::uint32_t>(slot.request % slots_per_session);
  }
  void go_back(ClientSlot& slot, Time now) noexcept;
  void finish(ClientSlot& slot, CallStatus status);
  void tell(QueuedCall&& queued, CallStatus status);
  void end_late_calls(Time now);

  const SessionWorld& world_;
  SessionEnds ends_;
  SessionHandler& handler_;
  State state_ = State::idle;
  std::uint32_t credits_ = 0;
  std::uint32_t active_ = 0;      ///< slots with a call
  std::uint32_t first_slot_ = 0;  ///< whose turn it is to take credits first; moves on when they run out
  std::uint32_t attempts_ = 0;    ///< to connect
  std::uint64_t calls_ = 0;
  Time heard_{};
  Time asked_{};
  CallQueue queue_;
  SessionPace pace_;
  std::array<ClientSlot, slots_per_session> slots_;
};

}  // namespace spindrift::rpc
