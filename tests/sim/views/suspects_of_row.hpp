// The suspects of a row's owner, as the row says.
#pragma once

#include <cstdint>

#include <spindrift/sst/row_layout.hpp>
#include <spindrift/views/rank_set.hpp>

namespace spindrift::sim {

/// Calls `each` with the offset of every word that says it, in a view of so many members.
template <class Each>
void for_each_suspicion(const sst::RowLayout& layout, std::size_t members, Each&& each) {
  for (std::uint32_t i = 0; i < sst::rank_set_words_of(members); ++i) each(layout.suspected(i));
}

/// `read` gives the word at an offset of the row.
template <class Read>
[[nodiscard]] views::RankSet suspects_of_row(const sst::RowLayout& layout, std::size_t members, Read&& read) {
  views::RankSet suspects;
  std::uint32_t next = 0;
  for_each_suspicion(layout, members, [&](std::uint64_t offset) { suspects.set_word(next++, read(offset)); });
  return suspects;
}

}  // namespace spindrift::sim
