// Sending on schedule, for oneself and for the dead; delivering; reporting.
#include "flight/member.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "exit_code.hpp"
#include "flight/plan.hpp"
#include "flight/sample_message.hpp"
#include "flight/schedule.hpp"
#include "flight/tally.hpp"
#include "flight/view_log.hpp"
#include "session.hpp"

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
  Progress(Reporter& reporter, std::uint64_t messages) : reporter_(reporter), step_(messages / progress_reports + 1) {}

  void on_view(const NewView& news) {
    if (finished_) return;
    log_.on_view(news);
    std::string members;
    for (const NodeId node : news.view.members) members += (members.empty() ? "" : ",") + std::to_string(node.value());
    reporter_.report(report_view, members);
  }
  /// `messages`: of all batches so far.
  void on_delivery(std::size_t batch, Time now, std::uint64_t messages) {
    log_.on_delivery(batch, now);
    if (messages < reported_ + step_) return;
    reported_ = messages;
    reporter_.report(report_progress, std::to_string(reported_));
  }
  void finish(TallyResult result) {
    finished_ = true;
    result.views = log_.entries();
    reporter_.report(report_result, to_json(result));
  }
  [[nodiscard]] bool finished() const noexcept { return finished_; }

 private:
  Reporter& reporter_;
  const std::uint64_t step_;
  ViewLog log_;
  std::uint64_t reported_ = 0;
  bool finished_ = false;
};

class FlightMember {
 public:
  FlightMember(const Config& config, ulog::Recording recording, const FlightMemberOptions& options, Reporter& reporter)
      : recording_(std::move(recording)),
        self_(config.local_id()),
        view_(value_or_throw(config.view())),
        plan_(value_or_throw(plan_flight(recording_, view_))),
        due_(options.rate == Rate::real ? due_times(recording_) : std::vector<Duration>{}),
        victim_(options.victim),
        reporter_(reporter),
        start_(clock_.now()),
        share_(recording_),
        progress_(reporter, recording_.samples().size()),
        tally_(
            recording_, plan_, view_.subgroups.size(),
            [this](std::size_t topic, const Sender& sender, std::uint64_t number) { on_assigned(topic, sender, number); }),
        session_(config, group_options(), {.quiet = true}) {}

  ExitCode run() {
    running_.store(true, std::memory_order_release);
    reporter_.report(report_joined, std::to_string(self_.value()));
    take_deliveries();
    const bool sent = send_all();
    session_.finish();
    if (tally_.fault()) throw Exception(Error(ErrorKind::bad_input, *tally_.fault()));
    return sent && progress_.finished() ? ExitCode::success : ExitCode::interrupted;
  }

 private:
  GroupOptions group_options() {
    GroupOptions options;
    options.on_view = [this](const NewView& news) {
      tally_.begin_view(news.view);
      progress_.on_view(news);
    };
    return options;
  }

  void take_deliveries() {
    for (std::uint32_t i = 0; i < view_.subgroups.size(); ++i) {
      Subgroup& subgroup = session_.group().subgroup(view_.subgroups[i].name);
      subgroups_.push_back(&subgroup);
      subgroup.on_state([this, i](std::ostream& to) { tally_.save(SubgroupId(i), to); },
                        [this, i](std::istream& from) {
                          tally_.load(SubgroupId(i), from);
                          check_complete();
                        });
      subgroup.on_delivery([this, i](std::span<const Delivery> batch) { on_delivery(SubgroupId(i), batch); });
    }
  }

  void on_delivery(SubgroupId subgroup, std::span<const Delivery> batch) {
    tally_.add(subgroup, batch);
    progress_.on_delivery(batch.size(), clock_.now(), tally_.messages());
    check_complete();
  }

  void on_assigned(std::size_t topic, const Sender& sender, std::uint64_t number) {
    if (sender.node != self_) return;
    share_.take_over(topic, number);
    wake_main();
  }

  void check_complete() {
    if (tally_.complete() && !tally_.fault() && !progress_.finished()) {
      TallyResult result = tally_.result();
      result.seconds = std::chrono::duration<double>(clock_.now() - start_).count();
      progress_.finish(std::move(result));
    }
    if (tally_.fault()) {
      faulty_.store(true, std::memory_order_release);
      wake_main();
    }
  }

  /// The main thread looks at what is there before it waits for the first time.
  void wake_main() noexcept {
    if (running_.load(std::memory_order_acquire)) session_.request_stop();
  }

  /// Sends what falls to this member until a signal, or the end of its membership. False if a send was cut off by a signal.
  bool send_all() {
    for (;;) {
      while (const auto next = share_.next()) {
        if (faulty_.load(std::memory_order_acquire)) return true;
        if (victim_ && share_.sent_count() + 1 == share_.size()) break;
        if (!due_.empty() && !wait_until(start_ + due_[next->sample])) return false;
        if (share_.any_taken()) continue;
        if (!send(*next)) return false;
        share_.sent(*next);
        if (victim_ && share_.sent_count() == share_.size() / 2) reporter_.report(report_half, "");
      }
      if (faulty_.load(std::memory_order_acquire)) return true;
      if (share_.any_taken()) continue;
      if (session_.wait_for() != Session::Event::requested) return true;
    }
  }

  bool send(const Share::Next& next) {
    const ulog::Sample& sample = recording_.samples()[next.sample];
    try {
      subgroups_[plan_[sample.topic].subgroup.value()]->send(
          message_bytes(sample), [&](std::span<std::byte> to) { encode_sample(sample, next.number, to); });
      return true;
    } catch (const Exception& failure) {
      if (failure.error().kind() == ErrorKind::group_closed && session_.signaled()) return false;
      throw;
    }
  }

  /// False if a signal came first, or the end of the membership.
  bool wait_until(Time due) {
    while (clock_.now() < due && !share_.any_taken()) {
      const Session::Event event = session_.wait_for(-1, due);
      if (event == Session::Event::signal || event == Session::Event::ended) return false;
    }
    return true;
  }

  ulog::Recording recording_;
  NodeId self_;
  View view_;  // of all members: names and numbers of the subgroups
  FlightPlan plan_;
  std::vector<Duration> due_;  // by sample; empty: as fast as possible
  bool victim_;
  Reporter& reporter_;
  SystemClock clock_;
  Time start_;
  Share share_;
  std::vector<Subgroup*> subgroups_;
  // The poller's until the session has ended:
  Progress progress_;
  FlightTally tally_;
  std::atomic<bool> faulty_{false};
  std::atomic<bool> running_{false};  // the session is there for handlers
  Session session_;
};

}  // namespace

int run_flight_member(const FlightMemberOptions& options) {
  Reporter reporter(options.report);
  try {
    FlightMember member(load_config(options), value_or_throw(ulog::Recording::read(options.recording)), options, reporter);
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
