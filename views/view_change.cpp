// Suspecting, wedging, leading, following.
#include <spindrift/views/view_change.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/core/log.hpp>

namespace spindrift::views {
namespace {

void log_testimony(const View& view, Rank self, const RankSet& dead) {
  std::string nodes;
  for (std::uint32_t i = 0; i < view.members.size(); ++i) {
    if (dead.contains(Rank(i))) nodes += (nodes.empty() ? "" : ", ") + std::to_string(view.members[i].value());
  }
  log::info(log::Room::views, "goes on by the testimony of the dead",
            {{"node", view.members[self.value()]}, {"dead", nodes}});
}

}  // namespace

ViewChange::ViewChange(const View& view, const std::vector<RankSet>& loaded, sst::Table& table, Counts& counts,
                       const RosterAgreement& rosters, const Mandate::Terms& terms, RankSet newcomers)
    : view_(view),
      loaded_(loaded),
      table_(table),
      counts_(counts),
      rosters_(rosters),
      mandate_(view.members.size(), terms),
      newcomers_(newcomers),
      self_(table.self()),
      seen_(view.members.size()),
      heartbeats_(view.members.size()),
      testimonies_(view.members.size()) {}

void ViewChange::set_ready() {
  if (std::exchange(seen_[self_.value()].ready, true)) return;
  store(table_.layout(self_).epoch(), view_.id.value());
  store(table_.layout(self_).phase(), 1);
}

bool ViewChange::leave() {
  if (std::exchange(seen_[self_.value()].leaving, true)) return false;
  store(table_.layout(self_).leaving(), 1);
  return true;
}

bool ViewChange::everybody_ready() const noexcept {
  return std::all_of(seen_.begin(), seen_.end(), [](const Seen& seen) { return seen.ready; });
}

RankSet ViewChange::leaving() const {
  RankSet leaving;
  for (std::uint32_t i = 0; i < seen_.size(); ++i) {
    if (seen_[i].leaving && !suspected_.contains(Rank(i))) leaving.add(Rank(i));
  }
  const RankSet bound = rosters_.bound();
  if (leaving.disjoint(bound)) return leaving;
  const RankSet stay = RankSet::first(seen_.size()).without(suspected_).without(leaving);
  return rosters_.agreed(stay) ? leaving : leaving.without(bound);
}

Rank ViewChange::leader() const noexcept {
  Rank rank(0);
  while (suspected_.contains(rank)) ++rank;
  return rank;
}

// A newcomer to whom those that were there before have left nothing leads nobody: so one whose row never came to somebody
// has decided nothing. The dead testify where every row is read in place: what is mirrored may be older than their deaths.
ViewChange::Standing ViewChange::standing() const {
  if (mandate_.is_revival()) return mandate_.suffices(suspected_) ? Standing::majority : Standing::lost;
  if (!suspected_.empty() && leader() == self_ && newcomers_.contains(self_) && !everybody_ready()) return Standing::lost;
  if (mandate_.suffices(suspected_)) return Standing::majority;
  if (!reads_in_place(table_, suspected_)) return Standing::lost;
  const bool begins = newcomers_.contains(self_) && !everybody_ready();
  // Between hosts nobody goes on by testimony: whom it would follow may wait for a revival.
  if (begins && mandate_.is_of_several_hosts()) return Standing::lost;
  switch (testimonies_.outlook(suspected_)) {
    case Testimonies::Outlook::complete: {
      std::uint64_t latest = leader().value() + 1;  // it is to come
      for (const Seen& seen : seen_) latest = std::max(latest, seen.accepted);
      const std::uint64_t quorum = mandate_.quorum(suspected_);
      return testimonies_.unseen_decided_nothing(table_, latest, quorum) ? Standing::testimony : Standing::lost;
    }
    case Testimonies::Outlook::untold: return leader() == self_ ? Standing::lost : Standing::awaited;
    case Testimonies::Outlook::awaited: return Standing::awaited;
    case Testimonies::Outlook::none: break;
  }
  // Two newcomers may never have met: whoever took them in knows of the end of one, and the other leads nothing.
  return begins ? Standing::awaited : Standing::lost;
}

// Each of those that are named gives up the rest, by suspecting it. A member that has parted from one of them cannot go on
// with it: its link to that one is over for good.
bool ViewChange::take_up_revival() {
  const Revival* const revival = mandate_.untaken();
  if (revival == nullptr) return false;
  const RankSet named = revival->members;
  if (!named.contains(self_) || !named.disjoint(suspected_)) {
    log::warn(log::Room::views, "does not revive the view: it has parted from a member that is named",
              {{"node", view_.members[self_.value()]}, {"view", view_.id}});
    mandate_.reject();
    return false;
  }
  for (std::uint32_t i = 0; i < view_.members.size(); ++i) {
    if (!named.contains(Rank(i))) suspect(Rank(i), std::string(given_up_by_revival));
  }
  mandate_.take_up();
  return true;
}

// Freezing comes first: nothing that the suspect wrote or writes has an effect here any more.
void ViewChange::suspect(Rank rank, std::string reason, bool turned_away, std::optional<Rank> by) {
  if (rank == self_ || suspected_.contains(rank)) return;
  table_.freeze(rank);
  suspected_.add(rank);
  log::info(log::Room::views, "suspects",
            {{"node", view_.members[self_.value()]}, {"whom", view_.members[rank.value()]}, {"reason", reason}});
  suspicions_.push_back({rank, std::move(reason), turned_away, by.value_or(self_)});
  if (!turned_away) tell(RankSet::of(rank));
}

void ViewChange::tell(const RankSet& suspects) {
  told_.add(suspects);
  for (std::uint32_t i = 0; i < sst::rank_set_words_of(view_.members.size()); ++i) {
    const std::uint64_t offset = table_.layout(self_).suspected(i);
    if (table_.own(offset) != told_.word(i)) store(offset, told_.word(i));
  }
}

bool ViewChange::step(const std::vector<Candidate>& candidates, bool may_lead, const LifeSigns& signs) {
  if (state_ == State::decided) look_for_life();
  if (state_ == State::decided || state_ == State::stuck) return false;
  bool changed = read_rows(signs);
  changed |= learn_decision();  // it needs no majority any more: others may be gone because they went on
  if (state_ == State::decided) return true;
  Standing standing = this->standing();
  const bool undecided = standing == Standing::lost || standing == Standing::awaited;
  if ((undecided || mandate_.is_repeated()) && take_up_revival()) standing = this->standing();
  const bool lost = standing == Standing::lost;
  if (lost && !waits_for_revival(*this, self_)) {
    if (state_ == State::steady) counts_.wedge();
    state_ = State::stuck;
    return true;
  }
  if (!signs.just_woke) tell(suspected_);
  changed |= wedge_if_due(candidates, may_lead);
  if (state_ == State::steady) return changed;
  if (lost || standing == Standing::awaited) return follow() || changed;
  if (standing == Standing::testimony && hear_the_dead()) return true;
  changed |= leader() == self_ ? lead(candidates) : follow();
  return changed;
}

bool ViewChange::all_wedged() const {
  for (std::uint32_t i = 0; i < seen_.size(); ++i) {
    if (Rank(i) == self_ || suspected_.contains(Rank(i))) continue;
    if (!table_.attached(Rank(i)) || !seen_[i].wedged) return false;
  }
  return true;
}

// A newcomer that a member cannot reach would show its row to all but that one, and hold up the view until one of them goes.
RankSet ViewChange::without_link(const Candidate& candidate) const {
  RankSet without;
  const RankSet go = leaving();
  for (std::uint32_t i = 0; i < seen_.size(); ++i) {
    const bool stays = !suspected_.contains(Rank(i)) && !go.contains(Rank(i)) && view_.members[i] != candidate.who.node;
    if (stays && !candidate.linked.contains(Rank(i))) without.add(Rank(i));
  }
  return without;
}

bool ViewChange::wedge_if_due(const std::vector<Candidate>& candidates, bool may_lead) {
  if (state_ != State::steady) return false;
  bool due = !suspected_.empty();
  for (std::uint32_t i = 0; i < seen_.size(); ++i) due |= seen_[i].wedged && !suspected_.contains(Rank(i));
  if (may_lead && leader() == self_) {
    const RankSet stay = RankSet::first(seen_.size()).without(suspected_).without(leaving());
    const auto comes = [&](const Candidate& candidate) {
      return rosters_.may_join(candidate.who.node, candidate.speaks, stay) && without_link(candidate).empty();
    };
    due |= std::any_of(candidates.begin(), candidates.end(), comes) || rosters_.agreed(stay) ||
           stay.count() + suspected_.count() < seen_.size();
    due |= counts_.logs_found() != nullptr;
  }
  if (!due) return false;
  wedge();
  return true;
}

// A member that knows the decree says so; it is enough to hear it from one.
bool ViewChange::learn_decision() {
  for (std::uint32_t i = 0; i < seen_.size(); ++i) {
    const Seen& seen = seen_[i];
    if (Rank(i) == self_ || seen.decided == 0 || seen.decided != seen.accepted || suspected_.contains(Rank(i))) continue;
    if (state_ == State::steady) wedge();
    auto decree = decree_of(Rank(i), seen.decided);
    if (!decree) {
      suspect(Rank(i), "it wrote an impossible decree");
      return true;
    }
    if (seen_[self_.value()].accepted >= seen.decided || accept(seen.decided, *decree)) declare_decided();
    return true;
  }
  return false;
}

// A decision of the dead stands, whomever they accused; their rows are final. All deaths were known before this pass read
// the rows of those that live: what these say is no older.
bool ViewChange::hear_the_dead() {
  for (std::uint32_t i = 0; i < seen_.size(); ++i) {
    if (!testimonies_.left_row(Rank(i))) continue;
    const Testimonies::LastWords last = Testimonies::last_words(table_, Rank(i));
    if (last.decided == 0) continue;
    auto decree = last.decided == last.accepted ? decree_of(Rank(i), last.decided) : std::nullopt;
    if (!decree) {
      testimonies_.hear(Rank(i), Testimonies::Word::none);  // no correct member leaves such a row, and it is no witness
      return true;
    }
    log_testimony(view_, self_, suspected_);
    if (seen_[self_.value()].accepted >= last.decided || accept(last.decided, *decree)) declare_decided();
    return true;
  }
  return false;
}

// The decree in a row, copied once and checked. Of the own row too: there is one way in.
std::optional<Decree> ViewChange::decree_of(Rank rank, std::uint64_t ballot) {
  const std::byte* const from = table_.bytes(rank, table_.layout(rank).decree());
  std::vector<std::uint64_t> words(table_.layout(rank).decree_words());
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = load_acquire(from + i * sst::word_bytes);
  auto decree = decode(words, view_);
  if (decree && decree->revival != mandate_.revival_of(ballot)) return std::nullopt;
  if (decree && !decree->failed.contains(self_) && !counts_.can_deliver(*decree)) return std::nullopt;
  if (decree && decree->stays(self_) && !rosters_.admits(*decree)) return std::nullopt;
  return decree;
}

bool ViewChange::lead(const std::vector<Candidate>& candidates) {
  const std::uint64_t ballot = mandate_.ballot_of(self_);
  if (seen_[self_.value()].accepted == ballot) return count_acceptances();
  if (!told_.includes(suspected_)) return false;  // those that it removes are told first

  if (!all_wedged() || !disputes().none()) return false;

  const RankSet lower = RankSet::first(self_.value());
  Rank best = self_;
  for (std::uint32_t i = 0; i < seen_.size(); ++i) {
    if (suspected_.contains(Rank(i))) continue;
    if (Rank(i) != self_ && !seen_[i].suspected.includes(lower)) return false;
    if (seen_[i].accepted > seen_[best.value()].accepted) best = Rank(i);
  }
  // By testimony nothing is repeated: whoever could have decided it is dead, and did not. Nor under a revival: what was
  // accepted before may keep members that are given up.
  const bool by_testimony = standing() == Standing::testimony;
  if (seen_[best.value()].accepted == 0 || by_testimony || mandate_.is_revival()) {
    if (by_testimony) log_testimony(view_, self_, suspected_);
    std::vector<Candidate> linked;
    std::ranges::copy_if(candidates, std::back_inserter(linked),
                         [&](const Candidate& each) { return without_link(each).empty(); });
    Decree decree =
        compose_with_roster({view_, loaded_, table_, suspected_, leaving(), counts_.logs_found()}, rosters_,
                            std::move(linked));
    decree.revival = mandate_.revival_of(ballot);
    return accept(ballot, decree);
  }
  auto inherited = decree_of(best, seen_[best.value()].accepted);
  // A member that accepted it first suspected those that it removes, and made its promise after; none of these is left
  // here, for they would be disputed.
  if (!inherited || !suspected_.includes(inherited->failed)) {
    suspect(best, "it accepted an impossible decree");
    return true;
  }
  return accept(ballot, *inherited);
}

bool ViewChange::follow() {
  const Rank chief = leader();
  const Seen& seen = seen_[chief.value()];
  if (seen.accepted != mandate_.ballot_of(chief) || seen.accepted <= seen_[self_.value()].accepted) return false;
  auto decree = decree_of(chief, seen.accepted);
  if (!decree) {
    suspect(chief, "it proposed an impossible decree");
    return true;
  }
  if (!suspected_.includes(decree->failed)) return false;  // its suspicions, written before, are heard first
  return accept(seen.accepted, *decree);
}

bool ViewChange::count_acceptances() {
  const std::uint64_t ballot = mandate_.ballot_of(self_);
  std::uint64_t count = 0;
  for (std::uint32_t i = 0; i < seen_.size(); ++i)
    count += seen_[i].accepted == ballot && !suspected_.contains(Rank(i)) ? 1 : 0;
  if (count < mandate_.quorum(suspected_) &&
      (standing() != Standing::testimony || count + suspected_.count() < seen_.size())) return false;
  declare_decided();
  return true;
}

void ViewChange::declare_decided() {
  Seen& own = seen_[self_.value()];
  decree_ = decree_of(self_, own.accepted);
  CHECK(decree_.has_value());
  own.decided = own.accepted;
  store(table_.layout(self_).decided(), own.decided);
  state_ = State::decided;
}

// A leaver holds what the others need until they know the decree, and the others what the leaver needs to know it.
bool ViewChange::all_know(const RankSet& whom) {
  CHECK(state_ == State::decided);
  bool all = true;
  for (std::uint32_t i = 0; i < seen_.size(); ++i) {
    if (Rank(i) == self_ || !whom.contains(Rank(i)) || suspected_.contains(Rank(i)) || seen_[i].decided != 0) continue;
    if (table_.attached(Rank(i))) read_row(Rank(i));
    all &= suspected_.contains(Rank(i)) || seen_[i].decided != 0;
  }
  return all;
}

void ViewChange::wedge() {
  counts_.wedge();
  seen_[self_.value()].wedged = true;
  store(table_.layout(self_).wedged(), 1);
  state_ = State::wedged;
}

// The node's record first, then the decree, then its guard.
bool ViewChange::accept(std::uint64_t ballot, const Decree& decree) {
  CHECK(ballot > seen_[self_.value()].accepted && state_ != State::steady);
  if (!counts_.remember(decree)) return false;
  table_.store_data(table_.layout(self_).decree(), encode(decree, view_), sst::Table::everybody);
  store(table_.layout(self_).accepted(), ballot);
  seen_[self_.value()].accepted = ballot;
  state_ = State::accepted;
  return true;
}

// A newcomer before all have read each other has nothing of the group: it begins anew.
bool waits_for_revival(ViewChange& change, Rank self) {
  if (change.newcomers().contains(self) && !change.everybody_ready()) return false;
  return change.mandate().on_loss() == Mandate::OnLoss::wait;
}

bool reads_in_place(const sst::Table& table, const RankSet& suspected) {
  for (std::uint32_t i = 0; i < table.view().members.size(); ++i) {
    if (Rank(i) == table.self() || suspected.contains(Rank(i))) continue;
    if (table.attached(Rank(i)) && !table.mapped(Rank(i))) return false;
  }
  return true;
}

const ViewChange::Suspicion* suspicion_of(const ViewChange& change, Rank rank) noexcept {
  const auto& all = change.suspicions();
  const auto at = std::ranges::find(all, rank, &ViewChange::Suspicion::rank);
  return at == all.end() ? nullptr : &*at;
}

}  // namespace spindrift::views
