// The end of a view alone, by members whose passes overlap. In a run of a whole group a pass is one moment; where rows are
// mapped, a member reads word by word while the owners go on storing. Here every word of a row may be newer than the one
// that was read before it, as far as the documented orders allow (docs/protocol.md): stores in their order within a pass,
// reads in theirs. Members crash between two stores, suspect the dead, and sometimes each other.
#pragma once

#include <cstdint>
#include <string>

namespace spindrift::sim {

struct TornPassesResult {
  std::uint64_t passes = 0;
  std::uint64_t torn = 0;     ///< passes over a row that changed meanwhile
  std::uint64_t decided = 0;  ///< members that know how their view ended
  std::uint64_t stuck = 0;    ///< members without a majority
  std::string failure;        ///< invariant, and what; empty: none was violated
};

/// One view of 3 to 7 members, to its end. A function of the seed.
[[nodiscard]] TornPassesResult run_torn_passes(std::uint64_t seed);

}  // namespace spindrift::sim
