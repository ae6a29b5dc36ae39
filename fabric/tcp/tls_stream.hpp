// A stream inside of TLS: what is sent together is sealed together and leaves in one call of the system, and what comes is
// opened where it is to go.
#pragma once

#include <memory>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/tcp/byte_stream.hpp>

namespace spindrift::fabric::tls {
class Credentials;
}

namespace spindrift::fabric::tcp {

/// `socket`: connected, not blocking. Errors: resource.
[[nodiscard]] Result<std::unique_ptr<ByteStream>> tls_stream(FileDescriptor socket, End end,
                                                             std::shared_ptr<tls::Credentials> credentials);

}  // namespace spindrift::fabric::tcp
