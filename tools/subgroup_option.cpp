// Checking --subgroup.
#include "subgroup_option.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <spindrift/core/config/without_file.hpp>
#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/core/ids_text.hpp>
#include <spindrift/group/created_subgroups.hpp>
#include <spindrift/group/roster_service.hpp>

#include "group_option.hpp"
#include "group_report.hpp"

namespace spindrift::tools {
namespace {

constexpr const char* name_rule = "give 1 to 64 of A-Z, a-z, 0-9, _, . and -";

[[noreturn]] void refuse(std::string place, std::string message, std::string fix) {
  throw Exception(Error(ErrorKind::bad_argument, std::move(message)).at(std::move(place)).fix(std::move(fix)));
}

std::string option_of(const std::string& subgroup) { return "--subgroup " + subgroup; }

/// The reason why no subgroup can be created by that name; empty: one can.
std::string fault_of(const std::string& name) {
  if (valid_subgroup_name(name)) return {};
  constexpr std::size_t longest = 64;
  if (name.empty()) return "the name is empty";
  return name.size() > longest ? fmt::format("the name has {} characters", name.size())
                               : fmt::format("\"{}\" has a character that no name has", name);
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

/// The subgroup of a view that lacks nobody: who may be in it does not depend on who is there.
SubgroupView when_all_are_there(const AddedSubgroup& subgroup, std::vector<NodeId> nodes) {
  for (const auto* named : {&subgroup.members, &subgroup.senders}) {
    std::ranges::copy_if(*named, std::back_inserter(nodes),
                         [&](NodeId node) { return std::ranges::find(nodes, node) == nodes.end(); });
  }
  return in_view(subgroup, nodes, nullptr);
}

/// A subgroup as whoever is about to join can know it: its place in the layout, or among those that the group has created.
struct Known {
  View view;                     ///< of all members, and of the node that is to join
  std::optional<Roster> roster;  ///< of members that run here; looked at once, for they may go
  std::optional<SubgroupView> subgroup;
};

Known look_for(const Config& config, const std::string& name, std::optional<NodeId> self) {
  Known known{value_or_throw(config.view()), {}, {}};
  const auto& all = known.view.subgroups;
  if (const auto found = std::ranges::find(all, name, &SubgroupView::name); found != all.end()) {
    known.subgroup = *found;
    return known;
  }
  known.roster = roster_here(config);
  if (self && !known.view.rank_of(*self)) known.view.members.push_back(*self);
  const AddedSubgroup* const created = known.roster ? known.roster->find_added(name) : nullptr;
  if (created != nullptr) known.subgroup = when_all_are_there(*created, known.view.members);
  return known;
}

/// That subgroup; where no member of this host can be asked, others may know it: it is found out in the group.
SubgroupView find_subgroup(const Config& config, const std::string& name, std::optional<NodeId> self) {
  const auto [view, roster, subgroup] = look_for(config, name, self);
  if (subgroup) return *subgroup;
  const std::string fault = fault_of(name);
  if (!roster && fault.empty() && config.fabric() != "shm") {
    SubgroupView unknown = in_view({.name = name}, view.members, nullptr);
    unknown.profile.message_bytes_max = std::numeric_limits<std::uint64_t>::max();
    return unknown;
  }
  std::vector<std::string_view> names;
  for (const SubgroupView& each : view.subgroups) names.push_back(each.name);
  for (std::size_t i = 0; roster && i < roster->added.size(); ++i) {
    if (!roster->added[i].name.empty()) names.push_back(roster->added[i].name);
  }
  if (names.empty()) {
    require_subgroup_name(name, "--subgroup");
    refuse(option_of(name), config.name() + " has no subgroup yet",
           "create it while the group runs: spindrift group create-subgroup " + name);
  }
  const std::string created = !fault.empty() ? ", and none can be created by it: " + fault
                              : roster       ? ", and the group has created none"
                                             : "";
  const std::string create = fault.empty() && roster ? "; or create it: spindrift group create-subgroup " + name : "";
  refuse(option_of(name), config.name() + " has no subgroup of that name" + created,
         "use one of: " + listed(names) + create);
}

/// The subgroup as it is, or else as whoever uses it first creates it.
SubgroupView find_or_expect(const Config& config, const std::string& name, NodeId self) {
  if (auto known = look_for(config, name, self); known.subgroup) return *std::move(known.subgroup);
  AddedSubgroup subgroup;
  subgroup.name = name;
  require_subgroup_name(name, "--subgroup");
  value_or_throw(group::complete(subgroup, config));
  return in_view(subgroup, {self}, nullptr);
}

void require_member(const SubgroupView& subgroup, NodeId node) {
  if (subgroup.member_position(node)) return;
  refuse(option_of(subgroup.name), fmt::format("node {} is not one of its members", node),
         "give --id one of: " + listed(subgroup.members));
}

void require_usable(const SubgroupView& subgroup, NodeId self, SubgroupUse use) {
  require_member(subgroup, self);
  if (use != SubgroupUse::send || subgroup.sender_rank(self)) return;
  refuse(option_of(subgroup.name), fmt::format("node {} is not one of its senders", self),
         "give --id one of: " + listed(subgroup.senders));
}

}  // namespace

void add_subgroup_options(CLI::App& command, SubgroupCommandOptions& options, const std::string& does) {
  command.add_option("subgroup,--subgroup", options.subgroup, "The subgroup " + does)->type_name("NAME")->required();
  CLI::Option* const config =
      add_member_options(command, options)
          ->required(false)
          ->description("Configuration file, the same for all members; without one the group is this user's on this host");
  add_group_name_option(command, options.group,
                        fmt::format("Name of a group without a file, of a-z, 0-9, _ and -; by default {}",
                                    default_group_name))
      ->excludes(config);
}

void require_subgroup_name(const std::string& name, const std::string& place) {
  const std::string fault = fault_of(name);
  if (!fault.empty()) refuse(place, "no subgroup can have that name: " + fault, name_rule);
}

Config load_subgroup_config(const SubgroupCommandOptions& options) {
  if (!options.config.empty()) return load_config(options);
  const std::vector<ConfigOverride> overrides = overrides_of(options);
  return value_or_throw(config_without_file(options.group.empty() ? default_group_name : options.group, {}, overrides));
}

void require_observable(const Config& config, const std::string& name, std::optional<NodeId> source) {
  const SubgroupView found = find_subgroup(config, name, source);
  if (source) require_member(found, *source);
}

SubgroupView require_subgroup(const Config& config, const SubgroupCommandOptions& options, SubgroupUse use) {
  const NodeId self = config.local_id();
  SubgroupView found = options.config.empty() ? find_or_expect(config, options.subgroup, self)
                                              : find_subgroup(config, options.subgroup, self);
  require_usable(found, self, use);
  return found;
}

bool is_of_layout(const Config& config, const std::string& name) {
  const View everybody = value_or_throw(config.view());
  return std::ranges::find(everybody.subgroups, name, &SubgroupView::name) != everybody.subgroups.end();
}

Subgroup& use_subgroup(Group& group, const SubgroupCommandOptions& options) {
  const auto is_there = [&] { return group.view().roster.find_added(options.subgroup) != nullptr; };
  if (!options.config.empty() || is_there()) return group.subgroup(options.subgroup);
  AddedSubgroup subgroup;
  subgroup.name = options.subgroup;
  try {
    return group.create_subgroup(subgroup);
  } catch (const Exception& failure) {
    if (failure.error().kind() != ErrorKind::bad_argument || !is_there()) throw;
    return group.subgroup(options.subgroup);  // another has just created it with values of its own
  }
}

}  // namespace spindrift::tools
