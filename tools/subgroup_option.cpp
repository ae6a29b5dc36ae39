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

}  // namespace

SubgroupView require_subgroup(const Config& config, const std::string& name, SubgroupUse use) {
  const View view = value_or_throw(config.view());
  const auto found = std::find_if(view.subgroups.begin(), view.subgroups.end(),
                                  [&](const SubgroupView& subgroup) { return subgroup.name == name; });
  if (found == view.subgroups.end()) {
    std::vector<std::string_view> names;
    for (const SubgroupView& subgroup : view.subgroups) names.push_back(subgroup.name);
    refuse(fmt::format("--subgroup {}: {} has no subgroup of that name", name, config.name()),
           "use one of: " + listed(names));
  }
  const NodeId self = config.local_id();
  if (!found->member_position(self)) {
    refuse(fmt::format("--subgroup {}: node {} is not one of its members", name, self),
           "give --id one of: " + listed(found->members));
  }
  if (use == SubgroupUse::send && !found->sender_rank(self)) {
    refuse(fmt::format("--subgroup {}: node {} is not one of its senders", name, self),
           "give --id one of: " + listed(found->senders));
  }
  return *found;
}

}  // namespace spindrift::tools
