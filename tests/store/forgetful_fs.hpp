// A file system for tests that loses what no sync has made durable, for the kernel's view of what a program syncs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include <spindrift/core/result.hpp>

struct fuse_session;

namespace spindrift::store {

/// Goes into a namespace of mounts of this process's own: what it mounts there is gone with it and its children, whatever
/// happens to them. Whether it could.
[[nodiscard]] bool enter_own_mounts();

/// A directory without others in it, of files in the memory of a process of its own. A file's bytes and its size are durable
/// after fsync and fdatasync, those of a write with O_DSYNC or RWF_DSYNC at once, names after fsync of the directory; and
/// nothing else is.
class ForgetfulMount {
 public:
  struct Options {
    bool has_fallocate = true;
    std::uint64_t bytes_max = std::numeric_limits<std::uint64_t>::max();  ///< of all files; then the disk is full
  };

  /// Mounts it over an empty directory. Errors: unsupported (not on this machine, or not for this user).
  [[nodiscard]] static Result<std::unique_ptr<ForgetfulMount>> mount(const std::string& directory, Options options);
  /// Unmounts, and ends the process, also while files are open.
  ~ForgetfulMount();
  ForgetfulMount(const ForgetfulMount&) = delete;
  ForgetfulMount& operator=(const ForgetfulMount&) = delete;

  /// Forgets what is not durable, before it returns. What is still open has no file any more.
  void forget();

 private:
  ForgetfulMount(std::string directory, fuse_session* session, pid_t process)
      : directory_(std::move(directory)), session_(session), process_(process) {}

  std::string directory_;
  [[maybe_unused]] fuse_session* session_;  // without libfuse there is none; this process has no more of it than the mount
  [[maybe_unused]] pid_t process_;
};

}  // namespace spindrift::store
