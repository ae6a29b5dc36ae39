// A view as one line, for people or as a JSON object.
#pragma once

#include <string>

#include <spindrift/group/group.hpp>

namespace spindrift::tools {

/// "view 3: members 0, 2; joined 2; failed 1 (connection lost)", with the subgroups that cannot work, without end of line.
/// In JSON: {event: "view", node, view, members, joined, left, failed: [{node, reason}], inadequate: [{subgroup, reason}]}.
[[nodiscard]] std::string view_line(const NewView& news, NodeId self, bool json);

}  // namespace spindrift::tools
