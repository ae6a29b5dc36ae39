// How processes find each other: connections to the whole roster, hellos, candidates. No memory is exposed to a
// peer before its hello was checked.
#include <algorithm>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/views/member.hpp>

namespace spindrift::views {
namespace {

constexpr std::size_t offers_max = 4;
constexpr std::size_t suitors_max = 4;
constexpr std::size_t incarnations_kept = 1024;

}  // namespace

void Member::remember(std::vector<Join>& list, const Join& who) {
  if (std::find(list.begin(), list.end(), who) != list.end()) return;
  if (list.size() == incarnations_kept) list.erase(list.begin());
  list.push_back(who);
}

bool Member::take_events() {
  bool any = take_early();
  while (state_ != MemberState::failed) {
    const std::size_t count = fabric_.poll(events_);
    for (std::size_t i = 0; i < count; ++i) {
      if (state_ == MemberState::failed) {  // whoever comes now finds nobody
        if (events_[i].kind == fabric::Event::Kind::connected) fabric_.disconnect(events_[i].peer);
        continue;
      }
      on_event(events_[i]);
      take_early();  // before what came later on the same connection
    }
    any |= count > 0;
    if (count < events_.size()) break;
  }
  return any;
}

// What was kept of connections that have just taken the place of another.
bool Member::take_early() {
  bool any = false;
  while (!early_.empty() && state_ != MemberState::failed) {
    for (std::vector<fabric::Event> early = std::exchange(early_, {}); fabric::Event& event : early) {
      if (state_ != MemberState::failed) on_event(event);
    }
    any = true;
  }
  return any;
}

Member::Peer* Member::peer_of(fabric::PeerId id) {
  for (Peer& peer : peers_) {
    if (peer.state != Peer::State::away && peer.id == id) return &peer;
  }
  return nullptr;
}

Member::Peer* Member::peer_of(NodeId node) {
  for (Peer& peer : peers_) {
    if (peer.address.node == node) return &peer;
  }
  return nullptr;
}

// Whether this very process is in the view.
bool Member::concerns_self(const ViewNotice& notice) const {
  const auto rank = notice.view.rank_of(self());
  return rank && notice.view.incarnations[rank->value()] == options_.incarnation;
}

// The rank of this very incarnation in the present view.
std::optional<Rank> Member::rank_of(const Peer& peer) const {
  if (epoch() == nullptr || peer.incarnation == 0) return std::nullopt;
  const View& view = epoch()->view();
  const auto rank = view.rank_of(peer.address.node);
  if (!rank || view.incarnations[rank->value()] != peer.incarnation) return std::nullopt;
  return rank;
}

void Member::on_event(fabric::Event& event) {
  if (event.kind == fabric::Event::Kind::connected) return on_connected(event);
  if (on_suitor(event)) return;
  Peer* const peer = peer_of(event.peer);
  if (peer == nullptr) return;  // a peer that was refused or hung up on; its last words do not matter
  switch (event.kind) {
    case fabric::Event::Kind::connected:
    case fabric::Event::Kind::completed: break;
    case fabric::Event::Kind::message: on_message(*peer, event.bytes); break;
    case fabric::Event::Kind::exposed: on_exposed(*peer, event); break;
    case fabric::Event::Kind::lost: on_lost(*peer, event.reason ? event.reason->to_string() : "connection lost"); break;
  }
}

void Member::on_connected(const fabric::Event& event) {
  Peer* const peer = peer_of(event.node);
  if (peer == nullptr) {
    Peer stranger;
    stranger.id = event.peer;
    return refuse(stranger, "this group knows no node with your id");
  }
  greet(event.peer);
  if (peer->state != Peer::State::away) {
    auto& suitors = peer->suitors;
    if (suitors.size() == suitors_max) {
      fabric_.disconnect(suitors.front().id);
      suitors.erase(suitors.begin());
    }
    suitors.push_back(Peer::Suitor{event.peer, event.mappable});
    return;
  }
  peer->state = Peer::State::greeted;
  peer->id = event.peer;
  peer->mappable = event.mappable;
}

void Member::greet(fabric::PeerId id) {
  Peer somebody;
  somebody.id = id;
  const bool fresh = epochs_.empty();
  send_to(somebody, encode(options_.identity,
                           Hello{options_.self, options_.incarnation, fresh, fresh ? ViewId(0) : epoch()->id()}));
}

void Member::on_message(Peer& peer, std::span<const std::byte> bytes) {
  auto message = decode(bytes, options_.identity, shapes_);
  if (!message) return accuse(peer, "it sent a message that is none of this protocol");
  if (const auto* part = std::get_if<Part>(&*message)) return on_part(peer, *part);
  if (const auto* hello = std::get_if<Hello>(&*message)) return on_hello(peer, *hello);
  if (const auto* mismatch = std::get_if<Mismatch>(&*message)) {
    const Error error = mismatch->error;
    refuse(peer, error.message());
    if (state_ != MemberState::looking) return;  // a running group does not stop for a stranger
    return fail(Error(ErrorKind::refused, "refused node " + std::to_string(peer.address.node.value())).because(error));
  }
  if (const auto* refusal = std::get_if<Refusal>(&*message)) {
    if (state_ != MemberState::looking) return on_farewell(peer, "refused this node: " + refusal->reason, true);
    return fail(Error(ErrorKind::refused,
                      "node " + std::to_string(peer.address.node.value()) + " refused this node: " + refusal->reason)
                    .fix("start this node again; refused again, compare `spindrift config show --effective` of both"));
  }
  if (const auto* removed = std::get_if<Removed>(&*message))
    return on_farewell(peer, "removed this node: " + removed->reason, true);
  if (const auto* stopped = std::get_if<Stopped>(&*message)) return on_farewell(peer, "stopped: " + stopped->reason, false);
  if (peer.state != Peer::State::agreed) return accuse(peer, "it spoke before its hello");
  if (auto* notice = std::get_if<ViewNotice>(&*message)) {
    if (state_ == MemberState::looking && concerns_self(*notice) && may_follow(peer.address.node, peer.incarnation))
      notice_ = std::move(*notice);
    return;
  }
  if (auto* founding = std::get_if<Founding>(&*message)) return on_founding(peer, std::move(*founding));
  if (const auto* promise = std::get_if<Promise>(&*message)) return on_promise(peer, *promise);
  if (std::holds_alternative<Settled>(*message)) {
    peer.settled = true;
    return note_candidates();
  }
  if (const auto* row = std::get_if<RowNotice>(&*message)) {
    peer.announced = {row->view, std::nullopt};
  } else if (const auto* bulk = std::get_if<BulkNotice>(&*message)) {
    peer.announced = {bulk->view, bulk->subgroup};
  } else if (const auto* piece = std::get_if<StatePiece>(&*message)) {
    const bool steady = epoch() != nullptr && epoch()->change().state() == ViewChange::State::steady;
    if (steady && !transfers_.on_piece(peer.address.node, *piece)) accuse(peer, "it sent a piece of a state out of turn");
  } else if (const auto* ack = std::get_if<StateAck>(&*message)) {
    transfers_.on_ack(peer.address.node, *ack);
  } else if (const auto* own = std::get_if<PrivateMessage>(&*message)) {
    if (rank_of(peer)) upcalls_.on_private(peer.address.node, own->bytes);
  }
}

void Member::on_hello(Peer& peer, const Hello& hello) {
  if (peer.state != Peer::State::greeted || hello.node != peer.address.node) {
    return accuse(peer, "it sent a hello out of turn or under another node id");
  }
  const Join who{hello.node, hello.incarnation};
  if (std::find(removed_.begin(), removed_.end(), who) != removed_.end())
    return refuse(peer, "it was removed from the group");
  peer.incarnation = hello.incarnation;
  peer.fresh = hello.fresh;
  peer.settled = false;
  Epoch* const present = epoch();
  if (present != nullptr) {
    suspect_if_older(peer);
    if (!present->view().rank_of(hello.node) && !hello.fresh && hello.view <= present->id()) {
      return refuse(peer, "the group went on without it");
    }
  }
  std::erase(gone_, who);
  peer.state = Peer::State::agreed;
  if (rank_of(peer)) {
    notify(peer);
    offer_row(peer);
  }
  note_candidates();
  prefer_suitor(peer);
}

// Who hears of a node's later start knows that the one in the view is over.
void Member::suspect_if_older(const Peer& peer) {
  const View& view = epoch()->view();
  const auto rank = view.rank_of(peer.address.node);
  if (rank && view.incarnations[rank->value()] < peer.incarnation)
    epoch()->change().suspect(*rank, "it has been started anew");
}

// The peer will not go on with this process, or not at all.
void Member::on_farewell(Peer& peer, const std::string& reason, bool turned_away) {
  part_from(peer, "it " + reason, turned_away);
  hang_up(peer);
}

// Not with this start of its: a member of this view is suspected, and one that is first met in a later view is there.
void Member::part_from(const Peer& peer, std::string reason, bool turned_away) {
  if (const auto rank = rank_of(peer)) return epoch()->change().suspect(*rank, std::move(reason), turned_away);
  if (peer.incarnation == 0) return;
  const Join who{peer.address.node, peer.incarnation};
  remember(removed_, who);
  if (turned_away) remember(turned_away_, who);
}

void Member::on_exposed(Peer& peer, const fabric::Event& event) {
  const auto access = peer.mappable ? fabric::Access::read : fabric::Access::write;
  const std::size_t most = offers_max * (1 + subgroup_count());  // of each view a row, and bulk rings for every subgroup
  if (peer.state != Peer::State::agreed || !peer.announced || event.access != access || peer.offers.size() == most) {
    return accuse(peer, "it exposed memory out of turn");
  }
  const Peer::What what = *std::exchange(peer.announced, std::nullopt);
  if (epoch() != nullptr && what.first < epoch()->id()) return fabric_.unmap(peer.id, event.region);
  peer.offers[what] = {event.region, event.region_bytes, event.access};
}

void Member::on_lost(Peer& peer, const std::string& reason) {
  log::info(log::Room::views, "connection lost", {{"node", self()}, {"peer", peer.address.node}, {"reason", reason}});
  if (const auto rank = rank_of(peer)) epoch()->change().suspect(*rank, reason);
  if (peer.incarnation != 0) remember(gone_, {peer.address.node, peer.incarnation});
  hang_up(peer, true);
}

// Forgets the connection, and takes up the node's next one if that is here already. A member asks for another only if this
// one broke: who was turned away would be so again, and its next start asks itself. Who looks for a group always asks.
void Member::hang_up(Peer& peer, bool broke) {
  if (peer.state != Peer::State::away) fabric_.disconnect(peer.id);
  for (std::size_t i = 0; i + 1 < epochs_.size(); ++i) {  // in older views it is waited for no more
    const View& view = epochs_[i]->view();
    const auto rank = view.rank_of(peer.address.node);
    if (rank && view.incarnations[rank->value()] == peer.incarnation) epochs_[i]->change().suspect(*rank, "connection lost");
  }
  Peer next;
  next.address = peer.address;
  next.suitors = std::move(peer.suitors);
  peer = std::move(next);
  founding_.reset();  // who comes back, the same or another, has to be asked again
  note_candidates();
  if (state_ == MemberState::failed || state_ == MemberState::left) return drop_suitors(peer);
  if (!peer.suitors.empty()) return adopt_suitor(peer);
  if (!broke && state_ != MemberState::looking) return;
  if (auto connecting = fabric_.connect(peer.address); !connecting) {
    log::error(log::Room::views, "cannot wait for a node to come back",
               {{"node", self()}, {"peer", peer.address.node}, {"reason", connecting.error().to_string()}});
  }
}

void Member::refuse(Peer& peer, std::string_view reason) {
  send_to(peer, encode(Refusal{std::string(reason)}));
  if (peer.state == Peer::State::away) return fabric_.disconnect(peer.id);  // nobody of the roster
  hang_up(peer);
}

void Member::accuse(Peer& peer, std::string reason) {
  log::warn(log::Room::views, "broken protocol", {{"node", self()}, {"peer", peer.address.node}, {"reason", reason}});
  if (const auto rank = rank_of(peer)) {
    epoch()->change().suspect(*rank, std::move(reason));
  } else if (state_ == MemberState::looking) {
    fail(Error(ErrorKind::refused,
               "node " + std::to_string(peer.address.node.value()) + " does not keep to the protocol: " + reason)
             .fix("run the same release of spindrift on all nodes"));
  } else {
    part_from(peer, {}, false);
    hang_up(peer);
  }
}

void Member::accuse(NodeId node, const std::string& what) {
  if (Peer* const peer = peer_of(node)) accuse(*peer, what);
}

// In parts, if it is larger than the fabric's largest.
void Member::send_to(const Peer& peer, std::vector<std::byte> message) {
  const std::size_t most = fabric_.traits().message_bytes_max;
  if (message.size() <= most) return post_to(peer, std::move(message));
  const std::span<const std::byte> bytes = message;
  for (std::size_t sent = 0; sent < bytes.size();) {
    const auto piece = bytes.subspan(sent, std::min(most - message_overhead_bytes, bytes.size() - sent));
    sent += piece.size();
    post_to(peer, encode(Part{bytes.size() - sent, piece}));
  }
}

void Member::post_to(const Peer& peer, std::vector<std::byte> message) {
  const fabric::Operation operation{.kind = fabric::Operation::Kind::send,
                                    .copied = true,
                                    .signaled = false,
                                    .peer = peer.id,
                                    .local = message.data(),
                                    .bytes = message.size(),
                                    .region = {},
                                    .offset = 0,
                                    .context = 0};
  if (auto posted = fabric_.post(std::span(&operation, 1)); !posted) {
    log::warn(log::Room::views, "could not send", {{"reason", posted.error().to_string()}});
  }
}

// Fresh processes that the present view does not count yet, and that are no earlier start of one that it counts.
void Member::note_candidates() {
  candidates_.clear();
  if (epochs_.empty()) return;
  for (const Peer& peer : peers_) {
    const auto rank = epoch()->view().rank_of(peer.address.node);
    const bool earlier = rank && peer.incarnation <= epoch()->view().incarnations[rank->value()];
    if (peer.state == Peer::State::agreed && peer.fresh && !peer.settled && !earlier) {
      candidates_.push_back({peer.address.node, peer.incarnation});
    }
  }
}

}  // namespace spindrift::views
