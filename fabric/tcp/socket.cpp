// Opening sockets, and their options.
#include <spindrift/fabric/tcp/socket.hpp>

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include <spindrift/fabric/tcp/byte_stream.hpp>

namespace spindrift::fabric::tcp {
namespace {

constexpr int backlog = 128;
/// The most that waits in the kernel and is not on its way: the rest waits in the send queue, where it is counted.
constexpr int not_sent_max = 256 << 10;
/// The bytes that wait in the kernel on the way to a host that is near. It counts twice that, with its own records.
constexpr int near_bytes_max = 256 << 10;
/// How long the way there and back to such a host takes at most: the bytes above are 4 Gb/s then, and more where it is less.
constexpr auto near_max = std::chrono::microseconds(500);

void set(const FileDescriptor& socket, int level, int name, int value) noexcept {
  static_cast<void>(::setsockopt(socket.get(), level, name, &value, sizeof value));
}

const sockaddr* general(const connected::SocketAddress& address) noexcept {
  return reinterpret_cast<const sockaddr*>(&address.storage);
}

// Probes of the kernel find a cable that was cut while nothing is under way. While something is, the kernel cannot tell a
// host that is gone from a process that does not read.
void prepare(const FileDescriptor& socket, const SocketPatience& patience) noexcept {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience.silence).count();
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(patience.unread).count();
  constexpr int probes = 3;
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, not_sent_max);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, std::max(1, static_cast<int>(seconds / 2)));
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, static_cast<int>(seconds / (2 * probes))));
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, probes);
  set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(std::min<long long>(milliseconds, 1 << 30)));
}

// By itself the kernel lets some megabytes be under way, which a long way needs. On a short one they would only have left
// the caches when the other end reads them.
void fit_to_distance(const FileDescriptor& socket) noexcept {
  tcp_info info{};
  socklen_t bytes = sizeof info;
  if (::getsockopt(socket.get(), IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0 || info.tcpi_rtt == 0) return;
  if (std::chrono::microseconds(info.tcpi_rtt) <= near_max) set(socket, SOL_SOCKET, SO_SNDBUF, near_bytes_max);
}

}  // namespace

Result<FileDescriptor> listen_at(const connected::SocketAddress& at) {
  FileDescriptor socket(::socket(at.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return system_error("socket", errno);
  socket.keep_from_children();
  set(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  const auto refused = [](const char* what, int error) {
    return Error(ErrorKind::resource, "cannot listen at this node's address")
        .because(system_error(what, error))
        .fix("see whether another process has the port (ss -ltnp), and whether the address is this host's (ip address)");
  };
  if (::bind(socket.get(), general(at), at.bytes) != 0) return refused("bind", errno);
  if (::listen(socket.get(), backlog) != 0) return refused("listen", errno);
  return socket;
}

Result<FileDescriptor> begin_connecting(const connected::SocketAddress& to, const SocketPatience& patience) {
  FileDescriptor socket(::socket(to.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return system_error("socket", errno);
  socket.keep_from_children();
  prepare(socket, patience);
  if (::connect(socket.get(), general(to), to.bytes) == 0 || errno == EINPROGRESS) return socket;
  return system_error("connect", errno);
}

Result<FileDescriptor> accept_from(const FileDescriptor& listener, connected::SocketAddress& from,
                                   const SocketPatience& patience) {
  from.bytes = sizeof from.storage;
  FileDescriptor socket(
      ::accept4(listener.get(), reinterpret_cast<sockaddr*>(&from.storage), &from.bytes, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket) {
    socket.keep_from_children();
    prepare(socket, patience);
    fit_to_distance(socket);
    return socket;
  }
  // A caller that has gone meanwhile is none.
  const bool nobody = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED || errno == EPROTO;
  return nobody ? Result<FileDescriptor>(FileDescriptor()) : system_error("accept", errno);
}

bool means_later(int error) noexcept { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

int connect_error(const FileDescriptor& socket) noexcept {
  int error = 0;
  socklen_t bytes = sizeof error;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 ? error : errno;
}

Result<void> connected_socket(const FileDescriptor& socket) {
  const int error = connect_error(socket);
  if (error != 0) return Error(ErrorKind::member_lost, "nobody answers there").because(system_error("connect", error));
  fit_to_distance(socket);
  return {};
}

Result<bool> has_spoken(const FileDescriptor& socket) {
  char byte = 0;
  const ssize_t count = ::recv(socket.get(), &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT);
  if (count > 0) return true;
  if (count == 0) return Error(ErrorKind::member_lost, std::string(connection_ended));
  return means_later(errno) ? Result<bool>(false) : broken_connection("recv", errno);
}

std::size_t unacknowledged_bytes(int socket) noexcept {
  int bytes = 0;
  return ::ioctl(socket, SIOCOUTQ, &bytes) == 0 && bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

}  // namespace spindrift::fabric::tcp
