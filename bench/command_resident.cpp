// `spindrift bench idle` and `spindrift bench start`: what a group costs at rest, and how soon it is there.
#include <algorithm>
#include <filesystem>

#include <spindrift/bench/command_options.hpp>
#include <spindrift/bench/resident.hpp>

namespace spindrift::bench {

namespace {

constexpr const char* member_command = "resident-member";

struct ResidentOptions : BenchOptions {
  std::uint32_t members = 3;

  /// A group with the sizes of a default configuration.
  [[nodiscard]] ResidentRun run() const {
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    return {{program, "bench", member_command}, {members, members, {1 << 20, 1024, 10240}, overrides()}};
  }
  [[nodiscard]] std::vector<std::pair<std::string, Parameter>> parameters() const {
    return {{"members", std::uint64_t{members}}};
  }
};

void run_start_bench(const ResidentOptions& options, FigureReport& report) {
  const ResidentRun run = options.run();
  report_repeated(report, options.repeats, {"start to in view", options.parameters(), "s"}, [&] { return run_start(run); });
}

void run_idle_bench(const ResidentOptions& options, FigureReport& report) {
  const ResidentRun run = options.run();
  Figure cores{"idle, CPU of the whole group", options.parameters(), "cores"};
  Figure resident{"idle, resident memory of the largest member", options.parameters(), "bytes"};
  Figure proportional{"idle, proportional memory of the largest member", options.parameters(), "bytes"};
  for (std::uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
    const IdleResult idle = run_idle(run, options.duration());
    const auto largest = [](const std::vector<std::uint64_t>& values) {
      return static_cast<double>(*std::max_element(values.begin(), values.end()));
    };
    cores.values.push_back(idle.cores);
    resident.values.push_back(largest(idle.resident_bytes));
    proportional.values.push_back(largest(idle.proportional_bytes));
  }
  for (const Figure& figure : {cores, resident, proportional}) report.add(figure);
}

}  // namespace

void add_idle_command(const Commands& to) {
  auto options = std::make_shared<ResidentOptions>();
  options->seconds = 5;
  options->repeats = 1;
  Command command(to, "idle", "CPU and memory of a group while nothing happens",
                  "  spindrift bench idle\n  spindrift bench idle --members 8 --json -", options, run_idle_bench);
  command.seconds("How long to watch").settings().number("--members", options->members, "Number of members", 1, 64);
}

void add_start_command(const Commands& to) {
  auto options = std::make_shared<ResidentOptions>();
  options->members = 4;
  options->repeats = 9;
  Command command(to, "start", "Seconds from the start of the processes until all are in the view",
                  "  spindrift bench start\n  spindrift bench start --members 2 --repeat 20", options, run_start_bench);
  command.settings().number("--members", options->members, "Number of members", 1, 64);
}

void add_resident_member_command(const Commands& to) {
  struct Arguments {
    std::string config_path;
    std::uint32_t node = 0;
    std::vector<std::string> settings;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = to.app.add_subcommand(member_command, "One member of an idle group");
  command->group("");
  command->add_option("config", arguments->config_path)->required();
  command->add_option("node", arguments->node)->required();
  command->add_option("settings", arguments->settings);
  command->callback([arguments, &chosen = to.chosen] {
    chosen = [arguments] {
      run_resident_member(arguments->config_path, NodeId(arguments->node), parse_settings(arguments->settings));
      return 0;
    };
  });
}

}  // namespace spindrift::bench
