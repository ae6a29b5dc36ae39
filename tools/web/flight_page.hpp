// The process that shows a flight in browsers: a participant of the flight's domain, which reads all topics and misses what
// it is too slow for, and serves a page with what it has read.
#pragma once

#include "options.hpp"

namespace spindrift::tools {

struct FlightPageOptions : CommandOptions {
  int socket = -1;  ///< descriptor that listens
  int report = -1;  ///< descriptor of the pipe that takes the reason if it fails
};

/// Shows it until a signal, and returns the exit code. Reports errors rather than throwing them.
[[nodiscard]] int run_flight_page(const FlightPageOptions& options);

}  // namespace spindrift::tools
