// One write that goes on beside its caller, by io_uring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace spindrift::store {

/// Not thread-safe.
class WriteRing {
 public:
  /// Null: this process may not use io_uring, as in many containers.
  [[nodiscard]] static std::unique_ptr<WriteRing> make();
  ~WriteRing();
  WriteRing(const WriteRing&) = delete;
  WriteRing& operator=(const WriteRing&) = delete;

  /// Begins to write, durably; `from` stays until `finish`. Nothing is under way. The error's number, or 0.
  [[nodiscard]] int begin(int file, std::uint64_t at, std::span<const std::byte> from) noexcept;
  /// Waits for it: how many of the bytes, from the first one, are durable; below 0: the error's number, negated.
  [[nodiscard]] int finish() noexcept;

 private:
  struct Ring;
  explicit WriteRing(std::unique_ptr<Ring> ring) noexcept;
  std::unique_ptr<Ring> ring_;
};

}  // namespace spindrift::store
