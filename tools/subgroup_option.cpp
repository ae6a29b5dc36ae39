// Checking --subgroup.
#include "subgroup_option.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <spindrift/core/ids_text.hpp>

namespace spindrift::tools {
namespace {

[[noreturn]] void refuse(std::string message, std::string fix) {
  throw Exception(Error(ErrorKind::bad_argument, std::move(message)).fix(std::move(fix)));
}

SubgroupView find_subgroup(const Config& config, const std::string& name) {
  const View view = value_or_throw(config.view());
  const auto found = std::find_if(view.subgroups.begin(), view.subgroups.end(),
                                  [&](const SubgroupView& subgroup) { return subgroup.name == name; });
  if (found == view.subgroups.end()) {
    std::vector<std::string_view> names;
    for (const SubgroupView& subgroup : view.subgroups) names.push_back(subgroup.name);
    refuse(fmt::format("--subgroup {}: {} has no subgroup of that name", name, config.name()),
           "use one of: " + listed(names));
  }
  return *found;
}

void require_member(const SubgroupView& subgroup, NodeId node) {
  if (subgroup.member_position(node)) return;
  refuse(fmt::format("--subgroup {}: node {} is not one of its members", subgroup.name, node),
         "give --id one of: " + listed(subgroup.members));
}

}  // namespace

void require_observable(const Config& config, const std::string& name, std::optional<NodeId> source) {
  const SubgroupView found = find_subgroup(config, name);
  if (source) require_member(found, *source);
}

SubgroupView require_subgroup(const Config& config, const std::string& name, SubgroupUse use) {
  const SubgroupView found = find_subgroup(config, name);
  const NodeId self = config.local_id();
  require_member(found, self);
  if (use == SubgroupUse::send && !found.sender_rank(self)) {
    refuse(fmt::format("--subgroup {}: node {} is not one of its senders", name, self),
           "give --id one of: " + listed(found.senders));
  }
  return found;
}

}  // namespace spindrift::tools
