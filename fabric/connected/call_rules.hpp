// The rules of calls, by which two processes that may call each other at any time come to have one connection.
//
// Two processes may call each other at once. The invariant to remember: of two calls that cross, that of the lower node id
// stands, unless the other side calls again; and the side that answers a call says how many it has made itself, so that
// those still under way are known as over.
//
// A greeting can be forged by any process that reaches the port, and it tells its sender's start to any caller. So each side
// says a random word with it, and a connection that is up gives way to a call of the same start only if that knows the word:
// the other end alone has heard it. One that does not is turned away; if it was the other end that had not heard, the
// connection falls silent and is found dead.
//
// Pure: it is stepped with events and the time, and what is to be done about them waits in `take_actions`, as values, in
// order. Copies behave alike, so that tests step one in every order of events.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/fabric/connected/wire.hpp>

namespace spindrift::fabric::connected {

using CallId = Strong<struct CallIdTag, std::uint32_t>;

/// One call, of this process or of another, from its beginning to the end of the connection that came of it.
struct PeerCall {
  enum class State : std::uint8_t {
    calling,    ///< this side has called; the other side has not answered
    answering,  ///< the other side has called; it has not shown that it heard the answer
    up,
    closing,  ///< nothing is heard any more; the last words are on their way
    over,     ///< the rules ended it; `on_ended` follows
  };
  CallId id;
  NodeId node;
  State state = State::calling;
  std::uint64_t incarnation = 0;   ///< of the other endpoint; while calling, of the last one that was turned away
  std::uint64_t peer_attempt = 0;  ///< the other endpoint's attempts up to this one are over
  std::uint64_t word = 0;          ///< this side's, which a call that replaces it has to know
  std::uint64_t word_before = 0;   ///< or this one: of the connection before, if the other end has not heard the newer one
  std::uint64_t peer_word = 0;     ///< the other side's; calling: 0
  bool doubted = false;            ///< up: a call that did not know the word was told of
  Time begun{};                    ///< or when this process was last back from an absence
  Time deadline{};                 ///< calling, answering, closing: when it is given up

  /// It is a connection, or may become one.
  [[nodiscard]] bool talking() const noexcept { return state <= State::up; }
  friend auto operator<=>(const PeerCall&, const PeerCall&) = default;
};

class CallRules {
 public:
  struct Action {
    enum class Kind : std::uint8_t {
      reach,  ///< the node is to be called: `begin_call` once it is known how, or `on_unreachable`
      end,    ///< the call is to be ended, and its connection with it, for `reason`; then `on_ended`
      doubt,  ///< somebody calls in the name of the other end, whose connection stands; once for each
    };
    Kind kind = Kind::reach;
    NodeId node;
    CallId call;
    std::string reason;
    friend auto operator<=>(const Action&, const Action&) = default;
  };
  /// A call or an answer is begun with these: the call, valid until `on_ended`, and what to say to the other side.
  struct Begun {
    const PeerCall* call = nullptr;
    Greeting greeting;
  };

  /// At most `connections_max` are made or answered at a time.
  CallRules(NodeId self, std::uint64_t incarnation, std::size_t connections_max)
      : self_(self), incarnation_(incarnation), connections_max_(connections_max) {}

  // The wishes of the endpoint's owner.
  /// A connection; once it is up, the wish is over. Nothing while there is one or it is wanted.
  void want(NodeId node, Time now);
  /// Calls of the node are not answered, and none is made; what there is with it ends for `reason`.
  void turn_away(NodeId node, const std::string& reason);
  void welcome(NodeId node) { turned_away_.erase(node); }
  static constexpr Duration last_words_max = std::chrono::milliseconds(250);
  /// The connection ends; its last words are said, for that long at most.
  void close(CallId id, Time now, Duration at_most = last_words_max);
  /// From now on nobody is called or answered.
  void finish();

  // The findings of the endpoint and its transport.
  /// It is known how the node is reached. Nothing if it is not to be called any more. `word`: random, and nobody else's.
  [[nodiscard]] std::optional<Begun> begin_call(NodeId node, std::uint64_t word, Time now);
  void on_unreachable(NodeId node, Time now);
  /// A call came. Nothing: it is turned away; else it is answered after the pending actions, which end what it replaces.
  /// `word`: as of `begin_call`.
  [[nodiscard]] std::optional<Begun> on_call(const Greeting& greeting, std::uint64_t word, Time now);
  /// The other side answered this side's call.
  void on_answer(CallId id, const Greeting& greeting);
  /// The other side has heard this side's answer.
  void on_confirmed(CallId id);
  /// The connection is gone. Whether the node is called again for it.
  bool on_ended(CallId id, Time now);

  /// Calls that are due, and calls that nobody answered. Not needed before `next_time`.
  void on_time(Time now);
  [[nodiscard]] Time next_time() const noexcept { return next_time_; }
  /// From `since` until now this process did not look, so it was not the other sides that failed to answer. `away`: for so
  /// long that whatever they did meanwhile was not seen either.
  void excuse(Time since, Time now, bool away);

  [[nodiscard]] std::vector<Action> take_actions() { return std::exchange(actions_, {}); }
  /// Null if it has ended.
  [[nodiscard]] const PeerCall* find(CallId id) const;
  /// Whether the node is to be called as soon as it is known how.
  [[nodiscard]] bool reaching(NodeId node) const;
  [[nodiscard]] NodeId self() const noexcept { return self_; }
  [[nodiscard]] std::uint64_t incarnation() const noexcept { return incarnation_; }

  friend auto operator<=>(const CallRules&, const CallRules&) = default;

 private:
  /// This process's wish for a node, and its attempts.
  struct Node {
    enum class Wish : std::uint8_t { none, waiting, reaching };
    Wish wish = Wish::none;
    std::uint64_t attempts = 0;
    std::uint64_t word = 0;   ///< this side's of the last connection that was up
    std::uint64_t proof = 0;  ///< the other side's of it; until there is one, of the last call that came
    Time next_attempt{};      ///< waiting
    Duration pause{};
    friend auto operator<=>(const Node&, const Node&) = default;
  };

  /// Whether there is a call with it whose end is still to come, so that none is begun.
  [[nodiscard]] bool busy_with(NodeId node) const noexcept;
  [[nodiscard]] PeerCall& add(NodeId node, PeerCall::State state, std::uint64_t word, Time now);
  [[nodiscard]] Greeting greeting_of(const PeerCall& call) const;
  /// Whether a call of the same start replaces it.
  [[nodiscard]] bool replaced_by(PeerCall& call, const Greeting& greeting);
  void end(PeerCall& call, std::string reason);
  void raise(PeerCall& call);
  void pause(Node& node, Time now);

  NodeId self_;
  std::uint64_t incarnation_;
  std::size_t connections_max_;
  bool finished_ = false;
  CallId newest_;
  Time next_time_ = never;
  std::map<CallId, PeerCall> calls_;
  std::map<NodeId, Node> nodes_;
  std::set<NodeId> turned_away_;
  std::vector<Action> actions_;
};

}  // namespace spindrift::fabric::connected
