// Packets in and out of the socket.
#include <spindrift/fabric/shm/packet.hpp>

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace spindrift::fabric::shm {
namespace {

/// The one descriptor of a packet; `alien` if the packet carried anything else. The kernel has already discarded descriptors
/// beyond the room of the control buffer.
FileDescriptor take_descriptor(msghdr& message, bool& alien) noexcept {
  FileDescriptor result;
  for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr; control = CMSG_NXTHDR(&message, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) {
      alien = true;
      continue;
    }
    const std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(control) + i * sizeof(int), sizeof number);
      if (result) alien = true;
      result = FileDescriptor(number);
    }
  }
  return result;
}

}  // namespace

Packet receive_packet(int socket, std::span<std::byte> buffer) noexcept {
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
  while (true) {
    iovec part{buffer.data(), buffer.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t received = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    Packet packet;
    if (received < 0) {
      // The reset is reported ahead of packets that still wait, and only once: go on until the end itself.
      if (errno == EINTR || errno == ECONNRESET) continue;
      packet.outcome = errno == EAGAIN ? Packet::Outcome::nothing : Packet::Outcome::broken;
      return packet;
    }
    bool alien = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
    packet.descriptor = take_descriptor(message, alien);
    packet.bytes = buffer.first(static_cast<std::size_t>(received));
    packet.outcome = alien ? Packet::Outcome::broken : received == 0 ? Packet::Outcome::ended : Packet::Outcome::frame;
    // If it had sent several descriptors, the first would have come, so the sender is not to blame. Whether descriptors are
    // left is not asked: another thread may have closed one since.
    const bool lacking = (message.msg_flags & MSG_CTRUNC) != 0 && !packet.descriptor;
    if (lacking) packet.outcome = Packet::Outcome::starved;
    return packet;
  }
}

SendOutcome send_packet(int socket, std::span<const std::byte> head, std::span<const std::byte> body,
                        int descriptor) noexcept {
  std::array<iovec, 2> parts{};
  parts[0] = {const_cast<std::byte*>(head.data()), head.size()};
  parts[1] = {const_cast<std::byte*>(body.data()), body.size()};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = body.empty() ? 1 : 2;
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
  if (descriptor >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
  }
  while (::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
    if (errno == EINTR) continue;
    return errno == EAGAIN ? SendOutcome::full : SendOutcome::failed;
  }
  return SendOutcome::sent;
}

}  // namespace spindrift::fabric::shm
