// CHECK: an assertion about this process's own state, on in every build. A failed one is a bug of Spindrift: it prints the
// place, the condition and the newest trace records, then aborts. Never CHECK a value that a peer or a user supplied.
#pragma once

#include <cstdint>
#include <string_view>

namespace spindrift {

[[noreturn]] void check_failed(const char* condition, const char* file, int line) noexcept;

/// Remembers one event in this thread's trace ring (the newest 256), printed when a CHECK fails. Costs a few nanoseconds.
/// `what` must be a string literal.
void trace(const char* what, std::uint64_t a = 0, std::uint64_t b = 0) noexcept;

}  // namespace spindrift

#define SPINDRIFT_CHECK(condition)                                                 \
  do {                                                                             \
    if (!(condition)) [[unlikely]]                                                 \
      ::spindrift::check_failed(#condition, __FILE__, __LINE__);                   \
  } while (false)

// The short name exists in the rooms' own source files alone: a header that an application includes must not define CHECK
// beneath its test framework. Headers write SPINDRIFT_CHECK.
#ifdef SPINDRIFT_BUILDING
#define CHECK(condition) SPINDRIFT_CHECK(condition)
#endif
