// Reading rows, suspecting, wedging, leading, following.
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

std::uint64_t trusted_count(const View& view, const RankSet& suspected) noexcept {
  return view.members.size() - suspected.count();
}

// All rows but those of suspects, as far as they are here.
bool reads_in_place(const sst::Table& table, const RankSet& suspected) {
  for (std::uint32_t i = 0; i < table.view().members.size(); ++i) {
    if (Rank(i) == table.self() || suspected.contains(Rank(i))) continue;
    if (table.attached(Rank(i)) && !table.mapped(Rank(i))) return false;
  }
  return true;
}

}  // namespace

ViewChange::ViewChange(const View& view, const std::vector<RankSet>& loaded, sst::Table& table, Counts& counts,
                       const RosterAgreement& rosters, bool partition_safety, RankSet newcomers)
    : view_(view),
      loaded_(loaded),
      table_(table),
      counts_(counts),
      rosters_(rosters),
      partition_safety_(partition_safety),
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

RankSet ViewChange::leaving() const noexcept {
  RankSet leaving;
  for (std::uint32_t i = 0; i < seen_.size(); ++i) {
    if (seen_[i].leaving && !suspected_.contains(Rank(i))) leaving.add(Rank(i));
  }
  return leaving;
}

Rank ViewChange::leader() const noexcept {
  Rank rank(0);
  while (suspected_.contains(rank)) ++rank;
  return rank;
}

// More than half of the view. Without partition safety, all that are left.
std::uint64_t ViewChange::quorum() const noexcept {
  return partition_safety_ ? view_.members.size() / 2 + 1 : trusted_count(view_, suspected_);
}

// A newcomer to whom those that were there before have left nothing leads nobody: so one whose row never came to somebody
// has decided nothing. The dead testify where every row is read in place: what is mirrored may be older than their deaths.
ViewChange::Standing ViewChange::standing() const {
  if (!suspected_.empty() && leader() == self_ && newcomers_.contains(self_) && !everybody_ready()) return Standing::lost;
  if (trusted_count(view_, suspected_) >= quorum()) return Standing::majority;
  if (!reads_in_place(table_, suspected_)) return Standing::lost;
  switch (testimonies_.outlook(suspected_)) {
    case Testimonies::Outlook::complete: {
      std::uint64_t latest = leader().value() + 1;  // it is to come
      for (const Seen& seen : seen_) latest = std::max(latest, seen.accepted);
      return testimonies_.unseen_decided_nothing(table_, latest, quorum()) ? Standing::testimony : Standing::lost;
    }
    case Testimonies::Outlook::untold: return leader() == self_ ? Standing::lost : Standing::awaited;
    case Testimonies::Outlook::awaited: return Standing::awaited;
    case Testimonies::Outlook::none: break;
  }
  // Two newcomers may never have met: whoever took them in knows of the end of one, and the other leads nothing.
  return newcomers_.contains(self_) && !everybody_ready() ? Standing::awaited : Standing::lost;
}

// Freezing comes first: nothing that the suspect wrote or writes has an effect here any more.
void ViewChange::suspect_by(Rank accuser, Rank rank, std::string reason, bool turned_away) {
  if (rank == self_ || suspected_.contains(rank)) return;
  table_.freeze(rank);
  suspected_.add(rank);
  log::info(log::Room::views, "suspects",
            {{"node", view_.members[self_.value()]}, {"whom", view_.members[rank.value()]}, {"reason", reason}});
  suspicions_.push_back({rank, std::move(reason), turned_away, accuser});
  if (!turned_away) tell(RankSet::of(rank));
}

void ViewChange::tell(const RankSet& suspects) {
  told_.add(suspects);
  for (const std::uint32_t half : {0U, 1U}) {
    const std::uint64_t offset = table_.layout(self_).suspected(half);
    if (table_.own(offset) != told_.word(half)) store(offset, told_.word(half));
  }
}

bool ViewChange::step(const std::vector<Candidate>& candidates, bool may_lead, const LifeSigns& signs) {
  if (state_ == State::decided) look_for_life();
  if (state_ == State::decided || state_ == State::stuck) return false;
  bool changed = read_rows(signs);
  changed |= learn_decision();  // it needs no majority any more: others may be gone because they went on
  if (state_ == State::decided) return true;
  const Standing standing = this->standing();
  if (standing == Standing::lost) {
    if (state_ == State::steady) counts_.wedge();
    state_ = State::stuck;
    return true;
  }
  if (!signs.just_woke) tell(suspected_);
  changed |= wedge_if_due(candidates, may_lead);
  if (state_ == State::steady) return changed;
  if (standing == Standing::awaited) return follow() || changed;
  if (standing == Standing::testimony && hear_the_dead()) return true;
  changed |= leader() == self_ ? lead(candidates) : follow();
  return changed;
}

