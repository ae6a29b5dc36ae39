// Promises, acceptances, decisions and trims (V4, V7, V8, V10, V12).
#include "endings.hpp"

#include <algorithm>

#include <spindrift/core/untrusted.hpp>
#include <spindrift/smc/frontier.hpp>

#include "suspects_of_row.hpp"

namespace spindrift::sim {
namespace {

constexpr std::uint32_t ranks_max = 256;  // in a key of `Ending::ends`
constexpr std::size_t failed_at = 2;      // words of the decree: digest, view, failed, …
constexpr std::size_t head_words = 6;     // beside two sets of ranks

std::vector<std::uint64_t> decree_in(const RowBook& book) {
  std::vector<std::uint64_t> words;
  words.reserve(book.layout.decree_words());
  for (std::uint64_t i = 0; i < book.layout.decree_words(); ++i) {
    words.push_back(book.now(book.layout.decree() + i * sst::word_bytes));
  }
  return words;
}

std::vector<std::vector<std::uint64_t>> trim_of(std::span<const std::uint64_t> words, const View& view) {
  std::vector<std::vector<std::uint64_t>> trim;
  const std::size_t set_words = sst::rank_set_words_of(view.members.size());
  std::size_t at = head_words + 2 * set_words + 2 * sst::joins_max;
  for (const SubgroupView& subgroup : view.subgroups) {
    const auto counts = words.subspan(at + set_words, subgroup.senders.size());
    trim.emplace_back(counts.begin(), counts.end());
    at += set_words + subgroup.senders.size();
  }
  return trim;
}

views::RankSet failed_of(std::span<const std::uint64_t> words, const View& view) {
  views::RankSet failed;
  for (std::uint32_t i = 0; i < sst::rank_set_words_of(view.members.size()); ++i) failed.set_word(i, words[failed_at + i]);
  return failed;
}

}  // namespace

std::uint64_t RowBook::now(std::uint64_t offset) const { return load_acquire(memory + offset); }
std::uint64_t RowBook::earlier(std::uint64_t offset) const { return load_acquire(before.data() + offset); }
views::RankSet RowBook::suspects_now() const {
  return suspects_of_row(layout, view->members.size(), [this](std::uint64_t offset) { return last(offset); });
}
views::RankSet RowBook::suspected_earlier() const {
  return suspects_of_row(layout, view->members.size(), [this](std::uint64_t offset) { return earlier(offset); });
}

void Endings::violate(const char* invariant, const RowBook& book, const std::string& what) {
  report_.violate(invariant, "process " + std::to_string(book.process) + ", view " + std::to_string(book.view->id.value()) +
                                 ": " + what);
}

std::span<const std::uint64_t> Endings::decree(ViewId view, std::uint64_t ballot) const {
  const auto ending = endings_.find(view);
  if (ending == endings_.end()) return {};
  const auto found = ending->second.ballots.find(ballot);
  if (found == ending->second.ballots.end()) return {};
  return found->second.words;
}

void Endings::on_change(RowBook& book, const Books& books) {
  const auto changed = [&](std::uint64_t offset) { return book.now(offset) != book.earlier(offset); };
  bool suspects = false;
  for_each_suspicion(book.layout, book.view->members.size(), [&](std::uint64_t word) { suspects |= changed(word); });
  const bool wedges = changed(book.layout.wedged());
  const bool accepts = changed(book.layout.accepted());
  const bool decides = changed(book.layout.decided());
  if (suspects || wedges || accepts || decides) {
    Ending& ending = endings_[book.view->id];
    if (suspects) on_suspicion(book, books, ending);
    if (wedges) on_wedge(book, ending);
    if (accepts) on_acceptance(book, books, ending);
    if (decides) on_decision(book, books, ending);
  }
  if (book.now(book.layout.decided()) != 0) return;
  if (const auto ending = endings_.find(book.view->id); ending != endings_.end()) check_delivered(book, ending->second);
}

// V8: a suspected member stays so. What the suspect had published by then is the last that this member takes of it.
void Endings::on_suspicion(RowBook& book, const Books& books, Ending& ending) {
  const views::RankSet now = book.suspects_now();
  const views::RankSet earlier = book.suspected_earlier();
  if (!now.includes(earlier)) return violate("V8", book, "it takes back a suspicion");
  book.promises.push_back({now, book.earlier(book.layout.accepted())});
  for (const auto& [process, other] : books) {
    if (!now.contains(other.rank) || earlier.contains(other.rank) || other.released) continue;
    std::vector<std::uint64_t>& ends = ending.ends[book.rank.value() * ranks_max + other.rank.value()];
    for (std::uint32_t s = 0; s < book.view->subgroups.size(); ++s) {
      const auto& block = other.layout.subgroup(SubgroupId(s));
      ends.push_back(block ? other.now(block->committed) : 0);
    }
  }
}

// V8: counts become final now; of a suspect's messages they have none that came after the suspicion.
void Endings::on_wedge(const RowBook& book, const Ending& ending) {
  for (std::uint32_t suspect = 0; suspect < book.view->members.size(); ++suspect) {
    const auto ends = ending.ends.find(book.rank.value() * ranks_max + suspect);
    if (ends == ending.ends.end()) continue;
    for (std::uint32_t s = 0; s < book.view->subgroups.size(); ++s) {
      const auto& block = book.layout.subgroup(SubgroupId(s));
      const auto sender = book.view->subgroups[s].sender_rank(book.view->members[suspect]);
      if (!block || !sender) continue;
      if (book.now(block->received_of + sender->value() * sst::word_bytes) <= ends->second[s]) continue;
      return violate("V8", book, "it took messages of a member that it suspected before they were published");
    }
  }
}

void Endings::on_acceptance(const RowBook& book, const Books& books, Ending& ending) {
  const std::uint64_t ballot = book.now(book.layout.accepted());
  const std::uint64_t chief = (ballot - 1) % book.view->members.size();
  const bool revival = ballot > book.view->members.size();
  const bool revived = revived_.contains(book.view->id);
  if (revival && !revived) return violate("V12", book, "a ballot that no rank has");
  // A member that shows a decision may be copied from, no matter which led to it.
  const views::RankSet suspects = book.suspects_now();
  const bool learned = std::any_of(books.begin(), books.end(), [&](const auto& entry) {
    const RowBook& other = entry.second;
    return &other != &book && (!suspects.contains(other.rank) || crashed(*book.view, other.rank)) &&
           (other.released || other.now(other.layout.decided()) == ballot);
  });
  if (!learned && book.suspected_earlier().contains(Rank(static_cast<std::uint32_t>(chief)))) {
    return violate("V8", book, "it follows a leader that it suspects");
  }
  if (!learned && !suspects.includes(views::RankSet::first(chief))) {
    return violate("V12", book, "it follows another than the lowest rank that it does not suspect");
  }

  std::vector<std::uint64_t> words = decree_in(book);
  Ballot& proposed = ending.ballots[ballot];
  if (proposed.acceptors++ == 0) proposed.words = words;
  if (proposed.words != words) return violate("V7", book, "two decrees of one ballot were accepted");
  if (!majority_rules_ || revived) return;
  if (proposed.acceptors * 2 > book.view->members.size() && (ending.chosen == 0 || ballot < ending.chosen)) {
    ending.chosen = ballot;
  }
  if (ending.chosen == 0) return;
  const auto leader = std::ranges::find_if(books, [&](const auto& each) {
    return each.second.rank.value() + 1 == ending.chosen;
  });
  const bool void_for_ever = leader != books.end() && crashed(*book.view, leader->second.rank) &&
                             leader->second.last(book.layout.decided()) == 0;
  if (ballot > ending.chosen && void_for_ever && by_testimony(book)) {
    ending.chosen = 0;  // and nobody is left to make another one
    return;
  }
  const std::vector<std::uint64_t>& chosen = ending.ballots[ending.chosen].words;
  for (auto later = ending.ballots.upper_bound(ending.chosen); later != ending.ballots.end(); ++later) {
    if (later->second.words == chosen) continue;
    return violate("V7", book,
                   "ballot " + std::to_string(later->first) + " replaces the decree that a majority accepted under " +
                       std::to_string(ending.chosen));
  }
}

// V19: those that this member trusts are less than a majority, and all others dead.
bool Endings::by_testimony(const RowBook& book) const {
  const views::RankSet suspects = book.suspects_now();
  const std::size_t members = book.view->members.size();
  if (2 * (members - suspects.count()) > members) return false;
  for (std::uint32_t i = 0; i < members; ++i) {
    if (suspects.contains(Rank(i)) && !crashed(*book.view, Rank(i))) return false;
  }
  return true;
}

bool Endings::accepted_by_all_that_live(const std::vector<std::uint64_t>& words, const RowBook& book,
                                        const Books& books) const {
  for (std::uint32_t i = 0; i < book.view->members.size(); ++i) {
    if (crashed(*book.view, Rank(i))) continue;
    const auto other = std::ranges::find_if(books, [i](const auto& each) { return each.second.rank == Rank(i); });
    if (other == books.end()) return false;
    if (!other->second.released && (other->second.now(other->second.layout.accepted()) == 0 ||
                                    decree_in(other->second) != words)) return false;
  }
  return true;
}

// V28: a revived view goes on with those that were named and no others, and they have all accepted its end.
bool Endings::accepted_by_all_that_go_on(const std::vector<std::uint64_t>& words, std::uint64_t ballot, const RowBook& book,
                                         const Books& books) const {
  const views::RankSet failed = failed_of(words, *book.view);
  for (std::uint32_t i = 0; i < book.view->members.size(); ++i) {
    if (failed.contains(Rank(i))) continue;
    const auto other = std::ranges::find_if(books, [i](const auto& each) { return each.second.rank == Rank(i); });
    if (other == books.end()) return false;
    if (!other->second.released && (other->second.last(other->second.layout.accepted()) != ballot ||
                                    decree_in(other->second) != words)) return false;
  }
  return true;
}

// V4, V7: what is decided a majority accepted, or all that live. V10: of the trim all deciders know the same, within what
// survivors hold.
void Endings::on_decision(const RowBook& book, const Books& books, Ending& ending) {
  const std::vector<std::uint64_t> words = decree_in(book);
  if (majority_rules_ && !ending.decided.empty() && words != ending.decided)
    return violate("V7", book, "it decided another decree than a member before");
  const bool first = ending.decided.empty();
  ending.decided = words;
  const std::uint64_t ballot = book.now(book.layout.decided());
  const bool revival = ballot > book.view->members.size();
  if (revival && first && !accepted_by_all_that_go_on(words, ballot, book, books))
    return violate("V28", book, "a view was revived, and some that were named had not accepted that");
  if (majority_rules_ && !revival && first && ending.chosen == 0 && !accepted_by_all_that_live(words, book, books))
    return violate("V4", book, "it decided what no majority had accepted, nor all that live");
  if (first && by_testimony(book)) {
    report_.hit(Probe::decided_by_all_that_live);
    if (books.size() < book.view->members.size()) report_.hit(Probe::decided_without_a_row);
  }
  const bool chosen = ending.chosen != 0 && !revived_.contains(book.view->id);
  if (majority_rules_ && chosen && words != ending.ballots[ending.chosen].words) {
    return violate("V7", book, "it decided another decree than a majority accepted");
  }
  const auto trim = trim_of(words, *book.view);
  if (!ending.trim.empty() && ending.trim != trim) return violate("V10", book, "two trims of one view were decided");
  if (!ending.trim.empty()) return;
  ending.trim = trim;
  ending.survives.assign(trim.size(), false);
  const views::RankSet failed = failed_of(words, *book.view);
  std::uint32_t survivors = 0;
  for (const auto& [process, other] : books) {
    if (!failed.contains(other.rank)) {
      ++survivors;
      check_survivor(other, ending);
    }
  }
  for (const auto& [process, other] : books) check_delivered(other, ending);
  if (survivors + failed.count() != book.view->members.size()) {
    violate("V10", book, "a member that showed no row counts as a survivor");
  }
}

// Its counts are final, and nothing that it does not hold is to be delivered.
void Endings::check_survivor(const RowBook& book, Ending& ending) {
  if (book.last(book.layout.wedged()) == 0) return violate("V10", book, "the view was trimmed before it had wedged");
  for (std::uint32_t s = 0; s < ending.trim.size(); ++s) {
    const auto& block = book.layout.subgroup(SubgroupId(s));
    ending.survives[s] = ending.survives[s] || block;
    for (std::uint32_t sender = 0; block && sender < ending.trim[s].size(); ++sender) {
      if (ending.trim[s][sender] <= book.last(block->received_of + sender * sst::word_bytes)) continue;
      return violate("V10", book, "the trim of subgroup " + std::to_string(s) + " is beyond what this survivor holds");
    }
  }
}

// A member that has delivered something, also a dead one, has delivered nothing that the survivors leave out. With all
// members of a subgroup goes what they had.
void Endings::check_delivered(const RowBook& book, const Ending& ending) {
  for (std::uint32_t s = 0; s < ending.trim.size(); ++s) {
    const auto& block = book.layout.subgroup(SubgroupId(s));
    if (!block || !ending.survives[s] || book.view->subgroups[s].mode != DeliveryMode::ordered) continue;
    const std::uint64_t frontier = std::max(book.last(block->delivered), book.delivered[s]);
    for (std::uint32_t sender = 0; sender < ending.trim[s].size(); ++sender) {
      if (smc::messages_below(frontier, sender, ending.trim[s].size()) <= ending.trim[s][sender]) continue;
      return violate("V10", book, "it delivered more of subgroup " + std::to_string(s) + " than the trim has");
    }
  }
}

void Endings::on_delivered(RowBook& book, std::uint32_t subgroup, std::uint64_t frontier) {
  book.delivered[subgroup] = std::max(book.delivered[subgroup], frontier);
  if (const auto ending = endings_.find(book.view->id); ending != endings_.end()) check_delivered(book, ending->second);
}

}  // namespace spindrift::sim
