// `spindrift bench rpc`: what a call of 32 bytes takes and how many there are in a second, over UDP beside datagrams that
// are echoed, and through shared memory beside a cache line's round trip.
#include <spindrift/bench/calls.hpp>
#include <spindrift/bench/command_options.hpp>
#include <spindrift/bench/limits.hpp>

namespace spindrift::bench {

namespace {

struct RpcBenchOptions : BenchOptions {
  RpcBenchOptions() { seconds = 0.5; }
  std::vector<std::uint32_t> batches{3, 5, 11};
};

/// Values of all repeats, of one kind of call.
struct CallTimes {
  std::vector<double> median_us, p99_us, per_second, packets_per_call;

  void add(CallsMeasured run, std::uint32_t batch) {
    median_us.push_back(percentile(run.latencies_ns, 0.5) / 1e3);
    p99_us.push_back(percentile(run.latencies_ns, 0.99) / 1e3);
    per_second.push_back(run.per_second);
    packets_per_call.push_back(static_cast<double>(run.packets) / static_cast<double>(run.latencies_ns.size() * batch));
  }
};

/// All that is compared takes its turn in each repeat.
struct RpcTurn {
  std::uint32_t batch = 1;
  CallTimes udp, shm, echo;
};

void report_latency(FigureReport& report, const char* carrier, const char* beside, const CallTimes& calls,
                    const std::vector<double>& median, const std::vector<double>& p99) {
  const auto add = [&](const char* quantile, const std::vector<double>& values, const std::vector<double>& limits) {
    report.add({"call latency",
                {{"carrier", carrier}, {"bytes", std::uint64_t{call_bytes}}, {"quantile", quantile}, {"beside", beside}},
                "us",
                values,
                limits});
  };
  add("median", calls.median_us, median);
  add("p99", calls.p99_us, p99);
}

void report_rate(FigureReport& report, const char* carrier, const char* beside, std::uint32_t batch, const CallTimes& calls,
                 const std::vector<double>& limits) {
  report.add(
      {"calls",
       {{"carrier", carrier}, {"bytes", std::uint64_t{call_bytes}}, {"batch", std::uint64_t{batch}}, {"beside", beside}},
       "calls/s",
       calls.per_second,
       limits});
}

void run_rpc_bench(const RpcBenchOptions& options, FigureReport& report) {
  std::vector<RpcTurn> turns{RpcTurn{}};
  for (const std::uint32_t batch : options.batches) turns.push_back({.batch = batch, .udp = {}, .shm = {}, .echo = {}});
  std::vector<double> cache_line_us;
  for (std::uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
    cache_line_us.push_back(cache_line_round_trip_ns() / 1e3);
    for (RpcTurn& turn : turns) {
      turn.echo.add(measure_echo(turn.batch, options.duration()), turn.batch);
      turn.udp.add(measure_calls(CallCarrier::udp, turn.batch, options.duration()), turn.batch);
      turn.shm.add(measure_calls(CallCarrier::shm, turn.batch, options.duration()), turn.batch);
    }
  }
  report_latency(report, "shm", "a cache line", turns[0].shm, cache_line_us, cache_line_us);
  report_latency(report, "udp", "an echo", turns[0].udp, turns[0].echo.median_us, turns[0].echo.p99_us);
  for (const RpcTurn& turn : turns) {
    report_rate(report, "shm", "nothing", turn.batch, turn.shm, {});
    report_rate(report, "udp", "echoes", turn.batch, turn.udp, turn.echo.per_second);
  }
}

}  // namespace

void add_rpc_command(const Commands& to) {
  auto options = std::make_shared<RpcBenchOptions>();
  Command command(to, "rpc", "What a call between two processes takes, beside what carries it",
                  "  spindrift bench rpc\n  spindrift bench rpc --batch 1,8 --seconds 2 --json -", options, run_rpc_bench);
  command.seconds("of each of the runs, of which there are three for one call at a time and for each batch");
  command.list("--batch", options->batches, "How many calls are made at once, besides one", 1, 64);
}

}  // namespace spindrift::bench
