// A disk in memory that lies as disks do, deterministic under a seed, with `store::Storage` over it.
//
// At a crash each block that was written and not synced is there, is not, or is torn, whatever the order in which they were
// written; of several versions of one block any may be there. Operations on names are there up to some point in their order,
// as a journaling file system keeps them, or any of them (`reordered`). A file whose name is there and that was never synced
// may have no bytes. Beyond that the disk has faults: drawn by the seed (`DiskFaults`), or planted exactly.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/store/storage.hpp>

#include "../sim/random.hpp"
#include "disk_contents.hpp"

namespace spindrift::sim {

/// The faults to draw, each as a count of a million operations (or blocks); 0: never.
struct DiskFaults {
  std::uint64_t failed_reads_in_million = 0;        ///< they report an error
  std::uint64_t failed_writes_in_million = 0;       ///< they report an error; some of their blocks were written
  std::uint64_t failed_syncs_in_million = 0;        ///< what was not durable counts as written from then on, and may be lost
  std::uint64_t flipped_bits_in_million = 0;        ///< syncs behind which one bit of the file is another
  std::uint64_t misdirected_blocks_in_million = 0;  ///< blocks that replace another one of their file
  std::uint64_t lost_blocks_in_million = 0;         ///< blocks that are not there, though a sync said so
};

/// How a crash draws what is left of what was not durable.
struct CrashChoice {
  std::uint64_t there_in_100 = 50;    ///< writes of blocks that are there; of names and sizes 0: none, 100: all
  std::uint64_t torn_in_100 = 10;     ///< of the blocks of which something is there, those of which not all is
  std::uint64_t garbage_in_100 = 25;  ///< of the torn ones, those whose other sectors hold neither the old nor the new
  bool reordered = false;             ///< any name operations that are possible without the others; else the first so many
};

inline constexpr CrashChoice everything_kept{.there_in_100 = 100, .torn_in_100 = 0};
inline constexpr CrashChoice everything_lost{.there_in_100 = 0, .torn_in_100 = 0};

struct DiskCounts {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;  ///< of both kinds
  std::uint64_t syncs = 0;   ///< of files and names, and writes that are durable by themselves
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
};

/// Has to stay where it is while a storage of it is used. Copies are cheap, but for the steps.
class SimulatedDisk {
 public:
  /// Operations that can be told to fail. A `write` is of either kind; a `sync` is a file's, or of a write that is durable.
  enum class Operation : std::uint8_t { list, create, open, read, write, sync, rename, remove, sync_names };
  static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

  /// An empty one.
  explicit SimulatedDisk(std::uint64_t seed, const DiskFaults& faults = {}) : SimulatedDisk(DiskContents{}, seed, faults) {}
  /// One that holds this already.
  SimulatedDisk(DiskContents contents, std::uint64_t seed, const DiskFaults& faults = {});
  /// One on which these steps were done, from an empty one on. It has no steps of its own.
  [[nodiscard]] static SimulatedDisk replay(std::span<const DiskStep> steps);

  /// The disk as one process sees it, until the next crash: then all of its calls fail.
  [[nodiscard]] std::unique_ptr<store::Storage> storage();

  /// Leaves what is drawn. The steps begin anew, and a failed sync of names is forgotten.
  void crash(const CrashChoice& choice);
  /// Leaves exactly this.
  void crash(const CrashOutcome& outcome);
  /// From now on; files that are larger stay.
  void set_capacity(std::uint64_t bytes) noexcept { capacity_ = bytes; }
  void set_faults(const DiskFaults& faults) noexcept { faults_ = faults; }

  /// The next one of these fails, once: with a resource error, and as one that was drawn.
  void fail_next(Operation operation) { failing_.insert(operation); }
  /// That bit of what is durable of the file is another from now on.
  void flip_bit(std::string_view file, std::uint64_t bit);
  /// The block holds what it held before it was written last.
  void lose_block(std::string_view file, std::uint64_t block);
  /// The content that was written last into the one block is in the other instead.
  void misdirect(std::string_view file, std::uint64_t from_block, std::uint64_t to_block);

  /// The operations since the disk was made, or since the last crash: those that were accepted, as they were asked for;
  /// faults are not among them. Of a write that failed, the blocks that were written. A write into a file that has no
  /// name any more is no step.
  [[nodiscard]] std::span<const DiskStep> steps() const noexcept { return steps_; }
  [[nodiscard]] const DiskCounts& counts() const noexcept { return counts_; }
  [[nodiscard]] const DiskContents& contents() const noexcept { return contents_; }

 private:
  class OpenFile;
  class Directory;

  Result<FileNumber> create(std::string_view name, std::uint64_t bytes);
  Result<FileNumber> open(std::string_view name);
  Result<void> read(FileNumber file, std::uint64_t at, std::span<std::byte> to);
  Result<void> write(FileNumber file, std::uint64_t at, std::span<const std::byte> from);
  Result<void> write_durably(FileNumber file, std::uint64_t at, std::span<const std::byte> from);
  Result<void> sync(FileNumber file);
  Result<void> rename(std::string_view from, std::string_view to);
  Result<void> remove(std::string_view name);
  Result<void> sync_names();

  /// Whether this one is to fail.
  [[nodiscard]] bool fails(Operation operation, std::uint64_t in_million = 0);
  /// One was drawn.
  [[nodiscard]] bool drawn(std::uint64_t in_million) { return in_million != 0 && random_.chance(in_million, 1'000'000); }
  /// Writes it, wherever it lands, and returns the blocks that others may see changed.
  std::set<std::uint64_t> write_blocks(FileNumber file, std::uint64_t block, std::span<const BlockContent> contents);
  void write_some(FileNumber file, std::uint64_t at, std::span<const BlockContent> contents);
  /// The file's sync failed: what was not durable is so by chance, and nobody tries again.
  void lose_track(FileNumber file);
  void rot(FileNumber file);
  void record(DiskStep step) { steps_.push_back(std::move(step)); }

  DiskContents contents_;
  Random random_;
  Random crashes_;
  DiskFaults faults_;
  std::uint64_t capacity_ = unlimited;
  std::set<Operation> failing_;
  bool names_failed_ = false;  ///< a sync of names failed: the next ones claim to succeed, and do nothing
  std::uint64_t crash_count_ = 0;
  std::vector<DiskStep> steps_;
  DiskCounts counts_;
};

/// An outcome by that choice. Each that is drawn is legal.
[[nodiscard]] CrashOutcome drawn_outcome(const DiskContents& contents, const CrashChoice& choice, Random& random);

}  // namespace spindrift::sim
