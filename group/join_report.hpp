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

  /// Calls `handler`, if there is one, when the nodes are others than the last time.
  void look(const views::Member& member, const Handler& handler);
  /// The same in words: "nodes 0, 2", "a view". Empty: it does not look for its group.
  [[nodiscard]] const std::string& words() const noexcept { return words_; }

 private:
  std::optional<std::vector<NodeId>> told_;
  std::size_t apart_ = 0;  // as many were told of
  std::string words_;
};

}  // namespace spindrift::group
