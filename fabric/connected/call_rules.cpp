// The rules, event by event.
#include <spindrift/fabric/connected/call_rules.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace spindrift::fabric::connected {
namespace {

constexpr std::size_t calls_per_node_max = 8;
constexpr auto answer_max = std::chrono::seconds(3);
constexpr auto crossing_max = std::chrono::milliseconds(100);
constexpr auto pause_first = std::chrono::milliseconds(20);
constexpr auto pause_max = std::chrono::seconds(1);

/// Whether this side's call may have found a process that is dead, though its node calls. One that lives gives its own call
/// up as soon as it sees ours, and makes no other. However old ours is, its first is no sign: both sides may have been away,
/// and if each gave up its call for the other's, none would be left.
bool unheard(PeerCall& call, const Greeting& greeting, Time now) {
  if (call.incarnation != greeting.incarnation) {
    call.incarnation = greeting.incarnation;
    call.peer_attempt = greeting.attempt;
  }
  return greeting.attempt > call.peer_attempt && now - call.begun >= crossing_max;
}

/// Whether it is the other end of the connection that calls.
bool knows_word_of(const PeerCall& call, const Greeting& greeting) {
  return greeting.proof != 0 && (greeting.proof == call.word || greeting.proof == call.word_before);
}

}  // namespace

bool CallRules::busy_with(NodeId node) const noexcept {
  return std::any_of(calls_.begin(), calls_.end(), [node](const auto& each) {
    return each.second.node == node && each.second.state != PeerCall::State::closing;
  });
}

bool CallRules::reaching(NodeId node) const {
  const auto at = nodes_.find(node);
  return at != nodes_.end() && at->second.wish == Node::Wish::reaching;
}

const PeerCall* CallRules::find(CallId id) const {
  const auto at = calls_.find(id);
  return at == calls_.end() ? nullptr : &at->second;
}

Greeting CallRules::greeting_of(const PeerCall& call) const {
  const Node& node = nodes_.at(call.node);
  return {self_, incarnation_, node.attempts, call.word, node.proof};
}

PeerCall& CallRules::add(NodeId node, PeerCall::State state, std::uint64_t word, Time now) {
  ++newest_;
  PeerCall& call = calls_[newest_];
  call.id = newest_;
  call.node = node;
  call.state = state;
  call.word = word;
  call.word_before = nodes_[node].word;
  call.begun = now;
  call.deadline = now + answer_max;
  next_time_ = std::min(next_time_, call.deadline);
  return call;
}

void CallRules::end(PeerCall& call, std::string reason) {
  call.state = PeerCall::State::over;
  actions_.push_back({Action::Kind::end, call.node, call.id, std::move(reason)});
}

void CallRules::pause(Node& node, Time now) {
  node.wish = Node::Wish::waiting;
  node.pause = std::clamp<Duration>(2 * node.pause, pause_first, pause_max);
  node.next_attempt = now + node.pause;
  next_time_ = std::min(next_time_, node.next_attempt);
}

void CallRules::want(NodeId id, Time now) {
  const bool linked = std::any_of(calls_.begin(), calls_.end(), [id](const auto& each) {
    return each.second.node == id && each.second.state == PeerCall::State::up;
  });
  Node& node = nodes_[id];
  if (linked || node.wish != Node::Wish::none) return;
  node.wish = Node::Wish::waiting;
  node.pause = {};
  node.next_attempt = now;
  on_time(now);
}

void CallRules::turn_away(NodeId node, const std::string& reason) {
  turned_away_.insert(node);
  if (const auto at = nodes_.find(node); at != nodes_.end()) at->second.wish = Node::Wish::none;
  for (auto& [id, call] : calls_) {
    if (call.node == node && call.talking()) end(call, reason);
  }
}

void CallRules::close(CallId id, Time now, Duration at_most) {
  PeerCall& call = calls_.at(id);
  call.state = PeerCall::State::closing;
  call.deadline = now + at_most;
  next_time_ = std::min(next_time_, call.deadline);
  nodes_[call.node].wish = Node::Wish::none;
}

void CallRules::finish() {
  finished_ = true;
  for (auto& [id, node] : nodes_) node.wish = Node::Wish::none;
}

std::optional<CallRules::Begun> CallRules::begin_call(NodeId id, std::uint64_t word, Time now) {
  Node& node = nodes_[id];
  if (node.wish != Node::Wish::reaching) return std::nullopt;
  node.wish = Node::Wish::waiting;
  node.next_attempt = now;
  if (busy_with(id)) return std::nullopt;
  ++node.attempts;
  const PeerCall& call = add(id, PeerCall::State::calling, word, now);
  return Begun{&call, greeting_of(call)};
}

