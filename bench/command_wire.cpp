// `spindrift bench wire`: what a group makes of the way between hosts, beside plain TCP, the fabric alone and one TCP
// stream.
#include <memory>

#include <CLI/CLI.hpp>

#include <spindrift/bench/command_options.hpp>
#include <spindrift/bench/matrix.hpp>
#include <spindrift/bench/multicast.hpp>
#include <spindrift/bench/wire.hpp>

namespace spindrift::bench {

namespace {

struct WireOptions {
  CommonOptions common;
  std::uint32_t members = 3;
  std::vector<std::uint64_t> message_bytes{1024, 10240};
  std::uint64_t write_bytes = std::uint64_t{1} << 16;
};

/// Bytes per second that a group of that many senders writes to each other's memory, all pairs together.
double on_the_wire(const MulticastResult& result, const MulticastRun& run) {
  return result.messages_per_second * static_cast<double>(run.message_bytes) * (run.shape.members - 1);
}

/// One size: the group, TCP, the fabric and one stream by turns.
Result<void> measure_size(const WireOptions& options, const GroupShape& base, std::uint64_t message_bytes, Report& report) {
  MulticastRun run;
  run.shape = base;
  run.shape.profile = profile_for(message_bytes);
  run.message_bytes = message_bytes;
  const WireRun wire{run.shape, options.write_bytes, options.common.duration()};
  const auto messages = messages_for(options.common.seconds, [&](std::uint64_t count) -> Result<double> {
    run.messages = count;
    auto result = run_multicast(run);
    if (!result) return Error(result.error());
    return static_cast<double>(result->messages) / result->messages_per_second;
  });
  if (!messages) return Error(messages.error());
  run.messages = *messages;

  const auto figure = [&](const char* beside) {
    return Figure{"group on the wire",
                  {{"members", std::uint64_t{options.members}}, {"bytes", message_bytes}, {"beside", std::string(beside)}},
                  "GB/s",
                  {},
                  {}};
  };
  Figure beside_tcp = figure("TCP");
  Figure beside_fabric = figure("the fabric");
  Figure beside_stream = figure("one TCP stream");
  for (std::uint32_t repeat = 0; repeat < options.common.repeats; ++repeat) {
    const auto group = run_multicast(run);
    if (!group) return Error(group.error());
    const auto tcp = tcp_bytes_per_second(wire);
    if (!tcp) return Error(tcp.error());
    const auto fabric = fabric_bytes_per_second(wire);
    if (!fabric) return Error(fabric.error());
    const auto stream = stream_bytes_per_second(wire);
    if (!stream) return Error(stream.error());
    for (Figure* each : {&beside_tcp, &beside_fabric, &beside_stream})
      each->values.push_back(on_the_wire(*group, run) / 1e9);
    beside_tcp.limits.push_back(*tcp / 1e9);
    beside_fabric.limits.push_back(*fabric / 1e9);
    beside_stream.limits.push_back(*stream / 1e9);
  }
  report.add(beside_tcp);
  report.add(beside_fabric);
  report.add(beside_stream);
  return {};
}

Result<void> run_wire_bench(const WireOptions& options) {
  auto settings = parse_settings(options.common.settings);
  if (!settings) return Error(settings.error());
  auto report = Report::open(options.common.json);
  if (!report) return Error(report.error());
  GroupShape shape{options.members, options.members, {}, {}};
  shape.settings = {{"SPINDRIFT/fabric", "ofi:tcp", "the bench"}, {"SPINDRIFT/addresses", "127.0.0.1:740<id>", "the bench"}};
  shape.settings.insert(shape.settings.end(), settings->begin(), settings->end());
  for (const std::uint64_t bytes : options.message_bytes) {
    if (auto measured = measure_size(options, shape, bytes, *report); !measured) return measured;
  }
  return {};
}

}  // namespace

void add_wire_command(CLI::App& bench, tools::Work& chosen) {
  auto options = std::make_shared<WireOptions>();
  options->common.seconds = 0.5;
  CLI::App* command = bench.add_subcommand("wire", "A group between hosts, beside plain TCP and beside its fabric alone");
  add_common_options(*command, options->common);
  add_seconds_option(*command, options->common, "About how long one run takes");
  add_settings_option(*command, options->common);
  command->add_option("--members", options->members, "Number of members, all of which send")
      ->check(CLI::Range(2, 10))
      ->capture_default_str();
  command->add_option("--size", options->message_bytes, "Payload bytes of a message")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--write", options->write_bytes, "Bytes of a write, of TCP and of the fabric alone")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  command->footer(
      "Examples:\n  spindrift bench wire\n  spindrift bench wire --set SPINDRIFT/fabric=ofi:net --size 10240 --json -");
  command->callback([options, &chosen] { choose(chosen, [options] { return run_wire_bench(*options); }); });
}

}  // namespace spindrift::bench
