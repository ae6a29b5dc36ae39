// The lines of `spindrift node`: a view for people or as a JSON object, and other events as such.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include <spindrift/group/group.hpp>

namespace spindrift::tools {

/// "view 3: members 0, 2; joined 2; failed 1 (connection lost)", with the subgroups that cannot work, without end of line;
/// of a view that nobody joined or left the edition of its roster, for which it was. JSON: as docs/schemas/node.json has it.
[[nodiscard]] std::string view_line(const NewView& news, NodeId self, bool json);
/// An event as a line of JSON, with its version, without end of line.
[[nodiscard]] std::string event_line(nlohmann::json event);

}  // namespace spindrift::tools
