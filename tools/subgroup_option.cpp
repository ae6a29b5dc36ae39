// Checking --subgroup.
#include "subgroup_option.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "view_line.hpp"

namespace spindrift::tools {
namespace {

std::string names_of(const View& view) {
  std::string names;
  for (const SubgroupView& subgroup : view.subgroups) names += (names.empty() ? "" : ", ") + subgroup.name;
  return names;
}

[[noreturn]] void refuse(std::string message, std::string fix) {
  throw Exception(Error(ErrorKind::bad_argument, std::move(message)).fix(std::move(fix)));
}

}  // namespace

void require_subgroup(const Config& config, const std::string& name, SubgroupUse use) {
  const View view = value_or_throw(config.view());
  const auto found = std::find_if(view.subgroups.begin(), view.subgroups.end(),
                                  [&](const SubgroupView& subgroup) { return subgroup.name == name; });
  if (found == view.subgroups.end()) {
    refuse(fmt::format("--subgroup {}: {} has no subgroup of that name", name, config.name()),
           "use one of: " + names_of(view));
  }
  const NodeId self = config.local_id();
  if (!found->member_position(self)) {
    refuse(fmt::format("--subgroup {}: node {} is not one of its members", name, self.value()),
           "give --id one of: " + node_list(found->members));
  }
  if (use == SubgroupUse::send && !found->sender_rank(self)) {
    refuse(fmt::format("--subgroup {}: node {} is not one of its senders", name, self.value()),
           "give --id one of: " + node_list(found->senders));
  }
}

}  // namespace spindrift::tools
