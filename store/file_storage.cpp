// System calls relative to a directory that is held open. The lock is one of flock: it belongs to the open file, which no
// forked child gets, so it is gone with the process; and a second storage of the same process does not get it either.
#include <spindrift/store/file_storage.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/store/write_ring.hpp>

namespace spindrift::store {
namespace {

constexpr const char* lock_name = "lock";
constexpr std::size_t name_bytes_max = 64;
constexpr std::size_t zeros_at_once = 256 * block_bytes;
constexpr mode_t writable_by_others = S_IWGRP | S_IWOTH;
/// A pipe of that name must not hold its opener up.
constexpr int open_flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

bool is_name(std::string_view name) noexcept {
  constexpr auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-'; };
  return !name.empty() && name.size() <= name_bytes_max && std::ranges::all_of(name, allowed) &&
         name.find_first_not_of('.') != name.npos;
}

/// The name of a file that is not the lock's, for a system call.
std::string checked(std::string_view name) {
  CHECK(is_name(name) && name != lock_name);
  return std::string(name);
}

/// Calls until no signal interrupts.
template <class Call>
auto uninterrupted(Call call) noexcept {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// The same call may succeed when somebody has done this. Nothing is removed: a segment has what was logged.
std::string fix_of(int error_number, const std::string& path) {
  if (error_number == EROFS) {
    return "mount the file system of " + path + " for writing (mount -o remount,rw), or name another directory in [PERS] "
           "file_path";
  }
  if (error_number != EACCES && error_number != EPERM) return {};
  return "chown " + path + " and its directory to the user that runs the node, and chmod u+rw the one, u+rwx the other";
}

Error not_opened(int error_number, const std::string& path) {
  return system_error("open", error_number).at(path).fix(fix_of(error_number, path));
}

/// The error of a call that makes a file.
Error not_made(std::string_view call, int error_number, const std::string& path) {
  Error error = system_error(call, error_number).at(path);
  if (error_number != ENOSPC && error_number != EDQUOT) return std::move(error).fix(fix_of(error_number, path));
  return Error(ErrorKind::disk_full, error.message())
      .at(path)
      .fix("make space on the file system of " + path + ", or raise the quota there");
}

Result<void> sync_descriptor(int descriptor, const std::string& path) {
  if (uninterrupted([&] { return ::fsync(descriptor); }) == 0) return {};
  return system_error("fsync", errno).at(path);
}

Error no_file(const std::string& path) {
  return Error(ErrorKind::refused, "it is no regular file").at(path).fix("put the file back that was there");
}

Result<void> check_own_file(int file, const std::string& path) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return system_error("fstat", errno).at(path);
  if (!S_ISREG(status.st_mode)) return no_file(path);
  const bool own = status.st_uid == ::geteuid() && (status.st_mode & writable_by_others) == 0;
  if (own) return {};
  return Error(ErrorKind::refused, "it is no file that this user alone may write")
      .at(path)
      .fix("chown it to the user that runs the node, and chmod 600 " + path + "; never remove a segment: it has what was "
           "logged");
}

Result<void> check_own_directory(int directory, const std::string& path) {
  struct stat status {};
  if (::fstat(directory, &status) != 0) return system_error("fstat", errno).at(path);
  if (status.st_uid == ::geteuid() && (status.st_mode & writable_by_others) == 0) return {};
  return Error(ErrorKind::refused, "it is no directory that this user alone may write")
      .at(path)
      .fix("chown it to the user that runs the node, and chmod 700 " + path);
}

/// From now on reads and writes go past the page cache, where the file system can do that.
Result<void> pass_cache(int file, const std::string& path) {
  const int flags = ::fcntl(file, F_GETFL);
  if (flags >= 0 && (::fcntl(file, F_SETFL, flags | O_DIRECT) == 0 || errno == EINVAL)) return {};
  return system_error("fcntl", errno).at(path);
}

class DiskFile final : public StoredFile {
 public:
  /// `ring`: null where writes do not go on beside their caller.
  DiskFile(FileDescriptor file, std::string path, std::uint64_t bytes, bool may_change,
           std::shared_ptr<WriteRing> ring) noexcept
      : file_(std::move(file)), path_(std::move(path)), bytes_(bytes), may_change_(may_change), ring_(std::move(ring)) {}
  // A write that is under way reads its caller's memory.
  ~DiskFile() override { static_cast<void>(finish_write()); }
  DiskFile(const DiskFile&) = delete;
  DiskFile& operator=(const DiskFile&) = delete;

