// `spindrift bench durable`: what durability costs of a group, beside plain files on the same disk.
#include <cmath>

#include <spindrift/bench/command_options.hpp>
#include <spindrift/bench/durable.hpp>
#include <spindrift/bench/plain_files.hpp>

namespace spindrift::bench {

namespace {

struct DurableBenchOptions : BenchOptions {
  DurableBenchOptions() {
    seconds = 2;
    repeats = 5;
  }
  std::string directory = ".";
  std::vector<std::uint64_t> members{1, 3};
  std::vector<std::uint64_t> message_bytes{1024, 10240};
  std::uint64_t messages = 300;
};

struct LatencyTimes {
  std::vector<double> group{};
  std::vector<double> file{};
  std::vector<double> round{};
  Commits commits{};
};

void add_latencies(LatencyTimes& times, const DurableRun& run, std::uint32_t senders, std::uint64_t messages) {
  auto own = durable_latencies_ns(run, senders, messages);
  const FilesRun files{run.directory, run.members, own.commits.bytes_each()};
  auto plain = file_latencies_ns(files, messages);
  auto rounds = file_rounds_ns(files, messages);
  times.group.push_back(percentile(own.times_ns, 0.5) / 1e3);
  times.file.push_back(percentile(plain, 0.5) / 1e3);
  times.round.push_back(percentile(rounds, 0.5) / 1e3);
  times.commits = own.commits;
}

/// Rates of the repeats.
struct LoadTimes {
  std::vector<double> durable{};
  std::vector<double> files{};
  std::vector<double> alone{};  ///< of the unlogged subgroup, as are the next three
  std::vector<double> beside_one{};
  std::vector<double> beside_all{};
  std::vector<double> beside_files{};
  std::vector<double> durable_beside{};
  Commits commits{};
};

void add_rates(LoadTimes& rates, const DurableRun& run, Duration watch) {
  GroupLoad load;
  load.watch = watch;
  const LoadRates durable = durable_load(run, load);
  const std::uint64_t batch = durable.commits.bytes_each();
  rates.durable.push_back(durable.durable);
  rates.files.push_back(file_batches_per_second({run.directory, run.members, batch}, watch) *
                        durable.commits.messages_each());
  rates.commits = durable.commits;
  load.unlogged = true;
  load.logging = Logging::none;
  rates.alone.push_back(durable_load(run, load).unlogged);
  load.logging = Logging::one_at_a_time;
  rates.beside_one.push_back(durable_load(run, load).unlogged);
  load.logging = Logging::without_pause;
  const LoadRates both = durable_load(run, load);
  rates.beside_all.push_back(both.unlogged);
  rates.durable_beside.push_back(both.durable);
  load.logging = Logging::none;
  load.plain_bytes = batch;
  rates.beside_files.push_back(durable_load(run, load).unlogged);
}

Parameters with_batch(Parameters parameters, const Commits& commits) {
  parameters.emplace_back("batch_bytes", commits.bytes_each());
  parameters.emplace_back("batch_messages", std::round(100 * commits.messages_each()) / 100);
  return parameters;
}

void report_latencies(const LatencyTimes& times, Parameters parameters, const char* senders, FigureReport& report) {
  parameters.emplace_back("senders", std::string(senders));
  parameters = with_batch(std::move(parameters), times.commits);
  for (const auto& [beside, limits] : {std::pair("files", &times.file), {"rounds", &times.round}}) {
    Figure figure{"durable everywhere, p50", parameters, "us", times.group, *limits};
    figure.parameters.emplace_back("limit", std::string(beside));
    report.add(figure);
  }
}

void measure(const DurableBenchOptions& options, const DurableRun& run, FigureReport& report) {
  LatencyTimes one;
  LatencyTimes all;
  LoadTimes rates;
  for (std::uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
    add_latencies(one, run, 1, options.messages);
    if (run.members > 1) add_latencies(all, run, run.members, options.messages);
    add_rates(rates, run, options.duration());
  }
  const Parameters parameters{{"members", std::uint64_t{run.members}}, {"bytes", run.message_bytes}};
  report_latencies(one, parameters, "one", report);
  if (run.members > 1) report_latencies(all, parameters, "all", report);
  report.add({"durable throughput", with_batch(parameters, rates.commits), "messages/s", rates.durable, rates.files});
  for (const auto& [beside, values] : {std::pair("logged one at a time", &rates.beside_one),
                                       {"logged without pause", &rates.beside_all},
                                       {"plain files", &rates.beside_files}}) {
    Figure figure{"unlogged beside a busy disk", parameters, "messages/s", *values, rates.alone};
    figure.parameters.emplace_back("beside", std::string(beside));
    report.add(figure);
  }
  report.add({"durable beside unlogged", parameters, "messages/s", rates.durable_beside, rates.durable});
}

void run_durable_bench(const DurableBenchOptions& options, FigureReport& report) {
  for (const std::uint64_t members : options.members) {
    for (const std::uint64_t bytes : options.message_bytes)
      measure(options, {options.directory, static_cast<std::uint32_t>(members), bytes, options.overrides()}, report);
  }
}

}  // namespace

void add_durable_command(const Commands& to) {
  auto options = std::make_shared<DurableBenchOptions>();
  Command command(to, "durable", "What durability costs of a group, beside plain files on the same disk",
                  "  spindrift bench durable --directory /var/tmp\n"
                  "  spindrift bench durable --members 3 --size 1024 --json -",
                  options, run_durable_bench);
  command.seconds("How long one run of a rate is watched").settings();
  command->add_option("--directory", options->directory, "On the disk to measure; what is made there is removed again")
      ->capture_default_str();
  command.list("--members", options->members, "Members, each with a journal of its own on that disk", 1, 16);
  command.list("--size", options->message_bytes, "Payload bytes of a message", 1, 1 << 20);
  command.number("--messages", options->messages, "Messages of each sender, one at a time, for the latency", 10, 100'000);
}

}  // namespace spindrift::bench
