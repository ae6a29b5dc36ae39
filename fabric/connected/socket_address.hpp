// The address at which a node listens, as sockets and all that is built like them want it.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include <spindrift/core/result.hpp>

namespace spindrift::fabric::connected {

/// A resolved address of a node.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;
};
/// `endpoint`: "host:port" or "[v6]:port". Errors: bad_argument, resource (the name is unknown now). May wait for a name
/// server, unless `numeric`.
[[nodiscard]] Result<SocketAddress> resolve(const std::string& endpoint, bool numeric);

/// All addresses that the host has, each once. Errors: as resolve. May wait for a name server.
[[nodiscard]] Result<std::vector<SocketAddress>> resolve_all(const std::string& endpoint);

/// An address as people and libraries write it, without a name that somebody would have to look up.
struct NumericAddress {
  std::string host;
  std::string port;
};
/// Errors: bad_argument (of another family than IPv4 and IPv6).
[[nodiscard]] Result<NumericAddress> in_numbers(const SocketAddress& address);

}  // namespace spindrift::fabric::connected
