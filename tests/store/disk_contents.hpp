// The contents of a simulated disk: files and names as programs see them, as a crash is sure to leave them, and all that was
// written in between. It has no faults and draws nothing: every outcome of a crash is told to it.
//
// The invariant to remember: blocks never change, they are replaced. So copies share them, and a copy costs what differs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/store/storage.hpp>

namespace spindrift::sim {

using BlockBytes = std::array<std::byte, store::block_bytes>;
/// One block; null: zeros that nobody wrote.
using BlockContent = std::shared_ptr<const BlockBytes>;

inline constexpr std::size_t sector_bytes = 512;
inline constexpr std::size_t sectors_per_block = store::block_bytes / sector_bytes;
inline constexpr std::uint8_t all_sectors = 0xff;

/// A copy of that one block.
[[nodiscard]] BlockContent content_of(std::span<const std::byte> block);
/// Copies so many blocks.
[[nodiscard]] std::vector<BlockContent> contents_of(std::span<const std::byte> blocks);
/// A block of which only `sectors` (a bit for each) got from `older` to `newer`. With `garbage` other than 0 the rest holds
/// bytes that follow from it, and of neither.
[[nodiscard]] BlockContent torn_block(const BlockContent& older, const BlockContent& newer, std::uint8_t sectors,
                                      std::uint64_t garbage = 0);

/// One operation on a disk, as it was asked for and accepted.
struct DiskStep {
  enum class Kind : std::uint8_t { create, write, write_durably, sync, rename, remove, sync_names };
  Kind kind = Kind::sync_names;
  std::string name{};                  ///< the file, by the name that it has then; `sync_names`: empty
  std::string other_name{};            ///< `rename`: the new one
  std::uint64_t at = 0;                ///< writes: the first byte
  std::uint64_t bytes = 0;             ///< `create`: the size; writes: how many
  std::vector<BlockContent> blocks{};  ///< writes: what was written
};

/// "write next.segment at 4096, 8192 bytes".
[[nodiscard]] std::string to_string(const DiskStep& step);

/// A file whatever it is called; 0 is none.
using FileNumber = std::uint32_t;
using DiskNames = std::map<std::string, FileNumber, std::less<>>;

/// A change of the directory that is not durable.
struct NameOperation {
  enum class Kind : std::uint8_t { create, rename, remove };
  Kind kind = Kind::create;
  std::string name{};
  std::string other_name{};
  FileNumber file = 0;
};

/// Does it to `names`, unless they lack what it begins from: the file under that name, or its absence.
void apply(const NameOperation& operation, DiskNames& names);

/// A block with what a crash may leave there.
struct UnsyncedBlock {
  struct Version {
    BlockContent content;
    std::uint64_t order = 0;  ///< among all writes of the disk; 0: the durable one
  };
  FileNumber file = 0;
  std::uint64_t block = 0;
  std::vector<Version> versions{};  ///< the durable one, then what was written since
};

/// The state in which a crash leaves what was not durable.
struct CrashOutcome {
  struct BlockFate {
    FileNumber file = 0;
    std::uint64_t block = 0;
    BlockContent content{};
    std::size_t version = 0;             ///< for people: which of its versions; 0: the durable one
    std::uint8_t sectors = all_sectors;  ///< for people: those that are of that version
  };
  DiskNames names{};
  std::set<FileNumber> emptied{};   ///< files that lost their size, and with it all
  std::vector<BlockFate> blocks{};  ///< all others hold what was durable
};

/// For people: one line.
[[nodiscard]] std::string to_string(const CrashOutcome& outcome);

class DiskContents {
 public:
  /// Whatever the step changes. Its file is there.
  void apply(const DiskStep& step);