  [[nodiscard]] std::uint64_t bytes() const noexcept override { return bytes_; }

  [[nodiscard]] Result<void> read(std::uint64_t at, std::span<std::byte> to) override {
    check_range(at, to);
    while (!to.empty()) {
      const ssize_t got = uninterrupted([&] { return ::pread(file_.get(), to.data(), to.size(), static_cast<off_t>(at)); });
      if (got < 0) return system_error("pread", errno).at(path_);
      if (got == 0) return Error(ErrorKind::resource, "it became shorter while it was open").at(path_);
      to = to.subspan(static_cast<std::size_t>(got));
      at += static_cast<std::uint64_t>(got);
    }
    return {};
  }

  [[nodiscard]] Result<void> write(std::uint64_t at, std::span<const std::byte> from) override {
    const int error_number = put(at, from, 0);
    if (error_number == 0) return {};
    return system_error("pwritev2", error_number).at(path_);
  }

  [[nodiscard]] Result<void> write_durably(std::uint64_t at, std::span<const std::byte> from) override {
    const int error_number = knows_durable_writes_ ? put(at, from, RWF_DSYNC) : EOPNOTSUPP;
    if (error_number == 0) return {};
    if (error_number != EOPNOTSUPP) return system_error("pwritev2", error_number).at(path_);
    knows_durable_writes_ = false;
    SPINDRIFT_TRY(write(at, from));
    if (uninterrupted([&] { return ::fdatasync(file_.get()); }) == 0) return {};
    return system_error("fdatasync", errno).at(path_);
  }

  // Without a ring it is durable before this returns.
  [[nodiscard]] Result<void> begin_write(std::uint64_t at, std::span<const std::byte> from) override {
    CHECK(may_change_ && begun_.empty());
    check_range(at, from);
    if (!ring_) return write_durably(at, from);
    if (const int error_number = ring_->begin(file_.get(), at, from); error_number != 0)
      return system_error("io_uring_enter", error_number).at(path_);
    begun_ = from;
    begun_at_ = at;
    return {};
  }

  // The ring's write may have been shorter, or one that its file system does not know: the rest is written here.
  [[nodiscard]] Result<void> finish_write() override {
    if (begun_.empty()) return {};
    const auto from = std::exchange(begun_, {});
    const int written = ring_->finish();
    const bool nothing_done = written == -EINTR || written == -EAGAIN || written == -EOPNOTSUPP;
    if (written < 0 && !nothing_done) return system_error("write", -written).at(path_);
    const std::size_t done = nothing_done ? 0 : static_cast<std::size_t>(written) / block_bytes * block_bytes;
    if (done == from.size()) return {};
    return write_durably(begun_at_ + done, from.subspan(done));
  }

  [[nodiscard]] Result<void> sync() override {
    CHECK(may_change_);
    return sync_descriptor(file_.get(), path_);
  }

  /// Sets the space of a new file aside, with zeros in it. Errors: disk_full, resource.
  [[nodiscard]] Result<void> fill() {
    const auto size = static_cast<off_t>(bytes_);
    if (size == 0 || uninterrupted([&] { return ::fallocate(file_.get(), 0, 0, size); }) == 0) return {};
    if (errno != EOPNOTSUPP) return not_made("fallocate", errno, path_);
    const Blocks zeros(std::min<std::uint64_t>(bytes_, zeros_at_once));
    for (std::uint64_t at = 0; at < bytes_; at += zeros.size()) {
      const auto part = std::span(zeros).first(std::min<std::uint64_t>(zeros.size(), bytes_ - at));
      if (const int error_number = put(at, part, 0); error_number != 0) return not_made("pwritev2", error_number, path_);
    }
    return {};
  }

