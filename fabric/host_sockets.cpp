// Binding, connecting and watching through the open directory.
#include <spindrift/fabric/host_sockets.hpp>

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <utility>

#include <spindrift/core/limits.hpp>

namespace spindrift::fabric {
namespace {

constexpr int backlog = 256;

/// An address through the open directory: any path fits into sun_path, and nobody can swap the directory under us.
sockaddr_un address_in(const GuardedDirectory& directory, const std::string& name) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s", directory.through(name).c_str());
  return address;
}

Result<FileDescriptor> new_socket() {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return system_error("socket", errno);
  socket.keep_from_children();
  return socket;
}

}  // namespace

Result<FileDescriptor> listen_in(const GuardedDirectory& directory, const std::string& name) {
  SPINDRIFT_TRY_ASSIGN(auto socket, new_socket());
  const std::string hidden = name + std::string(not_yet_listening_suffix);
  ::unlinkat(directory.descriptor(), hidden.c_str(), 0);  // absent is as good as removed
  const sockaddr_un address = address_in(directory, hidden);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return system_error("bind", errno).at(directory.path() + "/" + hidden);
  }
  if (::listen(socket.get(), backlog) != 0) return system_error("listen", errno).at(directory.path() + "/" + hidden);
  if (::renameat(directory.descriptor(), hidden.c_str(), directory.descriptor(), name.c_str()) != 0) {
    return system_error("rename", errno).at(directory.path() + "/" + name);
  }
  return socket;
}

Result<std::optional<FileDescriptor>> call_in(const GuardedDirectory& directory, const std::string& name) {
  SPINDRIFT_TRY_ASSIGN(auto socket, new_socket());
  const sockaddr_un address = address_in(directory, name);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return std::optional<FileDescriptor>(std::move(socket));
  }
  if (errno == ENOENT || errno == ECONNREFUSED) return std::optional<FileDescriptor>();
  return system_error("connect", errno).at(directory.path() + "/" + name);
}

bool is_own_or_root(int socket) noexcept {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && (peer.uid == ::geteuid() || peer.uid == 0);
}

Result<std::optional<FileDescriptor>> watch_directory(const GuardedDirectory& directory) {
  FileDescriptor watch(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!watch && !descriptors_left()) return out_of_descriptors();
  if (!watch) return std::optional<FileDescriptor>();
  constexpr std::uint32_t taken_out = IN_DELETE | IN_MOVED_FROM | IN_MOVE_SELF;
  if (::inotify_add_watch(watch.get(), directory.through("").c_str(), IN_MOVED_TO | taken_out | IN_ONLYDIR) < 0) {
    return system_error("inotify_add_watch", errno)
        .at(directory.path())
        .fix("raise the sysctl fs.inotify.max_user_watches");
  }
  return std::optional(std::move(watch));
}

}  // namespace spindrift::fabric
