// Who calls whom, what the provider reports, and what ends.
//
// Two processes may call each other at once. The invariant to remember: of two calls that cross, that of the lower node id
// stands, unless the other side calls again; and who answers a call says how many it has made itself, so that those still
// under way are known as over.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <spindrift/core/fabric/ofi/endpoint.hpp>
#include <spindrift/core/fabric/word_copy.hpp>
#include <spindrift/core/log.hpp>

namespace spindrift::fabric::ofi {
namespace {

constexpr std::size_t lanes_per_node_max = 8;
constexpr std::size_t unheard_max = 1024;
constexpr std::uint32_t passes_between_looks = 16;
constexpr auto answer_max = std::chrono::seconds(3);
constexpr auto crossing_max = std::chrono::milliseconds(100);
constexpr auto pause_first = std::chrono::milliseconds(20);
constexpr auto pause_max = std::chrono::seconds(1);
/// Of a lane that is or may come up: its node is not called.
constexpr std::initializer_list<Lane::State> talking{Lane::State::calling, Lane::State::answering, Lane::State::up};

}  // namespace

void OfiFabric::progress() {
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

bool OfiFabric::drain_completions() {
  std::array<fi_cq_msg_entry, 64> entries;
  bool any = false;
  while (true) {
    const auto count = fi_cq_read(&provider_->completions(), entries.data(), entries.size());
    if (count == -FI_EAVAIL) {
      on_failed_completion();
      continue;
    }
    if (count <= 0) return any;
    any = true;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) on_completion(entries[i]);
    if (static_cast<std::size_t>(count) < entries.size()) return any;
  }
}

void OfiFabric::on_completion(const fi_cq_msg_entry& entry) {
  if ((entry.flags & (FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA)) != 0) return;  // news: the caller looks at its memory anyway
  Flights::Flight* const flight = flights_.find(entry.op_context);
  if (flight == nullptr) return;
  Lane& lane = *flight->lane;
  if (flight->request.kind == Request::Kind::receive) return on_received(lane, entry.op_context, entry.len);
  OwnRegion* const read = flight->request.reads;
  const bool signaled = flight->request.signaled;
  const std::uint64_t context = flight->request.context;
  flights_.finish(entry.op_context);
  if (read != nullptr && read->released) give_back(*read);
  if (!signaled || lane.state != Lane::State::up) return;
  Event done;
  done.kind = Event::Kind::completed;
  done.context = context;
  tell(lane, std::move(done));
}

void OfiFabric::on_failed_completion() {
  fi_cq_err_entry error{};
  if (fi_cq_readerr(&provider_->completions(), &error, 0) < 0) return;
  Flights::Flight* const flight = flights_.find(error.op_context);
  if (flight == nullptr) return;
  Lane& lane = *flight->lane;
  const bool receive = flight->request.kind == Request::Kind::receive;
  if (!receive) flights_.finish(error.op_context);
  // A connection that ends gives its buffers back so; how it ended the event queue tells.
  if (error.err == FI_ECANCELED || error.err == FI_ENOTCONN || error.err == FI_ECONNRESET || error.err == FI_ESHUTDOWN) {
    unsettled_ = true;
    return;
  }
  lane.break_down(ofi_error(receive ? "receiving failed" : "an operation failed", error.err).message());
}

void OfiFabric::on_received(Lane& lane, void* token, std::size_t bytes) {
  lane.heard = now_;
  const auto message = lane.received(flights_.at(token).request, bytes);
  const auto control = decode_control(message);
  if (!control) {
    lane.break_down("it does not keep to the protocol of connections");
    return;
  }
  on_control(lane, *control);
  if (lane.unheard > unheard_max) {
    lane.held.push_back(token);  // the peer waits until the caller has taken what is here
  } else {
    lane.receive_again(token);
  }
}

void OfiFabric::on_control(Lane& lane, const Control& control) {
  if (lane.state == Lane::State::closing) return;
  Event event;
  switch (control.kind) {
    case Kind::alive: return;
    case Kind::goodbye: lane.goodbye = true; return;
    case Kind::user:
      event.kind = Event::Kind::message;
      event.bytes.assign(control.payload.begin(), control.payload.end());
      ++lane.unheard;
      return tell(lane, std::move(event));
    case Kind::writes: return on_writes(lane, control.payload);
    case Kind::exposed:
      if (lane.exposed.size() == regions_per_peer_max ||
          !lane.exposed.emplace(control.exposure.region, control.exposure).second)
        return lane.break_down("it exposed too many regions, or one twice");
      event.kind = Event::Kind::exposed;
      event.region = control.exposure.region;
      event.region_bytes = control.exposure.bytes;
      event.access = control.exposure.access;
      return tell(lane, std::move(event));
    case Kind::unmapped: {
      const auto at = lane.registered.find(control.remote_key);
      if (at == lane.registered.end()) return lane.break_down("it gave back a region that it did not have");
      OwnRegion& region = *at->second.memory;
      lane.registered.erase(at);
      --region.registered;
      if (region.released) give_back(region);
      return;
    }
  }
}

void OfiFabric::on_writes(Lane& lane, std::span<const std::byte> writes) {
  while (!writes.empty()) {
    const auto write = take_write(writes);
    const auto at = write ? lane.registered.find(write->remote_key) : lane.registered.end();
    if (at == lane.registered.end() || at->second.access != Access::write)
      return lane.break_down("it wrote to memory that it was not given");
    const OwnRegion& region = *at->second.memory;
    const std::uint64_t offset = write->address - provider_->address_of(region.memory.data());
    if (offset > region.memory.size() || write->bytes.size() > region.memory.size() - offset)
      return lane.break_down("it wrote out of the memory that it was given");
    if (!region.released) copy_to_shared(region.memory.data() + offset, write->bytes.data(), write->bytes.size());
  }
}

void OfiFabric::tell(Lane& lane, Event event) {
  event.node = lane.node;
  if (lane.state != Lane::State::up) return lane.early.push_back(std::move(event));
  event.peer = lane.peer;
  events_.push_back(std::move(event));
}

void OfiFabric::drain_events() {
  while (true) {
    std::uint32_t what = 0;
    alignas(fi_eq_cm_entry) std::array<std::byte, sizeof(fi_eq_cm_entry) + 256> bytes;
    const auto size = fi_eq_read(&provider_->events(), &what, bytes.data(), bytes.size(), 0);
    if (size == -FI_EAVAIL) {
      on_event_error();
      continue;
    }
    if (size < static_cast<ssize_t>(sizeof(fi_eq_cm_entry))) break;
    fi_eq_cm_entry entry;
    std::memcpy(&entry, bytes.data(), sizeof entry);
    const std::span<const std::byte> data(bytes.data() + sizeof entry, static_cast<std::size_t>(size) - sizeof entry);
    if (what == FI_CONNREQ) on_request(entry.info, data);
    if (what == FI_CONNECTED) on_connected(entry.fid, data);
    if (what == FI_SHUTDOWN) {
      while (drain_completions()) {
      }  // its last words come before its end
      if (Lane* const lane = lane_of(entry.fid)) lane->break_down("the connection broke");
    }
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

Lane* OfiFabric::lane_of(fid_t which) noexcept {
  const auto at =
      std::find_if(lanes_.begin(), lanes_.end(), [&](const auto& lane) { return &lane->endpoint().fid == which; });
  return at == lanes_.end() ? nullptr : at->get();
}

bool OfiFabric::has_lane(NodeId node, std::initializer_list<Lane::State> states) const noexcept {
  return std::any_of(lanes_.begin(), lanes_.end(), [&](const auto& lane) {
    return lane->node == node && std::find(states.begin(), states.end(), lane->state) != states.end();
  });
}

Greeting OfiFabric::greeting_to(NodeId node) { return {options_.self, incarnation_, nodes_[node].attempts}; }

void OfiFabric::on_request(fi_info* info, std::span<const std::byte> data) {
  const Info owned(info);
  const auto greeting = decode_greeting(data);
  if (!greeting || ends_ || greeting->node == options_.self || !make_room_for(*greeting)) {
    static_cast<void>(fi_reject(&provider_->door(), info->handle, nullptr, 0));
    return;
  }
  answer(*info, *greeting);
}

// Whether this side's call may have found a process that is dead, though its node calls. One that lives gives its own call
// up as soon as it sees ours, and makes no other. However old ours is, its first is no sign: both sides may have been away,
// and if each gave up its call for the other's, none would be left.
bool OfiFabric::unheard(Lane& lane, const Greeting& greeting) const {
  if (lane.incarnation != greeting.incarnation) {
    lane.incarnation = greeting.incarnation;
    lane.peer_attempt = greeting.attempt;
  }
  return greeting.attempt > lane.peer_attempt && now_ - lane.heard >= crossing_max;
}

// Whether the call is to be answered. What it replaces is ended.
bool OfiFabric::make_room_for(const Greeting& greeting) {
  std::size_t lanes = 0;
  for (const auto& lane : lanes_) {
    if (lane->node != greeting.node || lane->state == Lane::State::closing) continue;
    ++lanes;
    if (lane->state == Lane::State::calling) {
      if (options_.self < greeting.node && !unheard(*lane, greeting)) return false;
      lane->break_down("the other side's call stands");
    } else if (lane->incarnation == greeting.incarnation) {
      if (greeting.attempt <= lane->peer_attempt) return false;
      lane->break_down("it has connected anew");
    }
  }
  sweep();
  return lanes < lanes_per_node_max && lanes_.size() < traits_.peers_max;
}

void OfiFabric::answer(fi_info& info, const Greeting& greeting) {
  auto endpoint = provider_->endpoint_for(info);
  if (!endpoint) {
    log::warn(log::Room::fabric, "cannot answer", {{"node", greeting.node}, {"reason", endpoint.error().to_string()}});
    static_cast<void>(fi_reject(&provider_->door(), info.handle, nullptr, 0));
    return;
  }
  auto lane = std::make_unique<Lane>(Lane::State::answering, greeting.node, std::move(endpoint).value(), flights_,
                                     provider_->info().tx_attr->inject_size);
  lane->incarnation = greeting.incarnation;
  lane->peer_attempt = greeting.attempt;
  lane->heard = now_;
  lane->deadline = now_ + answer_max;
  const GreetingBytes ours = encode(greeting_to(greeting.node));
  if (!lane->start_receiving() || fi_accept(&lane->endpoint(), ours.data(), ours.size()) != 0) return;
  lanes_.push_back(std::move(lane));
  unsettled_ = true;
  next_timer_ = std::min(next_timer_, now_ + answer_max);
}

void OfiFabric::on_connected(fid_t which, std::span<const std::byte> data) {
  Lane* const lane = lane_of(which);
  if (lane == nullptr) return;
  if (lane->state == Lane::State::calling) {
    const auto greeting = decode_greeting(data);
    if (!greeting || greeting->node != lane->node) {
      lane->break_down(greeting ? "node " + std::to_string(greeting->node.value()) + " answers there"
                                : "who answers there speaks another protocol");
      return;
    }
    lane->incarnation = greeting->incarnation;
    lane->peer_attempt = greeting->attempt;
  }
  if (lane->state == Lane::State::calling || lane->state == Lane::State::answering) up(*lane);
}

void OfiFabric::up(Lane& lane) {
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

void OfiFabric::on_event_error() {
  std::array<char, 256> text{};
  fi_eq_err_entry error{};
  error.err_data = text.data();
  error.err_data_size = text.size();
  if (fi_eq_readerr(&provider_->events(), &error, 0) < 0) return;
  if (Lane* const lane = lane_of(error.fid)) lane->break_down(ofi_error("the connection broke", error.err).message());
}

void OfiFabric::call(NodeId id, Node& node) {
  if (auto address = resolve(node.endpoint, true); address) return call(id, node, address.value());
  if (std::exchange(node.resolving, true)) return;
  resolver_.ask(id, node.endpoint);
  unsettled_ = true;
}

void OfiFabric::call(NodeId id, Node& node, const SocketAddress& address) {
  if (has_lane(id, talking)) return;
  auto endpoint = provider_->endpoint_to(address);
  if (!endpoint) return attempt_failed(node, endpoint.error().to_string());
  auto lane = std::make_unique<Lane>(Lane::State::calling, id, std::move(endpoint).value(), flights_,
                                     provider_->info().tx_attr->inject_size);
  lane->heard = now_;
  lane->deadline = now_ + answer_max;
  ++node.attempts;
  const GreetingBytes ours = encode(greeting_to(id));
  if (auto started = lane->start_receiving(); !started) return attempt_failed(node, started.error().to_string());
  const int failed = fi_connect(&lane->endpoint(), &address.storage, ours.data(), ours.size());
  if (failed != 0) return attempt_failed(node, ofi_error("fi_connect", failed).message());
  lanes_.push_back(std::move(lane));
  unsettled_ = true;
  next_timer_ = std::min(next_timer_, now_ + answer_max);
}

void OfiFabric::attempt_failed(Node& node, std::string why) {
  node.pause = std::clamp<Duration>(2 * node.pause, pause_first, pause_max);
  node.next_attempt = now_ + node.pause;
  next_timer_ = std::min(next_timer_, node.next_attempt);
  if (why == node.last_failure) return;
  node.last_failure = std::move(why);
  log::info(log::Room::fabric, "no connection yet", {{"endpoint", node.endpoint}, {"reason", node.last_failure}});
}

// Lanes that broke, were left by the peer, or have said their last words.
void OfiFabric::sweep() {
  unsettled_ = false;
  for (std::size_t i = 0; i < lanes_.size();) {
    Lane& lane = *lanes_[i];
    const bool quiet = lane.state == Lane::State::closing && !lane.waits() && flights_.under_way(lane) == 0;
    if (!lane.broken() && !lane.goodbye && !quiet) {
      unsettled_ |= lane.state != Lane::State::up;
      ++i;
      continue;
    }
    const std::unique_ptr<Lane> gone = std::move(lanes_[i]);
    lanes_.erase(lanes_.begin() + static_cast<std::ptrdiff_t>(i));
    Node& node = nodes_[gone->node];
    if (gone->state == Lane::State::up) {
      lose(*gone);
    } else if (gone->state != Lane::State::closing && node.wanted) {
      attempt_failed(node, gone->end_reason());
    }
    hang_up(*gone);
    if (node.endpoint.empty()) nodes_.erase(gone->node);  // it called, and was never called
  }
}

// The lane is about to end: nobody's memory waits for it any more. What its own operations read, which `revoke` does not
// know, is among the regions that were released.
void OfiFabric::hang_up(Lane& lane) {
  revoke(lane);
  lane.close();
  for (auto at = leaving_.begin(); at != leaving_.end();) give_back(**at++);
}

void OfiFabric::lose(Lane& lane) {
  Event lost;
  lost.kind = Event::Kind::lost;
  lost.reason = Error(ErrorKind::member_lost,
                      "node " + std::to_string(lane.node.value()) + (lane.goodbye ? " " : ": ") + lane.end_reason());
  tell(lane, std::move(lost));
  peers_.erase(lane.peer);
}

// Calls that are due, calls that nobody answered, and signs of life.
void OfiFabric::keep_time() {
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
      if (lane->state == Lane::State::up) say(*lane, encode(Kind::alive, 0));
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

}  // namespace spindrift::fabric::ofi
