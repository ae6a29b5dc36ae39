// Answers are short here, so no send waits for a server that waits for this client to read.
#include "local_socket.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

#include <spindrift/core/result.hpp>

namespace spindrift::peers {

LocalSocket::LocalSocket(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw Exception(system_error("connect to the server", errno));
  const int on = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void LocalSocket::flush() {
  for (std::size_t at = 0; at < output_.size();) {
    const auto sent = ::send(socket_.get(), output_.data() + at, output_.size() - at, MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) throw Exception(system_error("send to the server", errno));
    if (sent > 0) at += static_cast<std::size_t>(sent);
  }
  output_.clear();
}

void LocalSocket::fill() {
  char bytes[1 << 16];
  while (true) {
    const auto got = ::recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got == 0) throw Exception(Error(ErrorKind::resource, "the server closed the connection"));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno != EAGAIN) throw Exception(system_error("receive from the server", errno));
    if (got < 0) return;
    input_.append(bytes, static_cast<std::size_t>(got));
    if (static_cast<std::size_t>(got) < sizeof bytes) return;
  }
}

void LocalSocket::drop(std::size_t bytes) {
  dropped_ += bytes;
  if (dropped_ < input_.size() / 2) return;
  input_.erase(0, dropped_);
  dropped_ = 0;
}

}  // namespace spindrift::peers
