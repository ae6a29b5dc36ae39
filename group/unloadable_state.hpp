// The error of a member that is given a state which it cannot take.
#pragma once

#include <spindrift/core/result.hpp>

namespace spindrift::group {

/// A state comes for a subgroup whose handlers take none, or it is no state. The member cannot go on as the others do.
class UnloadableState : public Exception {
 public:
  using Exception::Exception;
};

}  // namespace spindrift::group
