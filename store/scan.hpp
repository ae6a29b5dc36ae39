// Reading a segment's bytes: which entries are there, which are missing between them, and what those that are there vouch
// for. Pure functions over memory.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <spindrift/store/entry.hpp>
#include <spindrift/store/format.hpp>

namespace spindrift::store {

/// A segment's bytes, and what is known before its entries are looked at.
struct SegmentView {
  SegmentHead head;
  LogEnds ends;                      ///< where the logs end before its first entry
  std::span<const std::byte> bytes;  ///< the whole file
};

/// Entries that should be between others and cannot be read.
struct Hole {
  std::uint64_t at = 0;   ///< the place in the segment at which the first of them should begin, in bytes
  JournalPosition first;  ///< of the first of them
  JournalPosition end;    ///< of the next that can be read; as `first`: bytes behind a batch that should be zeros are not
};

struct SegmentScan {
  JournalPosition end;      ///< behind the last entry that can be read
  LogEnds ends;             ///< where the logs end behind it
  std::uint64_t time = 0;   ///< of that entry; 0: there is none
  std::uint64_t used = 0;   ///< bytes of the file up to the place behind it
  JournalPosition vouched;  ///< everything before was durable, as an entry or the head says
  std::vector<Hole> holes;  ///< in order; each lies before an entry that can be read, or is of bytes behind a batch
};

/// Looks at the entries before `limit`; those from it on are void.
[[nodiscard]] SegmentScan scan_segment(const SegmentView& segment, JournalPosition limit);

/// Is given an entry that can be read, its place in the segment in bytes, and the hole in front of it, if there is one.
using PlaceVisitor = std::function<void(const FoundEntry&, std::uint64_t at, const Hole* before)>;
/// The same, and visits the entries. Behind the last of them there is a hole if the result's end is before `limit`.
SegmentScan walk_segment(const SegmentView& segment, JournalPosition limit, const PlaceVisitor& visitor);

/// Is given an entry; its payload is valid during the call. False: no more.
using EntryVisitor = std::function<bool(const Entry&)>;
/// The entries of positions in [from, limit) that can be read, in order. False: the visitor wanted no more.
bool visit_entries(const SegmentView& segment, JournalPosition from, JournalPosition limit, const EntryVisitor& visitor);

}  // namespace spindrift::store
