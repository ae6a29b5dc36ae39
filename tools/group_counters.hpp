// The counters of all nodes of a group on this host, from the files that they keep: also of a process that stands still, or
// was killed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/counters.hpp>
#include <spindrift/core/histogram.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::tools {

struct NodeCounters {
  NodeId node;
  std::vector<CounterValue> values;
};

struct GroupCounters {
  std::vector<NodeCounters> nodes;  ///< by node id
  std::vector<Error> problems;      ///< files that could not be read, by their text
};

/// Reads every file of counters of a directory. Errors: resource if the directory cannot be read; broken files are problems.
[[nodiscard]] Result<GroupCounters> read_group_counters(const std::string& directory);

/// A counter's name as the one who made it put it together.
struct CounterName {
  std::string subgroup;  ///< empty: the counter is of the process
  std::string counter;   ///< "delivered", or "views.installed"
};
[[nodiscard]] CounterName split_counter_name(const std::string& name);

/// The histograms among them, by the full name that the counters of each have in common.
[[nodiscard]] std::map<std::string, HistogramValues> histograms_of(const std::vector<CounterValue>& counters);

}  // namespace spindrift::tools
