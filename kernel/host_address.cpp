// Between socket addresses and bytes.
#include <spindrift/kernel/host_address.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace spindrift::kernel {
namespace {

using fabric::connected::SocketAddress;

template <class Family>
SocketAddress socket_address_of(const Family& family) {
  SocketAddress address;
  std::memcpy(&address.storage, &family, sizeof family);
  address.bytes = sizeof family;
  return address;
}

template <class Family>
Family family_of(const SocketAddress& address) {
  Family family;
  std::memcpy(&family, &address.storage, sizeof family);
  return family;
}

}  // namespace

bool is_mapped(const HostAddress& address) {
  return std::equal(mapped_prefix.begin(), mapped_prefix.end(), address.begin());
}

SocketAddress socket_address(const HostAddress& address, std::uint16_t port) {
  if (is_mapped(address)) {
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    std::memcpy(&four.sin_addr, address.data() + mapped_prefix.size(), sizeof four.sin_addr);
    return socket_address_of(four);
  }
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  std::memcpy(&six.sin6_addr, address.data(), address.size());
  return socket_address_of(six);
}

HostAddress address_of(const SocketAddress& address) {
  HostAddress result{};
  if (address.storage.ss_family == AF_INET) {
    const in_addr four = family_of<sockaddr_in>(address).sin_addr;
    std::copy(mapped_prefix.begin(), mapped_prefix.end(), result.begin());
    std::memcpy(result.data() + mapped_prefix.size(), &four, sizeof four);
  } else {
    const in6_addr six = family_of<sockaddr_in6>(address).sin6_addr;
    std::memcpy(result.data(), &six, sizeof six);
  }
  return result;
}

std::uint16_t port_of(const SocketAddress& address) {
  return ntohs(address.storage.ss_family == AF_INET ? family_of<sockaddr_in>(address).sin_port
                                                    : family_of<sockaddr_in6>(address).sin6_port);
}

bool names_one_host(const HostAddress& address) {
  if (is_mapped(address)) {
    const std::uint8_t first = address[mapped_prefix.size()];
    return first != 0 && first < 224;
  }
  const bool unspecified = std::all_of(address.begin(), address.end(), [](std::uint8_t byte) { return byte == 0; });
  return !unspecified && address[0] != 0xff;
}

}  // namespace spindrift::kernel
