// The waiting of a member's main thread.
#include "session.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/core/ids_text.hpp>
#include <spindrift/core/limits.hpp>
#include <spindrift/core/runtime_path.hpp>
#include <spindrift/group/called_names.hpp>
#include <spindrift/group/status.hpp>

#include "exit_code.hpp"
#include "output.hpp"
#include "view_line.hpp"

namespace spindrift::tools {
namespace {

std::atomic<int> signal_event{-1};
static_assert(std::atomic<int>::is_always_lock_free, "read by a signal handler");

void signal_number(int descriptor) noexcept {
  const std::uint64_t one = 1;
  // An event counter takes any number of ones; there is nothing to do about a failure here.
  [[maybe_unused]] const auto written = ::write(descriptor, &one, sizeof one);
}

/// When the first came, by the monotonic clock in ns; 0: none has.
std::atomic<std::int64_t> first_signal_at{0};
static_assert(std::atomic<std::int64_t>::is_always_lock_free, "read by a signal handler");
/// Two signals within that time are one: timeout(1) sends one to its process, and one to that one's group.
constexpr std::int64_t one_signal_ns = 500'000'000;

extern "C" void on_stop_signal(int number) {
  const int saved = errno;
  timespec now_at{};
  ::clock_gettime(CLOCK_MONOTONIC, &now_at);
  const std::int64_t now_ns = std::int64_t{now_at.tv_sec} * 1'000'000'000 + now_at.tv_nsec;
  std::int64_t first = 0;
  if (first_signal_at.compare_exchange_strong(first, now_ns)) {
    signal_number(signal_event.load(std::memory_order_relaxed));
  } else if (now_ns - first >= one_signal_ns) {
    std::signal(number, SIG_DFL);
    ::raise(number);  // ends the process when this handler returns
  }
  errno = saved;
}

FileDescriptor make_event() {
  FileDescriptor event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) throw Exception(system_error("eventfd", errno));
  return event;
}

/// That this process ended in order, for `spindrift group`; what cannot be written is left as it is.
void leave_word(const Config& config) {
  const auto directory = GuardedDirectory::open(config.runtime_directory(), config.group_name());
  if (!directory) return;
  const std::string path = directory->through(status_file_name(config.local_id()));
  static_cast<void>(group::write_last_status(
      path, {"interrupted", "a signal came before it was in a view", group::wall_clock_ms()}));
}

/// Whether the others gave this member a reason, and another one than its silence.
bool tells_why(const Error& error) {
  const bool told = error.message().find("it removed this node: ") != std::string::npos;
  return told && error.message().find("it gave no sign of life") == std::string::npos;
}

/// A member that is removed has the others' word alone, which may say no more than that they did it, or heard nothing. The
/// fix behind it says where their reason is.
Error with_usual_cause(const Error& error, Duration suspect_after) {
  if (error.kind() != ErrorKind::removed || error.cause() != nullptr || tells_why(error)) return error;
  const auto silence = std::chrono::duration_cast<std::chrono::milliseconds>(suspect_after).count();
  Error all = error;
  return std::move(all).because(
      Error(ErrorKind::removed,
            fmt::format("to them it was silent for suspect_after_ms ({} ms), as one is that is stopped or starved, or it "
                        "was cut off, broke the protocol, or ran another program",
                        silence))
          .fix("see the others' reason where one of them runs (spindrift group why), and start this node again: it joins as "
               "a new incarnation"));
}

std::string whom(const std::vector<NodeId>& missing) {
  return missing.empty() ? std::string("a view") : fmt::format("node {}", listed(missing));
}

std::string where(const View& view) { return fmt::format("in view {}: node {}", view.id, listed(view.members)); }

/// Those who want to know how the join and the views go: the command's own lines, and the service manager.
GroupOptions telling(GroupOptions options, JoinProgress& progress, const ServiceManager& manager) {
  options.on_waiting = [&](const std::vector<NodeId>& missing) {
    progress.set(missing);
    manager.status("waiting for " + whom(missing));
  };
  options.on_last_view_awaited = [&](const std::string& words) {
    progress.set_last_view(words);
    if (!words.empty()) manager.status("waiting for a view: " + words);
  };
  options.on_view = [&manager, on_view = std::move(options.on_view)](const NewView& news) {
    manager.status(where(news.view));
    if (on_view) on_view(news);
  };
  return options;
}

timespec time_until(Time deadline) {
  if (deadline == never) return {};
  const Duration left = std::max(Duration::zero(), deadline - SystemClock().now());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  return {.tv_sec = static_cast<time_t>(seconds.count()), .tv_nsec = static_cast<long>((left - seconds).count())};
}

}  // namespace

