// Points of a field: as a chart on a terminal that is drawn anew, else as lines.
#include "topic_plot.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <spindrift/dds/portable_sample.hpp>

#include "chart.hpp"
#include "escaped.hpp"
#include "exit_code.hpp"
#include "field_path.hpp"
#include "json_output.hpp"
#include "moment.hpp"
#include "output.hpp"
#include "table.hpp"
#include "topic_recording.hpp"

namespace spindrift::tools {
namespace {

using Clock = TopicSession::Clock;

constexpr int plot_json_version = 1;
constexpr std::size_t points_max = 100'000;
constexpr std::chrono::milliseconds draw_after(200);
constexpr std::size_t chart_rows = 16;

/// Whether the user's locale says that terminals show UTF-8. (POSIX: the first of these that is set)
bool has_utf8() {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const set = std::getenv(name);
    if (set == nullptr || *set == '\0') continue;
    std::string text(set);
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text.find("utf-8") != std::string::npos || text.find("utf8") != std::string::npos;
  }
  return false;
}

/// The points, as the output wants them.
class PointPrinter {
 public:
  explicit PointPrinter(const PlotOptions& options)
      : options_(options), draws_(!options.json && ::isatty(STDOUT_FILENO) == 1), braille_(has_utf8()) {}

  void add(std::int64_t time_ns, double value) {
    ++count_;
    if (!draws_) {
      const std::string time = moment_text(time_ns);
      value_or_throw(print_line(options_.json ? one_line_of(versioned(plot_json_version, {{"time", time}, {"value", value}}))
                                              : fmt::format("{} {}", time, value)));
      return;
    }
    points_.push_back({static_cast<double>(time_ns) / 1e9, value});
    if (points_.size() <= points_max) return;
    // Every second one tells as much on a terminal.
    for (std::size_t each = 0; 2 * each < points_.size(); ++each) points_[each] = points_[2 * each];
    points_.resize((points_.size() + 1) / 2);
  }
  void draw() {
    if (!draws_) return;
    if (options_.file.empty() && !points_.empty()) {
      const double from = points_.back().time_s - options_.window_s;
      points_.erase(points_.begin(), std::find_if(points_.begin(), points_.end(),
                                                  [&](const ChartPoint& each) { return each.time_s >= from; }));
    }
    std::string page = drawn_ > 0 ? fmt::format("\x1b[{}A", drawn_) : "";
    const std::vector<std::string> lines =
        chart_of(points_, {terminal_width(STDOUT_FILENO).value_or(80) - 1, chart_rows}, braille_);
    for (const std::string& each : lines) page += each + "\x1b[K\n";
    drawn_ = lines.size();
    page.pop_back();
    value_or_throw(print_line(page));
  }
  [[nodiscard]] bool draws() const { return draws_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] bool done() const { return options_.count && count_ >= *options_.count; }

 private:
  const PlotOptions& options_;
  const bool draws_;
  const bool braille_;
  std::vector<ChartPoint> points_;
  std::uint64_t count_ = 0;
  std::size_t drawn_ = 0;  // lines of the chart that is on the terminal
};

/// So many samples have no such field, or no number in it.
Error nothing_recorded(const PlotOptions& options, std::uint64_t samples) {
  return Error(ErrorKind::bad_argument,
               fmt::format("{} has no value in any of the {} sample{} of topic {} (NaN and infinities are none)",
                           options.field, samples, samples == 1 ? "" : "s", options.topic))
      .at(options.file)
      .fix("see what samples have there: spindrift topic replay FILE, beside spindrift topic echo");
}

int plot_file(const PlotOptions& options) {
  auto reader = value_or_throw(mcap::McapReader::open(options.file));
  PointPrinter printer(options);
  std::optional<FieldPath> path;
  topics::AnnouncedTopic topic;
  std::uint64_t samples = 0;
  while (!printer.done()) {
    const auto message = value_or_throw(reader.next());
    if (!message) break;
    const mcap::McapChannel& channel = reader.channels().at(message->channel_id);
    if (channel.topic != options.topic) continue;
    if (!path) {
      topic = value_or_throw(topic_of(channel, options.file));
      path = value_or_throw(FieldPath::parse(*topic.type, options.field));
    }
    const auto sample = value_or_throw(topics::from_portable_bytes(topic.type, message->data));
    ++samples;
    if (const auto value = path->value(sample)) printer.add(static_cast<std::int64_t>(message->log_time), *value);
  }
  if (samples > 0 && printer.count() == 0) throw Exception(nothing_recorded(options, samples));
  if (!path) {
    throw Exception(Error(ErrorKind::bad_argument, "the recording has no samples of topic " + options.topic)
                        .at(options.file)
                        .fix("see what it has: spindrift topic replay FILE --info"));
  }
  printer.draw();
  if (!reader.cut()) return number(ExitCode::success);
  fmt::print(stderr, "spindrift: {}\n", harmless(reader.cut()->to_string()));
  return number(ExitCode::failure);
}

/// `without`: samples that came and have no such field.
Error no_value(const PlotOptions& options, std::uint64_t without) {
  return Error(ErrorKind::timed_out, fmt::format("{} has no value in any of the {} sample{} that came for {} ms",
                                                 options.field, without, without == 1 ? "" : "s", *options.timeout_ms))
      .at(place_of(options))
      .fix("see what samples have there: spindrift topic echo, or give a longer --timeout");
}

int plot_live(const PlotOptions& options) {
  TopicSession session(options, TopicUse::reads);
  const auto topic = session.find();
  if (!topic) return number(ExitCode::interrupted);
  if (topic->type == nullptr) throw Exception(*topic->fault);
  const FieldPath path = value_or_throw(FieldPath::parse(*topic->type, options.field));
  topics::DynamicReader reader = session.read(*topic);
  PointPrinter printer(options);
  auto until = session.patience();
  auto draw_at = Clock::now();
  std::uint64_t without = 0;  // samples that have no such field now, as an optional or an element of a sequence
  for (;;) {
    const std::uint64_t seen = topics::DynamicParticipant::changes();
    for (const topics::DynamicRead& each : reader.take()) {
      if (each.sample == nullptr || printer.done()) continue;
      const auto value = path.value(*each.sample);
      if (!value) {
        ++without;
        continue;
      }
      until = session.patience();
      printer.add(each.about.source_timestamp, *value);
    }
    const bool over = printer.done() || session.stopped();
    if (over || Clock::now() >= draw_at) {
      printer.draw();
      draw_at = Clock::now() + draw_after;
    }
    if (printer.done()) return number(ExitCode::success);
    session.require_going_on();
    if (over) return number(options.count ? ExitCode::interrupted : ExitCode::success);
    if (Clock::now() >= until) throw Exception(without == 0 ? no_sample(options, reader) : no_value(options, without));
    topics::DynamicParticipant::await_change(seen, printer.draws() ? std::min(until, draw_at) : until);
  }
}

}  // namespace

int plot_field(const PlotOptions& options) { return options.file.empty() ? plot_live(options) : plot_file(options); }

}  // namespace spindrift::tools
