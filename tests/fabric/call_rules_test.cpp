// The rules of calls, stepped by themselves: two processes that call each other, in every order in which a bounded number of
// calls, answers, losses, restarts and moments can come.
#include <algorithm>
#include <array>
#include <compare>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <spindrift/fabric/connected/call_rules.hpp>

using namespace spindrift;
using namespace spindrift::fabric::connected;

namespace {

using std::chrono::milliseconds;

constexpr std::size_t connections_max = 16;

/// A packet on one connection, in order for each direction.
struct Packet {
  enum class Kind : std::uint8_t { call, answer, heard, end };
  Kind kind = Kind::call;
  std::uint64_t incarnation = 0;
  std::uint64_t attempt = 0;
  std::uint64_t word = 0;
  std::uint64_t proof = 0;
  friend auto operator<=>(const Packet&, const Packet&) = default;
};

/// One call's way between the two processes: end 0 is the caller's.
struct Wire {
  std::size_t caller = 0;  ///< which process
  std::array<std::optional<CallId>, 2> ends;
  std::array<std::vector<Packet>, 2> on_the_way;  ///< to that end
  friend auto operator<=>(const Wire&, const Wire&) = default;
};

/// How much may still go wrong.
struct Budget {
  int lost_answers = 0;
  int restarts = 0;
  int moments = 0;  ///< in which both processes' clocks go on to the next time that matters
  friend auto operator<=>(const Budget&, const Budget&) = default;
};

Packet packet_of(Packet::Kind kind, const Greeting& greeting) {
  return {kind, greeting.incarnation, greeting.attempt, greeting.word, greeting.proof};
}

NodeId node_of(std::size_t process) { return NodeId(static_cast<std::uint32_t>(process + 1)); }

/// Two processes of which each wants a connection with the other, whenever it has none.
class World {
 public:
  explicit World(Budget budget) : budget_(budget) {}

  [[nodiscard]] std::size_t choices() const { return 2 + wires_.size() * 4 + 1 + 2; }

  /// Takes the choice of that number; false if it is none now.
  bool take(std::size_t choice) {
    if (choice < 2) return want(choice);
    choice -= 2;
    if (choice < wires_.size() * 4) return choice % 4 < 2 ? deliver(choice / 4, choice % 2) : lose(choice / 4, choice % 2);
    choice -= wires_.size() * 4;
    if (choice == 0) return budget_.moments > 0 && --budget_.moments >= 0 && wait();
    return restart(choice - 1);
  }

  /// Nothing goes wrong any more: everything arrives, time goes on, and who has no connection wants one.
  void settle() {
    for (int round = 0; round < 200; ++round) {
      bool any = want(0);
      any = want(1) || any;
      for (std::size_t wire = 0; wire < wires_.size(); ++wire) {
        for (std::size_t to : {0U, 1U}) any = deliver(wire, to) || any;
      }
      if (!any && !wait()) return;
    }
  }

  /// Both are up, once, at the two ends of one wire.
  [[nodiscard]] bool linked() const {
    std::size_t both = 0;
    for (const Wire& wire : wires_) both += up(wire, 0) && up(wire, 1);
    return both == 1 && up_count(0) == 1 && up_count(1) == 1;
  }
  /// At no process two connections with one start of the other.
  [[nodiscard]] bool doubled() const {
    for (std::size_t process : {0U, 1U}) {
      std::set<std::uint64_t> incarnations;
      for (const Wire& wire : wires_) {
        const std::size_t end = wire.caller == process ? 0 : 1;
        if (up(wire, end) && !incarnations.insert(call(wire, end)->incarnation).second) return true;
      }
    }
    return false;
  }

  friend auto operator<=>(const World&, const World&) = default;

 private:
  [[nodiscard]] static std::size_t process_at(const Wire& wire, std::size_t end) {
    return end == 0 ? wire.caller : 1 - wire.caller;
  }
  /// Another for each end of each wire.
  [[nodiscard]] static std::uint64_t word_of(std::size_t place, std::size_t end) { return 100 + 2 * place + end; }
  [[nodiscard]] const PeerCall* call(const Wire& wire, std::size_t end) const {
    return wire.ends[end] ? rules_[process_at(wire, end)].find(*wire.ends[end]) : nullptr;
  }
  [[nodiscard]] bool up(const Wire& wire, std::size_t end) const {
    const PeerCall* const there = call(wire, end);
    return there != nullptr && there->state == PeerCall::State::up;
  }
  [[nodiscard]] std::size_t up_count(std::size_t process) const {
    return static_cast<std::size_t>(std::count_if(
        wires_.begin(), wires_.end(), [&](const Wire& wire) { return up(wire, wire.caller == process ? 0 : 1); }));
  }

