// From calls to connections, and to what ends them.
#include <spindrift/fabric/connected/peer_connections.hpp>

#include <algorithm>
#include <utility>

#include <spindrift/core/log.hpp>
#include <spindrift/fabric/connected/small_writes.hpp>
#include <spindrift/fabric/endpoint_parts.hpp>

namespace spindrift::fabric::connected {
namespace {

constexpr auto pass_max = std::chrono::milliseconds(20);  // of a process that looks

// The owner has to hear of the end of a connection that was introduced; of another only the other end knows, which is told
// why.
void end_unproved(Connection& connection, const Error& why, CallRules& rules, Time now) {
  if (connection.peer != PeerId{} || connection.call().state != PeerCall::State::up)
    return connection.break_down(why.to_string());
  rules.close(connection.call().id, now);
}

Event loss_of(const Connection& connection, const std::string& how) {
  Error reason(ErrorKind::member_lost, "node " + std::to_string(connection.node().value()) + how);
  return {.kind = Event::Kind::lost, .reason = std::move(reason)};
}

}  // namespace

// Time in which this process was awake and did not look, held up by the application or a provider, is none in which somebody
// failed to answer; and a process that was away does not judge what others said before.
std::optional<PassTimes::Excuse> PassTimes::on_pass(Time now) noexcept {
  absence_.on_pass(now);
  const Time awake = std::exchange(awake_, now);
  if (absence_.away()) return Excuse{absence_.pass_before(), true};
  if (now - awake > pass_max) return Excuse{awake, false};
  return std::nullopt;
}

PeerConnections::PeerConnections(NodeId self, std::uint64_t incarnation, Limits limits, Proofs proofs, Transport& transport,
                                 OwnRegions& regions, std::function<void()> ring)
    : limits_(limits),
      transport_(transport),
      regions_(regions),
      rules_(self, incarnation, limits.connections_max),
      proofs_(std::move(proofs)),
      pass_times_(limits.silence_max),
      callees_(std::move(ring)) {}

void PeerConnections::progress(Time now) {
  now_ = now;
  if (const auto excuse = pass_times_.on_pass(now)) {
    rules_.excuse(excuse->since, now, excuse->away);
    for (const auto& connection : connections_) {
      if (excuse->away) connection->heard = now;
    }
  }
  if (unsettled_ || ++passes_ > passes_between_looks) {
    passes_ = 0;
    look_at_reports();
  }
  transport_.take_completions(*this, now);
  for (auto node = transport_.next_reachable(); node; node = transport_.next_reachable()) {
    if (rules_.reaching(*node)) reach(*node);
  }
  for (const auto& connection : connections_) connection->flush();
  sweep();
  if (now >= next_timer()) keep_time();
}

Time PeerConnections::next_timer() const noexcept {
  return std::min({rules_.next_time(), proofs_.next_time(), peers_.empty() ? never : next_alive_});
}

void PeerConnections::look_at_reports() {
  transport_.take_reports(*this);
  answer_calls();
  for (auto answer = callees_.take(); answer; answer = callees_.take()) {
    if (answer->address) {
      place(answer->node, &answer->address.value());
    } else if (rules_.reaching(answer->node)) {
      rules_.on_unreachable(answer->node, now_);
      callees_.on_unresolved(answer->node, answer->address.error());
    }
  }
}

// A connection that an answered call replaces is closed before the answer, so that its loss is told first.
void PeerConnections::answer_calls() {
  for (auto said = transport_.waiting_call(); said; said = transport_.waiting_call()) {
    const auto greeting = decode_greeting(*said);
    if (greeting && turned_away_.contains(greeting->node)) turned_away_.tell(greeting->node);
    const auto word = random_word();
    const auto begun = greeting && word ? rules_.on_call(*greeting, *word, now_) : std::nullopt;
    act();
    sweep();
    if (!begun) {
      transport_.turn_away();
      continue;
    }
    const CallId id = begun->call->id;
    auto connection = transport_.answer({*begun->call, encode(begun->greeting)});
    if (connection) {
      add(std::move(connection).value());
      continue;
    }
    callees_.on_unanswered(greeting->node, connection.error(), now_);
    rules_.on_ended(id, now_);
  }
}

void PeerConnections::connect(const Address& peer, Time now) {
  now_ = now;
  callees_.learn(peer.node, peer.endpoint);
  proofs_.want(peer.node);
  const bool lingers = std::any_of(connections_.begin(), connections_.end(),
                                   [&](const auto& each) { return each->node() == peer.node && each->lingers; });
  if (lingers) return proofs_.call_later(peer.node, now);
  rules_.want(peer.node, now);
  act();
}

// Does what the rules say; what is to end is closed by the next sweep.
void PeerConnections::act() {
  for (auto actions = rules_.take_actions(); !actions.empty(); actions = rules_.take_actions()) {
    for (const CallRules::Action& action : actions) {
      if (action.kind == CallRules::Action::Kind::reach) {
        reach(action.node);
        continue;
      }
      if (action.kind == CallRules::Action::Kind::doubt) {
        log::warn(log::Room::fabric, "call turned away", {{"node", action.node}, {"reason", action.reason}});
        continue;
      }
      const auto at = std::find_if(connections_.begin(), connections_.end(),
                                   [&](const auto& each) { return each->call().id == action.call; });
      if (at != connections_.end()) (*at)->break_down(action.reason);
    }
  }
}

void PeerConnections::reach(NodeId node) {
  switch (transport_.reach(node)) {
    case Transport::Reach::later: return;
    case Transport::Reach::by_record: return place(node, nullptr);
    case Transport::Reach::by_address: break;
  }
  if (auto address = resolve(callees_.endpoint_of(node), true); address) return place(node, &address.value());
  callees_.look_up(node);
}

void PeerConnections::place(NodeId node, const SocketAddress* address) {
  const auto word = random_word();
  if (!word) {
    rules_.on_unreachable(node, now_);
    return callees_.on_failed(node, word.error().to_string());
  }
  const auto begun = rules_.begin_call(node, *word, now_);
  if (!begun) return;
  auto connection = transport_.call({*begun->call, encode(begun->greeting)}, address);
  if (connection) return add(std::move(connection).value());
  rules_.on_ended(begun->call->id, now_);
  callees_.on_failed(node, connection.error().to_string());
}

void PeerConnections::add(ConnectionPointer connection) {
  connection->heard = now_;
  proofs_.attach(*connection);
  connections_.push_back(std::move(connection));
  unsettled_ = true;
}

void PeerConnections::on_established(Connection& connection, std::span<const std::byte> data) {
  if (connection.broken()) return;
  if (connection.call().state == PeerCall::State::calling) {
    const auto greeting = decode_greeting(data);
    if (!greeting) return connection.break_down("who answers there speaks another protocol");
    rules_.on_answer(connection.call().id, *greeting);
  } else {
    rules_.on_confirmed(connection.call().id);
  }
  act();
  if (connection.call().state == PeerCall::State::up && connection.peer == PeerId{}) up(connection);
}

void PeerConnections::on_first_word(Connection& connection, std::span<const std::byte> word) {
  const auto control = decode_control(word);
  if (control && control->kind != Kind::goodbye) on_established(connection, {});
}

void PeerConnections::up(Connection& connection) {
  connection.heard = now_;
  if (connection.session == nullptr) return introduce(connection);
  if (connection.session->state() != ControlSession::State::waiting) return;
  proofs_.begin(*connection.session, now_);
  on_sealed(connection, {});
}

// The peer's identity is known now, as far as the fabric proves it; the keys by which it was may have changed meanwhile.
void PeerConnections::introduce(Connection& connection) {
  if (const auto verdict = proofs_.judge(connection, true, now_); !verdict)
    return end_unproved(connection, verdict.error(), rules_, now_);
  ++newest_peer_;
  connection.peer = newest_peer_;
  if (peers_.empty()) next_alive_ = now_ + limits_.silence_max / 4;
  peers_.emplace(connection.peer, &connection);
  callees_.on_met(connection.node());
  proofs_.on_met(connection.node());
  tell(connection, {.kind = Event::Kind::connected, .words = {connection.call().word, connection.call().peer_word}});
  for (Event& event : std::exchange(connection.early, {})) tell(connection, std::move(event));
  proofs_.give_lists(connection);
}

void PeerConnections::on_sealed(Connection& connection, std::span<const std::byte> records) {
  const auto taken = connection.session->take(records, connection.call());
  if (connection.call().state == PeerCall::State::up) {
    connection.carry_session(false, 0);
    connection.ring();
  }
  if (!taken) {
    proofs_.on_refused(connection, taken.error(), now_);
    return end_unproved(connection, taken.error(), rules_, now_);
  }
  const bool proved = connection.session->state() == ControlSession::State::proved;
  if (proved && connection.peer == PeerId{}) {
    proofs_.on_proved(connection);
    introduce(connection);
  }
  for (auto message = connection.session->next(); message && !connection.broken(); message = connection.session->next()) {
    const auto control = decode_control(*message);
    if (!control || control->kind == Kind::sealed)
      return connection.break_down("it does not keep to the protocol of connections");
    on_control(connection, *control);
  }
}

// Rights end first: from then on no write of the peer begins to land in this process's memory; and one that had begun lands
// in memory that waits for the end of the connection.
void PeerConnections::disconnect(PeerId peer, Time now) {
  Connection* const connection = find(peer);
  if (connection == nullptr) return;
  peers_.erase(peer);
  std::erase_if(events_, [peer](const Event& event) { return event.peer == peer; });
  connection->take_rights_back();
  regions_.settle_released();
  proofs_.forget(connection->node());
  connection->say_sealed(encode(Kind::goodbye, 0), true);
  rules_.close(connection->call().id, now);
  unsettled_ = true;
}

void PeerConnections::turn_away(NodeId node, std::optional<Error> why) {
  const std::string reason = why ? why->message() : "";
  const bool away = why.has_value();
  turned_away_.set(node, std::move(why));
  if (!away) return rules_.welcome(node);
  proofs_.forget(node);
  rules_.turn_away(node, reason);
  const bool talking = std::any_of(connections_.begin(), connections_.end(), [node](const auto& each) {
    return each->node() == node && each->call().state != PeerCall::State::closing;
  });
  if (talking) turned_away_.tell(node);
  act();
}

void PeerConnections::finish(Time now) {
  rules_.finish();
  std::vector<PeerId> left;
  for (const auto& [peer, connection] : peers_) left.push_back(peer);
  for (const PeerId peer : left) disconnect(peer, now);
}

void PeerConnections::close_all() {
  for (const auto& connection : std::exchange(connections_, {})) {
    transport_.on_gone(*connection);
    connection->close();
  }
  transport_.take_reports(*this);
  answer_calls();
}

Connection* PeerConnections::find(PeerId peer) const noexcept {
  const auto at = peers_.find(peer);
  return at == peers_.end() ? nullptr : at->second;
}

void PeerConnections::on_completed(Connection& connection, std::uint64_t context) {
  if (connection.call().state != PeerCall::State::up) return;
  tell(connection, {.kind = Event::Kind::completed, .context = context});
}

void PeerConnections::on_message(Connection& connection, std::span<const std::byte> message) {
  connection.heard = now_;
  const auto control = decode_control(message);
  if (!control) return connection.break_down("it does not keep to the protocol of connections");
  if (connection.call().state == PeerCall::State::closing) return;
  if (control->kind == Kind::sealed && connection.session != nullptr) return on_sealed(connection, control->payload);
  if (!proofs_.may_be_clear(connection, control->kind))
    return connection.break_down("it says in the clear what has to be sealed, or seals what this node cannot open");
  on_control(connection, *control);
}

void PeerConnections::on_control(Connection& connection, const Control& control) {
  switch (control.kind) {
    case Kind::alive:
    case Kind::sealed: return;
    case Kind::goodbye: connection.goodbye = true; return;
    case Kind::user:
      ++connection.unheard;
      return tell(connection, {.kind = Event::Kind::message, .bytes = {control.payload.begin(), control.payload.end()}});
    case Kind::writes:
      return carry_out(connection, control.payload,
                       [this](const OwnRegion& region) { return transport_.address_of(region); });
    case Kind::exposed: {
      const Exposure& given = control.exposure;
      if (given.remote_key > limits_.remote_key_max || connection.exposed.size() == regions_per_peer_max ||
          !connection.exposed.emplace(given.region, given).second)
        return connection.break_down("it exposed too many regions, one twice, or under no key of this transport");
      return tell(
          connection,
          {.kind = Event::Kind::exposed, .access = given.access, .region = given.region, .region_bytes = given.bytes});
    }
    case Kind::revoked:
      if (const auto taken = proofs_.take_lists(connection, control, now_); !taken)
        connection.break_down(taken.error().to_string());
      return;
    case Kind::unmapped: {
      OwnRegion* const region = connection.revoke(control.remote_key);
      if (region == nullptr) return connection.break_down("it gave back a region that it did not have");
      return regions_.settle(*region);
    }
  }
}

// First everybody is given the lists, then those are cut off whom they name.
void PeerConnections::on_other_keys() {
  if (auto end = proofs_.take_own_end()) events_.push_back({.kind = Event::Kind::ended, .reason = std::move(end)});
  if (!proofs_.take_newer_lists()) return;
  for (const auto& connection : connections_) {
    if (connection->peer != PeerId{} && connection->call().state == PeerCall::State::up) proofs_.give_lists(*connection);
  }
}

// From here on nothing that the peer says or writes counts. It does not notice yet: it would accuse this node of the loss
// before members that do not have the list.
void PeerConnections::cut_off(Connection& connection, const Error& why) {
  peers_.erase(connection.peer);
  tell(connection, loss_of(connection, ": " + why.to_string()));
  connection.take_rights_back();
  regions_.settle_released();
  connection.lingers = true;
  rules_.close(connection.call().id, now_, Proofs::lingering);
}

void PeerConnections::tell(Connection& connection, Event event) {
  event.node = connection.node();
  if (connection.peer == PeerId{}) return connection.early.push_back(std::move(event));
  event.peer = connection.peer;
  events_.push_back(std::move(event));
}

std::size_t PeerConnections::take(std::span<Event> events) {
  std::size_t count = 0;
  for (; count < events.size() && !events_.empty(); ++count) {
    events[count] = std::move(events_.front());
    events_.pop_front();
    Connection* const connection = events[count].kind == Event::Kind::message ? find(events[count].peer) : nullptr;
    if (connection == nullptr) continue;
    --connection->unheard;
    connection->resume();
  }
  return count;
}

// PeerConnections that broke, were left by the peer, or have said their last words. Nobody's memory waits for one that is
// closed.
void PeerConnections::sweep() {
  unsettled_ = false;
  for (std::size_t i = 0; i < connections_.size();) {
    Connection& connection = *connections_[i];
    const bool quiet = connection.call().state == PeerCall::State::closing && connection.idle() && !connection.lingers;
    if (!connection.broken() && !connection.goodbye && !quiet) {
      unsettled_ |= connection.call().state != PeerCall::State::up;
      ++i;
      continue;
    }
    const ConnectionPointer gone = std::move(connections_[i]);
    connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(i));
    transport_.on_gone(*gone);
    const NodeId node = gone->node();
    if (peers_.erase(gone->peer) > 0) tell(*gone, loss_of(*gone, (gone->goodbye ? " " : ": ") + gone->end_reason()));
    gone->close();
    regions_.settle_released();
    proofs_.on_gone(*gone, now_);
    if (rules_.on_ended(gone->call().id, now_)) callees_.on_failed(node, gone->end_reason());
  }
}

