// A directory for one run of a command, in memory where possible, or on a disk that is named. What a killed run left is
// removed by the next one: each holds a lock in its directory, which ends with its process.
#pragma once

#include <string>

#include <spindrift/core/file_descriptor.hpp>

namespace spindrift {

class WorkDirectory {
 public:
  /// Makes a directory whose name begins with `prefix`, and removes those of runs of this user that have died; `keep`: this
  /// one outlives its run, and stays. Throws resource.
  WorkDirectory(const std::string& prefix, bool keep);
  /// The same in that directory, which is there.
  WorkDirectory(const std::string& parent, const std::string& prefix, bool keep);
  /// Removes it with everything in it unless it is to be kept.
  ~WorkDirectory();
  WorkDirectory(const WorkDirectory&) = delete;
  WorkDirectory& operator=(const WorkDirectory&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  bool keep_;
  std::string path_;
  FileDescriptor lock_;
};

}  // namespace spindrift
