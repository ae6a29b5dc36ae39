// Reads and writes key files, by descriptor where anything is checked.
#include <spindrift/fabric/tls/key_files.hpp>

#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include <fmt/format.h>

#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/fabric/tls/openssl.hpp>

namespace spindrift::fabric::tls {
namespace {

constexpr off_t text_bytes_max = off_t{4} << 20;     // a list of some ten thousand revoked certificates
constexpr off_t secret_bytes_max = off_t{16} << 10;  // an RSA key of 16384 bits

constexpr mode_t permission_bits = 07777;

Error not_safe(const std::string& path, std::string what, std::string fix) {
  return Error(ErrorKind::bad_config, std::move(what)).at(path).fix(std::move(fix));
}

Result<void> check_owner(const std::string& path, const struct stat& found) {
  if (found.st_uid == ::geteuid() || found.st_uid == 0) return {};
  return not_safe(path, fmt::format("it belongs to user {}, and this process runs as user {}", found.st_uid, ::geteuid()),
                  fmt::format("chown {} {}", ::geteuid(), path));
}

Result<void> check_unwritable(const std::string& path, const struct stat& found) {
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  return not_safe(path, fmt::format("others than its owner may write to it: mode {:04o}", found.st_mode & permission_bits),
                  "chmod go-w " + path);
}

std::string staged_name(const std::string& name) { return "." + name + ".new"; }

/// Reads as many bytes as there are room for; a file that became shorter is an error.
Result<void> read_all(int file, char* to, std::size_t size, const std::string& path) {
  std::size_t at = 0;
  while (at < size) {
    const ssize_t count = ::read(file, to + at, size - at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("read", errno).at(path);
    if (count == 0) return Error(ErrorKind::resource, "it became shorter while it was read").at(path).fix("try again");
    at += static_cast<std::size_t>(count);
  }
  return {};
}

Result<void> write_all(int file, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("write", errno).at(path);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  if (::fsync(file) != 0) return system_error("fsync", errno).at(path);
  return {};
}

Result<std::size_t> size_of(const struct stat& found, off_t most, const std::string& path) {
  if (found.st_size <= most) return static_cast<std::size_t>(found.st_size);
  return not_safe(path, fmt::format("it has {} bytes, more than {}", found.st_size, most), "put the right file there");
}

}  // namespace

Result<SecretText> SecretText::of_size(std::size_t size) {
  protect_private_keys();
  auto* bytes = static_cast<char*>(OPENSSL_secure_zalloc(size + 1));
  if (bytes == nullptr)
    return Error(ErrorKind::resource, fmt::format("there is no memory of {} bytes for a private key", size + 1));
  return SecretText(bytes, size);
}

SecretText::~SecretText() {
  if (bytes_ != nullptr) OPENSSL_secure_clear_free(bytes_, size_ + 1);
}

Result<KeyDirectory> KeyDirectory::open(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0 && errno == ENOENT) {
    return Error(ErrorKind::bad_config, "there are no keys: the directory does not exist")
        .at(path)
        .fix("make them with spindrift keys init, or copy this node's directory from where that was run");
  }
  auto opened = open_guarded_directory(std::filesystem::absolute(path).string(), 0);
  if (!opened) {
    if (const Error* const limit = opened.error().cause())
      return Error(ErrorKind::resource, "the keys cannot be looked at").at(path).because(*limit);
    return not_safe(opened.error().place(), opened.error().message(),
                    "let nobody but this user and root own or write the directories on the way to keys");
  }
  FileDescriptor directory = std::move(*opened);
  if (::fstat(directory.get(), &found) != 0) return system_error("fstat", errno).at(path);
  SPINDRIFT_TRY(check_owner(path, found));
  SPINDRIFT_TRY(check_unwritable(path, found));
  return KeyDirectory(path, std::move(directory));
}

std::optional<FileStamp> KeyDirectory::stamp(const std::string& name) const {
  struct stat found {};
  if (::fstatat(directory_.get(), name.c_str(), &found, 0) != 0) return std::nullopt;
  // The time of the last change of the inode, which no program can set back.
  return FileStamp{found.st_dev, found.st_ino, found.st_size,
                   std::int64_t{found.st_ctim.tv_sec} * 1'000'000'000 + found.st_ctim.tv_nsec};
}

Result<FileDescriptor> KeyDirectory::open_file(const std::string& name) const {
  // Without waiting for a writer, should it be a pipe.
  FileDescriptor file(::openat(directory_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file && errno == ENOENT) {
    return Error(ErrorKind::bad_config, "the file is missing")
        .at(path_of(name))
        .fix("make keys with spindrift keys init or add, and copy the whole directory of this node");
  }
  if (!file) return system_error("open", errno).at(path_of(name));
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) return system_error("fstat", errno).at(path_of(name));
  if (!S_ISREG(found.st_mode)) return not_safe(path_of(name), "it is no ordinary file", "put the right file there");
  SPINDRIFT_TRY(check_owner(path_of(name), found));
  return file;
}

Result<std::string> KeyDirectory::read(const std::string& name) const {
  SPINDRIFT_TRY_ASSIGN(const FileDescriptor file, open_file(name));
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) return system_error("fstat", errno).at(path_of(name));
  SPINDRIFT_TRY(check_unwritable(path_of(name), found));
  SPINDRIFT_TRY_ASSIGN(const std::size_t size, size_of(found, text_bytes_max, path_of(name)));
  std::string text(size, '\0');
  SPINDRIFT_TRY(read_all(file.get(), text.data(), text.size(), path_of(name)));
  return text;
}

Result<SecretText> KeyDirectory::read_secret(const std::string& name) const {
  SPINDRIFT_TRY_ASSIGN(const FileDescriptor file, open_file(name));
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) return system_error("fstat", errno).at(path_of(name));
  if (const mode_t mode = found.st_mode & permission_bits; mode != 0400 && mode != 0600) {
    return not_safe(path_of(name), fmt::format("others may have read the private key: mode {:04o}, not 0400 or 0600", mode),
                    "chmod 0400 " + path_of(name) + ", and if others use this host, spindrift keys rotate");
  }
  SPINDRIFT_TRY_ASSIGN(const std::size_t size, size_of(found, secret_bytes_max, path_of(name)));
  SPINDRIFT_TRY_ASSIGN(SecretText text, SecretText::of_size(size));
  SPINDRIFT_TRY(read_all(file.get(), text.data(), size, path_of(name)));
  return text;
}

