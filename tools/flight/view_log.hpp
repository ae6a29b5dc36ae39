// The history of a member of a replay: its views, the messages delivered in each, and how long deliveries stood still
// from one to the next.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/views/upcalls.hpp>

namespace spindrift::tools {

struct ViewEntry {
  std::uint64_t view = 0;
  std::vector<std::uint32_t> members;
  std::vector<std::uint32_t> joined;  ///< for the member's own first view: all others
  std::vector<std::uint32_t> left;
  std::vector<std::string> failed;  ///< "2 (connection lost)"
  std::uint64_t delivered = 0;      ///< messages, at this member
  std::optional<double> gap_ms;     ///< from its last delivery before to its first one in this view, if there are both
};

/// One thread.
class ViewLog {
 public:
  void on_view(const views::NewView& news);
  void on_delivery(std::uint64_t messages, Time now);
  [[nodiscard]] const std::vector<ViewEntry>& entries() const noexcept { return entries_; }

 private:
  std::vector<ViewEntry> entries_;
  std::optional<Time> last_delivery_;
};

}  // namespace spindrift::tools
