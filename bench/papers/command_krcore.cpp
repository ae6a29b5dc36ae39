// `spindrift_papers mesh`, `lookups`, `pool`, `memory` and `verbs`: KRCore's experiments over this machine's loopback.
#include <algorithm>
#include <array>
#include <cstdio>
#include <span>

#include <spindrift/bench/papers/commands.hpp>
#include <spindrift/bench/papers/lookups.hpp>
#include <spindrift/bench/papers/mesh.hpp>
#include <spindrift/bench/papers/peer_memory.hpp>
#include <spindrift/bench/papers/read_batches.hpp>
#include <spindrift/bench/papers/verbs_connect.hpp>

namespace spindrift::bench {

namespace {

struct ManyOptions : BenchOptions {
  std::string provider = "tcp;ofi_rxm";
  std::uint32_t samples = 40;  ///< lookups of each client, batches of reads, queue pairs; in each repeat
  std::uint32_t most = 16;     ///< workers or clients
};

struct MeshWay {
  const char* pairs;
  std::uint64_t MeshTimes::*time;
  bool one_for_two;  ///< workers
};
constexpr std::array mesh_ways{MeshWay{"virtual, peers looked up", &MeshTimes::looked_up, false},
                               MeshWay{"virtual, peers known", &MeshTimes::known, false},
                               MeshWay{"virtual, peers known, written over", &MeshTimes::written, false},
                               MeshWay{"connected", &MeshTimes::connected, true}};

void run_mesh(const ManyOptions& options, FigureReport& report) {
  for (std::uint32_t workers = 2; workers <= options.most; workers *= 2) {
    std::vector<MeshTimes> repeats;
    for (std::uint32_t repeat = 0; repeat < options.repeats; ++repeat)
      repeats.push_back(measure_mesh({options.provider, workers}));
    for (const MeshWay& way : mesh_ways) {
      const std::uint64_t pairs = std::uint64_t{workers} * (workers - 1) / (way.one_for_two ? 2 : 1);
      const Parameters parameters{{"provider", options.provider},
                                  {"queue_pairs", std::string(way.pairs)},
                                  {"workers", std::uint64_t{workers}},
                                  {"pairs", pairs}};
      Figure all{"full mesh", parameters, "us"};
      Figure each{"full mesh, per pair", parameters, "us"};
      for (const MeshTimes& times : repeats) {
        all.values.push_back(static_cast<double>(times.*way.time) / 1000);
        each.values.push_back(all.values.back() / static_cast<double>(pairs));
      }
      report.add(all);
      report.add(each);
    }
  }
}

// The limit of reads is what messages give, so that the ratio is the paper's.
void report_lookups(FigureReport& report, const Parameters& of_all, std::vector<LookupTimes>& reads,
                    std::vector<LookupTimes>& messages) {
  Figure rate{"lookups of all clients", of_all, "lookups/s"};
  for (const LookupTimes& times : reads) rate.values.push_back(times.per_second);
  for (const LookupTimes& times : messages) rate.limits.push_back(times.per_second);
  report.add(rate);
  for (const auto& [name, fraction] : {std::pair{"p50", 0.5}, {"p99", 0.99}}) {
    Figure latency{"a lookup", of_all, "us"};
    latency.parameters.emplace_back("percentile", std::string(name));
    for (LookupTimes& times : reads) latency.values.push_back(percentile(times.ns, fraction) / 1000);
    for (LookupTimes& times : messages) latency.limits.push_back(percentile(times.ns, fraction) / 1000);
    report.add(latency);
  }
}

void run_lookups(const ManyOptions& options, FigureReport& report) {
  for (std::uint32_t clients = 1; clients <= options.most; clients *= 2) {
    std::vector<LookupTimes> reads;
    std::vector<LookupTimes> messages;
    for (std::uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
      reads.push_back(measure_lookups({options.provider, LookupWay::reads, clients, options.samples, 256}));
      messages.push_back(measure_lookups({options.provider, LookupWay::messages, clients, options.samples, 256}));
    }
    report_lookups(report, {{"provider", options.provider}, {"clients", std::uint64_t{clients}}}, reads, messages);
  }
}

void run_pool(const ManyOptions& options, FigureReport& report) {
  struct Size {
    std::uint32_t queue_pairs;  ///< 0: connected ones, which the others are compared with
    std::array<Figure, 2> figures{};
  };
  std::array sizes{Size{0}, Size{1}, Size{2}, Size{4}, Size{8}};
  constexpr std::array percentiles{std::pair{"p50", 0.5}, std::pair{"p99", 0.99}};
  for (std::uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
    for (Size& size : sizes) {
      ReadBatchRun run{options.provider, size.queue_pairs};
      run.batches = options.samples;
      run.seed = repeat + 1;
      auto took = measure_read_batches(run);
      for (std::size_t i = 0; i < percentiles.size(); ++i)
        size.figures[i].values.push_back(percentile(took, percentiles[i].second) / 1000);
    }
  }
  for (Size& size : sizes) {
    const std::string name = size.queue_pairs == 0 ? "64 connected" : std::to_string(size.queue_pairs) + " connectionless";
    for (std::size_t i = 0; i < percentiles.size(); ++i) {
      Figure& figure = size.figures[i];
      figure.bench = "64 reads to 10 targets";
      figure.unit = "us";
      figure.parameters = {
          {"provider", options.provider}, {"queue_pairs", name}, {"percentile", std::string(percentiles[i].first)}};
      if (size.queue_pairs > 0) figure.limits = sizes[0].figures[i].values;
      report.add(figure);
    }
  }
}

struct MemoryOptions : BenchOptions {
  std::string provider = "tcp;ofi_rxm";
  std::vector<std::uint32_t> peers{10, 100, 1000, 5000};
  std::uint32_t connections = 1000;
  std::uint32_t written = 10;

