// A replica: one object that all members of a subgroup change in the same order. Behind Replicated (replicated.hpp), which
// is what users see; the Group calls the entry points of ReplicaBase, all on its poller thread but those about the state.
// The object itself is in ReplicaCore (replica_of.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <vector>

#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/smc/delivery.hpp>
#include <spindrift/group/call_head.hpp>
#include <spindrift/group/client_calls.hpp>
#include <spindrift/group/handler_threads.hpp>
#include <spindrift/group/method_scope.hpp>
#include <spindrift/group/relayed_object.hpp>
#include <spindrift/group/replica_channel.hpp>
#include <spindrift/group/replica_members.hpp>
#include <spindrift/group/replica_place.hpp>
#include <spindrift/group/replica_refusal.hpp>
#include <spindrift/group/replica_state.hpp>
#include <spindrift/group/replicated_call.hpp>
#include <spindrift/group/replicated_methods.hpp>
#include <spindrift/group/waiting_queries.hpp>

namespace spindrift {

/// The entry points, independent of the object's type. All on the poller thread, but for those that say so; they throw
/// nothing of the application's.
class ReplicaBase : protected replicated::MethodTable {
 public:
  ReplicaBase(ReplicaChannel& channel, replicated::MethodLists lists);
  virtual ~ReplicaBase();
  ReplicaBase(const ReplicaBase&) = delete;
  ReplicaBase& operator=(const ReplicaBase&) = delete;

  /// The members of the subgroup at first, and whether its state is on its way here. Before any other entry point; any
  /// thread.
  void begin(const replicated::ReplicaMembers& members, bool loading);
  /// Messages of the subgroup in their order.
  void on_delivery(std::span<const Delivery> batch);
  /// Messages of the subgroup's log, in their order, which were delivered before this process had the object: what they
  /// changed is changed again, and nobody is answered, or accused. Before any `on_delivery` that follows them. A log that
  /// begins with calls of a list that is not known here is given up, and so refused.
  void on_replay(std::span<const Delivery> batch);
  /// The state that `load` took is a checkpoint of that version: that message of the log follows.
  void begin_at(std::uint64_t version) noexcept { progress_.begin_at(version); }
  /// A private message of another member: an answer.
  void on_private(NodeId from, std::span<const std::byte> message);
  /// A query of any member, this one included.
  void on_query(NodeId from, std::span<const std::byte> message);
  /// Answers queries that wait, as far as there is room for their answers.
  void answer_waiting();
  /// The answer to a query that no replica takes. Nothing: it is no query.
  [[nodiscard]] static std::optional<std::vector<std::byte>> refusal(std::span<const std::byte> query,
                                                                     replicated::AnswerOutcome outcome);
  /// The members of the subgroup from now on: with every view; deliveries of those before that were kept may follow.
  /// `loading`: its state is on its way here. `anew`: see ReplicaMembers; nobody who waits for an answer of theirs gets it.
  void on_view(const replicated::ReplicaMembers& members, bool loading, std::span<const NodeId> anew);
  /// The state is here.
  void on_loaded() { state_.set(replicated::ReplicaState::Stage::here); }
  /// All members have delivered what is below `frontier` in the current view. Called when it grew.
  void on_stable(SequenceNumber frontier);
  /// All members of the logged subgroup have what is of a lower version on their disks. Called when it grew.
  void on_durable(std::uint64_t version) { calls_.on_durable(version); }
  /// Nothing will be called any more; waiting callers are told `why`. The channel is not used after it.
  void on_end(const Error& why);
  /// The state that came cannot be taken here: whoever waits is told `why`, and the object takes and gives nothing any more.
  /// Any thread; returns before anything is delivered.
  void give_up(const Error& why);

  /// The replica for clients outside of the group. Any thread.
  [[nodiscard]] replicated::RelayedObject& relayed() noexcept { return relayed_; }

  /// Any thread.
  [[nodiscard]] const replicated::ReplicaState& state() const noexcept { return state_; }

  /// Writes the object's state for a joiner, between two deliveries; any thread. A type that gives no way to save it saves
  /// that it has none, which no joiner can load. Errors: resource; refused, where it was given up.
  [[nodiscard]] virtual Result<void> save(std::ostream& to) const = 0;
  /// Replaces the state by what another member saved; any thread, between two deliveries, before `on_loaded`. Errors:
  /// unsupported (the type gives no way to), refused (it is of a type with other methods), bad_input.
  [[nodiscard]] virtual Result<void> load(std::span<const std::byte> state) = 0;
  /// Why the type's state cannot travel. Nothing: it can.
  [[nodiscard]] virtual std::optional<Error> untransferable() const = 0;

