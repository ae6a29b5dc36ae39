// `spindrift bench wire`: what groups make of the way between hosts, beside each other, plain TCP, what sealing leaves of
// that, the fabric alone and one TCP stream.
#include <spindrift/bench/command_options.hpp>
#include <spindrift/bench/matrix.hpp>
#include <spindrift/bench/multicast.hpp>
#include <spindrift/bench/sealing.hpp>
#include <spindrift/bench/wire.hpp>

namespace spindrift::bench {

namespace {

struct WireOptions : BenchOptions {
  WireOptions() { seconds = 0.5; }
  std::uint32_t members = 3;
  std::vector<std::uint64_t> message_bytes{1024, 10240};
  std::uint64_t write_bytes = std::uint64_t{1} << 16;
  std::vector<std::string> fabrics{"tcp"};
  std::vector<std::string> securities{"tls"};  ///< of the fabric tcp
};

/// GB/s that a group writes to each other's memory, all pairs together.
double on_the_wire(const MulticastRun& run) {
  return run_multicast(run).messages_per_second * static_cast<double>(run.message_bytes) * (run.shape.members - 1) / 1e9;
}

/// A group that takes its turn, and its fabric alone. All values are GB/s, one per repeat.
struct WireGroup {
  const GroupNetwork& network;
  MulticastRun run;
  std::vector<double> group{};
  std::vector<double> fabric_alone{};
};

/// The machine's limits, in the same repeats.
struct WireLimits {
  std::vector<double> tcp{};
  std::vector<double> stream{};
  std::vector<double> sealing{};
  std::vector<double> sealed_tcp{};
};

/// Each byte that TCP carries has been sealed once and is opened once, on the same CPUs: the times for a byte add up.
double with_sealing(double tcp, double sealing) { return 1 / (1 / tcp + 1 / sealing); }

WireGroup make_group(const WireOptions& options, const GroupNetwork& network, std::uint64_t message_bytes) {
  const GroupShape shape{options.members, options.members, profile_for(message_bytes), options.settings_for(network)};
  WireGroup each{network, {.shape = shape, .message_bytes = message_bytes, .touch = false}};
  each.run.messages = messages_for(options.seconds, [&](std::uint64_t count) {
    each.run.messages = count;
    return multicast_seconds(each.run);
  });
  return each;
}

/// All that is compared takes its turn in each repeat.
WireLimits take_turns(const WireOptions& options, std::vector<WireGroup>& groups, bool sealed) {
  WireLimits limits;
  for (std::uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
    for (WireGroup& each : groups) each.group.push_back(on_the_wire(each.run));
    for (WireGroup& each : groups) {
      const WireRun alone{each.run.shape, options.write_bytes, options.duration()};
      each.fabric_alone.push_back(fabric_bytes_per_second(alone) / 1e9);
    }
    const WireRun wire{groups.front().run.shape, options.write_bytes, options.duration()};
    limits.tcp.push_back(tcp_bytes_per_second(wire) / 1e9);
    limits.stream.push_back(stream_bytes_per_second(wire) / 1e9);
    if (!sealed) continue;
    limits.sealing.push_back(sealing_bytes_per_second(options.members, options.duration()) / 1e9);
    limits.sealed_tcp.push_back(with_sealing(limits.tcp.back(), limits.sealing.back()));
  }
  return limits;
}

void report_group(const WireOptions& options, const std::vector<WireGroup>& groups, const WireGroup& group,
                  const WireLimits& limits, FigureReport& report) {
  const auto add = [&](const std::string& beside, const std::vector<double>& limit) {
    report.add({"group on the wire",
                {{"fabric", group.network.name()},
                 {"members", std::uint64_t{options.members}},
                 {"bytes", group.run.message_bytes},
                 {"beside", beside}},
                "GB/s",
                group.group,
                limit});
  };
  add("TCP", limits.tcp);
  if (group.network.sealed()) add("TCP and sealing", limits.sealed_tcp);
  add("the fabric", group.fabric_alone);
  add("one TCP stream", limits.stream);
  for (const WireGroup& other : groups) {
    if (&other != &group) add("group, " + other.network.name(), other.group);
  }
}

void measure_size(const WireOptions& options, const std::vector<GroupNetwork>& networks, std::uint64_t message_bytes,
                  FigureReport& report) {
  std::vector<WireGroup> groups;
  bool sealed = false;
  for (const GroupNetwork& network : networks) {
    groups.push_back(make_group(options, network, message_bytes));
    sealed |= network.sealed();
  }
  const WireLimits limits = take_turns(options, groups, sealed);
  for (const WireGroup& each : groups) report_group(options, groups, each, limits, report);
  if (!sealed) return;
  report.add({"sealing alone",
              {{"processes", std::uint64_t{options.members}}, {"record", sealed_record_bytes}},
              "GB/s",
              limits.sealing,
              {}});
}

void run_wire_bench(const WireOptions& options, FigureReport& report) {
  std::vector<GroupNetwork> networks;
  for (const std::string& fabric : options.fabrics) {
    if (fabric != "tcp") {
      networks.push_back(GroupNetwork::make(fabric, "", options.members));
      continue;
    }
    for (const std::string& security : options.securities)
      networks.push_back(GroupNetwork::make(fabric, security, options.members));
  }
  for (const std::uint64_t bytes : options.message_bytes) measure_size(options, networks, bytes, report);
}

}  // namespace

void add_wire_command(const Commands& to) {
  auto options = std::make_shared<WireOptions>();
  Command command(to, "wire", "Groups between hosts, beside each other, plain TCP and their fabric alone",
                  "  spindrift bench wire\n"
                  "  spindrift bench wire --fabric tcp,ofi:tcp --security tls,none --repeat 9 --json -",
                  options, run_wire_bench);
  command.seconds("About how long one run takes").settings();
  command.number("--members", options->members, "Number of members, all of which send", 2, 10);
  command.list("--size", options->message_bytes, "Payload bytes of a message", 1, 1 << 20);
  command.number("--write", options->write_bytes, "Bytes of a write, of TCP and of the fabric alone", 1, 1 << 24);
  command->add_option("--fabric", options->fabrics, "Fabrics between hosts, which take turns")
      ->type_name("NAME,…")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--security", options->securities, "Of the fabric tcp: a group each")
      ->delimiter(',')
      ->check(CLI::IsMember({"tls", "none"}))
      ->capture_default_str();
}

}  // namespace spindrift::bench
