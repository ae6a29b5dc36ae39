// A file of qualities in the form of a configuration: sections, keys, values, and the lines on which they stand. Knows
// nothing of what keys mean.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spindrift::topics {

struct QosEntry {
  std::string key;
  std::string value;  ///< without quotes
  unsigned line = 0;  ///< from 1
};
struct QosSection {
  std::string name;
  unsigned line = 0;
  std::vector<QosEntry> entries{};
};
/// A problem, with its line.
struct QosProblem {
  unsigned line = 0;
  std::string what;
  std::string fix;
};

/// Comments begin a line, or follow a value after a blank, with # or ;. A value may stand between single quotes, in which
/// they are none. Appends what is wrong.
[[nodiscard]] std::vector<QosSection> parse_qos_file(std::string_view text, std::vector<QosProblem>& problems);

}  // namespace spindrift::topics
