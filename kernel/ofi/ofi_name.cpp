// Between a device's name and its bytes. What comes from a peer is taken byte by byte or not at all.
#include <spindrift/kernel/ofi/ofi_name.hpp>

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace spindrift::kernel::ofi {
namespace {

constexpr std::size_t name_bytes = 24;
constexpr std::uint8_t form = 'O';
constexpr std::uint8_t version = 1;

}  // namespace

std::optional<Wire> connectionless_wire(std::string_view provider) {
  if (provider.empty()) return Wire::none;
  if (provider == "tcp;ofi_rxm") return Wire::tcp_rxm;
  if (provider == "net") return Wire::net;
  return std::nullopt;
}

std::optional<Wire> connected_wire(std::string_view provider) {
  if (provider.empty()) return Wire::none;
  if (provider == "tcp") return Wire::tcp;
  return std::nullopt;
}

Metadata encode(const OfiName& name) {
  std::array<std::uint8_t, name_bytes> bytes{form, version, static_cast<std::uint8_t>(name.connectionless),
                                             static_cast<std::uint8_t>(name.connected)};
  std::copy(name.address.begin(), name.address.end(), bytes.begin() + 4);
  const std::uint16_t ports[] = {htons(name.connectionless_port), htons(name.connected_port)};
  std::memcpy(bytes.data() + 20, ports, sizeof ports);
  Metadata metadata;
  metadata.size = name_bytes;
  std::memcpy(metadata.bytes.data(), bytes.data(), name_bytes);
  return metadata;
}

std::optional<OfiName> decode(const Metadata& metadata) {
  if (metadata.size != name_bytes) return std::nullopt;
  std::array<std::uint8_t, name_bytes> bytes;
  std::memcpy(bytes.data(), metadata.bytes.data(), name_bytes);
  const std::uint8_t connectionless = bytes[2];
  const std::uint8_t connected = bytes[3];
  const bool known = bytes[0] == form && bytes[1] == version && connectionless <= static_cast<std::uint8_t>(Wire::net) &&
                     (connected == 0 || connected == static_cast<std::uint8_t>(Wire::tcp));
  if (!known || (connectionless == 0 && connected == 0)) return std::nullopt;
  OfiName name;
  name.connectionless = static_cast<Wire>(connectionless);
  name.connected = static_cast<Wire>(connected);
  std::copy_n(bytes.begin() + 4, name.address.size(), name.address.begin());
  std::uint16_t ports[2];
  std::memcpy(ports, bytes.data() + 20, sizeof ports);
  name.connectionless_port = ntohs(ports[0]);
  name.connected_port = ntohs(ports[1]);
  const bool ports_fit =
      (connectionless != 0) == (name.connectionless_port != 0) && (connected != 0) == (name.connected_port != 0);
  if (!ports_fit || !names_one_host(name.address)) return std::nullopt;
  return name;
}

}  // namespace spindrift::kernel::ofi
