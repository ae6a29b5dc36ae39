// Between a device's name and its bytes. What comes from a peer is taken byte by byte or not at all.
#include <spindrift/kernel/ofi/ofi_name.hpp>

#include <arpa/inet.h>

#include <spindrift/core/bytes.hpp>

namespace spindrift::kernel::ofi {
namespace {

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
  return Metadata::of(field_bytes(form, version, static_cast<std::uint8_t>(name.connectionless),
                                  static_cast<std::uint8_t>(name.connected), name.address, htons(name.connectionless_port),
                                  htons(name.connected_port)));
}

std::optional<OfiName> decode(const Metadata& metadata) {
  ByteReader reader(metadata.said());
  if (reader.get<std::uint8_t>() != form || reader.get<std::uint8_t>() != version) return std::nullopt;
  const auto connectionless = reader.get<std::uint8_t>();
  const auto connected = reader.get<std::uint8_t>();
  const bool known = connectionless <= static_cast<std::uint8_t>(Wire::net) &&
                     (connected == 0 || connected == static_cast<std::uint8_t>(Wire::tcp));
  if (!known || (connectionless == 0 && connected == 0)) return std::nullopt;
  const OfiName name{.connectionless = static_cast<Wire>(connectionless),
                     .connected = static_cast<Wire>(connected),
                     .address = reader.get<HostAddress>(),
                     .connectionless_port = ntohs(reader.get<std::uint16_t>()),
                     .connected_port = ntohs(reader.get<std::uint16_t>())};
  const bool ports_fit =
      (connectionless != 0) == (name.connectionless_port != 0) && (connected != 0) == (name.connected_port != 0);
  if (!reader.complete() || !ports_fit || !names_one_host(name.address)) return std::nullopt;
  return name;
}

}  // namespace spindrift::kernel::ofi
