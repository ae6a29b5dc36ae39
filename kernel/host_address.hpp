// A host's address and a port as devices' metadata carry them: IPv6, or IPv4 mapped into it.
#pragma once

#include <array>
#include <cstdint>

#include <spindrift/fabric/connected/socket_address.hpp>

namespace spindrift::kernel {

using HostAddress = std::array<std::uint8_t, 16>;
/// An IPv4 address begins so; its 4 bytes follow.
inline constexpr std::array<std::uint8_t, 12> mapped_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
[[nodiscard]] bool is_mapped(const HostAddress& address);

[[nodiscard]] fabric::connected::SocketAddress socket_address(const HostAddress& address, std::uint16_t port);
[[nodiscard]] HostAddress address_of(const fabric::connected::SocketAddress& address);
[[nodiscard]] std::uint16_t port_of(const fabric::connected::SocketAddress& address);
/// Whether one host can have it: no wildcard, multicast or broadcast.
[[nodiscard]] bool names_one_host(const HostAddress& address);

}  // namespace spindrift::kernel
