// Pending connections: which of them takes the place of a node's present one.
#include <algorithm>
#include <utility>

#include <spindrift/views/links.hpp>

namespace spindrift::views {

// Whether the event was one of a pending connection.
bool Links::on_pending(fabric::Event& event) {
  for (Peer& peer : peers_) {
    PendingConnection* const pending = peer.pending.find(event.peer);
    if (pending == nullptr) continue;
    const bool lost = event.kind == fabric::Event::Kind::lost;
    if (!lost && pending->keep(std::move(event), decode_)) {
      prefer_pending(peer);
      return true;
    }
    const fabric::PeerId over = pending->id;
    if (!lost) fabric_.disconnect(over);
    peer.pending.remove(over);
    return true;
  }
  return false;
}

// Whether a pending connection is worth more than the present one by what it said: it speaks for the incarnation in the
// view, which the present one does not, or for a later start of a candidate, or it tells of a view with this process. The
// end of a candidate's process on this host is awaited instead: it may be in the next view, and its death must be certain.
bool Links::outranks(const Peer& peer, const PendingConnection& pending) const {
  std::uint64_t incarnation = 0;
  return std::any_of(pending.events.begin(), pending.events.end(), [&](const fabric::Event& event) {
    const auto message = decode_(event.bytes, pending.words);
    if (!message) return false;
    if (const auto* notice = std::get_if<ViewNotice>(&*message)) {
      return state_ == State::looking && founding_.accepts({peer.address.node, incarnation}, *notice);
    }
    const auto* hello = std::get_if<Hello>(&*message);
    if (hello == nullptr) return false;
    incarnation = hello->incarnation;
    if (rank_of(view_, peer.who()) || incarnation <= peer.incarnation) return false;
    const bool candidate =
        view_ != nullptr && peer.state == Peer::State::agreed && peer.standing == Peer::Standing::fresh &&
        peer.mappable != true;
    return rank_of(view_, {peer.address.node, incarnation}) || (candidate && hello->fresh);
  });
}

// One that speaks comes before one that is silent; one that outranks the present one ends it.
void Links::prefer_pending(Peer& peer) {
  const bool silent = peer.state == Peer::State::greeted;
  const bool any = peer.pending.prefer(
      [&](const PendingConnection& pending) { return silent ? pending.spoke() : outranks(peer, pending); });
  if (!any) return;
  if (!silent) return on_lost(peer, "its node has connected anew");
  PendingConnection present{peer.id, peer.mappable == true, peer.words, peer.bindings.own};
  adopt_pending(peer);
  static_cast<void>(peer.pending.add(std::move(present)));  // there is room for it: one was adopted
}

void Links::adopt_pending(Peer& peer) {
  PendingConnection adopted = peer.pending.adopt();
  peer.state = adopted.spoke() ? Peer::State::spoke : Peer::State::greeted;
  peer.id = adopted.id;
  peer.mappable = adopted.mappable;
  peer.words = adopted.words;
  peer.bindings = {adopted.own_binding, {}};
  peer.parts = std::move(adopted.parts);
  events_.hear_first(std::move(adopted.events));
}

}  // namespace spindrift::views
