// Connections as the present view wants them: its members met, newcomers told, suspects cut off; and their end.
#include <algorithm>
#include <utility>

#include <spindrift/core/log.hpp>
#include <spindrift/views/links.hpp>

namespace spindrift::views {
namespace {

// A process that is here, and in no view yet, may not know of the nodes that are new.
void tell_roster(fabric::Fabric& fabric, const Peer& peer, const Roster& roster) {
  if (peer.state == Peer::State::agreed && peer.standing == Peer::Standing::fresh)
    send_in_parts(fabric, peer.id, encode(RosterNotice{roster}));
}

}  // namespace

void Links::begin_view(const View& view) {
  state_ = State::member;
  view_ = &view;
  revoked_ = 0;
  to_meet_ = 0;
  for (Peer& peer : peers_) {
    const auto reason = peer.state == Peer::State::agreed ? keeps_out(view, peer) : std::nullopt;
    if (reason) refuse(peer, *reason);
  }
  note_candidates();
}

// A process that has this one's hello takes it for fresh, and would take it in when the view that it was in is out of sight.
void Links::tell_settled() {
  const auto message = encode(Settled{view_->id});
  for (Peer& peer : peers_) {
    if (peer.state == Peer::State::apart) refuse(peer, std::string(peer.apart.reason));
    if (peer.state != Peer::State::away && !rank_of(view_, peer.who())) {
      send_in_parts(fabric_, peer.id, message);
      tell_roster(fabric_, peer, view_->roster);
    }
    for (const PendingConnection& pending : peer.pending.list()) send_in_parts(fabric_, pending.id, message);
  }
}

void Links::set_roster(const Roster& roster, Outsiders outsiders) {
  if (state_ == State::ended) return;  // it asks nobody any more
  const std::vector<NodeId> known = peers_.nodes();
  const auto was_asked = [&](NodeId node) {
    return view_ != nullptr ? view_->roster.admits(node) : std::ranges::find(known, node) != known.end();
  };
  expect(roster);
  for (Peer& peer : peers_) {
    const NodeId node = peer.address.node;
    const NodeAddress* const now = roster.admits(node) ? roster.find(node) : nullptr;
    peer.place = now == nullptr ? Peer::Place::guest : Peer::Place::listed;
    if (now == nullptr) continue;
    const bool moved = std::exchange(peer.address, *now) != *now;
    if (peer.state == Peer::State::away && (moved || !was_asked(now->node))) ask(peer);
    if (view_ != nullptr) tell_roster(fabric_, peer, roster);
  }
  if (outsiders == Outsiders::stay) return;
  for (Peer& peer : peers_) {
    if (peer.place == Peer::Place::listed) continue;
    peer.place = Peer::Place::struck;
    peer.pending.end_all(fabric_);
    // A member that leaves with this view still has to learn how it ended.
    const bool knows = peer.state != Peer::State::away && !rank_of(view_, peer.who());
    if (knows && roster.is_drained(peer.address.node)) {
      turn_away(peer, Drained{}, "its node is drained");
    } else if (knows) {
      refuse(peer, "it was removed from the group's roster");
    }
  }
  peers_.forget_struck();
  note_candidates();
}

void Links::tell_unbound() {
  if (founding_.binding(peers_.met()) != ViewId(0)) return;
  for (Peer& peer : peers_) {
    if (peer.state != Peer::State::away && peer.bindings.own != ViewId(0)) hang_up(peer);
  }
}

void Links::reach_out() {
  for (const Peer& peer : peers_) {
    if (peer.place == Peer::Place::listed && peer.state == Peer::State::away) ask(peer);
  }
}

// A suspect is told so, and let at nothing any more.
void Links::revoke(std::span<const ViewChange::Suspicion> suspicions) {
  for (; revoked_ < suspicions.size(); ++revoked_) {
    const ViewChange::Suspicion& suspicion = suspicions[revoked_];
    const Join who{view_->members[suspicion.rank.value()], view_->incarnations[suspicion.rank.value()]};
    partings_.part(who, suspicion.turned_away, suspicion.reason);
    Peer* const peer = peers_.find(who.node);
    if (peer == nullptr || peer->state == Peer::State::away || peer->incarnation != who.incarnation) continue;
    send_in_parts(fabric_, peer->id, encode(Removed{suspicion.reason}));
    hang_up(*peer);
  }
}

void Links::accuse(NodeId node, std::string reason) {
  if (Peer* const peer = peers_.find(node)) accuse(*peer, std::move(reason));
}

void Links::end(const std::optional<std::string>& reason) {
  state_ = State::ended;
  met_.reset();
  to_meet_ = peers_.size();
  events_.forget_kept();
  for (Peer& peer : peers_) {
    if (reason) peer.pending.end_all(fabric_);
    if (reason && peer.state != Peer::State::away) send_in_parts(fabric_, peer.id, encode(Stopped{*reason}));
    hang_up(peer);
  }
}

void Links::send(NodeId to, std::vector<std::byte> message) {
  const Peer* const peer = peers_.find(to);
  if (peer != nullptr && peer->state == Peer::State::agreed) send_in_parts(fabric_, peer->id, std::move(message));
}

void Links::notify(NodeId newcomer, const std::function<ViewNotice()>& notice) {
  Peer* const peer = peers_.find(newcomer);
  if (peer == nullptr || peer->standing == Peer::Standing::member) return;
  peer->standing = Peer::Standing::member;
  send_in_parts(fabric_, peer->id, encode(notice()));
  note_candidates();
}

Result<void> Links::show(const PeerConnection& to, const Showing& showing) {
  send_in_parts(fabric_, to.id, encode(showing.notice));
  return fabric_.expose(to.id, showing.region, showing.access);
}

// It is told again only of what is new, on this connection.
void Links::tell_candidates(NodeId leader) {
  Peer* const peer = peers_.find(leader);
  if (peer == nullptr || peer->state != Peer::State::agreed || !rank_of(view_, peer->who())) return;
  std::vector<Join> linked;
  for (const Candidate& candidate : candidates_) linked.push_back(candidate.who);
  if (linked == peer->told) return;
  peer->told = linked;
  send_in_parts(fabric_, peer->id, encode(LinkedCandidates{std::move(linked)}));
}

// Fresh processes that the present view does not count yet, and that are no earlier start of one that it counts. One that
// has bound itself to a founding of a later era could not follow, and would cost a small group its majority.
void Links::note_candidates() {
  candidates_.clear();
  if (view_ == nullptr) return;
  for (const Peer& peer : peers_) {
    if (peer.state != Peer::State::agreed || peer.standing != Peer::Standing::fresh) continue;
    const auto rank = view_->rank_of(peer.address.node);
    const bool earlier = rank && peer.incarnation <= view_->incarnations[rank->value()];
    if (!earlier && era_of(peer.bindings.peer) <= era_of(view_->id)) candidates_.push_back({peer.who(), {}, peer.versions});
  }
  for (Candidate& candidate : candidates_) {
    if (const auto own = rank_of(view_, self_)) candidate.linked.add(*own);
    for (const Peer& peer : peers_) {
      const auto rank = rank_of(view_, peer.who());
      if (rank && std::find(peer.linked.begin(), peer.linked.end(), candidate.who) != peer.linked.end())
        candidate.linked.add(*rank);
    }
  }
}

std::vector<PeerConnection> Links::members() const {
  std::vector<PeerConnection> members;
  for (const Peer& peer : peers_) {
    if (peer.state == Peer::State::agreed && rank_of(view_, peer.who())) members.push_back(peer.connection());
  }
  return members;
}

}  // namespace spindrift::views
