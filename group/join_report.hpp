// Tells the application for which nodes this process waits while it looks for its group. The poller's.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <spindrift/core/ids.hpp>
#include <spindrift/views/member.hpp>

namespace spindrift::group {

class JoinReport {
 public:
  using Handler = std::function<void(const std::vector<NodeId>& missing)>;

  /// Calls `handler`, if there is one, when the nodes are others than the last time.
  void look(const views::Member& member, const Handler& handler);

 private:
  std::optional<std::vector<NodeId>> told_;
};

}  // namespace spindrift::group
