// One datagram for each word.
#include "service_manager.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace spindrift::tools {
namespace {

Error no_socket(const std::string& name) {
  return Error(ErrorKind::bad_argument, "NOTIFY_SOCKET is no address of a socket: " + name)
      .fix("unset it, unless a service manager has set it");
}

}  // namespace

ServiceManager::ServiceManager() {
  const char* const name = std::getenv("NOTIFY_SOCKET");
  if (name == nullptr) return;
  address_ = name;
  if ((!address_.starts_with('/') && !address_.starts_with('@')) || address_.size() >= sizeof(sockaddr_un::sun_path))
    throw Exception(no_socket(address_));
  if (address_.front() == '@') address_.front() = '\0';  // the name is abstract, in no directory
  socket_ = FileDescriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket_) throw Exception(system_error("socket", errno));
}

Result<void> ServiceManager::tell(std::string_view what, std::string_view text) const {
  if (address_.empty()) return {};
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::memcpy(static_cast<void*>(to.sun_path), address_.data(), address_.size());
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  const std::string word = std::string(what) + std::string(text) + "\n";
  if (::sendto(socket_.get(), word.data(), word.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to), bytes) < 0)
    return system_error("sendto the service manager", errno);
  return {};
}

}  // namespace spindrift::tools
