// `spindrift bench connect`: how long until a new peer can be used, with its metadata alone and by a connection.
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <spindrift/bench/command_options.hpp>
#include <spindrift/bench/reach.hpp>

namespace spindrift::bench {

namespace {

struct ConnectOptions {
  CommonOptions common;
  std::string provider = "tcp;ofi_rxm";
  std::vector<std::uint32_t> peers{1, 8};
  std::uint32_t samples = 40;
};

struct Way {
  const char* bench;
  std::vector<std::uint64_t> ReachTimes::*times;
};
constexpr std::array ways{Way{"metadata taken in", &ReachTimes::resolve},
                          Way{"virtual queue pair connected, peer known", &ReachTimes::virtual_pair},
                          Way{"metadata taken in, first write", &ReachTimes::first_write},
                          Way{"connection made", &ReachTimes::connect}, Way{"read of a known peer", &ReachTimes::read}};

void report_reach(Report& report, const ConnectOptions& options, std::uint32_t peers, std::vector<ReachTimes>& repeats) {
  using Parameters = std::vector<std::pair<std::string, Parameter>>;
  const Parameters parameters{{"provider", options.provider}, {"at_a_time", std::uint64_t{peers}}};
  for (const Way& way : ways) {
    for (const auto& [name, fraction] : {std::pair{"p50", 0.5}, {"p99", 0.99}}) {
      Figure figure{way.bench, parameters, "us", {}, {}};
      figure.parameters.emplace_back("percentile", std::string(name));
      for (ReachTimes& times : repeats) figure.values.push_back(percentile(times.*way.times, fraction) / 1000);
      report.add(figure);
    }
  }
  Figure writes{"peers reached by metadata and first write", parameters, "peers/s", {}, {}};
  Figure connects{"peers reached by connections", parameters, "peers/s", {}, {}};
  for (const ReachTimes& times : repeats) {
    writes.values.push_back(times.first_writes_per_second);
    connects.values.push_back(times.connects_per_second);
  }
  report.add(writes);
  report.add(connects);
}

// All ways take turns within one sample, and all numbers of peers within one repeat, so that what the machine does meanwhile
// meets them alike.
Result<void> run_connect_bench(const ConnectOptions& options) {
  auto report = Report::open(options.common.json);
  if (!report) return Error(report.error());
  auto reach = Reach::start(options.provider);
  if (!reach) return Error(reach.error());
  std::vector<std::vector<ReachTimes>> repeats(options.peers.size());
  for (std::uint32_t repeat = 0; repeat < options.common.repeats; ++repeat) {
    for (std::size_t i = 0; i < options.peers.size(); ++i) {
      auto measured = reach.value()->measure(options.peers[i], options.samples);
      if (!measured) return std::move(measured).error();
      repeats[i].push_back(std::move(measured).value());
    }
  }
  for (std::size_t i = 0; i < options.peers.size(); ++i) report_reach(*report, options, options.peers[i], repeats[i]);
  return {};
}

}  // namespace

void add_connect_command(CLI::App& bench, tools::Work& chosen) {
  auto options = std::make_shared<ConnectOptions>();
  CLI::App* command =
      bench.add_subcommand("connect", "How long until a new peer can be used: by its metadata, and by a connection");
  add_common_options(*command, options->common);
  command->add_option("--provider", options->provider, "libfabric's provider of connectionless queue pairs")
      ->check(CLI::IsMember({"tcp;ofi_rxm", "net"}))
      ->capture_default_str();
  command->add_option("--peers", options->peers, "How many are reached at a time")
      ->check(CLI::Range(1U, Reach::peers_max))
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--samples", options->samples, "How often, in each repeat; each time by a device that is new")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->footer("Examples:\n  spindrift bench connect\n  spindrift bench connect --provider net --peers 1 --json -");
  command->callback([options, &chosen] { choose(chosen, [options] { return run_connect_bench(*options); }); });
}

}  // namespace spindrift::bench
