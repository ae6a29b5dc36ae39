// `spindrift group revive`: the way out where a view has lost its majority for good, and members that wait have its state.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <spindrift/core/counters.hpp>
#include <spindrift/core/ids_text.hpp>
#include <spindrift/core/runtime_path.hpp>

#include "command_roster.hpp"
#include "commands.hpp"
#include "forced_call.hpp"
#include "group_report.hpp"
#include "json_output.hpp"
#include "number_option.hpp"

namespace spindrift::tools {
namespace {

constexpr int revive_json_version = 1;

struct ReviveOptions : ForcedCallOptions {
  std::vector<std::uint32_t> members;
};

std::vector<NodeId> named_by(const ReviveOptions& options) {
  std::vector<NodeId> named(options.members.begin(), options.members.end());
  return named;
}

bool is_in(const std::vector<NodeId>& nodes, NodeId node) { return std::ranges::find(nodes, node) != nodes.end(); }

/// Whether that member waits for a revival, by its counters: they are kept in memory, also while a full disk keeps its
/// status from being written.
bool counts_as_stranded(const NodeReport& member, const std::string& directory) {
  const auto values = CounterBlock::read_file(directory + "/" + node_file_name(member.status.node, counters_suffix));
  return member.lives() && values && std::ranges::any_of(*values, [](const CounterValue& each) {
           return each.name == "member.stranded_since_ms" && each.value != 0;
         });
}

/// The member that is told: one that is named, and has lost the majority.
const NodeReport& told_by(const ReviveOptions& options, const GroupReport& report, const std::string& place) {
  const std::vector<NodeId> named = named_by(options);
  const NodeReport* waits = nullptr;
  for (const NodeReport& each : report.nodes) {
    if (!is_in(named, each.status.node) || !(each.stranded() || counts_as_stranded(each, place))) continue;
    if (options.through && NodeId(*options.through) != each.status.node) continue;
    if (waits == nullptr) waits = &each;
  }
  if (waits != nullptr) return *waits;
  std::vector<NodeId> well;
  for (const NodeReport& each : report.nodes) {
    if (each.lives() && is_in(named, each.status.node)) well.push_back(each.status.node);
  }
  const bool one = well.size() == 1;
  const std::string why =
      well.empty() ? "none of the members that are named runs here"
                   : fmt::format("node{} {} {} here, and {} not lost the majority of a view", one ? "" : "s", listed(well),
                                 one ? "runs" : "run", one ? "has" : "have");
  throw Exception(Error(ErrorKind::refused, why)
                      .at(place)
                      .fix("run this on the host of one that has, and name it with --members: spindrift group why says "
                           "which it is. A member waits for a revival if its [SPINDRIFT] majority_lost is wait; otherwise "
                           "it has ended"));
}

/// The way out for a process here that is given up. Only one that waits, too, can go on with the member that is told, and
/// only as long as the two have not parted, which no status says.
std::string way_to_end(const NodeReport& given_up, const NodeReport& told) {
  const std::string end = fmt::format("end it first: kill -9 {}", given_up.status.process);
  if (!given_up.stranded()) return end;
  return fmt::format("{}; or, as it waits, too, name it as well: it goes on with the others unless it and node {} have "
                     "given each other up",
                     end, told.status.node);
}

/// A process of the lost view that is given up, and lives here, could go on beside those that are named.
void require_ended(const ReviveOptions& options, const GroupReport& report, const NodeReport& told) {
  const std::vector<NodeId> named = named_by(options);
  for (const NodeReport& each : report.nodes) {
    const bool here = each.lives() || each.condition == NodeReport::Condition::removed;
    const auto& members = told.status.members;
    const bool is_member = std::ranges::any_of(members, [&](const auto& member) {
      return member.node == each.status.node && member.incarnation == each.status.incarnation;
    });
    if (!here || !is_member || is_in(named, each.status.node)) continue;
    const std::uint64_t process = each.status.process;
    const std::string why = fmt::format("node {} is given up, and its process {} is here", each.status.node, process);
    throw Exception(Error(ErrorKind::refused, why).fix(way_to_end(each, told)));
  }
}

/// The rest is no majority that may live: of so many of them the status of the process here tells that it has ended, which
/// the member that is told, on this host or another, need not know. By a status of its own that is behind, nothing is known.
bool known_to_have_ended(const ReviveOptions& options, const GroupReport& report, const NodeReport& told) {
  if (!told.stranded()) return false;
  std::size_t may_live = 0;
  for (const auto& member : told.status.members) {
    if (is_in(named_by(options), member.node)) continue;
    const auto ended = [&](const NodeReport& each) {
      const bool gone = !each.lives() && each.condition != NodeReport::Condition::removed;
      return gone && each.status.node == member.node && each.status.incarnation == member.incarnation;
    };
    may_live += std::ranges::any_of(report.nodes, ended) ? 0 : 1;
  }
  return 2 * may_live <= told.status.members.size();
}

std::vector<NodeId> given_up_by(const ReviveOptions& options, const NodeReport& told) {
  std::vector<NodeId> rest;
  for (const auto& member : told.status.members) {
    if (!is_in(named_by(options), member.node)) rest.push_back(member.node);
  }
  return rest;
}

ForcedCallWords words_for(const ReviveOptions& options, const std::vector<NodeId>& rest) {
  const bool one = options.members.size() == 1;
  const std::string named = fmt::format("node{} {}", one ? "" : "s", listed(named_by(options)));
  ForcedCallWords words;
  words.question = fmt::format(
      "N{} then go{} on without node{} {}, with the state that they have.\n"
      "What those have agreed on without these is lost. Their processes must have ended, or end before they can\n"
      "reach each other: until they hear of these they may found, or go on with, a group of the same name. Start\n"
      "them again where they can reach these: they join as newcomers.\n"
      "Revive?",
      named.substr(1), one ? "es" : "", rest.size() == 1 ? "" : "s", listed(rest));
  words.whether = "the group is to be revived";
  words.known = "the others have not gone on, and will not";
  words.done = "the group goes on with " + named;
  words.undone = "nothing was revived";
  words.outcome = "revived";
  words.object = versioned(revive_json_version, {{"members", named_by(options)}, {"given_up", rest}});
  return words;
}

int revive(const ReviveOptions& options) {
  const GroupPlace place = place_of(options);
  const GuardedDirectory directory = opened(place);
  const GroupReport report = value_or_throw(read_group(place.directory));
  const NodeReport& told = told_by(options, report, place.directory);
  require_ended(options, report, told);
  ForcedCall call(options, directory, told.status.node, [&](bool) {
    const bool force = options.force || known_to_have_ended(options, report, told);
    return group::RosterCall{{}, {}, group::Revive{named_by(options), force}};
  });
  return call.run(words_for(options, given_up_by(options, told)));
}

}  // namespace

void add_revive_command(CLI::App& group, Work& chosen) {
  auto options = std::make_shared<ReviveOptions>();
  CLI::App* const command = add_command(
      group, chosen,
      {"revive", "Let members that have lost the majority, and wait, go on without the rest, with the state that they have"},
      options, revive);
  add_roster_call_options(*command, *options);
  add_json_option(*command, *options);
  command->add_option("--members", options->members, "IDs of the members that go on: all that are left")
      ->required()
      ->delimiter(',')
      ->check(number_from(0U, node_id_max))
      ->type_name("IDS");
  add_force_options(*command, *options, "Also if the others may be a majority that lives");
}

}  // namespace spindrift::tools
