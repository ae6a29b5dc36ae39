// The backlog of one connection, which waits to be sent in order: headers and small payloads in memory of its own, large
// payloads where the caller has them.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/fabric/connected/region.hpp>

namespace spindrift::fabric::tcp {

class SendBacklog {
 public:
  /// Something that is over when the bytes of a frame have left.
  struct Done {
    connected::OwnRegion* region = nullptr;  ///< whose bytes they were, which counts one reader less from here on; or null
    std::optional<std::uint64_t> context;    ///< that is told to the caller
  };

  /// Bytes that are copied.
  void add(std::span<const std::byte> bytes);
  /// Bytes that stay where they are until they have left.
  void add_in_place(std::span<const std::byte> bytes);
  /// With what was added last, something is over.
  void end_with(Done done);

  /// The first ranges that wait, at most as many as there is space for; how many there are. They are valid until the next
  /// change.
  [[nodiscard]] std::size_t ranges(std::span<iovec> ranges) const noexcept;
  /// The first `bytes` have left; what is over by that is appended to `over`.
  void left(std::size_t bytes, std::vector<Done>& over);
  /// None of what waits will leave; what that ends is appended to `over`.
  void drop(std::vector<Done>& over);

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t entries() const noexcept { return entries_.size(); }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }

 private:
  /// A range in memory of the caller's, or the next `bytes` of the own memory; or, without bytes, something that is over.
  struct Entry {
    const std::byte* in_place = nullptr;
    std::size_t bytes = 0;
    std::optional<Done> done;
  };

  std::deque<Entry> entries_;
  std::vector<std::byte> own_;  ///< copied bytes, in order
  std::size_t own_begin_ = 0;   ///< before it everything has left
  std::uint64_t bytes_ = 0;
};

}  // namespace spindrift::fabric::tcp
