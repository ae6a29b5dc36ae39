// The words of the dead, and what they come to.
#include <spindrift/views/testimonies.hpp>

namespace spindrift::views {

Testimonies::Outlook Testimonies::outlook(const RankSet& whom) const noexcept {
  Outlook all = Outlook::complete;
  for (std::uint32_t i = 0; i < words_.size(); ++i) {
    if (!whom.contains(Rank(i))) continue;
    if (words_[i] == Word::none) return Outlook::none;
    if (words_[i] == Word::announced) all = Outlook::awaited;
  }
  return all;
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
