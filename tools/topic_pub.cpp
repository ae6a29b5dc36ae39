// `spindrift topic pub`: samples from the command line, or from lines of standard input.
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "exit_code.hpp"
#include "sample_json.hpp"
#include "topic_session.hpp"

namespace spindrift::tools {
namespace {

/// A line beyond this is no sample.
constexpr std::size_t line_bytes_max = std::size_t{1} << 28;

topics::DynamicSample sample_of(const topics::AnnouncedTopic& topic, const topics::SampleJson& json,
                                const std::string& place) {
  auto sample = topics::DynamicSample::from_json(topic.type, json);
  if (sample) return std::move(sample).value();
  const Error& why = sample.error();
  throw Exception(Error(why.kind(), why.message()).at(place + ": " + why.place()).fix(why.fix()));
}

/// Lines of standard input.
class LineSource {
 public:
  enum class Outcome : std::uint8_t { line, end, stopped };

  explicit LineSource(const TopicSession& session) : session_(session) {}
  /// Waits for the next line, or a signal.
  Outcome next(std::string& line) {
    for (;;) {
      const std::size_t end = pending_.find('\n', searched_);
      if (end != std::string::npos || (ended_ && !pending_.empty())) {
        line = pending_.substr(0, end);
        pending_.erase(0, end == std::string::npos ? end : end + 1);
        searched_ = 0;
        return Outcome::line;
      }
      searched_ = pending_.size();
      if (ended_) return Outcome::end;
      if (!read_more()) return Outcome::stopped;
    }
  }

 private:
  bool read_more() {
    std::array<pollfd, 2> sources{{readable(STDIN_FILENO), readable(session_.signal_descriptor())}};
    constexpr int look_after_ms = 1000;  // whether this participant is one still
    while (::poll(sources.data(), sources.size(), look_after_ms) <= 0) session_.require_going_on();
    if (sources[1].revents != 0) return false;
    std::array<char, 65536> buffer;
    const auto count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count < 0 && errno != EINTR && errno != EAGAIN) {
      throw Exception(system_error("read", errno).at("standard input").fix("lead a file or a pipe there, or give samples"));
    }
    if (count == 0) ended_ = true;
    if (count > 0) pending_.append(buffer.data(), static_cast<std::size_t>(count));
    if (pending_.size() > line_bytes_max && pending_.find('\n', searched_) == std::string::npos) {
      throw Exception(Error(ErrorKind::bad_input, "a line has more than 2^28 bytes")
                          .at("standard input")
                          .fix("write each sample as one line"));
    }
    return true;
  }

  const TopicSession& session_;
  std::string pending_;
  std::size_t searched_ = 0;  // no line ends before that
  bool ended_ = false;
};

class Publisher {
 public:
  Publisher(TopicSession& session, const topics::AnnouncedTopic& topic)
      : session_(session), topic_(topic), writer_(session.participant().write(topic)) {}

  /// False: a signal came while participants took nothing.
  bool write(const topics::DynamicSample& sample) {
    const auto until = session_.patience();
    while (!writer_.write(sample)) {
      session_.require_going_on();
      if (session_.stopped()) return false;
      if (TopicSession::Clock::now() < until) continue;
      throw Exception(Error(ErrorKind::timed_out, "participants take no more samples now")
                          .at("topic " + topic_.name)
                          .fix("let their readers take, or give a longer --timeout"));
    }
    ++written_;
    return true;
  }
  bool write_arguments(const TopicOptions& options) {
    std::vector<topics::DynamicSample> samples;  // none is written before all are good
    for (std::size_t at = 0; at < options.samples.size(); ++at) {
      const std::string place = fmt::format("sample {}", at + 1);
      samples.push_back(sample_of(topic_, parse_sample_json(options.samples[at], place), place));
    }
    for (const topics::DynamicSample& each : samples) {
      if (!write(each)) return false;
    }
    return true;
  }
  bool write_lines() {
    LineSource lines(session_);
    std::string line;
    for (std::uint64_t at = 1;; ++at) {
      const LineSource::Outcome outcome = lines.next(line);
      if (outcome != LineSource::Outcome::line) return outcome == LineSource::Outcome::end;
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      const std::string place = fmt::format("standard input:{}", at);
      if (!write(sample_of(topic_, parse_sample_json(line, place), place))) return false;
    }
  }
  /// Waits until all participants have all of it, and says how much that was.
  void finish() {
    bool delivered = writer_.is_delivered();
    while (!delivered && !session_.stopped()) {
      session_.require_going_on();
      delivered = writer_.is_delivered();
    }
    tell(delivered);
  }
  void tell(bool delivered) const {
    const std::size_t readers = writer_.readers();
    fmt::print(stderr, "wrote {} sample{}{}; {} reader{} of the domain match{}\n", written_, written_ == 1 ? "" : "s",
               delivered && topic_.qos.reliability == 1 && written_ > 0 ? ", which every participant has" : "", readers,
               readers == 1 ? "" : "s", readers == 1 ? "es" : "");
  }

 private:
  TopicSession& session_;
  const topics::AnnouncedTopic& topic_;
  topics::DynamicWriter writer_;
  std::uint64_t written_ = 0;
};

}  // namespace

int publish_to_topic(const TopicOptions& options) {
  for (std::size_t at = 0; at < options.samples.size(); ++at)
    static_cast<void>(parse_sample_json(options.samples[at], fmt::format("sample {}", at + 1)));
  TopicSession session(options);
  const auto topic = session.find();
  if (!topic) return number(ExitCode::interrupted);
  Publisher publisher(session, *topic);
  bool all = false;
  try {
    all = options.samples.empty() ? publisher.write_lines() : publisher.write_arguments(options);
  } catch (const Exception& thrown) {
    if (thrown.error().kind() == ErrorKind::bad_input) publisher.finish();
    throw;
  }
  publisher.finish();
  return number(all && !session.stopped() ? ExitCode::success : ExitCode::interrupted);
}

}  // namespace spindrift::tools
