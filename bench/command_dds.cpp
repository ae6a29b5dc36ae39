// `spindrift bench dds`: what typed topics cost, beside the multicast that carries them and beside ddsperf.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include <spindrift/bench/command_options.hpp>
#include <spindrift/bench/ddsperf.hpp>
#include <spindrift/bench/topics.hpp>

namespace spindrift::bench {

namespace {

struct DdsOptions : BenchOptions {
  DdsOptions() {
    seconds = 0.5;
    repeats = 5;
  }
  std::vector<std::uint64_t> readers{1, 2, 4};
  std::vector<std::uint64_t> bytes{sample_sizes.begin(), sample_sizes.end()};
  std::uint64_t trips = 5000;
  std::string directory = ".";
  bool alone = false;
};

/// One run of the bench, its rates, and those of what it is compared with.
struct RateRow {
  TopicRun run;
  std::vector<double> values{};
  std::vector<double> limits{};
};

struct TripRow {
  TripRun run;
  std::vector<double> p50{};
  std::vector<double> p99{};
  std::vector<double> peer_p50{};
  std::vector<double> peer_p99{};
};

/// All of it, repeat by repeat, so that what the machine does meanwhile falls on all alike.
class DdsBench {
 public:
  explicit DdsBench(const DdsOptions& options)
      : options_(options), beside_(options.alone ? "nobody" : ddsperf_installed() ? "ddsperf" : ddsperf_missing) {
    const auto first = static_cast<std::uint32_t>(options.readers.front());
    for (const std::uint64_t bytes : options.bytes) {
      for (const ListenerPlace listeners : {ListenerPlace::thread, ListenerPlace::poller}) {
        for (const std::uint64_t readers : options.readers) {
          rates_.push_back({run_of(static_cast<std::uint32_t>(readers), bytes)});
          rates_.back().run.listeners = listeners;
        }
        trips_.push_back({{bytes, options.trips, listeners}});
      }
      using enum TopicQuality;
      for (const TopicQuality each : {atomic, unordered, stored, logged}) {
        qualities_.push_back({run_of(first, bytes)});
        qualities_.back().run.quality = each;
      }
      using enum SampleWay;
      for (const SampleWay each : {untyped, in_place, copied, unread}) {
        ways_.push_back({run_of(first, bytes)});
        ways_.back().run.way = each;
      }
    }
  }

  void repeat() {
    for (RateRow& row : rates_) {
      row.values.push_back(samples_per_second(row.run));
      if (has_peer()) row.limits.push_back(ddsperf_samples_per_second(row.run.readers, row.run.bytes));
    }
    for (TripRow& row : trips_) add_trips(row);
    measure_beside_first(qualities_);
    measure_beside_first(ways_);
  }

  void report(FigureReport& to) const {
    if (!has_peer() && !options_.alone) fmt::print(stderr, "spindrift bench dds: {}: nothing stands beside it\n", beside_);
    for (const RateRow& row : rates_) report_rate(to, row);
    for (const TripRow& row : trips_) {
      const auto percentiles = {std::tuple("p50", &row.p50, &row.peer_p50), {"p99", &row.p99, &row.peer_p99}};
      for (const auto& [name, values, limits] : percentiles) {
        const Parameters parameters{{"bytes", row.run.bytes},
                                    {"listeners", std::string(name_of(row.run.listeners))},
                                    {"percentile", std::string(name)},
                                    {"beside", beside_}};
        to.add({"topic round trip", parameters, "us", *values, *limits});
      }
    }
    for (const RateRow& row : qualities_)
      to.add({"topic qualities", with(row, "quality", name_of(row.run.quality)), "samples/s", row.values, row.limits});
    for (const RateRow& row : ways_)
      to.add({"typed beside untyped", with(row, "way", name_of(row.run.way)), "samples/s", row.values, row.limits});
  }

 private:
  [[nodiscard]] bool has_peer() const { return beside_ == "ddsperf"; }
  [[nodiscard]] TopicRun run_of(std::uint32_t readers, std::uint64_t bytes) const {
    TopicRun run;
    run.readers = readers;
    run.bytes = bytes;
    run.watch = options_.duration();
    run.directory = options_.directory;
    return run;
  }
  static Parameters with(const RateRow& row, const char* name, const std::string& value) {
    return {{"readers", std::uint64_t{row.run.readers}}, {"bytes", row.run.bytes}, {name, value}};
  }

  /// The first one of each size is what the others are compared with.
  static void measure_beside_first(std::vector<RateRow>& rows) {
    double first = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double rate = samples_per_second(rows[i].run);
      if (i == 0 || rows[i].run.bytes != rows[i - 1].run.bytes) first = rate;
      rows[i].values.push_back(rate);
      rows[i].limits.push_back(first);
    }
  }
  void add_trips(TripRow& row) const {
    auto times_ns = topic_round_trips_ns(row.run);
    row.p50.push_back(percentile(times_ns, 0.5) / 1000);
    row.p99.push_back(percentile(times_ns, 0.99) / 1000);
    if (!has_peer()) return;
    const PeerTrips peer = ddsperf_round_trips(row.run.bytes);
    row.peer_p50.push_back(peer.p50_us);
    row.peer_p99.push_back(peer.p99_us);
  }
  void report_rate(FigureReport& to, const RateRow& row) const {
    Parameters parameters = with(row, "listeners", name_of(row.run.listeners));
    parameters.emplace_back("beside", beside_);
    to.add({"topic samples", parameters, "samples/s", row.values, row.limits});
    Figure bytes{"topic bytes", parameters, "MB/s"};
    const auto megabytes = [&](double rate) { return rate * static_cast<double>(row.run.bytes) / 1e6; };
    std::ranges::transform(row.values, std::back_inserter(bytes.values), megabytes);
    std::ranges::transform(row.limits, std::back_inserter(bytes.limits), megabytes);
    to.add(bytes);
  }

  const DdsOptions& options_;
  const std::string beside_;
  std::vector<RateRow> rates_;
  std::vector<TripRow> trips_;
  std::vector<RateRow> qualities_;
  std::vector<RateRow> ways_;
};

void run_dds_bench(const DdsOptions& options, FigureReport& report) {
  DdsBench bench(options);
  for (std::uint32_t repeat = 0; repeat < options.repeats; ++repeat) bench.repeat();
  bench.report(report);
}

}  // namespace

void add_dds_command(const Commands& to) {
  auto options = std::make_shared<DdsOptions>();
  Command command(to, "dds", "What typed topics cost, beside the multicast that carries them and beside ddsperf",
                  "  spindrift bench dds --directory /var/tmp\n"
                  "  spindrift bench dds --readers 1 --size 1024 --alone --json -",
                  options, run_dds_bench);
  command.seconds("How long one run of a rate is watched");
  command.list("--readers", options->readers, "Participants that read, beside the one that writes", 1, 16);
  command->add_option("--size", options->bytes, "Bytes of a sample")
      ->delimiter(',')
      ->check(CLI::IsMember(std::vector<std::uint64_t>(sample_sizes.begin(), sample_sizes.end())))
      ->capture_default_str();
  command.number("--trips", options->trips, "Round trips of a run, one at a time", 10, 1'000'000);
  command->add_option("--directory", options->directory, "On the disk for logged topics; what is made there goes again")
      ->capture_default_str();
  command->add_flag("--alone", options->alone, "Not beside ddsperf, each run of which takes some seconds");
}

}  // namespace spindrift::bench
