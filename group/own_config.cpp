// An id for a process to which nobody gave one.
#include <spindrift/group/own_config.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/core/config/contacts.hpp>
#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/group/contacts.hpp>
#include <spindrift/group/roster_service.hpp>

namespace spindrift {
namespace {

/// A member answers at once, unless it is stopped, or its machine busy: then its group's roster remains unknown here, and
/// the id that is taken may be refused.
constexpr Duration roster_patience = std::chrono::seconds(1);

/// The roster of the group that runs on this host; nothing: none does, or none of its members answers.
std::optional<Roster> roster_here(const Config& config) {
  const auto nodes = value_or_throw(fabric::nodes_here(config.runtime_directory(), config.group_name()));
  const auto directory = value_or_throw(GuardedDirectory::open(config.runtime_directory(), config.group_name()));
  return group::newest_roster(directory, nodes, roster_patience);
}

/// The lowest id that is not in it.
std::uint32_t id_beyond(const std::vector<NodeId>& nodes) {
  std::uint32_t id = 0;
  while (std::ranges::find(nodes, NodeId(id)) != nodes.end()) ++id;
  return id;
}

}  // namespace

// The files of a group that runs say nothing of it any more: its members have removed and added nodes since.
OwnConfig::OwnConfig(Config config) : config_(std::move(config)) {
  if (!contacts_of(config_).empty()) {
    value_or_throw(config_.begin_logging());  // for what is told while they are asked
    config_ = group::as_contacts_say(config_, SystemClock());
  }
  if (!takes_free_id(config_)) return;
  std::vector<NodeId> nodes = value_or_throw(config_.view()).members;
  std::string more = "let all of the group's processes name more ids in [SPINDRIFT] members (in its file, or by --set)";
  if (const auto roster = roster_here(config_)) {
    nodes.clear();
    for (const NodeAddress& each : roster->nodes) {
      if (roster->admits(each.node)) nodes.push_back(each.node);
    }
    std::ranges::sort(nodes);
    more = "let another one into it: spindrift group add " + std::to_string(id_beyond(nodes)) + " --group " +
           config_.group_name() + " (with --config FILE if the group has a file)";
  }
  id_.emplace(value_or_throw(fabric::OwnId::take(config_.runtime_directory(), config_.group_name(), nodes, more)));
  config_ = as_node(config_, id_->node());
}

}  // namespace spindrift
