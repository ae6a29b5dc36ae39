// Passes values between a member's parts: events of links, a view that begins, states on their way.
#include <spindrift/views/member.hpp>

#include <algorithm>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/views/ending.hpp>
#include <spindrift/views/own_logs.hpp>
#include <spindrift/views/revivable.hpp>

namespace spindrift::views {
namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;  // clang before 17 deduces none for aggregates

std::vector<NodeId> behind(const Peers& peers, const View& view, const Versions& own) {
  std::vector<NodeId> behind;
  for (const NodeId node : view.members) {
    const Peer* const peer = peers.find(node);
    if (peer != nullptr && peer->state == Peer::State::agreed && peer->versions.newest < own.newest) behind.push_back(node);
  }
  std::ranges::sort(behind);
  return behind;
}

// Nodes whose members are gone have the places of their last connections; a member that is met later gets its own then.
void place_all(Epoch& present, const Peers& peers) {
  const View& view = present.view();
  for (std::uint32_t i = 0; i < view.members.size(); ++i) {
    const auto here = Rank(i) == present.self() ? true : peers.is_neighbor(view.members[i]);
    if (here) present.change().mandate().place(Rank(i), *here);
  }
}

void tell_named(Links& links, const View& view, const Revival& revival) {
  for (std::uint32_t i = 0; i < view.members.size(); ++i) {
    if (revival.members.contains(Rank(i))) links.send(view.members[i], encode(ReviveRequest{view.id, revival}));
  }
}

Error unspoken(std::uint32_t version, const Versions& spoken) {
  const std::string what = "the group speaks version " + std::to_string(version) + " of the protocol, and this release ";
  return Error(ErrorKind::refused, what + to_string(spoken))
      .fix("run the release of spindrift that the group's members run");
}

}  // namespace

// Does what follows for the other parts from what links did.
void Member::settle_links() {
  while (auto event = links_.next_consequence()) on_event(*event);
}

// One that has ended hangs up itself, and accuses nobody of that: its rows are read on.
void Member::on_event(LinkEvent& event) {
  const bool ended = state_ == MemberState::left || state_ == MemberState::failed;
  std::visit(Overloaded{
                 [](LinkHandled&) {},
                 [&](LinkSuspects& what) { epoch()->change().suspect(what.rank, std::move(what.reason), what.turned_away); },
                 [&](LinkAgreed& what) { meet(what.with); },
                 [&](LinkHeard& what) { on_message(what.from, what.message); },
                 [&](LinkExposed& what) {
                   if (!installation_.on_exposed(what.from, what.offer))
                     links_.accuse(what.from.who.node, "it exposed memory out of turn");
                 },
                 [&](LinkOver& what) {
                   installation_.on_lost(what.with, what.dying);
                   if (!ended) installation_.suspect_in_earlier(what.with.who);
                   beginning_.founding.on_lost();
                   rosters_.on_over(what.with);
                 },
                 [&](LinkDied& what) { installation_.on_died(what.id, what.complete); },
                 [&](LinkRefused& what) { stop(std::move(what.error)); },
                 [&](LinkOvertaken& what) {
                   const bool waits = state_ == MemberState::stranded;
                   auto over = overtaken(*epoch(), waits, what);
                   if (!over) return;
                   beginning_.record.note_overtaken(options_.incarnation);
                   stop(*std::move(over));
                 },
                 [&](LinkTurnedAway& what) { upcalls_.on_turned_away(what.node, what.reason); },
             },
             event);
}

