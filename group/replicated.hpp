// A replicated object: every member of a subgroup has one, and all change theirs by the same calls in the same order.
//
//   struct Ledger {
//     long deposit(std::string account, long cents) { return balances[account] += cents; }  // not const: an ordered update
//     long balance(std::string account) const { return balances.at(account); }              // const: a query
//     template <class Archive>
//     void serialize(Archive& archive) { archive(balances); }                               // for members that join later
//     std::map<std::string, long> balances;
//     using Methods = spindrift::Replicates<&Ledger::deposit, &Ledger::balance>;
//   };
//
//   void use(spindrift::Group& group) {
//     auto ledger = group.replicated<Ledger>("ledger");
//     long left = ledger.update<&Ledger::deposit>("Ann", 100).get();
//     long seen = ledger.query<&Ledger::balance>("Ann");
//   }
//
// Updates must be deterministic: the same calls in the same order leave the same state, and the same result, everywhere.
// They take their parameters by value or by reference to const; parameters and results are default-constructible, and
// travel as replicated_bytes.hpp says. They run on the poller thread and should return soon. They may start other calls,
// but not wait for them.
//
// In a logged subgroup the log is the state: at a start and at a join updates run again, from the first one on, so that the
// object is what it was; nothing is saved, and no serialize is needed, unless the log has a "history": then the object
// begins with a checkpoint, for which it is made a second time now and then, on another thread, and saved. What only reads
// does not run again, and nobody is answered. A method that runs again cannot start calls (would_block): those that it
// started are in the log themselves. Future::durable waits until a call outlives any crash. A log has calls of the Methods
// of its time; a later program names former lists:
// `using FormerMethods = spindrift::Formerly<spindrift::Replicates<&Ledger::deposit>>;`.
// Fields of such an object can keep what they were: persistent.hpp.
#pragma once

#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <spindrift/group/group.hpp>
#include <spindrift/group/replica_of.hpp>

namespace spindrift {

/// Users hold this; it lives as long as its Group. All functions from any thread.
template <class T>
class Replicated {
 public:
  /// Made by Group::replicated.
  explicit Replicated(ReplicaCore<T>& core) noexcept : core_(core) {}

  /// Calls a non-const member function at every replica, at the same place of the order. Returns when the call is on its
  /// way; waits for the state as `loaded` before. Throws as Subgroup::send (bad_argument: the arguments are larger than its
  /// messages may be) and as `loaded`; what the method throws comes out of the future.
  template <auto method, class... Arguments>
  auto update(Arguments&&... arguments) {
    if constexpr (check_update<method>())
      return core_.template call<method>(true, std::forward<Arguments>(arguments)...);
  }

  /// The same, but only the own replica's result is asked for: no member sends an answer.
  template <auto method, class... Arguments>
  auto post(Arguments&&... arguments) {
    if constexpr (check_update<method>())
      return core_.template call<method>(false, std::forward<Arguments>(arguments)...);
  }

  /// Opens a session for a client, whose requests are each carried out once. Costs one message. Throws as `update`, and
  /// unsupported: a member of an earlier release is in the group, or was when its view began.
  [[nodiscard]] Future<ClientSessionId> open_session() { return core_.open_session(); }

  /// Calls a non-const member function at every replica for a client, unless its request was carried out before, at whatever
  /// member's order; then the result is what it was then, bytes or exception. Without an answer (this member was lost) it is
  /// made again at any other member. Costs one message. The future throws ClientRefused where the request is not carried
  /// out, and what the method throws as another replica's caller gets it (ReplicaError). Throws as `update`, and
  /// ClientRefused: by its own words the request is settled.
  template <auto method, class... Arguments>
  auto update_once(const ClientRequest& request, Arguments&&... arguments) {
    if constexpr (check_update<method>())
      return core_.template call_once<method>(request, std::forward<Arguments>(arguments)...);
  }

  /// Ends a session: all that it keeps is forgotten, and requests of it are refused. Costs one message; throws as `update`.
  Future<void> close_session(const ClientSessionId& session) { return core_.close_session(session); }

  /// Lets clients outside of the group call the object at this member, as [SPINDRIFT] client_port lets them in: all of its
  /// Methods, with whatever arguments. Not to be taken back; the same at all members, so that a client can go on at any.
  void offer() noexcept { core_.relayed().offer(); }

  /// Waits until the own replica has the subgroup's state, which a member that joins a running group gets from another one
  /// once it has attached the object, and any member of a logged subgroup from its log; at all others at once. Throws
  /// timed_out, would_block in a handler that would have to
  /// wait, the reason for the group's end, and why the state cannot be taken here: refused (this program's Methods differ
  /// from those of the others), unsupported (the type cannot be loaded), bad_input. This member has left, or leaves, then.
  void loaded(std::optional<Duration> limit = {}) const { core_.state().await_loaded(limit); }
  /// Whether `loaded` would return at once.
  [[nodiscard]] bool is_loaded() const noexcept { return core_.state().is_loaded(); }

