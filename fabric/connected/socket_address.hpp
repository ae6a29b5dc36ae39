// Where a node listens, as sockets and all that is built like them want it.
#pragma once

#include <sys/socket.h>

#include <string>

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

}  // namespace spindrift::fabric::connected
