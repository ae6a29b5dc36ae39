// The subgroup that a command works on, checked against the configuration before it joins: a mistaken name must not cost
// the others two changes of the view.
#pragma once

#include <string>

#include <spindrift/core/config/config.hpp>

namespace spindrift::tools {

enum class SubgroupUse { receive, send };

/// The subgroup in a view of all members. Throws bad_argument if there is none of that name, or this node is not a member,
/// or not a sender where it must be.
SubgroupView require_subgroup(const Config& config, const std::string& name, SubgroupUse use);

}  // namespace spindrift::tools
