// Numbers out of JSON that nobody vouches for. For implementation files alone: it includes the whole library.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include <nlohmann/json.hpp>

namespace spindrift {

/// `value` as a whole number from 0 to `most`. The library's own conversion takes fractions and negative numbers without
/// a word, and what the type cannot hold is undefined there.
/// @throws nlohmann::json::type_error of every other value, as the library does for a value of another type.
inline std::uint64_t whole_number(const nlohmann::json& value,
                                  std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() <= most) return value.get<std::uint64_t>();
  throw nlohmann::json::type_error::create(302, "it is no whole number from 0 to " + std::to_string(most), &value);
}

}  // namespace spindrift
