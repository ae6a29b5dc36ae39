// `spindrift bench limits`: what the machine allows, and what the send ring makes of it.
#include <array>

#include <spindrift/bench/command_options.hpp>
#include <spindrift/bench/group_config.hpp>
#include <spindrift/bench/limits.hpp>
#include <spindrift/bench/ring.hpp>

namespace spindrift::bench {

namespace {

struct LimitsOptions : BenchOptions {
  LimitsOptions() { seconds = 0.3; }
  std::vector<std::uint32_t> members{2, 3, 4, 8};
  std::vector<std::uint64_t> message_bytes{100, 1024, 10240};
  std::vector<std::uint32_t> threads{1, 2, 4};
  std::uint64_t window = 0;  ///< 0: as many as a group has on their way that is configured as by default

  [[nodiscard]] std::uint64_t window_for(std::uint64_t bytes) const {
    return window > 0 ? window : most_on_their_way(profile_for(bytes), bytes);
  }
};

void report_machine(const LimitsOptions& options, FigureReport& report) {
  report_repeated(report, options.repeats, {"cache line there and back", {}, "ns"}, cache_line_round_trip_ns);
  report_repeated(report, options.repeats, {"futex there and back", {}, "ns"}, futex_round_trip_ns);
  for (const std::uint64_t bytes : options.message_bytes) {
    report_repeated(report, options.repeats, {"one writer, one reader", {{"bytes", bytes}}, "messages/s"},
                    [&] { return ring_messages_per_second(bytes, options.duration()); });
  }
}

void report_ring(const LimitsOptions& options, FigureReport& report) {
  for (const std::uint64_t bytes : options.message_bytes) {
    for (const std::uint32_t threads : options.threads) {
      const std::uint64_t window = options.window_for(bytes);
      const Figure figure{
          "send ring alone", {{"threads", std::uint64_t{threads}}, {"bytes", bytes}, {"window", window}}, "messages/s"};
      report_repeated(report, options.repeats, figure, [&] {
        return run_ring({threads, bytes, window, options.duration()}).messages_per_second;
      });
    }
  }
}

void report_bare_multicast(const LimitsOptions& options, FigureReport& report, BareMulticast run) {
  run.window = options.window_for(run.message_bytes);
  const Figure figure{run.sending_apart ? "bare multicast, sending threads apart" : "bare multicast, all sending",
                      {{"members", std::uint64_t{run.members}},
                       {"bytes", run.message_bytes},
                       {"touched", run.touch},
                       {"window", run.window}},
                      "messages/s"};
  const std::uint64_t messages = messages_for(options.seconds, [&](std::uint64_t count) {
    run.messages = count;
    return bare_multicast_seconds(run);
  });
  run.messages = (messages + run.members - 1) / run.members * run.members;
  report_repeated(report, options.repeats, figure,
                  [&] { return static_cast<double>(run.messages) / bare_multicast_seconds(run); });
}

void run_limits_bench(const LimitsOptions& options, FigureReport& report) {
  report_machine(options, report);
  report_ring(options, report);
  for (const std::uint32_t members : options.members) {
    for (const std::uint64_t bytes : options.message_bytes) {
      for (const auto& [touch, apart] : {std::pair{true, false}, {true, true}, {false, false}, {false, true}}) {
        report_bare_multicast(
            options, report,
            {.members = members, .senders = members, .message_bytes = bytes, .touch = touch, .sending_apart = apart});
      }
    }
  }
}

}  // namespace

void add_limits_command(const Commands& to) {
  auto options = std::make_shared<LimitsOptions>();
  Command command(to, "limits", "What this machine allows: cache lines, futexes, rings, the bare multicast",
                  "  spindrift bench limits\n  spindrift bench limits --members 3 --json -", options, run_limits_bench);
  command.seconds("About how long one run takes");
  command.list("--members", options->members, "Numbers of members of the bare multicast", 2, 64);
  command.list("--size", options->message_bytes, "Payload bytes", 1, 1 << 20);
  command.list("--threads", options->threads, "Numbers of application threads at the send ring", 1, 256);
  command.number("--window", options->window, "Messages of one sender on their way (0: a default group's)", 0, 1 << 20);
}

}  // namespace spindrift::bench
