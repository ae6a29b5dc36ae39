// `spindrift_papers object`: an object far larger than any ring, its rate and its members' memory.
#include <algorithm>

#include <spindrift/bench/limits.hpp>
#include <spindrift/bench/papers/commands.hpp>
#include <spindrift/bench/papers/object.hpp>

namespace spindrift::bench {

namespace {

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t row_ring_bytes = std::uint64_t{1} << 16;

struct ObjectOptions : BenchOptions {
  std::uint32_t members = 3;
  std::uint64_t mebibytes = 1024;
  std::uint64_t piece_bytes = mebibyte;
  std::uint64_t bulk_ring_bytes = 8 * mebibyte;
};

void run_object_bench(const ObjectOptions& options, FigureReport& report) {
  std::vector<ConfigOverride> settings{
      {"SUBGROUP/DEFAULT/bulk_ring_bytes", std::to_string(options.bulk_ring_bytes), "the bench"},
      {"SUBGROUP/DEFAULT/large_message_bytes", "4096", "the bench"}};
  for (const ConfigOverride& setting : options.overrides()) settings.push_back(setting);
  const ObjectRun run{{options.members, 1, {row_ring_bytes, 1024, options.piece_bytes}, std::move(settings)},
                      options.mebibytes * mebibyte};
  const std::uint64_t pieces = run.object_bytes / options.piece_bytes;
  const BareMulticast bare{.members = options.members,
                           .senders = 1,
                           .message_bytes = options.piece_bytes,
                           .window = std::max<std::uint64_t>(2, options.bulk_ring_bytes / options.piece_bytes),
                           .messages = pieces};
  Figure rate{"object throughput",
              {{"members", std::uint64_t{options.members}},
               {"MiB", options.mebibytes},
               {"piece", options.piece_bytes},
               {"bulk_ring", options.bulk_ring_bytes}},
              "GB/s"};
  Figure memory{"object peak memory of a member", rate.parameters, "MiB"};
  for (std::uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
    const ObjectResult result = run_object(run);
    const std::uint64_t peak = *std::max_element(result.peak_bytes.begin(), result.peak_bytes.end());
    rate.values.push_back(static_cast<double>(run.object_bytes) / result.seconds / 1e9);
    memory.values.push_back(static_cast<double>(peak) / static_cast<double>(mebibyte));
    rate.limits.push_back(static_cast<double>(pieces * options.piece_bytes) / bare_multicast_seconds(bare) / 1e9);
  }
  report.add(rate);
  report.add(memory);
}

}  // namespace

void add_object_command(const Commands& to) {
  auto options = std::make_shared<ObjectOptions>();
  Command command(to, "object", "One large object to a group, beside the same bytes through a bare ring",
                  "  spindrift_papers object --mib 4096 --members 4 --json -", options, run_object_bench);
  command.settings();
  command.number("--members", options->members, "Number of members", 2, 16);
  command.number("--mib", options->mebibytes, "Size of the object, MiB", 1, 1 << 20);
  command.number("--piece", options->piece_bytes, "Bytes of a message", 8192, 1 << 20);
  command.number("--bulk-ring", options->bulk_ring_bytes, "Bytes of the ring for large messages, a power of two", 1 << 16,
                 std::uint64_t{1} << 40);
}

}  // namespace spindrift::bench
