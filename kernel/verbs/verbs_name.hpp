// The metadata of a device over rdma-core: where it takes calls, and its DC target. Numbers in network order:
//   0  'V'   1  version, 1   2  classes: 1 connected, 2 connectionless, or both   3  the target's GID, see below
//   4  port of rdma_cm (0: not connected)    6  LID (0: not InfiniBand)
//   8  IPv6 address, or IPv4 mapped into it; 4 bytes of an IPv4 address where byte 3 is 3
// and of connectionless ones alone, behind that: the GID's part; the number of the DC target, 3 bytes; its access key, 4.
//
// A GID has no room beside a whole address, and hardly ever needs it. Byte 3 says what there is of it:
//   0  no target   1  nothing: it is the address, as of RoCE   3  all 16
//   2  its last 8 bytes: the prefix is link-local, as InfiniBand's is where nobody sets another
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>

#include <spindrift/kernel/host_address.hpp>
#include <spindrift/kernel/physical.hpp>

namespace spindrift::kernel::verbs {

/// A sender must know where a DC target is, its number and its key.
struct TargetName {
  std::array<std::uint8_t, 16> gid{};
  std::uint16_t lid = 0;
  std::uint32_t number = 0;  ///< below 2^24, never 0
  std::uint32_t key = 0;
  friend auto operator<=>(const TargetName&, const TargetName&) = default;
};

struct VerbsName {
  HostAddress address{};
  std::uint16_t port = 0;  ///< host order; 0: no connected queue pairs
  std::optional<TargetName> target;
  friend bool operator==(const VerbsName&, const VerbsName&) = default;
};

/// Nothing if there is no room for its GID: of a target with an IPv6 address that is not the GID, whose prefix is not the
/// link-local one.
[[nodiscard]] std::optional<Metadata> encode(const VerbsName& name);
/// Nothing unless every byte is as `encode` writes it, for an address that one host can have.
[[nodiscard]] std::optional<VerbsName> decode(const Metadata& metadata);

}  // namespace spindrift::kernel::verbs