 private:
  void check_range(std::uint64_t at, std::span<const std::byte> memory) const {
    CHECK(at % block_bytes == 0 && memory.size() % block_bytes == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(memory.data()) % block_bytes == 0);
    CHECK(at <= bytes_ && memory.size() <= bytes_ - at);
  }

  /// The error's number, or 0.
  int put(std::uint64_t at, std::span<const std::byte> from, int flags) {
    CHECK(may_change_);
    check_range(at, from);
    while (!from.empty()) {
      const iovec part{const_cast<std::byte*>(from.data()), from.size()};  // NOLINT: the call only reads there
      const ssize_t bytes = uninterrupted([&] { return ::pwritev2(file_.get(), &part, 1, static_cast<off_t>(at), flags); });
      if (bytes <= 0) return bytes < 0 ? errno : EIO;
      from = from.subspan(static_cast<std::size_t>(bytes));
      at += static_cast<std::uint64_t>(bytes);
    }
    return 0;
  }

  FileDescriptor file_;
  std::string path_;
  std::uint64_t bytes_;
  bool may_change_;
  bool knows_durable_writes_ = true;  // the file system; else a sync follows each
  std::shared_ptr<WriteRing> ring_;   // null: there is none
  std::span<const std::byte> begun_;  // is being written
  std::uint64_t begun_at_ = 0;
};

/// The directory, which this user alone may change; `made_max`: as many of its last components may be made.
Result<FileDescriptor> open_directory(const std::string& path, std::size_t made_max) {
  auto directory = open_guarded_directory(path, made_max);
  if (!directory) {
    const Error& why = directory.error();
    if (why.cause() != nullptr) return Error(why.kind(), "the directory of a journal cannot be used").at(path).because(why);
    return Error(why.kind(), "the directory of a journal cannot be used: " + why.message())
        .at(why.place())
        .fix("name in [PERS] file_path, or with --journal, a directory that is this user's and that nobody else may write");
  }
  SPINDRIFT_TRY(check_own_directory(directory->get(), path));
  return directory;
}

}  // namespace

Result<FileStorage> FileStorage::open_at(const std::string& path) {
  const bool was_there = ::access(path.c_str(), F_OK) == 0;
  SPINDRIFT_TRY_ASSIGN(FileDescriptor directory, open_directory(path, 1));
  FileStorage storage(std::move(directory), path);
  SPINDRIFT_TRY(storage.take_lock(!was_there));
  storage.ring_ = WriteRing::make();
  return storage;
}

Result<FileStorage> FileStorage::open_to_read(const std::string& path) {
  SPINDRIFT_TRY_ASSIGN(FileDescriptor directory, open_directory(path, 0));
  return FileStorage(std::move(directory), path);
}

// The lock's file is made when the directory's name is durable: where there is none, an earlier process may have died
// between the two. A directory above that cannot be read is that of somebody who has made this one for us.
Result<void> FileStorage::take_lock(bool is_new) {
  if (::faccessat(directory_.get(), lock_name, F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
    const FileDescriptor above(::openat(directory_.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!above && (is_new || errno != EACCES)) return system_error("open", errno).at(path_ + "/..");
    if (above) SPINDRIFT_TRY(sync_descriptor(above.get(), path_ + "/.."));
  }
  const std::string path = path_ + "/" + lock_name;
  FileDescriptor lock(::openat(directory_.get(), lock_name, O_RDWR | O_CREAT | open_flags, S_IRUSR | S_IWUSR));
  if (!lock) return not_made("open", errno, path);
  lock.keep_from_children();
  SPINDRIFT_TRY(check_own_file(lock.get(), path));
  if (uninterrupted([&] { return ::flock(lock.get(), LOCK_EX | LOCK_NB); }) == 0) {
    lock_ = std::move(lock);
    return {};
  }
  if (errno != EWOULDBLOCK) return system_error("flock", errno).at(path);
  return Error(ErrorKind::refused, "another process has this journal")
      .at(path)
      .fix("end that process, which fuser " + path + " names, or give this one a directory of its own");
}

Result<std::vector<std::string>> FileStorage::names() {
  const int again = ::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);  // closed by closedir
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(again < 0 ? nullptr : ::fdopendir(again), ::closedir);
  if (!entries) return system_error("open", errno).at(path_);
  std::vector<std::string> names;
  errno = 0;
  for (const dirent* entry = nullptr; (entry = ::readdir(entries.get())) != nullptr; errno = 0) {
    const std::string name = entry->d_name;
    if (is_name(name) && name != lock_name) names.push_back(name);
  }
  if (errno != 0) return system_error("readdir", errno).at(path_);
  std::ranges::sort(names);
  return names;
}

Result<std::unique_ptr<StoredFile>> FileStorage::create(std::string_view name, std::uint64_t bytes) {
  CHECK(lock_ && bytes % block_bytes == 0);
  const std::string file_name = checked(name);
  const std::string path = place(name);
  if (::unlinkat(directory_.get(), file_name.c_str(), 0) != 0 && errno != ENOENT)
    return system_error("unlink", errno).at(path);
  FileDescriptor file(
      ::openat(directory_.get(), file_name.c_str(), O_RDWR | O_CREAT | O_EXCL | open_flags, S_IRUSR | S_IWUSR));
  if (!file) return not_made("open", errno, path);
  auto prepared = pass_cache(file.get(), path);
  auto made = std::make_unique<DiskFile>(std::move(file), path, bytes, true, ring_);
  if (prepared) prepared = made->fill();
  if (prepared) return std::unique_ptr<StoredFile>(std::move(made));
  if (::unlinkat(directory_.get(), file_name.c_str(), 0) != 0) return system_error("unlink", errno).at(path);
  return std::move(prepared).error();
}

// A reader beside the writer passes the cache, too: pages that it left there would be in the way of the writer's blocks, and
// the kernel reports that to the writer as a lost write.
Result<std::unique_ptr<StoredFile>> FileStorage::open(std::string_view name) {
  const std::string path = place(name);
  const int access = lock_ ? O_RDWR : O_RDONLY;
  FileDescriptor file(::openat(directory_.get(), checked(name).c_str(), access | open_flags));
  if (!file && errno == ENOENT) return Error(ErrorKind::bad_input, "there is no such file").at(path);
  if (!file && (errno == ELOOP || errno == ENXIO || errno == EISDIR)) return no_file(path);
  if (!file) return not_opened(errno, path);
  SPINDRIFT_TRY(check_own_file(file.get(), path));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return system_error("fstat", errno).at(path);
  const auto bytes = static_cast<std::uint64_t>(status.st_size) / block_bytes * block_bytes;
  SPINDRIFT_TRY(pass_cache(file.get(), path));
  const bool may_change = static_cast<bool>(lock_);
  return std::unique_ptr<StoredFile>(std::make_unique<DiskFile>(std::move(file), path, bytes, may_change, ring_));
}

Result<void> FileStorage::rename(std::string_view from, std::string_view to) {
  CHECK(lock_);
  if (::renameat(directory_.get(), checked(from).c_str(), directory_.get(), checked(to).c_str()) == 0) return {};
  return system_error("rename", errno).at(place(from));
}

Result<void> FileStorage::remove(std::string_view name) {
  CHECK(lock_);
  if (::unlinkat(directory_.get(), checked(name).c_str(), 0) == 0) return {};
  return system_error("unlink", errno).at(place(name));
}

Result<void> FileStorage::sync_names() {
  CHECK(lock_);
  return sync_descriptor(directory_.get(), path_);
}

std::string FileStorage::place(std::string_view name) const { return path_ + "/" + std::string(name); }

}  // namespace spindrift::store
