// The directory of the files of a group's members on a host: one rule for the processes that write them and those that look.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <spindrift/core/ids.hpp>

namespace spindrift {

inline constexpr std::string_view counters_suffix = ".counters";
inline constexpr std::string_view status_suffix = ".status";
/// A directory of their own in the group's: members are woken by every name that comes into that one, for a peer's socket.
inline constexpr std::string_view status_directory = "status";
inline constexpr std::string_view observers_suffix = ".observers";  ///< of the socket that observers call
inline constexpr std::string_view new_observers_suffix = ".observers.new";
inline constexpr std::string_view roster_suffix = ".roster";  ///< of the socket through which the roster is changed

/// The directory of everything that members of this group keep on this host.
[[nodiscard]] inline std::string group_directory(const std::string& runtime_directory, const std::string& group_name) {
  return runtime_directory + "/" + group_name;
}

/// The name of one node's file in it.
[[nodiscard]] inline std::string node_file_name(NodeId node, std::string_view suffix) {
  return std::to_string(node.value()).append(suffix);
}

/// The node whose file has that name; nothing: no node's has.
[[nodiscard]] inline std::optional<NodeId> node_of_file(std::string_view name, std::string_view suffix) noexcept {
  if (!name.ends_with(suffix)) return std::nullopt;
  const std::string_view digits = name.substr(0, name.size() - suffix.size());
  std::uint32_t id = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), id);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  if (digits.size() > 1 && digits.front() == '0') return std::nullopt;  // nobody of us writes leading zeros
  return NodeId(id);
}

/// The path of a node's status, from the group's directory on.
[[nodiscard]] inline std::string status_file_name(NodeId node) {
  return std::string(status_directory) + "/" + node_file_name(node, status_suffix);
}

}  // namespace spindrift
