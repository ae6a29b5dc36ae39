// The directory of a node's keys on its host: one rule for the command that makes them and for the members that read them.
#pragma once

#include <string>
#include <string_view>

#include <spindrift/core/ids.hpp>

namespace spindrift {

/// "~" in front stands for the user's home directory, <group> and <id> for the group's name and the node.
inline constexpr std::string_view keys_path_default = "~/.spindrift/<group>/<id>";

/// The directory that such a pattern means; absolute if the pattern is, or begins with "~/".
[[nodiscard]] std::string keys_path(std::string_view pattern, std::string_view group, NodeId node);
/// The directory of all keys of a group by default: the default pattern without the node.
[[nodiscard]] std::string group_keys_path(std::string_view group);

}  // namespace spindrift
