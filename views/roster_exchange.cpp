// Messages about rosters. What speaks of another view is late: wishes are said again, and a proposal ends with its view.
#include <spindrift/views/roster_exchange.hpp>

#include <utility>

#include <spindrift/core/log.hpp>

namespace spindrift::views {

void RosterExchange::begin_view(const View& view) {
  wishes_.begin_view(view);
  links_.set_roster(view.roster, Links::Outsiders::go);
}

bool RosterExchange::on_message(Epoch* epoch, const PeerConnection& from, Message& message) {
  const auto rank = epoch == nullptr ? std::nullopt : rank_of(epoch->view(), from.who);
  if (const auto* notice = std::get_if<RosterNotice>(&message)) {
    if (epoch == nullptr) on_notice(notice->roster);
  } else if (const auto* request = std::get_if<RosterRequest>(&message)) {
    if (rank) epoch->rosters().request(request->changes);
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
void RosterExchange::on_notice(const Roster& roster) {
  if ((told_ && *told_ >= roster.edition) || !roster.admits(self_)) return;
  told_ = roster.edition;
  links_.set_roster(roster, Links::Outsiders::stay);
}

void RosterExchange::remember(Roster roster, const Roster& file) {
  if (roster.edition == 0) return;
  for (const NodeAddress& each : file.nodes) {
    if (!roster.contains(each.node) && roster.nodes.size() < roster_count_max) roster.nodes.push_back(each);
  }
  on_notice(roster);
}

void RosterExchange::on_proposal(Epoch& epoch, Rank from, RosterProposal proposal) {
  const Digest digest = proposal.roster.digest();
  const NodeId proposer = epoch.view().members[from.value()];
  if (!epoch.rosters().hold(from, std::move(proposal.roster))) {
    links_.accuse(proposer, "it proposed a roster out of turn");
    return;
  }
  links_.send(proposer, encode(RosterHeld{epoch.id(), digest}));
  expect(*epoch.rosters().held(digest));
}

bool RosterExchange::step(Epoch& epoch) {
  const View& view = epoch.view();
  const NodeId leader = view.members[epoch.change().leader().value()];
  std::vector<RosterChange> unsaid = wishes_.take_unsaid();
  const bool any = !unsaid.empty();
  if (leader != self_) {
    if (any) links_.send(leader, encode(RosterRequest{std::move(unsaid)}));
    return any;
  }
  epoch.rosters().request(unsaid);
  const std::optional<Roster> proposal = epoch.rosters().propose();
  if (!proposal) return any;
  log::info(log::Room::views, "proposes a roster",
            {{"node", self_}, {"edition", proposal->edition}, {"nodes", proposal->nodes.size()}});
  for (const NodeId node : view.members) {
    if (node != self_) links_.send(node, encode(RosterProposal{view.id, *proposal}));
  }
  expect(*proposal);
  return true;
}

// A node that may be in the next view may call from now on: some members may go on to that before others.
void RosterExchange::expect(const Roster& roster) {
  links_.expect(roster);
  if (roster.admits(self_) || std::exchange(to_leave_, true)) return;
  if (roster.is_drained(self_)) {
    log::warn(log::Room::views, "leaves: this node is drained", {{"node", self_}});
  } else {
    log::warn(log::Room::views, "leaves: the group's roster is to be without this node", {{"node", self_}});
  }
}

}  // namespace spindrift::views