// How the view ends is settled; but until the application is through with it, the members go on with their heartbeats.
void ViewChange::look_for_life() {
  for (std::uint32_t i = 0; i < seen_.size(); ++i) {
    if (Rank(i) == self_ || !table_.attached(Rank(i)) || suspected_.contains(Rank(i))) continue;
    const std::uint64_t offset = table_.layout(Rank(i)).heartbeat();
    const auto heartbeat = table_.read(Rank(i), offset).within(heartbeats_[i], ~std::uint64_t{0});
    if (heartbeat) heartbeats_[i] = *heartbeat;
  }
}

bool ViewChange::read_rows(const LifeSigns& signs) {
  bool changed = false;
  for (std::uint32_t i = 0; i < seen_.size(); ++i) {
    if (Rank(i) == self_ || !table_.attached(Rank(i)) || suspected_.contains(Rank(i))) continue;
    changed |= read_row(Rank(i));
  }
  // To the end: a member that proposes has drawn all conclusions from what it sees.
  // The leader last: it may have slept, and a member that accuses it for that is heard before it accuses them.
  const auto hear_from = [&](std::uint32_t i) {
    return !suspected_.contains(Rank(i)) && !suspected_.includes(seen_[i].suspected) && hear(Rank(i), signs.quiet);
  };
  for (bool heard = true; heard;) {
    heard = false;
    for (std::uint32_t i = 0; i < seen_.size(); ++i) {
      if (Rank(i) != leader()) heard |= hear_from(i);
    }
    if (!heard) heard = hear_from(leader().value());
    if (!heard) heard = settle(signs);
    changed |= heard;
  }
  return changed;
}

// A promise (`suspected`) is read before what it vouches for (`accepted`), a decision before the acceptance under it.
bool ViewChange::read_row(Rank rank) {
  const sst::RowLayout& row = table_.layout(rank);
  Seen& seen = seen_[rank.value()];
  const auto flag = [&](std::uint64_t offset, bool known) { return table_.read(rank, offset).within(known ? 1 : 0, 1); };
  const auto half = [&](std::uint32_t which) {
    const std::uint64_t known = seen.suspected.word(which);
    const std::uint64_t possible = RankSet::first(view_.members.size()).word(which);
    return table_.read(rank, row.suspected(which)).validate([&](std::uint64_t bits) -> std::optional<std::uint64_t> {
      if ((bits & known) != known || (bits & ~possible) != 0) return std::nullopt;
      return bits;
    });
  };
  const auto low = half(0);
  const auto high = half(1);
  const auto decided = table_.read(rank, row.decided()).within(seen.decided, view_.members.size());
  const auto accepted = table_.read(rank, row.accepted()).within(seen.accepted, view_.members.size());
  const auto wedged = flag(row.wedged(), seen.wedged);
  const auto leaving = flag(row.leaving(), seen.leaving);
  const auto phase = flag(row.phase(), seen.ready);
  const auto heartbeat = table_.read(rank, row.heartbeat()).within(heartbeats_[rank.value()], ~std::uint64_t{0});
  if (!low || !high || !decided || !accepted || !wedged || !leaving || !phase || !heartbeat ||
      RankSet(*low, *high).contains(rank)) {
    suspect(rank, "it wrote impossible words about the view");
    return true;
  }
  if (*phase != 0 && !table_.read(rank, row.epoch()).equals(view_.id.value())) {
    suspect(rank, "its row speaks for another view");
    return true;
  }
  heartbeats_[rank.value()] = *heartbeat;
  const Seen before =
      std::exchange(seen, {*phase != 0, *leaving != 0, *wedged != 0, *accepted, *decided, RankSet(*low, *high)});
  return seen.ready != before.ready || seen.leaving != before.leaving || seen.wedged != before.wedged ||
         seen.accepted != before.accepted || seen.decided != before.decided || !(seen.suspected == before.suspected);
}

// An accuser of this member is lost to it: the connection of the two is over. Of the leader any accuser is believed if the
// leader is quiet to the reader too: it may have slept, and would remove those who noticed first. Few of one host wait for
// an own finding: a suspicion ends the connection, and with it what the leader can testify if it is dead.
bool ViewChange::hear(Rank from, const RankSet& quiet) {
  const RankSet accused = seen_[from.value()].suspected;
  const std::string who = "node " + std::to_string(view_.members[from.value()].value());
  if (accused.contains(self_)) {
    suspect(from, who + " removed this node", true);
    return true;
  }
  const Rank chief = leader();
  if (chief == self_ || chief == from || !accused.contains(chief) || !quiet.contains(chief)) return false;
  if (partition_safety_ && trusted_count(view_, suspected_) <= quorum() && reads_in_place(table_, suspected_)) return false;
  suspect_by(from, chief, who + " suspects it", false);
  return true;
}

bool ViewChange::all_wedged() const {
  for (std::uint32_t i = 0; i < seen_.size(); ++i) {
    if (Rank(i) == self_ || suspected_.contains(Rank(i))) continue;
    if (!table_.attached(Rank(i)) || !seen_[i].wedged) return false;
  }
  return true;
}

