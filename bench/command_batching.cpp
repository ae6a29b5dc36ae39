// `spindrift bench batching`: what each kind of batch is worth, what the window is, and how large batches become.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <spindrift/bench/experiment.hpp>

namespace spindrift::bench {

namespace {

struct BatchingOptions : TrafficOptions {
  std::vector<std::uint64_t> windows{5, 10, 50, 100, 500, 1000};
};

struct Limits {
  const char* name;
  smc::Ablation policy;
};

/// In the order of the paper: each step lets one more kind of batch form.
std::vector<Limits> ablations() {
  const auto batches = [](bool send, bool receive, bool delivery) {
    const smc::Ablation all;
    return smc::Ablation::of_batches(send ? all.send_batch_max : 1, receive ? all.receive_batch_max : 1,
                                     delivery ? all.delivery_batch_max : 1);
  };
  return {{"nothing", batches(false, false, false)},         {"delivery", batches(false, false, true)},
          {"delivery, receive", batches(false, true, true)}, {"delivery, send", batches(true, false, true)},
          {"receive, send", batches(true, true, false)},     {"all", {}}};
}

using Parameters = std::vector<std::pair<std::string, Parameter>>;

struct Cell {
  std::size_t run;
  Parameters parameters;
};

void ask_about(Experiment& experiment, const std::vector<Cell>& cells) {
  for (const Cell& cell : cells)
    experiment.ask({{"batching", cell.parameters, "messages/s", {}, {}}, cell.run, first_stream, first_stream});
  const std::pair<const char*, double BatchMeans::*> kinds[] = {
      {"send", &BatchMeans::sent}, {"receive", &BatchMeans::received}, {"delivery", &BatchMeans::delivered}};
  for (const auto& [kind, mean] : kinds) {
    const Measure measure = [mean = mean](const TrafficResults& results) { return results.front().batches.*mean; };
    for (const Cell& cell : cells) {
      experiment.ask({{fmt::format("messages in one {} batch", kind), cell.parameters, "messages", {}, {}},
                      cell.run,
                      measure,
                      measure});
    }
  }
}

/// The share of one class of batches among all upcalls, in percent.
Measure share_of(std::size_t size_class) {
  return [size_class](const TrafficResults& results) {
    const auto& classes = results.front().delivery_batches;
    std::uint64_t all = 0;
    for (const std::uint64_t count : classes) all += count;
    return all == 0 ? 0 : 100 * static_cast<double>(classes[size_class]) / static_cast<double>(all);
  };
}

void ask_for_histogram(Experiment& experiment, std::size_t place, const Parameters& parameters) {
  constexpr std::size_t largest = 9;  // 512 messages, as many as an upcall gets
  for (std::size_t size_class = 0; size_class <= largest; ++size_class) {
    Parameters with_class = parameters;
    with_class.emplace_back("from", std::uint64_t{1} << size_class);
    with_class.emplace_back("below", std::uint64_t{2} << size_class);
    experiment.ask({{"upcalls by their messages", with_class, "percent", {}, {}}, place, share_of(size_class)});
  }
}

/// In a run of its own, for asking the time takes some.
void ask_for_times(Experiment& experiment, std::size_t place, const Parameters& parameters) {
  for (std::size_t i = 0; i < predicate_names.size(); ++i) {
    Parameters with_predicate = parameters;
    with_predicate.emplace_back("predicate", std::string(predicate_names[i]));
    const Measure time = [i](const TrafficResults& results) { return results.front().predicate_ns[i]; };
    experiment.ask({{"poller's time for a message", with_predicate, "ns", {}, {}}, place, time});
  }
}

Result<void> run_batching_bench(const BatchingOptions& options) {
  const auto base = options.run();
  if (!base) return Error(base.error());
  Experiment experiment;
  experiment.add(*base);
  const auto parameters = [](const TrafficRun& run, const char* batched) -> Parameters {
    return {{"members", std::uint64_t{run.members}},
            {"bytes", run.message_bytes},
            {"window", run.window},
            {"batched", std::string(batched)}};
  };
  std::vector<Cell> cells;
  for (const Limits& limits : ablations()) {
    TrafficRun run = *base;
    run.policy = limits.policy;
    cells.push_back({experiment.add(run), parameters(run, limits.name)});
  }
  for (const std::uint64_t window : options.windows) {
    TrafficRun run = *base;
    run.window = window;
    cells.push_back({experiment.add(run), parameters(run, "all")});
  }
  ask_about(experiment, cells);
  ask_for_histogram(experiment, 0, parameters(*base, "all"));
  TrafficRun timed = *base;
  timed.policy.clock = [] { return SystemClock().now(); };
  ask_for_times(experiment, experiment.add(timed), parameters(timed, "all"));
  return run_experiment(options.common, std::move(experiment));
}

}  // namespace

void add_batching_command(CLI::App& bench, tools::Work& chosen) {
  auto options = std::make_shared<BatchingOptions>();
  CLI::App* command =
      bench.add_subcommand("batching", "What each kind of batch and the window are worth, and batches' sizes");
  add_traffic_options(*command, *options);
  command->add_option("--windows", options->windows, "Windows to compare with --window")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->footer(
      "Examples:\n  spindrift bench batching\n  spindrift bench batching --members 2 --windows 100,1000 --json -");
  command->callback([options, &chosen] { choose(chosen, [options] { return run_batching_bench(*options); }); });
}

}  // namespace spindrift::bench