void Member::on_message(const PeerConnection& from, Message& message) {
  const NodeId node = from.who.node;
  if (rosters_.on_message(epoch(), from, message)) return settle_links();
  if (hear_own_logs(epoch(), from, message)) return;
  if (auto* notice = std::get_if<ViewNotice>(&message)) {
    beginning_.founding.on_notice(from.who, std::move(*notice));
  } else if (auto* request = std::get_if<PromiseRequest>(&message)) {
    if (!beginning_.founding.on_request(from.who, std::move(*request)))
      links_.accuse(node, "it founds a group of others than are configured and here");
  } else if (const auto* promise = std::get_if<Promise>(&message)) {
    beginning_.founding.on_promise(node, *promise);
  } else if (auto* said = std::get_if<Remembered>(&message)) {
    beginning_.founding.on_remembered(from.who, std::move(*said));
  } else if (const auto* row = std::get_if<RowNotice>(&message)) {
    installation_.on_notice(from, {row->view, Installation::Part::row, {}});
  } else if (const auto* ring = std::get_if<RingNotice>(&message)) {
    installation_.on_notice(from, {ring->view, Installation::Part::ring, ring->subgroup});
  } else if (const auto* bulk = std::get_if<BulkNotice>(&message)) {
    installation_.on_notice(from, {bulk->view, Installation::Part::bulk, bulk->subgroup});
  } else if (const auto* word = std::get_if<Concluding>(&message)) {
    const auto rank = epoch() == nullptr ? std::nullopt : epoch()->on_concluding(from.who, word->view, word->subgroup);
    if (rank) watch_.hear(*rank);
  } else if (const auto* revive = std::get_if<ReviveRequest>(&message)) {
    const bool of_it = epoch() != nullptr && epoch()->id() == revive->view && rank_of(epoch()->view(), from.who);
    if (of_it && !RankSet::first(epoch()->view().members.size()).includes(revive->revival.members))
      return links_.accuse(node, "it names members that there are not, to revive the view");
    const auto again = of_it ? hear_revival(epoch()->change(), epoch()->self(), revive->revival) : std::nullopt;
    if (again) tell_named(links_, epoch()->view(), *again);
  } else if (const auto* piece = std::get_if<StatePiece>(&message)) {
    const bool steady = epoch() != nullptr && epoch()->change().state() == ViewChange::State::steady;
    if (steady && !transfers_.on_piece(node, *piece)) links_.accuse(node, "it sent a piece of a state out of turn");
  } else if (const auto* ack = std::get_if<StateAck>(&message)) {
    transfers_.on_ack(node, *ack);
  } else if (const auto* asked = std::get_if<LogRequest>(&message)) {
    transfers_.on_log_request(node, *asked);
  } else if (const auto* own = std::get_if<PrivateMessage>(&message)) {
    if (epoch() != nullptr && rank_of(epoch()->view(), from.who)) upcalls_.on_private(node, own->bytes);
  }
}

void Member::change_roster(const std::vector<RosterChange>& changes) {
  CHECK(epoch() != nullptr);
  rosters_.want(changes, epoch()->view());
}

Result<void> Member::revive(std::span<const NodeId> members, bool force) {
  if (state_ == MemberState::looking) {
    const Peers& peers = links_.peers();
    SPINDRIFT_TRY(beginning_.founding.force(members, force, peers.met(), peers.apart()));
    log::warn(log::Room::views, "is told to found the group without a majority",
              {{"node", self()}, {"members", members.size()}});
    return {};
  }
  if (state_ != MemberState::stranded) {
    return Error(ErrorKind::refused, "this member has not lost the majority of its view")
        .fix("see how it is, and at which members a majority is lost: spindrift group why");
  }
  Epoch& present = *epoch();
  const Revivable about = revivable(present, links_);
  SPINDRIFT_TRY_ASSIGN(const RankSet named, named_to_go_on(about, present.self(), members, force));
  const Revival revival{about.attempt, named};
  log::warn(log::Room::views, "is told to revive the view",
            {{"node", self()}, {"view", present.id()}, {"members", named.count()}, {"attempt", revival.attempt}});
  present.change().mandate().hear(revival);
  tell_named(links_, present.view(), revival);
  return {};
}

// A member of the present view is here: if it is new, it hears of the view; and it is shown what it is to read or write.
void Member::meet(const PeerConnection& member) {
  epoch()->change().mandate().place(*rank_of(epoch()->view(), member.who), member.mappable);
  installation_.forget_earlier(member.id);
  const auto notice = [this] {
    return ViewNotice{epoch()->view(), epoch()->loaded(), state_lost_, epoch()->change().newcomers()};
  };
  links_.notify(member.who.node, notice);
  auto showing = installation_.next_offer(member);
  for (; showing && *showing; showing = installation_.next_offer(member)) {
    if (auto shown = links_.show(member, **showing); !shown) return stop(std::move(shown).error());
  }
  if (!showing) stop(std::move(showing).error());
}

