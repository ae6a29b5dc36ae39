// The bytes of a segment's file, read as far as the disk lets them be read.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/store/format.hpp>
#include <spindrift/store/storage.hpp>

namespace spindrift::store {

/// So many bytes of a file, or as many as there are; whole blocks. A block that the disk does not give is filled with ones:
/// it is damaged, and not blank. Errors: resource (none of its blocks can be read).
[[nodiscard]] Result<Blocks> read_blocks(StoredFile& file, std::uint64_t at, std::uint64_t bytes);

/// A segment as it tells of itself, in two heads, each with a copy of the ends of logs, and two marks.
struct SegmentReading {
  std::optional<SegmentHead> head;         ///< nothing: neither is whole
  LogEnds ends;                            ///< where the logs end before it
  std::uint32_t version = latest_format;    ///< another: a head is of that version, which is unknown
  std::vector<std::uint64_t> lost;         ///< places of heads and copies that are not whole
  SegmentMark mark;                        ///< number 0: none is whole
  bool lost_marks = false;                 ///< both were written, and neither is whole
};
/// Errors: as `read_blocks`.
[[nodiscard]] Result<SegmentReading> read_segment(StoredFile& file);

}  // namespace spindrift::store
