// Looking a node's address up.
#include <spindrift/fabric/connected/socket_address.hpp>

#include <netdb.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <spindrift/core/config/addresses.hpp>

namespace spindrift::fabric::connected {

Result<SocketAddress> resolve(const std::string& endpoint, bool numeric) {
  SPINDRIFT_TRY_ASSIGN(auto parts, config::parse_host_port(endpoint));
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (numeric ? AI_NUMERICHOST : 0);
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(parts.host.c_str(), parts.port.c_str(), &hints, &found);
  if (failed != 0) {
    return Error(ErrorKind::resource, "cannot resolve " + parts.host + ": " + ::gai_strerror(failed))
        .fix("compare [SPINDRIFT] addresses with the host's names");
  }
  SocketAddress address;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  address.bytes = found->ai_addrlen;
  ::freeaddrinfo(found);
  return address;
}

Result<NumericAddress> in_numbers(const SocketAddress& address) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  const int failed = ::getnameinfo(reinterpret_cast<const sockaddr*>(&address.storage), address.bytes, host.data(),
                                   host.size(), port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  if (failed == 0) return NumericAddress{host.data(), port.data()};
  auto cause = failed == EAI_SYSTEM ? system_error("getnameinfo", errno)
                                    : Error(ErrorKind::bad_argument, std::string("getnameinfo: ") + ::gai_strerror(failed));
  return Error(ErrorKind::bad_argument, "this node's address cannot be written in numbers")
      .because(std::move(cause))
      .fix("give this node an IPv4 or IPv6 address in [SPINDRIFT] addresses");
}

}  // namespace spindrift::fabric::connected
