// A fabric that misbehaves on purpose, within what its promises allow: it delays, tears, pauses and loses, by a plan and a
// seed. What it never breaks are the guarantees that the inner provider's traits state.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric {

/// From `from` on, nothing passes over the link with `node` that exists then, in either direction; `reported_after` later
/// both sides see it `lost`. A link made after that works.
struct LinkLoss {
  NodeId node;
  Time from;
  Duration reported_after{0};
};

/// The endpoint stands still: nothing is posted, polled or notified in [from, until). Its memory stays visible and writable
/// to others, as that of a stopped process.
struct Pause {
  Time from;
  Time until;
};

/// The plan of what goes wrong, and when. A default plan changes nothing but that it hides mappings.
struct FaultPlan {
  /// Same seed, same plan, same calls at the same times: same faults.
  std::uint64_t seed = 0;

  /// Every posted operation waits a random time of this range before it acts. Operations to one peer keep their order. At
  /// least 0, the first not above the second.
  Duration delay_min{0};
  Duration delay_max{0};

  /// A write acts 64-byte line by line, in random order. All its lines have acted before the next operation to that peer.
  bool torn_writes = false;
  /// The longest random time between two lines of a torn write. At least 0.
  Duration line_gap_max{0};

  /// A `completed` event comes at once, long before the operation acts, as on a network; `visible_on_completion` is then
  /// false. Not for reads, whose completion means that the bytes are here.
  bool early_completion = false;

  /// `mappable` is false, so that rows are mirrored by writes. Stores into mapped memory cannot be delayed or torn.
  bool hide_mapping = true;

  /// Links that break, in any order of time; several of one node break whichever link exists then.
  std::vector<LinkLoss> losses{};
  /// When this endpoint stands still; may overlap.
  std::vector<Pause> pauses{};
};

/// Decorates `inner`. The faults act when the poller calls `post`, `poll` or `sleep`; a sleep may end early for one. `clock`
/// outlives the endpoint. Errors: bad_argument (a range of the plan).
[[nodiscard]] Result<std::unique_ptr<Fabric>> make_fault(std::unique_ptr<Fabric> inner, FaultPlan plan, const Clock& clock);

}  // namespace spindrift::fabric