  /// Makes a file of zeros, in place of one of that name, whose name goes first.
  FileNumber create(std::string_view name, std::uint64_t bytes);
  /// Replaces a block until a crash. One that is `lost` is so only until it ought to be durable.
  void write(FileNumber file, std::uint64_t block, BlockContent content, bool lost = false);
  /// Makes these blocks durable, and the file's size.
  void sync(FileNumber file, const std::set<std::uint64_t>& blocks);
  /// The same of all its blocks.
  void sync(FileNumber file);
  /// A sync that failed: these blocks are durable as said, all others stay as they were, and nobody tries again; but until
  /// a crash the file reads as it was written.
  void drop_unsynced(FileNumber file, std::span<const CrashOutcome::BlockFate> fates);
  /// There is a file of that name.
  void rename(std::string_view from, std::string_view to);
  /// There is a file of that name.
  void remove(std::string_view name);
  void sync_names();

  /// Replaces what is durable there, beneath what is not.
  void damage(FileNumber file, std::uint64_t block, BlockContent content);
  /// Takes back the last write into the block, durable or not.
  void lose_write(FileNumber file, std::uint64_t block);

  /// None: 0.
  [[nodiscard]] FileNumber file_named(std::string_view name) const;
  /// The name that it has; none if it has none any more.
  [[nodiscard]] std::optional<std::string> name_of(FileNumber file) const;
  [[nodiscard]] const DiskNames& names() const noexcept { return names_; }
  [[nodiscard]] const DiskNames& durable_names() const noexcept { return durable_names_; }
  [[nodiscard]] std::span<const NameOperation> unsynced_names() const noexcept { return unsynced_names_; }
  [[nodiscard]] std::uint64_t bytes_of(FileNumber file) const;
  /// The sum of the sizes of the files that have names.
  [[nodiscard]] std::uint64_t bytes_used() const;
  /// As it is read.
  [[nodiscard]] BlockContent block_of(FileNumber file, std::uint64_t block) const;
  /// As a disk holds it for sure.
  [[nodiscard]] BlockContent durable_block_of(FileNumber file, std::uint64_t block) const;
  /// Whether there is a write of it that a crash may take.
  [[nodiscard]] bool is_unsynced(FileNumber file, std::uint64_t block) const;
  /// In the order of their files and numbers: the blocks that are not durable, of the files that have a name in `names`.
  [[nodiscard]] std::vector<UnsyncedBlock> unsynced_blocks(const DiskNames& names) const;
  [[nodiscard]] std::vector<UnsyncedBlock> unsynced_blocks(FileNumber file) const;
  /// The files with a name in `names` whose size is not durable.
  [[nodiscard]] std::vector<FileNumber> unsized_files(const DiskNames& names) const;

  /// The disk behind that crash, where all that there is is durable. Files keep their numbers.
  [[nodiscard]] DiskContents after_crash(const CrashOutcome& outcome) const;

 private:
  struct StoredBlock {
    BlockContent seen{};
    BlockContent durable{};
    BlockContent before{};
  };
  struct UnsyncedWrite {
    std::uint64_t block = 0;
    BlockContent content{};
    std::uint64_t order = 0;
    bool lost = false;
  };
  struct FileState {
    std::uint64_t bytes = 0;
    bool size_durable = false;
    bool dropped = false;                  ///< a sync failed: blocks may read as they are not
    std::vector<StoredBlock> blocks{};     ///< up to the last that was written
    std::vector<UnsyncedWrite> unsynced{};  ///< in their order
  };

  [[nodiscard]] const FileState& state_of(FileNumber file) const;
  /// The same, to be changed: a copy if others share it.
  FileState& changed(FileNumber file);
  static StoredBlock& block_in(FileState& state, std::uint64_t block);
  static void append_unsynced(const FileState& state, FileNumber file, std::vector<UnsyncedBlock>& to);
  void operate(NameOperation operation);

  std::map<FileNumber, std::shared_ptr<FileState>> files_;
  DiskNames names_;
  DiskNames durable_names_;
  std::vector<NameOperation> unsynced_names_;
  FileNumber last_file_ = 0;
  std::uint64_t last_order_ = 0;
};

}  // namespace spindrift::sim
