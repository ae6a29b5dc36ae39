// The subgroup that a command works on, checked against the configuration before it joins: a mistaken name must not cost
// the others two changes of the view.
#pragma once

#include <optional>
#include <string>

#include <spindrift/core/config/config.hpp>

namespace spindrift::tools {

enum class SubgroupUse { receive, send };

/// That the subgroup is there, and the member that is to be observed is in it. Throws bad_argument otherwise.
void require_observable(const Config& config, const std::string& name, std::optional<NodeId> source);
/// The subgroup in a view of all members. Throws bad_argument if there is none of that name, or this node is not a member,
/// or not a sender where it must be.
SubgroupView require_subgroup(const Config& config, const std::string& name, SubgroupUse use);

}  // namespace spindrift::tools
