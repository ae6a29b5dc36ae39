// How a first view comes to be. The founder has heard of every founder that it is fresh; but what it heard may be over, and
// a group that it does not see may just have taken that process in. So it asks all of them for a promise, and founds when it
// has every one.
//
// The invariant to remember: who has promised itself to a founding goes into no other view, unless it is told of that by a
// process of the same founding. That one is in a view already: either it never made the promise, so the founding is void, or
// it was told likewise, by one that never did.
#include <algorithm>
#include <utility>

#include <spindrift/views/member.hpp>

namespace spindrift::views {

bool Member::sees_a_group() const {
  return std::any_of(peers_.begin(), peers_.end(),
                     [](const Peer& peer) { return peer.state == Peer::State::agreed && !peer.fresh; });
}

void Member::on_founding(Peer& peer, Founding founding) {
  const auto own = std::find(founding.members.begin(), founding.members.end(), self());
  const bool known = options_.founders.empty() || founding.members == options_.founders;
  const bool meant = known && own != founding.members.end() && own != founding.members.begin() &&
                     peer.address.node == founding.members.front() && peer.incarnation == founding.incarnations.front() &&
                     founding.incarnations[static_cast<std::size_t>(own - founding.members.begin())] == options_.incarnation;
  if (!meant) return accuse(peer, "it founds a group of others than are configured and here");
  if (state_ == MemberState::looking) asked_ = std::move(founding);
}

// A process that sees a group waits to be taken in: it promises nothing while that group is there.
bool Member::promise_when_free() {
  if (!asked_ || sees_a_group()) return false;
  const Founding asked = *std::exchange(asked_, std::nullopt);
  const Peer* const founder = peer_of(asked.members.front());
  if (founder->state != Peer::State::agreed || founder->incarnation != asked.incarnations.front()) return false;
  if (!promised_ || promised_->ballot < asked.ballot) promised_ = asked;
  send_to(*founder, encode(Promise{promised_->ballot, promised_->incarnations.front()}));
  return true;
}

// Another start of the founder may have had a higher ballot: this one takes a higher still.
void Member::on_promise(const Peer& peer, const Promise& promise) {
  if (!founding_) return;
  if (promise.ballot == founding_->ballot && promise.founder == options_.incarnation) {
    const auto place = std::find(founding_->members.begin(), founding_->members.end(), peer.address.node);
    if (place != founding_->members.end())
      promises_.add(Rank(static_cast<std::uint32_t>(place - founding_->members.begin())));
  } else if (promise.ballot >= founding_->ballot) {
    ballot_ = promise.ballot;
    founding_.reset();
  }
}

// Whether what this process told of a view can be believed, see above.
bool Member::may_follow(NodeId node, std::uint64_t incarnation) const {
  if (!promised_) return true;
  const auto place = std::find(promised_->members.begin(), promised_->members.end(), node);
  return place != promised_->members.end() &&
         promised_->incarnations[static_cast<std::size_t>(place - promised_->members.begin())] == incarnation;
}

// Takes up the view that this process was told of.
bool Member::follow_notice() {
  if (!notice_) return false;
  const ViewNotice notice = *std::exchange(notice_, std::nullopt);
  NewView news{notice.view, {}, {}, {}, notice.state_lost};
  for (const NodeId node : notice.view.members) {
    if (node != options_.self) news.joined.push_back(node);
  }
  install(notice.view, notice.loaded, std::move(news));
  return true;
}

// All founders as they are here, each of them fresh, if no group is: where one runs already, it takes this node in.
std::optional<Founding> Member::complete() const {
  if (options_.founders.empty() || options_.founders.front() != self() || sees_a_group()) return std::nullopt;
  Founding founding{.ballot = 0, .members = options_.founders, .incarnations = {options_.incarnation}};
  for (std::size_t i = 1; i < options_.founders.size(); ++i) {
    const auto peer = std::find_if(peers_.begin(), peers_.end(),
                                   [&](const Peer& each) { return each.address.node == options_.founders[i]; });
    if (peer == peers_.end() || peer->state != Peer::State::agreed || !peer->fresh) return std::nullopt;
    founding.incarnations.push_back(peer->incarnation);
  }
  return founding;
}

// The first of the founders founds, when all of them are here, none has seen a view, and all have promised to see no other.
bool Member::found_when_complete() {
  std::optional<Founding> founding = complete();
  if (!founding) {
    founding_.reset();
    return false;
  }
  bool progress = false;
  if (!founding_) {
    founding->ballot = ++ballot_;
    founding_ = std::move(founding);
    promises_ = RankSet::first(1);
    for (const Peer& peer : peers_) {
      const auto& members = founding_->members;
      if (std::find(members.begin(), members.end(), peer.address.node) != members.end()) send_to(peer, encode(*founding_));
    }
    progress = true;
  }
  if (promises_ != RankSet::first(founding_->members.size())) return progress;
  found();
  return true;
}

void Member::found() {
  View view;
  view.members = founding_->members;
  view.incarnations = founding_->incarnations;
  founding_.reset();
  view.subgroups = options_.layout(view.members, nullptr);
  std::vector<RankSet> loaded(view.subgroups.size());
  for (std::size_t s = 0; s < loaded.size(); ++s) {
    for (const NodeId node : view.subgroups[s].members) loaded[s].add(*view.rank_of(node));
  }
  NewView news{view, {}, {}, {}, {}};
  for (const NodeId node : view.members) {
    if (node != self()) news.joined.push_back(node);
  }
  install(view, std::move(loaded), std::move(news));
}

}  // namespace spindrift::views
