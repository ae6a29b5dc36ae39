// The walk from the root. It never uses a path of more than one component: a user who could change what such a path means
// between the look and the use would be one of those whom the look is to keep out.
#include <spindrift/core/guarded_directory.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <fstream>
#include <vector>

#include <spindrift/core/limits.hpp>

namespace spindrift {
namespace {

constexpr std::size_t links_max = 40;  // as the kernel's own walk
constexpr uid_t overflow_user = 65534;
constexpr mode_t writable_by_others = S_IWGRP | S_IWOTH;

/// Whether the user's number stands for all those that this process's user namespace has no number for.
bool stands_for_unmapped(uid_t user) {
  if (user != overflow_user) return false;
  std::ifstream map("/proc/self/uid_map");
  std::uint64_t first = 0;
  std::uint64_t outside = 0;
  std::uint64_t count = 0;
  while (map >> first >> outside >> count) {
    if (user >= first && user - first < count) return false;
  }
  return true;
}

bool is_mount_point(int directory) {
  struct statx status {};
  return ::statx(directory, "", AT_EMPTY_PATH, 0, &status) == 0 && (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

/// Root and this user. In a container without the host's root, such as one that shares /dev/shm with the host, an owner may
/// have no number; what is mounted there is then trusted, since only who made the container can have mounted it.
bool trusted_owner(const struct stat& status, int file) {
  if (status.st_uid == 0 || status.st_uid == ::geteuid()) return true;
  return S_ISDIR(status.st_mode) && stands_for_unmapped(status.st_uid) && is_mount_point(file);
}

Error foreign(const char* what, uid_t owner) {
  return Error(ErrorKind::refused, std::string("the ") + what + " belongs to user " + std::to_string(owner) +
                                       ", this process runs as user " + std::to_string(::geteuid()))
      .fix("run all processes of the group as one user, and choose a runtime directory whose directories are root's or that "
           "user's");
}

class Walk {
 public:
  Walk(const std::string& path, std::size_t made_max) : made_max_(made_max) { ahead(path); }

  Result<FileDescriptor> run() {
    SPINDRIFT_TRY(to_root());
    while (!ahead_.empty()) {
      const std::string name = std::move(ahead_.back());
      ahead_.pop_back();
      SPINDRIFT_TRY(enter(name));
    }
    FileDescriptor readable(::openat(at_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!readable) return failed("open", errno);
    return readable;
  }

 private:
  /// Puts the components of a path before those that are still to come.
  void ahead(const std::string& path) {
    std::vector<std::string> components;
    for (std::size_t from = 0; from < path.size();) {
      const std::size_t to = std::min(path.find('/', from), path.size());
      if (to > from) components.push_back(path.substr(from, to - from));
      from = to + 1;
    }
    ahead_.insert(ahead_.end(), components.rbegin(), components.rend());
  }

  // A limit of the process names its own fix, and another directory would be no help.
  Error failed(const char* call, int error_number) const {
    Error error = system_error(call, error_number).at(shown_);
    if (limit_behind(error_number)) return error;
    return std::move(error).fix("choose a runtime directory that this user may write");
  }

  Error missing() const {
    std::string parents = shown_;
    for (std::size_t i = ahead_.size(); i > made_max_; --i) parents += "/" + ahead_[i - 1];
    return system_error("open", ENOENT)
        .at(shown_)
        .fix("mkdir -m 700 -p " + parents + ", for a member makes only the runtime directory itself; or choose another");
  }

  Result<void> to_root() {
    shown_ = "/";
    at_ = FileDescriptor(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!at_) return failed("open", errno);
    return look(at_, "/");
  }

  Result<void> enter(const std::string& name) {
    const std::string before = shown_ == "/" ? "" : shown_;
    shown_ = before + "/" + name;
    FileDescriptor next = open_here(name);
    if (!next && errno == ENOENT && ahead_.size() < made_max_) {
      if (::mkdirat(at_.get(), name.c_str(), S_IRWXU) != 0 && errno != EEXIST) return failed("mkdir", errno);
      next = open_here(name);
    }
    if (!next && errno == ENOENT) return missing();
    if (!next) return failed("open", errno);
    struct stat status {};
    if (::fstat(next.get(), &status) != 0) return failed("fstat", errno);
    if (S_ISLNK(status.st_mode)) return follow(next, status, before);
    SPINDRIFT_TRY(look(next, shown_));
    at_ = std::move(next);
    return {};
  }

  FileDescriptor open_here(const std::string& name) const {
    return FileDescriptor(::openat(at_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  }

  Result<void> look(const FileDescriptor& directory, const std::string& shown) const {
    struct stat status {};
    if (::fstat(directory.get(), &status) != 0) return failed("fstat", errno);
    if (!S_ISDIR(status.st_mode)) {
      return Error(ErrorKind::resource, "it is no directory").at(shown).fix("choose another runtime directory");
    }
    if (!trusted_owner(status, directory.get())) return foreign("directory", status.st_uid).at(shown);
    // In a sticky directory only the owner of an entry, who is looked at next, and the directory's can rename or remove it.
    if ((status.st_mode & writable_by_others) != 0 && (status.st_mode & S_ISVTX) == 0) {
      return Error(ErrorKind::refused, "others than its owner may write the directory, and so replace what is in it")
          .at(shown)
          .fix("chmod go-w " + shown + ", or choose another runtime directory");
    }
    return {};
  }

  Result<void> follow(const FileDescriptor& link, const struct stat& status, const std::string& before) {
    if (!trusted_owner(status, link.get())) return foreign("link", status.st_uid).at(shown_);
    if (++links_ > links_max) return failed("open", ELOOP);
    std::array<char, PATH_MAX> target{};
    const ssize_t length = ::readlinkat(link.get(), "", target.data(), target.size());
    if (length <= 0 || static_cast<std::size_t>(length) == target.size()) return failed("readlink", errno);
    ahead({target.data(), static_cast<std::size_t>(length)});
    if (target.front() == '/') return to_root();
    shown_ = before.empty() ? "/" : before;
    return {};
  }

  std::size_t made_max_;
  std::vector<std::string> ahead_;  ///< the last is the next
  FileDescriptor at_;
  std::string shown_;
  std::size_t links_ = 0;
};

}  // namespace

Result<FileDescriptor> open_guarded_directory(const std::string& path, std::size_t made_max) {
  return Walk(path, made_max).run();
}

Result<GuardedDirectory> GuardedDirectory::open(const std::string& runtime_directory, const std::string& name) {
  const std::string path = runtime_directory + "/" + name;
  SPINDRIFT_TRY_ASSIGN(FileDescriptor directory, open_guarded_directory(path, 2));
  struct stat status {};
  if (::fstat(directory.get(), &status) != 0) return system_error("fstat", errno).at(path);
  if (status.st_uid != ::geteuid()) return foreign("directory", status.st_uid).at(path);
  if ((status.st_mode & writable_by_others) != 0) {
    return Error(ErrorKind::refused, "others than its owner may write the directory").at(path).fix("chmod 700 " + path);
  }
  return GuardedDirectory(std::move(directory), path);
}

std::string GuardedDirectory::through(std::string_view file_name) const {
  return "/proc/self/fd/" + std::to_string(descriptor()) + "/" + std::string(file_name);
}

}  // namespace spindrift
