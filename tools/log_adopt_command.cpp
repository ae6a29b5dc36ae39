// The member that leads the view is told: it knows what all members have of the log.
#include "log_adopt_command.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <spindrift/core/ids_text.hpp>

#include "forced_call.hpp"
#include "group_option.hpp"
#include "group_report.hpp"
#include "json_output.hpp"
#include "number_option.hpp"

namespace spindrift::tools {
namespace {

constexpr int adopt_json_version = 1;

struct AdoptOptions : ForcedCallOptions {
  std::string subgroup;
  std::uint32_t from = 0;
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

ForcedCallWords words_for(const AdoptOptions& options, const std::string& loss) {
  ForcedCallWords words;
  words.question =
      fmt::format("The group then goes on with the log of {} that node {} has. A holder that comes back later is given\n"
                  "that log in place of its own: save what it has before (spindrift log dump), if anybody may want it.\n"
                  "Adopt?",
                  options.subgroup, options.from);
  words.whether = "messages may be lost";
  words.known = "no holder comes back with its log";
  words.done = fmt::format("the group goes on with the log of {} that node {} has", options.subgroup, options.from);
  words.undone = "nothing was adopted";
  words.outcome = "adopted";
  words.object =
      versioned(adopt_json_version, {{"subgroup", options.subgroup}, {"from", options.from}, {"loss", loss}});
  return words;
}

int adopt(const AdoptOptions& options) {
  const GroupPlace place = place_of(options);
  const GuardedDirectory directory = opened(place);
  ForcedCall call(options, directory, leader_here(options, place), [&options](bool force) {
    group::RosterCall made;
    made.adopt = group::LogAdoption{options.subgroup, NodeId(options.from), force};
    return made;
  });
  const std::optional<Error> loss = call.loss();
  if (!loss) {
    throw Exception(
        Error(ErrorKind::refused, "a log was taken up meanwhile").fix("see it: spindrift group status"));
  }
  return call.run(words_for(options, loss->message()), loss);
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
  add_force_options(*command, *options, "Do it; otherwise only say whose log is given up, and what would be lost");
}

}  // namespace spindrift::tools
