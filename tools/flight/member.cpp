// Sending on schedule, for oneself and for the dead; delivering; reporting.
#include "flight/member.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include <spindrift/core/ids_text.hpp>

#include "exit_code.hpp"
#include "flight/plan.hpp"
#include "flight/schedule.hpp"
#include "flight/tally.hpp"
#include "flight/tally_relay.hpp"
#include "flight/typed_flight.hpp"
#include "flight/view_log.hpp"
#include "topic_session.hpp"

namespace spindrift::tools {
namespace {

constexpr std::uint64_t progress_reports = 200;

/// The writing end of the pipe to the demo. Any thread.
class Reporter {
 public:
  explicit Reporter(int descriptor) noexcept : descriptor_(descriptor) {}

  void report(std::string_view word, std::string_view argument) noexcept {
    try {
      std::lock_guard lock(mutex_);
      write_all(fmt::format("{} {}\n", word, argument));
    } catch (const std::exception&) {  // without memory for a line, the demo sees the exit code alone
    }
  }

 private:
  void write_all(std::string_view text) noexcept {
    while (!text.empty()) {
      const auto count = ::write(descriptor_, text.data(), text.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return;  // the demo is gone, and this process with it
      text.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  int descriptor_;
  std::mutex mutex_;
};

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

/// One member's share of what is to be sent: its topics, and for each the number of the next sample. Topics come from the
/// poller, samples go to the sending thread.
class Share {
 public:
  Share(const ulog::Recording& recording) : recording_(recording), next_(recording.topics().size()) {
    std::vector<std::uint32_t> counts(recording.topics().size());
    for (const ulog::Sample& sample : recording.samples()) numbers_.push_back(counts[sample.topic]++);
  }

  /// The poller's: this member sends the topic from that sample on.
  void take_over(std::size_t topic, std::uint64_t number) {
    std::lock_guard lock(mutex_);
    taken_.emplace_back(topic, number);
    any_taken_.store(true, std::memory_order_release);
  }

  struct Next {
    std::size_t sample = 0;
    std::uint32_t number = 0;  ///< of its topic
  };
  /// The next sample in the order of the file; nothing if all were sent.
  [[nodiscard]] std::optional<Next> next() {
    if (any_taken_.load(std::memory_order_acquire)) include_taken();
    for (; position_ < numbers_.size(); ++position_) {
      const auto& from = next_[recording_.samples()[position_].topic];
      if (from && numbers_[position_] >= *from) return Next{position_, numbers_[position_]};
    }
    return std::nullopt;
  }
  /// Those that this member has now.
  [[nodiscard]] std::vector<std::size_t> topics() {
    include_taken();
    std::vector<std::size_t> own;
    for (std::size_t topic = 0; topic < next_.size(); ++topic) {
      if (next_[topic]) own.push_back(topic);
    }
    return own;
  }
  void sent(const Next& next) {
    next_[recording_.samples()[next.sample].topic] = next.number + 1;
    ++sent_;
  }
  /// Whether a topic came since the last call of `next`.
  [[nodiscard]] bool any_taken() const noexcept { return any_taken_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t sent_count() const noexcept { return sent_; }
  /// The samples of the topics that this member has now, from where it took them over.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

 private:
  void include_taken() {
    std::lock_guard lock(mutex_);
    for (const auto& [topic, number] : taken_) {
      next_[topic] = number;
      size_ += recording_.topics()[topic].samples - number;
    }
    taken_.clear();
    any_taken_.store(false, std::memory_order_release);
    position_ = 0;  // what they have behind is due now
  }

  const ulog::Recording& recording_;
  std::vector<std::uint32_t> numbers_;              // by sample: its number in its topic
  std::vector<std::optional<std::uint64_t>> next_;  // by topic; nothing: another member's
  std::size_t position_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t size_ = 0;
  std::mutex mutex_;
  std::vector<std::pair<std::size_t, std::uint64_t>> taken_;  // behind the mutex
  std::atomic<bool> any_taken_{false};
};

/// Tells the demo what the member sees and how far it is, until it has told the result.
class Progress {
 public:
  Progress(Reporter& reporter, std::uint64_t messages, Time begun)
      : reporter_(reporter), step_(messages / progress_reports + 1), begun_(begun) {}

  void on_view(const NewView& news) {
    if (finished_) return;
    log_.on_view(news);
    reporter_.report(report_view, as_argument(news.view.members));
  }
  /// `messages`: so many with this one.
  void on_delivery(Time now, std::uint64_t messages) {
    log_.on_delivery(1, now);
    if (messages < reported_ + step_) return;
    reported_ = messages;
    reporter_.report(report_progress, std::to_string(reported_));
  }
  void finish(TallyResult result, Time now) {
    finished_ = true;
    result.seconds = std::chrono::duration<double>(now - begun_).count();
    result.views = log_.entries();
    reporter_.report(report_result, to_json(result));
  }
  [[nodiscard]] bool finished() const noexcept { return finished_; }
  [[nodiscard]] Time begun() const noexcept { return begun_; }

 private:
  Reporter& reporter_;
  const std::uint64_t step_;
  const Time begun_;
  ViewLog log_;
  std::uint64_t reported_ = 0;
  bool finished_ = false;
};

/// The writers of a member: of the topics that it has from the beginning, and of others when there is a sample to send.
class FlightWriters {
 public:
  FlightWriters(TopicSession& session, const TypedFlight& flight, std::size_t topics)
      : session_(session), flight_(flight), tracks_(topics) {}

  /// Announces the topic, so that programs find it before its first sample.
  void add(std::size_t topic) {
    if (tracks_[topic]) return;
    const topics::AnnouncedTopic announced = flight_.announced(topic);
    tracks_[topic].emplace(Track{announced.type, session_.participant().write(announced)});
  }
  /// False: a signal came while others took nothing. Throws group_closed.
  bool write(std::size_t topic, std::size_t number) {
    add(topic);
    Track& track = *tracks_[topic];
    flight_.write(topic, number, bytes_);
    return write(track.writer, value_or_throw(topics::DynamicSample::from_bytes(track.type, bytes_)));
  }
  void write_tally(const topics::DynamicSample& sample) {
    if (!tally_) tally_.emplace(session_.participant().write(announced_tally()));
    static_cast<void>(write(*tally_, sample));
  }

 private:
  struct Track {
    std::shared_ptr<const topics::DynamicType> type;
    topics::DynamicWriter writer;
  };
  bool write(topics::DynamicWriter& writer, const topics::DynamicSample& sample) const {
    while (!writer.write(sample)) {
      if (session_.stopped()) return false;
    }
    return true;
  }

  TopicSession& session_;
  const TypedFlight& flight_;
  std::optional<topics::DynamicWriter> tally_;
  std::vector<std::optional<Track>> tracks_;  // by topic
  std::vector<std::byte> bytes_;
};

TopicOptions participant_options(const FlightMemberOptions& options) {
  TopicOptions participant;
  static_cast<CommandOptions&>(participant) = options;
  return participant;
}

/// The flight, as every member has it.
struct OwnFlight {
  OwnFlight(const Config& config, ulog::Recording read, double speed)
      : recording(std::move(read)),
        typed(value_or_throw(TypedFlight::of(recording))),
        view(value_or_throw(flight_view(config))),
        plan(value_or_throw(plan_flight(recording, typed, view))),
        due(speed > 0 ? due_times(recording, speed) : std::vector<Duration>{}) {}
  OwnFlight(const OwnFlight&) = delete;
  OwnFlight& operator=(const OwnFlight&) = delete;
  [[nodiscard]] FlightParts parts() const { return {recording, typed, plan, view}; }

  const ulog::Recording recording;
  const TypedFlight typed;
  const View view;  ///< of the flight's nodes: names and numbers of the subgroups
  const FlightPlan plan;
  const std::vector<Duration> due;  ///< by sample; empty: as fast as possible
};

class FlightMember {
 public:
  FlightMember(const Config& config, ulog::Recording recording, const FlightMemberOptions& options, Reporter& reporter)
      : flight_(config, std::move(recording), options.speed),
        self_(config.local_id()),
        victim_(options.victim),
        reporter_(reporter),
        share_(flight_.recording),
        progress_(reporter, flight_.recording.samples().size(), clock_.now()),
        tally_(flight_.parts(),
               [this](std::size_t topic, const Sender& sender, std::uint64_t next) { on_assigned(topic, sender, next); }),
        relay_(tally_, flight_.parts(), self_),
        options_(participant_options(options)),
        session_(options_, watch()),
        writers_(session_, flight_.typed, flight_.recording.topics().size()) {}

  ExitCode run() {
    reporter_.report(report_joined, std::to_string(self_.value()));
    {
      const std::lock_guard lock(mutex_);
      joined_ = true;
      check_complete();
    }
    for (const std::size_t topic : share_.topics()) writers_.add(topic);
    const bool sent = send_all();
    const std::lock_guard lock(mutex_);
    if (tally_.fault()) throw Exception(Error(ErrorKind::bad_input, *tally_.fault()));
    return sent && progress_.finished() ? ExitCode::success : ExitCode::interrupted;
  }

 private:
  topics::DomainWatch watch() {
    return {.on_view = [this](const NewView& news) { on_view(news); },
            .on_message = [this](const Subgroup& subgroup, const Delivery& delivery,
                                 const topics::SampleMessage& message) { on_message(subgroup, delivery, message); }};
  }

  void on_view(const NewView& news) {
    const std::lock_guard lock(mutex_);
    told_ = relay_.begin_view(news);
    progress_.on_view(news);
    if (told_) topics::DynamicParticipant::wake();
  }

  /// Tells those that have come what they missed, if it is this member who does. Throws group_closed.
  void tell_newcomers() {
    std::optional<TallyMessage> message;
    {
      const std::lock_guard lock(mutex_);
      message = std::exchange(told_, std::nullopt);
    }
    if (message) writers_.write_tally(sample_of(*message));
  }

  [[nodiscard]] SubgroupId id_of(const Subgroup& subgroup) const {
    std::uint32_t id = 0;
    while (flight_.view.subgroups.at(id).name != subgroup.name()) ++id;
    return SubgroupId(id);
  }

  /// Samples that the flight's nodes wrote are those of the flight; other programs may write what they like.
  void on_message(const Subgroup& subgroup, const Delivery& delivery, const topics::SampleMessage& message) {
    const bool data = message.header.kind == static_cast<std::uint8_t>(topics::SampleKind::data);
    if (!data || !flight_.view.rank_of(delivery.sender)) return;
    const std::lock_guard lock(mutex_);
    if (message.header.topic == topics::digest_of_topic(tally_topic)) return on_tally(message.bytes);
    relay_.add(id_of(subgroup), delivery, flight_.typed.topic_of(message.header.topic), message.bytes);
    progress_.on_delivery(clock_.now(), tally_.messages());
    check_complete();
  }

  void on_tally(std::span<const std::byte> bytes) {
    if (const auto message = tally_from(bytes)) relay_.on_tally(*message);
    check_complete();
  }

  void on_assigned(std::size_t topic, const Sender& sender, std::uint64_t number) {
    if (sender.node != self_) return;
    share_.take_over(topic, number);
    topics::DynamicParticipant::wake();
  }

  void check_complete() {
    if (joined_ && tally_.complete() && !tally_.fault() && !progress_.finished()) {
      progress_.finish(tally_.result(), clock_.now());
    }
    if (tally_.fault()) {
      faulty_.store(true, std::memory_order_release);
      topics::DynamicParticipant::wake();
    }
  }

  /// Sends what falls to this member until a signal. False if a send was cut off by it. Throws what ended its membership.
  bool send_all() {
    for (;;) {
      const std::uint64_t seen = topics::DynamicParticipant::changes();
      tell_newcomers();
      while (const auto next = share_.next()) {
        tell_newcomers();
        if (faulty_.load(std::memory_order_acquire)) return true;
        if (victim_ && share_.sent_count() + 1 == share_.size()) break;
        if (!flight_.due.empty() && !wait_until(progress_.begun() + flight_.due[next->sample])) return false;
        if (share_.any_taken()) continue;
        if (!writers_.write(flight_.recording.samples()[next->sample].topic, next->number)) return false;
        share_.sent(*next);
        if (victim_ && share_.sent_count() == share_.size() / 2) reporter_.report(report_half, "");
      }
      if (faulty_.load(std::memory_order_acquire)) return true;
      if (share_.any_taken()) continue;
      require_going_on();
      if (session_.stopped()) return true;
      topics::DynamicParticipant::await_change(seen, std::chrono::steady_clock::time_point::max());
    }
  }

  /// False if a signal came first.
  bool wait_until(Time due) {
    for (;;) {
      const std::uint64_t seen = topics::DynamicParticipant::changes();
      tell_newcomers();
      require_going_on();
      if (session_.stopped()) return false;
      if (clock_.now() >= due || share_.any_taken()) return true;
      topics::DynamicParticipant::await_change(seen, std::chrono::steady_clock::time_point(due.time_since_epoch()));
    }
  }

  void require_going_on() const {
    if (const auto failure = session_.failure()) throw Exception(*failure);
  }

  const OwnFlight flight_;
  NodeId self_;
  bool victim_;
  Reporter& reporter_;
  SystemClock clock_;
  Share share_;
  std::mutex mutex_;  // the poller's and the sending thread's:
  Progress progress_;
  FlightTally tally_;
  TallyRelay relay_;
  std::optional<TallyMessage> told_;  // what this member is to tell those that have come
  bool joined_ = false;  // whoever has told a result is asked to leave, which it must be able to do
  std::atomic<bool> faulty_{false};
  const TopicOptions options_;
  TopicSession session_;
  FlightWriters writers_;
};

}  // namespace

int run_flight_member(const FlightMemberOptions& options) {
  Reporter reporter(options.report);
  try {
    ulog::Recording recording = value_or_throw(ulog::Recording::read(options.recording));
    repeat(recording, options.rounds);
    FlightMember member(load_config(options), std::move(recording), options, reporter);
    return number(member.run());
  } catch (const Exception& failure) {
    reporter.report(report_failed, one_line(failure.what()));
    return number(exit_code_of(failure.error().kind()));
  } catch (const std::exception& failure) {
    reporter.report(report_failed, one_line(failure.what()));
    return number(ExitCode::failure);
  }
}

}  // namespace spindrift::tools
