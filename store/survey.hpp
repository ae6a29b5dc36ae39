// A journal's segments as they tell of themselves: the first half of examining a journal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/store/format.hpp>
#include <spindrift/store/segment_file.hpp>
#include <spindrift/store/storage.hpp>

namespace spindrift::store {

struct SurveyedSegment {
  std::uint64_t number = 0;
  SegmentReading reading;
};

struct Survey {
  std::vector<SurveyedSegment> segments;  ///< by number, without those that were trimmed away
  std::uint64_t oldest = 0;               ///< number of the first segment that should be there
  bool begun = false;                     ///< there was a segment once
  std::vector<std::string> leftovers;     ///< files that count for nothing: unfinished, or trimmed away
  std::vector<std::string> foreign;       ///< what no journal makes
};

/// Reads heads and marks. Errors: as `examine`.
[[nodiscard]] Result<Survey> survey(Storage& storage, const std::optional<JournalOwner>& owner);

}  // namespace spindrift::store
