// Cells, repeats and the search for a number of messages that takes the wanted time.
#include <spindrift/bench/matrix.hpp>

#include <algorithm>
#include <array>

#include <spindrift/bench/limits.hpp>
#include <spindrift/bench/multicast.hpp>

namespace spindrift::bench {

namespace {

/// Throughput of one cell, in the group and in the limit.
struct Cell {
  MulticastRun group;
  BareMulticast limit;

  [[nodiscard]] Result<double> group_seconds(std::uint64_t messages) {
    group.messages = messages;
    auto result = run_multicast(group);
    if (!result) return Error(result.error());
    return static_cast<double>(result->messages) / result->messages_per_second;
  }
  [[nodiscard]] Result<double> limit_seconds(std::uint64_t messages) {
    limit.messages = messages;
    return bare_multicast_seconds(limit);
  }
};

/// A multiple of the senders.
Result<std::uint64_t> chosen_messages(const Matrix& matrix, std::uint32_t senders, const Trial& run) {
  const auto messages = matrix.messages > 0 ? Result<std::uint64_t>(matrix.messages) : messages_for(matrix.seconds, run);
  if (!messages) return Error(messages.error());
  return (*messages + senders - 1) / senders * senders;
}

Result<std::vector<Figure>> measure_cell(const Matrix& matrix, Cell cell) {
  const auto group_run = [&](std::uint64_t messages) { return cell.group_seconds(messages); };
  const auto limit_run = [&](std::uint64_t messages) { return cell.limit_seconds(messages); };
  const auto group_messages = chosen_messages(matrix, cell.limit.senders, group_run);
  if (!group_messages) return Error(group_messages.error());
  const auto limit_messages = chosen_messages(matrix, cell.limit.senders, limit_run);
  if (!limit_messages) return Error(limit_messages.error());

  const GroupShape& shape = cell.group.shape;
  Figure figure{"multicast throughput",
                {{"members", std::uint64_t{shape.members}},
                 {"senders", std::uint64_t{shape.senders}},
                 {"bytes", cell.group.message_bytes},
                 {"touched", cell.group.touch},
                 {"window", cell.limit.window},
                 {"ring", shape.profile.ring_bytes},
                 {"messages", *group_messages}},
                "messages/s",
                {},
                {}};
  Figure beside_ring{"multicast beside one ring", figure.parameters, figure.unit, {}, {}};
  const bool has_ring = shape.members == 2 && shape.senders == 1 && cell.group.touch;
  for (std::uint32_t repeat = 0; repeat < matrix.repeats; ++repeat) {
    const auto group = cell.group_seconds(*group_messages);
    if (!group) return Error(group.error());
    const auto limit = cell.limit_seconds(*limit_messages);
    if (!limit) return Error(limit.error());
    figure.values.push_back(static_cast<double>(*group_messages) / *group);
    figure.limits.push_back(static_cast<double>(*limit_messages) / *limit);
    if (!has_ring) continue;
    const auto duration = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(matrix.seconds));
    const auto ring = ring_messages_per_second(cell.group.message_bytes, duration);
    if (!ring) return Error(ring.error());
    beside_ring.limits.push_back(*ring);
  }
  beside_ring.values = figure.values;
  std::vector<Figure> figures{std::move(figure)};
  if (has_ring) figures.push_back(std::move(beside_ring));
  return figures;
}

Cell make_cell(const Matrix& matrix, std::uint32_t members, Senders senders, std::uint64_t message_bytes, bool touch) {
  const std::uint32_t sending = sender_count(senders, members);
  const GroupShape shape{members, sending, profile_for(message_bytes, matrix.window, matrix.ring_bytes), matrix.settings};
  const std::uint64_t window = most_on_their_way(shape.profile, message_bytes);
  return {{shape, message_bytes, touch, 0, {}}, {members, sending, message_bytes, window, touch, 0}};
}

struct Percentile {
  std::string_view name;
  double fraction;
};
constexpr std::array percentiles{Percentile{"p50", 0.5}, Percentile{"p99", 0.99}, Percentile{"p99.9", 0.999}};

double mean_seconds(const std::vector<std::uint64_t>& latencies_ns) {
  double sum = 0;
  for (const std::uint64_t latency : latencies_ns) sum += static_cast<double>(latency);
  return sum * 1e-9;
}

Result<void> measure_latency_of(const LatencyMatrix& matrix, MulticastRun run, const FigureSink& sink) {
  const std::uint32_t members = run.shape.members;
  const auto trial = [&](std::uint64_t messages) -> Result<double> {
    run.messages = messages;
    auto latencies_ns = run_multicast_latencies_ns(run);
    if (!latencies_ns) return Error(latencies_ns.error());
    return mean_seconds(*latencies_ns) + static_cast<double>(messages * matrix.rest_ms) * 1e-3;
  };
  const auto messages = matrix.messages > 0 ? Result<std::uint64_t>(matrix.messages) : messages_for(matrix.seconds, trial);
  if (!messages) return Error(messages.error());
  run.messages = *messages;

  std::vector<Figure> figures;
  for (const Percentile& wanted : percentiles) {
    figures.push_back({"multicast latency",
                       {{"members", std::uint64_t{members}},
                        {"bytes", run.message_bytes},
                        {"rest_ms", std::uint64_t{matrix.rest_ms}},
                        {"messages", *messages},
                        {"percentile", std::string(wanted.name)}},
                       "ns",
                       {},
                       {}});
  }
  for (std::uint32_t repeat = 0; repeat < matrix.repeats; ++repeat) {
    auto group = run_multicast_latencies_ns(run);
    if (!group) return Error(group.error());
    for (std::size_t position = 0; position < percentiles.size(); ++position) {
      figures[position].values.push_back(percentile(*group, percentiles[position].fraction));
    }
    auto limit = matrix.rest_ms > 0 ? futex_latencies_ns(*messages, run.rest)
                                    : bare_multicast_latencies_ns(members, run.message_bytes, *messages);
    if (!limit && limit.error().kind() == ErrorKind::unsupported) continue;  // one CPU: nobody there to wake
    if (!limit) return Error(limit.error());
    for (std::size_t position = 0; position < percentiles.size(); ++position) {
      figures[position].limits.push_back(percentile(*limit, percentiles[position].fraction));
    }
  }
  for (const Figure& figure : figures) sink(figure);
  return {};
}

}  // namespace

