// Between socket addresses and bytes.
#include <spindrift/kernel/host_address.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace spindrift::kernel {
namespace {

constexpr std::array<std::uint8_t, 12> mapped_prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool is_mapped(const HostAddress& address) {
  return std::equal(mapped_prefix.begin(), mapped_prefix.end(), address.begin());
}

}  // namespace

fabric::connected::SocketAddress socket_address(const HostAddress& address, std::uint16_t port) {
  fabric::connected::SocketAddress result;
  if (is_mapped(address)) {
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    std::memcpy(&four.sin_addr, address.data() + mapped_prefix.size(), 4);
    std::memcpy(&result.storage, &four, sizeof four);
    result.bytes = sizeof four;
  } else {
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    std::memcpy(&six.sin6_addr, address.data(), 16);
    std::memcpy(&result.storage, &six, sizeof six);
    result.bytes = sizeof six;
  }
  return result;
}

HostAddress address_of(const fabric::connected::SocketAddress& address) {
  HostAddress result{};
  if (address.storage.ss_family == AF_INET) {
    sockaddr_in four;
    std::memcpy(&four, &address.storage, sizeof four);
    std::copy(mapped_prefix.begin(), mapped_prefix.end(), result.begin());
    std::memcpy(result.data() + mapped_prefix.size(), &four.sin_addr, 4);
  } else {
    sockaddr_in6 six;
    std::memcpy(&six, &address.storage, sizeof six);
    std::memcpy(result.data(), &six.sin6_addr, 16);
  }
  return result;
}

std::uint16_t port_of(const fabric::connected::SocketAddress& address) {
  if (address.storage.ss_family == AF_INET) {
    sockaddr_in four;
    std::memcpy(&four, &address.storage, sizeof four);
    return ntohs(four.sin_port);
  }
  sockaddr_in6 six;
  std::memcpy(&six, &address.storage, sizeof six);
  return ntohs(six.sin6_port);
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
