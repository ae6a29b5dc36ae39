// The parent's event loop. A member that fails is noticed by its end or its report; the others go on. A member that has
// reported its result waits to be dismissed, so that members that come later find a group.
#include "flight/replay.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "child_process.hpp"
#include "progress_bar.hpp"
#include "session.hpp"

namespace spindrift::tools {
namespace {

constexpr Duration grace = std::chrono::seconds(5);

struct Running {
  std::unique_ptr<ChildProcess> process;
  MemberOutcome outcome;
  std::string unread;  // what came through the pipe, up to the next end of line
  std::uint64_t delivered = 0;
  bool pipe_open = true;
  bool joined = false;

  [[nodiscard]] bool over() const { return process->status().has_value() && !pipe_open; }
};

/// The fate of the member that is to be killed.
enum class Fate { none, doomed, killed, restarted };

class Replay {
 public:
  Replay(ReplayOptions options, const ulog::Recording& recording, const View& view)
      : options_(std::move(options)),
        recording_(recording),
        view_(view),
        bar_("replaying", recording.samples().size() * view.members.size(), options_.quiet),
        fate_(options_.victim ? Fate::doomed : Fate::none) {}

  std::vector<MemberOutcome> run() {
    start_page();
    members_.resize(view_.members.size());
    for (std::size_t i = 0; i < members_.size(); ++i) {
      members_[i].outcome.node = view_.members[i];
      start(members_[i]);
    }
    deadline_ = clock_.now() + options_.patience;
    while (!all_over()) {
      wait_for_events();
      for (Running& member : members_) update(member);
      restart_victim();
      dismiss();
      show_progress();
      enforce_deadline();
    }
    bar_.finish();
    end_page();
    std::vector<MemberOutcome> outcomes;
    for (Running& member : members_) outcomes.push_back(std::move(member.outcome));
    return outcomes;
  }

 private:
  void start(Running& member) {
    const NodeId node = member.outcome.node;
    std::vector<std::string> arguments{"demo-member", "--config", options_.config, "--id", std::to_string(node.value())};
    arguments.insert(arguments.end(),
                     {"--recording", options_.recording, "--speed", fmt::format("{}", options_.speed), "--rounds",
                      std::to_string(options_.rounds)});
    for (const std::string& setting : options_.settings) arguments.insert(arguments.end(), {"--set", setting});
    if (fate_ == Fate::doomed && node == options_.victim) arguments.emplace_back("--victim");
    arguments.emplace_back("--report");
    member.process = std::make_unique<ChildProcess>(value_or_throw(ChildProcess::start(std::move(arguments))));
    member.pipe_open = true;
    say(fmt::format("member {}: process {}", node.value(), member.process->id()));
  }

  // Before the others: nobody but the page is to have the socket, so that nobody waits at it when the page is gone.
  void start_page() {
    if (!options_.page) return;
    std::vector<std::string> arguments{
        "demo-page", "--config", options_.config, "--id", std::to_string(options_.page->value())};
    for (const std::string& setting : options_.settings) arguments.insert(arguments.end(), {"--set", setting});
    arguments.insert(arguments.end(), {"--socket", std::to_string(options_.page_socket.get()), "--report"});
    ::fcntl(options_.page_socket.get(), F_SETFD, 0);
    page_.emplace(value_or_throw(ChildProcess::start(std::move(arguments))));
    options_.page_socket.reset();
  }

  /// Passes on why it could not go on; the flight does without it.
  void read_page() {
    std::array<char, 4096> buffer;
    const auto count = ::read(page_->pipe_descriptor(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) return;
    page_open_ = count > 0;
    if (interrupted_) return;
    say(page_open_ ? "the page: " + std::string(buffer.data(), static_cast<std::size_t>(count))
                   : "the page has ended, nobody answers at its address anymore; the flight goes on without it");
  }

  void end_page() {
    if (!page_) return;
    page_->send_signal(SIGTERM);
    pollfd end = readable(page_->process_descriptor());
    const auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(grace).count();
    while (::poll(&end, 1, static_cast<int>(patience)) < 0 && errno == EINTR) {
    }
    static_cast<void>(page_->reap());
  }

  void say(const std::string& line) const {
    if (!options_.quiet) fmt::print(stderr, "{}\n", line);
  }

  [[nodiscard]] bool is_victim(const Running& member) const { return member.outcome.node == options_.victim; }

  void kill_victim(Running& member) {
    say(fmt::format("member {}: killed after half of its samples", member.outcome.node.value()));
    member.process->send_signal(SIGKILL);
    fate_ = Fate::killed;
  }

  /// Once the others have gone on without it; before, it would be refused.
  void restart_victim() {
    if (fate_ != Fate::killed || !removal_seen_ || interrupted_ || timed_out_) return;
    const auto victim = std::find_if(members_.begin(), members_.end(), [&](const Running& each) { return is_victim(each); });
    if (!victim->over()) return;
    fate_ = Fate::restarted;
    victim->outcome.restarted = true;
    victim->unread.clear();
    victim->delivered = 0;
    start(*victim);
  }

  /// When nobody can report any more who has not: the members with a result leave.
  void dismiss() {
    const auto done = [](const Running& member) { return member.outcome.result.has_value() || member.over(); };
    if (dismissed_ || fate_ == Fate::killed || !std::all_of(members_.begin(), members_.end(), done)) return;
    dismissed_ = true;
    for (const Running& member : members_) member.process->send_signal(SIGTERM);
  }

  [[nodiscard]] bool all_over() const {
    return std::all_of(members_.begin(), members_.end(), [](const Running& member) { return member.over(); });
  }

  void wait_for_events() {
    std::vector<pollfd> sources{readable(signals_.descriptor())};
    for (const Running& member : members_) {
      sources.push_back(readable(member.process->status() ? -1 : member.process->process_descriptor()));
      sources.push_back(readable(member.pipe_open ? member.process->pipe_descriptor() : -1));
    }
    sources.push_back(readable(page_ && page_open_ ? page_->pipe_descriptor() : -1));
    if (interrupted_) sources[0].fd = -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(std::max(Duration::zero(), deadline_ - clock_.now()));
    const int timeout = static_cast<int>(std::min<std::chrono::milliseconds::rep>(left.count(), 1'000'000));
    if (::poll(sources.data(), sources.size(), timeout) < 0 && errno != EINTR) throw Exception(system_error("poll", errno));
    if (sources[0].revents != 0) interrupt();
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (sources[2 + 2 * i].revents != 0) read_reports(members_[i]);
    }
    if (sources.back().revents != 0) read_page();
  }

