// Memory that is registered for own operations in a few large steps: regions are carved out of it, and copies of what is on
// its way. So no view change registers what this process writes from.
//
// The invariant to remember: memory to which a peer's write may still be under way is never carved out again. Whether one
// is, nobody can say: the provider keeps its connections to itself, and a closed pair closes none of them.
//
// Belongs to the poller.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include <spindrift/core/fabric/connected/region.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/kernel/pool.hpp>

namespace spindrift::kernel::vq {

/// Reserves address space in steps; what is not touched costs nothing.
class Arena final : public spindrift::fabric::connected::MemorySource {
 public:
  static constexpr std::size_t step_bytes = std::size_t{1} << 30U;
  static constexpr std::size_t page_bytes = 4096;

  ~Arena() override;

  /// From now on memory is registered with that pool, which outlives its use. Errors: as Pool::register_local.
  [[nodiscard]] Result<void> register_with(Pool& pool);

  [[nodiscard]] Result<std::span<std::byte>> take(std::size_t bytes) override;
  void give_back(std::span<std::byte> memory, bool fenced) noexcept override;

  /// For own operations on memory that was taken.
  [[nodiscard]] const MemoryKeys& keys_of(const std::byte* memory) const;
  [[nodiscard]] std::size_t steps() const noexcept { return steps_.size(); }
  /// Address space that is nobody's any more.
  [[nodiscard]] std::uint64_t fenced_bytes() const noexcept { return fenced_bytes_; }

 private:
  struct Step {
    std::span<std::byte> memory;
    MemoryKeys keys;
  };
  [[nodiscard]] Result<void> grow(std::size_t bytes);

  Pool* pool_ = nullptr;
  std::map<const std::byte*, Step> steps_;  ///< by where they begin
  std::map<std::byte*, std::size_t> free_;  ///< their bytes, by where they begin; neighbours in one step are one
  std::uint64_t fenced_bytes_ = 0;
};

/// Pieces of an arena for copies of what is posted, in three sizes; they are kept for the next ones.
class Staging {
 public:
  static constexpr std::size_t bytes_max = 65536 + 64;

  explicit Staging(Arena& arena) : arena_(arena) {}
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

 private:
  friend class Copy;
  static constexpr std::array<std::size_t, 3> sizes{512, 4096 + 64, bytes_max};
  [[nodiscard]] std::byte* take(std::size_t which);

  Arena& arena_;
  std::array<std::vector<std::byte*>, sizes.size()> free_;
};

/// A copy of some bytes in registered memory, or nothing; at most Staging::bytes_max. Outlived by its staging.
class Copy {
 public:
  explicit Copy(Staging& staging) : staging_(&staging) {}
  Copy(Copy&& other) noexcept;
  Copy& operator=(Copy&& other) noexcept;
  ~Copy();

  /// Nothing is there before.
  void assign(const std::byte* begin, const std::byte* end);
  [[nodiscard]] bool empty() const noexcept { return bytes_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }
  [[nodiscard]] const std::byte* data() const noexcept { return memory_; }

 private:
  Staging* staging_;
  std::byte* memory_ = nullptr;
  std::size_t which_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace spindrift::kernel::vq
