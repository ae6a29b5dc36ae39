// `spindrift bench wire`: what a group makes of the way between hosts, beside plain TCP, the fabric alone and one TCP
// stream.
#include <spindrift/bench/command_options.hpp>
#include <spindrift/bench/matrix.hpp>
#include <spindrift/bench/multicast.hpp>
#include <spindrift/bench/wire.hpp>

namespace spindrift::bench {

namespace {

struct WireOptions : BenchOptions {
  WireOptions() { seconds = 0.5; }
  std::uint32_t members = 3;
  std::vector<std::uint64_t> message_bytes{1024, 10240};
  std::uint64_t write_bytes = std::uint64_t{1} << 16;
};

/// GB/s that a group writes to each other's memory, all pairs together.
double on_the_wire(const MulticastRun& run) {
  return run_multicast(run).messages_per_second * static_cast<double>(run.message_bytes) * (run.shape.members - 1) / 1e9;
}

/// One size: the group, TCP, the fabric and one stream by turns.
void measure_size(const WireOptions& options, const GroupShape& base, std::uint64_t message_bytes, FigureReport& report) {
  MulticastRun run;
  run.shape = base;
  run.shape.profile = profile_for(message_bytes);
  run.message_bytes = message_bytes;
  run.messages = messages_for(options.seconds, [&](std::uint64_t count) {
    run.messages = count;
    return multicast_seconds(run);
  });
  const WireRun wire{run.shape, options.write_bytes, options.duration()};
  struct Beside {
    const char* name;
    double (*bytes_per_second)(const WireRun&);
    Figure figure{};
  };
  std::array all{Beside{"TCP", tcp_bytes_per_second}, Beside{"the fabric", fabric_bytes_per_second},
                 Beside{"one TCP stream", stream_bytes_per_second}};
  for (Beside& each : all) {
    each.figure = {
        "group on the wire",
        {{"members", std::uint64_t{options.members}}, {"bytes", message_bytes}, {"beside", std::string(each.name)}},
        "GB/s"};
  }
  for (std::uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
    const double group = on_the_wire(run);
    for (Beside& each : all) {
      each.figure.values.push_back(group);
      each.figure.limits.push_back(each.bytes_per_second(wire) / 1e9);
    }
  }
  for (const Beside& each : all) report.add(each.figure);
}

void run_wire_bench(const WireOptions& options, FigureReport& report) {
  GroupShape shape{options.members, options.members, {}, {}};
  shape.settings = {{"SPINDRIFT/fabric", "ofi:tcp", "the bench"}, {"SPINDRIFT/addresses", "127.0.0.1:740<id>", "the bench"}};
  for (const ConfigOverride& setting : options.overrides()) shape.settings.push_back(setting);
  for (const std::uint64_t bytes : options.message_bytes) measure_size(options, shape, bytes, report);
}

}  // namespace

void add_wire_command(const Commands& to) {
  auto options = std::make_shared<WireOptions>();
  Command command(to, "wire", "A group between hosts, beside plain TCP and beside its fabric alone",
                  "  spindrift bench wire\n  spindrift bench wire --set SPINDRIFT/fabric=ofi:net --size 10240 --json -",
                  options, run_wire_bench);
  command.seconds("About how long one run takes").settings();
  command.number("--members", options->members, "Number of members, all of which send", 2, 10);
  command.list("--size", options->message_bytes, "Payload bytes of a message", 1, 1 << 20);
  command.number("--write", options->write_bytes, "Bytes of a write, of TCP and of the fabric alone", 1, 1 << 24);
}

}  // namespace spindrift::bench
