// The rows of `spindrift top`: what two looks at the files of a group say of its nodes, or of the subgroups of one node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/clock.hpp>

#include "group_counters.hpp"
#include "group_report.hpp"

namespace spindrift::tools {

/// The files of a group at one moment.
struct GroupLook {
  Time at{};
  GroupReport report;
  GroupCounters counters;
};

/// Reads them. Errors: resource if the directory cannot be read.
[[nodiscard]] Result<GroupLook> look_at(const std::string& directory);

struct TopRates {
  double sent = 0;        ///< messages per second
  double sent_bytes = 0;  ///< put into the own rings, per second
  double delivered = 0;   ///< messages per second
  double bytes = 0;       ///< delivered ones per second
};

/// How long messages took, from when they were found committed until every member had delivered them, in microseconds: the
/// bound of the bucket that the percentile lies in, or the greatest number.
struct TopLatency {
  std::uint64_t p50 = 0;
  std::uint64_t p99 = 0;
};

struct TopRow {
  NodeId node;           ///< of a subgroup, whose look at it this is
  std::string subgroup;  ///< empty: a node's row
  std::string state;
  std::optional<ViewId> view;
  std::optional<TopRates> rates;        ///< nothing: it does not run, or began between the looks
  std::optional<TopLatency> latency;    ///< of a subgroup's row; nothing: of no message between the looks
  std::optional<std::uint64_t> behind;  ///< messages that another node here has delivered; nothing: there is none to compare
  std::string waits;                    ///< the handler that holds it up, why a leave or sends wait; empty: nothing does
};

/// By node id.
[[nodiscard]] std::vector<TopRow> node_rows(const GroupLook& before, const GroupLook& now);
/// The subgroups of one node, in the view's order.
[[nodiscard]] std::vector<TopRow> subgroup_rows(const GroupLook& before, const GroupLook& now, NodeId node);

}  // namespace spindrift::tools
