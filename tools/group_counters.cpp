// Reading a directory of counters.
#include "group_counters.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include <spindrift/core/runtime_path.hpp>

namespace spindrift::tools {
namespace {

namespace files = std::filesystem;

Result<NodeId> node_of(const files::path& path) {
  const std::string stem = path.stem().string();
  std::uint32_t id = 0;
  const auto [end, error] = std::from_chars(stem.data(), stem.data() + stem.size(), id);
  if (error == std::errc() && end == stem.data() + stem.size()) return NodeId(id);
  return Error(ErrorKind::bad_input, "the name of this file of counters is no node's").at(path.string()).fix("remove it");
}

Result<NodeCounters> read_node(const files::path& path) {
  SPINDRIFT_TRY_ASSIGN(const NodeId node, node_of(path));
  SPINDRIFT_TRY_ASSIGN(auto values, CounterBlock::read_file(path.string()));
  return NodeCounters{node, std::move(values)};
}

}  // namespace

Result<GroupCounters> read_group_counters(const std::string& directory) {
  GroupCounters counters;
  std::error_code error;
  for (const auto& entry : files::directory_iterator(directory, error)) {
    if (entry.path().extension() != counters_suffix) continue;
    auto node = read_node(entry.path());
    std::error_code unknown;
    if (node) {
      counters.nodes.push_back(std::move(node).value());
    } else if (files::exists(entry.path(), unknown) || unknown) {  // else its node left meanwhile
      counters.problems.push_back(std::move(node).error());
    }
  }
  if (error) {
    return system_error("read the directory", error.value())
        .at(directory)
        .fix("start a node of the group, or name its directory with --group-dir, or its configuration with --config");
  }
  std::sort(counters.nodes.begin(), counters.nodes.end(),
            [](const NodeCounters& a, const NodeCounters& b) { return a.node < b.node; });
  std::sort(counters.problems.begin(), counters.problems.end(),
            [](const Error& a, const Error& b) { return a.to_string() < b.to_string(); });
  return counters;
}

CounterName split_counter_name(const std::string& name) {
  constexpr std::string_view prefix = "subgroup.";
  const auto dot = name.rfind('.');  // a subgroup's name may have dots, what is counted has none
  if (!name.starts_with(prefix) || dot <= prefix.size()) return {{}, name};
  return {name.substr(prefix.size(), dot - prefix.size()), name.substr(dot + 1)};
}

std::map<std::string, HistogramValues> histograms_of(const std::vector<CounterValue>& counters) {
  std::map<std::string, HistogramValues> all;
  for (const CounterValue& counter : counters) {
    if (const auto part = histogram_part(counter.name)) put(all[std::string(part->histogram)], *part, counter.value);
  }
  return all;
}

}  // namespace spindrift::tools
