// A socket that connects, and its error.
#include <spindrift/kernel/ofi/listener_probe.hpp>

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include <spindrift/kernel/host_address.hpp>

namespace spindrift::kernel::ofi {

using fabric::connected::SocketAddress;

ListenerProbe::ListenerProbe(SocketAddress from, const SocketAddress& to) noexcept
    : socket_(::socket(to.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
  from = socket_address(address_of(from), 0);
  // From where the provider calls: what lies between may treat other addresses of this host otherwise.
  if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&from.storage), from.bytes) != 0) {
    socket_.reset();
    return;
  }
  const int failed = ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to.storage), to.bytes);
  if (failed == 0 || errno == EINPROGRESS) return;
  refused_ = errno == ECONNREFUSED;
  socket_.reset();
}

bool ListenerProbe::refused() noexcept {
  pollfd answered{socket_.get(), POLLOUT, 0};
  if (!socket_ || ::poll(&answered, 1, 0) != 1) return refused_;
  int error = 0;
  socklen_t bytes = sizeof error;
  refused_ = ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 && error == ECONNREFUSED;
  socket_.reset();
  return refused_;
}

}  // namespace spindrift::kernel::ofi
