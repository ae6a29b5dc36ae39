// Connections from their beginning to their end, and what is said about them.
#include <spindrift/views/links.hpp>

#include <algorithm>
#include <utility>

#include <spindrift/core/log.hpp>

namespace spindrift::views {
namespace {

/// Why the peer's group does not take this process, if that is what the message says.
std::optional<std::string> refusal_in(const Message& message) {
  if (std::holds_alternative<Drained>(message)) return "it is drained";
  const auto* const refusal = std::get_if<Refusal>(&message);
  return refusal == nullptr ? std::nullopt : std::optional(refusal->reason);
}

/// The next step for whoever started the process that this message refuses.
std::string way_in(const Message& refusal, const Peer& from, NodeId self) {
  if (std::holds_alternative<Drained>(refusal)) {
    return "let it in again, on the host of any member, and then start it: spindrift group drain " +
           std::to_string(self.value()) + " --undo";
  }
  if (const auto reason = refusal_in(refusal); reason && reason->starts_with(group_speaks))
    return "run the release of spindrift that the group's members run; an earlier one can found it anew when all have "
           "stopped";
  if (from.state == Peer::State::apart) return how_to_compare();
  return "see that it is in the group's roster (spindrift group roster), let it in if it is not (spindrift group add), and "
         "start it again; if it is, " + how_to_compare();
}

// A node's later start means that the one in the view is over.
void suspect_if_older(const View& view, const Peer& peer, std::deque<LinkEvent>& consequences) {
  const auto rank = view.rank_of(peer.address.node);
  if (rank && view.incarnations[rank->value()] < peer.incarnation)
    consequences.push_back(LinkSuspects{*rank, "it has been started anew"});
}

// A process's views have growing ids: one whose first view is a later one never comes into this. So it is with a founder
// whose founding was overtaken before the others heard of it.
void suspect_if_elsewhere(const View& view, const Peer& peer, std::deque<LinkEvent>& consequences) {
  const auto rank = rank_of(view, peer.who());
  if (rank && peer.first_view && *peer.first_view > view.id)
    consequences.push_back(LinkSuspects{*rank, "its first view is a later one"});
}

// A later view may be one without this process: the member judges what follows from that.
void note_view(const View* present, const Join& who, ViewId view, bool parted, std::deque<LinkEvent>& consequences) {
  if (present == nullptr || view <= present->id) return;
  consequences.push_back(LinkOvertaken{who, view, parted || !rank_of(present, who)});
}

}  // namespace

fabric::Event* FabricEvents::next() {
  if (!kept_.empty()) {
    of_kept_ = std::move(kept_.front());
    kept_.pop_front();
    return &of_kept_;
  }
  while (at_ == count_) {
    if (count_ < polled_.size()) {
      at_ = count_ = polled_.size();
      return nullptr;
    }
    at_ = 0;
    count_ = fabric_.poll(polled_);
  }
  return &polled_[at_++];
}

void FabricEvents::hear_first(std::vector<fabric::Event> events) {
  for (fabric::Event& event : events) kept_.push_back(std::move(event));
}

Links::Links(Join self, std::span<const fabric::Address> roster, const GroupIdentity& identity,
             const std::vector<SubgroupView>& shapes, fabric::Fabric& fabric, const Founding& founding)
    : self_(self),
      identity_(identity),
      decode_([this, &shapes](std::span<const std::byte> bytes, const ConnectionWords& words) {
        return decode(bytes, identity_, shapes, self_.node, words);
      }),
      fabric_(fabric),
      founding_(founding),
      events_(fabric),
      peers_(self.node, roster) {}

Result<void> Links::start() {
  for (const Peer& peer : peers_) SPINDRIFT_TRY(fabric_.connect(peer.address));
  return {};
}

// A guest has called, and is called again from now on if its connection breaks.
void Links::seek(std::span<const NodeId> present) {
  for (const NodeId node : present) {
    Peer* peer = peers_.find(node);
    if (peer == nullptr) peer = peers_.host(node);
    if (peer == nullptr || std::exchange(peer->place, Peer::Place::listed) == Peer::Place::listed) continue;
    if (peer->state == Peer::State::away) ask(*peer);
  }
}

// Behind the beginning of a view its members are met one by one: what follows for one comes before the next.
std::optional<LinkEvent> Links::next_consequence() {
  while (consequences_.empty() && to_meet_ < peers_.size()) {
    Peer& peer = peers_[to_meet_++];
    prefer_pending(peer);
    suspect_if_older(*view_, peer, consequences_);
    suspect_if_elsewhere(*view_, peer, consequences_);
    const bool is_member = peer.state == Peer::State::agreed && rank_of(view_, peer.who());
    if (is_member) consequences_.push_back(LinkAgreed{peer.connection()});
  }
  if (consequences_.empty()) return std::nullopt;
  LinkEvent event = std::move(consequences_.front());
  consequences_.pop_front();
  return event;
}

std::optional<LinkEvent> Links::next() {
  if (Peer* const met = met_ && consequences_.empty() ? peers_.find(*met_) : nullptr; met != nullptr) {
    met_.reset();
    note_candidates();
    prefer_pending(*met);
  }
  if (auto event = next_consequence()) return event;
  fabric::Event* const event = events_.next();
  if (event == nullptr) return std::nullopt;
  on_event(*event);
  if (consequences_.empty()) return LinkHandled{};
  return next_consequence();
}

void Links::on_event(fabric::Event& event) {
  if (state_ == State::ended) {
    if (event.kind == fabric::Event::Kind::connected) fabric_.disconnect(event.peer);
    return;
  }
  if (event.kind == fabric::Event::Kind::connected) return on_connected(event);
  if (event.kind == fabric::Event::Kind::ended) {
    consequences_.push_back(LinkRefused{event.reason.value_or(Error(ErrorKind::resource, "the fabric cannot go on"))});
    return;
  }
  if (event.kind == fabric::Event::Kind::died) {
    consequences_.push_back(LinkDied{event.peer, event.complete});
    return;
  }
  if (on_pending(event)) return;
  Peer* const peer = peers_.find(event.peer);
  if (peer == nullptr) return;  // a peer that was refused or hung up on; its last words do not matter
  switch (event.kind) {
    case fabric::Event::Kind::connected:
    case fabric::Event::Kind::completed: break;
    case fabric::Event::Kind::message: on_message(*peer, event.bytes); break;
    case fabric::Event::Kind::exposed:
      if (peer->state != Peer::State::agreed) return accuse(*peer, "it exposed memory out of turn");
      consequences_.push_back(LinkExposed{peer->connection(), {event.region, event.region_bytes, event.access}});
      break;
    case fabric::Event::Kind::lost:
      on_lost(*peer, event.reason ? event.reason->to_string() : "connection lost", event.dying ? End::died : End::broke);
      break;
    case fabric::Event::Kind::died:
    case fabric::Event::Kind::ended: break;  // above
  }
}

void Links::on_connected(const fabric::Event& event) {
  Peer* peer = peers_.find(event.node);
  // A process that looks for a group may have an old file, and does not know whom the group takes in by now.
  if (peer == nullptr && state_ == State::looking) peer = peers_.host(event.node);
  const bool fresh = view_ == nullptr;
  const ViewId binding = fresh ? founding_.binding(peers_.met()) : ViewId(0);
  const Hello hello{self_.node, self_.incarnation, fresh, fresh ? binding : view_->id, identity_.versions};
  const ConnectionWords words{event.words[0], event.words[1]};
  if (peer == nullptr || peer->place == Peer::Place::struck) {
    const bool drained = !fresh && view_->roster.is_drained(event.node);
    consequences_.push_back(
        LinkTurnedAway{event.node, drained ? "its node is drained" : "this group knows no node with its id"});
    // A hello of this process would make a member say that the two are linked, and this one would be taken into a view of
    // members that it does not hear. A refusal could end all of a group that is being founded.
    if (fresh) return;
    // The caller may have parted from this member, and waits, or goes on with others, and is to know of this view.
    send_in_parts(fabric_, event.peer, encode(identity_, hello, event.node, words));
    const Refusal unknown{std::string(unknown_node)};
    send_in_parts(fabric_, event.peer, encode(drained ? Message(Drained{}) : Message(unknown)));
    return fabric_.disconnect(event.peer);
  }
  send_in_parts(fabric_, event.peer, encode(identity_, hello, event.node, words));
  if (peer->state != Peer::State::away) {
    const auto oldest = peer->pending.add({event.peer, event.mappable, words, binding});
    if (oldest) fabric_.disconnect(*oldest);
    return;
  }
  peer->state = Peer::State::greeted;
  peer->id = event.peer;
  peer->mappable = event.mappable;
  peer->words = words;
  peer->bindings.own = binding;
}

void Links::on_message(Peer& peer, std::span<const std::byte> bytes) {
  auto message = decode_(bytes, peer.words);
  if (peer.state == Peer::State::apart) {
    if (message && refusal_in(*message)) on_refusal(peer, *message);
    return;
  }
  if (!message) return accuse(peer, "it sent a message that is none of this protocol");
  if (const auto* part = std::get_if<MessagePart>(&*message)) return on_part(peer, *part);
  if (const auto* hello = std::get_if<Hello>(&*message)) return on_hello(peer, *hello);
  if (on_refusal(peer, *message)) return;
  if (peer.state != Peer::State::agreed) return accuse(peer, "it spoke before its hello");
  if (std::holds_alternative<RosterNotice>(*message) && peer.standing == Peer::Standing::fresh)
    return accuse(peer, "it speaks for a group that it is not in");
  if (auto* word = std::get_if<LinkedCandidates>(&*message)) {
    peer.linked = std::move(word->candidates);
  } else if (const auto* settled = std::get_if<Settled>(&*message)) {
    if (peer.standing == Peer::Standing::fresh) peer.standing = Peer::Standing::settled;
    peer.first_view = settled->view;
    note_view(view_, peer.who(), settled->view, false, consequences_);
    if (view_ != nullptr) suspect_if_elsewhere(*view_, peer, consequences_);
  } else {
    consequences_.push_back(LinkHeard{peer.connection(), std::move(*message)});
    return;
  }
  note_candidates();
}

// The whole message lies where its parts were, as long as its event.
void Links::on_part(Peer& peer, const MessagePart& part) {
  const std::size_t most = peer.state == Peer::State::agreed ? parted_message_bytes_max : stranger_message_bytes_max;
  switch (peer.parts.add(part, most)) {
    case PartedMessage::State::incomplete: return;
    case PartedMessage::State::too_large: return accuse(peer, "it sent a part of a message that is too large");
    case PartedMessage::State::whole: break;
  }
  whole_ = peer.parts.take();
  on_message(peer, whole_);
}

// The peer will not go on with this process, or not at all. A running group does not stop for a stranger. Nor does a process
// that was sent here by a roster with its node for one whose group does not know that: it may be another of the same name.
bool Links::on_refusal(Peer& peer, const Message& message) {
  const std::string node = "node " + std::to_string(peer.address.node.value());
  const auto farewell = [&](const std::string& reason, bool turned_away) {
    part_from(peer, "it " + reason, turned_away);
    hang_up(peer);
    return true;
  };
  if (const auto* removed = std::get_if<Removed>(&message)) return farewell("removed this node: " + removed->reason, true);
  if (const auto* stopped = std::get_if<Stopped>(&message)) {
    partings_.stop(peer.who());
    return farewell("stopped: " + stopped->reason, false);
  }
  if (const auto* mismatch = std::get_if<Mismatch>(&message)) {
    if (state_ == State::looking) {
      peer.set_apart(mismatch->fresh_as, mismatch->error.message());
      consequences_.push_back(LinkTurnedAway{peer.address.node, peer.apart.reason});
    } else {
      refuse(peer, mismatch->error.message());
    }
    return true;
  }
  const auto reason = refusal_in(message);
  if (!reason) return false;
  if (state_ == State::looking && founding_.only_follows() && *reason == unknown_node) {
    peer.set_apart(0, std::string(unknown_node));
    consequences_.push_back(LinkTurnedAway{peer.address.node, peer.apart.reason});
    return true;
  }
  if (state_ != State::looking) return farewell("refused this node: " + *reason, true);
  consequences_.push_back(LinkRefused{
      Error(ErrorKind::refused, node + " refused this node: " + *reason).fix(way_in(message, peer, self_.node))});
  return true;
}

void Links::on_hello(Peer& peer, const Hello& hello) {
  const bool expected = peer.state == Peer::State::greeted || peer.state == Peer::State::spoke;
  if (!expected || hello.node != peer.address.node) {
    return accuse(peer, "it sent a hello out of turn or under another node id");
  }
  const Join who{hello.node, hello.incarnation};
  const bool parted = partings_.parted_from(who);
  if (!hello.fresh) note_view(view_, who, hello.view, parted, consequences_);
  if (parted)
    return turn_away(peer, Refusal{"it was removed from the group"}, "it was removed from the group", End::for_good);
  peer.incarnation = hello.incarnation;
  peer.versions = hello.versions;
  peer.bindings.peer = hello.fresh ? hello.view : ViewId(0);
  peer.standing = hello.fresh ? Peer::Standing::fresh : Peer::Standing::member;
  if (view_ != nullptr) {
    suspect_if_older(*view_, peer, consequences_);
    if (!view_->rank_of(hello.node) && !hello.fresh && hello.view <= view_->id) {
      return refuse(peer, "the group went on without it");
    }
    if (const auto reason = keeps_out(*view_, peer)) return refuse(peer, *reason);
  }
  partings_.regain(peer.who());
  peer.state = Peer::State::agreed;
  if (rank_of(view_, peer.who())) consequences_.push_back(LinkAgreed{peer.connection()});
  met_ = peer.address.node;
  if (view_ != nullptr && hello.fresh) send_in_parts(fabric_, peer.id, encode(RosterNotice{view_->roster}));
}

// Not with this start of its: a member of this view is suspected, and one that is first met in a later view is there.
void Links::part_from(Peer& peer, std::string reason, bool turned_away) {
  if (const auto rank = rank_of(view_, peer.who())) {
    return consequences_.push_back(LinkSuspects{*rank, std::move(reason), turned_away});
  }
  if (peer.incarnation != 0) partings_.part(peer.who(), turned_away, std::move(reason));
}

void Links::on_lost(Peer& peer, const std::string& reason, End end) {
  log::info(log::Room::views, "connection lost", {{"node", self_.node}, {"peer", peer.address.node}, {"reason", reason}});
  if (const auto rank = rank_of(view_, peer.who())) consequences_.push_back(LinkSuspects{*rank, reason});
  if (peer.incarnation != 0) partings_.lose(peer.who());
  if (peer.incarnation != 0 && end == End::died) partings_.die(peer.who());
  hang_up(peer, end);
}

// Forgets the connection, and takes up the node's next one if that is here already. A member asks for another only if this
// one broke: a node that was turned away would be so again, and its next start asks itself. A process that looks for a group
// always asks, but for one that it had set apart, or from which it has parted: the two would turn each other away again and
// again.
void Links::hang_up(Peer& peer, End end) {
  const bool is_over = peer.state == Peer::State::apart || end == End::for_good;
  if (peer.state != Peer::State::away) fabric_.disconnect(peer.id);
  consequences_.push_back(LinkOver{peer.connection(), end == End::died});
  Peer next;
  next.address = peer.address;
  next.place = peer.place;
  next.mappable = peer.mappable;
  next.pending = std::move(peer.pending);
  peer = std::move(next);
  note_candidates();
  if (state_ == State::ended || peer.place == Peer::Place::struck) return peer.pending.end_all(fabric_);
  if (!peer.pending.empty()) return adopt_pending(peer);
  if (is_over || peer.place != Peer::Place::listed) return;
  if (end != End::here || state_ == State::looking) ask(peer);
}

void Links::ask(const Peer& peer) {
  if (auto connecting = fabric_.connect(peer.address); !connecting) {
    log::error(log::Room::views, "cannot wait for a node to come back",
               {{"node", self_.node}, {"peer", peer.address.node}, {"reason", connecting.error().to_string()}});
  }
}

void Links::refuse(Peer& peer, std::string_view reason) {
  turn_away(peer, Refusal{std::string(reason)}, std::string(reason));
}

void Links::turn_away(Peer& peer, const Message& refusal, std::string reason, End end) {
  send_in_parts(fabric_, peer.id, encode(refusal));
  consequences_.push_back(LinkTurnedAway{peer.address.node, std::move(reason)});
  hang_up(peer, end);
}

void Links::accuse(Peer& peer, std::string reason) {
  log::warn(log::Room::views, "a peer breaks the protocol, or runs another program",
            {{"node", self_.node}, {"peer", peer.address.node}, {"reason", reason}});
  if (const auto rank = rank_of(view_, peer.who())) return consequences_.push_back(LinkSuspects{*rank, std::move(reason)});
  if (state_ == State::looking) {
    consequences_.push_back(LinkOver{peer.connection()});
    peer.set_apart(0, "it does not keep to the protocol: " + reason);
    consequences_.push_back(LinkTurnedAway{peer.address.node, peer.apart.reason});
    return;
  }
  consequences_.push_back(LinkTurnedAway{peer.address.node, std::move(reason)});
  part_from(peer, {}, false);
  hang_up(peer);
}

bool is_over(const Links& links, const Join& who) {
  const Peer* const peer = links.peers().find(who.node);
  const bool started_anew = peer != nullptr && peer->incarnation > who.incarnation;
  return started_anew || links.partings().died(who) || links.partings().stopped(who);
}

}  // namespace spindrift::views
