// Files that hold keys and certificates: read only when nobody else could have written them, or read them where they are
// secret; written so that they are there whole or not at all, and never over another.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric::tls {

/// A text in memory that is kept out of core dumps (see protect_private_keys), and wiped at the end. Move-only.
class SecretText {
 public:
  /// Errors: resource, if there is not so much of that memory.
  [[nodiscard]] static Result<SecretText> of_size(std::size_t size);
  SecretText(SecretText&& other) noexcept
      : bytes_(std::exchange(other.bytes_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  SecretText(const SecretText&) = delete;
  SecretText& operator=(const SecretText&) = delete;
  ~SecretText();

  [[nodiscard]] char* data() noexcept { return bytes_; }
  [[nodiscard]] std::string_view view() const noexcept { return {bytes_, size_}; }

 private:
  SecretText(char* bytes, std::size_t size) noexcept : bytes_(bytes), size_(size) {}

  char* bytes_;
  std::size_t size_;
};

/// The attributes that change when a file is written or replaced.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  std::int64_t changed_ns = 0;

  bool operator==(const FileStamp&) const = default;
};

/// A directory of such files, held open; it and those on the way to it belong to this user or to root, and nobody else may
/// write to it. Files in it may be symbolic links; what counts is the file that they lead to. Not thread-safe.
class KeyDirectory {
 public:
  /// Errors: bad_config, resource.
  [[nodiscard]] static Result<KeyDirectory> open(const std::string& path);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string path_of(std::string_view name) const { return path_ + "/" + std::string(name); }
  /// Nothing if there is no such file, or it cannot be looked at.
  [[nodiscard]] std::optional<FileStamp> stamp(const std::string& name) const;
  /// A file that anybody may read and only its owner writes: this user or root. Errors: bad_config, resource.
  [[nodiscard]] Result<std::string> read(const std::string& name) const;
  /// A file of mode 0400 or 0600 that belongs to this user or root. Errors: bad_config, resource.
  [[nodiscard]] Result<SecretText> read_secret(const std::string& name) const;

  enum class IfThere : std::uint8_t { refuse, replace };
  struct NewFile {
    std::string name;
    std::string_view bytes;
    unsigned mode = 0;
    IfThere if_there = IfThere::refuse;
  };
  /// Writes these files under other names, lets all reach the disk, and only then gives them their names, one right after
  /// the other: files that belong together, as a key and its certificate. Errors: resource, and none has its name; with
  /// `refuse`, bad_argument if there is one of that name, and those before have theirs.
  [[nodiscard]] Result<void> write(std::span<const NewFile> files) const;
  [[nodiscard]] Result<void> write(NewFile file) const { return write(std::span(&file, 1)); }
  [[nodiscard]] int descriptor() const noexcept { return directory_.get(); }

 private:
  KeyDirectory(std::string path, FileDescriptor directory) : path_(std::move(path)), directory_(std::move(directory)) {}

  [[nodiscard]] Result<FileDescriptor> open_file(const std::string& name) const;
  [[nodiscard]] Result<void> stage(const NewFile& file) const;
  [[nodiscard]] Result<void> name(const NewFile& file) const;
  void discard(std::span<const NewFile> files) const;

  std::string path_;
  FileDescriptor directory_;
};

}  // namespace spindrift::fabric::tls
