// Where every word of a member's row lies: a pure function of (view, owner), so that all members compute the same offsets.
//
// A row is one segment: control words first, then the owner's rings. Control words of one subgroup sit in cache lines of
// their own; each ring starts on a page. The fields, their writers, guards and bounds: docs/protocol.md.
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

/// Offsets, in bytes from the start of the owner's row, of the words of one subgroup that the owner is a member of.
struct SubgroupBlock {
  std::uint64_t committed = 0;    ///< messages (nulls included) published so far; guard of the ring bytes
  std::uint64_t received = 0;     ///< frontier: sequence numbers below it are here
  std::uint64_t delivered = 0;    ///< frontier: sequence numbers below it are with the application
  std::uint64_t received_of = 0;  ///< one word per sender: messages of that sender consumed here
  std::uint64_t ring = 0;         ///< 0 if the owner does not send here
  std::uint64_t ring_bytes = 0;

  /// The line that holds committed, received and delivered.
  [[nodiscard]] std::uint64_t control_line() const noexcept { return committed; }
};

class RowLayout {
 public:
  RowLayout(const View& view, NodeId owner);

  [[nodiscard]] std::uint64_t epoch() const noexcept { return 0; }
  [[nodiscard]] std::uint64_t phase() const noexcept { return word_bytes; }
  /// The activity counter that covers `subgroup`.
  [[nodiscard]] std::uint64_t activity(SubgroupId subgroup) const noexcept {
    return activity_word(subgroup.value() / subgroups_per_activity);
  }
  [[nodiscard]] std::uint64_t activity_word(std::uint32_t position) const noexcept {
    return cache_line_bytes + position * word_bytes;
  }
  [[nodiscard]] std::uint32_t activity_words() const noexcept { return activity_words_; }

  /// Empty if the owner is not a member of that subgroup.
  [[nodiscard]] const std::optional<SubgroupBlock>& subgroup(SubgroupId id) const { return blocks_.at(id.value()); }

  /// Bytes before the first ring: everything that is a word.
  [[nodiscard]] std::uint64_t control_bytes() const noexcept { return control_bytes_; }
  /// Size of the whole row; a multiple of the page.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  std::uint32_t activity_words_;
  std::uint64_t control_bytes_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<std::optional<SubgroupBlock>> blocks_;
};

}  // namespace spindrift::sst
