// Starting and watching processes.
#include "child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace spindrift::tools {
namespace {

/// In the new process: becomes this program with those arguments, or ends with 127.
[[noreturn]] void become(std::vector<char*>& arguments, int pipe, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it died before the line above
  ::fcntl(pipe, F_SETFD, 0);
  ::execv("/proc/self/exe", arguments.data());
  ::_exit(127);
}

}  // namespace

Result<ChildProcess> ChildProcess::start(std::vector<std::string> arguments) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("pipe", errno);
  FileDescriptor reading(ends[0]);
  const FileDescriptor writing(ends[1]);
  arguments.insert(arguments.begin(), "spindrift");
  arguments.push_back(std::to_string(writing.get()));
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);

  const pid_t parent = ::getpid();
  const pid_t id = ::fork();
  if (id < 0) return system_error("fork", errno);
  if (id == 0) become(pointers, writing.get(), parent);
  FileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, id, 0U)));
  if (!process) {
    const int reason = errno;
    ::kill(id, SIGKILL);
    ::waitpid(id, nullptr, 0);
    return system_error("pidfd_open", reason);
  }
  return ChildProcess(id, std::move(process), std::move(reading));
}

ChildProcess::~ChildProcess() {
  if (!process_ || status_) return;
  ::kill(id_, SIGKILL);
  ::waitpid(id_, nullptr, 0);
}

void ChildProcess::send_signal(int signal) const noexcept {
  if (!status_) ::kill(id_, signal);  // not reaped, so the id is still its own
}

bool ChildProcess::reap() noexcept {
  if (status_) return true;
  int state = 0;
  if (::waitpid(id_, &state, WNOHANG) != id_) return false;
  status_ = WIFEXITED(state) ? WEXITSTATUS(state) : -WTERMSIG(state);
  return true;
}

}  // namespace spindrift::tools
