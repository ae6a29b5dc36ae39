// From an address as text to a socket.
#include "listening_socket.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <memory>
#include <string_view>

namespace spindrift::tools {
namespace {

constexpr int backlog = 64;

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

struct HostAndPort {
  std::string host;
  std::string port;
};

Result<HostAndPort> split(const std::string& address) {
  const auto colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string::npos) {
    host.clear();  // an IPv6 address without brackets has no port
  }
  const std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error == std::errc() && end == port.data() + port.size() && !host.empty()) return HostAndPort{host, port};
  return Error(ErrorKind::bad_argument, "\"" + address + "\" is not HOST:PORT")
      .fix("write for example 127.0.0.1:9741, or [::1]:9741");
}

Result<Addresses> resolve(const HostAndPort& place, const std::string& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(place.host.c_str(), place.port.c_str(), &hints, &found);
  if (failure == 0) return Addresses(found, &::freeaddrinfo);
  return Error(ErrorKind::resource, "cannot resolve " + place.host + ": " + ::gai_strerror(failure))
      .at(address)
      .fix("name an address of this host");
}

std::string address_text(const FileDescriptor& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::getsockname(socket.get(), any, &size) != 0) throw Exception(system_error("getsockname", errno));
  const int failure =
      ::getnameinfo(any, size, host.data(), host.size(), port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  if (failure != 0) throw Exception(Error(ErrorKind::resource, std::string("getnameinfo: ") + ::gai_strerror(failure)));
  const std::string name = host.data();
  return (address.ss_family == AF_INET6 ? "[" + name + "]" : name) + ":" + port.data();
}

}  // namespace

Result<ListeningSocket> listen_at(const std::string& address) {
  SPINDRIFT_TRY_ASSIGN(const HostAndPort place, split(address));
  SPINDRIFT_TRY_ASSIGN(const Addresses addresses, resolve(place, address));
  FileDescriptor socket(::socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return system_error("socket", errno).at(address);
  const int yes = 1;  // what an earlier process has left of its connections is in nobody's way
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(socket.get(), addresses->ai_addr, addresses->ai_addrlen) != 0 || ::listen(socket.get(), backlog) != 0) {
    return system_error("listen", errno)
        .at(address)
        .fix("end who listens there (`ss -ltnp` names it), or name another address of this host with --listen");
  }
  std::string text = address_text(socket);
  return ListeningSocket{std::move(socket), std::move(text)};
}

}  // namespace spindrift::tools
