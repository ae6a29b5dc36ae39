// A program's own layout, held to what every view rests on: rows have words for each subgroup by its place, so the subgroups
// and their order are the same whoever the members are.
#pragma once

#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>

namespace spindrift::group {

/// The layout gave other subgroups than before, or in another order. The member whose view that would be has to end.
class LayoutVaries : public Exception {
 public:
  using Exception::Exception;
};

/// The same layout, which throws LayoutVaries (bad_argument) wherever it gives others than for all `nodes`. It is tried for
/// all of these and for all but any one, so that most of such mistakes are found before the group is. Throws that, and what
/// the layout throws for all of them.
[[nodiscard]] LayoutFunction steady(LayoutFunction layout, const std::vector<NodeId>& nodes);

}  // namespace spindrift::group