 protected:
  using Ask = replicated::CallAsk;
  using Request = replicated::ReplicatedCallHead;
  using Place = std::uint64_t;  ///< behind the Request of Ask::one: the node
  struct Reply {
    std::uint64_t digest;  ///< as the request has it
    std::uint64_t call;
    std::uint64_t outcome;  ///< replicated::AnswerOutcome
    std::uint64_t left;     ///< bytes of the answer that follow in later pieces
  };

  /// The words before a saved state.
  struct StateHead {
    std::uint64_t digest;  ///< of the list of methods
    std::uint64_t form;    ///< StateForm; with `clients_follow` if the clients' table is before the object
  };
  static constexpr std::uint64_t clients_follow = std::uint64_t{1} << 32U;
  enum class StateForm : std::uint64_t { none, stream, archive };
  /// The bytes of the object; takes what is before them. Errors: refused, unsupported, bad_input.
  [[nodiscard]] Result<std::span<const std::byte>> open_state(std::span<const std::byte> state, StateForm own);
  [[nodiscard]] std::vector<std::byte> begin_state(StateForm form) const;
  [[nodiscard]] Error no_way_to_travel() const;
  /// Throws bad_argument: this node is not in the subgroup, so that no delivery keeps the object up.
  void require_membership() const;

  /// Starts a call: the message is sent when this returns. It is space for the request, then the arguments. Waits until the
  /// state is here: a member that has another list of methods finds out by that, and does not speak before.
  void start(std::vector<std::byte>& message, std::uint32_t method, Ask ask,
             const std::shared_ptr<replicated::ReplicatedCall>& call);
  /// The same for a query that one member's replica runs at its place in the order. There is space for the node, too.
  void start_at(std::vector<std::byte>& message, std::uint32_t method, NodeId of,
                const std::shared_ptr<replicated::ReplicatedCall>& call);
  /// The same for a query of one member's replica, or of those of all members, beside the order.
  void start_query(std::vector<std::byte>& message, std::uint32_t method, std::optional<NodeId> of,
                   const std::shared_ptr<replicated::ReplicatedCall>& call);
  [[nodiscard]] const std::shared_ptr<const group::HandlerThreads>& handlers() const noexcept { return handlers_; }
  /// The channel, and what fields of the object ask for: which message a method of it runs for.
  [[nodiscard]] const replicated::ReplicaProgress& progress() const noexcept { return progress_; }

  /// Runs a method on the object, and returns whether it threw. The answer goes to `own` if that is not null, and as bytes
  /// behind those of `reply` if that is not null. Throws BadBytes before the object is touched.
  [[nodiscard]] virtual bool run(std::uint32_t method, std::span<const std::byte> arguments, replicated::ReplicatedCall* own,
                                 std::vector<std::byte>* reply) = 0;

 private:
  void deliver(const Delivery& delivery);
  void replay(const Delivery& delivery);
  void deliver_at(const Delivery& delivery, const Request& request, std::span<const std::byte> arguments);
  void apply_own(const Delivery& delivery, const Request& request, std::span<const std::byte> arguments);
  void apply(NodeId caller, const Request& request, std::span<const std::byte> arguments);
  void apply_here(const Request& request, std::span<const std::byte> arguments, replicated::ReplicatedCall* own);
  void answer_query(NodeId caller, std::span<const std::byte> message);
  void send_reply(NodeId caller, Reply head);
  void take_reply(NodeId from, std::span<const std::byte> message);

  ReplicaChannel& channel_;
  replicated::ReplicaProgress progress_{channel_};
  const replicated::MethodLists lists_;
  const std::shared_ptr<const group::HandlerThreads> handlers_;
  replicated::ReplicaState state_;
  replicated::OpenCalls calls_;
  replicated::ClientCalls clients_{channel_};
  replicated::ReplicaMembers members_;  // the poller's
  replicated::ReplicaPlace place_;
  std::vector<std::byte> reply_;  // the poller's; kept for its memory
  replicated::WaitingQueries waiting_;
  replicated::RelayedObject relayed_{{*this, lists_, state_, place_, channel_, calls_}};
};

}  // namespace spindrift
