// `spindrift bench clients`: what a client outside of a group waits for its calls, beside one call that nobody replicates,
// the echo of a socket, and, where calls are to be durable, plain files on the same disk.
#include <array>

#include <spindrift/bench/client_calls.hpp>
#include <spindrift/bench/command_options.hpp>
#include <spindrift/bench/plain_calls.hpp>
#include <spindrift/bench/plain_files.hpp>

namespace spindrift::bench {

namespace {

struct ClientBenchOptions : BenchOptions {
  ClientBenchOptions() { seconds = 1; }
  std::string directory = ".";
  std::uint32_t members = 3;
  std::vector<std::uint64_t> argument_bytes{16, 64};
  std::uint64_t calls = 1000;
};

constexpr std::array<const char*, client_asks> ask_names{"update", "ordered query", "query after", "query"};

/// Values of all repeats, of one size.
struct ClientFigures {
  std::array<std::vector<double>, client_asks> asks;
  std::vector<double> asks_p99, durable, durable_p99, files, plain, plain_p99, echo, rate, durable_rate;
};

double median_us(std::vector<std::uint64_t> times_ns) { return percentile(times_ns, 0.5) / 1e3; }

void add_turn(ClientFigures& to, const ClientRun& run, const std::string& directory) {
  ClientTimes stable = measure_client(run);
  for (std::size_t ask = 0; ask < client_asks; ++ask) to.asks[ask].push_back(median_us(stable.latencies_ns[ask]));
  to.asks_p99.push_back(percentile(stable.latencies_ns[0], 0.99) / 1e3);
  to.rate.push_back(stable.updates_per_second);
  auto plain = plain_call_latencies_ns(run.argument_bytes, run.calls);
  to.plain.push_back(percentile(plain, 0.5) / 1e3);
  to.plain_p99.push_back(percentile(plain, 0.99) / 1e3);
  to.echo.push_back(median_us(echo_latencies_ns(run.argument_bytes, run.calls)));
  ClientRun logged = run;
  logged.directory = directory;
  ClientTimes durable = measure_client(logged);
  to.durable.push_back(median_us(durable.latencies_ns[0]));
  to.durable_p99.push_back(percentile(durable.latencies_ns[0], 0.99) / 1e3);
  to.durable_rate.push_back(durable.updates_per_second);
  to.files.push_back(median_us(file_rounds_ns({directory, run.members, durable.commits.bytes_each()}, run.calls)));
}

void report(const ClientFigures& figures, const Parameters& shape, FigureReport& to) {
  const auto add = [&](const char* what, const char* call, const char* quantile, const char* beside,
                       const std::vector<double>& values, const std::vector<double>& limits) {
    Figure figure{what, shape, "us", values, limits};
    figure.parameters.emplace_back("call", std::string(call));
    figure.parameters.emplace_back("quantile", std::string(quantile));
    figure.parameters.emplace_back("beside", std::string(beside));
    to.add(figure);
  };
  for (std::size_t ask = 0; ask < client_asks; ++ask)
    add("client call", ask_names[ask], "median", "a call of one process", figures.asks[ask], figures.plain);
  add("client call", ask_names[0], "p99", "a call of one process", figures.asks_p99, figures.plain_p99);
  add("client call", "call of one process", "median", "an echo", figures.plain, figures.echo);
  add("durable client call", ask_names[0], "median", "files", figures.durable, figures.files);
  add("durable client call", ask_names[0], "p99", "nothing", figures.durable_p99, {});
  to.add({"client updates", shape, "calls/s", figures.rate, {}});
  to.add({"durable client updates", shape, "calls/s", figures.durable_rate, {}});
}

void run_client_bench(const ClientBenchOptions& options, FigureReport& to) {
  for (const std::uint64_t bytes : options.argument_bytes) {
    const ClientRun run{options.members, bytes, {}, options.calls, options.duration(), options.overrides()};
    ClientFigures figures;
    for (std::uint32_t repeat = 0; repeat < options.repeats; ++repeat) add_turn(figures, run, options.directory);
    report(figures, {{"members", std::uint64_t{options.members}}, {"bytes", bytes}}, to);
  }
}

}  // namespace

void add_clients_command(const Commands& to) {
  auto options = std::make_shared<ClientBenchOptions>();
  Command command(to, "clients", "What a client outside of a group waits for, beside a call that nobody replicates",
                  "  spindrift bench clients --directory /var/tmp\n"
                  "  spindrift bench clients --members 5 --size 1024 --json -",
                  options, run_client_bench);
  command.seconds("How long updates are made at once, for their rate").settings();
  command->add_option("--directory", options->directory, "On the disk for logs; what is made there is removed again")
      ->capture_default_str();
  command.number("--members", options->members, "Members, each with a replica of the object", 1, 16);
  command.list("--size", options->argument_bytes, "Bytes of an update's argument", 1, 1 << 20);
  command.number("--calls", options->calls, "Calls of each kind, one at a time, for the latency", 10, 100'000);
}

}  // namespace spindrift::bench