  /// Calls a const member function of the own replica, now: it sees what is applied here, which may be behind. Costs no
  /// message, and holds up updates while it runs. It must not start calls. Waits for the state as `loaded` does, so that it
  /// never sees an object that has not got it. Throws as `loaded`, and bad_argument at a node that is not in the subgroup.
  template <auto method, class... Arguments>
  auto query(Arguments&&... arguments) const {
    if constexpr (check_query<method>()) return core_.template read<method>(std::forward<Arguments>(arguments)...);
  }

  /// Calls a const member function of the own replica at its place in the order: it sees every update that was delivered
  /// anywhere before this call began (a linearizable read). Costs one message.
  template <auto method, class... Arguments>
  auto ordered_query(Arguments&&... arguments) {
    if constexpr (check_listed_query<method>())
      return core_.template call<method>(false, std::forward<Arguments>(arguments)...);
  }

  /// The same at every replica: Future::all has what each returned at that place, which is the same where methods are
  /// deterministic. Costs one message, and an answer of each other replica.
  template <auto method, class... Arguments>
  auto ordered_query_all(Arguments&&... arguments) {
    if constexpr (check_listed_query<method>())
      return core_.template call<method>(true, std::forward<Arguments>(arguments)...);
  }

  /// The same at the replica of one member of the subgroup, which may be this one: only that one runs it, at its place in
  /// the order, and sends its answer. What the QueryFuture throws is as for `query_at`; but like an update it waits for a
  /// replica that has no object or no state yet. Costs one message, and one answer.
  template <auto method, class... Arguments>
  auto ordered_query_at(NodeId of, Arguments&&... arguments) {
    if constexpr (check_listed_query<method>())
      return QueryFuture<Result<method>>(core_.template call_at<method>(of, std::forward<Arguments>(arguments)...));
  }

  /// Calls a const member function of the replica of one member of the subgroup, there and as soon as the query arrives: it
  /// sees what is applied there then. `of` may be this node; this node need not be in the subgroup, but has attached the
  /// object. Costs a private message and its answer, and holds up that member's updates while it runs. Returns when the
  /// query is on its way: waits while too many private messages are on theirs to that member, and for the state as `loaded`.
  /// Throws as Group::send_private (bad_argument: the arguments are larger than one may be) and as `loaded`; that the method
  /// threw, or that there is nobody to answer, comes out of the QueryFuture.
  template <auto method, class... Arguments>
  auto query_at(NodeId of, Arguments&&... arguments) {
    if constexpr (check_listed_query<method>())
      return QueryFuture<Result<method>>(core_.template query<method>(of, std::forward<Arguments>(arguments)...));
  }

  /// The same at the replica of every member that the subgroup has now, this one included: QueryAllFuture has a result of
  /// each. A subgroup that is inadequate now has none, and so no results.
  template <auto method, class... Arguments>
  auto query_all(Arguments&&... arguments) {
    if constexpr (check_listed_query<method>()) {
      return QueryAllFuture<Result<method>>(
          core_.template query<method>(std::nullopt, std::forward<Arguments>(arguments)...));
    }
  }

 private:
  template <auto method>
  using Result = typename replicated::Traits<method>::Result;

  // The compiler says one sentence of a mistake: nothing that would not compile either is looked at after it.
  template <auto method>
  static consteval bool check_query() {
    constexpr bool query = QueryOf<method, T>;
    static_assert(query,
                  "not a const member function of the replicated type: what changes the object is called with update<>");
    return query;
  }
  template <auto method>
  static consteval bool check_listed() {
    constexpr bool listed = ReplicatedMethodOf<method, T>;
    static_assert(listed, "not in the type's list of Methods: add it to Replicates<…>");
    return listed;
  }
  template <auto method>
  static consteval bool check_listed_query() {
    if constexpr (check_query<method>()) return check_listed<method>();
    return false;
  }
  template <auto method>
  static consteval bool check_update() {
    constexpr bool update = UpdateOf<method, T>;
    static_assert(update,
                  "not a non-const member function of the replicated type: what only reads is called with query<> "
                  "or ordered_query<>");
    if constexpr (update) return check_listed<method>();
    return false;
  }

  ReplicaCore<T>& core_;
};

template <class T, class... Arguments>
Replicated<T> Group::replicated(std::string_view subgroup, Arguments&&... arguments) {
  using Made = std::unique_ptr<ReplicaBase>;
  ReplicaMaker again;
  if constexpr ((std::is_constructible_v<std::decay_t<Arguments>, const Arguments&> && ...) &&
                std::is_constructible_v<T, const std::decay_t<Arguments>&...>) {
    using Copies = const std::tuple<std::decay_t<Arguments>...>;
    again = [copies = std::make_shared<Copies>(arguments...)](ReplicaChannel& channel) {
      const auto make = [&](const auto&... each) -> Made { return std::make_unique<ReplicaCore<T>>(channel, each...); };
      return std::apply(make, *copies);
    };
  }
  const auto once = [&](ReplicaChannel& channel) -> Made {
    return std::make_unique<ReplicaCore<T>>(channel, std::forward<Arguments>(arguments)...);
  };
  ReplicaBase& replica = attach_replica(subgroup, once, std::move(again));
  return Replicated<T>(static_cast<ReplicaCore<T>&>(replica));
}

}  // namespace spindrift
