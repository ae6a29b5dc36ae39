// `spindrift top`: a table of this host's nodes of a group that follows what they do.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "commands.hpp"
#include "exit_code.hpp"
#include "group_option.hpp"
#include "number_option.hpp"
#include "output.hpp"
#include "session.hpp"
#include "terminal_screen.hpp"
#include "top_page.hpp"

namespace spindrift::tools {
namespace {

struct TopOptions : GroupCommandOptions {
  double interval_s = 1;
  bool once = false;
};

enum class Waited : std::uint8_t { until_deadline, interrupted, key, signal };

/// Waits for the first of a key, a signal to end, a changed size and the deadline.
Waited wait_until(Time deadline, int keys, const StopSignals& signals) {
  std::array<pollfd, 2> sources{{readable(keys), readable(signals.descriptor())}};
  const int ready = TerminalScreen::wait(sources, deadline - SystemClock().now());
  if (ready == 0) return Waited::until_deadline;
  if (ready < 0) return Waited::interrupted;
  return sources[1].revents != 0 ? Waited::signal : Waited::key;
}

/// False: nobody presses keys any more.
bool take_keys(TopPage& page) {
  std::array<char, 64> keys{};
  const ssize_t count = ::read(STDIN_FILENO, keys.data(), keys.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  for (ssize_t i = 0; i < count; ++i) page.on_key(keys[static_cast<std::size_t>(i)]);
  return count > 0;
}

int print_once(const GroupPlace& place, Duration interval) {
  const StopSignals signals;
  const GroupLook before = value_or_throw(look_at(place.directory));
  const Time deadline = before.at + interval;
  Waited waited = Waited::interrupted;
  while (waited == Waited::interrupted) waited = wait_until(deadline, -1, signals);
  if (waited == Waited::signal) return number(ExitCode::interrupted);
  const GroupLook now = value_or_throw(look_at(place.directory));
  fmt::print("{}", TopPage().text(place.name, before, now, {SIZE_MAX, SIZE_MAX}));
  return number(ExitCode::success);
}

int follow(const GroupPlace& place, Duration interval) {
  const StopSignals signals;
  GroupLook before = value_or_throw(look_at(place.directory));
  GroupLook now = before;
  TopPage page;
  TerminalScreen screen;
  bool keys = true;
  for (Time deadline = now.at + interval; !page.ended();) {
    screen.show(page.text(place.name, before, now, TerminalScreen::size()));
    const Waited waited = wait_until(deadline, keys ? screen.keys() : -1, signals);
    if (waited == Waited::signal) break;
    if (waited == Waited::key) keys = take_keys(page);
    if (waited != Waited::until_deadline) continue;
    before = std::exchange(now, value_or_throw(look_at(place.directory)));
    deadline = now.at + interval;
  }
  return number(ExitCode::success);
}

int run_top(const TopOptions& options) {
  const GroupPlace place = place_of(options);
  const auto interval = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(options.interval_s));
  return options.once || !TerminalScreen::possible() ? print_once(place, interval) : follow(place, interval);
}

}  // namespace

void add_top_command(CLI::App& app, Work& chosen) {
  auto options = std::make_shared<TopOptions>();
  const CommandText text{
      "top", "Follow what this host's nodes of a group do, as a table",
      "Shows for each node its state and view, how many messages it sends and delivers, how far it is behind others, and "
      "what it waits for. Keys: q ends, s sorts by the next column, a node's number or Enter shows its subgroups. Where "
      "standard output is no terminal, prints one table as with --once.\n\n"
      "Examples:\n  spindrift top --config derecho.cfg\n  spindrift top --config derecho.cfg --once --interval 5"};
  CLI::App* command = add_command(app, chosen, text, options, run_top);
  add_group_options(*command, *options);
  command->add_option("--interval", options->interval_s, "Time between two looks, over which rates are taken (1)")
      ->type_name("SECONDS")
      ->check(number_from(0.1, 3600.0));
  command->add_flag("--once", options->once, "Print one table after one interval, and nothing that commands a terminal");
}

}  // namespace spindrift::tools
