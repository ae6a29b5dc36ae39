// `spindrift counters`: what a running member counts, read from outside without touching it.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <spindrift/core/counters.hpp>
#include <spindrift/core/runtime_path.hpp>

#include "commands.hpp"
#include "exit_code.hpp"
#include "member_options.hpp"

namespace spindrift::tools {
namespace {

struct CountersOptions : MemberOptions {
  bool json = false;
};

int print_counters(const CountersOptions& options) {
  const Config config = load_config(options);
  const std::string path =
      node_file(group_directory(config.runtime_directory(), config.group_name()), config.local_id(), counters_suffix);
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
    for (const CounterValue& counter : *counters) fmt::print("{:>20}  {}\n", counter.value, counter.name);
  }
  return number(ExitCode::success);
}

}  // namespace

void add_counters_command(CLI::App& app, Work& chosen) {
  auto options = std::make_shared<CountersOptions>();
  CLI::App* command = app.add_subcommand("counters", "Print the counters of a running member of this host");
  add_member_options(*command, *options);
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      "Examples:\n  spindrift counters --config derecho.cfg --id 1\n"
      "  watch -n 1 spindrift counters --config derecho.cfg --id 1\n\n" +
      exit_codes_text());
  command->callback([options, &chosen] { chosen = [options] { return print_counters(*options); }; });
}

}  // namespace spindrift::tools
