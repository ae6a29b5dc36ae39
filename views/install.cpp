// From one view to the next: what the decree says is delivered, the next epoch's rows are exchanged, the old one is let go.
#include <algorithm>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/views/member.hpp>

namespace spindrift::views {

// The view's end is decided: deliver what it says, and when the application is through with it, go on to the next, or go.
// False: nothing to do here now.
bool Member::conclude() {
  Epoch& old = *epoch();
  const Decree& decree = old.change().decree();
  if (decree.failed.contains(old.self())) {
    fail(removed_error(old, {}));
    return true;
  }
  if (!std::exchange(finished_, true)) old.finish(now_);
  if (!deliveries_.handed_over()) return false;
  sends_.report_dropped(old);
  if (decree.left.contains(old.self())) {
    departing_ = true;
    decided_at_ = now_;
    return true;
  }
  sends_.keep_leftovers(old);

  View next = successor(old.view(), decree, options_.layout);
  NewView news{next, {}, {}, {}, {}};
  std::vector<RankSet> loaded = loaded_in(next, old.view(), old.loaded(), decree, news.state_lost);
  for (const Join& join : decree.joins) news.joined.push_back(join.node);
  for (std::uint32_t i = 0; i < old.view().members.size(); ++i) {
    const NodeId node = old.view().members[i];
    if (decree.left.contains(Rank(i))) news.left.push_back(node);
    if (!decree.failed.contains(Rank(i))) continue;
    std::string reason = "another member suspected it";
    for (const ViewChange::Suspicion& suspicion : old.change().suspicions()) {
      if (suspicion.rank == Rank(i)) reason = suspicion.reason;
    }
    news.failed.push_back({node, std::move(reason)});
  }
  install(next, std::move(loaded), std::move(news));
  return true;
}

void Member::install(View view, std::vector<RankSet> loaded, NewView news) {
  const sst::RowLayout layout(view, self());
  auto row = fabric_.allocate(layout.bytes(), "row");
  if (!row) return fail(std::move(row).error());
  auto bulk = allocate_bulk(view);
  if (!bulk) return fail(std::move(bulk).error());
  auto next = std::make_unique<Epoch>(std::move(view), std::move(loaded), self(), *row, std::move(*bulk), options_.policy,
                                      *options_.stepper, options_.partition_safety, deliveries_, counters_);
  // In the own first view only this process is known to be new: the others may have been there.
  deliveries_.begin_view(next->view(), next->loaded(), epochs_.empty() ? std::vector{self()} : news.joined);
  transfers_.begin_view(next->view(), next->loaded(), deliveries_);
  epochs_.push_back(std::move(next));
  Epoch& present = *epoch();
  state_lost_ = news.state_lost;
  revoked_ = 0;
  watch_.begin_view(present.view().members.size(), now_);
  sends_.begin_view();
  finished_ = false;
  enter(MemberState::installing);
  log::info(log::Room::views, "view", {{"node", self()}, {"id", present.id()}, {"members", present.view().members.size()}});
  for (std::uint32_t i = 0; i < present.view().members.size(); ++i) {
    const Join who{present.view().members[i], present.view().incarnations[i]};
    const auto is_in = [&](const std::vector<Join>& list) { return std::find(list.begin(), list.end(), who) != list.end(); };
    if (is_in(gone_)) watch_.expect_back(Rank(i), now_);
    if (is_in(removed_)) present.change().suspect(Rank(i), "removed before", is_in(turned_away_));
    if (is_in(gone_) && !watch_.judges()) present.change().suspect(Rank(i), "connection lost");
  }
  present.change().tell_all();
  for (Peer& peer : peers_) {
    prefer_suitor(peer);
    suspect_if_older(peer);
    std::erase_if(peer.offers, [&](const auto& offer) {
      if (offer.first.first >= present.id()) return false;
      fabric_.unmap(peer.id, offer.second.region);
      return true;
    });
    if (peer.state != Peer::State::agreed || !rank_of(peer)) continue;
    notify(peer);
    offer_row(peer);
  }
  if (state_ == MemberState::failed) return;
  if (epochs_.size() == 1) tell_settled();
  note_candidates();
  upcalls_.on_view(
      {present.view(), std::move(news.joined), std::move(news.left), std::move(news.failed), std::move(news.state_lost)});
  deliveries_.pass_boundaries();
}

// Who has this process's hello takes it for fresh, and would take it in when the view that it was in is out of sight.
void Member::tell_settled() {
  const auto message = encode(Settled{epoch()->id()});
  for (const Peer& peer : peers_) {
    const bool greeted = peer.state == Peer::State::greeted || peer.state == Peer::State::agreed;
    if (greeted && !rank_of(peer)) send_to(peer, message);
    for (const Peer::Suitor& suitor : peer.suitors) {
      Peer somebody;
      somebody.id = suitor.id;
      send_to(somebody, message);
    }
  }
}

// Tells a newcomer of the view that takes it in; from then on it is nobody's candidate any more.
void Member::notify(Peer& peer) {
  if (std::exchange(peer.fresh, false)) send_to(peer, encode(ViewNotice{epoch()->view(), epoch()->loaded(), state_lost_}));
}

// Lets a member of the present view read this row in place, or gives it a mirror to write its own row into.
void Member::offer_row(Peer& peer) {
  Epoch& present = *epoch();
  const Rank rank = *rank_of(peer);
  Epoch::Line& line = present.line(rank);
  if (line.offered || present.change().suspected().contains(rank)) return;
  fabric::RegionKey offered = present.row().key;
  if (!peer.mappable) {
    auto mirror = fabric_.allocate(present.table().layout(rank).bytes(), "mirror");
    if (!mirror) return fail(std::move(mirror).error());
    line.mirror = *mirror;
    offered = mirror->key;
  }
  if (!offer_bulk(peer)) return;
  line.offered = true;
  send_to(peer, encode(RowNotice{present.id()}));
  const auto access = peer.mappable ? fabric::Access::read : fabric::Access::write;
  if (auto exposed = fabric_.expose(peer.id, offered, access); !exposed) fail(std::move(exposed).error());
}

bool Member::attach_rows() {
  Epoch& present = *epoch();
  bool any = false;
  for (Peer& peer : peers_) {
    const auto rank = rank_of(peer);
    if (!rank || present.table().attached(*rank) || present.change().suspected().contains(*rank)) continue;
    if (!present.line(*rank).offered || !peer.offers.contains({present.id(), std::nullopt})) continue;
    attach(*rank, peer);
    any = true;
  }
  return any;
}

void Member::attach(Rank rank, Peer& peer) {
  Epoch& present = *epoch();
  const Peer::What what{present.id(), std::nullopt};
  const Peer::Offer offer = peer.offers[what];
  watch_.hear(rank, now_);
  peer.offers.erase(what);
  const std::uint64_t needed = present.table().layout(peer.mappable ? rank : present.self()).bytes();
  if (offer.bytes < needed) return present.change().suspect(rank, "it exposed a row of the wrong size");
  present.line(rank).theirs = {peer.id, offer.region};
  attach_bulk(rank, peer);
  if (present.change().suspected().contains(rank)) return;
  if (!peer.mappable) {
    present.table().attach_mirrored(rank, present.line(rank).mirror->memory, peer.id, offer.region);
    return;
  }
  auto row = fabric_.map(peer.id, offer.region);
  if (!row) return present.change().suspect(rank, "its row cannot be mapped: " + row.error().to_string());
  present.table().attach_mapped(rank, *row);
}

// Once every member of a view reads all its rows, nobody needs an older one, except for own messages still to be sent again,
// and for who left it and does not know yet.
void Member::drop_old_epochs() {
  const auto useful = [&](Epoch* candidate) {
    return sends_.uses(*candidate) || candidate == epoch() || !candidate->leavers_know(now_, options_.suspect_after);
  };
  std::erase_if(epochs_, [&](const std::unique_ptr<Epoch>& old) {
    if (useful(old.get())) return false;
    forget(*old);
    return true;
  });
}

void Member::forget(Epoch& old) {
  for (const Epoch::Line& line : old.lines()) {
    if (line.theirs) fabric_.unmap(line.theirs->first, line.theirs->second);
    if (line.mirror) fabric_.release(line.mirror->key);
    for (const auto& [peer, region] : line.their_bulk) fabric_.unmap(peer, region);
  }
  for (const Epoch::Bulk& bulk : old.bulk()) {
    if (bulk.own) fabric_.release(bulk.own->key);
    if (bulk.mirrors) fabric_.release(bulk.mirrors->key);
  }
  fabric_.release(old.row().key);
}

}  // namespace spindrift::views
