// `spindrift bench multicast` and `spindrift bench latency`: the matrix of each, or the part of it that the options name.
#include <algorithm>

#include <spindrift/bench/command_options.hpp>

namespace spindrift::bench {

namespace {

struct MulticastOptions : BenchOptions {
  MulticastOptions() { seconds = 0.5; }
  Matrix matrix;
  bool touched = false;    ///< only
  bool untouched = false;  ///< only

  void be_quick() {
    seconds = 0.2;
    repeats = 1;
    matrix.members = {2, 3};
    matrix.message_bytes = {1024};
    matrix.touch = {true};
  }
};

std::uint32_t most(const std::vector<std::uint32_t>& members) { return *std::max_element(members.begin(), members.end()); }

void run_multicast_bench(const MulticastOptions& options, FigureReport& report) {
  Matrix matrix = options.matrix;
  if (options.touched || options.untouched) matrix.touch = {options.touched};
  matrix.seconds = options.seconds;
  matrix.repeats = options.repeats;
  const GroupNetwork network = options.network(most(matrix.members));
  matrix.settings = options.settings_for(network);
  measure_throughput(matrix, report);
}

struct LatencyOptions : BenchOptions {
  LatencyOptions() { seconds = 0.5; }
  LatencyMatrix matrix;
};

void run_latency_bench(const LatencyOptions& options, FigureReport& report) {
  LatencyMatrix matrix = options.matrix;
  matrix.seconds = options.seconds;
  matrix.repeats = options.repeats;
  const GroupNetwork network = options.network(most(matrix.members));
  matrix.settings = options.settings_for(network);
  matrix.beside_tcp = network.between_hosts();
  measure_latency(matrix, report);
}

constexpr std::uint64_t messages_max = std::uint64_t{1} << 40;

}  // namespace

void add_multicast_command(const Commands& to) {
  auto options = std::make_shared<MulticastOptions>();
  Command command(to, "multicast", "Messages per second at every member, beside the limit",
                  "  spindrift bench multicast --quick\n"
                  "  spindrift bench multicast --members 3 --size 1024 --senders all --touch --seconds 2",
                  options, run_multicast_bench);
  // The other options of the command line are taken after it, so they win.
  command
      ->add_flag_callback(
          "--quick", [options] { options->be_quick(); }, "A small part of the matrix, one short run each")
      ->trigger_on_parse();
  command.seconds("About how long one run takes").settings().network().senders(options->matrix.senders);
  command.list("--members", options->matrix.members, "Numbers of members", 2, 64);
  command.list("--size", options->matrix.message_bytes, "Payload bytes", 1, 1 << 24);
  CLI::Option* touched =
      command->add_flag("--touch", options->touched, "Only with the payload written and read (default both)");
  command->add_flag("--no-touch", options->untouched, "Only with the payload untouched (default both)")->excludes(touched);
  command.number("--window", options->matrix.window, "Messages of one sender on their way (0: the configuration's)", 0,
                 1 << 20);
  command.number("--ring", options->matrix.ring_bytes, "Bytes of a sender's ring, a power of two (0: the configuration's)",
                 0, 1 << 30);
  command.number("--messages", options->matrix.messages, "Messages per run, all senders together (0: by --seconds)", 0,
                 messages_max);
}

void add_latency_command(const Commands& to) {
  auto options = std::make_shared<LatencyOptions>();
  Command command(to, "latency", "Send to own delivery, one message on its way, beside the limit",
                  "  spindrift bench latency --members 2,3 --json -\n  spindrift bench latency --rest 2 --members 2\n"
                  "  spindrift bench latency --fabric tcp --members 2",
                  options, run_latency_bench);
  command.seconds("About how long one run takes").settings().network();
  command.list("--members", options->matrix.members, "Numbers of members", 2, 64);
  command.number("--size", options->matrix.message_bytes, "Payload bytes", 1, 1 << 24);
  command.number("--messages", options->matrix.messages, "Messages per run (0: by --seconds)", 0, messages_max);
  command.number("--rest", options->matrix.rest_ms, "From sleep: milliseconds before each message (0: none)", 0, 1000);
}

}  // namespace spindrift::bench
