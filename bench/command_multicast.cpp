// `spindrift bench multicast`: the matrix, or the part of it that the options name.
#include <memory>

#include <CLI/CLI.hpp>

#include <spindrift/bench/command_options.hpp>
#include <spindrift/bench/matrix.hpp>

namespace spindrift::bench {

namespace {

struct MulticastOptions {
  CommonOptions common;
  std::vector<std::uint32_t> members;
  std::vector<std::uint64_t> message_bytes;
  std::vector<Senders> senders;
  bool touched = false;    ///< only
  bool untouched = false;  ///< only
  std::uint64_t window = 0;
  std::uint64_t ring_bytes = 0;
  std::uint64_t messages = 0;
  bool latency = false;
  std::uint32_t rest_ms = 0;
  bool quick = false;

  /// The user chose a part of the throughput matrix; latencies are measured only when asked for.
  [[nodiscard]] bool chosen_part() const {
    return !members.empty() || !message_bytes.empty() || !senders.empty() || touched || untouched;
  }
};

Matrix throughput_matrix(const MulticastOptions& options, std::vector<ConfigOverride> settings) {
  Matrix matrix;
  if (options.quick) {
    matrix.members = {2, 3};
    matrix.message_bytes = {1024};
    matrix.touch = {true};
  }
  if (!options.members.empty()) matrix.members = options.members;
  if (!options.message_bytes.empty()) matrix.message_bytes = options.message_bytes;
  if (!options.senders.empty()) matrix.senders = options.senders;
  if (options.touched || options.untouched) matrix.touch = {options.touched};
  matrix.window = options.window;
  matrix.ring_bytes = options.ring_bytes;
  matrix.messages = options.messages;
  matrix.seconds = options.common.seconds;
  matrix.repeats = options.common.repeats;
  matrix.settings = std::move(settings);
  return matrix;
}

LatencyMatrix latency_matrix(const MulticastOptions& options, std::vector<ConfigOverride> settings) {
  LatencyMatrix matrix;
  if (options.quick) matrix.members = {2, 3};
  if (!options.members.empty()) matrix.members = options.members;
  if (!options.message_bytes.empty()) matrix.message_bytes = options.message_bytes.front();
  matrix.messages = options.messages;
  matrix.seconds = options.common.seconds;
  matrix.rest_ms = options.rest_ms;
  matrix.repeats = options.common.repeats;
  matrix.settings = std::move(settings);
  return matrix;
}

Result<void> run_multicast_bench(const MulticastOptions& options) {
  const auto settings = parse_settings(options.common.settings);
  if (!settings) return Error(settings.error());
  auto report = Report::open(options.common.json);
  if (!report) return Error(report.error());
  const auto sink = [&](const Figure& figure) { report->add(figure); };
  if (!options.latency) {
    auto measured = measure_throughput(throughput_matrix(options, *settings), sink);
    if (!measured || options.chosen_part()) return measured;
  }
  return measure_latency(latency_matrix(options, *settings), sink);
}

void add_matrix_options(CLI::App& command, MulticastOptions& options) {
  command.add_option("--members", options.members, "Numbers of members (default 2,3,4,5,6,7,8)")
      ->delimiter(',')
      ->check(CLI::Range(2, 64));
  command.add_option("--size", options.message_bytes, "Payload bytes (default 100,1024,10240; latency: 64)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 24));
  add_senders_option(command, options.senders);
  CLI::Option* touched =
      command.add_flag("--touch", options.touched, "Only with the payload written and read (default both)");
  command.add_flag("--no-touch", options.untouched, "Only with the payload untouched (default both)")->excludes(touched);
  command.add_option("--window", options.window, "Messages of one sender on their way (default: the configuration's)")
      ->check(CLI::Range(1, 1 << 20));
  command
      .add_option("--ring", options.ring_bytes, "Bytes of a sender's ring, a power of two (default: the configuration's)")
      ->check(CLI::Range(4096, 1 << 30));
  command.add_option("--messages", options.messages, "Messages per run, all senders together (default: by --seconds)")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  CLI::Option* latency =
      command.add_flag("--latency", options.latency, "Latency alone: send to own delivery, one message on its way");
  command.add_option("--rest", options.rest_ms, "Latency from sleep: milliseconds before each message")
      ->needs(latency)
      ->check(CLI::Range(1, 1000));
  command.add_flag("--quick", options.quick, "A small part of the matrix, one short run each");
}

}  // namespace

void add_multicast_command(CLI::App& bench, tools::Work& chosen) {
  auto options = std::make_shared<MulticastOptions>();
  options->common.seconds = 0.5;
  CLI::App* command =
      bench.add_subcommand("multicast", "Messages per second at every member, and latency, beside the limit");
  add_common_options(*command, options->common);
  add_seconds_option(*command, options->common, "About how long one run takes");
  add_settings_option(*command, options->common);
  add_matrix_options(*command, *options);
  command->footer(
      "Examples:\n  spindrift bench multicast --quick\n"
      "  spindrift bench multicast --members 3 --size 1024 --senders all --touch --seconds 2\n"
      "  spindrift bench multicast --latency --members 2,3 --json -");
  command->callback([options, command, &chosen] {
    if (options->quick && command->count("--seconds") == 0) options->common.seconds = 0.2;
    if (options->quick && command->count("--repeat") == 0) options->common.repeats = 1;
    choose(chosen, [options] { return run_multicast_bench(*options); });
  });
}

}  // namespace spindrift::bench
