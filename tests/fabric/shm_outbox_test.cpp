// The frames that a socket of shared memory's fabric could not take yet, by themselves.
#include <catch2/catch.hpp>

#include <array>
#include <vector>

#include <sys/socket.h>

#include <spindrift/fabric/shm/link.hpp>

using namespace spindrift;
using namespace spindrift::fabric::shm;

namespace {

/// Two ends of a connection; what goes in at one comes out at the other, packet by packet.
struct Sockets {
  Sockets() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0);
    from = FileDescriptor(ends[0]);
    to = FileDescriptor(ends[1]);
  }
  /// How many packets came, the first byte of each being one more than that of the one before.
  std::size_t drain(std::byte& next) {
    std::size_t count = 0;
    std::vector<std::byte> buffer(frame_bytes_max + 1);
    for (;; ++count) {
      const Packet packet = receive_packet(to.get(), buffer);
      if (packet.outcome != Packet::Outcome::frame) return count;
      CHECK(packet.bytes.front() == next);
      next = std::byte(std::to_integer<unsigned>(next) + 1);
    }
  }
  FileDescriptor from;
  FileDescriptor to;
};

}  // namespace

TEST_CASE("far more than an outbox holds passes through it in order, while it never holds more than it may") {
  constexpr std::size_t packet_bytes = 60000;
  Sockets sockets;
  Outbox outbox;
  std::byte sent{0};
  std::byte received{0};
  std::size_t queued = 0;
  std::size_t pushed = 0;
  std::size_t came = 0;
  while (queued * packet_bytes < 4 * Outbox::bytes_max) {
    for (int i = 0; i < 20; ++i) {
      const std::vector<std::byte> packet(packet_bytes, sent);
      sent = std::byte(std::to_integer<unsigned>(sent) + 1);
      const Outbox::Outcome outcome = outbox.push(sockets.from.get(), packet, {}, -1);
      REQUIRE((outcome == Outbox::Outcome::sent || outcome == Outbox::Outcome::queued));
      queued += outcome == Outbox::Outcome::queued ? 1 : 0;
      ++pushed;
    }
    Outbox::Outcome outcome = Outbox::Outcome::queued;
    while (outcome == Outbox::Outcome::queued) {
      came += sockets.drain(received);
      outcome = outbox.flush(sockets.from.get());
    }
    REQUIRE(outcome == Outbox::Outcome::sent);
    came += sockets.drain(received);
  }
  CHECK(came == pushed);
}

TEST_CASE("a peer that reads nothing costs at most what an outbox may hold") {
  Sockets sockets;
  Outbox outbox;
  const std::vector<std::byte> packet(60000);
  std::size_t queued = 0;
  Outbox::Outcome outcome = Outbox::Outcome::sent;
  while (outcome == Outbox::Outcome::sent || outcome == Outbox::Outcome::queued) {
    outcome = outbox.push(sockets.from.get(), packet, {}, -1);
    queued += outcome == Outbox::Outcome::queued ? packet.size() : 0;
  }
  CHECK(outcome == Outbox::Outcome::overflow);
  CHECK(queued <= Outbox::bytes_max);
  CHECK(queued + packet.size() > Outbox::bytes_max);
}
