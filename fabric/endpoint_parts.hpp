// The endpoints of every fabric have these in common: keys that nobody can guess, and the checks of an operation before
// anything of its list is executed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <spindrift/fabric/fabric.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric {

/// From the kernel's generator, never 0. Errors: resource.
[[nodiscard]] Result<std::uint64_t> random_word();

/// `use`: "reading", "writing".
[[nodiscard]] Error not_exposed(std::string_view use);

/// A region as a peer exposed it to this endpoint.
struct ExposedRegion {
  std::uint64_t bytes = 0;
  Access access = Access::read;
};

/// Checks an operation to a peer that is there. `target`: its region, nothing if the peer did not expose it; not looked at
/// for a send. Errors: bad_argument.
[[nodiscard]] Result<void> check_operation(const Operation& operation, const Traits& traits,
                                           const std::optional<ExposedRegion>& target);

/// Checks an operation to a peer that is not there; it is dropped if the peer is gone (its `lost` event says so). `newest`:
/// the last peer that there was. Errors: bad_argument.
[[nodiscard]] Result<void> check_absent(PeerId peer, PeerId newest);

}  // namespace spindrift::fabric
