// Sockets as the fabric wants them: not blocking, without delay, and known to be dead when the other host is.
#pragma once

#include <string>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/connected/socket_address.hpp>

namespace spindrift::fabric::tcp {

/// Listens there. Errors: resource, also if the port is in use or the address is not this host's.
[[nodiscard]] Result<FileDescriptor> listen_at(const connected::SocketAddress& at);
/// A socket fails after so long without a word from the other host, or with bytes that the process there does not read.
struct SocketPatience {
  Duration silence{};
  Duration unread{};
};

/// Begins to connect. Errors: resource.
[[nodiscard]] Result<FileDescriptor> begin_connecting(const connected::SocketAddress& to, const SocketPatience& patience);
/// A caller of a listening socket; empty if nobody waits. Errors: resource.
[[nodiscard]] Result<FileDescriptor> accept_from(const FileDescriptor& listener, connected::SocketAddress& from,
                                                 const SocketPatience& patience);
/// Whether a call that failed so may succeed when it is made again.
[[nodiscard]] bool means_later(int error) noexcept;
/// The number of the error with which such a connection failed, and which it has no more then; 0: it did not.
[[nodiscard]] int connect_error(const FileDescriptor& socket) noexcept;
/// The outcome of a connection that was begun and is writable now. Errors: member_lost.
[[nodiscard]] Result<void> connected_socket(const FileDescriptor& socket);
/// Whether the other end has said something that waits to be read. Errors: member_lost (it has gone).
[[nodiscard]] Result<bool> has_spoken(const FileDescriptor& socket);
/// Bytes that the other host's kernel has not acknowledged; 0 of a socket that failed.
[[nodiscard]] std::size_t unacknowledged_bytes(int socket) noexcept;

}  // namespace spindrift::fabric::tcp
