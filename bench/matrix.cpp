// Cells, repeats and the search for a number of messages that takes the wanted time.
#include <spindrift/bench/matrix.hpp>

#include <algorithm>
#include <array>

#include <spindrift/bench/limits.hpp>
#include <spindrift/bench/multicast.hpp>
#include <spindrift/bench/wire.hpp>

namespace spindrift::bench {

namespace {

/// Throughput of one cell, in the group and in the limit.
struct MatrixCell {
  MulticastRun group;
  BareMulticast limit;
};

/// A multiple of the senders.
std::uint64_t chosen_messages(const Matrix& matrix, std::uint32_t senders, const Trial& run) {
  const std::uint64_t messages = matrix.messages > 0 ? matrix.messages : messages_for(matrix.seconds, run);
  return (messages + senders - 1) / senders * senders;
}

/// Sets how many messages take the wanted time, each where it is to be kept.
void choose_messages(const Matrix& matrix, MatrixCell& cell) {
  const std::uint32_t senders = cell.limit.senders;
  cell.group.messages = chosen_messages(matrix, senders, [&](std::uint64_t messages) {
    cell.group.messages = messages;
    return multicast_seconds(cell.group);
  });
  cell.limit.messages = chosen_messages(matrix, senders, [&](std::uint64_t messages) {
    cell.limit.messages = messages;
    return bare_multicast_seconds(cell.limit);
  });
}

void measure_cell(const Matrix& matrix, MatrixCell cell, FigureReport& report) {
  choose_messages(matrix, cell);
  const GroupShape& shape = cell.group.shape;
  Figure figure{"multicast throughput",
                {{"members", std::uint64_t{shape.members}},
                 {"senders", std::uint64_t{shape.senders}},
                 {"bytes", cell.group.message_bytes},
                 {"touched", cell.group.touch},
                 {"window", cell.limit.window},
                 {"ring", shape.profile.ring_bytes},
                 {"messages", cell.group.messages}},
                "messages/s"};
  Figure beside_ring{"multicast beside one ring", figure.parameters, figure.unit};
  const bool has_ring = shape.members == 2 && shape.senders == 1 && cell.group.touch;
  const auto duration = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(matrix.seconds));
  for (std::uint32_t repeat = 0; repeat < matrix.repeats; ++repeat) {
    figure.values.push_back(static_cast<double>(cell.group.messages) / multicast_seconds(cell.group));
    figure.limits.push_back(static_cast<double>(cell.limit.messages) / bare_multicast_seconds(cell.limit));
    if (has_ring) beside_ring.limits.push_back(ring_messages_per_second(cell.group.message_bytes, duration));
  }
  report.add(figure);
  if (!has_ring) return;
  beside_ring.values = figure.values;
  report.add(beside_ring);
}

MatrixCell make_cell(const Matrix& matrix, std::uint32_t members, Senders senders, std::uint64_t message_bytes, bool touch) {
  const std::uint32_t sending = sender_count(senders, members);
  const GroupShape shape{members, sending, profile_for(message_bytes, matrix.window, matrix.ring_bytes), matrix.settings};
  const std::uint64_t window = most_on_their_way(shape.profile, message_bytes);
  return {{shape, message_bytes, touch, 0, {}}, {members, sending, message_bytes, window, touch, 0}};
}

constexpr std::array percentiles{std::pair{"p50", 0.5}, std::pair{"p99", 0.99}, std::pair{"p99.9", 0.999}};

double mean_seconds(const std::vector<std::uint64_t>& latencies_ns) {
  double sum = 0;
  for (const std::uint64_t latency : latencies_ns) sum += static_cast<double>(latency);
  return sum * 1e-9;
}

/// The same exchange without a group; empty where there is nothing to compare with.
std::vector<std::uint64_t> limit_latencies_ns(const MulticastRun& run, bool beside_tcp) {
  if (beside_tcp) return tcp_latencies_ns(run.messages, run.message_bytes, run.rest);
  if (run.rest == Duration{}) return bare_multicast_latencies_ns(run.shape.members, run.message_bytes, run.messages);
  try {
    return futex_latencies_ns(run.messages, run.rest);
  } catch (const Exception& failure) {
    if (failure.error().kind() != ErrorKind::unsupported) throw;
    return {};  // one CPU: nobody there to wake
  }
}

void measure_latency_of(const LatencyMatrix& matrix, MulticastRun run, FigureReport& report) {
  const auto trial = [&](std::uint64_t messages) {
    run.messages = messages;
    return mean_seconds(run_multicast_latencies_ns(run)) + static_cast<double>(messages * matrix.rest_ms) * 1e-3;
  };
  run.messages = matrix.messages > 0 ? matrix.messages : messages_for(matrix.seconds, trial);
  std::vector<Figure> figures;
  for (const auto& [name, fraction] : percentiles) {
    figures.push_back({"multicast latency",
                       {{"members", std::uint64_t{run.shape.members}},
                        {"bytes", run.message_bytes},
                        {"rest_ms", std::uint64_t{matrix.rest_ms}},
                        {"messages", run.messages},
                        {"percentile", std::string(name)}},
                       "ns"});
  }
  for (std::uint32_t repeat = 0; repeat < matrix.repeats; ++repeat) {
    auto group = run_multicast_latencies_ns(run);
    auto limit = limit_latencies_ns(run, matrix.beside_tcp);
    for (std::size_t i = 0; i < percentiles.size(); ++i) {
      figures[i].values.push_back(percentile(group, percentiles[i].second));
      if (!limit.empty()) figures[i].limits.push_back(percentile(limit, percentiles[i].second));
    }
  }
  for (const Figure& figure : figures) report.add(figure);
}

}  // namespace

std::uint64_t messages_for(double seconds, const Trial& run) {
  for (std::uint64_t messages = 500;;) {
    auto trial = run(messages);
    // An interruption by the machine would make all that is measured with this number short.
    if (trial * 8 >= seconds) trial = std::min(trial, run(messages));
    const double scale = seconds / std::max(trial, 1e-6);
    const auto scaled = [messages](double factor) {
      return std::max<std::uint64_t>(static_cast<std::uint64_t>(static_cast<double>(messages) * factor), 1);
    };
    if (scale <= 8) return scaled(scale);
    messages = scaled(std::clamp(scale / 4, 2.0, 32.0));
  }
}

std::uint32_t sender_count(Senders senders, std::uint32_t members) noexcept {
  switch (senders) {
    case Senders::one: return 1;
    case Senders::half: return std::max(members / 2, 1u);
    case Senders::all: return members;
  }
  return 0;
}

void measure_throughput(const Matrix& matrix, FigureReport& report) {
  for (const Senders senders : matrix.senders) {
    for (const std::uint64_t message_bytes : matrix.message_bytes) {
      for (const bool touch : matrix.touch) {
        for (const std::uint32_t members : matrix.members)
          measure_cell(matrix, make_cell(matrix, members, senders, message_bytes, touch), report);
      }
    }
  }
}

void measure_latency(const LatencyMatrix& matrix, FigureReport& report) {
  for (const std::uint32_t members : matrix.members) {
    const GroupShape shape{members, 1, profile_for(matrix.message_bytes), matrix.settings};
    measure_latency_of(matrix, {shape, matrix.message_bytes, true, 1, std::chrono::milliseconds(matrix.rest_ms)}, report);
  }
}

}  // namespace spindrift::bench
