// Sockets by which processes of one host find each other, by names in a guarded directory.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric {

/// A socket has this behind its name until it accepts connections.
inline constexpr std::string_view not_yet_listening_suffix = ".new";

/// A listening socket for packets, of that name; what had the name is replaced. It appears in the directory only once it
/// accepts connections. Errors: resource.
[[nodiscard]] Result<FileDescriptor> listen_in(const GuardedDirectory& directory, const std::string& name);

/// A socket connected to the one of that name, which neither blocks; nothing if nobody listens there now. Errors: resource.
[[nodiscard]] Result<std::optional<FileDescriptor>> call_in(const GuardedDirectory& directory, const std::string& name);

/// Whether the process at the other end is this user's or root's.
[[nodiscard]] bool is_own_or_root(int socket) noexcept;

/// An inotify descriptor that reports sockets appearing in the directory, and what is taken out of it; nothing if this user
/// has as many instances of inotify as it may. Errors: resource.
[[nodiscard]] Result<std::optional<FileDescriptor>> watch_directory(const GuardedDirectory& directory);

}  // namespace spindrift::fabric
