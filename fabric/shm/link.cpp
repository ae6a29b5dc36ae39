// The outbox, refusals, and what the kernel knows about the other end of a socket.
#include <spindrift/fabric/shm/link.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include <spindrift/core/bytes.hpp>

namespace spindrift::fabric::shm {
namespace {

struct TaskState {
  char state = 0;  ///< as ps prints it
  unsigned long flags = 0;
};

/// The kernel's word on a process or a thread, in that file; nothing: there is none, or it cannot be read.
std::optional<TaskState> task_state(const std::string& path) {
  std::ifstream file(path);
  std::string name;
  std::string field;
  std::getline(file, name, '(');
  std::getline(file, field);
  // Behind the last bracket: state, parent, group, session, terminal, its group, flags.
  std::istringstream rest(field.substr(std::min(field.rfind(')') + 1, field.size())));
  TaskState task;
  rest >> task.state;
  std::array<std::string, 5> between;
  for (std::string& each : between) rest >> each;
  rest >> task.flags;
  return rest ? std::optional(task) : std::nullopt;
}

}  // namespace


Outbox::Outcome Outbox::push(int socket, std::span<const std::byte> head, std::span<const std::byte> body, int descriptor) {
  if (frames_.empty()) {
    switch (send_packet(socket, head, body, descriptor)) {
      case SendOutcome::sent: return Outcome::sent;
      case SendOutcome::failed: return Outcome::failed;
      case SendOutcome::full: break;
    }
  }
  const std::size_t bytes = head.size() + body.size();
  if (frames_.size() >= frames_max || bytes_ + bytes > bytes_max) return Outcome::overflow;
  Frame frame{std::vector<std::byte>(head.begin(), head.end()), FileDescriptor()};
  if (descriptor >= 0) {
    frame.descriptor = FileDescriptor(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
    if (!frame.descriptor) return Outcome::failed;
  }
  frame.bytes.insert(frame.bytes.end(), body.begin(), body.end());
  frames_.push_back(std::move(frame));
  bytes_ += bytes;
  return Outcome::queued;
}

Outbox::Outcome Outbox::flush(int socket) {
  while (!frames_.empty()) {
    const Frame& frame = frames_.front();
    switch (send_packet(socket, frame.bytes, {}, frame.descriptor.get())) {
      case SendOutcome::full: return Outcome::queued;
      case SendOutcome::failed: return Outcome::failed;
      case SendOutcome::sent: break;
    }
    bytes_ -= frame.bytes.size();
    frames_.pop_front();
  }
  return Outcome::sent;
}

void Refusals::count_in(CounterBlock* block) {
  counter_.reset();
  if (block != nullptr) counter_ = block->counter("fabric.shm.refused_connections");
}

// Best effort: to a peer that does not read, the end of the connection must do.
void Refusals::reject(int socket, pid_t pid, const std::string& why) {
  tell(pid, why);
  count();
  static_cast<void>(send_packet(socket, field_bytes(head_of(FrameKind::goodbye, Goodbye::rejected)), {}, -1));
}

void Refusals::tell(pid_t pid, const std::string& why) {
  if (const std::uint64_t times = due(pid, why); times > 0)
    audit_->write({.kind = AuditKind::refused, .reason = why, .more = {{"pid", pid}, {"times", times}}});
}

void Refusals::tell_stranger(const Error& why) {
  if (const std::uint64_t times = due(0, why.message()); times > 0)
    audit_->write({.kind = AuditKind::refused, .reason = why.message(), .more = {{"times", times}}});
  count();
}

Result<pid_t> trusted_process(int socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0 || length != sizeof credentials)
    return Error(ErrorKind::refused, "nobody knows whose process it is");
  if (credentials.uid == ::geteuid() && credentials.pid > 0) return credentials.pid;
  return Error(ErrorKind::refused, "process " + std::to_string(credentials.pid) + " runs as user " +
                                       std::to_string(credentials.uid) + ", not as this member's");
}

// The kernel marks each thread of a process as exiting before it closes what the process had.
bool is_over(const FileDescriptor& process, pid_t pid) {
  constexpr unsigned long exiting = 0x4;  // PF_EXITING of the kernel's sched.h
  pollfd state{process.get(), POLLIN, 0};
  if (::poll(&state, 1, 0) == 1) return true;
  const auto task = task_state("/proc/" + std::to_string(pid) + "/stat");
  return !task || (task->flags & exiting) != 0;  // also one that cannot be looked at
}

bool waits_for_machine(pid_t pid, std::uint32_t thread) {
  const auto task = task_state("/proc/" + std::to_string(pid) + "/task/" + std::to_string(thread) + "/stat");
  return task && (task->state == 'R' || task->state == 'D');
}

bool hung_up(int socket) noexcept {
  pollfd state{socket, 0, 0};
  return ::poll(&state, 1, 0) == 1 && (state.revents & POLLHUP) != 0;
}

}  // namespace spindrift::fabric::shm
