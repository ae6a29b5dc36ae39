// From an address as text to a socket.
#include "listening_socket.hpp"

#include <sys/socket.h>

#include <cerrno>

#include <spindrift/core/config/addresses.hpp>
#include <spindrift/fabric/connected/socket_address.hpp>

namespace spindrift::tools {
namespace {

using fabric::connected::SocketAddress;

constexpr int backlog = 64;

Result<SocketAddress> resolve(const std::string& address) {
  if (!config::parse_host_port(address)) {
    return Error(ErrorKind::bad_argument, "\"" + address + "\" is not HOST:PORT")
        .fix("write for example 127.0.0.1:9741, or [::1]:9741");
  }
  auto found = fabric::connected::resolve(address, false);
  if (found) return found;
  return Error(found.error().kind(), found.error().message()).at(address).fix("name an address of this host");
}

Result<std::string> own_address(const FileDescriptor& socket) {
  SocketAddress address;
  address.bytes = sizeof address.storage;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address.storage), &address.bytes) != 0)
    return system_error("getsockname", errno);
  SPINDRIFT_TRY_ASSIGN(const auto numbers, fabric::connected::in_numbers(address));
  const bool v6 = address.storage.ss_family == AF_INET6;
  return (v6 ? "[" + numbers.host + "]" : numbers.host) + ":" + numbers.port;
}

}  // namespace

Result<ListeningSocket> listen_at(const std::string& address) {
  SPINDRIFT_TRY_ASSIGN(const SocketAddress at, resolve(address));
  FileDescriptor socket(::socket(at.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return system_error("socket", errno).at(address);
  const int yes = 1;  // what an earlier process has left of its connections is in nobody's way
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at.storage), at.bytes) != 0 ||
      ::listen(socket.get(), backlog) != 0) {
    return system_error("listen", errno)
        .at(address)
        .fix("end who listens there (`ss -ltnp` names it), or name another port, or another address of this host");
  }
  SPINDRIFT_TRY_ASSIGN(std::string text, own_address(socket));
  return ListeningSocket{std::move(socket), std::move(text)};
}

}  // namespace spindrift::tools
