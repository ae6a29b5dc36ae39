// `spindrift bench object`: an object far larger than any ring, its rate and its members' memory.
#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>

#include <spindrift/bench/command_options.hpp>
#include <spindrift/bench/limits.hpp>
#include <spindrift/bench/object.hpp>

namespace spindrift::bench {

namespace {

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t row_ring_bytes = std::uint64_t{1} << 16;
constexpr std::uint64_t large_message_bytes = 4096;

struct ObjectOptions {
  CommonOptions common;
  std::uint32_t members = 3;
  std::uint64_t mebibytes = 1024;
  std::uint64_t piece_bytes = mebibyte;
  std::uint64_t bulk_ring_bytes = 8 * mebibyte;
};

Result<void> run_object_bench(const ObjectOptions& options) {
  auto settings = parse_settings(options.common.settings);
  if (!settings) return Error(settings.error());
  auto report = Report::open(options.common.json);
  if (!report) return Error(report.error());
  std::vector<ConfigOverride> all{
      {"SUBGROUP/DEFAULT/bulk_ring_bytes", std::to_string(options.bulk_ring_bytes), "the bench"},
      {"SUBGROUP/DEFAULT/large_message_bytes", std::to_string(large_message_bytes), "the bench"}};
  all.insert(all.end(), settings->begin(), settings->end());
  const ObjectRun run{{options.members, 1, {row_ring_bytes, 1024, options.piece_bytes}, std::move(all)},
                      options.mebibytes * mebibyte};
  Figure rate{"object throughput",
              {{"members", std::uint64_t{options.members}},
               {"MiB", options.mebibytes},
               {"piece", options.piece_bytes},
               {"bulk_ring", options.bulk_ring_bytes}},
              "GB/s",
              {},
              {}};
  Figure memory{"object peak memory of a member", rate.parameters, "MiB", {}, {}};
  for (std::uint32_t repeat = 0; repeat < options.common.repeats; ++repeat) {
    const auto result = run_object(run);
    if (!result) return Error(result.error());
    const auto bytes = static_cast<double>(run.object_bytes);
    rate.values.push_back(bytes / result->seconds / 1e9);
    const std::uint64_t peak = *std::max_element(result->peak_bytes.begin(), result->peak_bytes.end());
    memory.values.push_back(static_cast<double>(peak) / static_cast<double>(mebibyte));
    const std::uint64_t messages = run.object_bytes / options.piece_bytes;
    const auto limit =
        bare_multicast_seconds({.members = options.members,
                                .senders = 1,
                                .message_bytes = options.piece_bytes,
                                .window = std::max<std::uint64_t>(2, options.bulk_ring_bytes / options.piece_bytes),
                                .messages = messages});
    if (!limit) return Error(limit.error());
    rate.limits.push_back(static_cast<double>(messages * options.piece_bytes) / *limit / 1e9);
  }
  report->add(rate);
  report->add(memory);
  return {};
}

}  // namespace

void add_object_command(CLI::App& bench, tools::Work& chosen) {
  auto options = std::make_shared<ObjectOptions>();
  CLI::App* command =
      bench.add_subcommand("object", "One large object to a group, beside the same bytes through a bare ring");
  add_common_options(*command, options->common);
  command->add_option("--members", options->members, "Number of members")->check(CLI::Range(2, 16))->capture_default_str();
  command->add_option("--mib", options->mebibytes, "Size of the object, MiB")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--piece", options->piece_bytes, "Bytes of a message")
      ->check(CLI::Range(8192, 1 << 20))
      ->capture_default_str();
  command
      ->add_option("--bulk-ring", options->bulk_ring_bytes, "Bytes of the sender's ring for large messages, a power of two")
      ->capture_default_str();
  add_settings_option(*command, options->common);
  command->footer("Examples:\n  spindrift bench object\n  spindrift bench object --mib 4096 --members 4 --json -");
  command->callback([options, &chosen] { choose(chosen, [options] { return run_object_bench(*options); }); });
}

}  // namespace spindrift::bench
