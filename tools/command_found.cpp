// `spindrift group found`: the way out where all had stopped, a majority of the last view is gone for good, and nodes that
// wait for it have what the group had.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <spindrift/core/ids_text.hpp>
#include <spindrift/group/roster_service.hpp>
#include <spindrift/views/member.hpp>

#include "command_roster.hpp"
#include "commands.hpp"
#include "confirmation.hpp"
#include "exit_code.hpp"
#include "group_report.hpp"
#include "json_output.hpp"
#include "number_option.hpp"
#include "roster_call.hpp"

namespace spindrift::tools {
namespace {

constexpr int found_json_version = 1;

struct FoundOptions : RosterCallOptions {
  std::vector<std::uint32_t> members;
  bool force = false;
  bool yes = false;
};

std::vector<NodeId> named_by(const FoundOptions& options) { return {options.members.begin(), options.members.end()}; }

std::string words_of(const std::vector<NodeId>& others) {
  return others.size() == 1 ? fmt::format("node {} runs here, and is in a view, or was", listed(others))
                            : fmt::format("nodes {} run here, and are in views, or were", listed(others));
}

/// The node that is told: one that is named, and looks for the group here.
NodeId told_by(const FoundOptions& options, const GroupReport& report, const std::string& place) {
  const std::vector<NodeId> named = named_by(options);
  std::vector<NodeId> others;
  for (const NodeReport& each : report.nodes) {
    if (!each.lives() || std::ranges::find(named, each.status.node) == named.end()) continue;
    const bool looks = each.status.state == views::to_string(views::MemberState::looking);
    if (!looks) others.push_back(each.status.node);
    if (looks && (!options.through || NodeId(*options.through) == each.status.node)) return each.status.node;
  }
  const std::string of_these = options.through ? fmt::format("node {} is not one of the nodes that are named, run here, and "
                                                             "look for the group", *options.through)
                                               : "none of the nodes that are named looks for the group here";
  const std::string seen = others.empty() ? "" : "; " + words_of(others);
  throw Exception(Error(ErrorKind::refused, of_these + seen)
                      .at(place)
                      .fix("start one that is named on this host, and say this while it waits: it does so for "
                           "[SPINDRIFT] join_timeout_ms. A group that goes on (spindrift group status) is founded already"));
}

group::RosterCall call_of(const FoundOptions& options, bool force) {
  return {{}, std::chrono::milliseconds(options.timeout_ms), group::Revive{named_by(options), force, true}};
}

/// The reason against it, and what it would lose.
Error refusal_of(const FoundOptions& options, const GuardedDirectory& directory, NodeId told) {
  const auto outcome = group::change_roster_through(directory, told, call_of(options, false));
  return outcome ? Error(ErrorKind::refused, "the group was founded meanwhile").fix("see it: spindrift group status")
                 : outcome.error();
}

bool confirmed(const FoundOptions& options, const Error& loss) {
  fmt::print(stderr, "{}\n", loss.message());
  if (options.yes) return true;
  const Error nobody = Error(ErrorKind::bad_argument, "nobody is here to be asked whether these are to found the group")
                           .fix("give --yes once you know that the others have not gone on, and will not");
  const bool one = options.members.size() == 1;
  return says_yes(
      fmt::format("Node{} {} then found{} the group without these, with the logs of those that are named.\n"
                  "Start those that are missing, should they come back, where they can reach one of these: they join as\n"
                  "newcomers. A majority of the last view that finds only itself founds a group of the same name: where\n"
                  "both run and meet, that one ends; where it alone runs, its logs take the place of these.\n"
                  "Found?",
                  one ? "" : "s", listed(named_by(options)), one ? "s" : ""),
      nobody);
}

int print(const FoundOptions& options, const Error& loss, bool founded) {
  const ExitCode code = founded ? ExitCode::success : ExitCode::interrupted;
  if (options.json) {
    print_document(versioned(found_json_version,
                             {{"founded", founded}, {"members", named_by(options)}, {"loss", loss.message()}}));
  } else if (founded) {
    fmt::print("the group goes on with node{} {}\n", options.members.size() == 1 ? "" : "s", listed(named_by(options)));
  } else {
    fmt::print("nothing was founded\n");
  }
  return number(code);
}

int found(const FoundOptions& options) {
  const GroupPlace place = place_of(options);
  const GuardedDirectory directory = opened(place);
  const NodeId told = told_by(options, value_or_throw(read_group(place.directory)), place.directory);
  Error loss = refusal_of(options, directory, told);
  if (loss.kind() != ErrorKind::no_majority || !options.force) throw Exception(std::move(loss));
  if (!confirmed(options, loss)) return print(options, loss, false);
  static_cast<void>(value_or_throw(group::change_roster_through(directory, told, call_of(options, true))));
  return print(options, loss, true);
}

}  // namespace

void add_found_command(CLI::App& group, Work& chosen) {
  auto options = std::make_shared<FoundOptions>();
  CLI::App* const command = add_command(
      group, chosen,
      {"found", "Let nodes that wait for a majority of the last view found the next one without it, with their logs"},
      options, found);
  add_roster_call_options(*command, *options);
  add_json_option(*command, *options);
  command->add_option("--members", options->members, "IDs of the nodes that found: all that are here and remember the group")
      ->required()
      ->delimiter(',')
      ->check(number_from(0U, node_id_max))
      ->type_name("IDS");
  command->add_flag("--force", options->force, "Do it; otherwise only say who is missing, and what would be lost");
  command->add_flag("--yes", options->yes, "Do not ask");
}

}  // namespace spindrift::tools
