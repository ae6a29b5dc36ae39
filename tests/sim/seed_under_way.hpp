// The seed that a simulator plays, which is named also where it ends the process; and the time that seeds take.
#pragma once

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>

#include <unistd.h>

namespace spindrift::sim {

inline volatile std::uint64_t seed_under_way = 0;

/// Ends the process with code 1, from a handler of signals.
inline void end_by(const char* violated) {
  char text[128];
  const int length = std::snprintf(text, sizeof text, "seed %llu: violated %s\n",
                                   static_cast<unsigned long long>(seed_under_way), violated);
  if (length > 0) (void)!::write(STDERR_FILENO, text, static_cast<std::size_t>(length));
  ::_exit(1);
}

/// The CPU time of this process: a busy machine plays no slower by it.
inline double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace spindrift::sim