// Besides what the rules have to do in time: signs of life, own ones and those of peers; a peer that takes too long to prove
// itself, or would not be let in today; and whom to call again.
void PeerConnections::keep_time() {
  if (now_ >= rules_.next_time()) rules_.on_time(now_);
  const bool alive_due = now_ >= next_alive_;
  if (alive_due) next_alive_ = now_ + limits_.silence_max / 4;
  const bool other_keys = proofs_.on_time(now_);
  if (other_keys) on_other_keys();
  for (const auto& connection : connections_) {
    if (connection->call().state != PeerCall::State::up) continue;
    if (now_ - connection->heard >= limits_.silence_max) {
      connection->break_down(
          "nothing came for " +
          std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(limits_.silence_max).count()) + " ms");
    } else if (alive_due) {
      connection->say(encode(Kind::alive, 0), false);
    }
    const auto verdict = proofs_.judge(*connection, other_keys, now_);
    if (verdict) continue;
    if (connection->peer != PeerId{} && !connection->broken())
      cut_off(*connection, verdict.error());
    else
      end_unproved(*connection, verdict.error(), rules_, now_);
  }
  for (const NodeId node : proofs_.take_due(now_)) rules_.want(node, now_);
  act();
  sweep();
}

}  // namespace spindrift::fabric::connected
