// Locks of files, which the kernel releases with the last process that holds them.
#include <spindrift/core/work_directory.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <spindrift/core/result.hpp>

namespace spindrift {
namespace {

namespace files = std::filesystem;

constexpr const char* lock_name = "lock";

/// It has its name once it is locked, so that nobody takes the directory for one that was left.
FileDescriptor lock_in(const std::string& directory) {
  const std::string made = directory + "/" + lock_name + ".new";
  const std::string name = directory + "/" + lock_name;
  FileDescriptor lock(::open(made.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600));
  if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 || ::rename(made.c_str(), name.c_str()) != 0)
    throw Exception(system_error("lock a file in " + directory, errno));
  return lock;
}

/// The parent directory may be everybody's: what is not this user's own, or is no directory, is left alone.
bool was_left(const files::path& directory) {
  struct stat about {};
  if (::lstat(directory.c_str(), &about) != 0 || !S_ISDIR(about.st_mode) || about.st_uid != ::geteuid()) return false;
  const FileDescriptor lock(::open((directory / lock_name).c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  return lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
}

void remove_left(const files::path& parent, const std::string& prefix) {
  std::error_code ignored;  // another run may remove the same
  for (const auto& entry : files::directory_iterator(parent, ignored)) {
    if (entry.path().filename().string().starts_with(prefix) && was_left(entry.path())) files::remove_all(entry, ignored);
  }
}

std::string memory_directory() {
  return ::access("/dev/shm", W_OK) == 0 ? std::string("/dev/shm") : files::temp_directory_path().string();
}

}  // namespace

WorkDirectory::WorkDirectory(const std::string& prefix, bool keep) : WorkDirectory(memory_directory(), prefix, keep) {}

WorkDirectory::WorkDirectory(const std::string& parent, const std::string& prefix, bool keep) : keep_(keep) {
  remove_left(parent, prefix);
  path_ = (files::path(parent) / (prefix + "XXXXXX")).string();
  if (::mkdtemp(path_.data()) == nullptr) throw Exception(system_error("make a directory in " + parent, errno));
  if (!keep) lock_ = lock_in(path_);
}

WorkDirectory::~WorkDirectory() {
  std::error_code ignored;  // what cannot be removed is in memory or a temporary directory
  if (!keep_) files::remove_all(path_, ignored);
}

}  // namespace spindrift
