// One write after the other, each of the newest status.
#include <spindrift/group/status_file.hpp>

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/core/limits.hpp>
#include <spindrift/core/log.hpp>

namespace spindrift::group {
namespace {

/// The time that this thread has had a CPU for: what it waited for one is no cost to anybody.
std::chrono::nanoseconds time_of_this_thread() noexcept {
  timespec time{};
  CHECK(::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

/// Memory that runs out is an error like a full disk: it may come back. A directory that somebody removed is made anew.
Result<void> write_with_memory(const std::string& path, const MemberStatus& status) {
  try {
    const std::string directory = path.substr(0, path.rfind('/'));
    if (::access(directory.c_str(), F_OK) != 0) static_cast<void>(::mkdir(directory.c_str(), 0700));
    return write_status_unless_over(path, status);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

}  // namespace

StatusFile::StatusFile(std::string path, Counter unwritten_since_ms)
    : path_(std::move(path)), unwritten_since_ms_(unwritten_since_ms) {
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  } catch (const std::system_error& why) {
    throw Exception(out_of_threads(why));
  }
}

StatusFile::~StatusFile() {
  thread_.request_stop();
  thread_.join();
  write_waiting();
}

void StatusFile::give(MemberStatus status) {
  put(std::move(status));
  given_.notify_one();
}

void StatusFile::write(MemberStatus status) {
  put(std::move(status));
  if (!write_waiting()) given_.notify_one();
}

void StatusFile::put(MemberStatus status) {
  const std::lock_guard lock(mutex_);
  waiting_ = std::move(status);
}

bool StatusFile::write_waiting() {
  const std::lock_guard writing(writing_);
  std::optional<MemberStatus> status;
  {
    const std::lock_guard lock(mutex_);
    status = std::exchange(waiting_, std::nullopt);
  }
  if (!status) return true;
  const auto written = write_with_memory(path_, *status);
  if (!written) {
    const std::lock_guard lock(mutex_);
    if (!waiting_) waiting_ = std::move(status);
  }
  if (std::exchange(failed_, !written) != written.ok()) return written.ok();  // as it was the last time
  unwritten_since_ms_.set(written ? 0 : wall_clock_ms());
  if (!written)
    log::warn(log::Room::group, "the status file cannot be written", {{"reason", written.error().to_string()}});
  return written.ok();
}

void StatusFile::run(const std::stop_token& stop) {
  constexpr auto between_attempts = std::chrono::seconds(1);
  constexpr auto cheap = std::chrono::milliseconds(1);
  std::unique_lock lock(mutex_);
  while (given_.wait(lock, stop, [this] { return waiting_.has_value(); })) {
    if (stop.stop_requested()) return;
    lock.unlock();
    const auto begun = time_of_this_thread();
    const bool written = write_waiting();
    const auto taken = time_of_this_thread() - begun;
    lock.lock();
    // Views of many members that follow each other quickly cost a tenth of a core by this at most. That of a small group is
    // written at once: who has seen a view elsewhere expects it here.
    if (taken > cheap) static_cast<void>(given_.wait_for(lock, stop, 9 * taken, [] { return false; }));
    if (!written) given_.wait_for(lock, stop, between_attempts, [] { return false; });
  }
}

}  // namespace spindrift::group
