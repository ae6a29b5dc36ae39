// The commits of journals, as they lie on the disk: how much was written and synced at once.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace spindrift::bench {

struct Commits {
  std::uint64_t batches = 0;
  std::uint64_t messages = 0;  ///< entries of subgroups
  std::uint64_t bytes = 0;     ///< of the batches, each of which fills whole blocks

  [[nodiscard]] double messages_each() const noexcept {
    return batches == 0 ? 0 : static_cast<double>(messages) / static_cast<double>(batches);
  }
  /// Rounded up.
  [[nodiscard]] std::uint64_t bytes_each() const noexcept { return batches == 0 ? 0 : (bytes + batches - 1) / batches; }
};

/// Reads the journals in these directories, whose processes have ended, and counts the batches that have a message. Throws
/// Exception: refused, resource; bad_input (one cannot be read to its end).
[[nodiscard]] Commits read_commits(std::span<const std::string> directories);

}  // namespace spindrift::bench