Result<std::uint64_t> messages_for(double seconds, const Trial& run) {
  for (std::uint64_t messages = 500;;) {
    const Result<double> trial = run(messages);
    if (!trial) return Error(trial.error());
    const double scale = seconds / std::max(*trial, 1e-6);
    const auto scaled = [messages](double factor) {
      return std::max<std::uint64_t>(static_cast<std::uint64_t>(static_cast<double>(messages) * factor), 1);
    };
    if (scale <= 8) return scaled(scale);
    messages = scaled(std::clamp(scale / 4, 2.0, 32.0));
  }
}

std::string_view to_string(Senders senders) noexcept {
  switch (senders) {
    case Senders::one: return "one";
    case Senders::half: return "half";
    case Senders::all: return "all";
  }
  return "";
}

std::uint32_t sender_count(Senders senders, std::uint32_t members) noexcept {
  switch (senders) {
    case Senders::one: return 1;
    case Senders::half: return std::max(members / 2, 1u);
    case Senders::all: return members;
  }
  return 0;
}

Result<void> measure_throughput(const Matrix& matrix, const FigureSink& sink) {
  for (const Senders senders : matrix.senders) {
    for (const std::uint64_t message_bytes : matrix.message_bytes) {
      for (const bool touch : matrix.touch) {
        for (const std::uint32_t members : matrix.members) {
          const auto figures = measure_cell(matrix, make_cell(matrix, members, senders, message_bytes, touch));
          if (!figures) return Error(figures.error());
          for (const Figure& figure : *figures) sink(figure);
        }
      }
    }
  }
  return {};
}

Result<void> measure_latency(const LatencyMatrix& matrix, const FigureSink& sink) {
  for (const std::uint32_t members : matrix.members) {
    const GroupShape shape{members, 1, profile_for(matrix.message_bytes), matrix.settings};
    const Duration rest = std::chrono::milliseconds(matrix.rest_ms);
    const auto measured = measure_latency_of(matrix, {shape, matrix.message_bytes, true, 1, rest}, sink);
    if (!measured) return Error(measured.error());
  }
  return {};
}

}  // namespace spindrift::bench
