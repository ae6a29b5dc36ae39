// Probes of listeners that are there, gone, and gone later; and what a device makes of a peer whose listener it probes.
#include <spindrift/kernel/ofi/listener_probe.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <spindrift/kernel/host_address.hpp>
#include <spindrift/kernel/ofi/ofi_name.hpp>

#include "device_conformance.hpp"

using namespace conformance;
using fabric::connected::SocketAddress;
using kernel::ofi::ListenerProbe;

namespace {

SocketAddress loopback(std::uint16_t port) {
  HostAddress address{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
  return socket_address(address, port);
}

/// A socket that keeps its port from others, and listens there or does not.
class BoundSocket {
 public:
  explicit BoundSocket(const SocketAddress& at) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int yes = 1;
    REQUIRE(::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0);
    REQUIRE(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&at.storage), at.bytes) == 0);
  }
  void open() { REQUIRE(::listen(socket_.get(), 16) == 0); }
  [[nodiscard]] SocketAddress address() const {
    SocketAddress own;
    own.bytes = sizeof own.storage;
    REQUIRE(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&own.storage), &own.bytes) == 0);
    return own;
  }

 private:
  FileDescriptor socket_;
};

}  // namespace

TEST_CASE("where nobody listens a probe is refused, and stays so") {
  const BoundSocket shut(loopback(0));
  ListenerProbe probe(loopback(0), shut.address());
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!probe.refused() && std::chrono::steady_clock::now() < limit) {
  }
  CHECK(probe.refused());
}

TEST_CASE("where somebody listens a probe is not refused, whether the call is taken or not") {
  BoundSocket listener(loopback(0));
  listener.open();
  ListenerProbe probe(loopback(0), listener.address());
  for (int look = 0; look < 100; ++look) CHECK_FALSE(probe.refused());
}

TEST_CASE("a probe that cannot be made says nothing of who is there") {
  const BoundSocket shut(loopback(0));
  const HostAddress of_nobody_here{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1};
  ListenerProbe probe(socket_address(of_nobody_here, 0), shut.address());
  CHECK_FALSE(probe.refused());
}

TEST_CASE_METHOD(TwoConnectionless, "a peer whose listener shuts after its connections is lost when it has") {
  Area local(*a.device, 8, fabric::Access::write);
  const Route to_b = connect(a, b);
  const auto name = kernel::ofi::decode(b.device->metadata());
  if (!name) return;  // its device is not one of libfabric's
  const MemoryKeys lost_keys = write_before_the_end(to_b, local);
  clock.stop();
  const PhysicalOperation later = operation(Kind::write, 2, to_b.peer, local, 0, 8, lost_keys);
  {
    BoundSocket listener(socket_address(name->address, name->connectionless_port));
    listener.open();
    REQUIRE(to_b.line->pair->post({&later, 1}) == 1);
    for (int look = 0; look < 20; ++look) {
      clock.advance(std::chrono::milliseconds(10));
      a.poll();
      CHECK_FALSE(to_b.line->completed(2));
    }
  }
  // Time enough to probe again, and too little to be lost by its silence.
  for (int look = 0; look < 70 && !to_b.line->completed(2); ++look) {
    clock.advance(std::chrono::milliseconds(10));
    a.poll();
  }
  REQUIRE(until([&] { return to_b.line->completed(2); }));
  CHECK(to_b.line->status(2) == OperationStatus::peer_lost);
}
