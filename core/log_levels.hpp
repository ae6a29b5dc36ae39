// The level of every room as one value, and the text form users write it in. Pure: nothing here changes what is logged, so
// that a config can be checked without being applied.
#pragma once

#include <array>
#include <string_view>

#include <spindrift/core/log.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::log {

/// Indexed by Room.
using LevelTable = std::array<Level, room_count>;

[[nodiscard]] std::string_view to_string(Level level) noexcept;

/// `base` changed by "warn" (every room) or "info,smc=trace" (every room, then one); later words win. Errors: bad_config
/// naming the wrong word and the known ones.
[[nodiscard]] Result<LevelTable> parse_levels(std::string_view specification, LevelTable base);

}  // namespace spindrift::log
