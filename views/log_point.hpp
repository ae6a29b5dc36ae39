// Places in the logs of subgroups. Plain data.
#pragma once

#include <cstdint>

#include <spindrift/core/digest.hpp>
#include <spindrift/core/ids.hpp>

namespace spindrift::views {

/// A place in a log: behind its first `version` messages.
struct LogPoint {
  std::uint64_t version = 0;
  Digest link{};  ///< of all that lies before it: logs whose links at one version are equal are the same up to there
  friend bool operator==(const LogPoint&, const LogPoint&) = default;
};

/// The end of a node's log of that subgroup.
struct KnownLog {
  SubgroupId subgroup;
  LogPoint end;
  friend bool operator==(const KnownLog&, const KnownLog&) = default;
};

}  // namespace spindrift::views
