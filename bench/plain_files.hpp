// Plain files on the disk that journals lie on: processes that write blocks there and sync them. This is what the machine
// allows to whoever makes something durable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/core/work_directory.hpp>
#include <spindrift/store/storage.hpp>

namespace spindrift::bench {

/// A directory below another one, on a disk, that goes with this object, and everything in it; or, where a signal ended its
/// process, with the next one there.
class DiskDirectory {
 public:
  /// Throws Exception: resource.
  explicit DiskDirectory(const std::string& above);
  ~DiskDirectory();
  DiskDirectory(const DiskDirectory&) = delete;
  DiskDirectory& operator=(const DiskDirectory&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return directory_->path(); }
  [[nodiscard]] std::string of(std::uint32_t process) const { return path() + "/" + std::to_string(process); }

 private:
  std::optional<WorkDirectory> directory_;
};

/// A file of a size that is set aside when it is made, written from its beginning again when it is full. Past the cache of
/// the kernel where the file system allows that.
class PlainFile {
 public:
  static constexpr std::uint64_t bytes = std::uint64_t{64} << 20U;

  enum class Content { set_aside, written };
  /// Throws Exception: resource.
  PlainFile(const std::string& path, Content content);
  /// Writes these blocks behind the ones before, or at the beginning if there is no space left, and syncs. Throws
  /// Exception: resource.
  void append_and_sync(const store::Blocks& blocks);
  [[nodiscard]] bool has_space(std::uint64_t more) const noexcept { return at_ + more <= bytes; }

 private:
  void write(const store::Blocks& blocks, std::uint64_t at) const;

  FileDescriptor file_;
  std::uint64_t at_ = 0;
};

/// Space that was written once is written faster, and a log that grows has new space each time: so has this one.
class GrowingFile {
 public:
  /// Files are made at that path, with a number behind it. Throws Exception: resource.
  explicit GrowingFile(std::string path);
  /// Throws Exception: resource.
  void append_and_sync(const store::Blocks& blocks);

 private:
  [[nodiscard]] PlainFile next_file();

  std::string path_;
  std::uint64_t number_ = 0;
  PlainFile file_;
};

struct FilesRun {
  std::string directory;        ///< on the disk in question; what is made in it is removed again
  std::uint32_t processes = 1;  ///< each with a file of its own, all at once
  std::uint64_t bytes = 4096;   ///< of each write, in whole blocks that hold them
};

/// Nanoseconds of one write with O_DIRECT and fdatasync to a file that was written before; `writes` of them, one behind the
/// other, in each process. Throws Exception: resource, member_lost, would_block.
[[nodiscard]] std::vector<std::uint64_t> file_latencies_ns(const FilesRun& run, std::uint64_t writes);
/// Nanoseconds of rounds, which all processes begin together, until the last of them has written and synced. Throws
/// likewise.
[[nodiscard]] std::vector<std::uint64_t> file_rounds_ns(const FilesRun& run, std::uint64_t rounds);
/// Batches per second of one process, mean of all: each appends one to a file that grows, and syncs it before the next.
/// Throws likewise.
[[nodiscard]] double file_batches_per_second(const FilesRun& run, Duration duration);

}  // namespace spindrift::bench
