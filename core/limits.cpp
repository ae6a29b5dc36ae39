// The limits by name, as a shell and getrlimit call them.
#include <spindrift/core/limits.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include <spindrift/core/file_descriptor.hpp>

namespace spindrift {
namespace {

std::string value_of(__rlimit_resource resource, std::uint64_t unit = 1) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "unlimited";
  return std::to_string(limit.rlim_cur / unit);
}

// The kernel tells it as the directory's size since Linux 6.2; to list it takes ten times as long, and a descriptor.
std::optional<std::size_t> descriptors_open() noexcept {
  struct stat about {};
  if (::stat("/proc/self/fd", &about) == 0 && about.st_size > 0) return static_cast<std::size_t>(about.st_size);
  DIR* const listing = ::opendir("/proc/self/fd");
  if (listing == nullptr) return std::nullopt;
  std::size_t open = 0;
  while (const dirent* entry = ::readdir(listing)) open += entry->d_name[0] == '.' ? 0 : 1;
  ::closedir(listing);
  return open - 1;  // the listing's own
}

}  // namespace

Error out_of_descriptors() {
  return Error(ErrorKind::resource,
               "this process has no file descriptors left: it may have " + value_of(RLIMIT_NOFILE) + " (ulimit -n)")
      .fix("raise the limit of open files (ulimit -n); `spindrift doctor` tells how many a member needs");
}

// Opening what is always there needs no descriptor of the caller's that it could copy.
bool descriptors_left() noexcept {
  return static_cast<bool>(FileDescriptor(::open("/", O_PATH | O_CLOEXEC))) || (errno != EMFILE && errno != ENFILE);
}

std::optional<std::size_t> descriptors_free() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  const auto open = descriptors_open();
  if (!open) return errno == EMFILE ? std::optional<std::size_t>(0) : std::nullopt;
  return limit.rlim_cur > *open ? limit.rlim_cur - *open : 0;
}

Error out_of_memory() {
  return Error(ErrorKind::resource, "this process gets no more memory: its address space may have " +
                                        value_of(RLIMIT_AS, 1024) + " KiB (ulimit -v)")
      .fix("raise the limit of address space (ulimit -v), or the memory of the container or the machine");
}

Error out_of_threads(const std::system_error& why) {
  return Error(ErrorKind::resource, std::string("start a thread: ") + why.what())
      .because(Error(ErrorKind::resource, "processes and threads of this user are limited to " + value_of(RLIMIT_NPROC) +
                                              " (ulimit -u), and this process to " + value_of(RLIMIT_AS, 1024) +
                                              " KiB of address space (ulimit -v), of which each stack takes " +
                                              value_of(RLIMIT_STACK, 1024) + " (ulimit -s)")
                   .fix("raise the limit that is reached: ulimit -u, ulimit -v, or the pids of the container"));
}

std::optional<Error> limit_behind(int error_number) {
  switch (error_number) {
    case EMFILE: return out_of_descriptors();
    case ENFILE:
      return Error(ErrorKind::resource, "all processes of this machine together have too many open files")
          .fix("raise the sysctl fs.file-max");
    case ENOMEM: return out_of_memory();
    case ENOSPC:
    case EDQUOT:
      return Error(ErrorKind::resource, "the file system, or this user's share of it, is full")
          .fix("make space there: `df` shows how much there is");
    case EFBIG:
      return Error(ErrorKind::resource, "a file of this process, shared memory counted as one, may have " +
                                            value_of(RLIMIT_FSIZE, 1024) + " KiB (ulimit -f)")
          .fix("raise the limit of file sizes (ulimit -f)");
    default: return std::nullopt;
  }
}

}  // namespace spindrift
