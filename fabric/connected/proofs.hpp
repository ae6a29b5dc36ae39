// Which connections have to be proved, by which keys, and until when; and what is done about those that are not.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <spindrift/core/audit.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/connected/connection.hpp>
#include <spindrift/fabric/connected/control_session.hpp>
#include <spindrift/fabric/connected/node_refusals.hpp>
#include <spindrift/fabric/connected/wire.hpp>
#include <spindrift/fabric/tls/key_watch.hpp>

namespace spindrift::fabric::connected {

/// The part that proves the other end of a connection, and looks whether the files of keys have changed.
enum class ProvedBy : std::uint8_t { session, transport };

/// Belongs to the poller.
class Proofs {
 public:
  /// The time for which a connection that was cut off still lives at the other end. By then every member has the list by
  /// which it was, and the node in question may have ended itself.
  static constexpr auto lingering = std::chrono::seconds(2);

  /// Without credentials nobody has to prove anything, and nothing is sealed. `self` and `incarnation`: as greetings say.
  Proofs(std::shared_ptr<tls::Credentials> credentials, std::shared_ptr<AuditTrail> audit, NodeId self,
         std::uint64_t incarnation, Time now, ProvedBy proved_by = ProvedBy::session);

  // A connection's life.
  /// Gives it a session, if it needs one; it is broken down if there is none to give. Before it is up.
  void attach(Connection& connection) const;
  /// Its connection is up: the other end has three seconds.
  void begin(ControlSession& session, Time now);
  /// Whether a message of that kind may come in the clear.
  [[nodiscard]] bool may_be_clear(const Connection& connection, Kind kind) const noexcept;
  /// Judges a connection that is up. `other_keys`: as `on_time` said. Errors, which the audit is told: refused, timed_out.
  [[nodiscard]] Result<void> judge(const Connection& connection, bool other_keys, Time now);
  /// The other end is not let in, or does not let this one in, which the audit is told.
  void on_refused(const Connection& connection, const Error& why, Time now);
  /// The other end is let in.
  void on_proved(const Connection& connection);
  /// The connection is gone. A node that was not met is due in a second, if it is wanted.
  void on_gone(const Connection& connection, Time now);

  // Lists of revoked certificates.
  /// Hands those in force on to a peer.
  void give_lists(Connection& connection) const;
  /// Takes a part of those that a peer hands on. Errors, which the audit is told: refused (the peer is at fault).
  [[nodiscard]] Result<void> take_lists(Connection& connection, const Control& revoked, Time now);
  /// Whether there are newer ones since the last time, so that everybody is to be given them.
  [[nodiscard]] bool take_newer_lists();
  /// This node's own certificate is revoked; once.
  [[nodiscard]] std::optional<Error> take_own_end();

  // The nodes that the owner wants to meet.
  void want(NodeId node) { wanted_.insert(node); }
  /// A node is called only when what lingers of the last connection with it is over.
  void call_later(NodeId node, Time now) { due_[node] = now + lingering; }
  void on_met(NodeId node) { forget(node); }
  void forget(NodeId node);

  /// When `on_time` has to be called.
  [[nodiscard]] Time next_time() const noexcept;
  /// Whether other keys are in force, so that every connection is to be judged.
  [[nodiscard]] bool on_time(Time now);
  /// Nodes that are to be called again.
  [[nodiscard]] std::vector<NodeId> take_due(Time now);

 private:
  [[nodiscard]] Result<void> judge_again(const Connection& connection) const;

  const std::shared_ptr<tls::Credentials> credentials_;
  const std::shared_ptr<AuditTrail> audit_;
  const NodeId self_;
  const std::uint64_t incarnation_;
  const ProvedBy proved_by_;
  tls::KeyWatch key_watch_;
  std::uint64_t revision_ = 0;                           ///< of the credentials by which the connections were judged
  std::shared_ptr<const std::vector<std::byte>> lists_;  ///< that all peers were given; null: none were to be
  bool own_end_told_ = false;
  NodeRefusals refusals_;
  std::set<NodeId> wanted_;     ///< and not met
  std::map<NodeId, Time> due_;  ///< those of them with which a connection came to nothing
  Time next_deadline_ = never;  ///< of a session
};

}  // namespace spindrift::fabric::connected
