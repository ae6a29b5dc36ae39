// `spindrift counters`: what members count, read from outside without touching them.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <spindrift/core/ids_text.hpp>
#include <spindrift/core/runtime_path.hpp>

#include "commands.hpp"
#include "escaped.hpp"
#include "exit_code.hpp"
#include "group_option.hpp"
#include "json_output.hpp"
#include "number_option.hpp"
#include "options.hpp"
#include "prometheus.hpp"
#include "table.hpp"

namespace spindrift::tools {
namespace {

using Json = nlohmann::json;

struct CountersOptions : GroupCommandOptions {
  std::string format;
};

/// The nodes that are asked for, and how their process fares.
struct Selection {
  GroupPlace place;
  std::optional<NodeId> only;  ///< none: all of this host
  GroupCounters counters;
  GroupReport report{};
};

/// A flag names one node. What names a process of its own, a file or the environment, asks for no other than all do.
std::optional<NodeId> node_asked_for(const CountersOptions& options) {
  if (options.config.empty()) return options.id ? std::optional(NodeId(*options.id)) : std::nullopt;
  const auto overrides = overrides_of(options);
  const bool named = std::any_of(overrides.begin(), overrides.end(),
                                 [](const ConfigOverride& each) { return each.name == "DERECHO/local_id"; });
  if (!named) return std::nullopt;
  const Config config = load_config(options);
  if (config.view()) value_or_throw(config.local_rank());  // no member has counters
  return config.local_id();
}

GroupCounters counters_of(NodeId node, const GroupPlace& place) {
  auto values = CounterBlock::read_file(place.directory + "/" + node_file_name(node, counters_suffix));
  if (values) return {.nodes = {{node, std::move(values).value()}}, .problems = {}};
  throw Exception(Error(values.error().kind(), fmt::format("node {} of group {} has no counters here; it is not running, or "
                                                           "with another runtime_directory",
                                                           node, place.name))
                      .because(std::move(values).error())
                      .fix("start it, or give --id and the group as it was started"));
}

Selection select_nodes(const CountersOptions& options) {
  GroupPlace place = place_of(options);
  const auto only = node_asked_for(options);
  GroupCounters counters = only ? counters_of(*only, place) : value_or_throw(read_group_counters(place.directory));
  Selection selection{std::move(place), only, std::move(counters)};
  if (options.format != "prometheus") return selection;
  selection.report = value_or_throw(read_group(selection.place.directory));
  if (only) std::erase_if(selection.report.nodes, [&](const NodeReport& node) { return node.status.node != *only; });
  return selection;
}

/// A histogram's line: the number of its values, and how they lie.
CounterValue line_of(const std::string& name, const HistogramValues& values) {
  const auto bound = [&](unsigned of_hundred) {
    const auto found = values.percentile(of_hundred);
    if (!found) return std::string("-");
    return *found == ~std::uint64_t{0} ? fmt::format("above {}", values.buckets.back().bound) : std::to_string(*found);
  };
  return {fmt::format("{} (p50 {}, p99 {}, sum {})", name, bound(50), bound(99), values.sum), values.count()};
}

/// As a table has them: a histogram is one line, in the place of its first counter.
std::vector<CounterValue> lines_of(const NodeCounters& node) {
  std::map<std::string, HistogramValues> histograms = histograms_of(node.values);
  std::vector<CounterValue> lines;
  for (const CounterValue& counter : node.values) {
    const auto part = histogram_part(counter.name);
    if (!part) {
      lines.push_back(counter);
    } else if (auto found = histograms.extract(std::string(part->histogram))) {
      lines.push_back(line_of(found.key(), found.mapped()));
    }
  }
  return lines;
}

void print_table(const Selection& selection) {
  using Align = TextTable::Align;
  if (selection.only) {
    TextTable table({Align::right, Align::left});
    for (const CounterValue& line : lines_of(selection.counters.nodes.front()))
      table.add({std::to_string(line.value), line.name});
    return table.print();
  }
  TextTable table({Align::right, Align::right, Align::left});
  table.add({"node", "value", "counter"});
  for (const NodeCounters& node : selection.counters.nodes) {
    for (const CounterValue& line : lines_of(node))
      table.add({std::to_string(node.node.value()), std::to_string(line.value), line.name});
  }
  table.print();
}

Json json_of(const NodeCounters& node) {
  Json values = Json::object();
  for (const CounterValue& counter : node.values) values[counter.name] = counter.value;
  return {{"node", node.node}, {"counters", std::move(values)}};
}

void print_json(const Selection& selection) {
  constexpr int version = 1;
  if (selection.only) return print_document(versioned(version, json_of(selection.counters.nodes.front())));
  Json nodes = Json::array();
  for (const NodeCounters& node : selection.counters.nodes) nodes.push_back(json_of(node));
  print_document(versioned(version, {{"group", selection.place.name},
                                     {"nodes", std::move(nodes)},
                                     {"problems", tools::json_of(selection.counters.problems)}}));
}

int print_counters(const CountersOptions& options) {
  const Selection selection = select_nodes(options);
  const GroupCounters& counters = selection.counters;
  if (counters.nodes.empty() && counters.problems.empty() && selection.report.nodes.empty()) {
    throw Exception(Error(ErrorKind::resource, fmt::format("no node of group {} has counters here", selection.place.name))
                        .at(selection.place.directory)
                        .fix("start a node of the group, or name the group as it was started: with --config, --group or "
                             "--group-dir"));
  }
  const bool json = options.json || options.format == "json";
  if (options.format == "prometheus") {
    fmt::print("{}", prometheus_text(selection.place.name, selection.report, counters));
  } else {
    json ? print_json(selection) : print_table(selection);
  }
  bool whole = true;
  for (const auto* problems : {&counters.problems, &selection.report.problems}) {
    for (const Error& problem : *problems) {
      if (!json) fmt::print(stderr, "spindrift: {}\n", harmless(problem.to_string()));
    }
    whole = whole && problems->empty();
  }
  return number(whole ? ExitCode::success : ExitCode::failure);
}

}  // namespace

void add_counters_command(CLI::App& app, Work& chosen) {
  auto options = std::make_shared<CountersOptions>();
  const CommandText text{
      "counters", "Print the counters of members of this host",
      "Of all nodes of this host, or with --id of one. Reads the files that nodes keep, and asks no process: of one that "
      "stands still or was killed, they are what it had counted.\n\n"
      "Examples:\n  spindrift counters\n"
      "  spindrift counters --config derecho.cfg\n"
      "  watch -n 1 spindrift counters --config derecho.cfg --id 1\n"
      "  spindrift counters --config derecho.cfg --format prometheus > /var/lib/node_exporter/spindrift.prom"};
  CLI::App* command = add_command(app, chosen, text, options, print_counters);
  add_group_options(*command, *options);
  command->add_option("--id", options->id, "Of this node alone")->type_name("N")->check(number_from(0U, node_id_max));
  add_json_option(*command, *options, "Short for --format json");
  command->add_option("--format", options->format, "table (default), json, or prometheus: its text format 0.0.4")
      ->check(CLI::IsMember({"table", "json", "prometheus"}))
      ->excludes("--json");
}

}  // namespace spindrift::tools
