// The parent's event loop. A member that fails is noticed by its end or its report; the others then get a moment to notice
// by themselves, so that what they say is heard, before they are killed.
#include "flight/replay.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>

#include <fmt/format.h>

#include "child_process.hpp"
#include "progress_bar.hpp"
#include "session.hpp"

namespace spindrift::tools {
namespace {

constexpr Duration grace = std::chrono::seconds(5);

struct Running {
  ChildProcess process;
  MemberOutcome outcome;
  std::string unread;  // what came through the pipe, up to the next end of line
  std::uint64_t delivered = 0;
  bool pipe_open = true;

  [[nodiscard]] bool over() const { return process.status().has_value() && !pipe_open; }
  [[nodiscard]] bool failed() const { return !outcome.failure.empty(); }
};

class Replay {
 public:
  Replay(const ReplayOptions& options, const ulog::Recording& recording, const View& view)
      : options_(options),
        recording_(recording),
        view_(view),
        bar_("replaying", recording.samples().size() * view.members.size(), options.quiet) {}

  std::vector<MemberOutcome> run() {
    start_members();
    deadline_ = clock_.now() + options_.patience;
    while (!all_over()) {
      wait_for_events();
      for (Running& member : members_) update(member);
      show_progress();
      enforce_deadline();
    }
    bar_.finish();
    std::vector<MemberOutcome> outcomes;
    for (Running& member : members_) outcomes.push_back(std::move(member.outcome));
    return outcomes;
  }

 private:
  void start_members() {
    members_.reserve(view_.members.size());
    for (const NodeId node : view_.members) {
      std::vector<std::string> arguments{"demo-member",
                                         "--config",
                                         options_.config,
                                         "--id",
                                         std::to_string(node.value()),
                                         "--recording",
                                         options_.recording,
                                         "--rate",
                                         options_.rate == Rate::real ? "real" : "max"};
      for (const std::string& setting : options_.settings) arguments.insert(arguments.end(), {"--set", setting});
      arguments.emplace_back("--report");
      members_.push_back(Running{.process = value_or_throw(ChildProcess::start(std::move(arguments))),
                                 .outcome = {.node = node, .result = {}, .failure = {}},
                                 .unread = {}});
      if (!options_.quiet) fmt::print(stderr, "member {}: process {}\n", node.value(), members_.back().process.id());
    }
  }

  [[nodiscard]] bool all_over() const {
    return std::all_of(members_.begin(), members_.end(), [](const Running& member) { return member.over(); });
  }

  void wait_for_events() {
    std::vector<pollfd> sources{{.fd = signals_.descriptor(), .events = POLLIN, .revents = 0}};
    for (const Running& member : members_) {
      sources.push_back(
          {.fd = member.process.status() ? -1 : member.process.process_descriptor(), .events = POLLIN, .revents = 0});
      sources.push_back({.fd = member.pipe_open ? member.process.pipe_descriptor() : -1, .events = POLLIN, .revents = 0});
    }
    if (interrupted_) sources[0].fd = -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(std::max(Duration::zero(), deadline_ - clock_.now()));
    const int timeout = static_cast<int>(std::min<std::chrono::milliseconds::rep>(left.count(), 1'000'000));
    if (::poll(sources.data(), sources.size(), timeout) < 0 && errno != EINTR) throw Exception(system_error("poll", errno));
    if (sources[0].revents != 0) interrupt();
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (sources[2 + 2 * i].revents != 0) read_reports(members_[i]);
    }
  }

  /// Passes the signal on; the members leave gracefully.
  void interrupt() {
    interrupted_ = true;
    deadline_ = std::min(deadline_, clock_.now() + grace);
    for (const Running& member : members_) member.process.send_signal(SIGTERM);
  }

  void read_reports(Running& member) {
    std::array<char, 16384> buffer;
    const auto count = ::read(member.process.pipe_descriptor(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) return;
    if (count <= 0) {
      member.pipe_open = false;
      return;
    }
    member.unread.append(buffer.data(), static_cast<std::size_t>(count));
    for (auto end = member.unread.find('\n'); end != std::string::npos; end = member.unread.find('\n')) {
      on_report(member, std::string_view(member.unread).substr(0, end));
      member.unread.erase(0, end + 1);
    }
  }

  void on_report(Running& member, std::string_view line) {
    const auto blank = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, blank);
    const std::string_view argument = line.substr(std::min(blank + 1, line.size()));
    if (word == report_progress) {
      std::from_chars(argument.data(), argument.data() + argument.size(), member.delivered);
    } else if (word == report_result) {
      member.outcome.result = result_from_json(argument, recording_.topics().size(), view_.subgroups.size());
      member.delivered = recording_.samples().size();
    } else if (word == report_failed) {
      member.outcome.failure = argument;
    }
  }

  /// Takes note of a process that has ended, and of the reason if it gave none.
  void update(Running& member) {
    const bool known = member.process.status().has_value();
    if (!known) static_cast<void>(member.process.reap());
    if (!member.over()) return;
    const int status = *member.process.status();
    MemberOutcome& outcome = member.outcome;
    if (status == number(ExitCode::success) && outcome.result) return;
    if (outcome.failure.empty()) {
      if (status < 0) outcome.failure = fmt::format("killed by signal {} ({})", -status, ::strsignal(-status));
      if (status >= 0) outcome.failure = fmt::format("ended with code {} and without a result", status);
      if (timed_out_) outcome.failure = "did not finish in time and was killed";
      if (interrupted_) outcome.failure = "interrupted";
    }
    outcome.result.reset();
    outcome.code = code_of(status);
    if (!failing_) {  // the first
      failing_ = true;
      deadline_ = std::min(deadline_, clock_.now() + grace);
    }
  }

  [[nodiscard]] ExitCode code_of(int status) const {
    if (interrupted_) return ExitCode::interrupted;
    if (timed_out_) return ExitCode::timed_out;
    if (status < 0) return ExitCode::member_lost;
    return status == 0 ? ExitCode::failure : static_cast<ExitCode>(status);
  }

  void show_progress() {
    std::uint64_t delivered = 0;
    for (const Running& member : members_) delivered += member.delivered;
    bar_.show(delivered, clock_.now());
  }

  void enforce_deadline() {
    if (clock_.now() < deadline_) return;
    if (!failing_ && !interrupted_) timed_out_ = true;
    for (const Running& member : members_) member.process.send_signal(SIGKILL);
    deadline_ = clock_.now() + grace;
  }

  const ReplayOptions& options_;
  const ulog::Recording& recording_;
  const View& view_;
  SystemClock clock_;
  StopSignals signals_;
  ProgressBar bar_;
  std::vector<Running> members_;
  Time deadline_;
  bool interrupted_ = false;
  bool failing_ = false;
  bool timed_out_ = false;
};

}  // namespace

std::vector<MemberOutcome> replay(const ReplayOptions& options, const ulog::Recording& recording, const View& view) {
  return Replay(options, recording, view).run();
}

}  // namespace spindrift::tools
