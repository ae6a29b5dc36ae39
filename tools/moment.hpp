// Times as people and programs write them. (RFC 3339)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <spindrift/core/result.hpp>

namespace spindrift::tools {

/// Nanoseconds since 1970 of "2026-11-28T10:00:00Z": a date, a time of day, up to nine digits of a fraction, and Z or an
/// offset from UTC. Errors: bad_argument (it is none, or before 1970 or behind 2553), whose message says what is wrong.
[[nodiscard]] Result<std::uint64_t> parse_moment(std::string_view text);

/// The same in UTC, with nine digits of a fraction.
[[nodiscard]] std::string moment_text(std::int64_t since_1970_ns);

}  // namespace spindrift::tools
