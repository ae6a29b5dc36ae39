// Looking a node's address up.
#include <spindrift/fabric/connected/socket_address.hpp>

#include <netdb.h>

#include <cstring>

#include <spindrift/core/config/addresses.hpp>

namespace spindrift::fabric::connected {

Result<SocketAddress> resolve(const std::string& endpoint, bool numeric) {
  auto parts = config::parse_host_port(endpoint);
  if (!parts) return std::move(parts).error();
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (numeric ? AI_NUMERICHOST : 0);
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(parts->host.c_str(), parts->port.c_str(), &hints, &found);
  if (failed != 0) {
    return Error(ErrorKind::resource, "cannot resolve " + parts->host + ": " + ::gai_strerror(failed))
        .fix("compare [SPINDRIFT] addresses with the host's names");
  }
  SocketAddress address;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  address.bytes = found->ai_addrlen;
  ::freeaddrinfo(found);
  return address;
}

}  // namespace spindrift::fabric::connected
