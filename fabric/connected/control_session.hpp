// The session in which both ends of a connection talk inside of TLS, over fabrics that protect nothing themselves: messages
// of the connection carry the records, and what is inside is a row of messages of the protocol. First each end repeats its
// greeting, which was in the clear, so that both know that this session belongs to this connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/connected/call_rules.hpp>
#include <spindrift/fabric/connected/wire.hpp>
#include <spindrift/fabric/tls/record_session.hpp>

namespace spindrift::fabric::connected {

class ControlSession {
 public:
  enum class State : std::uint8_t {
    waiting,   ///< the connection is not up
    proving,   ///< TLS is under way
    greeting,  ///< the other end is proved; it has not repeated its greeting
    proved,
  };

  /// `self` and `incarnation`: as this end's greeting says.
  ControlSession(tls::RecordSession records, NodeId self, std::uint64_t incarnation)
      : records_(std::move(records)), self_(self), incarnation_(incarnation) {}

  /// The connection is up: the other end has until then to prove itself.
  void begin(Time deadline) noexcept;
  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] Time deadline() const noexcept { return deadline_; }

  /// Takes records that came of that call; what is to be carried, and messages, may be there then. Errors: refused,
  /// member_lost, as tls::RecordSession, or of an end that is not the one that was greeted.
  [[nodiscard]] Result<void> take(std::span<const std::byte> records, const PeerCall& call);
  /// The oldest message that came.
  [[nodiscard]] std::optional<std::vector<std::byte>> next();
  /// Once proved: whether the other end would be let in today as well. Errors: refused.
  [[nodiscard]] Result<void> recheck() const { return records_.recheck(); }

  /// The certificate that the other end has shown so far; nothing: it has shown none.
  [[nodiscard]] std::optional<ShownCertificate> certificate() const { return records_.certificate(); }

  /// Seals a message, once proved. Errors: resource.
  [[nodiscard]] Result<void> say(std::span<const std::byte> message);
  /// Messages of the connection that carry what is sealed.
  [[nodiscard]] std::vector<std::vector<std::byte>> take_carriers();

 private:
  [[nodiscard]] Result<void> greet(const PeerCall& call);
  [[nodiscard]] Result<void> divide();
  [[nodiscard]] Result<void> check(std::span<const std::byte> greeting, const PeerCall& call);

  tls::RecordSession records_;
  NodeId self_;
  std::uint64_t incarnation_;
  State state_ = State::waiting;
  bool greeted_ = false;  ///< this end has
  Time deadline_ = never;
  std::vector<std::byte> inside_;  ///< opened bytes that are no whole message yet
  std::deque<std::vector<std::byte>> messages_;
};

}  // namespace spindrift::fabric::connected