bool Member::step_looking(Time now) {
  beginning_.present.begin_pass();
  const std::vector<Founding::Met> met = links_.peers().met();
  const std::vector<Apart> apart = links_.peers().apart();
  const auto look = [&]() -> std::optional<std::vector<NodeId>> {
    const auto awaited = [&](NodeId node) {
      return std::ranges::none_of(met, [node](const Founding::Met& each) { return each.who.node == node; }) &&
             std::ranges::find(apart, node, &Apart::node) == apart.end();
    };
    const auto& present = beginning_.present.look(now, awaited);
    const Join who{self(), options_.incarnation};
    if (!present) return present;
    links_.seek(*present);
    return std::optional(founders_among(*present, who, met, apart));
  };
  Founding::Step found = beginning_.founding.step(met, look, apart);
  bool progress = !found.messages.empty() || found.view;
  for (Addressed& each : found.messages) links_.send(each.to, std::move(each.message));
  if (found.view) {
    NewView news{found.view->view, {}, {}, {}, {}};
    for (const NodeId node : found.view->view.members) {
      if (node != self()) news.joined.push_back(node);
    }
    install(*found.view, std::move(news), now);
  }
  if (state_ == MemberState::looking && leave_requested()) enter(MemberState::left);
  if (auto mistaken = in_minority(options_.founders, links_.peers().apart()); mistaken && state_ == MemberState::looking)
    stop(*std::move(mistaken));
  if (auto passed = beginning_.founding.passed_over(met); passed && state_ == MemberState::looking)
    stop(*std::move(passed));
  if (state_ == MemberState::looking) links_.tell_unbound();
  if (state_ == MemberState::installing) progress |= step_installing(now);
  return progress;
}

// In the own first view only this process is known to be new: the others may have been there.
void Member::install(ViewNotice begun, NewView news, Time now) {
  const bool first = epoch() == nullptr;
  const std::uint32_t version = begun.view.roster.version;
  const Versions& own = options_.identity.versions;
  if (version != 0 && !own.speaks(version)) return stop(unspoken(version, own));
  const std::vector<NodeId> joined = first ? std::vector{self()} : news.joined;
  state_lost_ = begun.state_lost;
  if (!beginning_.record.install(begun.view)) return stop(*beginning_.record.failure());
  auto made = installation_.begin(std::move(begun.view), std::move(begun.loaded), options_.terms, begun.newcomers);
  if (!made) return stop(std::move(made).error());
  Epoch& present = *epoch();
  place_all(present, links_.peers());
  const View& view = present.view();
  deliveries_.begin_view(view, present.loaded(), joined);
  transfers_.begin_view(view, present.loaded(), deliveries_);
  sends_.begin_view(view);
  watch_.begin_view(view.members.size(), present.self(), now);
  enter(MemberState::installing);
  log::info(log::Room::views, "view", {{"node", self()}, {"id", present.id()}, {"members", view.members.size()}});
  const Partings& partings = links_.partings();
  for (std::uint32_t i = 0; i < view.members.size(); ++i) {
    const Join who{view.members[i], view.incarnations[i]};
    if (partings.lost(who)) watch_.expect_back(Rank(i), now);
    if (partings.parted_from(who))
      present.change().suspect(Rank(i), partings.words_of(who), partings.turned_away_by(who));
    const bool may_come_back = watch_.judges() && !partings.died(who);
    if (partings.lost(who) && !may_come_back) present.change().suspect(Rank(i), "connection lost");
  }
  present.change().tell(present.change().suspected());
  rosters_.begin_view(view);
  links_.begin_view(view);
  settle_links();
  if (state_ == MemberState::failed) return;
  installation_.forget_earlier();
  if (first) links_.tell_settled();
  push();  // the others learn of the decision before the application is at work on the view, perhaps for long
  upcalls_.on_view({view, std::move(news.joined), std::move(news.left), std::move(news.failed), state_lost_,
                    behind(links_.peers(), view, own)});
  deliveries_.pass_boundaries();
}

