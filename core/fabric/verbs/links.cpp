// Who calls whom, what rdma_cm reports, and what ends.
//
// Two processes may call each other at once. The invariant to remember: of two calls that cross, that of the lower node id
// stands, for a moment; and who answers a call says how many it has made itself, so that those still under way are known
// as over.
#include <algorithm>
#include <cerrno>
#include <utility>

#include <spindrift/core/fabric/verbs/endpoint.hpp>
#include <spindrift/core/log.hpp>

namespace spindrift::fabric::verbs {
namespace {

constexpr std::size_t lanes_per_node_max = 8;
constexpr std::uint32_t passes_between_looks = 16;
constexpr int way_found_in_ms = 2000;
constexpr auto answer_max = std::chrono::seconds(3);
constexpr auto crossing_max = std::chrono::milliseconds(100);  // a call that is older may have found a process that is dead
constexpr auto pause_first = std::chrono::milliseconds(20);
constexpr auto pause_max = std::chrono::seconds(1);

std::string text_of(rdma_cm_event_type kind, int status) {
  std::string text = loaded_library().event_str(kind);
  if (status < 0) text += ": " + system_error("rdma_cm", -status).message();
  if (status > 0) text += ", reason " + std::to_string(status);
  return text;
}

}  // namespace

void VerbsFabric::progress() {
  now_ = clock_.now();
  // Who was away itself, for longer than it ever sleeps, judges nobody's silence.
  if (now_ - last_progress_ > options_.silence_max / 2) {
    for (const auto& lane : lanes_) lane->heard = now_;
  }
  last_progress_ = now_;
  if (unsettled_ || ++passes_ > passes_between_looks) {
    passes_ = 0;
    drain_events();
  }
  drain_completions();
  for (const auto& lane : lanes_) lane->flush();
  sweep();
  if (now_ >= next_timer_) keep_time();
}

void VerbsFabric::drain_events() {
  const Library& lib = loaded_library();
  rdma_cm_event* event = nullptr;
  while (lib.get_cm_event(&device_->events(), &event) == 0) {
    Report report{event->event, event->status, event->id, 0, {}};
    report.lane = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(event->id->context));
    const auto* const data = static_cast<const std::byte*>(event->param.conn.private_data);
    if (data != nullptr) report.data.assign(data, data + event->param.conn.private_data_len);
    lib.ack_cm_event(event);
    on_report(report);
  }
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

void VerbsFabric::on_report(const Report& report) {
  if (report.kind == RDMA_CM_EVENT_CONNECT_REQUEST) return on_request(Handle<rdma_cm_id>(report.id), report.data);
  Lane* const lane = lane_of(report.lane);
  if (lane == nullptr || &lane->id() != report.id) return;
  switch (report.kind) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
    case RDMA_CM_EVENT_ROUTE_RESOLVED: return on_way_found(*lane, report.kind);
    case RDMA_CM_EVENT_ESTABLISHED: return on_connected(*lane, report.data);
    case RDMA_CM_EVENT_TIMEWAIT_EXIT:
    case RDMA_CM_EVENT_ADDR_CHANGE: return;
    case RDMA_CM_EVENT_DISCONNECTED:
      while (drain_completions()) {
      }  // its last words come before its end
      return lane->break_down("the connection broke");
    default: return lane->break_down("the connection broke: " + text_of(report.kind, report.status));
  }
}

Lane* VerbsFabric::lane_of(std::uint32_t number) noexcept {
  const auto at = numbers_.find(number);
  return at == numbers_.end() ? nullptr : at->second;
}

void VerbsFabric::add(std::unique_ptr<Lane> lane) {
  next_timer_ = std::min(next_timer_, lane->deadline);
  numbers_.emplace(lane->number, lane.get());
  lanes_.push_back(std::move(lane));
  unsettled_ = true;
}

connected::Greeting VerbsFabric::greeting_to(NodeId node) { return {options_.self, incarnation_, nodes_[node].attempts}; }

void VerbsFabric::on_request(Handle<rdma_cm_id> id, std::span<const std::byte> data) {
  const auto greeting = connected::decode_greeting(data);
  if (!greeting || ends_ || greeting->node == options_.self || !make_room_for(*greeting)) {
    static_cast<void>(loaded_library().reject(id.get(), nullptr, 0));
    return;
  }
  answer(std::move(id), *greeting);
}

// Whether the call is to be answered. What it replaces is ended.
bool VerbsFabric::make_room_for(const connected::Greeting& greeting) {
  std::size_t lanes = 0;
  for (const auto& lane : lanes_) {
    if (lane->node != greeting.node || lane->state == Lane::State::closing) continue;
    ++lanes;
    if (lane->state == Lane::State::calling) {
      if (options_.self < greeting.node && now_ - lane->heard < crossing_max) return false;
      lane->break_down("the other side's call stands");
    } else if (lane->incarnation == greeting.incarnation) {
      if (greeting.attempt <= lane->peer_attempt) return false;
      lane->break_down("it has connected anew");
    }
  }
  sweep();
  return lanes < lanes_per_node_max && lanes_.size() < traits_.peers_max;
}

void VerbsFabric::answer(Handle<rdma_cm_id> id, const connected::Greeting& greeting) {
  auto lane = std::make_unique<Lane>(Lane::State::answering, greeting.node, ++newest_number_, *device_, std::move(id));
  lane->id().context = reinterpret_cast<void*>(std::uintptr_t{lane->number});  // NOLINT: a number, never followed
  lane->incarnation = greeting.incarnation;
  lane->peer_attempt = greeting.attempt;
  lane->heard = now_;
  lane->deadline = now_ + answer_max;
  Result<void> answered = device_->make_room(lanes_.size() + 1);
  if (answered) answered = lane->open();
  if (answered) answered = device_->accept(lane->id(), connected::encode(greeting_to(greeting.node)));
  if (answered) return add(std::move(lane));
  // Most often the caller has gone meanwhile; whoever stays calls again.
  log::info(log::Room::fabric, "cannot answer", {{"node", greeting.node}, {"reason", answered.error().to_string()}});
  static_cast<void>(loaded_library().reject(&lane->id(), nullptr, 0));
}

