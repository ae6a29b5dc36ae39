// One member of a replay, in a process of its own: sends its share of the recording, and that of members that die if it is
// next in line; delivers everything, and reports to the demo through a pipe, one line of text each time. When it has
// delivered all and said so, it waits for SIGTERM to leave.
#pragma once

#include <string>

#include "options.hpp"

namespace spindrift::tools {

struct FlightMemberOptions : CommandOptions {
  std::string recording;
  double speed = 0;           ///< of the flight's own pace; 0: as fast as possible
  std::uint32_t rounds = 1;   ///< so often the flight is flown
  int report = -1;      ///< descriptor of the pipe's writing end
  bool victim = false;  ///< will be killed when it reports half its share; waits for that rather than send its last sample
};

// A member's report is a word, a blank and its argument.
inline constexpr char report_joined[] = "joined";      ///< in view
inline constexpr char report_progress[] = "progress";  ///< messages delivered so far; at most 200 times
inline constexpr char report_half[] = "half";          ///< the victim has sent half its share
inline constexpr char report_view[] = "view";          ///< the members of a new view, "0,2"
inline constexpr char report_result[] = "result";      ///< to_json(TallyResult)
inline constexpr char report_failed[] = "failed";      ///< the error's text

/// Runs the member to its end and returns its exit code. Reports errors rather than throwing them.
[[nodiscard]] int run_flight_member(const FlightMemberOptions& options);

}  // namespace spindrift::tools