StopSignals::StopSignals() : event_(make_event()) {
  signal_event.store(event_.get(), std::memory_order_relaxed);
  first_signal_at.store(0);
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  struct sigaction before {};
  ::sigaction(SIGHUP, nullptr, &before);
  hangup_ = before.sa_handler == SIG_IGN ? Hangup::ignored : Hangup::taken;  // `nohup` asks to outlive the terminal
  if (hangup_ == Hangup::taken) ::sigaction(SIGHUP, &action, nullptr);
}

StopSignals::~StopSignals() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  if (hangup_ == Hangup::taken) std::signal(SIGHUP, SIG_DFL);
  signal_event.store(-1, std::memory_order_relaxed);
}

JoinInterrupt::JoinInterrupt(const StopSignals& signals, std::optional<Config> config, JoinProgress* progress,
                             ErrorForm form)
    : over_(make_event()), waiting_([](const Line& line, std::uint64_t) {
        write_to_standard_error("spindrift: " + line.text + "\n");
      }) {
  thread_ = value_or_throw(start_thread([this, &signals, config = std::move(config), progress, form] {
    if (!await_signal(signals, progress)) return;
    if (config) leave_word(*config);
    write_to_standard_error(interruption_line(form, "spindrift", "interrupted before this member was in a view"));
    std::_Exit(number(ExitCode::interrupted));
  }));
}

// False: the wait for the group is over.
bool JoinInterrupt::await_signal(const StopSignals& signals, JoinProgress* progress) {
  std::array<pollfd, 2> sources{{readable(over_.get()), readable(signals.descriptor())}};
  for (;;) {
    const timespec left = time_until(progress == nullptr ? never : progress->next());
    const int ready = ::ppoll(sources.data(), sources.size(), progress == nullptr ? nullptr : &left, nullptr);
    if (ready > 0) return sources[0].revents == 0;
    if (ready < 0 && errno != EINTR) return false;
    if (ready < 0 || progress == nullptr) continue;
    if (const auto line = progress->line(SystemClock().now())) waiting_.write(*line);
  }
}

JoinInterrupt::~JoinInterrupt() {
  signal_number(over_.get());
  thread_.join();
}

OwnConfig await_own_config(const Config& config, ErrorForm form) {
  const StopSignals signals;
  const JoinInterrupt interrupt(signals, std::nullopt, nullptr, form);
  return OwnConfig(config);
}

Session::Session(const Config& config, GroupOptions options, const SessionOutput& output)
    : progress_(SystemClock().now(), config.join_timeout(), ::isatty(STDERR_FILENO) == 1,
                [config](NodeId node) { return group::called_name(config, node); }),
      joining_(std::in_place, signals_, config, output.quiet ? nullptr : &progress_,
               output.json ? ErrorForm::json : ErrorForm::text),
      requested_(make_event()),
      ended_(make_event()),
      group_(config, telling(std::move(options), progress_, manager_)) {
  joining_.reset();
  value_or_throw(manager_.ready(where(group_.view())));
  watcher_ = value_or_throw(start_thread([this, suspect_after = config.suspect_after()] {
    try {
      group_.wait();
    } catch (const Exception& failure) {
      failure_ = with_usual_cause(failure.error(), suspect_after);
    }
    signal_number(ended_.get());
  }));
  auto leaver = start_thread([this] { leave_on_signal(); });
  if (!leaver) {
    finish();
    throw Exception(std::move(leaver).error());
  }
  leaver_ = std::move(leaver).value();
}

