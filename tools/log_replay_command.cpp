// `spindrift log replay`: the messages of a log once more, as `spindrift tail` printed them when they were delivered, for a
// program that is to get them again.
#include "log_replay_command.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include <spindrift/core/clock.hpp>

#include "exit_code.hpp"
#include "log_part.hpp"
#include "log_target.hpp"
#include "message_printer.hpp"
#include "number_option.hpp"
#include "options.hpp"
#include "output.hpp"
#include "session.hpp"

namespace spindrift::tools {
namespace {

struct LogReplayOptions : CommandOptions {
  LogPart part;
  std::optional<double> pace;
};

Delivery delivery_of(const store::Entry& message) {
  const store::EntryHead& head = message.head;
  return {head.sender, SenderRank(0), MessageIndex(0), head.sequence, message.payload, head.view, message.version.value()};
}

/// When messages are due that came at these times, the first of them at once.
class Pace {
 public:
  explicit Pace(double factor) : factor_(factor) {}

  [[nodiscard]] Time due(std::uint64_t came) {
    if (!first_) first_ = {came, clock_.now()};
    constexpr double most = 1e18;  // some thirty years, behind which is never
    const double ns = std::min(static_cast<double>(came - first_->came) / factor_, most);
    return first_->at + std::chrono::nanoseconds(static_cast<std::int64_t>(ns));
  }

 private:
  struct First {
    std::uint64_t came;
    Time at;
  };
  const double factor_;
  SystemClock clock_;
  std::optional<First> first_;
};

/// Prints messages until there are no more, or nobody wants them any more, by a signal or by not reading.
class Replaying {
 public:
  explicit Replaying(const LogReplayOptions& options) : printer_(options.json, std::nullopt) {
    printer_.show_log_versions();
    if (options.pace) pace_.emplace(*options.pace);
  }

  [[nodiscard]] bool take(const store::Entry& message) {
    if (!await(pace_ ? pace_->due(message.head.time) : Time())) return false;
    printer_.print(delivery_of(message));
    return !printer_.done();
  }
  [[nodiscard]] bool interrupted() const noexcept { return interrupted_; }
  [[nodiscard]] int refused() const noexcept { return printer_.refused(); }

 private:
  // Nothing that was printed is to wait in a buffer meanwhile. A reader that goes away ends the wait.
  bool await(Time due) {
    if (clock_.now() < due) printer_.flush();
    for (;;) {
      const Time now = clock_.now();
      std::array<pollfd, 2> sources{{readable(signals_.descriptor()), {.fd = -1, .events = 0, .revents = 0}}};
      if (now < due) sources[1].fd = STDOUT_FILENO;
      const timespec left = time_left(due - now);
      const int ready = ::ppoll(sources.data(), sources.size(), &left, nullptr);
      if (ready > 0 && sources[0].revents != 0) interrupted_ = true;
      if (ready > 0 && sources[1].revents != 0) printer_.look_at_reader();
      if (interrupted_ || printer_.done()) return false;
      if (now >= due) return true;
    }
  }
  static timespec time_left(Duration left) {
    const auto whole = std::max(left, Duration::zero());
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(whole);
    return {.tv_sec = seconds.count(), .tv_nsec = std::chrono::nanoseconds(whole - seconds).count()};
  }

  const StopSignals signals_;
  SystemClock clock_;
  MessagePrinter printer_;
  std::optional<Pace> pace_;
  bool interrupted_ = false;
};

int run_replay(const LogReplayOptions& options) {
  LogMessages messages(log_target_of(options), options.part);
  messages.find();
  Replaying replaying(options);
  messages.visit([&](const store::Entry& message) { return replaying.take(message); });
  if (const int refused = replaying.refused()) throw Exception(output_error(refused));
  value_or_throw(flush_output());
  if (replaying.interrupted()) return number(ExitCode::interrupted);
  messages.require_whole();
  return number(ExitCode::success);
}

}  // namespace

void add_replay_command(CLI::App& log, Work& chosen) {
  auto options = std::make_shared<LogReplayOptions>();
  CLI::App* const command =
      add_command(log, chosen, {"replay", "Print messages of a log once more, as tail printed them"}, options, run_replay);
  add_member_options(*command, *options);
  add_log_part_options(*command, options->part, "print");
  constexpr double slowest = 1e-6;
  constexpr double fastest = 1e6;
  command->add_option("--pace", options->pace, "So many times as fast as they came, 1 for as fast; by default at once")
      ->type_name("FACTOR")
      ->check(number_from(slowest, fastest));
  add_json_option(*command, *options, "Print one JSON object per message, as tail does");
}

}  // namespace spindrift::tools
