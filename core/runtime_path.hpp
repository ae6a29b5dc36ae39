// Where the files of a group's members lie on a host: one rule for those who write them and those who look for them.
#pragma once

#include <string>
#include <string_view>

#include <spindrift/core/ids.hpp>

namespace spindrift {

inline constexpr std::string_view counters_suffix = ".counters";
inline constexpr std::string_view status_suffix = ".status";

/// The directory of everything that members of this group keep on this host.
[[nodiscard]] inline std::string group_directory(const std::string& runtime_directory, const std::string& group_name) {
  return runtime_directory + "/" + group_name;
}

/// What one node's file in it is called.
[[nodiscard]] inline std::string node_file_name(NodeId node, std::string_view suffix) {
  return std::to_string(node.value()).append(suffix);
}

}  // namespace spindrift
