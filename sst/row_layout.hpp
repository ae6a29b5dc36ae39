// The place of every word of a member's row: a pure function of (view, owner), so that all members compute the same offsets.
//
// A row is one segment: control words first, then the decree (what the view change decides), then the words of the program's
// own tables, then the owner's rings. Control words of one subgroup sit in cache lines of their own; each ring starts on a
// page. The fields, their writers, guards and bounds: docs/protocol.md.
//
// The rings of a split row come last, and the owner's segment ends before them: each is a segment of its own. A mirror,
// which nobody but its reader sees, has them at their places.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <spindrift/core/view.hpp>

namespace spindrift::sst {

inline constexpr std::uint64_t word_bytes = 8;
inline constexpr std::uint64_t page_bytes = 4096;
/// One activity counter covers this many subgroups: it changes when any of them has news.
inline constexpr std::uint32_t subgroups_per_activity = 8;
/// Newcomers that one view change takes in at most; further ones wait for the next.
inline constexpr std::size_t joins_max = 32;
/// Words of a set of ranks of a view of so many members, in rows and messages. Two as long as releases that know no others
/// may be in it: `small_roster_count_max` members.
[[nodiscard]] constexpr std::uint32_t rank_set_words_of(std::size_t members) noexcept {
  return members <= small_roster_count_max ? small_roster_count_max / 64 : roster_count_max / 64;
}
static_assert(rank_set_words_of(roster_count_max) <= cache_line_bytes / word_bytes, "whom a member suspects has one line");

/// Program tables of a row have a version word each; a row has one for this many bytes of View::table_bytes.
inline constexpr std::uint64_t table_bytes_per_version = 256;

/// Words that the decree of a view takes: a head, of which two are sets of ranks, two words per possible newcomer, and per
/// subgroup a set of ranks and a count per sender.
[[nodiscard]] std::uint64_t decree_words_of(const View& view) noexcept;

/// Offsets, in bytes from the start of the owner's row, of the words of one subgroup that the owner is a member of.
struct SubgroupBlock {
  std::uint64_t committed = 0;    ///< messages (nulls included) published so far; guard of the ring bytes
  std::uint64_t received = 0;     ///< frontier: sequence numbers below it are here
  std::uint64_t delivered = 0;    ///< frontier: sequence numbers below it are with the application
  std::uint64_t loaded = 0;       ///< 1: the owner's application has this subgroup's state
  std::uint64_t persisted = 0;    ///< logged: frontier + 1: all before the view, and sequence numbers below it, are durable
  std::uint64_t received_of = 0;  ///< one word per sender: messages of that sender consumed (wedged: received) here
  std::uint64_t forwarded = 0;    ///< with bulk rings, one word per sender: below it, all that the owner hands on is posted
  std::uint64_t ring = 0;         ///< 0 if the owner does not send here; of a split row, its place in mirrors
  std::uint64_t ring_bytes = 0;
  bool split = false;             ///< the ring is a segment of its own, `ring_bytes` of it

  /// The line that holds committed, received and delivered.
  [[nodiscard]] std::uint64_t control_line() const noexcept { return committed; }
};

class RowLayout {
 public:
  RowLayout(const View& view, NodeId owner);

  [[nodiscard]] std::uint64_t epoch() const noexcept { return 0; }
  [[nodiscard]] std::uint64_t phase() const noexcept { return word_bytes; }
  [[nodiscard]] std::uint64_t heartbeat() const noexcept { return 2 * word_bytes; }
  [[nodiscard]] std::uint64_t leaving() const noexcept { return 3 * word_bytes; }
  [[nodiscard]] std::uint64_t wedged() const noexcept { return 4 * word_bytes; }
  [[nodiscard]] std::uint64_t accepted() const noexcept { return 5 * word_bytes; }
  [[nodiscard]] std::uint64_t decided() const noexcept { return 6 * word_bytes; }
  /// Counts the changes of the owner's program tables.
  [[nodiscard]] std::uint64_t tables() const noexcept { return 7 * word_bytes; }
  /// Ranks 64 · which … 64 · which + 63, a bit each; `rank_set_words_of` the view's members of them.
  [[nodiscard]] std::uint64_t suspected(std::uint32_t which) const noexcept { return cache_line_bytes + which * word_bytes; }
  /// The decree's words; guarded by `accepted`.
  [[nodiscard]] std::uint64_t decree() const noexcept { return control_bytes_; }
  [[nodiscard]] std::uint64_t decree_words() const noexcept { return decree_words_; }
  /// The activity counter that covers `subgroup`.
  [[nodiscard]] std::uint64_t activity(SubgroupId subgroup) const noexcept {
    return activity_word(subgroup.value() / subgroups_per_activity);
  }
  [[nodiscard]] std::uint64_t activity_word(std::uint32_t position) const noexcept {
    return 2 * cache_line_bytes + position * word_bytes;
  }
  [[nodiscard]] std::uint32_t activity_words() const noexcept { return activity_words_; }

  /// How often the owner has written its program table number `position`; guard of the bytes.
  [[nodiscard]] std::uint64_t table_version(std::size_t position) const noexcept {
    return table_versions_ + position * word_bytes;
  }
  [[nodiscard]] std::size_t table_versions() const noexcept { return table_bytes_ / table_bytes_per_version; }
  /// The place of the bytes of the owner's program tables.
  [[nodiscard]] std::uint64_t table_area() const noexcept { return table_area_; }
  [[nodiscard]] std::uint64_t table_bytes() const noexcept { return table_bytes_; }

  /// Empty if the owner is not a member of that subgroup.
  [[nodiscard]] const std::optional<SubgroupBlock>& subgroup(SubgroupId id) const { return blocks_.at(id.value()); }

  /// Bytes before the decree: every word that never decreases.
  [[nodiscard]] std::uint64_t control_bytes() const noexcept { return control_bytes_; }
  /// Behind the last of the lines that lie before the rings.
  [[nodiscard]] std::uint64_t lines_end() const noexcept { return table_area_ + table_bytes_; }
  /// Size of the owner's segment, which all members are shown: without rings that are split off. A multiple of the page.
  [[nodiscard]] std::uint64_t shared_bytes() const noexcept { return shared_bytes_; }
  /// Size of the whole row, and of a mirror of it; a multiple of the page.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  [[nodiscard]] std::uint64_t place_rings(const View& view, NodeId owner, bool split, std::uint64_t next);

  std::uint32_t activity_words_;
  std::uint64_t control_bytes_ = 0;
  std::uint64_t decree_words_ = 0;
  std::uint64_t table_versions_ = 0;
  std::uint64_t table_area_ = 0;
  std::uint64_t table_bytes_ = 0;
  std::uint64_t shared_bytes_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<std::optional<SubgroupBlock>> blocks_;
};

}  // namespace spindrift::sst
