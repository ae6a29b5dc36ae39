// Tells the application, and whoever asks, for which nodes this process waits while it looks for its group. The poller's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/ids.hpp>
#include <spindrift/views/member.hpp>

namespace spindrift::group {

/// The members that are here and do not take this process in, and where to look for the reason, which nobody tells it.
/// Empty: none is here.
[[nodiscard]] std::string words_of_members(const views::Awaited& awaited);

class JoinReport {
 public:
  using Handler = std::function<void(const std::vector<NodeId>& missing)>;
  using MemoryHandler = std::function<void(const std::string& words)>;

  /// Calls `handler`, if there is one, when the nodes are others than the last time, and `on_memory`, if there is one, when
  /// that is so of what remembering the last view keeps it waiting for, or of members that do not take it in.
  void look(const views::Member& member, const Handler& handler, const MemoryHandler& on_memory);
  /// The same in words: "nodes 0, 2", "a view", "a view: the last view of the group had …". Empty: it does not look for its
  /// group.
  [[nodiscard]] const std::string& words() const noexcept { return words_; }

 private:
  std::optional<std::vector<NodeId>> told_;
  std::size_t apart_ = 0;  // as many were told of
  std::string memory_;  // or, of members, as `words_of_members` has it
  std::string words_;
};

}  // namespace spindrift::group
