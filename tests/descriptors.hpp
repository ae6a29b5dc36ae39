// Whether a test may take this process's last file descriptors away.
#pragma once

namespace spindrift::test {

// UndefinedBehaviorSanitizer opens a pipe to learn whether an address can be read, and reports the object there as broken
// when no descriptor is left for it.
#if defined(__has_feature)
#if __has_feature(undefined_behavior_sanitizer)
#define SPINDRIFT_SANITIZER_OPENS_PIPES
#endif
#endif
#if defined(SPINDRIFT_SANITIZER_OPENS_PIPES)
constexpr bool sanitizer_opens_pipes = true;
#else
constexpr bool sanitizer_opens_pipes = false;
#endif
constexpr const char* pipes_of_the_sanitizer = "the sanitizer of this build needs descriptors of its own";

}  // namespace spindrift::test
