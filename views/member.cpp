// A member's passes: one function per state, and what all states share.
#include <spindrift/views/member.hpp>

#include <algorithm>
#include <chrono>

#include <spindrift/core/check.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/views/ending.hpp>
#include <spindrift/views/log_holders.hpp>
#include <spindrift/views/own_logs.hpp>
#include <spindrift/views/signs_of_life.hpp>

namespace spindrift::views {
namespace {

/// When messages are held back because earlier ones still wait for their receivers: the next look whether they have gone,
/// where nothing that arrives calls for one sooner.
constexpr Duration look_for_room = std::chrono::microseconds(100);
/// A member without a majority asks those from which it has parted again and again, more and more seldom: who is asked may
/// not have gone on yet, and turns it away each time.
Duration ask_again_after(Duration waited) {
  return std::clamp<Duration>(waited / 4, std::chrono::milliseconds(100), std::chrono::seconds(10));
}

std::vector<SubgroupView> shapes_of(const MemberOptions& options) {
  CHECK(options.incarnation != 0 && options.layout);
  std::vector<NodeId> nodes;
  for (const NodeAddress& address : options.roster.nodes) nodes.push_back(address.node);
  CHECK(std::count(nodes.begin(), nodes.end(), options.self) == 1 && nodes.size() <= roster_count_max);
  return options.layout(nodes, nullptr);
}

// The members must all say alike who hands a message on to whom, without knowing who maps whom.
smc::Policy policy_of(const MemberOptions& options, const fabric::Fabric& fabric) {
  smc::Policy policy = options.multicasting.policy;
  if (fabric.traits().mappable) policy.relay = smc::relay::direct;
  return policy;
}

/// Silence is no sign of death where the kernel says that the member waits for it. One of two newcomers may not have run
/// since they were connected, and has not said its hello.
bool excused(SilenceWatch& watch, Rank rank, const Peer* peer, fabric::Fabric& fabric, Time now) {
  const bool connected = peer != nullptr && peer->state != Peer::State::away && peer->state != Peer::State::apart;
  if (!connected || !fabric.starved(peer->id)) return false;
  const std::uint32_t excuses = watch.excuse(rank, now);
  if (excuses == 1) {
    const auto silent = std::chrono::duration_cast<std::chrono::milliseconds>(watch.patience());
    log::warn(log::Room::views, "a silent member waits for its machine, and is not removed",
              {{"whom", peer->address.node}, {"silent_ms", silent.count()}});
  }
  return excuses > 0;
}

/// The newcomer cannot be told to wait: what it misses is gone when the application here takes its next delivery. And who
/// has a state must not end for one that has not.
void refuse_state(ViewChange& change, const View& view, NodeId self, const Transfers::Unsaved& unsaved) {
  const std::string& subgroup = view.subgroup(unsaved.subgroup).name;
  log::error(log::Room::views, "a state could not be saved: who is to get it is removed",
             {{"node", self}, {"whom", unsaved.to}, {"subgroup", subgroup}, {"because", unsaved.why}});
  change.suspect(*view.rank_of(unsaved.to), "node " + std::to_string(self.value()) +
                                                " could not save the state of subgroup " + subgroup + " for it: " +
                                                unsaved.why);
}

Founding founding_by(const MemberOptions& options, OwnRecord& record) {
  const Join self{options.self, options.incarnation};
  Roster roster = options.roster;
  roster.version = options.identity.versions.newest;
  if (options.founded_by == FoundedBy::present) return {self, options.layout, std::move(roster)};
  return {self, options.founders, options.layout, std::move(roster), &record};
}

}  // namespace

std::string_view to_string(MemberState state) noexcept {
  switch (state) {
    case MemberState::idle: return "idle";
    case MemberState::looking: return "looking";
    case MemberState::installing: return "installing";
    case MemberState::active: return "active";
    case MemberState::changing:
    case MemberState::concluding:
    case MemberState::departing: return "changing";
    case MemberState::stranded: return "stranded";
    case MemberState::left: return "left";
    case MemberState::failed: return "failed";
  }
  return "unknown";
}

Member::Member(MemberOptions options, fabric::Fabric& fabric, Upcalls& upcalls, CounterBlock& counters)
    : options_(std::move(options)),
      fabric_(fabric),
      upcalls_(upcalls),
      shapes_(shapes_of(options_)),
      beginning_{OwnRecord(options_.memory, fabric.traits().mappable), founding_by(options_, beginning_.record),
                 PresentWatch(fabric)},
      links_({options_.self, options_.incarnation}, options_.roster.nodes, options_.identity, shapes_, fabric,
             beginning_.founding),
      rosters_(options_.self, ring_sizes_of(shapes_), options_.identity.versions, links_),
      watch_(options_.suspect_after),
      sends_(shapes_.size(), upcalls),
      deliveries_(options_.self, shapes_.size(), options_.backlog_bytes_max, upcalls, options_.lagging_after, options_.logs),
      transfers_(options_.self, upcalls, &deliveries_.log()),
      installation_(
          {options_.self, shapes_.size(), policy_of(options_, fabric), options_.table_bytes,
           {&beginning_.record, &options_.layout}},
          fabric, deliveries_, counters) {}

Result<void> Member::start() {
  CHECK(state_ == MemberState::idle);
  const fabric::Traits& traits = fabric_.traits();
  if (!traits.ordered_writes) {
    return Error(ErrorKind::unsupported, "fabric " + std::string(traits.name) +
                                             " does not order writes to one peer, which the shared state table rests on")
        .fix("choose another [SPINDRIFT] fabric");
  }
  if (traits.peers_max < options_.roster.nodes.size() - 1) {
    return Error(ErrorKind::unsupported, "fabric " + std::string(traits.name) + " connects at most " +
                                             std::to_string(traits.peers_max + 1) + " members")
        .fix("configure fewer members");
  }
  if (options_.founded_by == FoundedBy::present) SPINDRIFT_TRY(fabric_.present());
  SPINDRIFT_TRY(beginning_.record.begin(options_.incarnation, known_logs(options_.logs, shapes_)));
  SPINDRIFT_TRY(check_places(beginning_.record.record(), shapes_));
  SPINDRIFT_TRY(links_.start());
  const auto& last = beginning_.record.record().last;
  if (options_.told || last) rosters_.remember(options_.told ? *options_.told : last->roster, options_.roster);
  enter(MemberState::looking);
  return {};
}

Member::Step Member::step(Time now) {
  CHECK(state_ != MemberState::idle);
  if (state_ == MemberState::left || state_ == MemberState::failed) return {};
  watch_.on_pass(now);
  bool progress = false;
  for (; auto event = links_.next(); progress = true) on_event(*event);
  switch (state_) {
    case MemberState::looking: progress |= step_looking(now); break;
    case MemberState::installing: progress |= step_installing(now); break;
    case MemberState::active:
      if (goes_on(now, progress)) progress |= run(now);
      break;
    case MemberState::changing:
    case MemberState::stranded:
    case MemberState::concluding: static_cast<void>(goes_on(now, progress)); break;
    case MemberState::departing: progress |= step_departing(now); break;
    case MemberState::idle:
    case MemberState::left:
    case MemberState::failed: break;
  }
  if (beginning_.record.failure()) stop(*beginning_.record.failure());  // it has accepted nothing since
  if (options_.logs != nullptr && options_.logs->failure()) stop(*options_.logs->failure());
  if (const auto subgroup = deliveries_.set_back()) stop(set_back_error(*subgroup, *epoch()));
  if (state_ != MemberState::failed) {
    progress |= exchange_states();
    progress |= deliveries_.flush();
    if (options_.logs != nullptr) options_.logs->flush();
    if (epoch() != nullptr && watch_.take_beat(now)) {
      for (const auto& each : epochs()) each->table().beat();
      const auto at_work = state_ == MemberState::concluding ? deliveries_.at_work() : std::nullopt;
      for (Addressed& each : signs_of_life(*epoch(), at_work)) links_.send(each.to, std::move(each.message));
    }
  }
  push();
  Time wake_at = next_wake(now);
  if (epoch() != nullptr && epoch()->holds_back()) wake_at = std::min(wake_at, now + look_for_room);
  return {.progress = progress, .wake_at = wake_at};
}

// The pass finds what cannot be posted.
void Member::show_life(std::optional<SubgroupId> of) {
  if (!watch_.judges() || state_ == MemberState::left || state_ == MemberState::failed) return;
  for (const auto& each : epochs()) static_cast<void>(each->table().beat_amid_pass(fabric_));
  const SubgroupId at_work = of.value_or(no_subgroup_among(shapes_.size()));
  std::vector<Addressed> words;
  const View* const entered = beginning_.record.being_entered();
  if (epoch() != nullptr) words = signs_amid_pass(*epoch(), links_.candidates(), at_work);
  else if (entered != nullptr) words = signs_before_the_first(*entered, self(), at_work);
  for (Addressed& each : words) links_.send(each.to, std::move(each.message));
}

bool Member::step_installing(Time now) {
  bool progress = false;
  if (!goes_on(now, progress) || !epoch()->begun() || !epoch()->change().everybody_ready()) return progress;
  enter(MemberState::active);
  installation_.drop_old(now, watch_.patience(), sends_);
  static_cast<void>(run(now));
  return true;
}

// The others need this node's rows until they know the decree too; then it may go.
bool Member::step_departing(Time now) {
  ViewChange& change = epoch()->change();
  const bool all_know = change.all_know(RankSet::first(epoch()->view().members.size()));
  links_.revoke(change.suspicions());
  settle_links();
  const bool waited = watch_.judges() && now - waiting_.departing_since >= watch_.patience();
  if ((!all_know && !waited) || !deliveries_.all_taken()) return false;
  push();
  // Not before: its neighbors wait for it until those that go on without it know that they do.
  beginning_.record.part(epoch()->next(epoch()->change().decree()), ViewRecord::Standing::left);
  enter(MemberState::left);
  return true;
}

// One look at the rows of the present view: at what the others say, and at who says nothing. Silence is judged only after
// this member looked. A suspected member is cut off before the suspicion is pushed.
bool Member::look(Time now) {
  Epoch& present = *epoch();
  ViewChange& change = present.change();
  bool progress = false;
  if (!present.begun()) {
    const RankSet attached = installation_.attach(links_.members());
    for (std::uint32_t i = 0; i < present.view().members.size(); ++i) {
      if (attached.contains(Rank(i))) watch_.hear(Rank(i));
    }
    progress = !attached.empty();
    if (present.all_attached() && change.state() == ViewChange::State::steady) {
      present.begin();
      progress = true;
    }
  }
  const AccusationWatch::Finding accusations = present.watch_accusations(now, watch_.patience(), watch_.just_woke());
  progress |= change.step(links_.candidates(), state_ == MemberState::active,
                          {watch_.quiet(), watch_.just_woke(), accusations});
  const std::size_t suspicions = change.suspicions().size();
  const RankSet quiet_before = watch_.quiet();
  const RankSet silent = watch_.look(change.heartbeats(), change.suspected(), now);
  for (std::uint32_t i = 0; !silent.empty() && i < present.view().members.size(); ++i) {
    if (!silent.contains(Rank(i))) continue;
    if (excused(watch_, Rank(i), links_.peers().find(present.view().members[i]), fabric_, now)) continue;
    if (!watch_.confirm(Rank(i), now)) continue;
    const bool shown = present.table().attached(Rank(i));
    change.suspect(Rank(i), shown ? "it gave no sign of life" : "it did not show its row");
  }
  for (const Transfers::Unsaved& each : transfers_.take_unsaved()) refuse_state(change, present.view(), self(), each);
  progress |= change.suspicions().size() > suspicions || !quiet_before.includes(watch_.quiet());
  links_.revoke(change.suspicions());
  settle_links();
  links_.tell_candidates(present.view().members[change.leader().value()]);
  present.watch_joins(links_.candidates(), now);
  return progress;
}

// Looks, and does what follows from it for the view. True: the view goes on.
bool Member::goes_on(Time now, bool& progress) {
  progress |= look(now);
  if (state_ == MemberState::failed) return false;
  switch (epoch()->change().state()) {
    case ViewChange::State::steady:
      if (epoch()->change().suspected().empty()) return true;
      progress = true;  // found just now: the next pass wedges
      return false;
    case ViewChange::State::wedged:
    case ViewChange::State::accepted: progress |= change_view(now); return false;
    case ViewChange::State::decided: progress |= conclude(now); return false;
    case ViewChange::State::stuck:
      stop(lost_majority(*epoch()));
      progress = true;
      return false;
  }
  return false;
}

// The view is ending. Without a majority nothing follows until somebody says how: then this member stays for as long as it
// is not told to leave, and asks those that it has parted from, again and again, whether they have gone on.
bool Member::change_view(Time now) {
  ViewChange& change = epoch()->change();
  const bool lost = change.standing() == ViewChange::Standing::lost && waits_for_revival(change, epoch()->self());
  if (lost && leave_requested()) {
    stop(lost_majority(*epoch()));
    return true;
  }
  const MemberState next = lost ? MemberState::stranded : MemberState::changing;
  const bool news = state_ != next;
  if (news) {
    sends_.close();
    enter(next);
  }
  if (lost && news) {
    log::error(log::Room::views, "waits: it has lost the majority of its view, and keeps its state",
               {{"node", self()}, {"because", lost_majority(*epoch()).message()}});
  }
  if (lost && news) waiting_.stranded_since = now;
  if (lost && (news || now >= waiting_.ask_again)) {
    links_.reach_out();
    waiting_.ask_again = now + ask_again_after(now - waiting_.stranded_since);
  }
  return news;
}

// An active view: predicates, gates, and what is left of views before.
bool Member::run(Time now) {
  Epoch& present = *epoch();
  auto ran = present.running().run(fabric_, *options_.multicasting.stepper, now);
  if (!ran) {
    stop(std::move(ran).error());
    return true;
  }
  if (const auto lag = deliveries_.find_lag(present.running().multicasts(), now)) {
    stop(lagging_error(*lag, present));
    return true;
  }
  present.suspect_faulty();
  links_.revoke(present.change().suspicions());
  settle_links();
  bool progress = *ran;
  progress |= deliveries_.follow_logs(present.running().multicasts());
  progress |= say_own_logs(present, beginning_.record, options_.logs, links_);
  progress |= rosters_.step(present, [&](SubgroupId id) {
    return sends_.silence(id, present) && deliveries_.taken(id) && !deliveries_.loading(id);
  });
  if (rosters_.is_to_leave() && !leave_requested()) request_leave();
  progress |= sends_.settle(present, leave_requested());
  if (epochs().size() > 1) installation_.drop_old(now, watch_.patience(), sends_);
  if (leave_requested()) progress |= advance_leave();
  return progress;
}

// The view's end is decided: deliver what it says, and when the application is through with it, go on to the next, or go.
// False: nothing to do here now.
bool Member::conclude(Time now) {
  Epoch& old = *epoch();
  const Decree& decree = old.change().decree();
  if (decree.failed.contains(old.self())) {
    beginning_.record.part(old.next(decree), ViewRecord::Standing::removed);
    stop(gone_error(old));
    return true;
  }
  if (state_ != MemberState::concluding) {
    enter(MemberState::concluding);
    if (decree.stays(old.self())) deliveries_.expect_drop(dropped_by(old.view(), *old.rosters().next(decree)));
    old.finish(now);
  }
  if (!deliveries_.handed_over()) return false;
  sends_.report_dropped(old);
  if (decree.left.contains(old.self())) {
    waiting_.departing_since = now;
    enter(MemberState::departing);
    return true;
  }
  sends_.keep_leftovers(old);
  ViewNotice next{successor(old.view(), decree, options_.layout, *old.rosters().next(decree)), {}, {}};
  next.loaded = loaded_in(next.view, old.view(), old.loaded(), decree, next.state_lost);
  carry_logs(next.view, old.view(), decree, next.loaded);
  NewView news{next.view, {}, {}, {}, {}};
  for (const Join& join : decree.joins) news.joined.push_back(join.node);
  for (std::uint32_t i = 0; i < old.view().members.size(); ++i) {
    const NodeId node = old.view().members[i];
    if (decree.left.contains(Rank(i))) news.left.push_back(node);
    if (decree.failed.contains(Rank(i))) news.failed.push_back(removal_of(node, Rank(i), old));
  }
  install(std::move(next), std::move(news), now);
  if (decree.revival != 0) links_.reach_out();  // to those that were given up: they must not go on beside this view
  return true;
}

// New sends are refused; when all sent ones are delivered everywhere, and newcomers have the states that this node gives
// them, the row asks the others to go on without it.
bool Member::advance_leave() {
  const Sends::Outlook outlook = sends_.wind_up(*epoch(), deliveries_.drained());
  if (!outlook.sent) return outlook.progress;
  if (epochs().size() > 1) return outlook.progress;  // somebody who left before does not know it yet
  if (transfers_.sending() || !sends_.delivered_everywhere(*epoch())) return outlook.progress;
  if (rosters_.awaits_its_removal()) return outlook.progress;
  return epoch()->change().leave() || outlook.progress;
}

Time Member::next_wake(Time now) const {
  if (state_ == MemberState::looking) {
    if (!beginning_.founding.awaits_neighbors()) return beginning_.present.next_look();
    // The same for all passes until then.
    const Duration since = now.time_since_epoch() % PresentWatch::look_interval;
    return std::min(beginning_.present.next_look(), now - since + PresentWatch::look_interval);
  }
  const Time lag = state_ == MemberState::active ? deliveries_.next_look_for_lag() : never;
  const Time asks = state_ == MemberState::stranded ? waiting_.ask_again : never;
  if (epoch() == nullptr || !watch_.judges()) return std::min(lag, asks);
  const bool departing = state_ == MemberState::departing;
  const Time next = departing ? waiting_.departing_since + watch_.patience()
                              : watch_.next_verdict(epoch()->change().suspected());
  return std::min({watch_.next_beat(), next, lag, asks});
}

void Member::push() {
  if (state_ == MemberState::failed) return;
  for (const auto& each : epochs()) {
    if (auto pushed = each->table().push(fabric_); !pushed) return stop(std::move(pushed).error());
  }
}

// A thread that waits for space learns from the state whether waiting still makes sense.
void Member::enter(MemberState state) {
  log::debug(log::Room::views, "state", {{"node", options_.self}, {"from", to_string(state_)}, {"to", to_string(state)}});
  state_ = state;
  if (state != MemberState::left && state != MemberState::failed) return;
  const bool gone = failure_ && (failure_->kind() == ErrorKind::removed || failure_->kind() == ErrorKind::given_up);
  if (gone) beginning_.record.note_removal();
  beginning_.record.close();
  sends_.end();
  links_.end(failure_ ? std::optional(last_words(*failure_)) : std::nullopt);
  settle_links();
}

// Ends this member for good; the others hear why.
void Member::stop(Error reason) {
  if (state_ == MemberState::failed || state_ == MemberState::left) return;
  log::info(log::Room::views, "stops", {{"node", options_.self}, {"reason", reason.to_string()}});
  failure_ = std::move(reason);
  enter(MemberState::failed);
}

}  // namespace spindrift::views
