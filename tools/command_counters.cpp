// `spindrift counters`: what a running member counts, read from outside without touching it.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <spindrift/core/counters.hpp>
#include <spindrift/core/runtime_path.hpp>

#include "commands.hpp"
#include "exit_code.hpp"
#include "options.hpp"
#include "table.hpp"

namespace spindrift::tools {
namespace {

int print_counters(const CommandOptions& options) {
  const Config config = load_config_with_warnings(options);
  if (config.view()) value_or_throw(config.local_rank());  // no member has counters
  const std::string path =
      group_directory(config.runtime_directory(), config.group_name()) + "/" +
      node_file_name(config.local_id(), counters_suffix);
  auto counters = CounterBlock::read_file(path);
  if (!counters) {
    throw Exception(
        Error(counters.error().kind(), fmt::format("node {} of group {} has no counters here; it is not running, or "
                                                   "with another runtime_directory",
                                                   config.local_id().value(), config.group_name()))
            .because(std::move(counters).error())
            .fix("start it, or give --id and --config as it was started"));
  }
  if (options.json) {
    auto values = nlohmann::json::object();
    for (const CounterValue& counter : *counters) values[counter.name] = counter.value;
    fmt::print("{}\n", nlohmann::json{{"node", config.local_id().value()}, {"counters", values}}.dump(2));
  } else {
    TextTable table({TextTable::Align::right, TextTable::Align::left});
    for (const CounterValue& counter : *counters) table.add({std::to_string(counter.value), counter.name});
    table.print();
  }
  return number(ExitCode::success);
}

}  // namespace

void add_counters_command(CLI::App& app, Work& chosen) {
  auto options = std::make_shared<CommandOptions>();
  const CommandText text{
      "counters", "Print the counters of a running member of this host",
      "Examples:\n  spindrift counters --config derecho.cfg --id 1\n"
      "  watch -n 1 spindrift counters --config derecho.cfg --id 1"};
  CLI::App* command = add_command(app, chosen, text, options, print_counters);
  add_member_options(*command, *options);
  add_json_option(*command, *options);
}

}  // namespace spindrift::tools