// A thread of its own, for the one that waits in a send until the group can take more could not.
void Session::leave_on_signal() noexcept {
  std::array<pollfd, 2> sources{{readable(ended_.get()), readable(signals_.descriptor())}};
  while (::poll(sources.data(), sources.size(), -1) < 0 && errno == EINTR) {
  }
  if (sources[1].revents != 0) manager_.stopping();  // the command may have seen the signal, too, and be through by now
  if (sources[0].revents != 0) return;
  auto words = start_thread([this] { tell_of_long_leave(); });
  try {
    group_.leave();
  } catch (const Exception&) {  // the watcher has the same failure
  }
  if (words) words->join();
}

// The one who sent the signal may not know that it depends on others, nor how to end this process all the same.
void Session::tell_of_long_leave() const {
  constexpr int patience_ms = 1000;
  pollfd ended = readable(ended_.get());
  int ready = 0;
  while ((ready = ::poll(&ended, 1, patience_ms)) < 0 && errno == EINTR) {
  }
  if (ready != 0) return;
  write_to_standard_error(
      "spindrift: still leaving: all members, this one too, have to take what was sent, and a reader what was printed "
      "(`spindrift group why` says who does not); a second signal ends this process at once\n");
}

Session::~Session() {
  if (!watcher_.joinable()) return;
  try {
    finish();
  } catch (const Exception&) {  // a caller that destroys without finishing reports another error already
  }
}

void Session::drop_deliveries(const std::string& kept) {
  try {
    const View view = group_.view();
    for (std::size_t i = 0; i < view.layout_count(); ++i) {  // created ones wait for no handler
      const std::string& name = view.subgroups[i].name;
      if (name != kept) group_.subgroup(name).on_delivery([](std::span<const Delivery>) {});
    }
  } catch (const Exception&) {  // a signal was faster: a member that leaves takes no handler, and holds up nobody
    if (!signaled()) throw;
  }
}

void Session::request_stop() noexcept { signal_number(requested_.get()); }

Session::Event Session::wait_for(int input, Time deadline) {
  std::array<pollfd, 4> sources{
      {readable(ended_.get()), readable(signals_.descriptor()), readable(requested_.get()), readable(input)}};
  int ready = 0;
  do {
    const timespec left = time_until(deadline);
    ready = ::ppoll(sources.data(), sources.size(), deadline == never ? nullptr : &left, nullptr);
    if (ready < 0 && errno != EINTR) throw Exception(system_error("poll", errno));
  } while (ready < 0);
  if (sources[0].revents != 0) return Event::ended;
  if (sources[1].revents != 0) return Event::signal;
  if (sources[2].revents != 0) {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto taken = ::read(requested_.get(), &count, sizeof count);
    return Event::requested;
  }
  return ready > 0 ? Event::input : Event::deadline;
}

bool Session::signaled() const noexcept {
  pollfd source = readable(signals_.descriptor());
  return ::poll(&source, 1, 0) > 0;
}

void Session::finish() {
  if (!watcher_.joinable()) return;
  try {
    group_.leave();
  } catch (const Exception&) {  // the watcher has the same failure
  }
  watcher_.join();
  if (leaver_.joinable()) leaver_.join();
  if (failure_) throw Exception(*failure_);
}

Error taken_out(NodeId self, std::string_view undone) {
  return Error(ErrorKind::group_closed, fmt::format("node {} was taken out of the group before {}", self, undone))
      .fix(fmt::format("use another node, or let this one in again: spindrift group add {0}, or drain {0} --undo if it was "
                       "drained",
                       self));
}

std::string in_view_line(const Group& group, bool json) {
  const View view = group.view();
  if (json) {
    return event_line({{"event", "in view"},
                       {"node", group.self()},
                       {"view", view.id},
                       {"members", view.members},
                       {"subgroups", group.subgroup_names()}});
  }
  return fmt::format("in view: node {}, members {}, subgroups {}", group.self(), listed(view.members),
                     listed(group.subgroup_names()));
}

}  // namespace spindrift::tools