void VerbsFabric::on_way_found(Lane& lane, rdma_cm_event_type how_far) {
  if (lane.state != Lane::State::calling || lane.broken()) return;
  Result<void> done;
  if (how_far == RDMA_CM_EVENT_ADDR_RESOLVED) {
    done = device_->make_room(lanes_.size());
    if (done) done = lane.open();
    if (done && loaded_library().resolve_route(&lane.id(), way_found_in_ms) != 0)
      done = system_error("rdma_resolve_route", errno);
  } else {
    done = device_->connect(lane.id(), connected::encode(greeting_to(lane.node)));
  }
  if (!done) lane.break_down(done.error().to_string());
}

void VerbsFabric::on_connected(Lane& lane, std::span<const std::byte> data) {
  if (lane.broken()) return;
  if (lane.state == Lane::State::calling) {
    const auto greeting = connected::decode_greeting(data);
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

void VerbsFabric::up(Lane& lane) {
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
  next_timer_ = std::min(next_timer_, now_ + options_.silence_max / 4);
}

void VerbsFabric::call(NodeId id, Node& node) {
  if (auto address = connected::resolve(node.endpoint, true); address) return call(id, node, address.value());
  if (std::exchange(node.resolving, true)) return;
  resolver_.ask(id, node.endpoint);
  unsettled_ = true;
}

void VerbsFabric::call(NodeId id, Node& node, const SocketAddress& address) {
  const bool linked = std::any_of(lanes_.begin(), lanes_.end(),
                                  [&](const auto& lane) { return lane->node == id && lane->state != Lane::State::closing; });
  if (linked) return;
  ++node.attempts;
  auto started = device_->call(address, ++newest_number_);
  if (!started) return attempt_failed(node, started.error().to_string());
  auto lane = std::make_unique<Lane>(Lane::State::calling, id, newest_number_, *device_, std::move(started).value());
  lane->heard = now_;
  lane->deadline = now_ + answer_max;
  add(std::move(lane));
}

void VerbsFabric::attempt_failed(Node& node, std::string why) {
  node.pause = std::clamp<Duration>(2 * node.pause, pause_first, pause_max);
  node.next_attempt = now_ + node.pause;
  next_timer_ = std::min(next_timer_, node.next_attempt);
  if (why == node.last_failure) return;
  node.last_failure = std::move(why);
  log::info(log::Room::fabric, "no connection yet", {{"endpoint", node.endpoint}, {"reason", node.last_failure}});
}

// Lanes that broke, were left by the peer, or have said their last words.
void VerbsFabric::sweep() {
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
    numbers_.erase(gone->number);
    const std::string reason = gone->goodbye ? "closed the connection" : gone->broken().value_or("");
    Node& node = nodes_[gone->node];
    if (gone->state == Lane::State::up) {
      lose(*gone, reason);
    } else if (gone->state != Lane::State::closing && node.wanted) {
      attempt_failed(node, reason);
    }
    hang_up(*gone);
    if (node.endpoint.empty()) nodes_.erase(gone->node);  // it called, and was never called
  }
}

// The lane is about to end: nobody's memory waits for it any more.
void VerbsFabric::hang_up(Lane& lane) {
  lane.close();
  for (auto at = memory_.begin(); at != memory_.end();) {
    OwnRegion& region = (at++)->second;
    if (region.released) give_back(region);
  }
}

void VerbsFabric::lose(Lane& lane, const std::string& reason) {
  Event lost;
  lost.kind = Event::Kind::lost;
  const std::string node = "node " + std::to_string(lane.node.value());
  lost.reason = Error(ErrorKind::member_lost, lane.goodbye ? node + " " + reason : node + ": " + reason);
  tell(lane, std::move(lost));
  peers_.erase(lane.peer);
}

// Calls that are due, calls that nobody answered, and signs of life.
void VerbsFabric::keep_time() {
  next_timer_ = never;
  for (const auto& lane : lanes_) {
    if (lane->state != Lane::State::up && now_ >= lane->deadline) {
      lane->break_down("nobody answered in " + std::to_string(std::chrono::seconds(answer_max).count()) + " s");
    } else if (lane->state != Lane::State::up) {
      next_timer_ = std::min(next_timer_, lane->deadline);
    } else if (now_ - lane->heard >= options_.silence_max) {
      lane->break_down("nothing came for " +
                       std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(options_.silence_max).count()) +
                       " ms");
    }
  }
  if (now_ >= next_alive_) {
    next_alive_ = now_ + options_.silence_max / 4;
    for (const auto& lane : lanes_) {
      if (lane->state != Lane::State::up) continue;
      say(*lane, connected::encode(connected::Kind::alive, 0));
      lane->ring();
    }
  }
  if (!peers_.empty()) next_timer_ = std::min(next_timer_, next_alive_);
  sweep();
  for (auto& [id, node] : nodes_) {
    const NodeId whom = id;
    const bool called = std::any_of(lanes_.begin(), lanes_.end(), [&](const auto& lane) {
      return lane->node == whom && lane->state != Lane::State::closing;
    });
    if (!node.wanted || node.resolving || called) continue;
    if (now_ >= node.next_attempt) call(id, node);
    if (node.wanted && now_ < node.next_attempt) next_timer_ = std::min(next_timer_, node.next_attempt);
  }
}

}  // namespace spindrift::fabric::verbs
