// Checking --subgroup.
#include "subgroup_option.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <spindrift/core/config/without_file.hpp>
#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/core/ids_text.hpp>
#include <spindrift/group/roster_service.hpp>

#include "group_option.hpp"
#include "group_report.hpp"

namespace spindrift::tools {
namespace {

[[noreturn]] void refuse(std::string message, std::string fix) {
  throw Exception(Error(ErrorKind::bad_argument, std::move(message)).fix(std::move(fix)));
}

/// A subgroup's name may be longer than a group's, and have capitals and dots.
[[noreturn]] void refuse_as_group(const Error& cause) {
  refuse("without --group the subgroup's name is the group's, too: " + cause.message(),
         "give --group NAME: 1 to 32 characters of a-z, 0-9, _ and -");
}

/// The roster of the group, as members that run on this host have it; nothing: none does.
std::optional<Roster> roster_here(const Config& config) {
  const auto directory = GuardedDirectory::open(config.runtime_directory(), config.group_name());
  const auto report = read_group(place_of(config).directory);
  if (!directory || !report) return std::nullopt;
  std::vector<NodeId> nodes;
  for (const NodeReport& each : report->nodes) {
    if (each.condition == NodeReport::Condition::running) nodes.push_back(each.status.node);
  }
  constexpr std::chrono::seconds patience(2);
  return group::newest_roster(*directory, nodes, patience);
}

/// A subgroup as whoever is about to join can know it: of the layout, or created since the group runs. Where no member of
/// this host can be asked, others may know it: it is found out in the group.
SubgroupView find_subgroup(const Config& config, const std::string& name, std::optional<NodeId> self) {
  View view = value_or_throw(config.view());
  const auto is_named = [&](const SubgroupView& subgroup) { return subgroup.name == name; };
  const auto found = std::ranges::find_if(view.subgroups, is_named);
  if (found != view.subgroups.end()) return *found;
  const std::optional<Roster> roster = roster_here(config);
  const AddedSubgroup* const created = roster ? roster->find_added(name) : nullptr;
  if (self && !view.rank_of(*self)) view.members.push_back(*self);
  if (created != nullptr) return in_view(*created, view.members, nullptr);
  if (!roster && config.fabric() != "shm") {
    SubgroupView unknown = in_view({.name = name}, view.members, nullptr);
    unknown.profile.message_bytes_max = std::numeric_limits<std::uint64_t>::max();
    return unknown;
  }
  std::vector<std::string_view> names;
  for (const SubgroupView& subgroup : view.subgroups) names.push_back(subgroup.name);
  for (std::size_t i = 0; roster && i < roster->added.size(); ++i) {
    if (!roster->added[i].name.empty()) names.push_back(roster->added[i].name);
  }
  refuse(fmt::format("--subgroup {}: {} has no subgroup of that name{}", name, config.name(),
                     roster ? ", and the group has created none" : ""),
         "use one of: " + listed(names) + (roster ? "; or create it: spindrift group create-subgroup " + name : ""));
}

void require_member(const SubgroupView& subgroup, NodeId node) {
  if (subgroup.member_position(node)) return;
  refuse(fmt::format("--subgroup {}: node {} is not one of its members", subgroup.name, node),
         "give --id one of: " + listed(subgroup.members));
}

}  // namespace

void add_subgroup_options(CLI::App& command, SubgroupCommandOptions& options, const std::string& does) {
  command.add_option("subgroup,--subgroup", options.subgroup, "The subgroup " + does)->type_name("NAME")->required();
  CLI::Option* const config = add_member_options(command, options)->required(false)->description(
      "Configuration file, the same for all members; without one the group is this user's on this host");
  command.add_option("--group", options.group,
                     "Name of a group without a file, of a-z, 0-9, _ and -; by default that of the subgroup")
      ->type_name("NAME")
      ->excludes(config);
}

Config load_subgroup_config(const SubgroupCommandOptions& options) {
  if (!options.config.empty()) return load_config(options);
  const std::vector<ConfigOverride> overrides = overrides_of(options);
  if (!options.group.empty()) return value_or_throw(config_without_file(options.group, {options.subgroup}, overrides));
  auto config = config_without_file(options.subgroup, {options.subgroup}, overrides);
  const bool would_do = config || config_without_file("spindrift", {options.subgroup}, overrides);
  if (!config && would_do) refuse_as_group(config.error());
  return value_or_throw(std::move(config));
}

void require_observable(const Config& config, const std::string& name, std::optional<NodeId> source) {
  const SubgroupView found = find_subgroup(config, name, source);
  if (source) require_member(found, *source);
}

SubgroupView require_subgroup(const Config& config, const std::string& name, SubgroupUse use) {
  const NodeId self = config.local_id();
  const SubgroupView found = find_subgroup(config, name, self);
  require_member(found, self);
  if (use == SubgroupUse::send && !found.sender_rank(self)) {
    refuse(fmt::format("--subgroup {}: node {} is not one of its senders", name, self),
           "give --id one of: " + listed(found.senders));
  }
  return found;
}

}  // namespace spindrift::tools