  /// The most peers for which it is measured.
  [[nodiscard]] std::uint32_t most_of(Holding holding) const {
    if (holding == Holding::connection) return connections;
    return holding == Holding::written ? written : memory_peers_max;
  }
};
constexpr std::array holdings{Holding::room,      Holding::metadata,           Holding::known,
                              Holding::pair,      Holding::pair_with_messages, Holding::written,
                              Holding::connection};

void report_memory(FigureReport& report, const PeerMemoryRun& run, const std::vector<MemoryUse>& ones) {
  const Parameters parameters{
      {"provider", run.provider}, {"held", std::string(to_string(run.holding))}, {"peers", std::uint64_t{run.peers}}};
  std::array<Figure, 4> figures{Figure{"memory for peers, allocated", parameters, "bytes"},
                                Figure{"memory for peers, resident", parameters, "bytes"},
                                Figure{"memory per further peer, allocated", parameters, "bytes"},
                                Figure{"memory per further peer, resident", parameters, "bytes"}};
  for (const MemoryUse& one : ones) {
    const MemoryUse all = memory_of_peers(run);
    figures[0].values.push_back(static_cast<double>(all.allocated));
    figures[1].values.push_back(static_cast<double>(all.resident));
    figures[2].values.push_back(bytes_per_further_peer(one.allocated, all.allocated, run.peers));
    figures[3].values.push_back(bytes_per_further_peer(one.resident, all.resident, run.peers));
  }
  // The room beyond the first place says nothing of the next: its queues stop growing at their greatest length.
  const std::size_t shown = run.holding == Holding::room ? 2 : figures.size();
  for (const Figure& figure : std::span(figures).first(shown)) report.add(figure);
}

void run_memory(const MemoryOptions& options, FigureReport& report) {
  const std::uint32_t room = *std::max_element(options.peers.begin(), options.peers.end());
  for (const Holding holding : holdings) {
    std::vector<MemoryUse> ones;
    for (const std::uint32_t peers : options.peers) {
      if (peers > options.most_of(holding)) {
        std::fprintf(stderr, "left out: %s for %u peers, which is more than %u\n", to_string(holding), peers,
                     options.most_of(holding));
        continue;
      }
      while (ones.size() < options.repeats) ones.push_back(memory_of_peers({holding, options.provider, 1, room}));
      report_memory(report, {holding, options.provider, peers, room}, ones);
    }
  }
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

void run_verbs(const ManyOptions& options, FigureReport& report) {
  const auto verbs = VerbsConnect::open(options.provider);
  std::vector<VerbsTimes> repeats;
  for (std::uint32_t repeat = 0; repeat < options.repeats; ++repeat) repeats.push_back(verbs->measure(options.samples));
  const Parameters parameters{{"device", verbs->device()}};
  for (const VerbsStep& step : verbs_steps) report_percentiles(report, step.bench, parameters, step.times, repeats);
  Figure beside{"queue pairs by verbs, in virtual ones", parameters, "times"};
  for (VerbsTimes& times : repeats)
    beside.values.push_back(percentile(times.all, 0.5) / percentile(times.virtual_pair, 0.5));
  report.add(beside);
}

}  // namespace

void add_mesh_command(const Commands& to) {
  auto options = std::make_shared<ManyOptions>();
  Command command(to, "mesh", "Figure 8b: how long until workers have all connected to each other",
                  "  spindrift_papers mesh --provider net --most 32", options, run_mesh);
  add_provider_option(command, options->provider);
  command.number("--most", options->most, "Up to how many workers, by powers of two", 2, mesh_workers_max);
}

void add_lookups_command(const Commands& to) {
  auto options = std::make_shared<ManyOptions>();
  Command command(to, "lookups", "Figure 9a: what a meta server gives by one-sided reads, beside answering messages",
                  "  spindrift_papers lookups --provider net --json -", options, run_lookups);
  add_provider_option(command, options->provider);
  command.number("--most", options->most, "Up to how many clients, by powers of two", 1, lookup_clients_max);
  command.number("--samples", options->samples, "Lookups of each client, in each repeat", 1, 100000);
}

void add_pool_command(const Commands& to) {
  auto options = std::make_shared<ManyOptions>();
  Command command(to, "pool", "Figure 14a: how long 64 reads to 10 targets take, by the size of the pool",
                  "  spindrift_papers pool --provider net", options, run_pool);
  add_provider_option(command, options->provider);
  command.number("--samples", options->samples, "Batches of reads, in each repeat", 1, 100000);
}

void add_memory_command(const Commands& to) {
  auto options = std::make_shared<MemoryOptions>();
  Command command(to, "memory", "Figure 15a: what known and connected peers take in memory",
                  "  spindrift_papers memory --provider net --peers 10,1000", options, run_memory);
  add_provider_option(command, options->provider);
  command.list("--peers", options->peers, "For how many peers", 2, memory_peers_max);
  command.number("--connections", options->connections,
                 "Of those, up to how many by connected queue pairs too; each takes a descriptor", 0, memory_peers_max);
  command.number("--written", options->written,
                 "Of those, up to how many are there and are written to; each is a device, of up to 72 MB, in a process", 0,
                 memory_written_max);
}

void add_verbs_command(const Commands& to) {
  auto options = std::make_shared<ManyOptions>();
  Command command(to, "verbs", "Figures 3 and 8a: what rdma-core takes for a queue pair on this machine's RDMA device",
                  "  spindrift_papers verbs", options, run_verbs);
  add_provider_option(command, options->provider);
  command.number("--samples", options->samples, "How often, in each repeat", 1, 100000);
}

}  // namespace spindrift::bench
