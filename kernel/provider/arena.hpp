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
#include <map>
#include <memory>
#include <span>
#include <vector>

#include <spindrift/fabric/connected/region.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/kernel/pool.hpp>

namespace spindrift::kernel::vq {

namespace connected = spindrift::fabric::connected;

/// Reserves address space in steps; what is not touched costs nothing.
class RegionArena final : public connected::MemorySource {
 public:
  static constexpr std::size_t step_bytes = std::size_t{1} << 30U;
  static constexpr std::size_t page_bytes = 4096;

  ~RegionArena() override;

  /// From now on memory is registered with that pool, which outlives its use. Errors: as Pool::register_local.
  [[nodiscard]] Result<void> register_with(Pool& pool);
  /// The pool is about to go.
  void on_pool_gone() noexcept { pool_ = nullptr; }

  [[nodiscard]] Result<std::span<std::byte>> take(std::size_t bytes) override;
  void give_back(std::span<std::byte> memory, bool fenced) noexcept override;
  [[nodiscard]] Result<void> adopt(std::span<std::byte> memory) override;
  /// Fenced memory stays, with its keeper, as long as the arena.
  void give_up(std::span<std::byte> memory, std::unique_ptr<connected::Registration> keeper, bool fenced) noexcept override;

  /// For own operations on memory that was taken.
  [[nodiscard]] const MemoryKeys& keys_of(const std::byte* memory) const;
  [[nodiscard]] std::size_t steps() const noexcept { return steps_.size(); }
  /// Address space that is nobody's any more.
  [[nodiscard]] std::uint64_t fenced_bytes() const noexcept { return fenced_bytes_; }

 private:
  struct Step {
    std::span<std::byte> memory;
    MemoryKeys keys;
    bool adopted = false;
  };
  [[nodiscard]] Result<void> grow(std::size_t bytes);

  [[nodiscard]] Result<void> add(Step step);

  Pool* pool_ = nullptr;
  std::map<const std::byte*, Step> steps_;  ///< by where they begin
  std::map<std::byte*, std::size_t> free_;  ///< their bytes, by where they begin; neighbors in one step are one
  std::uint64_t fenced_bytes_ = 0;
  std::vector<std::unique_ptr<connected::Registration>> fenced_keepers_;
};

/// Gives a piece back to those that are free.
struct GiveBackPiece {
  std::vector<std::byte*>* free = nullptr;
  void operator()(std::byte* piece) const { free->push_back(piece); }
};

/// A copy of some bytes in registered memory, or nothing. Outlived by its store.
class CopiedBytes {
 public:
  CopiedBytes() = default;
  CopiedBytes(std::byte* piece, std::vector<std::byte*>& free, std::size_t size) : piece_(piece, {&free}), size_(size) {}

  [[nodiscard]] bool empty() const noexcept { return piece_ == nullptr; }
  [[nodiscard]] std::size_t size() const noexcept { return empty() ? 0 : size_; }
  [[nodiscard]] std::byte* data() const noexcept { return piece_.get(); }

 private:
  std::unique_ptr<std::byte, GiveBackPiece> piece_;
  std::size_t size_ = 0;
};

/// Pieces of an arena for copies of what is posted, in three sizes; they are kept for the next ones.
class CopyStore {
 public:
  static constexpr std::size_t bytes_max = 65536 + 64;

  explicit CopyStore(RegionArena& arena) : arena_(arena) {}
  CopyStore(const CopyStore&) = delete;
  CopyStore& operator=(const CopyStore&) = delete;

  /// Copies at most bytes_max. Errors: as RegionArena::take.
  [[nodiscard]] Result<CopiedBytes> copy(std::span<const std::byte> bytes);

 private:
  static constexpr std::array<std::size_t, 3> sizes{512, 4096 + 64, bytes_max};

  RegionArena& arena_;
  std::array<std::vector<std::byte*>, sizes.size()> free_;
};

}  // namespace spindrift::kernel::vq
