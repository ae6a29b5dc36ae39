// Tells the application, and whoever asks, for which nodes this process waits while it looks for its group. The poller's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/ids.hpp>
#include <spindrift/views/member.hpp>

namespace spindrift::group {

class JoinReport {
 public:
  using Handler = std::function<void(const std::vector<NodeId>& missing)>;
  using MemoryHandler = std::function<void(const std::string& words)>;

  /// Calls `handler`, if there is one, when the nodes are others than the last time, and `on_memory`, if there is one, when
  /// that is so of what remembering the last view keeps it waiting for.
  void look(const views::Member& member, const Handler& handler, const MemoryHandler& on_memory);
  /// The same in words: "nodes 0, 2", "a view", "a view: the last view of the group had …". Empty: it does not look for its
  /// group.
  [[nodiscard]] const std::string& words() const noexcept { return words_; }

 private:
  std::optional<std::vector<NodeId>> told_;
  std::size_t apart_ = 0;  // as many were told of
  std::string memory_;
  std::string words_;
};

}  // namespace spindrift::group
