// A caller's handle of a replicated call: the answers of the replicas.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/group/replicated_call.hpp>
#include <spindrift/group/replicated_error.hpp>

namespace spindrift {

/// The answer of one replica to a call.
template <class R>
class ReplicaResult {
 public:
  /// Made by a Future.
  ReplicaResult(NodeId node, replicated::Answer<R> answer) : node_(node), answer_(std::move(answer)) {}

  [[nodiscard]] NodeId node() const noexcept { return node_; }  ///< whose replica it is
  /// Whether the method returned.
  [[nodiscard]] bool ok() const noexcept { return answer_.kind == Kind::returned; }
  /// Whether the replica left the view before its answer came.
  [[nodiscard]] bool lost() const noexcept { return answer_.kind == Kind::lost; }
  /// The value that it returned. Throws `exception()` (for one that it threw see ReplicaError), or member_lost.
  R value() const {
    if (lost()) {
      throw Exception(
          Error(ErrorKind::member_lost, "node " + std::to_string(node_.value()) + " was lost before it answered"));
    }
    if (!ok()) std::rethrow_exception(answer_.thrown);
    if constexpr (!std::is_void_v<R>) return answer_.value;
  }
  /// The exception that it threw, or the Exception that says why a query was refused there; null: neither.
  [[nodiscard]] std::exception_ptr exception() const noexcept { return answer_.thrown; }

 private:
  using Kind = typename replicated::Answer<R>::Kind;

  NodeId node_;
  replicated::Answer<R> answer_;
};

/// The outcome of one call, now or later. Copies are of the same call; it may be dropped, and may outlive the group.
/// Threads: any.
///
/// Everything that waits takes a limit, and throws timed_out when it is over (the call itself goes on); would_block where a
/// handler of the group would have to wait, also one with a thread of its own; and the reason for the group's end,
/// group_closed after an orderly one, if what is waited for had not happened before.
template <class R>
class Future {
 public:
  /// Made by a Replicated.
  explicit Future(std::shared_ptr<const replicated::CallOf<R>> call) : call_(std::move(call)) {}

  /// Waits until the own replica has applied the call.
  void delivered(std::optional<Duration> limit = {}) const { call_->wait(replicated::CallStage::delivered, limit); }
  /// The own replica's result, as soon as there is one. Throws what its method threw, too.
  R get(std::optional<Duration> limit = {}) const {
    delivered(limit);
    return ReplicaResult<R>(NodeId{}, call_->own_answer()).value();
  }
  /// The results of all replicas of the view in which the call was delivered, the own one first. A replica that is lost
  /// before it answers is listed as lost, also one whose state has to come anew meanwhile, with the call in it. Those that
  /// were lost before the own replica ran the call are not listed. Of a call that asked for no answers, the own result
  /// alone.
  [[nodiscard]] std::vector<ReplicaResult<R>> all(std::optional<Duration> limit = {}) const {
    call_->wait(replicated::CallStage::answered, limit);
    std::vector<ReplicaResult<R>> results;
    for (auto& [node, answer] : call_->answers()) results.emplace_back(node, std::move(answer));
    return results;
  }
  /// Waits until every replica of the view has applied the call.
  void stable(std::optional<Duration> limit = {}) const { call_->wait(replicated::CallStage::stable, limit); }
  /// In a logged subgroup: waits until the call, and with it all before it, is on the disks of all members of the subgroup.
  /// It is in the object from then on, through any crash of any number of members; before, it may be gone if all stop at
  /// once. Throws bad_argument where the subgroup is not logged.
  void durable(std::optional<Duration> limit = {}) const { call_->wait(replicated::CallStage::durable, limit); }

  /// Whether `delivered` would return at once.
  [[nodiscard]] bool is_delivered() const { return call_->reached(replicated::CallStage::delivered); }
  /// Whether `stable` would return at once.
  [[nodiscard]] bool is_stable() const { return call_->reached(replicated::CallStage::stable); }
  /// Whether `durable` would return at once. Never where the subgroup is not logged.
  [[nodiscard]] bool is_durable() const { return call_->reached(replicated::CallStage::durable); }

 private:
  std::shared_ptr<const replicated::CallOf<R>> call_;
};

/// The outcome of a query of one member's replica, in the order or beside it, now or later. As a Future otherwise: what
/// waits takes a limit and throws timed_out, would_block in a handler, and the reason for the group's end. Threads: any.
template <class R>
class QueryFuture {
 public:
  /// Made by a Replicated.
  explicit QueryFuture(std::shared_ptr<const replicated::CallOf<R>> call) : call_(std::move(call)) {}

  /// Waits for the answer: the value that the method returned there. Throws what the method threw (see ReplicaError);
  /// member_lost: that member left the subgroup, or its view, before its answer came, or its state has to come anew;
  /// bad_argument: it is not in the subgroup; refused: it has no object or no state there yet, or other Methods; resource:
  /// too many queries wait there.
  R get(std::optional<Duration> limit = {}) const {
    call_->wait(replicated::CallStage::answered, limit);
    auto [node, answer] = call_->answers().front();
    return ReplicaResult<R>(node, std::move(answer)).value();
  }
  /// Whether `get` would return or throw at once.
  [[nodiscard]] bool is_answered() const { return call_->reached(replicated::CallStage::answered); }

 private:
  std::shared_ptr<const replicated::CallOf<R>> call_;
};

/// The same for a query of all members' replicas.
template <class R>
class QueryAllFuture {
 public:
  /// Made by a Replicated.
  explicit QueryAllFuture(std::shared_ptr<const replicated::CallOf<R>> call) : call_(std::move(call)) {}

  /// Waits until each replica of the view in which the query began has answered, has refused, or is lost, and returns one
  /// result for each, in the order in which they came. `value()` of one throws what QueryFuture::get throws. Throws itself
  /// only what Future::all throws.
  [[nodiscard]] std::vector<ReplicaResult<R>> get(std::optional<Duration> limit = {}) const {
    call_->wait(replicated::CallStage::answered, limit);
    std::vector<ReplicaResult<R>> results;
    for (auto& [node, answer] : call_->answers()) results.emplace_back(node, std::move(answer));
    return results;
  }
  /// Whether `get` would return at once.
  [[nodiscard]] bool is_answered() const { return call_->reached(replicated::CallStage::answered); }

 private:
  std::shared_ptr<const replicated::CallOf<R>> call_;
};

}  // namespace spindrift
