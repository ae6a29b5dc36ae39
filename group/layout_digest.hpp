// Telling programs apart that compose other layouts. A function cannot be compared; what it gives for some views can.
#pragma once

#include <vector>

#include <spindrift/core/config/config.hpp>
#include <spindrift/core/digest.hpp>
#include <spindrift/core/view.hpp>

namespace spindrift::group {

/// A digest over the subgroups that the layout gives for the view of all nodes, and for each view without one of them that
/// may follow it. Programs with different digests have different layouts; with equal ones they may still differ in views
/// that are not among these. A layout that throws for such a view is told by that; for the view of all it throws here.
[[nodiscard]] Digest digest_of_layout(const LayoutFunction& layout, const std::vector<NodeId>& nodes);

/// The digest that members compare where a program has a layout of its own, tried with these nodes, which all members have
/// in common: the configuration's, if its layout gives the same; otherwise over both.
[[nodiscard]] ConfigDigest digest_with_layout(const Config& config, const LayoutFunction& layout,
                                              const std::vector<NodeId>& nodes);

}  // namespace spindrift::group
