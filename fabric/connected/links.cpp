// Who calls whom, what becomes of calls that cross, signs of life, and what ends.
#include <algorithm>
#include <utility>

#include <spindrift/fabric/connected/endpoint.hpp>
#include <spindrift/core/log.hpp>

namespace spindrift::fabric::connected {
namespace {

constexpr std::size_t lanes_per_node_max = 8;
constexpr std::uint32_t passes_between_looks = 16;
constexpr auto answer_max = std::chrono::seconds(3);
constexpr auto pass_max = std::chrono::milliseconds(20);  // of a process that looks
constexpr auto crossing_max = std::chrono::milliseconds(100);
constexpr auto pause_first = std::chrono::milliseconds(20);
constexpr auto pause_max = std::chrono::seconds(1);
/// Of a lane that is or may come up: its node is not called.
constexpr std::initializer_list<Lane::State> talking{Lane::State::calling, Lane::State::answering, Lane::State::up};

}  // namespace

void Endpoint::progress() {
  now_ = clock_.now();
  excuse();
  last_progress_ = awake_ = now_;
  if (unsettled_ || ++passes_ > passes_between_looks) {
    passes_ = 0;
    look_at_reports();
  }
  take_completions();
  for (const auto& lane : lanes_) lane->flush();
  sweep();
  if (now_ >= next_timer_) keep_time();
}

// Who was away itself, for longer than it ever sleeps, judges nobody's silence. And time in which it was awake and did not
// look, held up by the application or a provider, is none in which somebody failed to answer.
void Endpoint::excuse() {
  const bool away = now_ - last_progress_ > silence_max_ / 2;
  if (!away && now_ - awake_ <= pass_max) return;
  for (const auto& lane : lanes_) {
    const Duration unseen = now_ - std::max(away ? last_progress_ : awake_, lane->heard);  // of this lane
    if (unseen > pass_max) lane->deadline += unseen;
    if (away) lane->heard = now_;
  }
}

void Endpoint::look_at_reports() {
  take_reports();
  for (auto answer = resolver_.take(); answer; answer = resolver_.take()) {
    Node& node = nodes_[answer->node];
    node.resolving = false;
    if (!node.wanted) continue;
    if (answer->address) {
      call(answer->node, node, answer->address.value());
    } else {
      attempt_failed(node, answer->address.error().to_string());
    }
  }
}

bool Endpoint::has_lane(NodeId node, std::initializer_list<Lane::State> states) const noexcept {
  return std::any_of(lanes_.begin(), lanes_.end(), [&](const auto& lane) {
    return lane->node == node && std::find(states.begin(), states.end(), lane->state) != states.end();
  });
}

GreetingBytes Endpoint::greeting_to(NodeId node) { return encode(Greeting{self_, incarnation_, nodes_[node].attempts}); }

std::optional<Greeting> Endpoint::welcome(std::span<const std::byte> data) {
  const auto greeting = decode_greeting(data);
  if (!greeting || ends_ || greeting->node == self_ || elsewhere(greeting->node)) return std::nullopt;
  if (!make_room_for(*greeting)) return std::nullopt;
  return greeting;
}

// Whether the node is to be reached in another way than this one.
bool Endpoint::elsewhere(NodeId node) {
  const auto why = turned_away_.find(node);
  if (why == turned_away_.end()) return false;
  if (told_.insert(node).second) log::warn(log::Room::fabric, "call turned away", {{"reason", why->second.to_string()}});
  return true;
}

void Endpoint::turn_away(NodeId node, std::optional<Error> why) {
  turned_away_.erase(node);
  if (!why) return;
  if (const auto at = nodes_.find(node); at != nodes_.end()) at->second.wanted = false;
  const std::string reason = why->message();
  turned_away_.emplace(node, std::move(*why));
  for (const auto& lane : lanes_) {
    if (lane->node == node && lane->state != Lane::State::closing && elsewhere(node)) lane->break_down(reason);
  }
}

// Whether this side's call may have found a process that is dead, though its node calls. One that lives gives its own call
// up as soon as it sees ours, and makes no other. However old ours is, its first is no sign: both sides may have been away,
// and if each gave up its call for the other's, none would be left.
bool Endpoint::unheard(Lane& lane, const Greeting& greeting, Time now) {
  if (lane.incarnation != greeting.incarnation) {
    lane.incarnation = greeting.incarnation;
    lane.peer_attempt = greeting.attempt;
  }
  return greeting.attempt > lane.peer_attempt && now - lane.heard >= crossing_max;
}

// Whether the call is to be answered. What it replaces is ended.
bool Endpoint::make_room_for(const Greeting& greeting) {
  std::size_t lanes = 0;
  for (const auto& lane : lanes_) {
    if (lane->node != greeting.node || lane->state == Lane::State::closing) continue;
    ++lanes;
    if (lane->state == Lane::State::calling) {
      if (self_ < greeting.node && !unheard(*lane, greeting, now_)) return false;
      lane->break_down("the other side's call stands");
    } else if (lane->incarnation == greeting.incarnation) {
      if (greeting.attempt <= lane->peer_attempt) return false;
      lane->break_down("it has connected anew");
    }
  }
  sweep();
  return lanes < lanes_per_node_max && lanes_.size() < traits_.peers_max;
}

void Endpoint::answered(std::unique_ptr<Lane> lane, const Greeting& greeting) {
  lane->incarnation = greeting.incarnation;
  lane->peer_attempt = greeting.attempt;
  add(std::move(lane));
}

void Endpoint::add(std::unique_ptr<Lane> lane) {
  lane->heard = now_;
  lane->deadline = now_ + answer_max;
  next_timer_ = std::min(next_timer_, lane->deadline);
  lanes_.push_back(std::move(lane));
  unsettled_ = true;
}

void Endpoint::established(Lane& lane, std::span<const std::byte> data) {
  if (lane.broken()) return;
  if (lane.state == Lane::State::calling) {
    const auto greeting = decode_greeting(data);
    if (!greeting || greeting->node != lane.node) {
      lane.break_down(greeting ? "node " + std::to_string(greeting->node.value()) + " answers there"
                               : "who answers there speaks another protocol");
      return;
    }
    lane.incarnation = greeting->incarnation;
    lane.peer_attempt = greeting->attempt;
  }
  if (lane.state == Lane::State::calling || lane.state == Lane::State::answering) up(lane);
}

void Endpoint::confirmed(Lane& lane, std::span<const std::byte> word) {
  const auto control = decode_control(word);
  if (control && control->kind != Kind::goodbye) established(lane, {});
}

void Endpoint::up(Lane& lane) {
  lane.state = Lane::State::up;
  newest_peer_ = PeerId(newest_peer_.value() + 1);
  lane.peer = newest_peer_;
  lane.heard = now_;
  peers_.emplace(lane.peer, &lane);
  Node& node = nodes_[lane.node];
  node.wanted = false;
  node.pause = {};
  node.last_failure.clear();
  Event connected;
  connected.kind = Event::Kind::connected;
  tell(lane, std::move(connected));
  for (Event& event : std::exchange(lane.early, {})) tell(lane, std::move(event));
  next_timer_ = std::min(next_timer_, now_ + silence_max_ / 4);
}

void Endpoint::lose(Lane& lane) {
  Event lost;
  lost.kind = Event::Kind::lost;
  lost.reason = Error(ErrorKind::member_lost,
                      "node " + std::to_string(lane.node.value()) + (lane.goodbye ? " " : ": ") + lane.end_reason());
  tell(lane, std::move(lost));
  peers_.erase(lane.peer);
}

void Endpoint::call(NodeId id, Node& node) {
  if (has_lane(id, talking)) return;
  switch (knows(id)) {
    case Knows::nothing: break;
    case Knows::soon: return;
    case Knows::enough: ++node.attempts; return calling(node, start_known_call(id));
  }
  if (auto address = resolve(node.endpoint, true); address) return call(id, node, address.value());
  if (std::exchange(node.resolving, true)) return;
  resolver_.ask(id, node.endpoint);
  unsettled_ = true;
}

void Endpoint::call(NodeId id, Node& node, const SocketAddress& address) {
  if (has_lane(id, talking)) return;
  ++node.attempts;
  calling(node, start_call(id, address));
}

void Endpoint::calling(Node& node, Result<std::unique_ptr<Lane>> lane) {
  if (!lane) return attempt_failed(node, lane.error().to_string());
  add(std::move(lane).value());
}

void Endpoint::call_again(NodeId id) {
  const auto at = nodes_.find(id);
  if (at != nodes_.end() && at->second.wanted && !at->second.resolving) call(id, at->second);
}

Result<std::unique_ptr<Lane>> Endpoint::start_known_call(NodeId node) {
  return Error(ErrorKind::unsupported, "node " + std::to_string(node.value()) + " is called at its address alone");
}

void Endpoint::attempt_failed(Node& node, std::string why) {
  node.pause = std::clamp<Duration>(2 * node.pause, pause_first, pause_max);
  node.next_attempt = now_ + node.pause;
  next_timer_ = std::min(next_timer_, node.next_attempt);
  if (why == node.last_failure) return;
  node.last_failure = std::move(why);
  log::info(log::Room::fabric, "no connection yet", {{"endpoint", node.endpoint}, {"reason", node.last_failure}});
}

// Lanes that broke, were left by the peer, or have said their last words. Nobody's memory waits for one that is closed.
void Endpoint::sweep() {
  unsettled_ = false;
  for (std::size_t i = 0; i < lanes_.size();) {
    Lane& lane = *lanes_[i];
    const bool quiet = lane.state == Lane::State::closing && lane.idle();
    if (!lane.broken() && !lane.goodbye && !quiet) {
      unsettled_ |= lane.state != Lane::State::up;
      ++i;
      continue;
    }
    const std::unique_ptr<Lane> gone = std::move(lanes_[i]);
    lanes_.erase(lanes_.begin() + static_cast<std::ptrdiff_t>(i));
    on_gone(*gone);
    Node& node = nodes_[gone->node];
    if (gone->state == Lane::State::up) {
      lose(*gone);
    } else if (gone->state != Lane::State::closing && node.wanted) {
      attempt_failed(node, gone->end_reason());
    }
    gone->close();
    regions_.settle_released();
    if (node.endpoint.empty()) nodes_.erase(gone->node);  // it called, and was never called
  }
}

// Calls that are due, calls that nobody answered, and signs of life.
void Endpoint::keep_time() {
  next_timer_ = never;
  for (const auto& lane : lanes_) {
    if (lane->state != Lane::State::up && now_ >= lane->deadline) {
      lane->break_down("nobody answered in " + std::to_string(std::chrono::seconds(answer_max).count()) + " s");
    } else if (lane->state != Lane::State::up) {
      next_timer_ = std::min(next_timer_, lane->deadline);
    } else if (now_ - lane->heard >= silence_max_) {
      lane->break_down("nothing came for " +
                       std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(silence_max_).count()) + " ms");
    }
  }
  if (now_ >= next_alive_) {
    next_alive_ = now_ + silence_max_ / 4;
    for (const auto& lane : lanes_) {
      if (lane->state == Lane::State::up) lane->say(encode(Kind::alive, 0), false);
    }
  }
  if (!peers_.empty()) next_timer_ = std::min(next_timer_, next_alive_);
  sweep();
  for (auto& [id, node] : nodes_) {
    if (!node.wanted || node.resolving || has_lane(id, talking)) continue;
    if (now_ >= node.next_attempt) call(id, node);
    if (node.wanted && now_ < node.next_attempt) next_timer_ = std::min(next_timer_, node.next_attempt);
  }
}

}  // namespace spindrift::fabric::connected
