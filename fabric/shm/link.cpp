// The outbox, refusals, and what the kernel knows about the other end of a socket.
#include <spindrift/fabric/shm/link.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/process.hpp>

namespace spindrift::fabric::shm {

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

bool waits_for_machine(pid_t pid, std::uint32_t thread) {
  const auto task = task_state(pid, static_cast<pid_t>(thread));
  return task && (task->state == 'R' || task->state == 'D');
}

bool hung_up(int socket) noexcept {
  pollfd state{socket, 0, 0};
  return ::poll(&state, 1, 0) == 1 && (state.revents & POLLHUP) != 0;
}

}  // namespace spindrift::fabric::shm