  /// Passes the signal on; the members leave gracefully.
  void interrupt() {
    interrupted_ = true;
    deadline_ = std::min(deadline_, clock_.now() + grace);
    for (const Running& member : members_) member.process->send_signal(SIGTERM);
  }

  void read_reports(Running& member) {
    std::array<char, 16384> buffer;
    const auto count = ::read(member.process->pipe_descriptor(), buffer.data(), buffer.size());
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
    } else if (word == report_joined) {
      member.joined = true;
    } else if (word == report_half) {
      if (fate_ == Fate::doomed && is_victim(member)) kill_victim(member);
    } else if (word == report_view) {
      const std::string members = "," + std::string(argument) + ",";
      if (fate_ == Fate::killed && members.find(fmt::format(",{},", options_.victim->value())) == std::string::npos)
        removal_seen_ = true;
    } else if (word == report_result) {
      member.outcome.result = result_from_json(argument, recording_.topics().size(), view_.subgroups.size());
      member.delivered = recording_.samples().size();
    } else if (word == report_failed) {
      member.outcome.failure = argument;
    }
  }

  /// Takes note of a process that has ended, and of the reason if it gave none.
  void update(Running& member) {
    const bool known = member.process->status().has_value();
    if (!known) static_cast<void>(member.process->reap());
    if (!member.over() || (fate_ == Fate::killed && is_victim(member) && !interrupted_ && !timed_out_)) return;
    const int status = *member.process->status();
    MemberOutcome& outcome = member.outcome;
    if (status == number(ExitCode::success) && outcome.result) return;
    if (outcome.code != ExitCode::success) return;  // known
    if (outcome.failure.empty()) {
      if (status < 0) outcome.failure = fmt::format("killed by signal {} ({})", -status, ::strsignal(-status));
      if (status >= 0) outcome.failure = fmt::format("ended with code {} and without a result", status);
      if (timed_out_) outcome.failure = "did not finish in time and was killed";
      if (interrupted_) outcome.failure = "interrupted";
    }
    outcome.result.reset();
    outcome.code = code_of(status);
    // A member that waits for founders would wait for ever; a group that has begun goes on without this one, or says that it
    // cannot.
    const bool founded = std::all_of(members_.begin(), members_.end(), [](const Running& each) { return each.joined; });
    if (!founded) deadline_ = std::min(deadline_, clock_.now() + grace);
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
    const bool again = std::exchange(timed_out_, timed_out_ || !interrupted_);
    for (const Running& member : members_) {
      const bool may_leave = member.outcome.result.has_value() && !again && !interrupted_;
      member.process->send_signal(may_leave ? SIGTERM : SIGKILL);
    }
    dismissed_ = true;
    deadline_ = clock_.now() + grace;
  }

  ReplayOptions options_;
  const ulog::Recording& recording_;
  const View& view_;
  SystemClock clock_;
  StopSignals signals_;
  ProgressBar bar_;
  std::optional<ChildProcess> page_;
  bool page_open_ = true;
  std::vector<Running> members_;
  Time deadline_;
  Fate fate_;
  bool removal_seen_ = false;  // by a survivor, of the victim
  bool dismissed_ = false;
  bool interrupted_ = false;
  bool timed_out_ = false;
};

}  // namespace

std::vector<MemberOutcome> replay(ReplayOptions options, const ulog::Recording& recording, const View& view) {
  return Replay(std::move(options), recording, view).run();
}

}  // namespace spindrift::tools