  bool want(std::size_t process) {
    const CallRules before = rules_[process];
    rules_[process].want(node_of(1 - process), now_);
    if (rules_[process] == before) return false;
    act(process);
    return true;
  }

  // The transport of a process: it does at once what the rules say.
  void act(std::size_t process) {
    for (auto actions = rules_[process].take_actions(); !actions.empty(); actions = rules_[process].take_actions()) {
      for (const CallRules::Action& action : actions) {
        if (action.kind == CallRules::Action::Kind::reach) {
          place(process);
        } else {
          hang_up(process, action.call);
        }
      }
    }
  }
  void place(std::size_t process) {
    const auto begun = rules_[process].begin_call(node_of(1 - process), word_of(wires_.size(), 0), now_);
    if (!begun) return;
    Wire wire{process, {begun->call->id, std::nullopt}, {}};
    wire.on_the_way[1].push_back(packet_of(Packet::Kind::call, begun->greeting));
    wires_.push_back(wire);
  }
  void hang_up(std::size_t process, CallId id) {
    for (Wire& wire : wires_) {
      const std::size_t end = wire.caller == process ? 0 : 1;
      if (wire.ends[end] != id) continue;
      wire.ends[end].reset();
      wire.on_the_way[1 - end].push_back(Packet{Packet::Kind::end});
    }
    rules_[process].on_ended(id, now_);
  }

  bool deliver(std::size_t place, std::size_t end) {
    if (wires_[place].on_the_way[end].empty()) return false;
    const Packet packet = wires_[place].on_the_way[end].front();
    wires_[place].on_the_way[end].erase(wires_[place].on_the_way[end].begin());
    const std::size_t process = process_at(wires_[place], end);
    CallRules& rules = rules_[process];
    const Greeting greeting{node_of(1 - process), packet.incarnation, packet.attempt, packet.word, packet.proof};
    const std::optional<CallId> id = wires_[place].ends[end];
    switch (packet.kind) {
      case Packet::Kind::call: {
        const auto answer = rules.on_call(greeting, word_of(place, 1), now_);
        const std::optional<CallId> given = answer ? std::optional(answer->call->id) : std::nullopt;
        const Packet said = answer ? packet_of(Packet::Kind::answer, answer->greeting) : Packet{Packet::Kind::end};
        act(process);
        wires_[place].ends[1] = given;
        wires_[place].on_the_way[0].push_back(said);
        break;
      }
      case Packet::Kind::answer:
        if (!id) break;
        rules.on_answer(*id, greeting);
        if (up(wires_[place], 0)) wires_[place].on_the_way[1].push_back(Packet{Packet::Kind::heard});
        break;
      case Packet::Kind::heard:
        if (id) rules.on_confirmed(*id);
        break;
      case Packet::Kind::end:
        if (id) {
          wires_[place].ends[end].reset();
          rules.on_ended(*id, now_);
        }
        break;
    }
    act(process);
    return true;
  }

  /// A connection on which an answer is lost carries nothing any more, and nobody is told of that.
  bool lose(std::size_t place, std::size_t end) {
    Wire& wire = wires_[place];
    if (budget_.lost_answers == 0 || wire.on_the_way[end].empty()) return false;
    if (wire.on_the_way[end].front().kind != Packet::Kind::answer &&
        wire.on_the_way[end].front().kind != Packet::Kind::heard)
      return false;
    --budget_.lost_answers;
    wire.on_the_way = {};
    return true;
  }

  /// Time goes on to the first moment at which a process has something to do. False: there is none.
  bool wait() {
    Time next = std::min(rules_[0].next_time(), rules_[1].next_time());
    // A process that is up on a dead wire finds the silence out.
    for (std::size_t i = 0; next == never && i < wires_.size(); ++i) {
      for (std::size_t end : {0U, 1U}) {
        if (!up(wires_[i], end) || up(wires_[i], 1 - end)) continue;
        const std::size_t process = process_at(wires_[i], end);
        hang_up(process, *wires_[i].ends[end]);
        act(process);
        return true;
      }
    }
    if (next == never) return false;
    now_ = std::max(now_, next);
    for (std::size_t process : {0U, 1U}) {
      rules_[process].on_time(now_);
      act(process);
    }
    return true;
  }

  /// The process dies, its connections with it, and another start of the node takes its place.
  bool restart(std::size_t process) {
    if (budget_.restarts == 0) return false;
    --budget_.restarts;
    for (Wire& wire : wires_) {
      const std::size_t end = wire.caller == process ? 0 : 1;
      wire.on_the_way[end].clear();
      if (wire.ends[end] || end == 1) wire.on_the_way[1 - end].push_back(Packet{Packet::Kind::end});
      wire.ends[end].reset();
    }
    rules_[process] = CallRules(node_of(process), ++newest_incarnation_, connections_max);
    return true;
  }

