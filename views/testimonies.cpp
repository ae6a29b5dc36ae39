// The words of the dead, and what they come to.
#include <spindrift/views/testimonies.hpp>

#include <algorithm>

namespace spindrift::views {

Testimonies::Outlook Testimonies::outlook(const RankSet& whom) const noexcept {
  Outlook all = Outlook::complete;
  for (std::uint32_t i = 0; i < words_.size(); ++i) {
    if (!whom.contains(Rank(i))) continue;
    if (words_[i] == Word::none) return Outlook::none;
    if (words_[i] == Word::announced) all = Outlook::awaited;
    if (words_[i] == Word::untold && all == Outlook::complete) all = Outlook::untold;
  }
  return all;
}

RankSet Testimonies::unseen() const noexcept {
  RankSet unseen;
  for (std::uint32_t i = 0; i < words_.size(); ++i) {
    if (words_[i] == Word::unseen) unseen.add(Rank(i));
  }
  return unseen;
}

// Somebody who is not among them has accepted what one of them decided, and shows that ballot or one that came later.
bool Testimonies::unseen_decided_nothing(const sst::Table& table, std::uint64_t latest, std::uint64_t quorum) const {
  const RankSet unseen = this->unseen();
  if (unseen.empty()) return true;
  if (unseen.count() >= quorum) return false;
  for (std::uint32_t i = 0; i < words_.size(); ++i) {
    if (left_row(Rank(i))) latest = std::max(latest, last_words(table, Rank(i)).accepted);
  }
  return RankSet::first(latest).disjoint(unseen);
}

// A word that is no ballot is given as a decision without an acceptance, which nobody follows.
Testimonies::LastWords Testimonies::last_words(const sst::Table& table, Rank rank) {
  const sst::RowLayout& row = table.layout(rank);
  const std::uint64_t most = table.view().members.size();
  const auto decided = table.read_last(rank, row.decided()).within(0, most);
  const auto accepted = table.read_last(rank, row.accepted()).within(0, most);
  if (!decided || !accepted) return {0, most};
  return {*accepted, *decided};
}

}  // namespace spindrift::views
