// Messages about rosters. What speaks of another view is late: wishes are said again, and a proposal ends with its view.
#include <spindrift/views/roster_exchange.hpp>

#include <algorithm>
#include <utility>

#include <spindrift/core/log.hpp>

namespace spindrift::views {
namespace {

// A process without a view has no use for the rest, which may be long.
Roster addresses_of(const Roster& roster) { return {roster.edition, roster.nodes, roster.drained}; }

}  // namespace

void RosterExchange::begin_view(const View& view) {
  told_.clear();
  latest_.reset();
  in_force_.reset();
  wishes_.begin_view(view);
  const Digest& filed = view.roster.filed;
  says_file_sizes_ = !file_sizes_.empty() && filed != Digest() && digest_of(file_sizes_) != filed;
  owed_.clear();
  struck_ = false;
  links_.set_roster(view.roster, Links::Outsiders::go);
}

bool RosterExchange::on_message(Epoch* epoch, const PeerConnection& from, Message& message) {
  const auto rank = epoch == nullptr ? std::nullopt : rank_of(epoch->view(), from.who);
  if (const auto* notice = std::get_if<RosterNotice>(&message)) {
    if (epoch == nullptr) on_notice(from.id, notice->roster);
  } else if (const auto* request = std::get_if<RosterRequest>(&message)) {
    if (rank) on_request(*epoch, *rank, request->changes);
  } else if (auto* file = std::get_if<FileSizes>(&message)) {
    if (rank && file->view == epoch->id()) on_file(*epoch, *rank, std::move(file->sizes));
  } else if (auto* proposal = std::get_if<RosterProposal>(&message)) {
    if (rank && proposal->view == epoch->id()) on_proposal(*epoch, *rank, std::move(*proposal));
  } else if (const auto* held = std::get_if<RosterHeld>(&message)) {
    if (rank && held->view == epoch->id()) epoch->rosters().on_held(*rank, held->roster);
  } else {
    return false;
  }
  return true;
}

// One that does not admit this node is of no use to it: who comes too early is turned away, and starts again.
void RosterExchange::on_notice(fabric::PeerId by, const Roster& roster) {
  if (!roster.admits(self_)) return;
  std::erase_if(told_, [by](const Told& each) { return each.by == by; });
  told_.push_back({by, addresses_of(roster)});
  go_by(told_.back().roster);
}

void RosterExchange::on_over(const PeerConnection& with) {
  const auto of_it = [&with](const Told& each) { return each.by == with.id; };
  if (std::erase_if(told_, of_it) > 0) go_by(*latest_);
}

void RosterExchange::remember(Roster roster, const Roster& file) {
  if (roster.edition == 0) return;
  for (const NodeAddress& each : file.nodes) {
    if (!roster.contains(each.node) && roster.nodes.size() < roster_count_max) roster.nodes.push_back(each);
  }
  if (roster.admits(self_)) go_by(addresses_of(roster));
}

// The word of those that are here comes before all that was heard or remembered of others: a group that is founded anew
// counts its editions from the beginning. Of several who are here some may be behind.
void RosterExchange::go_by(const Roster& heard) {
  if (!latest_ || latest_->edition < heard.edition) latest_ = heard;
  const auto highest = std::ranges::max_element(told_, {}, [](const Told& each) { return each.roster.edition; });
  const Roster& roster = highest == told_.end() ? *latest_ : highest->roster;
  if (in_force_ == roster) return;
  in_force_ = roster;
  links_.set_roster(roster, Links::Outsiders::stay);
}

// A leader that ends the view already, for a member which its roster strikes, keeps that one for no wish that it hears
// now: the view would end with nothing changed, and the next one likewise. The wish is said again in that.
void RosterExchange::on_request(Epoch& epoch, Rank from, std::span<const RosterChange> changes) {
  if (epoch.change().state() == ViewChange::State::steady) epoch.rosters().request(from, changes);
}

void RosterExchange::on_file(Epoch& epoch, Rank from, std::vector<RingSizes> sizes) {
  if (!epoch.rosters().on_file(from, std::move(sizes)))
    links_.accuse(epoch.view().members[from.value()], "it said sizes of rings that there cannot be");
}

void RosterExchange::on_proposal(Epoch& epoch, Rank from, RosterProposal proposal) {
  const Roster roster = proposal.roster;
  if (roster.version > speaks_.newest || !epoch.rosters().hold(from, std::move(proposal.roster))) {
    links_.accuse(epoch.view().members[from.value()], "it proposed a roster out of turn");
    return;
  }
  take(epoch, from, roster);
}

bool RosterExchange::step(Epoch& epoch, const Silence& silence) {
  bool said = say_file_sizes(epoch);
  said |= propose(epoch);
  return say_owed(epoch, silence) || said;
}

// The proposer holds it likewise, and says so to itself.
void RosterExchange::say_held(Epoch& epoch, Rank to, const Digest& roster) {
  if (to == epoch.self()) {
    epoch.rosters().on_held(to, roster);
  } else {
    links_.send(epoch.view().members[to.value()], encode(RosterHeld{epoch.id(), roster}));
  }
}

bool RosterExchange::say_owed(Epoch& epoch, const Silence& silence) {
  const std::size_t owed = owed_.size();
  std::erase_if(owed_, [&](const Owed& each) {
    bool silent = true;
    for (const SubgroupId id : each.silenced) silent = silence(id) && silent;
    if (!silent) return false;
    say_held(epoch, each.to, each.roster);
    return true;
  });
  return owed_.size() < owed;
}

// A member tells what its file says where that may matter: as long as all say what they said before, nobody tells anything.
bool RosterExchange::say_file_sizes(Epoch& epoch) {
  if (!std::exchange(says_file_sizes_, false)) return false;
  const Rank leader = epoch.change().leader();
  if (leader == epoch.self()) {
    on_file(epoch, leader, file_sizes_);
  } else {
    links_.send(epoch.view().members[leader.value()], encode(FileSizes{epoch.id(), file_sizes_}));
  }
  return true;
}

// Wishes that were not said yet, and what the leader makes of them.
bool RosterExchange::propose(Epoch& epoch) {
  const View& view = epoch.view();
  const NodeId leader = view.members[epoch.change().leader().value()];
  std::vector<RosterChange> unsaid = wishes_.take_unsaid();
  const bool any = !unsaid.empty();
  if (leader != self_) {
    if (any) links_.send(leader, encode(RosterRequest{std::move(unsaid)}));
    return any;
  }
  epoch.rosters().request(epoch.self(), unsaid);
  const auto spoken = links_.peers().spoken_by_all(view.members, speaks_);
  const std::optional<Roster> proposal = epoch.rosters().propose(spoken.value_or(view.roster.version));
  if (!proposal) return any;
  log::info(log::Room::views, "proposes a roster",
            {{"node", self_},
             {"edition", proposal->edition},
             {"version", proposal->version},
             {"nodes", proposal->nodes.size()},
             {"subgroups", added_count(proposal->added)}});
  for (const NodeId node : view.members) {
    if (node != self_) links_.send(node, encode(RosterProposal{view.id, *proposal}));
  }
  take(epoch, epoch.self(), *proposal);
  return true;
}

// A node that may be in the next view may call from now on: some members may go on to that before others.
void RosterExchange::take(Epoch& epoch, Rank from, const Roster& roster) {
  if (auto silenced = silenced_by(epoch.view(), roster, self_); silenced.empty()) {
    say_held(epoch, from, roster.digest());  // the view may end with the next look
  } else {
    owed_.push_back({from, roster.digest(), std::move(silenced)});
  }
  links_.expect(roster);
  struck_ |= !roster.admits(self_);
  if (roster.admits(self_) || std::exchange(to_leave_, true)) return;
  if (roster.is_drained(self_)) {
    log::warn(log::Room::views, "leaves: this node is drained", {{"node", self_}});
  } else {
    log::warn(log::Room::views, "leaves: the group's roster is to be without this node", {{"node", self_}});
  }
}

}  // namespace spindrift::views
