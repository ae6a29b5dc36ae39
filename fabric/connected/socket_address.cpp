// Looking a node's address up.
#include <spindrift/fabric/connected/socket_address.hpp>

#include <netdb.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <spindrift/core/config/addresses.hpp>

namespace spindrift::fabric::connected {

namespace {

using Found = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

SocketAddress address_of(const addrinfo& found) noexcept {
  SocketAddress address;
  std::memcpy(&address.storage, found.ai_addr, found.ai_addrlen);
  address.bytes = found.ai_addrlen;
  return address;
}

Result<Found> look_up(const std::string& endpoint, bool numeric) {
  SPINDRIFT_TRY_ASSIGN(auto parts, config::parse_host_port(endpoint));
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (numeric ? AI_NUMERICHOST : 0);
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(parts.host.c_str(), parts.port.c_str(), &hints, &found);
  if (failed == 0) return Found(found, ::freeaddrinfo);
  return Error(ErrorKind::resource, "cannot resolve " + parts.host + ": " + ::gai_strerror(failed))
      .fix("compare [SPINDRIFT] addresses with the host's names");
}

}  // namespace

Result<SocketAddress> resolve(const std::string& endpoint, bool numeric) {
  SPINDRIFT_TRY_ASSIGN(const Found found, look_up(endpoint, numeric));
  return address_of(*found);
}

Result<std::vector<SocketAddress>> resolve_all(const std::string& endpoint) {
  SPINDRIFT_TRY_ASSIGN(const Found found, look_up(endpoint, false));
  std::vector<SocketAddress> all;
  for (const addrinfo* each = found.get(); each != nullptr; each = each->ai_next) {
    const SocketAddress address = address_of(*each);
    const bool known = std::ranges::any_of(all, [&](const SocketAddress& other) {
      return other.bytes == address.bytes && std::memcmp(&other.storage, &address.storage, address.bytes) == 0;
    });
    if (!known) all.push_back(address);
  }
  return all;
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
