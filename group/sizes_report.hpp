// Says by which sizes of rings a node's own file differs from its group, which goes by its own (core/ring_sizes.hpp), and
// when the group takes others. The poller's.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/core/ring_sizes.hpp>
#include <spindrift/core/view.hpp>

namespace spindrift::group {

/// "subgroup orders: window_size is 100 in the group and 200 here, ring_size is …"; empty: they are the same. `here`: of the
/// same subgroups.
[[nodiscard]] std::string differences(std::span<const RingSizes> group, std::span<const RingSizes> here);
/// "subgroup orders: window_size was 256 and is 64, ring_size …"; empty: they are the same.
[[nodiscard]] std::string changes(std::span<const RingSizes> before, std::span<const RingSizes> now);

class SizesReport {
 public:
  /// `here`: as this process's file, or program, has the subgroups of the layout.
  explicit SizesReport(std::vector<RingSizes> here) : here_(std::move(here)) {}

  /// A view begins: logs what it changes, and how it differs from the file, unless that is as in the one before, which is
  /// without sizes if there was none. In words how it differs; empty: in nothing. Valid until the next view.
  [[nodiscard]] const std::string& on_view(const View& before, const View& view);

 private:
  std::vector<RingSizes> here_;
  std::string words_;
};

}  // namespace spindrift::group
