// `spindrift bench connect`: how long until a new peer can be used, with its metadata, by a lookup of them and by a
// connection.
#include <array>

#include <spindrift/bench/command_options.hpp>
#include <spindrift/bench/reach.hpp>

namespace spindrift::bench {

namespace {

constexpr std::uint32_t lookups_per_sample = 100;

struct ConnectOptions : BenchOptions {
  std::string provider = "tcp;ofi_rxm";
  std::vector<std::uint32_t> peers{1, 8};
  std::uint32_t samples = 40;
};

struct ReachWay {
  const char* bench;
  std::vector<std::uint64_t> ReachTimes::*times;
};
constexpr std::array ways{ReachWay{"endpoint created", &ReachTimes::endpoint},
                          ReachWay{"metadata taken in", &ReachTimes::resolve},
                          ReachWay{"virtual queue pair connected, peer known", &ReachTimes::virtual_pair},
                          ReachWay{"of that, connecting alone", &ReachTimes::virtual_connect},
                          ReachWay{"virtual queue pair connected, peer looked up", &ReachTimes::unknown},
                          ReachWay{"two reads of the meta server", &ReachTimes::two_reads},
                          ReachWay{"metadata taken in, first write", &ReachTimes::first_write},
                          ReachWay{"connection made", &ReachTimes::connect},
                          ReachWay{"read of a known peer", &ReachTimes::read}};

void report_reach(FigureReport& report, const Parameters& parameters, std::vector<ReachTimes>& repeats) {
  for (const ReachWay& way : ways) report_percentiles(report, way.bench, parameters, way.times, repeats);
  Figure in_reads{"peer looked up, in two reads", parameters, "times"};
  Figure reads{"reads of the meta server for a lookup", parameters, "reads"};
  Figure writes{"peers reached by metadata and first write", parameters, "peers/s"};
  Figure connects{"peers reached by connections", parameters, "peers/s"};
  for (ReachTimes& times : repeats) {
    in_reads.values.push_back(percentile(times.unknown, 0.5) / percentile(times.two_reads, 0.5));
    reads.values.push_back(times.reads_per_lookup);
    writes.values.push_back(times.first_writes_per_second);
    connects.values.push_back(times.connects_per_second);
  }
  for (const Figure* figure : {&in_reads, &reads, &writes, &connects}) report.add(*figure);
}

// All ways take turns within one sample, and all numbers of peers within one repeat, so that what the machine does meanwhile
// meets them alike.
void run_connect_bench(const ConnectOptions& options, FigureReport& report) {
  Reach reach(options.provider);
  std::vector<std::vector<ReachTimes>> by_peers(options.peers.size());
  const Parameters of_all{{"provider", options.provider}};
  Figure known{"virtual queue pairs connected, peers known", of_all, "pairs/s"};
  Figure unknown{"virtual queue pairs connected, peers looked up", of_all, "pairs/s"};
  for (std::uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
    for (std::size_t i = 0; i < by_peers.size(); ++i)
      by_peers[i].push_back(reach.measure(options.peers[i], options.samples));
    const auto rates = reach.measure_rates(std::min(Reach::lookups_max, options.samples * lookups_per_sample));
    known.values.push_back(rates.known);
    unknown.values.push_back(rates.unknown);
  }
  for (std::size_t i = 0; i < by_peers.size(); ++i) {
    Parameters parameters = of_all;
    parameters.emplace_back("at_a_time", std::uint64_t{options.peers[i]});
    report_reach(report, parameters, by_peers[i]);
  }
  report.add(known);
  report.add(unknown);
}

}  // namespace

void add_connect_command(const Commands& to) {
  auto options = std::make_shared<ConnectOptions>();
  Command command(to, "connect", "How long until a new peer can be used: by its metadata, a lookup, a connection",
                  "  spindrift bench connect\n  spindrift bench connect --provider net --peers 1 --json -", options,
                  run_connect_bench);
  add_provider_option(command, options->provider);
  command.list("--peers", options->peers, "How many are reached at a time", 1, Reach::peers_max);
  command.number("--samples", options->samples, "How often, in each repeat; each time by a device that is new", 1, 100000);
}

}  // namespace spindrift::bench
