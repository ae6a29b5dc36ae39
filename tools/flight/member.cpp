// Sending on schedule, delivering, reporting.
#include "flight/member.hpp"

#include <unistd.h>

#include <cerrno>
#include <string_view>

#include <fmt/format.h>

#include "exit_code.hpp"
#include "flight/plan.hpp"
#include "flight/sample_message.hpp"
#include "flight/schedule.hpp"
#include "flight/tally.hpp"
#include "session.hpp"

namespace spindrift::tools {
namespace {

constexpr std::uint64_t progress_reports = 200;

/// The writing end of the pipe to the demo. Lines of different threads do not mix: while the group runs only the poller
/// writes, before and after it only the main thread.
class Reporter {
 public:
  explicit Reporter(int descriptor) noexcept : descriptor_(descriptor) {}

  void report(std::string_view word, std::string_view argument) noexcept {
    try {
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
};

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

class FlightMember {
 public:
  FlightMember(const Config& config, ulog::Recording recording, Rate rate, Reporter& reporter)
      : recording_(std::move(recording)),
        view_(value_or_throw(config.view())),
        plan_(value_or_throw(plan_flight(recording_, view_))),
        due_(rate == Rate::real ? due_times(recording_) : std::vector<Duration>{}),
        reporter_(reporter),
        tally_(recording_, plan_, view_.subgroups.size()),
        session_(config) {}

  ExitCode run() {
    reporter_.report(report_joined, std::to_string(session_.group().self().value()));
    start_ = clock_.now();
    take_deliveries();
    const bool sent = send_share();
    const Session::Event event = sent ? session_.wait_for() : Session::Event::signal;
    const Duration took = clock_.now() - start_;
    session_.finish();
    if (event == Session::Event::signal) return ExitCode::interrupted;
    if (tally_.fault()) throw Exception(Error(ErrorKind::bad_input, *tally_.fault()));
    TallyResult result = tally_.result();
    result.seconds = std::chrono::duration<double>(took).count();
    reporter_.report(report_result, to_json(result));
    return ExitCode::success;
  }

 private:
  void take_deliveries() {
    for (std::uint32_t i = 0; i < view_.subgroups.size(); ++i) {
      if (!view_.subgroups[i].member_position(session_.group().self())) continue;
      session_.group().subgroup(view_.subgroups[i].name).on_delivery([this, i](std::span<const Delivery> batch) {
        on_delivery(SubgroupId(i), batch);
      });
    }
  }

  void on_delivery(SubgroupId subgroup, std::span<const Delivery> batch) {
    tally_.add(subgroup, batch);
    const std::uint64_t step = recording_.samples().size() / progress_reports + 1;
    if (tally_.messages() >= reported_ + step) {
      reported_ = tally_.messages();
      reporter_.report(report_progress, std::to_string(reported_));
    }
    if (tally_.complete() || tally_.fault()) session_.request_stop();
  }

  /// False if a signal came first.
  bool send_share() {
    const NodeId self = session_.group().self();
    std::vector<Subgroup*> subgroups(view_.subgroups.size());
    for (const TopicPlan& plan : plan_) {
      if (plan.sender == self)
        subgroups[plan.subgroup.value()] = &session_.group().subgroup(view_.subgroup(plan.subgroup).name);
    }
    std::vector<std::uint32_t> numbers(plan_.size());
    for (std::size_t i = 0; i < recording_.samples().size(); ++i) {
      const ulog::Sample& sample = recording_.samples()[i];
      if (plan_[sample.topic].sender != self) continue;
      if (!due_.empty() && !wait_until(start_ + due_[i])) return false;
      const std::uint32_t number = numbers[sample.topic]++;
      subgroups[plan_[sample.topic].subgroup.value()]->send(
          message_bytes(sample), [&](std::span<std::byte> to) { encode_sample(sample, number, to); });
    }
    return true;
  }

  /// False if a signal came first. The end of the group is left to the next send to report.
  bool wait_until(Time due) {
    if (clock_.now() >= due) return true;
    return session_.wait_for(-1, due) != Session::Event::signal;
  }

  ulog::Recording recording_;
  View view_;
  FlightPlan plan_;
  std::vector<Duration> due_;  // by sample; empty: as fast as possible
  Reporter& reporter_;
  SystemClock clock_;
  Time start_;
  Tally tally_;  // the poller's until the group has ended
  std::uint64_t reported_ = 0;
  Session session_;
};

}  // namespace

int run_flight_member(const FlightMemberOptions& options) {
  Reporter reporter(options.report);
  try {
    FlightMember member(load_config(options), value_or_throw(ulog::Recording::read(options.recording)), options.rate,
                        reporter);
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
