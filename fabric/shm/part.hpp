// The shm endpoint as the part of a fabric that has another way to peers on other hosts: it lends its sleep to that one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include <spindrift/fabric/part.hpp>
#include <spindrift/fabric/shm/shm.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric::shm {

/// Descriptors that somebody else takes from: -1 for none.
using Beside = std::array<int, 3>;

class LocalPart : public Part {
 public:
  /// The directory in which processes of the group meet, for people.
  [[nodiscard]] virtual const std::string& meeting_place() const noexcept = 0;
  /// After `listen`, once. When one of them becomes readable, the watcher's thread notes it and ends a sleep, and looks at
  /// it again only when told to. Errors: resource.
  [[nodiscard]] virtual Result<void> watch_beside(const Beside& descriptors) = 0;
  /// Those that were readable and are not looked at: 1 for the first, 2, 4. One load.
  [[nodiscard]] virtual std::uint32_t beside_ready() const noexcept = 0;
  /// Looks at these again; one that is readable still is noted at once.
  virtual void watch_again(std::uint32_t which) noexcept = 0;
};

/// As `make_shm`.
[[nodiscard]] Result<std::unique_ptr<LocalPart>> make_part(const ShmOptions& options);

}  // namespace spindrift::fabric::shm
