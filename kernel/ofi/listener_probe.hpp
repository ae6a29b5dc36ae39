// Whether anybody listens at an address: a connection that is begun there, and closed without a word. A provider that makes
// its connections by itself does not say so when nobody takes one.
#pragma once

#include <spindrift/fabric/connected/socket_address.hpp>
#include <spindrift/core/file_descriptor.hpp>

namespace spindrift::kernel::ofi {

/// One call, which waits for nobody. One thread at a time.
class ListenerProbe {
 public:
  /// `from` is an own address; its port is not looked at.
  ListenerProbe(fabric::connected::SocketAddress from, const fabric::connected::SocketAddress& to) noexcept;

  /// Whether that host has said by now that nobody listens there. If it says nothing, or no call could be made, nothing is
  /// known, and this is false.
  [[nodiscard]] bool refused() noexcept;

 private:
  FileDescriptor socket_;
  bool refused_ = false;
};

}  // namespace spindrift::kernel::ofi