  Budget budget_;
  Time now_ = Time(std::chrono::hours(1));
  std::uint64_t newest_incarnation_ = 12;
  std::array<CallRules, 2> rules_{CallRules(node_of(0), 11, connections_max), CallRules(node_of(1), 12, connections_max)};
  std::vector<Wire> wires_;
};

/// Every world that can come of it in so many steps, each looked at once; returns how many there were.
std::size_t explore(const World& first, int steps) {
  std::set<World> seen{first};
  std::vector<World> frontier{first};
  for (int step = 0; step < steps; ++step) {
    std::vector<World> next;
    for (const World& from : frontier) {
      for (std::size_t choice = 0; choice < from.choices(); ++choice) {
        World to = from;
        if (!to.take(choice) || !seen.insert(to).second) continue;
        if (to.doubled()) FAIL("two connections with one start");
        next.push_back(std::move(to));
      }
    }
    frontier = std::move(next);
  }
  for (World world : seen) {
    world.settle();
    if (!world.linked()) FAIL("no one connection came of it");
  }
  return seen.size();
}

/// One process, told what happens by hand.
struct One {
  CallRules rules;
  Time now = Time(std::chrono::hours(1));

  explicit One(std::uint32_t self) : rules(NodeId(self), 11, connections_max) {}
  [[nodiscard]] CallRules::Begun call(NodeId node) {
    rules.want(node, now);
    const auto actions = rules.take_actions();
    REQUIRE(actions.size() == 1);
    REQUIRE(actions[0].kind == CallRules::Action::Kind::reach);
    return rules.begin_call(node, 7, now).value();
  }
  [[nodiscard]] std::size_t reached() {
    rules.on_time(now);
    std::size_t count = 0;
    for (const auto& action : rules.take_actions()) count += action.kind == CallRules::Action::Kind::reach;
    return count;
  }
};

constexpr NodeId other{2};

}  // namespace

TEST_CASE("two that call each other at any time come to one connection in every order of calls and answers") {
  CHECK(explore(World({.moments = 2}), 12) > 100);
}

TEST_CASE("two that call each other come to one connection though an answer or its echo is lost") {
  CHECK(explore(World({.lost_answers = 1, .moments = 1}), 10) > 100);
}

TEST_CASE("two that call each other come to one connection though one of them starts anew at any time") {
  CHECK(explore(World({.restarts = 1, .moments = 1}), 9) > 100);
}

TEST_CASE("a call that fails is made again after pauses that double from 20 ms to a second") {
  One one(1);
  auto call = one.call(other);
  for (const int pause : {20, 40, 80, 160, 320, 640, 1000, 1000}) {
    CHECK(one.rules.on_ended(call.call->id, one.now));
    one.now += milliseconds(pause) - milliseconds(1);
    CHECK(one.reached() == 0);
    CHECK(one.rules.next_time() == one.now + milliseconds(1));
    one.now += milliseconds(1);
    REQUIRE(one.reached() == 1);
    call = one.rules.begin_call(other, 7, one.now).value();
  }
  CHECK(call.greeting.attempt == 9);
}

TEST_CASE("a node that cannot be reached is tried again, and one that is not wanted any more is not called") {
  One one(1);
  one.rules.want(other, one.now);
  static_cast<void>(one.rules.take_actions());
  one.rules.on_unreachable(other, one.now);
  one.now += milliseconds(20);
  CHECK(one.reached() == 1);
  one.rules.finish();
  CHECK_FALSE(one.rules.begin_call(other, 7, one.now).has_value());
}

TEST_CASE("a call that nobody answers is given up after three seconds, and time that was not looked in is none of them") {
  One one(1);
  const bool excused = GENERATE(true, false);
  const auto call = one.call(other);
  one.now += milliseconds(2999);
  if (excused) one.rules.excuse(one.now - milliseconds(1000), one.now, false);
  one.now += milliseconds(1);
  one.rules.on_time(one.now);
  CHECK(one.rules.take_actions().size() == (excused ? 0 : 1));
  one.now += milliseconds(1000);
  one.rules.on_time(one.now);
  CHECK((one.rules.find(call.call->id)->state == PeerCall::State::over));
}