void CallRules::on_unreachable(NodeId id, Time now) {
  if (Node& node = nodes_[id]; node.wish == Node::Wish::reaching) pause(node, now);
}

bool CallRules::replaced_by(PeerCall& call, const Greeting& greeting) {
  if (greeting.attempt <= call.peer_attempt) return false;
  if (call.state != PeerCall::State::up || knows_word_of(call, greeting)) return true;
  if (!std::exchange(call.doubted, true)) {
    actions_.push_back({Action::Kind::doubt, call.node, call.id,
                        "a call in its name does not know the word of its connection, which stands"});
  }
  return false;
}

std::optional<CallRules::Begun> CallRules::on_call(const Greeting& greeting, std::uint64_t word, Time now) {
  const NodeId node = greeting.node;
  if (finished_ || node == self_ || turned_away_.contains(node)) return std::nullopt;
  std::size_t with_node = 0;
  for (auto& [id, call] : calls_) {
    if (call.node != node || !call.talking()) continue;
    ++with_node;
    if (call.state == PeerCall::State::calling) {
      if (self_ < node && !unheard(call, greeting, now)) return std::nullopt;
      end(call, "the other side's call stands");
    } else if (call.incarnation == greeting.incarnation) {
      if (!replaced_by(call, greeting)) return std::nullopt;
      end(call, "it has connected anew");
    }
  }
  const auto left = std::count_if(calls_.begin(), calls_.end(),
                                  [](const auto& each) { return each.second.state != PeerCall::State::over; });
  if (with_node >= calls_per_node_max || static_cast<std::size_t>(left) >= connections_max_) return std::nullopt;
  PeerCall& call = add(node, PeerCall::State::answering, word, now);
  call.incarnation = greeting.incarnation;
  call.peer_attempt = greeting.attempt;
  call.peer_word = greeting.word;
  if (Node& known = nodes_[node]; known.word == 0) known.proof = greeting.word;
  return Begun{&call, greeting_of(call)};
}

void CallRules::on_answer(CallId id, const Greeting& greeting) {
  const auto at = calls_.find(id);
  if (at == calls_.end() || at->second.state != PeerCall::State::calling) return;
  PeerCall& call = at->second;
  if (greeting.node != call.node) return end(call, "node " + std::to_string(greeting.node.value()) + " answers there");
  call.incarnation = greeting.incarnation;
  call.peer_attempt = greeting.attempt;
  call.peer_word = greeting.word;
  raise(call);
}

void CallRules::on_confirmed(CallId id) {
  const auto at = calls_.find(id);
  if (at != calls_.end() && at->second.state == PeerCall::State::answering) raise(at->second);
}

void CallRules::raise(PeerCall& call) {
  call.state = PeerCall::State::up;
  Node& node = nodes_[call.node];
  node.wish = Node::Wish::none;
  node.pause = {};
  node.word = call.word;
  node.proof = call.peer_word;
}

bool CallRules::on_ended(CallId id, Time now) {
  const auto at = calls_.find(id);
  if (at == calls_.end()) return false;
  const PeerCall call = at->second;
  calls_.erase(at);
  if (call.state == PeerCall::State::closing) return false;
  Node& node = nodes_[call.node];
  if (node.wish == Node::Wish::waiting) pause(node, now);
  return node.wish != Node::Wish::none;
}

void CallRules::on_time(Time now) {
  next_time_ = never;
  for (auto& [id, call] : calls_) {
    if (call.state == PeerCall::State::up || call.state == PeerCall::State::over) continue;
    if (now < call.deadline) {
      next_time_ = std::min(next_time_, call.deadline);
    } else if (call.state == PeerCall::State::closing) {
      call.deadline = never;
      actions_.push_back({Action::Kind::end, call.node, id, "its last words were not heard"});
    } else {
      end(call, "nobody answered in " + std::to_string(std::chrono::seconds(answer_max).count()) + " s");
    }
  }
  for (auto& [id, node] : nodes_) {
    if (node.wish != Node::Wish::waiting || busy_with(id)) continue;
    if (now < node.next_attempt) {
      next_time_ = std::min(next_time_, node.next_attempt);
      continue;
    }
    node.wish = Node::Wish::reaching;
    actions_.push_back({Action::Kind::reach, id, {}, {}});
  }
}

void CallRules::excuse(Time since, Time now, bool away) {
  for (auto& [id, call] : calls_) {
    if (call.deadline != never) call.deadline += now - std::max(since, call.begun);
    if (away) call.begun = now;
  }
}

}  // namespace spindrift::fabric::connected
