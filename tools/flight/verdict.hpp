// Compares what the members of a replay delivered with each other and with the file, and prints it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exit_code.hpp"
#include "flight/plan.hpp"
#include "flight/replay.hpp"
#include "ulog.hpp"

namespace spindrift::tools {

struct Verdict {
  std::vector<bool> topic_equal;     ///< by topic: counts and contents equal the file's, at every member
  std::vector<bool> sequence_equal;  ///< by subgroup: the same delivered sequence at every member
  bool members_finished = true;
  ExitCode code = ExitCode::success;

  [[nodiscard]] bool ok() const noexcept { return code == ExitCode::success; }
};

/// A member without a result makes its topics and subgroups unequal.
[[nodiscard]] Verdict judge(const FlightParts& parts, const std::vector<MemberOutcome>& outcomes);

/// The report that is printed: all of one replay.
struct FlightReport {
  const ulog::Recording& recording;
  const View& view;
  const FlightPlan& plan;
  const std::vector<MemberOutcome>& outcomes;
  const Verdict& verdict;
  std::string config;
};

void print_text(const FlightReport& report);
void print_json(const FlightReport& report);

}  // namespace spindrift::tools
