// The seam between the journal and the disk: a flat directory of files, with an account of what a crash may take.
// `FileStorage` is the one for disks; the tests have one that lies as disks do. Another implementation is proved with
// `conformance.hpp`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/result.hpp>

namespace spindrift::store {

/// The unit in which files are read and written, and in which a disk tears: at a crash each block of a write that was not
/// yet durable is there, is not, or is damaged, apart from all others.
inline constexpr std::size_t block_bytes = 4096;

/// The least count of whole blocks that holds so many bytes, in bytes.
[[nodiscard]] constexpr std::uint64_t whole_blocks(std::uint64_t bytes) noexcept {
  return (bytes + block_bytes - 1) / block_bytes * block_bytes;
}

/// Hands out memory that begins at a multiple of `block_bytes`, as a disk reads and writes it without a copy.
template <class T>
struct BlockAllocator {
  using value_type = T;
  BlockAllocator() noexcept = default;
  template <class U>
  BlockAllocator(const BlockAllocator<U>&) noexcept {}  // NOLINT: implicit, as containers want it
  [[nodiscard]] T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t(block_bytes)));
  }
  void deallocate(T* memory, std::size_t) noexcept { ::operator delete(memory, std::align_val_t(block_bytes)); }
  friend bool operator==(BlockAllocator, BlockAllocator) noexcept { return true; }
};

/// Bytes for reads and writes. Zero where it grew.
using Blocks = std::vector<std::byte, BlockAllocator<std::byte>>;

/// One open file. Places and sizes are whole blocks, and so is the memory; all of them lie within `bytes()`: a file has its
/// size from its making. Not thread-safe. Errors of all calls: resource, for good: after a failed write or sync nobody knows
/// what is on the disk, and trying again proves nothing, for the kernel counts the lost bytes as written.
class StoredFile {
 public:
  virtual ~StoredFile() = default;
  /// Its size; a multiple of `block_bytes`.
  [[nodiscard]] virtual std::uint64_t bytes() const noexcept = 0;
  /// Takes what was written there last, or zeros; after a crash what is left of it.
  [[nodiscard]] virtual Result<void> read(std::uint64_t at, std::span<std::byte> to) = 0;
  /// Is read from now on. A crash before a `sync` may take any of its blocks, whatever others it leaves.
  [[nodiscard]] virtual Result<void> write(std::uint64_t at, std::span<const std::byte> from) = 0;
  /// The same, and these bytes are durable when it returns. Nothing is said of earlier writes.
  [[nodiscard]] virtual Result<void> write_durably(std::uint64_t at, std::span<const std::byte> from) = 0;
  /// Begins the same, where that can go on beside the caller; `from` stays as it is until `finish_write`, and nothing else
  /// is asked of the file before. A crash before that has made of it what it likes.
  [[nodiscard]] virtual Result<void> begin_write(std::uint64_t at, std::span<const std::byte> from) = 0;
  /// The write that was begun is durable when it returns.
  [[nodiscard]] virtual Result<void> finish_write() = 0;
  /// Everything that was written into the file, and its size, is durable when it returns; its name is not.
  [[nodiscard]] virtual Result<void> sync() = 0;
};

/// A directory of files that belongs to the holder of this object alone. Names are lower case, digits, '.' and '-',
/// 1 to 64 of them. Not thread-safe.
class Storage {
 public:
  virtual ~Storage() = default;
  /// Its files, in the order of their names. Errors: resource.
  [[nodiscard]] virtual Result<std::vector<std::string>> names() = 0;
  /// Makes a file of that size, of zeros, for which the space is set aside: a write into it never finds the disk full. In
  /// place of one of that name. Its name is durable after `sync_names`, what is in it after `sync`. Errors: disk_full
  /// (nothing was made), resource.
  [[nodiscard]] virtual Result<std::unique_ptr<StoredFile>> create(std::string_view name, std::uint64_t bytes) = 0;
  /// Part of a block at a file's end, which nothing here wrote, is none of it. Errors: bad_input (there is none), resource.
  [[nodiscard]] virtual Result<std::unique_ptr<StoredFile>> open(std::string_view name) = 0;
  /// Gives it another name, in place of the file that had it. After a crash before `sync_names` it has the one or the other,
  /// and a file that it replaces is whole until then. Errors: resource.
  [[nodiscard]] virtual Result<void> rename(std::string_view from, std::string_view to) = 0;
  /// Takes its name away. After a crash before `sync_names` it may be there again. Errors: resource.
  [[nodiscard]] virtual Result<void> remove(std::string_view name) = 0;
  /// All names are durable when it returns. Errors: resource, for good.
  [[nodiscard]] virtual Result<void> sync_names() = 0;
  /// For people: where it is.
  [[nodiscard]] virtual std::string place(std::string_view name) const = 0;
};

}  // namespace spindrift::store
