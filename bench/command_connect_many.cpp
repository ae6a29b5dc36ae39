// What `spindrift bench connect` prints of many at a time: meshes of workers, clients of one meta server, batches of reads
// by the size of the pool, and a connected queue pair for each peer.
#include <spindrift/bench/command_connect_many.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <spindrift/bench/lookups.hpp>
#include <spindrift/bench/mesh.hpp>
#include <spindrift/bench/read_batches.hpp>

namespace spindrift::bench {

namespace {

using Parameters = std::vector<std::pair<std::string, Parameter>>;

struct MeshWay {
  const char* pairs;
  std::uint64_t MeshTimes::*time;
  bool one_for_two;  ///< workers
};
constexpr std::array mesh_ways{MeshWay{"virtual, peers looked up", &MeshTimes::looked_up, false},
                               MeshWay{"virtual, peers known", &MeshTimes::known, false},
                               MeshWay{"virtual, peers known, written over", &MeshTimes::written, false},
                               MeshWay{"connected", &MeshTimes::connected, true}};

std::vector<std::uint32_t> up_to(std::uint32_t most, std::initializer_list<std::uint32_t> numbers) {
  std::vector<std::uint32_t> chosen;
  std::copy_if(numbers.begin(), numbers.end(), std::back_inserter(chosen), [&](auto number) { return number <= most; });
  return chosen;
}

}  // namespace

Result<void> run_mesh_bench(const ManyOptions& options) {
  auto report = Report::open(options.json);
  if (!report) return Error(report.error());
  for (const std::uint32_t workers : up_to(options.most, {2, 4, 8, 16, 32, 64})) {
    std::vector<MeshTimes> repeats;
    for (std::uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
      auto times = measure_mesh({options.provider, workers});
      if (!times) return std::move(times).error();
      repeats.push_back(*times);
    }
    for (const MeshWay& way : mesh_ways) {
      const std::uint64_t pairs = std::uint64_t{workers} * (workers - 1) / (way.one_for_two ? 2 : 1);
      const Parameters parameters{{"provider", options.provider},
                                  {"queue_pairs", std::string(way.pairs)},
                                  {"workers", std::uint64_t{workers}},
                                  {"pairs", pairs}};
      Figure all{"full mesh", parameters, "us", {}, {}};
      Figure each{"full mesh, per pair", parameters, "us", {}, {}};
      for (const MeshTimes& times : repeats) {
        all.values.push_back(static_cast<double>(times.*way.time) / 1000);
        each.values.push_back(all.values.back() / static_cast<double>(pairs));
      }
      report->add(all);
      report->add(each);
    }
  }
  return {};
}

Result<void> run_lookup_bench(const ManyOptions& options) {
  auto report = Report::open(options.json);
  if (!report) return Error(report.error());
  for (const std::uint32_t clients : up_to(options.most, {1, 2, 4, 8, 16, 32, 64})) {
    std::array<std::vector<double>, 2> rates;
    std::array<std::array<std::vector<double>, 2>, 2> latencies;
    constexpr std::array ways{LookupWay::reads, LookupWay::messages};
    constexpr std::array fractions{0.5, 0.99};
    // By turns, so that what the machine does meanwhile meets both.
    for (std::uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
      for (std::size_t i = 0; i < ways.size(); ++i) {
        auto times = measure_lookups({options.provider, ways[i], clients, options.samples, 256});
        if (!times) return std::move(times).error();
        rates[i].push_back(times->per_second);
        for (std::size_t f = 0; f < fractions.size(); ++f)
          latencies[i][f].push_back(percentile(times->ns, fractions[f]) / 1000);
      }
    }
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const Parameters parameters{
          {"provider", options.provider}, {"by", std::string(to_string(ways[i]))}, {"clients", std::uint64_t{clients}}};
      // The limit of reads is what messages give, so that the ratio is the paper's.
      report->add({"lookups of all clients", parameters, "lookups/s", rates[i], i == 0 ? rates[1] : std::vector<double>{}});
      for (std::size_t f = 0; f < fractions.size(); ++f) {
        Figure figure{"a lookup", parameters, "us", latencies[i][f], i == 0 ? latencies[1][f] : std::vector<double>{}};
        figure.parameters.emplace_back("percentile", std::string(f == 0 ? "p50" : "p99"));
        report->add(figure);
      }
    }
  }
  return {};
}

Result<void> run_pool_bench(const ManyOptions& options) {
  auto report = Report::open(options.json);
  if (!report) return Error(report.error());
  constexpr std::array<std::uint32_t, 5> sizes{0, 1, 2, 4, 8};  // 0: connected ones, which the others are compared with
  std::array<std::vector<double>, sizes.size()> medians;
  std::array<std::vector<double>, sizes.size()> greatest;
  for (std::uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      ReadBatchRun run{options.provider, sizes[i]};
      run.batches = options.samples;
      run.seed = repeat + 1;
      auto took = measure_read_batches(run);
      if (!took) return std::move(took).error();
      medians[i].push_back(percentile(*took, 0.5) / 1000);
      greatest[i].push_back(percentile(*took, 0.99) / 1000);
    }
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Parameters parameters{
        {"provider", options.provider},
        {"queue_pairs", std::string(sizes[i] == 0 ? "64 connected" : std::to_string(sizes[i]) + " connectionless")}};
    for (const bool median : {true, false}) {
      const auto& values = median ? medians : greatest;
      Figure figure{"64 reads to 10 targets", parameters, "us", values[i], i == 0 ? std::vector<double>{} : values[0]};
      figure.parameters.emplace_back("percentile", std::string(median ? "p50" : "p99"));
      report->add(figure);
    }
  }
  return {};
}

}  // namespace spindrift::bench
