// `spindrift bench limits` and `spindrift bench ring`: what the machine allows, and what the send ring makes of it.
#include <array>
#include <memory>

#include <CLI/CLI.hpp>

#include <spindrift/bench/command_options.hpp>
#include <spindrift/bench/group_config.hpp>
#include <spindrift/bench/limits.hpp>
#include <spindrift/bench/matrix.hpp>
#include <spindrift/bench/ring.hpp>

namespace spindrift::bench {

namespace {

constexpr std::array<std::uint64_t, 3> sizes{100, 1024, 10240};

struct LimitsOptions {
  CommonOptions common;
  std::vector<std::uint32_t> members{2, 3, 4, 8};
  std::uint64_t window = 0;  ///< 0: as many as a group has on their way that is configured as by default
};

Result<void> report_bare_multicast(Report& report, const LimitsOptions& options, std::uint32_t members, std::uint64_t bytes,
                                   bool touch, bool sending_apart) {
  const std::uint64_t window = options.window > 0 ? options.window : most_on_their_way(profile_for(bytes), bytes);
  BareMulticast run{members, members, bytes, window, touch, 0, sending_apart};
  const Figure figure{sending_apart ? "bare multicast, sending threads apart" : "bare multicast, all sending",
                      {{"members", std::uint64_t{members}}, {"bytes", bytes}, {"touched", touch}, {"window", run.window}},
                      "messages/s",
                      {},
                      {}};
  const auto messages = messages_for(options.common.seconds, [&](std::uint64_t count) {
    run.messages = count;
    return bare_multicast_seconds(run);
  });
  if (!messages) return Error(messages.error());
  run.messages = (*messages + members - 1) / members * members;
  return report_repeated(report, options.common.repeats, figure, [&]() -> Result<double> {
    const auto seconds = bare_multicast_seconds(run);
    if (!seconds) return Error(seconds.error());
    return static_cast<double>(run.messages) / *seconds;
  });
}

Result<void> report_machine(Report& report, const LimitsOptions& options) {
  const CommonOptions& common = options.common;
  auto measured =
      report_repeated(report, common.repeats, {"cache line there and back", {}, "ns", {}, {}}, cache_line_round_trip_ns);
  if (!measured) return measured;
  measured = report_repeated(report, common.repeats, {"futex there and back", {}, "ns", {}, {}}, futex_round_trip_ns);
  for (std::size_t position = 0; measured && position < sizes.size(); ++position) {
    const std::uint64_t bytes = sizes[position];
    measured = report_repeated(report, common.repeats, {"one writer, one reader", {{"bytes", bytes}}, "messages/s", {}, {}},
                               [&] { return ring_messages_per_second(bytes, common.duration()); });
  }
  return measured;
}

Result<void> run_limits_bench(const LimitsOptions& options) {
  auto report = Report::open(options.common.json);
  if (!report) return Error(report.error());
  if (auto measured = report_machine(*report, options); !measured) return measured;
  for (const std::uint32_t members : options.members) {
    for (const std::uint64_t bytes : sizes) {
      for (const bool touch : {true, false}) {
        for (const bool apart : {false, true}) {
          auto measured = report_bare_multicast(*report, options, members, bytes, touch, apart);
          if (!measured) return measured;
        }
      }
    }
  }
  return {};
}

struct RingOptions {
  CommonOptions common;
  std::vector<std::uint32_t> threads{1, 2, 4};
  std::vector<std::uint64_t> message_bytes{100, 1024, 10240};
  std::uint64_t window = 1000;
};

Result<void> run_ring_bench(const RingOptions& options) {
  auto report = Report::open(options.common.json);
  if (!report) return Error(report.error());
  for (const std::uint64_t bytes : options.message_bytes) {
    for (const std::uint32_t threads : options.threads) {
      const Figure figure{"send ring alone",
                          {{"threads", std::uint64_t{threads}}, {"bytes", bytes}, {"window", options.window}},
                          "messages/s",
                          {},
                          {}};
      auto measured = report_repeated(*report, options.common.repeats, figure, [&]() -> Result<double> {
        return run_ring({threads, bytes, options.window, options.common.duration()}).messages_per_second;
      });
      if (!measured) return measured;
    }
  }
  return {};
}

}  // namespace

void add_limits_command(CLI::App& bench, tools::Work& chosen) {
  auto options = std::make_shared<LimitsOptions>();
  options->common.seconds = 0.3;
  CLI::App* command =
      bench.add_subcommand("limits", "What this machine allows: cache lines, futexes, rings, the bare multicast");
  add_common_options(*command, options->common);
  add_seconds_option(*command, options->common, "About how long one run takes");
  command->add_option("--members", options->members, "Numbers of members of the bare multicast")
      ->delimiter(',')
      ->check(CLI::Range(2, 64))
      ->capture_default_str();
  command->add_option("--window", options->window, "Messages of one sender on their way (default: a default group's)")
      ->check(CLI::Range(1, 1 << 20));
  command->footer("Examples:\n  spindrift bench limits\n  spindrift bench limits --members 3 --json -");
  command->callback([options, &chosen] { choose(chosen, [options] { return run_limits_bench(*options); }); });
}

void add_ring_command(CLI::App& bench, tools::Work& chosen) {
  auto options = std::make_shared<RingOptions>();
  options->common.seconds = 0.3;
  CLI::App* command = bench.add_subcommand("ring", "The send ring alone: application threads reserve, copy and commit");
  add_common_options(*command, options->common);
  add_seconds_option(*command, options->common, "How long one run takes");
  command->add_option("--threads", options->threads, "Numbers of application threads")
      ->delimiter(',')
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command->add_option("--size", options->message_bytes, "Payload bytes")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  command->add_option("--window", options->window, "Records in flight")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->footer("Examples:\n  spindrift bench ring\n  spindrift bench ring --threads 1,8 --size 64");
  command->callback([options, &chosen] { choose(chosen, [options] { return run_ring_bench(*options); }); });
}

}  // namespace spindrift::bench
