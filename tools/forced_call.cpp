// Time in which somebody thinks about the question is none of the timeout's.
#include "forced_call.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <spindrift/core/ids_text.hpp>
#include <spindrift/group/roster_service.hpp>

#include "confirmation.hpp"
#include "exit_code.hpp"
#include "group_report.hpp"
#include "json_output.hpp"

namespace spindrift::tools {
namespace {

/// A call that came to nothing in time, with the processes here that are stopped: these are the ones that were waited for.
Error with_stopped(Error late, const std::string& directory) {
  std::string nodes;
  std::string processes;
  const auto report = read_group(directory);
  for (const NodeReport& each : report ? report->nodes : std::vector<NodeReport>()) {
    if (each.condition != NodeReport::Condition::stopped) continue;
    nodes += fmt::format("; node {} is stopped, its process is {}", each.status.node, each.status.process);
    processes += fmt::format(" {}", each.status.process);
  }
  if (nodes.empty()) return late;
  const std::string place = late.place();
  return Error(late.kind(), late.message() + nodes).at(place).fix("let go on what is stopped: kill -CONT" + processes);
}

}  // namespace

void add_force_options(CLI::App& command, ForcedCallOptions& options, const std::string& force) {
  command.add_flag("--force", options.force, force);
  command.add_flag("--yes", options.yes, "Do not ask");
}

ForcedCall::ForcedCall(const ForcedCallOptions& options, const GuardedDirectory& directory, NodeId told, Maker make)
    : options_(options),
      directory_(directory),
      told_(told),
      make_(std::move(make)),
      left_(std::chrono::milliseconds(options.timeout_ms)) {}

std::optional<Error> ForcedCall::loss() {
  auto outcome = tell(false);
  if (outcome) return std::nullopt;
  Error loss = std::move(outcome).error();
  if (loss.kind() != ErrorKind::no_majority || !options_.force) throw Exception(std::move(loss));
  return loss;
}

int ForcedCall::run(const ForcedCallWords& words, const std::optional<Error>& loss) {
  if (loss) fmt::print(stderr, "{}\n", loss->message());
  const Error nobody = Error(ErrorKind::bad_argument, "nobody is here to be asked whether " + words.whether)
                           .fix("give --yes once you know that " + words.known);
  if (!options_.yes && !says_yes(words.question, nobody)) return finish(words, false);
  static_cast<void>(value_or_throw(tell(true)));
  return finish(words, true);
}

int ForcedCall::finish(const ForcedCallWords& words, bool done) const {
  if (options_.json) {
    nlohmann::json object = words.object;
    object[words.outcome] = done;
    print_document(object);
  } else {
    fmt::print("{}\n", done ? words.done : words.undone);
  }
  return number(done ? ExitCode::success : ExitCode::interrupted);
}

Result<Roster> ForcedCall::tell(bool force) {
  const SystemClock clock;
  const Time begin = clock.now();
  group::RosterCall call = make_(force);
  call.patience = std::chrono::duration_cast<std::chrono::milliseconds>(left_);
  auto outcome = group::change_roster_through(directory_, told_, call);
  left_ = std::max<Duration>(left_ - (clock.now() - begin), std::chrono::milliseconds(1));
  if (outcome || outcome.error().kind() != ErrorKind::timed_out) return outcome;
  return with_stopped(std::move(outcome).error(), directory_.path());
}

}  // namespace spindrift::tools
