// Record locks of the kind that belongs to a process (fcntl, F_SETLK). A lock of flock or of an open file description
// belongs to every process that has a descriptor of it, so a child that its parent has forked keeps it when the parent is
// dead; this kind does not. It has two flaws, which the list of held locks makes up for: a process is never in its own way,
// and closing any descriptor of a file drops the process's locks on it. So this process opens no file whose lock it has, and
// one mutex covers each opening and closing together with the list.
#include <spindrift/fabric/node_lock.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <set>
#include <utility>

namespace spindrift::fabric {
namespace {

/// A lock for writing on a whole file, however long it gets.
struct flock whole_file() noexcept {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return whole;
}

bool lock_file(int file, int command) noexcept {
  struct flock whole = whole_file();
  int result = -1;
  while ((result = ::fcntl(file, command, &whole)) != 0 && errno == EINTR) {
  }
  return result == 0;
}

FileDescriptor open_lock(int directory, const std::string& name) noexcept {
  return FileDescriptor(::openat(directory, name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
}

bool still_named(int file, int directory, const std::string& name) noexcept {
  struct stat held {};
  struct stat named {};
  return ::fstat(file, &held) == 0 && ::fstatat(directory, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

Result<void> write_process(int file) {
  const std::string text = std::to_string(::getpid()) + "\n";
  const auto size = static_cast<ssize_t>(text.size());
  if (::ftruncate(file, 0) == 0 && ::pwrite(file, text.data(), text.size(), 0) == size) return {};
  return system_error("write the process id", errno).fix("make space on the file system of the runtime directory");
}

}  // namespace

/// The files that this process has locked. A forked child has a copy, which is true of its parent only.
struct NodeLock::Held {
  std::mutex mutex;
  std::set<Key> keys;
  pid_t process = ::getpid();

  static Held& instance() {
    static Held held;
    return held;
  }
  /// Under the mutex.
  std::set<Key>& of_this_process() {
    if (std::exchange(process, ::getpid()) != ::getpid()) keys.clear();
    return keys;
  }
};

NodeLock::NodeLock(FileDescriptor file, Key key) noexcept
    : file_(std::move(file)), key_(std::move(key)), process_(::getpid()) {}

NodeLock::NodeLock(NodeLock&& other) noexcept = default;

// The descriptor first: once the list lets another in, closing would drop what that one has just locked.
NodeLock::~NodeLock() {
  if (!file_ || !ours()) return;
  Held& held = Held::instance();
  const std::lock_guard lock(held.mutex);
  file_.reset();
  held.of_this_process().erase(key_);
}

bool NodeLock::ours() const noexcept { return process_ == ::getpid(); }

bool NodeLock::named(int directory) const noexcept { return still_named(file_.get(), directory, key_.name); }

std::optional<NodeLock::Key> NodeLock::key_of(int directory, const std::string& name) {
  struct stat status {};
  if (::fstat(directory, &status) != 0) return std::nullopt;
  return Key{status.st_dev, status.st_ino, name};
}

Result<std::optional<NodeLock>> NodeLock::try_take(int directory, const std::string& name) {
  const auto key = key_of(directory, name);
  if (!key) return system_error("fstat", errno);
  Held& held = Held::instance();
  const std::lock_guard lock(held.mutex);
  if (held.of_this_process().contains(*key)) return std::optional<NodeLock>();
  while (true) {
    FileDescriptor file = open_lock(directory, name);
    if (!file) return system_error("open", errno);
    struct stat about {};
    if (::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) {
      return Error(ErrorKind::resource, name + " is there and no regular file, so it cannot be this node's lock")
          .fix("remove it: whoever starts makes its own");
    }
    if (!lock_file(file.get(), F_SETLK)) {
      if (errno == EACCES || errno == EAGAIN) return std::optional<NodeLock>();
      return system_error("lock", errno);
    }
    // A process that ends removes the file before the lock goes: a lock counts only on the file that the name still means.
    if (!still_named(file.get(), directory, name)) continue;
    SPINDRIFT_TRY(write_process(file.get()));
    held.keys.insert(*key);
    return std::optional<NodeLock>(NodeLock(std::move(file), *key));
  }
}

// A file that this process has locked is not opened: to close it would give up the lock.
bool NodeLock::held(int directory, const std::string& name) {
  const auto key = key_of(directory, name);
  Held& held = Held::instance();
  const std::lock_guard lock(held.mutex);
  if (key && held.of_this_process().contains(*key)) return true;
  const FileDescriptor file(::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct flock whole = whole_file();
  return file && ::fcntl(file.get(), F_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

// The kernel knows the holder before that has written its id; where it is in a namespace out of sight, the file tells.
std::optional<pid_t> NodeLock::holder(int directory, const std::string& name) {
  const auto key = key_of(directory, name);
  Held& held = Held::instance();
  const std::lock_guard lock(held.mutex);
  if (key && held.of_this_process().contains(*key)) return ::getpid();
  const FileDescriptor file(::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct flock whole = whole_file();
  if (!file || ::fcntl(file.get(), F_GETLK, &whole) != 0 || whole.l_type == F_UNLCK) return std::nullopt;
  if (whole.l_pid > 0) return whole.l_pid;
  std::array<char, 16> text{};
  const ssize_t bytes = ::pread(file.get(), text.data(), text.size(), 0);
  pid_t process = 0;
  static_cast<void>(std::from_chars(text.data(), text.data() + std::max<ssize_t>(bytes, 0), process));  // or it stays 0
  return process > 0 ? std::optional(process) : std::nullopt;
}

Result<Turn> Turn::wait(int directory, const std::string& name) {
  static std::mutex of_this_process;
  std::unique_lock here(of_this_process);
  FileDescriptor file = open_lock(directory, name);
  if (!file) return system_error("open", errno);
  if (!lock_file(file.get(), F_SETLKW)) return system_error("lock", errno);
  return Turn(std::move(here), std::move(file));
}

}  // namespace spindrift::fabric
