// Examining the files of a journal: which segments there are, where the journal ends, and what is damaged. Changes nothing,
// and may be done while the journal is written: it then shows what was there at some moment.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/store/format.hpp>
#include <spindrift/store/scan.hpp>
#include <spindrift/store/storage.hpp>

namespace spindrift::store {

/// A place where the files of a journal are not as they were written.
struct Damage {
  enum class Kind {
    entries,  ///< entries that were durable cannot be read
    segment,  ///< a segment with entries that were durable is missing, or tells nothing of itself
    head,     ///< one of two heads: the other says the same
    mark,     ///< marks: at worst less is vouched for
    padding,  ///< bytes that should be zeros: no entry is concerned
  };
  Kind kind = Kind::entries;
  std::string place;      ///< file and offset, for people
  JournalPosition first;  ///< entries and segment: of the first that is concerned
  JournalPosition end;    ///< behind the last of them; as `first`: how many is not known
};

[[nodiscard]] std::string_view to_string(Damage::Kind kind) noexcept;
/// Whether entries that were reported durable are concerned: without them the journal does not go on.
[[nodiscard]] constexpr bool loses_entries(Damage::Kind kind) noexcept {
  return kind == Damage::Kind::entries || kind == Damage::Kind::segment;
}

struct FoundSegment {
  SegmentHead head;
  LogEnds ends;             ///< where the logs end before its first entry
  SegmentMark mark;         ///< number 0: it has none
  JournalPosition end;      ///< behind its last entry that counts
  std::uint64_t used = 0;   ///< bytes of its file up to there
  std::uint64_t torn = 0;   ///< bytes behind that which nobody vouches for, and which are void
};

struct JournalFindings {
  std::vector<FoundSegment> segments;  ///< by number, oldest first
  std::vector<Damage> damages;         ///< by segment
  JournalPosition end;                 ///< of the journal: the next entry is given this position
  LogEnds ends;                        ///< where the logs end
  std::uint64_t time = 0;              ///< of the last entry; 0: there is none
  bool begun = false;                  ///< there was a segment once, be it there or not
  std::vector<std::string> leftovers;  ///< files that count for nothing: unfinished ones, and those that were trimmed away
  std::vector<std::string> foreign;    ///< what no journal makes, as far as it could be the name of a file of one

  /// The first damage that loses entries; null: there is none.
  [[nodiscard]] const Damage* loss() const noexcept;
  /// The position of the first entry that is still there.
  [[nodiscard]] JournalPosition first() const noexcept { return segments.empty() ? end : segments.front().head.first; }
};

/// Reads all of it. `owner`: whose it must be; nothing: whoever's, by its first segment. Errors: refused (it is another
/// node's or group's, or a file of another journal lies in it), unsupported (a later version of the format), bad_input (its
/// owner has removed a segment meanwhile), resource. Damage is no error, but found.
[[nodiscard]] Result<JournalFindings> examine(Storage& storage, const std::optional<JournalOwner>& owner);

/// The segments as their heads tell of them, without a look at entries and damages: for a journal that was examined and is
/// being written. The last one ends nowhere. Errors: as `examine`.
[[nodiscard]] Result<std::vector<FoundSegment>> outline(Storage& storage, const std::optional<JournalOwner>& owner);

/// The entries from `from` on that can be read, in order, until the visitor wants no more; what is damaged is left out.
/// Errors: bad_input (a segment is gone: it was trimmed away meanwhile), resource.
[[nodiscard]] Result<void> visit_entries(Storage& storage, std::span<const FoundSegment> segments, JournalPosition from,
                                         const EntryVisitor& visitor);
/// The same of all segments of the findings.
[[nodiscard]] inline Result<void> visit_entries(Storage& storage, const JournalFindings& findings, JournalPosition from,
                                                const EntryVisitor& visitor) {
  return visit_entries(storage, std::span(findings.segments), from, visitor);
}

}  // namespace spindrift::store
