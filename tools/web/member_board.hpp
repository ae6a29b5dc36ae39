// The members that are alive, by the views of a group as this participant sees them, and by what the processes on this host
// say of themselves.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <spindrift/group/group.hpp>

#include "group_report.hpp"

namespace spindrift::tools {

/// Any thread.
class MemberBoard {
 public:
  static constexpr std::size_t news_max = 8;  ///< views that are told of

  /// `flying`: the nodes that replay the flight.
  explicit MemberBoard(const std::vector<NodeId>& flying);
  void on_view(const NewView& news);
  /// The processes of the nodes of this host, as they are now.
  void on_report(const GroupReport& report);
  /// {"view": 3, "members": […], "news": […]}
  [[nodiscard]] nlohmann::json json() const;

 private:
  struct Row {
    bool flies = false;
    std::string state = "expected";  ///< "alive", "stopped", "gone"
    std::string reason{};            ///< why it is gone
    std::uint64_t process = 0;       ///< its id; 0: unknown
  };
  void gone(NodeId node, std::string reason);

  mutable std::mutex mutex_;
  std::map<NodeId, Row> rows_;
  std::deque<std::string> news_;  // the last one first
  std::uint64_t view_ = 0;
};

}  // namespace spindrift::tools
