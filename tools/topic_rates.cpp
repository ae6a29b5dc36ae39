// `spindrift topic hz`, `bw` and `delay`: a line per second on what comes of a topic.
#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "exit_code.hpp"
#include "json_output.hpp"
#include "output.hpp"
#include "topic_session.hpp"

namespace spindrift::tools {
namespace {

using Json = nlohmann::json;
using Clock = TopicSession::Clock;

constexpr int rates_json_version = 1;

/// Least, mean and most of some values.
class Spread {
 public:
  void add(double value) {
    least_ = count_ == 0 ? value : std::min(least_, value);
    most_ = count_ == 0 ? value : std::max(most_, value);
    sum_ += value;
    ++count_;
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] double sum() const { return sum_; }
  [[nodiscard]] std::string text(const char* unit) const {
    if (count_ == 0) return "-";
    return fmt::format("{:.3f} to {:.3f} {}, mean {:.3f} {}", least_, most_, unit, sum_ / static_cast<double>(count_), unit);
  }
  [[nodiscard]] Json json() const {
    if (count_ == 0) return nullptr;
    return {{"min", least_}, {"mean", sum_ / static_cast<double>(count_)}, {"max", most_}};
  }

 private:
  std::uint64_t count_ = 0;
  double least_ = 0, most_ = 0, sum_ = 0;
};

double milliseconds(std::chrono::nanoseconds time) { return std::chrono::duration<double, std::milli>(time).count(); }

/// One line's figures.
struct Figures {
  double seconds = 0;
  std::uint64_t lost = 0;
  Spread between_ms;  ///< from one sample's coming to the next one's
  Spread bytes;
  Spread delay_ms;  ///< from the writer's clock to this one
  bool more_lost = false;  ///< nothing came, so how many were lost is not known
  std::optional<Clock::time_point> last;

  void add(const topics::DynamicRead& read) {
    if (read.sample == nullptr) return;
    const auto now = Clock::now();
    if (last) between_ms.add(milliseconds(now - *last));
    last = now;
    bytes.add(static_cast<double>(read.sample->bytes().size()));
    const auto wall = std::chrono::system_clock::now().time_since_epoch();
    delay_ms.add(milliseconds(wall - std::chrono::nanoseconds(read.about.source_timestamp)));
  }
};

std::string json_line(const Figures& figures) {
  return one_line_of(versioned(rates_json_version, {{"seconds", figures.seconds},
                                                    {"samples", figures.bytes.count()},
                                                    {"lost", figures.lost},
                                                    {"more_lost", figures.more_lost},
                                                    {"hz", static_cast<double>(figures.bytes.count()) / figures.seconds},
                                                    {"between_ms", figures.between_ms.json()},
                                                    {"bytes_per_s", figures.bytes.sum() / figures.seconds},
                                                    {"bytes", figures.bytes.json()},
                                                    {"delay_ms", figures.delay_ms.json()}}));
}

std::string hz_line(const Figures& figures) {
  return fmt::format("{:.1f} samples/s, {} apart", static_cast<double>(figures.bytes.count()) / figures.seconds,
                     figures.between_ms.text("ms"));
}
std::string bw_line(const Figures& figures) {
  return fmt::format("{:.0f} bytes/s, {} each", figures.bytes.sum() / figures.seconds, figures.bytes.text("bytes"));
}
std::string delay_line(const Figures& figures) {
  return fmt::format("{} from the writer's clock to this one", figures.delay_ms.text("ms"));
}

using LineOf = std::string (*)(const Figures& figures);

void print(const TopicOptions& options, const Figures& figures, LineOf line) {
  std::string lost = figures.lost == 0 ? "" : "; " + missing_text(figures.lost);
  if (figures.more_lost) lost += std::string("; ") + more_missing_text;
  value_or_throw(print_line(options.json ? json_line(figures) : line(figures) + lost));
}

/// Takes what comes until then. False: a signal came.
bool gather(TopicSession& session, topics::DynamicReader& reader, Clock::time_point until, Figures& figures) {
  for (;;) {
    const std::uint64_t seen = topics::DynamicParticipant::changes();
    for (const topics::DynamicRead& each : reader.take()) figures.add(each);
    session.require_going_on();
    if (session.stopped()) return false;
    if (Clock::now() >= until) return true;
    topics::DynamicParticipant::await_change(seen, until);
  }
}

int measure(const TopicOptions& options, LineOf line) {
  TopicSession session(options, TopicUse::reads);
  const auto topic = session.find();
  if (!topic) return number(ExitCode::interrupted);
  topics::DynamicReader reader = session.read(*topic);
  std::uint64_t lost = 0;
  std::optional<Clock::time_point> last;
  auto patience = session.patience();
  for (std::uint64_t lines = 0; !options.count || lines < *options.count; ++lines) {
    Figures figures;
    figures.last = last;
    const auto begin = Clock::now();
    const bool whole = gather(session, reader, begin + std::chrono::seconds(1), figures);
    if (!whole) return number(options.count ? ExitCode::interrupted : ExitCode::success);
    figures.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    figures.lost = reader.lost() - lost;
    lost += figures.lost;
    figures.more_lost = figures.bytes.count() == 0 && reader.more_may_be_lost();
    last = figures.last;
    print(options, figures, line);
    if (figures.bytes.count() > 0) patience = session.patience();
    if (Clock::now() < patience) continue;
    throw Exception(no_sample(options, reader));
  }
  return number(ExitCode::success);
}

}  // namespace

int measure_rate(const TopicOptions& options) { return measure(options, hz_line); }
int measure_bandwidth(const TopicOptions& options) { return measure(options, bw_line); }
int measure_delay(const TopicOptions& options) { return measure(options, delay_line); }

}  // namespace spindrift::tools
