// Which connections have to be proved, by which keys, and until when; and what is done about those that are not.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/connected/connection.hpp>
#include <spindrift/fabric/connected/control_session.hpp>
#include <spindrift/fabric/connected/node_refusals.hpp>
#include <spindrift/fabric/connected/wire.hpp>
#include <spindrift/fabric/tls/key_watch.hpp>

namespace spindrift::fabric::connected {

/// Belongs to the poller.
class Proofs {
 public:
  /// Without credentials nobody has to prove anything, and nothing is sealed. `self` and `incarnation`: as greetings say.
  Proofs(std::shared_ptr<tls::Credentials> credentials, NodeId self, std::uint64_t incarnation, Time now);

  // A connection's life.
  /// Gives it a session, if it needs one; it is broken down if there is none to give. Before it is up.
  void attach(Connection& connection) const;
  /// Its connection is up: the other end has three seconds.
  void begin(ControlSession& session, Time now);
  /// Whether a message of that kind may come in the clear.
  [[nodiscard]] static bool may_be_clear(const Connection& connection, Kind kind) noexcept;
  /// Judges a connection that is up. `other_keys`: as `on_time` said. Errors, which the log is told: refused, timed_out.
  [[nodiscard]] Result<void> judge(const Connection& connection, bool other_keys, Time now);
  /// The other end is not let in; told in the log.
  void on_refused(NodeId node, const Error& why) { refusals_.tell(node, why); }
  /// The connection is gone. A node that was not met is due in a second, if it is wanted.
  void on_gone(const Connection& connection, Time now);

  // The nodes that the owner wants to meet.
  void want(NodeId node) { wanted_.insert(node); }
  void on_met(NodeId node) { forget(node); }
  void forget(NodeId node);

  /// When `on_time` has to be called.
  [[nodiscard]] Time next_time() const noexcept;
  /// Whether other keys are in force, so that every connection is to be judged.
  [[nodiscard]] bool on_time(Time now);
  /// Nodes that are to be called again.
  [[nodiscard]] std::vector<NodeId> take_due(Time now);

 private:
  const std::shared_ptr<tls::Credentials> credentials_;
  const NodeId self_;
  const std::uint64_t incarnation_;
  tls::KeyWatch key_watch_;
  NodeRefusals refusals_;
  std::set<NodeId> wanted_;     ///< and not met
  std::map<NodeId, Time> due_;  ///< those of them with which a connection came to nothing
  Time next_deadline_ = never;  ///< of a session
};

}  // namespace spindrift::fabric::connected
