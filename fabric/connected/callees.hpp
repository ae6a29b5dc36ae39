// The addresses at which nodes are called, and the log's lines on calls that came to nothing, theirs included.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <spindrift/core/ids.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/connected/resolver.hpp>
#include <spindrift/fabric/refused_callers.hpp>

namespace spindrift::fabric::connected {

class Callees {
 public:
  /// `ring` ends a sleep of the poller; any thread.
  explicit Callees(std::function<void()> ring) : resolver_(std::move(ring)) {}

  void learn(NodeId node, std::string endpoint) { nodes_[node].endpoint = std::move(endpoint); }
  [[nodiscard]] const std::string& endpoint_of(NodeId node) { return nodes_[node].endpoint; }
  /// Its name is looked up; `take` has the answer when there is one.
  void look_up(NodeId node) { resolver_.ask(node, endpoint_of(node)); }
  [[nodiscard]] std::optional<Resolver::Answer> take() { return resolver_.take(); }

  /// Told once for each reason.
  void on_failed(NodeId node, std::string why) {
    Callee& callee = nodes_[node];
    if (why == callee.last_failure) return;
    callee.last_failure = std::move(why);
    log::info(log::Room::fabric, "no connection yet", {{"endpoint", callee.endpoint}, {"reason", callee.last_failure}});
  }
  /// The same where its name has no address: most often a mistake, which waiting does not mend.
  void on_unresolved(NodeId node, const Error& why) {
    Callee& callee = nodes_[node];
    if (why.message() == callee.last_failure) return;
    callee.last_failure = why.message();
    log::warn(log::Room::fabric, "a node has no address",
              {{"node", node}, {"endpoint", callee.endpoint}, {"reason", why.message()}, {"fix", why.fix()}});
  }
  /// A call of theirs. Most often the caller has gone meanwhile; one that stays calls again.
  void on_unanswered(NodeId node, const Error& why, Time now) {
    if (!log::enabled(log::Room::fabric, log::Level::info)) return;
    const std::string reason = why.to_string();
    const std::uint64_t times = unanswered_.due(node, reason, now);
    if (times == 0) return;
    log::info(log::Room::fabric, "cannot answer", {{"node", node}, {"reason", reason}, {"times", times}});
  }
  void on_met(NodeId node) { nodes_[node].last_failure.clear(); }

 private:
  struct Callee {
    std::string endpoint;
    std::string last_failure;
  };

  std::map<NodeId, Callee> nodes_;
  RefusedCallers<NodeId> unanswered_;
  Resolver resolver_;
};

}  // namespace spindrift::fabric::connected
