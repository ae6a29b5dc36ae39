// The name of a fabric, as [SPINDRIFT] fabric has it, taken apart in one place for all that ask what it means.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <spindrift/core/result.hpp>

namespace spindrift::fabric {

/// "shm", "tcp", "ofi:tcp", "vq:net", "verbs", or "shm+" before one that begins otherwise: a mixed fabric.
struct FabricName {
  /// The fabric that reaches members of other hosts.
  enum class BetweenHosts : std::uint8_t { none, tcp, ofi, vq, verbs };

  bool shm = false;  ///< members of one host read each other's memory in place
  BetweenHosts between_hosts = BetweenHosts::none;
  std::string provider;  ///< of ofi and vq, what follows the colon: "tcp", "net"

  /// Errors: bad_argument.
  [[nodiscard]] static Result<FabricName> parse(std::string_view text);

  [[nodiscard]] bool mixed() const noexcept { return shm && between_hosts != BetweenHosts::none; }
  /// The name of what reaches members of other hosts: "ofi:tcp"; empty if nothing does.
  [[nodiscard]] std::string between_hosts_name() const;
  /// Whether two members, at these addresses, share a host and therefore read each other's memory in place.
  [[nodiscard]] bool maps(const std::string& one, const std::string& other) const;
};

}  // namespace spindrift::fabric
