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
  [[nodiscard]] ResidentRun run(const GroupNetwork& network) const {
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    return {{program, "bench", member_command}, {members, members, {1 << 20, 1024, 10240}, settings_for(network)}};
  }
  [[nodiscard]] Parameters parameters() const {
    Parameters all{{"members", std::uint64_t{members}}};
    describe_networks(all);
    return all;
  }
};

void run_start_bench(const ResidentOptions& options, FigureReport& report) {
  const GroupNetwork network = options.network(options.members);
  const auto beside = options.network_beside(options.members);
  Figure figure{"start to in view", options.parameters(), "s"};
  for (std::uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
    figure.values.push_back(run_start(options.run(network)));
    if (beside) figure.limits.push_back(run_start(options.run(*beside)));
  }
  report.add(figure);
}

double largest(const std::vector<std::uint64_t>& values) {
  return static_cast<double>(*std::max_element(values.begin(), values.end()));
}

void run_idle_bench(const ResidentOptions& options, FigureReport& report) {
  const GroupNetwork network = options.network(options.members);
  const auto beside = options.network_beside(options.members);
  Figure cores{"idle, CPU of the whole group", options.parameters(), "cores"};
  Figure resident{"idle, resident memory of the largest member", options.parameters(), "bytes"};
  Figure proportional{"idle, proportional memory of the largest member", options.parameters(), "bytes"};
  for (std::uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
    const IdleResult idle = run_idle(options.run(network), options.duration());
    cores.values.push_back(idle.cores);
    resident.values.push_back(largest(idle.resident_bytes));
    proportional.values.push_back(largest(idle.proportional_bytes));
    if (!beside) continue;
    const IdleResult limit = run_idle(options.run(*beside), options.duration());
    cores.limits.push_back(limit.cores);
    resident.limits.push_back(largest(limit.resident_bytes));
    proportional.limits.push_back(largest(limit.proportional_bytes));
  }
  for (const Figure& figure : {cores, resident, proportional}) report.add(figure);
}

}  // namespace

void add_idle_command(const Commands& to) {
  auto options = std::make_shared<ResidentOptions>();
  options->seconds = 5;
  options->repeats = 1;
  Command command(to, "idle", "CPU and memory of a group while nothing happens",
                  "  spindrift bench idle\n  spindrift bench idle --fabric tcp --beside shm --json -", options,
                  run_idle_bench);
  command.seconds("How long to watch")
      .settings()
      .networks()
      .number("--members", options->members, "Number of members", 1, 64);
}

void add_start_command(const Commands& to) {
  auto options = std::make_shared<ResidentOptions>();
  options->members = 4;
  options->repeats = 9;
  Command command(to, "start", "Seconds from the start of the processes until all are in the view",
                  "  spindrift bench start\n  spindrift bench start --fabric tcp --security none --repeat 20", options,
                  run_start_bench);
  command.settings().networks().number("--members", options->members, "Number of members", 1, 64);
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
