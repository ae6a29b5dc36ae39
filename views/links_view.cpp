// Connections as the present view wants them: its members met, newcomers told, suspects cut off; and their end.
#include <algorithm>
#include <utility>

#include <spindrift/core/log.hpp>
#include <spindrift/views/links.hpp>

namespace spindrift::views {

void Links::begin_view(const View& view) {
  state_ = State::member;
  view_ = &view;
  revoked_ = 0;
  to_meet_ = 0;
  note_candidates();
}

// A process that has this one's hello takes it for fresh, and would take it in when the view that it was in is out of sight.
void Links::tell_settled() {
  const auto message = encode(Settled{view_->id});
  for (const Peer& peer : peers_) {
    if (peer.state != Peer::State::away && !rank_of(peer.who())) send_in_parts(fabric_, peer.id, message);
    for (const PendingConnection& pending : peer.pending.list()) send_in_parts(fabric_, pending.id, message);
  }
}

// A suspect is told so, and let at nothing any more.
void Links::revoke(std::span<const ViewChange::Suspicion> suspicions) {
  for (; revoked_ < suspicions.size(); ++revoked_) {
    const ViewChange::Suspicion& suspicion = suspicions[revoked_];
    const Join who{view_->members[suspicion.rank.value()], view_->incarnations[suspicion.rank.value()]};
    partings_.part(who, suspicion.turned_away);
    Peer* const peer = peer_of(who.node);
    if (peer == nullptr || peer->state == Peer::State::away || peer->incarnation != who.incarnation) continue;
    send_in_parts(fabric_, peer->id, encode(Removed{suspicion.reason}));
    hang_up(*peer);
  }
}

void Links::accuse(NodeId node, std::string reason) {
  if (Peer* const peer = peer_of(node)) accuse(*peer, std::move(reason));
}

void Links::end(const std::optional<std::string>& reason) {
  state_ = State::ended;
  met_ = nullptr;
  to_meet_ = peers_.size();
  events_.forget_kept();
  for (Peer& peer : peers_) {
    if (reason) drop_pending(peer);
    if (reason && peer.state != Peer::State::away) send_in_parts(fabric_, peer.id, encode(Stopped{*reason}));
    hang_up(peer);
  }
}

void Links::send(NodeId to, std::vector<std::byte> message) {
  const Peer* const peer = peer_of(to);
  if (peer != nullptr && peer->state == Peer::State::agreed) send_in_parts(fabric_, peer->id, std::move(message));
}

void Links::notify(NodeId newcomer, const ViewNotice& notice) {
  Peer* const peer = peer_of(newcomer);
  if (peer == nullptr || peer->standing == Peer::Standing::member) return;
  peer->standing = Peer::Standing::member;
  send_in_parts(fabric_, peer->id, encode(notice));
  note_candidates();
}

Result<void> Links::show(const PeerConnection& to, const Showing& showing) {
  send_in_parts(fabric_, to.id, encode(showing.notice));
  return fabric_.expose(to.id, showing.region, showing.access);
}

// It is told again only of what is new, on this connection.
void Links::tell_candidates(NodeId leader) {
  Peer* const peer = peer_of(leader);
  if (peer == nullptr || peer->state != Peer::State::agreed || !rank_of(peer->who())) return;
  std::vector<Join> linked;
  for (const Candidate& candidate : candidates_) linked.push_back(candidate.who);
  if (linked == peer->told) return;
  peer->told = linked;
  send_in_parts(fabric_, peer->id, encode(LinkedCandidates{std::move(linked)}));
}

// Fresh processes that the present view does not count yet, and that are no earlier start of one that it counts.
void Links::note_candidates() {
  candidates_.clear();
  if (view_ == nullptr) return;
  for (const Peer& peer : peers_) {
    const auto rank = view_->rank_of(peer.address.node);
    const bool earlier = rank && peer.incarnation <= view_->incarnations[rank->value()];
    const bool fresh = peer.state == Peer::State::agreed && peer.standing == Peer::Standing::fresh;
    if (fresh && !earlier) candidates_.push_back({peer.who(), {}});
  }
  for (Candidate& candidate : candidates_) {
    if (const auto own = rank_of(self_)) candidate.linked.add(*own);
    for (const Peer& peer : peers_) {
      const auto rank = rank_of(peer.who());
      if (rank && std::find(peer.linked.begin(), peer.linked.end(), candidate.who) != peer.linked.end())
        candidate.linked.add(*rank);
    }
  }
}

std::vector<PeerConnection> Links::members() const {
  std::vector<PeerConnection> members;
  for (const Peer& peer : peers_) {
    if (peer.state == Peer::State::agreed && rank_of(peer.who())) members.push_back(peer.connection());
  }
  return members;
}

std::vector<Founding::Met> Links::met() const {
  std::vector<Founding::Met> met;
  for (const Peer& peer : peers_) {
    if (peer.state == Peer::State::agreed) met.push_back({peer.who(), peer.standing != Peer::Standing::member});
  }
  return met;
}

std::optional<PeerConnection> Links::connection_of(NodeId node) const {
  for (const Peer& peer : peers_) {
    if (peer.address.node == node && peer.state == Peer::State::agreed) return peer.connection();
  }
  return std::nullopt;
}

std::vector<NodeId> Links::missing(std::span<const NodeId> nodes) const {
  std::vector<NodeId> missing;
  for (const NodeId node : nodes) {
    const auto is_away = [&](const Peer& peer) { return peer.address.node == node && peer.state != Peer::State::agreed; };
    if (std::any_of(peers_.begin(), peers_.end(), is_away)) missing.push_back(node);
  }
  return missing;
}

}  // namespace spindrift::views
