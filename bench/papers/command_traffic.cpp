// `spindrift_papers batching`, `delay`, `upcall` and `threads`: Spindle's experiments in groups of real processes, each run
// beside the run that lacks the one thing that it is about.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <spindrift/bench/comparison.hpp>
#include <spindrift/bench/papers/commands.hpp>

namespace spindrift::bench {

namespace {

Parameters with(Parameters parameters, const char* name, Parameter value) {
  parameters.emplace_back(name, std::move(value));
  return parameters;
}

struct BatchingOptions : TrafficOptions {
  std::vector<std::uint64_t> windows{5, 10, 50, 100, 500, 1000};
};

struct BatchingCase {
  const char* name;
  smc::Ablation policy;
};

/// In the order of the paper: each step lets one more kind of batch form.
std::vector<BatchingCase> ablations() {
  const auto batches = [](bool send, bool receive, bool delivery) {
    const smc::Ablation all;
    return smc::Ablation::of_batches(send ? all.send_batch_max : 1, receive ? all.receive_batch_max : 1,
                                     delivery ? all.delivery_batch_max : 1);
  };
  return {{"nothing", batches(false, false, false)},         {"delivery", batches(false, false, true)},
          {"delivery, receive", batches(false, true, true)}, {"delivery, send", batches(true, false, true)},
          {"receive, send", batches(true, true, false)},     {"all", {}}};
}

struct BatchingCell {
  std::size_t run;
  Parameters parameters;
};

void ask_about(Comparison& comparison, const std::vector<BatchingCell>& cells) {
  for (const BatchingCell& cell : cells)
    comparison.ask({{"batching", cell.parameters, "messages/s"}, cell.run, first_stream, first_stream});
  const std::pair<const char*, double BatchMeans::*> kinds[] = {
      {"send", &BatchMeans::sent}, {"receive", &BatchMeans::received}, {"delivery", &BatchMeans::delivered}};
  for (const auto& [kind, mean] : kinds) {
    const Measure measure = [mean = mean](const TrafficResults& results) { return results.front().batches.*mean; };
    for (const BatchingCell& cell : cells) {
      comparison.ask(
          {{fmt::format("messages in one {} batch", kind), cell.parameters, "messages"}, cell.run, measure, measure});
    }
  }
}

/// The share of one class of batches among all upcalls, in percent.
double share_of(const TrafficResults& results, std::size_t size_class) {
  const auto& classes = results.front().delivery_batches;
  std::uint64_t all = 0;
  for (const std::uint64_t count : classes) all += count;
  return all == 0 ? 0 : 100 * static_cast<double>(classes[size_class]) / static_cast<double>(all);
}

void ask_for_histogram(Comparison& comparison, std::size_t run, const Parameters& parameters) {
  constexpr std::size_t largest = 9;  // 512 messages, as many as an upcall gets
  for (std::size_t size_class = 0; size_class <= largest; ++size_class) {
    const Parameters of_class =
        with(with(parameters, "from", std::uint64_t{1} << size_class), "below", std::uint64_t{2} << size_class);
    comparison.ask({{"upcalls by their messages", of_class, "percent"}, run, [size_class](const auto& results) {
                      return share_of(results, size_class);
                    }});
  }
}

/// In a run of its own, for asking the time takes some.
void ask_for_times(Comparison& comparison, std::size_t run, const Parameters& parameters) {
  for (std::size_t i = 0; i < predicate_names.size(); ++i) {
    const Measure time = [i](const TrafficResults& results) { return results.front().predicate_ns[i]; };
    comparison.ask(
        {{"poller's time for a message", with(parameters, "predicate", std::string(predicate_names[i])), "ns"}, run, time});
  }
}

void run_batching(const BatchingOptions& options, FigureReport& report) {
  const TrafficRun base = options.run();
  Comparison comparison;
  comparison.add(base);
  const auto parameters = [](const TrafficRun& run, const char* batched) {
    return with(parameters_of(run), "batched", std::string(batched));
  };
  std::vector<BatchingCell> cells;
  for (const BatchingCase& limits : ablations()) {
    TrafficRun run = base;
    run.policy = limits.policy;
    cells.push_back({comparison.add(run), parameters(run, limits.name)});
  }
  for (const std::uint64_t window : options.windows) {
    TrafficRun run = base;
    run.window = window;
    cells.push_back({comparison.add(run), parameters(run, "all")});
  }
  ask_about(comparison, cells);
  ask_for_histogram(comparison, 0, parameters(base, "all"));
  TrafficRun timed = base;
  timed.policy.clock = [] { return SystemClock().now(); };
  ask_for_times(comparison, comparison.add(timed), parameters(timed, "all"));
  comparison.run(options.repeats, report);
}

struct SendDelay {
  const char* name;
  std::optional<Duration> after;
};
constexpr std::array delays{SendDelay{"1 us", std::chrono::microseconds(1)},
                            SendDelay{"100 us", std::chrono::microseconds(100)}, SendDelay{"for ever", std::nullopt}};

void run_delay(const TrafficOptions& options, FigureReport& report) {
  const TrafficRun base = options.run();
  const std::uint32_t half = options.members / 2;
  Comparison comparison;
  comparison.add(base);
  for (const bool null_sends : {true, false}) {
    for (const SendDelay& delay : delays) {
      for (std::uint32_t slow = 1; slow <= half; slow += std::max(half - 1, 1U)) {  // one, and half of them
        TrafficRun run = base;
        run.policy.null_sends = null_sends;
        run.slow_senders = slow;
        run.slow_after = delay.after;
        const Parameters parameters =
            with(with(with(parameters_of(run), "null_sends", null_sends), "slow", std::uint64_t{slow}), "delay",
                 std::string(delay.name));
        // The same senders where nobody is slow.
        const double share = static_cast<double>(run.members - slow) / run.members;
        comparison.ask({{"senders that are not slow", parameters, "messages/s"},
                        comparison.add(run),
                        [](const TrafficResults& results) { return results.front().prompt_per_second; },
                        [share](const TrafficResults& results) { return share * first_stream(results); }});
      }
    }
  }
  comparison.run(options.repeats, report);
}

struct Handler {
  const char* name;
  Duration each;
  Spending by;
};
constexpr std::array handlers{Handler{"computes 1 us", std::chrono::microseconds(1), Spending::computing},
                              Handler{"computes 100 us", std::chrono::microseconds(100), Spending::computing},
                              Handler{"computes 1 ms", std::chrono::milliseconds(1), Spending::computing},
                              Handler{"waits 100 us", std::chrono::microseconds(100), Spending::waiting},
                              Handler{"waits 1 ms", std::chrono::milliseconds(1), Spending::waiting}};

struct UpcallOptions : TrafficOptions {
  std::uint32_t subgroups = 2;
};

double other_streams(const TrafficResults& results) { return all_streams(results) - first_stream(results); }

void run_upcall(const UpcallOptions& options, FigureReport& report) {
  TrafficRun base = options.run();
  base.streams.resize(options.subgroups);
  Comparison comparison;
  comparison.add(base);
  for (const Handler& handler : handlers) {
    for (const bool own_thread : {false, true}) {
      TrafficRun run = base;
      run.streams.front().handling = handler.each;
      run.streams.front().handling_by = handler.by;
      run.streams.front().own_thread = own_thread;
      const std::size_t place = comparison.add(run);
      const Parameters parameters = with(with(with(parameters_of(run), "subgroups", std::uint64_t{options.subgroups}),
                                              "handler", std::string(handler.name)),
                                         "thread", std::string(own_thread ? "own" : "shared"));
      for (const auto& [whose, rate] : {std::pair{"its own", &first_stream}, {"the others", &other_streams}}) {
        comparison.ask({{"a slow handler in one subgroup", with(parameters, "rate of", std::string(whose)), "messages/s"},
                        place,
                        rate,
                        rate});
      }
    }
  }
  comparison.run(options.repeats, report);
}

struct ThreadsOptions : TrafficOptions {
  std::vector<std::uint32_t> threads{1, 2, 4, 8};
  std::vector<Senders> senders{Senders::one, Senders::all};
};

void run_threads(const ThreadsOptions& options, FigureReport& report) {
  for (const Senders senders : options.senders) {
    TrafficRun base = options.run();
    const std::uint32_t sending = sender_count(senders, base.members);
    base.slow_senders = base.members - sending;  // and these never send
    Comparison comparison;
    comparison.add(base);
    for (const std::uint32_t threads : options.threads) {
      TrafficRun run = base;
      run.streams.front().threads = threads;
      const Parameters parameters =
          with(with(parameters_of(run), "senders", std::uint64_t{sending}), "threads", std::uint64_t{threads});
      comparison.ask({{"application threads in one subgroup", parameters, "messages/s"},
                      comparison.add(run),
                      first_stream,
                      first_stream});
    }
    comparison.run(options.repeats, report);
  }
}

}  // namespace

void add_batching_command(const Commands& to) {
  auto options = std::make_shared<BatchingOptions>();
  Command command(to, "batching", "What each kind of batch and the window are worth, and batches' sizes",
                  "  spindrift_papers batching --members 2 --windows 100,1000 --json -", options, run_batching);
  options->declare(command);
  command.list("--windows", options->windows, "Windows to compare with --window", 1, 1 << 20);
}

void add_delay_command(const Commands& to) {
  auto options = std::make_shared<TrafficOptions>();
  options->members = 4;
  Command command(to, "delay", "What slow and silent senders cost the others, with null-sends and without",
                  "  spindrift_papers delay --members 8 --json -", options, run_delay);
  options->declare(command);
}

void add_upcall_command(const Commands& to) {
  auto options = std::make_shared<UpcallOptions>();
  options->seconds = 1;  // a batch of a slow handler takes a good part of it
  Command command(to, "upcall", "What a slow delivery handler costs its own subgroup, and the others",
                  "  spindrift_papers upcall --subgroups 4 --json -", options, run_upcall);
  options->declare(command);
  command.number("--subgroups", options->subgroups, "Number of subgroups; the handler of the first is slow", 2, 64);
}

void add_threads_command(const Commands& to) {
  auto options = std::make_shared<ThreadsOptions>();
  options->members = 2;
  Command command(to, "threads", "Several application threads of one or every member send, beside one thread",
                  "  spindrift_papers threads --threads 16 --size 100 --window 1000 --json -", options, run_threads);
  options->declare(command);
  command.senders(options->senders);
  command.list("--threads", options->threads, "Numbers of threads of each member", 1, 256);
}

}  // namespace spindrift::bench
