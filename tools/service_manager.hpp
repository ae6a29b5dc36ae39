// The words of a command that is a member to the service manager that started it, as sd_notify(3) describes them: for
// systemd's units of Type=notify.
#pragma once

#include <string>
#include <string_view>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::tools {

class ServiceManager {
 public:
  /// Finds who waits for a word, by $NOTIFY_SOCKET; nobody: all that follows does nothing. Throws bad_argument (that is no
  /// address of a socket), resource.
  ServiceManager();

  /// This member is in its first view, which `status` says. Errors: resource: nobody heard it, and the service would be
  /// taken for one that never starts.
  [[nodiscard]] Result<void> ready(std::string_view status) const { return tell("READY=1\nSTATUS=", status); }
  /// This member leaves. What the manager has no room for is not told: it asked for the end itself.
  void stopping() const { static_cast<void>(tell("STOPPING=1\nSTATUS=", "leaving")); }
  /// A line that `systemctl status` shows: for people, so nobody waits for room. Any thread.
  void status(std::string_view text) const { static_cast<void>(tell("STATUS=", text)); }

 private:
  [[nodiscard]] Result<void> tell(std::string_view what, std::string_view text) const;

  std::string address_;  ///< of sockaddr_un, as many bytes as count; empty: nobody waits
  FileDescriptor socket_;
};

}  // namespace spindrift::tools
