// `spindrift bench connect`: how long until a new peer can be used, with its metadata, by a lookup of them and by a
// connection, and what it takes in memory; beside what verbs takes for a queue pair.
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <spindrift/bench/command_connect_many.hpp>
#include <spindrift/bench/command_options.hpp>
#include <spindrift/bench/mesh.hpp>
#include <spindrift/bench/peer_memory.hpp>
#include <spindrift/bench/reach.hpp>
#include <spindrift/bench/verbs_connect.hpp>

namespace spindrift::bench {

namespace {

constexpr std::uint64_t lookups_per_sample = 100;

struct ConnectOptions {
  CommonOptions common;
  std::string provider = "tcp;ofi_rxm";
  std::vector<std::uint32_t> peers{1, 8};
  std::uint32_t samples = 40;
  bool verbs = false;
  bool mesh = false;
  bool lookups = false;
  bool pool = false;
  std::uint32_t most = 16;
  bool memory = true;
  std::vector<std::uint32_t> memory_peers{10, 100, 1000, 5000};
  std::uint32_t memory_connections = 1000;
  std::uint32_t memory_written = 10;
};

struct Way {
  const char* bench;
  std::vector<std::uint64_t> ReachTimes::*times;
};
constexpr std::array ways{Way{"endpoint created", &ReachTimes::endpoint},
                          Way{"metadata taken in", &ReachTimes::resolve},
                          Way{"virtual queue pair connected, peer known", &ReachTimes::virtual_pair},
                          Way{"of that, connecting alone", &ReachTimes::virtual_connect},
                          Way{"virtual queue pair connected, peer looked up", &ReachTimes::unknown},
                          Way{"two reads of the meta server", &ReachTimes::two_reads},
                          Way{"metadata taken in, first write", &ReachTimes::first_write},
                          Way{"connection made", &ReachTimes::connect},
                          Way{"read of a known peer", &ReachTimes::read}};

using Parameters = std::vector<std::pair<std::string, Parameter>>;

template <class Times>
void report_percentiles(Report& report, const char* bench, const Parameters& parameters,
                        std::vector<std::uint64_t> Times::*which, std::vector<Times>& repeats) {
  for (const auto& [name, fraction] : {std::pair{"p50", 0.5}, {"p99", 0.99}}) {
    Figure figure{bench, parameters, "us", {}, {}};
    figure.parameters.emplace_back("percentile", std::string(name));
    for (Times& times : repeats) figure.values.push_back(percentile(times.*which, fraction) / 1000);
    report.add(figure);
  }
}

void report_reach(Report& report, const ConnectOptions& options, std::uint32_t peers, std::vector<ReachTimes>& repeats) {
  const Parameters parameters{{"provider", options.provider}, {"at_a_time", std::uint64_t{peers}}};
  for (const Way& way : ways) report_percentiles(report, way.bench, parameters, way.times, repeats);
  Figure in_reads{"peer looked up, in two reads", parameters, "times", {}, {}};
  Figure reads{"reads of the meta server for a lookup", parameters, "reads", {}, {}};
  Figure writes{"peers reached by metadata and first write", parameters, "peers/s", {}, {}};
  Figure connects{"peers reached by connections", parameters, "peers/s", {}, {}};
  for (ReachTimes& times : repeats) {
    in_reads.values.push_back(percentile(times.unknown, 0.5) / percentile(times.two_reads, 0.5));
    reads.values.push_back(times.reads_per_lookup);
    writes.values.push_back(times.first_writes_per_second);
    connects.values.push_back(times.connects_per_second);
  }
  for (const Figure* figure : {&in_reads, &reads, &writes, &connects}) report.add(*figure);
}

void report_rates(Report& report, const ConnectOptions& options, const std::vector<ConnectRates>& repeats) {
  const Parameters parameters{{"provider", options.provider}};
  Figure known{"virtual queue pairs connected, peers known", parameters, "pairs/s", {}, {}};
  Figure unknown{"virtual queue pairs connected, peers looked up", parameters, "pairs/s", {}, {}};
  for (const ConnectRates& rates : repeats) {
    known.values.push_back(rates.known);
    unknown.values.push_back(rates.unknown);
  }
  report.add(known);
  report.add(unknown);
}

constexpr std::array holdings{Holding::room,      Holding::metadata,           Holding::known,
                              Holding::pair,      Holding::pair_with_messages, Holding::written,
                              Holding::connection};

/// Of how many peers at most.
std::uint32_t peers_max_of(Holding holding, const ConnectOptions& options) {
  if (holding == Holding::connection) return options.memory_connections;
  return holding == Holding::written ? options.memory_written : memory_peers_max;
}

Result<void> report_memory(Report& report, const ConnectOptions& options, const PeerMemoryRun& run,
                           const std::vector<MemoryUse>& ones) {
  const Parameters parameters{
      {"provider", options.provider}, {"held", std::string(to_string(run.holding))}, {"peers", std::uint64_t{run.peers}}};
  std::array<Figure, 4> figures{Figure{"memory for peers, allocated", parameters, "bytes", {}, {}},
                                Figure{"memory for peers, resident", parameters, "bytes", {}, {}},
                                Figure{"memory per further peer, allocated", parameters, "bytes", {}, {}},
                                Figure{"memory per further peer, resident", parameters, "bytes", {}, {}}};
  for (const MemoryUse& one : ones) {
    auto all = memory_of_peers(run);
    if (!all) return std::move(all).error();
    figures[0].values.push_back(static_cast<double>(all->allocated));
    figures[1].values.push_back(static_cast<double>(all->resident));
    figures[2].values.push_back(bytes_per_further_peer(one.allocated, all->allocated, run.peers));
    figures[3].values.push_back(bytes_per_further_peer(one.resident, all->resident, run.peers));
  }
  // Of room, what is beyond the first place says nothing of the next: its queues stop growing at their greatest length.
  const std::size_t shown = run.holding == Holding::room ? 2 : figures.size();
  for (const Figure& figure : std::span(figures).first(shown)) report.add(figure);
  return {};
}

/// The numbers of peers that are measured; of the others it says that they are not.
std::vector<std::uint32_t> peers_of(Holding holding, const ConnectOptions& options) {
  const std::uint32_t most = peers_max_of(holding, options);
  std::vector<std::uint32_t> measured;
  for (const std::uint32_t peers : options.memory_peers) {
    if (peers <= most) {
      measured.push_back(peers);
    } else {
      std::fprintf(stderr, "left out: %s for %u peers, which is more than %u\n", to_string(holding), peers, most);
    }
  }
  return measured;
}

Result<void> measure_memory(Report& report, const ConnectOptions& options) {
  const std::uint32_t room = *std::max_element(options.memory_peers.begin(), options.memory_peers.end());
  for (const Holding holding : holdings) {
    const std::vector<std::uint32_t> numbers = peers_of(holding, options);
    std::vector<MemoryUse> ones;
    for (std::uint32_t repeat = 0; repeat < options.common.repeats && !numbers.empty(); ++repeat) {
      auto one = memory_of_peers({holding, options.provider, 1, room});
      if (!one) return std::move(one).error();
      ones.push_back(*one);
    }
    for (const std::uint32_t peers : numbers) {
      auto reported = report_memory(report, options, {holding, options.provider, peers, room}, ones);
      if (!reported) return reported;
    }
  }
  return {};
}

struct VerbsStep {
  const char* bench;
  std::vector<std::uint64_t> VerbsTimes::*times;
};
constexpr std::array verbs_steps{VerbsStep{"ibv_create_qp", &VerbsTimes::create},
                                 VerbsStep{"ibv_modify_qp to INIT", &VerbsTimes::to_init},
                                 VerbsStep{"ibv_modify_qp to RTR", &VerbsTimes::to_receive},
                                 VerbsStep{"ibv_modify_qp to RTS", &VerbsTimes::to_send},
                                 VerbsStep{"ibv_create_qp and ibv_modify_qp", &VerbsTimes::all},
                                 VerbsStep{"ibv_reg_mr of 4 MiB", &VerbsTimes::register_memory},
                                 VerbsStep{"virtual queue pair connected, peer known", &VerbsTimes::virtual_pair}};

Result<void> run_verbs_bench(const ConnectOptions& options) {
  auto report = Report::open(options.common.json);
  if (!report) return Error(report.error());
  auto verbs = VerbsConnect::open(options.provider);
  if (!verbs) return std::move(verbs).error();
  std::vector<VerbsTimes> repeats;
  for (std::uint32_t repeat = 0; repeat < options.common.repeats; ++repeat) {
    auto measured = (*verbs)->measure(options.samples);
    if (!measured) return std::move(measured).error();
    repeats.push_back(std::move(measured).value());
  }
  const Parameters parameters{{"device", (*verbs)->device()}};
  for (const VerbsStep& step : verbs_steps) report_percentiles(*report, step.bench, parameters, step.times, repeats);
  Figure beside{"queue pairs by verbs, in virtual ones", parameters, "times", {}, {}};
  for (VerbsTimes& times : repeats)
    beside.values.push_back(percentile(times.all, 0.5) / percentile(times.virtual_pair, 0.5));
  report->add(beside);
  return {};
}

// All ways take turns within one sample, and all numbers of peers within one repeat, so that what the machine does meanwhile
// meets them alike.
Result<void> run_connect_bench(const ConnectOptions& options) {
  auto report = Report::open(options.common.json);
  if (!report) return Error(report.error());
  // Its processes are forked while this one has one thread, and no memory that was used before.
  if (options.memory) {
    if (auto measured = measure_memory(*report, options); !measured) return measured;
  }
  auto reach = Reach::start(options.provider);
  if (!reach) return Error(reach.error());
  std::vector<std::vector<ReachTimes>> repeats(options.peers.size());
  std::vector<ConnectRates> rates;
  for (std::uint32_t repeat = 0; repeat < options.common.repeats; ++repeat) {
    for (std::size_t i = 0; i < options.peers.size(); ++i) {
      auto measured = reach.value()->measure(options.peers[i], options.samples);
      if (!measured) return std::move(measured).error();
      repeats[i].push_back(std::move(measured).value());
    }
    const std::uint64_t lookups = std::min<std::uint64_t>(Reach::lookups_max, lookups_per_sample * options.samples);
    auto measured = reach.value()->measure_rates(static_cast<std::uint32_t>(lookups));
    if (!measured) return std::move(measured).error();
    rates.push_back(*measured);
  }
  for (std::size_t i = 0; i < options.peers.size(); ++i) report_reach(*report, options, options.peers[i], repeats[i]);
  report_rates(*report, options, rates);
  return {};
}

Result<void> run_chosen(const ConnectOptions& options) {
  const ManyOptions many{options.common.json, options.provider, options.common.repeats, options.samples, options.most};
  if (options.verbs) return run_verbs_bench(options);
  if (options.mesh) return run_mesh_bench(many);
  if (options.lookups) return run_lookup_bench(many);
  if (options.pool) return run_pool_bench(many);
  return run_connect_bench(options);
}

}  // namespace

void add_connect_command(CLI::App& bench, tools::Work& chosen) {
  auto options = std::make_shared<ConnectOptions>();
  CLI::App* command = bench.add_subcommand(
      "connect",
      "How long until a new peer can be used: by its metadata, a lookup, a connection; and what it takes in memory");
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
  CLI::Option_group* const instead = command->add_option_group("Instead", "One of these in place of all that");
  instead->add_flag("--verbs", options->verbs, "What rdma-core takes for a queue pair on this machine's RDMA device");
  instead->add_flag("--mesh", options->mesh, "How long until workers have all connected to each other");
  instead->add_flag("--lookups", options->lookups, "What a meta server gives by one-sided reads, and by answering messages");
  instead->add_flag("--pool", options->pool, "How long 64 reads to 10 targets take, by the size of the pool");
  instead->require_option(0, 1);
  command
      ->add_option("--most", options->most, "Of --mesh and --lookups: up to how many workers or clients, by powers of two")
      ->check(CLI::Range(2U, mesh_workers_max))
      ->capture_default_str();
  command->add_flag("!--no-memory", options->memory, "Leave out what peers take in memory");
  command->add_option("--memory-peers", options->memory_peers, "For how many peers the memory is measured")
      ->check(CLI::Range(2U, memory_peers_max))
      ->delimiter(',')
      ->capture_default_str();
  command
      ->add_option("--memory-connections", options->memory_connections,
                   "Of those, up to how many are measured by connected queue pairs too; each takes a descriptor")
      ->check(CLI::Range(0U, memory_peers_max))
      ->capture_default_str();
  command
      ->add_option("--memory-written", options->memory_written,
                   "Of those, up to how many are there and are written to; each is a device, of up to 72 MB, in a process")
      ->check(CLI::Range(0U, memory_written_max))
      ->capture_default_str();
  command->footer(
      "Examples:\n  spindrift bench connect\n  spindrift bench connect --provider net --peers 1 --no-memory --json -\n"
      "  spindrift bench connect --verbs\n  spindrift bench connect --mesh --provider net --most 32");
  command->callback([options, &chosen] { choose(chosen, [options] { return run_chosen(*options); }); });
}

}  // namespace spindrift::bench
