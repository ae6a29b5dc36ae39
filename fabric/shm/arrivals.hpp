// Events of the directory where the processes of a group meet: nodes begin to listen, and things are taken out of it.
// The kernel reports it, or, where this user has as many instances of inotify as it may (128 by default, and each process
// of a group takes one), the directory is looked at each second.
#pragma once

#include <cstdint>
#include <vector>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/rendezvous.hpp>

namespace spindrift::fabric::shm {

class Arrivals {
 public:
  enum class By : std::uint8_t { nothing, reports, looks };
  struct News {
    std::vector<NodeId> nodes{};        ///< listen since just now
    bool others = false;                ///< and any others may, too
    bool directory_is_elsewhere = false;
    bool taken_out = false;  ///< something was, or may have been: what the dead had left, or what this node needs
  };

  /// From now on; `descriptor` is ready whenever `take` is to be called. Errors: resource.
  [[nodiscard]] Result<void> open(const Rendezvous& rendezvous);
  [[nodiscard]] int descriptor() const noexcept { return source_.get(); }
  [[nodiscard]] By by() const noexcept { return by_; }
  [[nodiscard]] News take() const;

 private:
  [[nodiscard]] News reported() const;

  By by_ = By::nothing;
  FileDescriptor source_;  ///< inotify's, or a timer
};

}  // namespace spindrift::fabric::shm
