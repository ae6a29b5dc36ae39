// A socket of TCP that listens at an address which a user wrote.
#pragma once

#include <string>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::tools {

struct ListeningSocket {
  FileDescriptor descriptor;
  std::string address;  ///< "127.0.0.1:9741", with the port that the kernel chose for port 0
};

/// `address`: HOST:PORT, where an IPv6 address stands in brackets. Nobody else listens there. Errors: bad_argument (no such
/// form), resource (no such host, or the port is in use or not ours to take).
[[nodiscard]] Result<ListeningSocket> listen_at(const std::string& address);

}  // namespace spindrift::tools