TEST_CASE("of two calls that cross, the higher node's gives way, also when the lower node's is old, unless it calls again") {
  One lower(1);
  const auto ours = lower.call(other);
  lower.now += milliseconds(500);
  CHECK_FALSE(lower.rules.on_call({other, 12, 1, 8, 0}, 9, lower.now).has_value());
  CHECK_FALSE(lower.rules.on_call({other, 12, 1, 8, 0}, 9, lower.now).has_value());
  const auto answer = lower.rules.on_call({other, 12, 2, 8, 0}, 9, lower.now);
  REQUIRE(answer.has_value());
  CHECK(answer->greeting.attempt == 1);  // so that this side's own call is known as over
  CHECK((lower.rules.find(ours.call->id)->state == PeerCall::State::over));

  One young(1);
  static_cast<void>(young.call(other));
  young.now += milliseconds(99);
  CHECK_FALSE(young.rules.on_call({other, 12, 1, 8, 0}, 9, young.now).has_value());
  CHECK_FALSE(young.rules.on_call({other, 12, 2, 8, 0}, 9, young.now).has_value());

  One higher(3);
  static_cast<void>(higher.call(other));
  CHECK(higher.rules.on_call({other, 12, 1, 8, 0}, 9, higher.now).has_value());
}

TEST_CASE("of a connection that is up, calls that are over are turned away, and a later one replaces it") {
  One one(3);
  const auto first = one.rules.on_call({other, 12, 4, 8, 0}, 9, one.now);
  REQUIRE(first.has_value());
  one.rules.on_confirmed(first->call->id);
  REQUIRE((one.rules.find(first->call->id)->state == PeerCall::State::up));
  CHECK_FALSE(one.rules.on_call({other, 12, 3, 8, 9}, 10, one.now).has_value());
  CHECK_FALSE(one.rules.on_call({other, 12, 4, 8, 9}, 10, one.now).has_value());
  CHECK(one.rules.on_call({other, 12, 5, 8, 9}, 10, one.now).has_value());
  CHECK((one.rules.find(first->call->id)->state == PeerCall::State::over));
  const auto actions = one.rules.take_actions();
  REQUIRE(actions.size() == 1);
  CHECK(actions[0].call == first->call->id);
}

TEST_CASE("who answered a call has said which of its own are over") {
  One one(1);
  const auto call = one.call(other);
  one.rules.on_answer(call.call->id, {other, 12, 4, 8, 0});
  CHECK_FALSE(one.rules.on_call({other, 12, 4, 8, 7}, 9, one.now).has_value());
  CHECK(one.rules.on_call({other, 12, 5, 8, 7}, 9, one.now).has_value());
}

TEST_CASE("a wish is over with the connection that it led to, whoever has called") {
  One one(3);
  one.rules.want(other, one.now);
  REQUIRE(one.rules.take_actions().size() == 1);
  const auto theirs = one.rules.on_call({other, 12, 1, 8, 0}, 9, one.now);
  REQUIRE(theirs.has_value());
  CHECK_FALSE(one.rules.begin_call(other, 7, one.now).has_value());  // the way to it was found meanwhile
  one.rules.on_confirmed(theirs->call->id);
  CHECK_FALSE(one.rules.on_ended(theirs->call->id, one.now));
  CHECK(one.reached() == 0);
}

TEST_CASE("a node that is turned away is neither answered nor called, until it is welcome") {
  One one(1);
  const auto call = one.call(other);
  one.rules.turn_away(other, "not now");
  CHECK(one.rules.take_actions().at(0).reason == "not now");
  CHECK_FALSE(one.rules.on_ended(call.call->id, one.now));
  CHECK_FALSE(one.rules.on_call({other, 12, 1, 8, 0}, 9, one.now).has_value());
  one.rules.welcome(other);
  CHECK(one.rules.on_call({other, 12, 2, 8, 0}, 9, one.now).has_value());
}

TEST_CASE("another node's answer ends the call, and a node never answers itself or more callers than it has places") {
  One one(1);
  const auto call = one.call(other);
  one.rules.on_answer(call.call->id, {NodeId(7), 12, 0, 8, 0});
  CHECK((one.rules.find(call.call->id)->state == PeerCall::State::over));
  CHECK_FALSE(one.rules.on_call({NodeId(1), 13, 1, 8, 0}, 9, one.now).has_value());
  for (std::uint32_t node = 10; node < 10 + connections_max; ++node)
    CHECK(one.rules.on_call({NodeId(node), 12, 1, 8, 0}, 9, one.now).has_value());
  CHECK_FALSE(one.rules.on_call({NodeId(99), 12, 1, 8, 0}, 9, one.now).has_value());
}

TEST_CASE("last words are given a quarter of a second, and what is closed is not called again for it") {
  One one(1);
  const auto call = one.call(other);
  one.rules.on_answer(call.call->id, {other, 12, 0, 8, 0});
  one.rules.close(call.call->id, one.now);
  CHECK((one.rules.find(call.call->id)->state == PeerCall::State::closing));
  one.now += milliseconds(249);
  one.rules.on_time(one.now);
  CHECK(one.rules.take_actions().empty());
  one.now += milliseconds(1);
  one.rules.on_time(one.now);
  CHECK(one.rules.take_actions().size() == 1);
  CHECK_FALSE(one.rules.on_ended(call.call->id, one.now));
  CHECK(one.rules.next_time() == never);
}
