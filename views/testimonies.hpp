// The testimony of the dead, on one host: of members whose processes have ended. A death that the kernel reports is certain,
// and the row that such a member left is final.
//
// The invariant to remember: a last row counts only if it is read after its owner's death was certain. So a word here that
// says so comes before the pass that reads it. (docs/protocol.md, "The testimony of the dead")
//
// A value; pure.
#pragma once

#include <cstdint>
#include <vector>

#include <spindrift/sst/table.hpp>
#include <spindrift/views/rank_set.hpp>

namespace spindrift::views {

class Testimonies {
 public:
  /// The knowledge of one member's end.
  enum class Word : std::uint8_t {
    none,       ///< it may live, or nobody knows what it did
    announced,  ///< its process ends, and was connected until then; its row is not final yet
    untold,     ///< it is dead for certain, and this member is too new to tell what it did in this view
    unseen,     ///< it is dead for certain, and what it did in this view is to be told from the rows of others
    nothing,    ///< it is dead for certain, and did nothing in this view
    row,        ///< it is dead for certain, and its row can be read in place
  };
  /// The testimony of several, together.
  enum class Outlook : std::uint8_t {
    none,      ///< one of them may live
    awaited,   ///< some are not dead for certain yet
    untold,    ///< all are, and others than this member can tell what they did
    complete,  ///< each of them testifies, or is unseen
  };
  struct LastWords {
    std::uint64_t accepted = 0;
    std::uint64_t decided = 0;
  };

  explicit Testimonies(std::size_t members) : words_(members) {}

  void hear(Rank rank, Word word) { words_[rank.value()] = word; }
  /// Its row is final.
  [[nodiscard]] bool left_row(Rank rank) const noexcept { return words_[rank.value()] == Word::row; }
  /// Those whose word is `unseen`.
  [[nodiscard]] RankSet unseen() const noexcept;
  [[nodiscard]] Outlook outlook(const RankSet& whom) const noexcept;
  /// Whether none of those that are unseen can have decided: that takes acceptances of `quorum` members, or of all that
  /// live. `latest`: the highest ballot that a living member has accepted, or will accept next.
  [[nodiscard]] bool unseen_decided_nothing(const sst::Table& table, std::uint64_t latest, std::uint64_t quorum) const;
  /// The end of the row of a member that `left_row`. Each is a ballot of this view; what is none is given as a decision
  /// without an acceptance.
  [[nodiscard]] static LastWords last_words(const sst::Table& table, Rank rank);

 private:
  std::vector<Word> words_;  // by rank
};

}  // namespace spindrift::views
