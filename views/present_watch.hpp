// The processes that are there while a first view is looked for, as the fabric knows them. Nobody tells of one that ends
// before it was met, so they are looked at again from time to time.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/fabric/fabric.hpp>

namespace spindrift::views {

class PresentWatch {
 public:
  static constexpr Duration look_interval = std::chrono::milliseconds(10);

  /// `fabric` outlives it.
  explicit PresentWatch(const fabric::Fabric& fabric) noexcept : fabric_(fabric) {}

  /// A pass begins: unless it looks, nothing calls for another look.
  void begin_pass() noexcept { next_ = never; }
  /// The nodes as which other processes run at this moment; nothing: nobody knows. As long as one is `awaited` that was seen
  /// less than an interval ago, no other would change anything, and those that were seen then are returned: to look costs
  /// the more the more nodes there are, and each that is heard is a reason to look.
  [[nodiscard]] const std::optional<std::vector<NodeId>>& look(Time now, const std::function<bool(NodeId)>& awaited) {
    const bool recent = nodes_ && now < looked_at_ + look_interval;
    if (!recent || std::ranges::none_of(*nodes_, awaited)) {
      auto present = fabric_.present();
      nodes_ = present ? std::optional(std::move(present).value()) : std::nullopt;
      looked_at_ = now;
    }
    next_ = looked_at_ + look_interval;
    return nodes_;
  }
  /// The nodes that were seen last.
  [[nodiscard]] const std::optional<std::vector<NodeId>>& nodes() const noexcept { return nodes_; }
  /// The time of the next look, if nothing calls for one before.
  [[nodiscard]] Time next_look() const noexcept { return next_; }

 private:
  const fabric::Fabric& fabric_;
  std::optional<std::vector<NodeId>> nodes_;
  Time looked_at_{};
  Time next_ = never;
};

}  // namespace spindrift::views