// Pieces of states for newcomers, and what has come of a state for this one. While a view ends nothing is taken: the next
// one's transfer includes what this one delivers.
bool Member::exchange_states() {
  if (!transfers_.sending() && !transfers_.receiving()) return false;
  RankSet ready;
  for (const PeerConnection& member : links_.members()) {
    const Rank rank = *epoch()->view().rank_of(member.who.node);
    if (epoch()->change().ready(rank)) ready.add(rank);
  }
  bool progress = false;
  const auto send = [&](std::vector<Addressed> messages) {
    progress |= !messages.empty();
    for (Addressed& each : messages) links_.send(each.to, std::move(each.message));
  };
  send(transfers_.next_pieces(epoch()->view(), ready, payload_bytes_max(fabric_)));
  if (!transfers_.receiving() || epoch()->change().state() != ViewChange::State::steady) return progress;
  send(transfers_.log_requests(epoch()->view(), ready));
  while (auto taken = transfers_.take()) {
    progress = true;
    const SubgroupId id = taken->ack.subgroup;
    const auto impossible = [&](const char* what) { accuse(taken->from, std::string("it sent impossible ") + what); };
    if (taken->impossible) {
      impossible("bytes of a log");
    } else if (!taken->complete) {
      links_.send(taken->from, encode(taken->ack));
    } else if (!deliveries_.end_loading(id, taken->kept)) {
      impossible("deliveries behind a state");
    } else {
      log::info(log::Room::views, "state loaded",
                {{"node", self()}, {"subgroup", epoch()->view().subgroup(id).name}, {"bytes", taken->ack.offset}});
      if (taken->writer) taken->writer->finish();
      transfers_.await_durable(*taken);
    }
  }
  std::vector<SubgroupId> loaded;
  std::vector<Addressed> acknowledgements = transfers_.take_durable(loaded);
  if (!std::ranges::all_of(loaded, [this](SubgroupId id) { return beginning_.record.note_log(id, self()); })) return true;
  for (const SubgroupId id : loaded) epoch()->set_loaded(id);
  send(std::move(acknowledgements));
  return progress;
}

Awaited Member::awaited() const {
  const Peers& peers = links_.peers();
  const std::vector<Founding::Met> met = peers.met();
  const bool named = options_.founded_by == FoundedBy::named;
  const auto present = beginning_.present.nodes().value_or(std::vector<NodeId>());
  std::vector<NodeId> members;
  for (const Founding::Met& each : met) {
    if (!each.fresh) members.push_back(each.who.node);
  }
  if (members.empty()) {
    const Join who{options_.self, options_.incarnation};
    const auto among = founders_among(present, who, met, peers.apart());
    const auto& founders = named ? options_.founders : among;
    return {{}, peers.missing(founders), peers.apart(), beginning_.founding.kept_by_memory(met)};
  }
  return {std::move(members), peers.missing(named ? peers.nodes() : present), peers.apart(), {}};
}

void Member::accuse(NodeId node, const std::string& what) {
  links_.accuse(node, what);
  settle_links();
}

Result<void> Member::send_private(NodeId to, std::span<const std::byte> message) {
  if (const std::size_t most = payload_bytes_max(fabric_); message.size() > most) {
    return Error(ErrorKind::bad_argument, "a private message of " + std::to_string(message.size()) +
                                              " bytes is larger than " + std::to_string(most));
  }
  const auto other = links_.peers().connection_of(to);
  if (other && epoch() != nullptr && rank_of(epoch()->view(), other->who)) links_.send(to, encode(PrivateMessage{message}));
  return {};
}

// The leader alone has heard what all have; with the view that is gone, and the word with it.
Result<void> adopt_log(const Member& leader, const std::string& subgroup, NodeId from, bool force) {
  if (leader.state() != MemberState::active) {
    return Error(ErrorKind::refused,
                 "this member is in no view that goes on: it is " + std::string(to_string(leader.state())))
        .fix("say it when it is active: spindrift group status");
  }
  Epoch& present = *leader.epoch();
  const auto& subgroups = present.view().subgroups;
  const auto at = std::ranges::find(subgroups, subgroup, &SubgroupView::name);
  if (subgroup.empty() || at == subgroups.end()) {
    return Error(ErrorKind::bad_argument, "the group has no subgroup " + subgroup)
        .fix("see which it has: spindrift group status");
  }
  if (const Rank leads = present.change().leader(); leads != present.self()) {
    const std::string node = std::to_string(present.view().members[leads.value()].value());
    return Error(ErrorKind::refused, "node " + node + " leads the view, and is to be told")
        .fix("run this on its host, with --through " + node);
  }
  return present.adopt_log(SubgroupId(static_cast<std::uint32_t>(at - subgroups.begin())), from, force);
}

}  // namespace spindrift::views
