// `spindrift bench idle` and `spindrift bench start`: what a group costs at rest, and how soon it is there.
#include <algorithm>
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>

#include <spindrift/bench/command_options.hpp>
#include <spindrift/bench/resident.hpp>

namespace spindrift::bench {

namespace {

constexpr const char* member_command = "resident-member";

struct ResidentOptions {
  CommonOptions common;
  std::uint32_t members = 3;
};

/// A group with the sizes of a default configuration.
Result<ResidentRun> resident_run(const ResidentOptions& options) {
  auto settings = parse_settings(options.common.settings);
  if (!settings) return Error(settings.error());
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  return ResidentRun{{program, "bench", member_command},
                     {options.members, options.members, {1 << 20, 1024, 10240}, std::move(settings).value()}};
}

std::vector<std::pair<std::string, Parameter>> parameters(const ResidentOptions& options) {
  return {{"members", std::uint64_t{options.members}}};
}

Result<void> run_start_bench(const ResidentOptions& options) {
  const auto run = resident_run(options);
  if (!run) return Error(run.error());
  auto report = Report::open(options.common.json);
  if (!report) return Error(report.error());
  return report_repeated(*report, options.common.repeats, {"start to in view", parameters(options), "s", {}, {}},
                         [&] { return run_start(*run); });
}

Result<void> run_idle_bench(const ResidentOptions& options) {
  const auto run = resident_run(options);
  if (!run) return Error(run.error());
  auto report = Report::open(options.common.json);
  if (!report) return Error(report.error());
  Figure cores{"idle, CPU of the whole group", parameters(options), "cores", {}, {}};
  Figure resident{"idle, resident memory of the largest member", parameters(options), "bytes", {}, {}};
  Figure proportional{"idle, proportional memory of the largest member", parameters(options), "bytes", {}, {}};
  for (std::uint32_t repeat = 0; repeat < options.common.repeats; ++repeat) {
    const auto idle = run_idle(*run, options.common.duration());
    if (!idle) return Error(idle.error());
    const auto largest = [](const std::vector<std::uint64_t>& values) {
      return static_cast<double>(*std::max_element(values.begin(), values.end()));
    };
    cores.values.push_back(idle->cores);
    resident.values.push_back(largest(idle->resident_bytes));
    proportional.values.push_back(largest(idle->proportional_bytes));
  }
  for (const Figure& figure : {cores, resident, proportional}) report->add(figure);
  return {};
}

void add_members_option(CLI::App& command, ResidentOptions& options) {
  command.add_option("--members", options.members, "Number of members")->check(CLI::Range(1, 64))->capture_default_str();
}

}  // namespace

void add_idle_command(CLI::App& bench, tools::Work& chosen) {
  auto options = std::make_shared<ResidentOptions>();
  options->common.seconds = 5;
  options->common.repeats = 1;
  CLI::App* command = bench.add_subcommand("idle", "CPU and memory of a group while nothing happens");
  add_common_options(*command, options->common);
  add_seconds_option(*command, options->common, "How long to watch");
  add_settings_option(*command, options->common);
  add_members_option(*command, *options);
  command->footer("Examples:\n  spindrift bench idle\n  spindrift bench idle --members 8 --json -");
  command->callback([options, &chosen] { choose(chosen, [options] { return run_idle_bench(*options); }); });
}

void add_start_command(CLI::App& bench, tools::Work& chosen) {
  auto options = std::make_shared<ResidentOptions>();
  options->members = 4;
  options->common.repeats = 9;
  CLI::App* command = bench.add_subcommand("start", "Seconds from the start of the processes until all are in the view");
  add_common_options(*command, options->common);
  add_settings_option(*command, options->common);
  add_members_option(*command, *options);
  command->footer("Examples:\n  spindrift bench start\n  spindrift bench start --members 2 --repeat 20");
  command->callback([options, &chosen] { choose(chosen, [options] { return run_start_bench(*options); }); });
}

void add_resident_member_command(CLI::App& bench, tools::Work& chosen) {
  struct MemberOptions {
    std::string config_path;
    std::uint32_t node = 0;
    std::vector<std::string> settings;
  };
  auto options = std::make_shared<MemberOptions>();
  CLI::App* command = bench.add_subcommand(member_command, "One member of an idle group");
  command->group("");
  command->add_option("config", options->config_path)->required();
  command->add_option("node", options->node)->required();
  command->add_option("settings", options->settings);
  command->callback([options, &chosen] {
    choose(chosen, [options]() -> Result<void> {
      auto settings = parse_settings(options->settings);
      if (!settings) return Error(settings.error());
      run_resident_member(options->config_path, NodeId(options->node), std::move(settings).value());
      return {};
    });
  });
}

}  // namespace spindrift::bench
