// The file of a member's status, written beside the poller: a disk may take seconds for it, and a change of the view has
// better to do than to write files.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <spindrift/core/counters.hpp>
#include <spindrift/group/status.hpp>

namespace spindrift::group {

/// Holds the newest status, which a thread of its own writes. What cannot be written is logged, once until it can be again,
/// and is tried again each second; the group goes on. Any thread may call.
class StatusFile {
 public:
  /// Starts the thread. `unwritten_since_ms` shows by the wall clock since when the file is older than the status, because
  /// it could not be written; 0: it is not. Throws resource.
  explicit StatusFile(std::string path, Counter unwritten_since_ms = {});
  /// Tries once more to write what waits.
  ~StatusFile();
  StatusFile(const StatusFile&) = delete;
  StatusFile& operator=(const StatusFile&) = delete;

  /// Has it written soon, instead of one that waits. Waits for no disk.
  void give(MemberStatus status);
  /// Writes it now, instead of one that waits.
  void write(MemberStatus status);
  /// Writes what waits, and returns once nothing is being written. Whether the file is as it was given.
  bool write_waiting();

 private:
  void put(MemberStatus status);
  void run(const std::stop_token& stop);

  const std::string path_;
  std::mutex writing_;  // held while the file is written, so that an older status does not come after a newer one
  Counter unwritten_since_ms_;  // behind `writing_`
  bool failed_ = false;         // behind `writing_`: the log has said so
  std::mutex mutex_;
  std::condition_variable_any given_;
  std::optional<MemberStatus> waiting_;  // behind `mutex_`
  std::jthread thread_;
};

}  // namespace spindrift::group
