// Files on a disk: the storage of a journal in a directory that this user alone may change.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/store/storage.hpp>

namespace spindrift::store {

class WriteRing;

/// A directory on a local disk. Reads and writes go past the page cache where the file system allows it, so the memory of
/// the kernel holds no second copy of the journal, and what is read is what the disk gives. Files that others could write,
/// and links, are refused. Every error has the path as its place. Move-only; the files that it opened may outlive it.
class FileStorage final : public Storage {
 public:
  /// Opens the directory of an absolute path, or makes it, and locks it: one process at a time has it, and no child that it
  /// forks. The directories above must be root's or this user's. Errors: refused (another process has it, or others could
  /// change it), disk_full, resource.
  [[nodiscard]] static Result<FileStorage> open_at(const std::string& path);
  /// The same without the lock, for a look at a directory that a process may be writing: makes nothing, and calls that
  /// change something are bugs. Errors: refused, resource.
  [[nodiscard]] static Result<FileStorage> open_to_read(const std::string& path);

  /// Without the lock's file, and without what no storage gives its files for a name. A link or a pipe is among them: it
  /// stands where a file ought to be, and `open` refuses it.
  [[nodiscard]] Result<std::vector<std::string>> names() override;
  [[nodiscard]] Result<std::unique_ptr<StoredFile>> create(std::string_view name, std::uint64_t bytes) override;
  /// Errors, besides: refused (it is a link, no regular file, somebody else's, or others may write it).
  [[nodiscard]] Result<std::unique_ptr<StoredFile>> open(std::string_view name) override;
  [[nodiscard]] Result<void> rename(std::string_view from, std::string_view to) override;
  [[nodiscard]] Result<void> remove(std::string_view name) override;
  [[nodiscard]] Result<void> sync_names() override;
  [[nodiscard]] std::string place(std::string_view name) const override;

  /// Whether a write can go on beside its caller, by io_uring; where that is not allowed, its caller waits.
  [[nodiscard]] bool writes_beside() const noexcept { return ring_ != nullptr; }

 private:
  FileStorage(FileDescriptor directory, std::string path) noexcept
      : directory_(std::move(directory)), path_(std::move(path)) {}
  [[nodiscard]] Result<void> take_lock(bool is_new);

  FileDescriptor directory_;
  FileDescriptor lock_;  ///< empty: nothing may be changed
  std::string path_;
  std::shared_ptr<WriteRing> ring_;  // of all of its files; null: there is none
};

}  // namespace spindrift::store
