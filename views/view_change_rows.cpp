// Reading rows: what each says for itself, and what follows from what they say of each other.
#include <spindrift/views/view_change.hpp>

#include <utility>

namespace spindrift::views {
namespace {

// The suspects of that member's row, which only grow from what is `known`; nothing if no correct member writes that.
std::optional<RankSet> suspects_of(const sst::Table& table, Rank rank, const RankSet& known, const RankSet& everybody) {
  const sst::RowLayout& row = table.layout(rank);
  RankSet suspects;
  for (std::uint32_t i = 0; i < sst::rank_set_words_of(table.view().members.size()); ++i) {
    const auto plausible = [&](std::uint64_t bits) -> std::optional<std::uint64_t> {
      if ((bits & known.word(i)) != known.word(i) || (bits & ~everybody.word(i)) != 0) return std::nullopt;
      return bits;
    };
    const auto bits = table.read(rank, row.suspected(i)).validate(plausible);
    if (!bits) return std::nullopt;
    suspects.set_word(i, *bits);
  }
  return suspects;
}

}  // namespace

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
  const std::optional<RankSet> suspected = suspects_of(table_, rank, seen.suspected, mandate_.everybody());
  const auto decided = table_.read(rank, row.decided()).within(seen.decided, mandate_.highest_ballot());
  const auto accepted = table_.read(rank, row.accepted()).within(seen.accepted, mandate_.highest_ballot());
  const auto wedged = flag(row.wedged(), seen.wedged);
  const auto leaving = flag(row.leaving(), seen.leaving);
  const auto phase = flag(row.phase(), seen.ready);
  const auto heartbeat = table_.read(rank, row.heartbeat()).within(heartbeats_[rank.value()], ~std::uint64_t{0});
  if (!suspected || !decided || !accepted || !wedged || !leaving || !phase || !heartbeat || suspected->contains(rank)) {
    suspect(rank, "it wrote impossible words about the view");
    return true;
  }
  if (*phase != 0 && !table_.read(rank, row.epoch()).equals(view_.id.value())) {
    suspect(rank, "its row speaks for another view");
    return true;
  }
  heartbeats_[rank.value()] = *heartbeat;
  const Seen before = std::exchange(seen, {*phase != 0, *leaving != 0, *wedged != 0, *accepted, *decided, *suspected});
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
  if (mandate_.terms().rule == Mandate::Rule::majority && reads_in_place(table_, suspected_)) {
    RankSet without_it = suspected_;
    without_it.add(chief);
    if (!mandate_.suffices(without_it)) return false;
  }
  suspect(chief, who + " suspects it", false, from);
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

// Once all are wedged, what was found until then lies in the rows; and links that break of one cause do not break in one
// moment. A member that tells the leader of an accusation and hides it from the accused would hold up the view, and goes
// itself.
bool ViewChange::settle(const LifeSigns& signs) {
  if (!all_wedged()) return false;
  const bool leads = leader() == self_;
  const Disputes open = disputes();
  const auto name = [&](Rank rank) { return "node " + std::to_string(view_.members[rank.value()].value()); };
  if (const auto verdict = open.verdict_of(self_, leader())) {
    if (verdict->goes != signs.accusations.weighed) return false;
    suspect(verdict->goes, "it and " + name(verdict->stays) + " accuse each other", false, verdict->stays);
    return true;
  }
  if (!leads || signs.accusations.stale == 0 || open.accusations() != signs.accusations.stale) return false;
  bool settled = false;
  for (auto lone = open.unanswered(); lone; lone = disputes().unanswered()) {
    suspect(lone->goes, "it accuses " + name(lone->stays) + ", which is well");
    settled = true;
  }
  return settled;
}

}  // namespace spindrift::views