Disputes ViewChange::disputes() const {
  RankSet trusted;
  std::vector<RankSet> accused;
  for (std::uint32_t i = 0; i < seen_.size(); ++i) {
    const bool trusts = Rank(i) != self_ && table_.attached(Rank(i)) && !suspected_.contains(Rank(i));
    if (trusts) trusted.add(Rank(i));
    accused.push_back(trusts ? seen_[i].suspected : Rank(i) == self_ ? suspected_ : RankSet());
  }
  return {trusted, newcomers_, std::move(accused)};
}

// The leader judges between any two; the others between the leader and another, which the leader cannot. Once all are
// wedged, what was found until then lies in the rows; and links that break of one cause do not break in one moment. A
// member that tells the leader of an accusation and hides it from the accused would hold up the view, and goes itself.
bool ViewChange::settle(const LifeSigns& signs) {
  if (!all_wedged()) return false;
  const bool leads = leader() == self_;
  const Disputes open = disputes();
  if (open.accusations() != signs.accusations_considered) return false;
  const auto name = [&](Rank rank) { return "node " + std::to_string(view_.members[rank.value()].value()); };
  if (const auto verdict = open.verdict(leads ? std::nullopt : std::optional(leader()))) {
    suspect_by(verdict->stays, verdict->goes, "it and " + name(verdict->stays) + " accuse each other", false);
    return true;
  }
  if (!leads || !signs.accusations_stale) return false;
  const auto lone = open.unanswered();
  if (lone) suspect(lone->goes, "it accuses " + name(lone->stays) + ", which is well");
  return lone.has_value();
}

// A newcomer that a member cannot reach would show its row to all but that one, and hold up the view until one of them goes.
RankSet ViewChange::without_link(const Candidate& candidate) const {
  RankSet without;
  for (std::uint32_t i = 0; i < seen_.size(); ++i) {
    const bool stays = !suspected_.contains(Rank(i)) && !seen_[i].leaving && view_.members[i] != candidate.who.node;
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
           stay.count() < trusted_count(view_, suspected_);
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
    auto decree = decree_of(Rank(i));
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
    auto decree = last.decided == last.accepted ? decree_of(Rank(i)) : std::nullopt;
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
std::optional<Decree> ViewChange::decree_of(Rank rank) {
  const std::byte* const from = table_.bytes(rank, table_.layout(rank).decree());
  std::vector<std::uint64_t> words(table_.layout(rank).decree_words());
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = load_acquire(from + i * sst::word_bytes);
  auto decree = decode(words, view_);
  if (decree && !decree->failed.contains(self_) && !counts_.can_deliver(*decree)) return std::nullopt;
  if (decree && decree->stays(self_) && !rosters_.admits(*decree)) return std::nullopt;
  return decree;
}

bool ViewChange::lead(const std::vector<Candidate>& candidates) {
  const std::uint64_t ballot = self_.value() + 1;
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
  // By testimony nothing is repeated: whoever could have decided it is dead, and did not.
  const bool by_testimony = standing() == Standing::testimony;
  if (seen_[best.value()].accepted == 0 || by_testimony) {
    if (by_testimony) log_testimony(view_, self_, suspected_);
    std::vector<Candidate> linked;
    std::ranges::copy_if(candidates, std::back_inserter(linked),
                         [&](const Candidate& each) { return without_link(each).empty(); });
    return accept(ballot, compose_with_roster({view_, loaded_, table_, suspected_, leaving()}, rosters_, std::move(linked)));
  }
  auto inherited = decree_of(best);
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
  if (seen.accepted != chief.value() + 1 || seen.accepted <= seen_[self_.value()].accepted) return false;
  auto decree = decree_of(chief);
  if (!decree) {
    suspect(chief, "it proposed an impossible decree");
    return true;
  }
  if (!suspected_.includes(decree->failed)) return false;  // its suspicions, written before, are heard first
  return accept(seen.accepted, *decree);
}

bool ViewChange::count_acceptances() {
  const std::uint64_t ballot = self_.value() + 1;
  std::uint64_t count = 0;
  for (std::uint32_t i = 0; i < seen_.size(); ++i)
    count += seen_[i].accepted == ballot && !suspected_.contains(Rank(i)) ? 1 : 0;
  if (count < quorum() && (standing() != Standing::testimony || count < trusted_count(view_, suspected_))) return false;
  declare_decided();
  return true;
}

void ViewChange::declare_decided() {
  decree_ = decree_of(self_);
  CHECK(decree_.has_value());
  Seen& own = seen_[self_.value()];
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

const ViewChange::Suspicion* suspicion_of(const ViewChange& change, Rank rank) noexcept {
  const auto& all = change.suspicions();
  const auto at = std::ranges::find(all, rank, &ViewChange::Suspicion::rank);
  return at == all.end() ? nullptr : &*at;
}

}  // namespace spindrift::views
