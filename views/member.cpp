// A member's passes: the present epoch, its gates, silence, leaving, and the end.
#include <spindrift/views/member.hpp>

#include <algorithm>

#include <spindrift/core/check.hpp>
#include <spindrift/core/log.hpp>

namespace spindrift::views {
namespace {

/// When messages are held back because earlier ones still wait for their receivers: the next look whether they have gone,
/// where nothing that arrives calls for one sooner.
constexpr Duration look_for_room = std::chrono::microseconds(100);

}  // namespace

std::string_view to_string(MemberState state) noexcept {
  switch (state) {
    case MemberState::idle: return "idle";
    case MemberState::looking: return "looking";
    case MemberState::installing: return "installing";
    case MemberState::active: return "active";
    case MemberState::changing: return "changing";
    case MemberState::left: return "left";
    case MemberState::failed: return "failed";
  }
  return "unknown";
}

namespace {

std::vector<SubgroupView> shapes_of(const MemberOptions& options) {
  CHECK(options.incarnation != 0 && options.layout);
  std::vector<NodeId> nodes;
  for (const fabric::Address& address : options.roster) nodes.push_back(address.node);
  CHECK(nodes.size() <= member_count_max);
  return options.layout(nodes, nullptr);
}

}  // namespace

Member::Member(MemberOptions options, fabric::Fabric& fabric, Upcalls& upcalls, CounterBlock& counters)
    : options_(std::move(options)),
      fabric_(fabric),
      upcalls_(upcalls),
      counters_(counters),
      shapes_(shapes_of(options_)),
      sends_(shapes_.size(), upcalls),
      deliveries_(options_.self, shapes_.size(), options_.backlog_bytes_max, upcalls),
      transfers_(options_.self, upcalls),
      watch_(options_.suspect_after) {
  for (const fabric::Address& address : options_.roster) {
    if (address.node != options_.self) peers_.emplace_back().address = address;
  }
  CHECK(peers_.size() + 1 == options_.roster.size());
}

Member::~Member() = default;

Result<void> Member::start() {
  CHECK(state_ == MemberState::idle);
  const fabric::Traits& traits = fabric_.traits();
  if (!traits.ordered_writes) {
    return Error(ErrorKind::unsupported, "fabric " + std::string(traits.name) +
                                             " does not order writes to one peer, which the shared state table rests on")
        .fix("choose another [SPINDRIFT] fabric");
  }
  if (traits.peers_max < peers_.size()) {
    return Error(ErrorKind::unsupported, "fabric " + std::string(traits.name) + " connects at most " +
                                             std::to_string(traits.peers_max + 1) + " members")
        .fix("configure fewer members");
  }
  // Who hands a message on to whom all must say alike, without knowing who maps whom.
  if (traits.mappable) options_.policy.relay = smc::Relay::direct;
  for (const Peer& peer : peers_) {
    if (auto connecting = fabric_.connect(peer.address); !connecting) return connecting;
  }
  enter(MemberState::looking);
  return {};
}

Member::Step Member::step(Time now) {
  CHECK(state_ != MemberState::idle);
  now_ = now;
  if (state_ == MemberState::left || state_ == MemberState::failed) return {};
  watch_.on_pass(now);
  bool progress = take_events();
  if (state_ == MemberState::looking) {
    progress |= follow_notice();
    if (state_ == MemberState::looking) progress |= promise_when_free();
    if (state_ == MemberState::looking) progress |= found_when_complete();
    if (state_ == MemberState::looking && leave_requested()) end_in_order();
  }
  if (departing_) {
    progress |= depart(now);
  } else if (epoch() != nullptr && state_ != MemberState::failed) {
    progress |= step_epoch(now);
  }
  if (state_ != MemberState::failed) {
    progress |= exchange_states();
    progress |= deliveries_.flush();
    beat(now);
  }
  push();
  Time wake_at = next_wake();
  if (!epochs_.empty() && epoch()->holds_back()) wake_at = std::min(wake_at, now + look_for_room);
  return {.progress = progress, .wake_at = wake_at};
}

// One pass over the present view: its rows' words, then its multicasts; whatever ends it comes first.
bool Member::step_epoch(Time now) {
  Epoch& present = *epoch();
  bool progress = false;
  if (!present.begun()) {
    progress |= attach_rows();
    if (present.all_attached() && present.change().state() == ViewChange::State::steady) {
      present.begin();
      progress = true;
    }
  }
  progress |= present.change().step(candidates_, state_ == MemberState::active, watch_.quiet(), watch_.just_woke());
  const std::size_t suspicions = present.change().suspicions().size();
  const RankSet quiet_before = watch_.quiet();
  suspect_the_silent(now);
  progress |= present.change().suspicions().size() > suspicions || !quiet_before.includes(watch_.quiet());
  revoke_suspects(present);
  if (state_ == MemberState::failed) return true;
  const bool steady = present.change().state() == ViewChange::State::steady;
  if (steady && !present.change().suspected().empty()) return true;  // found just now: the next pass wedges
  switch (present.change().state()) {
    case ViewChange::State::stuck: fail(lost_majority(present)); return true;
    case ViewChange::State::decided: return conclude() || progress;
    case ViewChange::State::wedged:
    case ViewChange::State::accepted:
      if (state_ != MemberState::changing) {
        sends_.close();
        enter(MemberState::changing);
        return true;
      }
      return progress;
    case ViewChange::State::steady: break;
  }
  if (state_ == MemberState::installing && present.begun() && present.change().everybody_ready()) {
    activate();
    progress = true;
  }
  if (state_ != MemberState::active) return progress;
  auto ran = present.run(fabric_);
  if (!ran) {
    fail(std::move(ran).error());
    return true;
  }
  revoke_suspects(present);
  progress |= *ran;
  progress |= sends_.settle(present, leave_requested());
  if (epochs_.size() > 1) drop_old_epochs();
  if (leave_requested()) progress |= advance_leave();
  return progress;
}

Error Member::removed_error(const Epoch& present, const std::string& by_whom) const {
  return Error(ErrorKind::removed,
               "the others removed this node from the group in view " + std::to_string(present.id().value()) + by_whom)
      .fix("start it again: it joins as a new incarnation");
}

Error Member::lost_majority(const Epoch& present) const {
  std::string gone;
  std::size_t turned_away = 0;
  for (const ViewChange::Suspicion& suspicion : present.change().suspicions()) {
    turned_away += suspicion.turned_away ? 1 : 0;
    gone += (gone.empty() ? "node " : ", node ") + std::to_string(present.view().members[suspicion.rank.value()].value()) +
            " (" + suspicion.reason + ")";
  }
  if (2 * turned_away >= present.change().suspicions().size()) return removed_error(present, ": " + gone);
  return Error(ErrorKind::no_majority, "lost the majority of view " + std::to_string(present.id().value()) + ": of its " +
                                           std::to_string(present.view().members.size()) + " members are gone " + gone)
      .fix("the rest may go on elsewhere: see to the others or the network, and start this node again");
}

void Member::activate() {
  enter(MemberState::active);
  drop_old_epochs();
}

// Whose silence does not count: the own, and that of members that are suspected already.
RankSet Member::passed_over() const {
  RankSet ranks = epoch()->change().suspected();
  ranks.add(epoch()->self());
  return ranks;
}

// Silence is judged only after this member looked.
void Member::suspect_the_silent(Time now) {
  Epoch& present = *epoch();
  const RankSet silent = watch_.look(present.change().heartbeats(), passed_over(), now);
  for (std::uint32_t i = 0; !silent.empty() && i < present.view().members.size(); ++i) {
    if (!silent.contains(Rank(i))) continue;
    const bool shown = present.table().attached(Rank(i));
    present.change().suspect(Rank(i), shown ? "it gave no sign of life" : "it did not show its row");
  }
}

// Whom this node suspects it tells so, and lets at nothing any more, before its suspicion is pushed.
void Member::revoke_suspects(Epoch& present) {
  const auto& suspicions = present.change().suspicions();
  for (; revoked_ < suspicions.size(); ++revoked_) {
    const Rank rank = suspicions[revoked_].rank;
    const Join who{present.view().members[rank.value()], present.view().incarnations[rank.value()]};
    remember(removed_, who);
    if (suspicions[revoked_].turned_away) remember(turned_away_, who);
    Peer* const peer = peer_of(who.node);
    if (peer == nullptr || peer->state == Peer::State::away || peer->incarnation != who.incarnation) continue;
    send_to(*peer, encode(Removed{suspicions[revoked_].reason}));
    hang_up(*peer);
  }
}

// New sends are refused; when all sent ones are delivered everywhere, the row asks the others to go on without this node.
bool Member::advance_leave() {
  Epoch& present = *epoch();
  const Sends::Outlook outlook = sends_.wind_up(present, deliveries_.drained());
  if (!outlook.sent) return outlook.progress;
  if (epochs_.size() > 1) return outlook.progress;  // somebody who left before does not know it yet
  if (!sends_.delivered_everywhere(present)) return outlook.progress;
  return present.change().leave() || outlook.progress;
}

// Pieces of states for newcomers, and what has come of a state for this one. While a view ends nothing is taken: the next
// one's transfer includes what this one delivers.
bool Member::exchange_states() {
  bool progress = false;
  if (transfers_.sending()) {
    RankSet ready;
    for (const Peer& peer : peers_) {
      const auto rank = rank_of(peer);
      if (peer.state == Peer::State::agreed && rank && epoch()->change().ready(*rank)) ready.add(*rank);
    }
    for (Addressed& piece : transfers_.next_pieces(epoch()->view(), ready, private_bytes_max())) {
      send_to(*peer_of(piece.to), std::move(piece.message));
      progress = true;
    }
  }
  if (transfers_.receiving() && epoch()->change().state() == ViewChange::State::steady) take_states(progress);
  return progress;
}

void Member::take_states(bool& progress) {
  while (auto taken = transfers_.take()) {
    progress = true;
    Peer& source = *peer_of(taken->from);
    if (source.state == Peer::State::agreed) send_to(source, encode(taken->ack));
    if (!taken->complete) continue;
    const SubgroupId id = taken->ack.subgroup;
    if (!deliveries_.end_loading(id, taken->kept)) {
      accuse(source, "it sent impossible deliveries behind a state");
      continue;
    }
    if (taken->writer) taken->writer->finish();
    epoch()->set_loaded(id);
    log::info(log::Room::views, "state loaded",
              {{"node", self()}, {"subgroup", epoch()->view().subgroup(id).name}, {"bytes", taken->ack.offset}});
  }
}

// The others need this node's rows until they know the decree too; then it may go.
bool Member::depart(Time now) {
  Epoch& present = *epoch();
  const bool all_know = present.change().all_know(RankSet::first(present.view().members.size()));
  revoke_suspects(present);
  const bool waited = options_.suspect_after != Duration{} && now - decided_at_ >= options_.suspect_after;
  if ((!all_know && !waited) || !deliveries_.all_taken()) return false;
  push();
  end_in_order();
  return true;
}

void Member::end_in_order() {
  enter(MemberState::left);
  for (Peer& peer : peers_) hang_up(peer);
}

void Member::beat(Time now) {
  if (epochs_.empty() || !watch_.take_beat(now)) return;
  for (const auto& each : epochs_) each->table().beat();
}

Time Member::next_wake() const {
  if (epochs_.empty() || !watch_.judges()) return never;
  const Time verdict = departing_ ? decided_at_ + watch_.patience() : watch_.next_verdict(passed_over());
  return std::min(watch_.next_beat(), verdict);
}

void Member::push() {
  if (state_ == MemberState::failed) return;
  for (const auto& each : epochs_) {
    if (auto pushed = each->table().push(fabric_); !pushed) return fail(std::move(pushed).error());
  }
}

void Member::enter(MemberState state) {
  log::debug(log::Room::views, "state", {{"node", options_.self}, {"from", to_string(state_)}, {"to", to_string(state)}});
  state_ = state;
  // Whoever waits for space learns from the state whether waiting still makes sense.
  if (state != MemberState::left && state != MemberState::failed) return;
  sends_.end();
}

void Member::stop(Error reason) {
  if (state_ != MemberState::failed && state_ != MemberState::left) fail(std::move(reason));
}

// Ends this member for good; the others hear why.
void Member::fail(Error error) {
  if (state_ == MemberState::failed) return;
  log::warn(log::Room::views, "stops", {{"node", options_.self}, {"reason", error.to_string()}});
  failure_ = std::move(error);
  enter(MemberState::failed);
  for (Peer& peer : peers_) {
    drop_suitors(peer);
    if (peer.state == Peer::State::away) continue;
    send_to(peer, encode(Stopped{failure_->to_string()}));
    fabric_.disconnect(peer.id);
    peer.state = Peer::State::away;
  }
}

Result<void> Member::send_private(NodeId to, std::span<const std::byte> message) {
  if (message.size() > private_bytes_max()) {
    return Error(ErrorKind::bad_argument, "a private message of " + std::to_string(message.size()) +
                                              " bytes is larger than " + std::to_string(private_bytes_max()));
  }
  if (const Peer* const peer = peer_of(to); peer != nullptr && peer->state == Peer::State::agreed && rank_of(*peer)) {
    send_to(*peer, encode(PrivateMessage{message}));
  }
  return {};
}

std::size_t Member::private_bytes_max() const noexcept {
  const std::size_t most = fabric_.traits().message_bytes_max;
  return most > message_overhead_bytes ? most - message_overhead_bytes : 0;
}

std::vector<NodeId> Member::missing() const {
  std::vector<NodeId> nodes;
  for (const NodeId node : options_.founders) {
    const auto found =
        std::find_if(peers_.begin(), peers_.end(), [&](const Peer& peer) { return peer.address.node == node; });
    if (found != peers_.end() && found->state != Peer::State::agreed) nodes.push_back(node);
  }
  return nodes;
}

}  // namespace spindrift::views
