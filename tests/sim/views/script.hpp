// Scenarios as text: who starts, dies, loses touch when, and what must come of it. One line per step; tests/script/README.md
// says which lines there are.
#pragma once

#include <cstdint>
#include <istream>
#include <string>

namespace spindrift::sim {

struct ScriptResult {
  std::string failure;  ///< empty: everything came as expected; else the line and what was there instead
  std::uint64_t events = 0;
  std::uint64_t expectations = 0;
};

[[nodiscard]] ScriptResult run_script(std::istream& script, bool verbose = false, std::uint64_t seed = 1);

}  // namespace spindrift::sim
