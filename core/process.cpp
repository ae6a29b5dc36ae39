// Reading /proc/PID/stat, and pidfds.
#include <spindrift/core/process.hpp>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace spindrift {
namespace {

std::optional<TaskState> read_state(const std::string& path) {
  std::ifstream file(path);
  std::string name;
  std::string field;
  std::getline(file, name, '(');
  std::getline(file, field);
  // Behind the last bracket, for the program's name may have some: state, five numbers, flags, twelve more, the start.
  std::istringstream rest(field.substr(std::min(field.rfind(')') + 1, field.size())));
  const auto skip = [&rest](int fields) {
    std::string skipped;
    for (int i = 0; i < fields; ++i) rest >> skipped;
  };
  TaskState task;
  rest >> task.state;
  skip(5);
  rest >> task.flags;
  skip(12);
  rest >> task.started;
  return rest ? std::optional(task) : std::nullopt;
}

}  // namespace

bool TaskState::is_ending() const noexcept {
  constexpr unsigned long exiting = 0x4;  // PF_EXITING of the kernel's sched.h
  return (flags & exiting) != 0;
}

std::optional<TaskState> task_state(pid_t process) { return read_state("/proc/" + std::to_string(process) + "/stat"); }

std::optional<TaskState> task_state(pid_t process, pid_t thread) {
  return read_state("/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/stat");
}

FileDescriptor open_process(pid_t process) noexcept {
  return FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
}

bool is_over(const FileDescriptor& handle, pid_t process) {
  pollfd state{handle.get(), POLLIN, 0};
  if (::poll(&state, 1, 0) == 1) return true;
  const auto task = task_state(process);
  return !task || task->is_ending();
}

}  // namespace spindrift
