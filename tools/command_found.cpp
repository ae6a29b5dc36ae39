// `spindrift group found`: the way out where all had stopped, a majority of the last view is gone for good, and nodes that
// wait for it have what the group had.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <spindrift/core/ids_text.hpp>
#include <spindrift/views/member.hpp>

#include "command_roster.hpp"
#include "commands.hpp"
#include "forced_call.hpp"
#include "group_report.hpp"
#include "json_output.hpp"
#include "number_option.hpp"

namespace spindrift::tools {
namespace {

constexpr int found_json_version = 1;

struct FoundOptions : ForcedCallOptions {
  std::vector<std::uint32_t> members;
};

std::vector<NodeId> named_by(const FoundOptions& options) { return {options.members.begin(), options.members.end()}; }

std::string words_of(const std::vector<NodeId>& others) {
  return others.size() == 1 ? fmt::format("node {} runs here, and is in a view, or was", listed(others))
                            : fmt::format("nodes {} run here, and are in views, or were", listed(others));
}

/// The nodes that are named, run here, and may be told: --through alone, if it is given.
struct Named {
  std::vector<NodeId> looking;  ///< for the group
  std::vector<NodeId> others;
};

Named named_here(const FoundOptions& options, const GroupReport& report) {
  const std::vector<NodeId> named = named_by(options);
  Named here;
  for (const NodeReport& each : report.nodes) {
    if (!each.lives() || std::ranges::find(named, each.status.node) == named.end()) continue;
    const bool looks = each.status.state == views::to_string(views::MemberState::looking);
    if (looks && options.through && NodeId(*options.through) != each.status.node) continue;
    (looks ? here.looking : here.others).push_back(each.status.node);
  }
  return here;
}

Error nobody_looks(const FoundOptions& options, const std::vector<NodeId>& others, const std::string& place) {
  const std::string of_these = options.through ? fmt::format("node {} is not one of the nodes that are named, run here, and "
                                                             "look for the group", *options.through)
                                               : "none of the nodes that are named looks for the group here";
  const std::string seen = others.empty() ? "" : "; " + words_of(others);
  return Error(ErrorKind::refused, of_these + seen)
      .at(place)
      .fix("start one that is named on this host, and say this while it waits: it does so for "
           "[SPINDRIFT] join_timeout_ms. A group that goes on (spindrift group status) is founded already");
}

ForcedCallWords words_for(const FoundOptions& options, const std::string& loss) {
  const bool one = options.members.size() == 1;
  const std::string named = fmt::format("node{} {}", one ? "" : "s", listed(named_by(options)));
  ForcedCallWords words;
  words.question = fmt::format(
      "N{} then found{} the group without these, with the logs of those that are named.\n"
      "Start those that are missing, should they come back, where they can reach one of these: they join as\n"
      "newcomers. A majority of the last view that finds only itself founds a group of the same name: where\n"
      "both run and meet, that one ends; where it alone runs, its logs take the place of these.\n"
      "Found?",
      named.substr(1), one ? "s" : "");
  words.whether = "these are to found the group";
  words.known = "the others have not gone on, and will not";
  words.done = "the group goes on with " + named;
  words.undone = "nothing was founded";
  words.outcome = "founded";
  words.object = versioned(found_json_version, {{"members", named_by(options)}, {"loss", loss}});
  return words;
}

/// The call to that node.
ForcedCall call_to(NodeId told, const FoundOptions& options, const GuardedDirectory& directory) {
  return {options, directory, told, [&options](bool force) {
            return group::RosterCall{{}, {}, group::Revive{named_by(options), force, true}};
          }};
}

int finish_founded(const ForcedCall& call, const FoundOptions& options) {
  ForcedCallWords words = words_for(options, "");
  words.done += ": it was founded so before";
  return call.finish(words, true);
}

/// None looks for the group: one that has founded it with the others says that it has.
int found_before(const FoundOptions& options, const GuardedDirectory& directory, const std::vector<NodeId>& others) {
  Error nobody = nobody_looks(options, others, directory.path());
  const auto told = std::ranges::find_if(
      others, [&](NodeId node) { return !options.through || NodeId(*options.through) == node; });
  if (told == others.end()) throw Exception(std::move(nobody));
  ForcedCall call = call_to(*told, options, directory);
  try {
    static_cast<void>(call.loss());
  } catch (const Exception& refusal) {
    if (refusal.error().kind() == ErrorKind::timed_out) throw;
    throw Exception(std::move(nobody));
  }
  return finish_founded(call, options);
}

int found(const FoundOptions& options) {
  const GroupPlace place = place_of(options);
  const GuardedDirectory directory = opened(place);
  const Named here = named_here(options, value_or_throw(read_group(place.directory)));
  if (here.looking.empty()) return found_before(options, directory, here.others);
  ForcedCall call = call_to(here.looking.front(), options, directory);
  const std::optional<Error> loss = call.loss();
  if (!loss) return finish_founded(call, options);
  return call.run(words_for(options, loss->message()), loss);
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
  add_force_options(*command, *options, "Do it; otherwise only say who is missing, and what would be lost");
}

}  // namespace spindrift::tools
