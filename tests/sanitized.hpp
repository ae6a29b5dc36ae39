// A sanitizer keeps what was freed, and makes all take several times as long: what tests do otherwise under one.
#pragma once

#include <algorithm>

namespace spindrift::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#elif defined(__has_feature)
constexpr bool sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool sanitized = false;
#endif

/// How often a test repeats what may go wrong by chance: so many times, and a quarter of that under a sanitizer, to which a
/// race shows itself though nothing comes of it. For no number that the test's rule is about.
template <class Count>
constexpr Count rounds_of(Count all) {
  return sanitized ? std::max(all / 4, Count{1}) : all;
}

}  // namespace spindrift::test
