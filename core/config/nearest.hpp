// Guesses of what a mistyped word meant.
#pragma once

#include <span>
#include <string_view>

namespace spindrift::config {

/// The candidate nearest to `word` by edits, or empty if none is near.
[[nodiscard]] std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace spindrift::config
