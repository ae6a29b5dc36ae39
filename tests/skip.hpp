// How a test says that this machine lacks what it needs: it counts as skipped, never as passed.
#pragma once

#include <string>

namespace spindrift::test {

/// Reports the test case that runs as skipped, and why; the caller returns: `if (!device) return skip("no device");`.
/// A program whose test cases were all skipped, and none failed, ends with skipped_exit_code, which ctest knows.
void skip(const std::string& reason);

constexpr int skipped_exit_code = 77;

}  // namespace spindrift::test
