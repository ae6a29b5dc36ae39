// The member that leads the view is told: it knows what all members have of the log.
#include "log_adopt_command.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <spindrift/core/ids_text.hpp>
#include <spindrift/group/roster_service.hpp>

#include "confirmation.hpp"
#include "exit_code.hpp"
#include "group_option.hpp"
#include "group_report.hpp"
#include "json_output.hpp"
#include "number_option.hpp"
#include "roster_call.hpp"

namespace spindrift::tools {
namespace {

constexpr int adopt_json_version = 1;

struct AdoptOptions : RosterCallOptions {
  std::string subgroup;
  std::uint32_t from = 0;
  bool force = false;
  bool yes = false;
};

/// The member that leads the latest view of those that run here: a view's first member does, while nobody suspects it.
NodeId leader_here(const AdoptOptions& options, const GroupPlace& place) {
  if (options.through) return NodeId(*options.through);
  const GroupReport report = value_or_throw(read_group(place.directory));
  const NodeReport* latest = nullptr;
  for (const NodeReport& each : report.nodes) {
    if (!each.lives() || !each.status.view || each.status.members.empty()) continue;
    if (latest == nullptr || *latest->status.view < *each.status.view) latest = &each;
  }
  if (latest == nullptr) {
    throw Exception(Error(ErrorKind::member_lost, "no member of the group runs here")
                        .at(place.directory)
                        .fix("run this on the host of one: spindrift group status there says which run"));
  }
  const NodeId leader = latest->status.members.front().node;
  const auto is_it = [&](const NodeReport& each) { return each.lives() && each.status.node == leader; };
  if (std::ranges::any_of(report.nodes, is_it)) return leader;
  const std::string why = fmt::format("node {} leads the view, is to be told, and does not run here", leader);
  throw Exception(Error(ErrorKind::refused, why).at(place.directory).fix("run this on its host"));
}

group::RosterCall call_of(const AdoptOptions& options, bool force) {
  group::RosterCall call;
  call.patience = std::chrono::milliseconds(options.timeout_ms);
  call.adopt = group::LogAdoption{options.subgroup, NodeId(options.from), force};
  return call;
}

/// The reason against it, and what it would lose.
Error refusal_of(const AdoptOptions& options, const GuardedDirectory& directory, NodeId told) {
  const auto outcome = group::change_roster_through(directory, told, call_of(options, false));
  return outcome ? Error(ErrorKind::refused, "a log was taken up meanwhile").fix("see it: spindrift group status")
                 : outcome.error();
}

bool confirmed(const AdoptOptions& options, const Error& loss) {
  fmt::print(stderr, "{}\n", loss.message());
  if (options.yes) return true;
  const Error nobody = Error(ErrorKind::bad_argument, "nobody is here to be asked whether messages may be lost")
                           .fix("give --yes once you know that no holder comes back with its log");
  return says_yes(
      fmt::format("The group then goes on with the log of {} that node {} has. A holder that comes back later is given\n"
                  "that log in place of its own: save what it has before (spindrift log dump), if anybody may want it.\n"
                  "Adopt?",
                  options.subgroup, options.from),
      nobody);
}

int print(const AdoptOptions& options, const Error& loss, bool adopted) {
  if (options.json) {
    print_document(versioned(adopt_json_version, {{"adopted", adopted},
                                                  {"subgroup", options.subgroup},
                                                  {"from", options.from},
                                                  {"loss", loss.message()}}));
  } else if (adopted) {
    fmt::print("the group goes on with the log of {} that node {} has\n", options.subgroup, options.from);
  } else {
    fmt::print("nothing was adopted\n");
  }
  return number(adopted ? ExitCode::success : ExitCode::interrupted);
}

int adopt(const AdoptOptions& options) {
  const GroupPlace place = place_of(options);
  const GuardedDirectory directory = opened(place);
  const NodeId told = leader_here(options, place);
  Error loss = refusal_of(options, directory, told);
  if (loss.kind() != ErrorKind::no_majority || !options.force) throw Exception(std::move(loss));
  if (!confirmed(options, loss)) return print(options, loss, false);
  static_cast<void>(value_or_throw(group::change_roster_through(directory, told, call_of(options, true))));
  return print(options, loss, true);
}

}  // namespace

void add_adopt_command(CLI::App& log, Work& chosen) {
  auto options = std::make_shared<AdoptOptions>();
  CLI::App* const command = add_command(
      log, chosen,
      {"adopt", "Let the group go on with the log that a member has, where those that have more of it are gone for good"},
      options, adopt);
  add_roster_call_options(*command, *options);
  add_json_option(*command, *options);
  command->add_option("subgroup,--subgroup", options->subgroup, "The subgroup whose log it is")
      ->type_name("NAME")
      ->required();
  command->add_option("--from", options->from, "ID of the member that has it: no other one has more")
      ->required()
      ->check(number_from(0U, node_id_max))
      ->type_name("ID");
  command->add_flag("--force", options->force, "Do it; otherwise only say whose log is given up, and what would be lost");
  command->add_flag("--yes", options->yes, "Do not ask");
}

}  // namespace spindrift::tools