Result<void> KeyDirectory::write(std::span<const NewFile> files) const {
  for (const NewFile& file : files) {
    if (auto staged = stage(file); !staged) {
      discard(files);
      return staged;
    }
  }
  for (const NewFile& file : files) {
    if (auto named = name(file); !named) {
      discard(files);
      return named;
    }
  }
  if (::fsync(directory_.get()) != 0) return system_error("fsync", errno).at(path_);
  return {};
}

Result<void> KeyDirectory::stage(const NewFile& file) const {
  const std::string staged = staged_name(file.name);
  // Removes what a crash left behind; every writer holds the lock of the directory's authority.
  if (::unlinkat(directory_.get(), staged.c_str(), 0) != 0 && errno != ENOENT)
    return system_error("unlink", errno).at(path_of(staged));
  const FileDescriptor opened(
      ::openat(directory_.get(), staged.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!opened) return system_error("create", errno).at(path_of(staged));
  SPINDRIFT_TRY(write_all(opened.get(), file.bytes, path_of(staged)));
  if (::fchmod(opened.get(), file.mode) != 0) return system_error("chmod", errno).at(path_of(staged));
  return {};
}

Result<void> KeyDirectory::name(const NewFile& file) const {
  const std::string staged = staged_name(file.name);
  const unsigned flags = file.if_there == IfThere::refuse ? RENAME_NOREPLACE : 0;
  if (::renameat2(directory_.get(), staged.c_str(), directory_.get(), file.name.c_str(), flags) == 0) return {};
  if (errno != EEXIST) return system_error("rename", errno).at(path_of(file.name));
  return Error(ErrorKind::bad_argument, "there is a file of that name, and keys are not overwritten")
      .at(path_of(file.name))
      .fix("use spindrift keys rotate for a new key of the same identity, or move the file away");
}

void KeyDirectory::discard(std::span<const NewFile> files) const {
  for (const NewFile& file : files) ::unlinkat(directory_.get(), staged_name(file.name).c_str(), 0);
}

}  // namespace spindrift::fabric::tls
