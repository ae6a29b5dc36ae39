// The metadata of a device over libfabric: where it listens, and for which providers. 24 bytes, ports in network order:
//   0  'O'   1  version, 1   2  connectionless provider   3  connected provider   (0: none)
//   4  IPv6 address, or IPv4 mapped into it                20  connectionless port   22  connected port   (0: none)
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

#include <spindrift/kernel/host_address.hpp>
#include <spindrift/kernel/physical.hpp>

namespace spindrift::kernel::ofi {

/// Providers whose peers understand each other, by their number in the metadata.
enum class Wire : std::uint8_t { none = 0, tcp_rxm = 1, net = 2, tcp = 3 };

struct OfiName {
  Wire connectionless = Wire::none;
  Wire connected = Wire::none;
  HostAddress address{};
  std::uint16_t connectionless_port = 0;  ///< host order
  std::uint16_t connected_port = 0;       ///< host order
  friend auto operator<=>(const OfiName&, const OfiName&) = default;
};

/// Nothing if no such provider is known, or not of that class.
[[nodiscard]] std::optional<Wire> connectionless_wire(std::string_view provider);
[[nodiscard]] std::optional<Wire> connected_wire(std::string_view provider);

[[nodiscard]] Metadata encode(const OfiName& name);
/// Nothing unless every byte is as `encode` writes it, for an address that one host can have.
[[nodiscard]] std::optional<OfiName> decode(const Metadata& metadata);

}  // namespace spindrift::kernel::ofi
