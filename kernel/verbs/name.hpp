// The metadata of a device over rdma-core: where it takes calls, and its DC target. Numbers in network order:
//   0  'V'   1  version, 1   2  classes: 1 connected, 2 connectionless, or both   3  0
//   4  IPv6 address, or IPv4 mapped into it    20  port of rdma_cm (0: not connected)    22  LID (0: not InfiniBand)
// and of connectionless ones alone:
//  24  GID   40  number of the DC target, 3 bytes   43  its access key
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <spindrift/kernel/host_address.hpp>
#include <spindrift/kernel/physical.hpp>

namespace spindrift::kernel::verbs {

/// What a sender must know of a DC target: where it is, its number and its key.
struct TargetName {
  std::array<std::uint8_t, 16> gid{};
  std::uint16_t lid = 0;
  std::uint32_t number = 0;  ///< below 2^24, never 0
  std::uint32_t key = 0;
  friend bool operator==(const TargetName&, const TargetName&) = default;
};

struct Name {
  HostAddress address{};
  std::uint16_t port = 0;  ///< host order; 0: no connected queue pairs
  std::optional<TargetName> target;
  friend bool operator==(const Name&, const Name&) = default;
};

/// Of a name with a port, a target or both.
[[nodiscard]] Metadata encode(const Name& name);
/// Nothing unless every byte is as `encode` writes it, for an address that one host can have.
[[nodiscard]] std::optional<Name> decode(const Metadata& metadata);

}  // namespace spindrift::kernel::verbs
