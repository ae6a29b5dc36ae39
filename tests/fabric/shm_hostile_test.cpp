// A local process that says whatever it likes to our socket: it loses its connection, and nobody else notices.
#include "harness.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include <spindrift/fabric/refused_callers.hpp>
#include <spindrift/fabric/shm/bell.hpp>
#include <spindrift/fabric/shm/wire.hpp>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::shm;
using namespace spindrift::fabric::test;

namespace {

/// A bare socket that called node 1.
class Intruder {
 public:
  explicit Intruder(const std::string& directory) : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, (directory + "/group/1.sock").c_str(), sizeof address.sun_path - 1);
    REQUIRE(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }

  void say(std::span<const std::byte> bytes, int descriptor = -1) {
    static_cast<void>(send_packet(socket_.get(), bytes, {}, descriptor));
  }
  template <class Frame>
  void say_frame(const Frame& frame, int descriptor = -1) {
    say(std::as_bytes(std::span(&frame, 1)), descriptor);
  }
  void greet(std::uint32_t node, int bell) {
    say_frame(make_greeting(FrameKind::hello, NodeId(node), ::getpid(), 4711), bell);
  }

  /// Reads until the other side closes; false if it stays open.
  bool closed() {
    const timeval limit{30, 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    std::array<std::byte, 256> buffer;
    while (true) {
      const ssize_t bytes = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
      if (bytes == 0 || (bytes < 0 && errno != EAGAIN)) return true;
      if (bytes < 0) return false;
    }
  }

 private:
  FileDescriptor socket_;
};

/// A linked pair beside which the intruder acts, and a bell that would be accepted.
struct Scene {
  Pair pair{{"shm", make_shm_or_throw}};
  OwnSegment bell = value_or_throw(OwnSegment::create(bell_bytes, "bell"));
  Scene() { value_or_throw(bell.seal(Access::read)); }

  void require_unharmed() {
    send(pair.a, pair.b_at_a, "still well");
    REQUIRE(text_of(await(pair.b, Event::Kind::message)) == "still well");
    REQUIRE(pair.a.inbox.empty());
  }
};

}  // namespace

TEST_CASE("a caller that does not greet properly is closed and reaches nobody") {
  Scene scene;
  const std::string& directory = scene.pair.directory.path();
  const GreetingFrame good = make_greeting(FrameKind::hello, NodeId(9), ::getpid(), 1);
  std::vector<std::pair<GreetingFrame, bool>> greetings;  // and whether the bell goes along
  greetings.emplace_back(good, false);
  const auto spoil = [&](auto change) {
    GreetingFrame bad = good;
    change(bad);
    greetings.emplace_back(bad, true);
  };
  spoil([](GreetingFrame& g) { g.magic ^= 1; });
  spoil([](GreetingFrame& g) { g.head.kind = 0; });
  spoil([](GreetingFrame& g) { g.head.kind = static_cast<std::uint32_t>(FrameKind::welcome); });
  spoil([](GreetingFrame& g) { g.head.kind = 4711; });
  spoil([](GreetingFrame& g) { g.head.detail = wire_version + 1; });
  spoil([](GreetingFrame& g) { g.pid += 1; });
  spoil([](GreetingFrame& g) { g.node = 1; });
  for (const auto& [greeting, with_bell] : greetings) {
    Intruder intruder(directory);
    intruder.say_frame(greeting, with_bell ? scene.bell.descriptor() : -1);
    REQUIRE(intruder.closed());
  }
  scene.require_unharmed();
}

TEST_CASE("who is refused is counted, as long as somebody counts") {
  Scene scene;
  CounterBlock counters = CounterBlock::in_memory(1);
  Fabric& fabric = *scene.pair.a.fabric;
  const auto refuse_one = [&] {
    Intruder intruder(scene.pair.directory.path());
    intruder.say_frame(make_greeting(FrameKind::welcome, NodeId(9), ::getpid(), 1), scene.bell.descriptor());
    REQUIRE(intruder.closed());
  };
  fabric.count_in(&counters);
  refuse_one();
  REQUIRE(counters.values().size() == 1);
  CHECK(counters.values()[0].name == "fabric.shm.refused_connections");
  CHECK(counters.values()[0].value == 1);
  fabric.count_in(nullptr);
  refuse_one();
  CHECK(counters.values()[0].value == 1);
}

TEST_CASE("a bell that could kill or mislead its readers is refused") {
  Scene scene;
  const FileDescriptor unsealed(::memfd_create("bell", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(unsealed.get(), bell_bytes) == 0);
  const auto small = value_or_throw(OwnSegment::create(8, "small"));
  const FileDescriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int descriptor : {unsealed.get(), small.descriptor(), null.get()}) {
    Intruder intruder(scene.pair.directory.path());
    intruder.greet(9, descriptor);
    REQUIRE(intruder.closed());
  }
  scene.require_unharmed();
}

TEST_CASE("a linked peer that breaks the rules is lost with the reason") {
  Scene scene;
  ExposureFrame exposure{};
  exposure.head.kind = static_cast<std::uint32_t>(FrameKind::expose);
  exposure.region = 5;
  exposure.bytes = bell_bytes;
  const auto spoilt = [&](auto change) {
    ExposureFrame bad = exposure;
    change(bad);
    return bad;
  };
  const ExposureFrame wrong_size = spoilt([](ExposureFrame& e) { e.bytes = std::uint64_t{1} << 40U; });
  const ExposureFrame no_bytes = spoilt([](ExposureFrame& e) { e.bytes = 0; });
  const ExposureFrame huge = spoilt([](ExposureFrame& e) { e.bytes = ~std::uint64_t{0}; });
  const ExposureFrame no_access = spoilt([](ExposureFrame& e) { e.access = 2; });
  const ExposureFrame writable = spoilt([](ExposureFrame& e) { e.access = 1; });
  const int bell = scene.bell.descriptor();
  const std::vector<std::function<void(Intruder&)>> sins{
      [](Intruder& i) { i.say(std::array{std::byte{4}}); },
      [](Intruder& i) { i.say(std::vector<std::byte>(frame_bytes_max + 1, std::byte{4})); },
      [&](Intruder& i) { i.greet(9, bell); },
      [](Intruder& i) {
        i.say_frame(FrameHead{99, 0});
      },
      [&](Intruder& i) {
        i.say_frame(FrameHead{static_cast<std::uint32_t>(FrameKind::message), 0}, bell);
      },
      [&](Intruder& i) { i.say_frame(exposure); },
      [&](Intruder& i) { i.say_frame(wrong_size, bell); },
      [&](Intruder& i) { i.say_frame(no_bytes, bell); },
      [&](Intruder& i) { i.say_frame(huge, bell); },
      [&](Intruder& i) { i.say_frame(no_access, bell); },
      [&](Intruder& i) { i.say_frame(writable, bell); },
      [&](Intruder& i) { i.say_frame(head_of(FrameKind::doorbell)); },
      [&](Intruder& i) { i.say_frame(head_of(FrameKind::doorbell, 1), bell); },
      [&](Intruder& i) { i.say_frame(head_of(FrameKind::doorbell), bell); },  // of another size, and to be read alone
      [&](Intruder& i) { i.say_frame(head_of(FrameKind::doorbell_taken), bell); },
      [&](Intruder& i) { i.say_frame(head_of(FrameKind::doorbell_taken, 1)); },
      [&](Intruder& i) {
        i.say_frame(exposure, bell);
        i.say_frame(exposure, bell);
      },
  };
  for (std::size_t i = 0; i < sins.size(); ++i) {
    CAPTURE(i);
    Intruder intruder(scene.pair.directory.path());
    intruder.greet(9, bell);
    await(scene.pair.a, Event::Kind::connected);
    sins[i](intruder);
    const Event lost = await(scene.pair.a, Event::Kind::lost);
    REQUIRE(lost.node == NodeId(9));
    REQUIRE(lost.reason->message().find("was disconnected") != std::string::npos);
    REQUIRE(intruder.closed());
    scene.pair.a.inbox.clear();
  }
  scene.require_unharmed();
}

TEST_CASE("callers that are refused over shm without end are told of at once, and fill no log") {
  Scene scene;
  const Log log(scene.pair.directory);
  const Time begun = now();
  const auto bound = [&] {
    const auto spans = static_cast<std::size_t>((now() - begun) / RefusedCallers<pid_t>::between_lines) + 2;
    return spans * RefusedCallers<pid_t>::lines_max;
  };
  constexpr std::uint32_t calls = 1000;
  for (std::uint32_t i = 0; i < calls; ++i) {
    Intruder nobody(scene.pair.directory.path()), other(scene.pair.directory.path()), later(scene.pair.directory.path());
    nobody.say(std::array{static_cast<std::byte>(i)});
    GreetingFrame greeting = make_greeting(FrameKind::hello, NodeId(9), ::getpid(), 1);
    greeting.pid += 1 + i;
    other.say_frame(greeting, scene.bell.descriptor());
    greeting.head.detail = wire_version + 1 + i;
    later.say_frame(greeting, scene.bell.descriptor());
    REQUIRE((nobody.closed() && other.closed() && later.closed()));
    if (i > 0) continue;
    CHECK(count_of(log.text(), "room=audit event=refused") == 3);
    CHECK(count_of(log.text(), "it speaks version ") == 1);
  }
  const std::size_t lines = count_of(log.text(), "room=audit event=refused");
  REQUIRE(bound() < 3 * calls / 2);
  CHECK(lines <= bound());
  scene.require_unharmed();
}

TEST_CASE("callers that never greet do not keep others out") {
  Scene scene;
  std::deque<Intruder> silent;
  for (std::size_t i = 0; i < 2 * peers_max + 8; ++i) silent.emplace_back(scene.pair.directory.path());
  Endpoint c(3, make_shm_or_throw(NodeId(3), scene.pair.directory.path()));
  c.connect(scene.pair.a);
  await(c, Event::Kind::connected);
  REQUIRE(await(scene.pair.a, Event::Kind::connected).node == NodeId(3));
  REQUIRE(silent.front().closed());
  scene.require_unharmed();
}

TEST_CASE("random packets do no harm") {
  Scene scene;
  std::mt19937_64 random(20240611);
  for (int round = 0; round < 300; ++round) {
    Intruder intruder(scene.pair.directory.path());
    if (round % 2 == 1) intruder.greet(9, scene.bell.descriptor());
    for (int packet = 0; packet < 5; ++packet) {
      std::vector<std::byte> bytes(random() % 64 + 1);
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
      if (bytes.size() >= 4) {
        const std::uint32_t kind = static_cast<std::uint32_t>(random() % 8);
        std::memcpy(bytes.data(), &kind, sizeof kind);
      }
      intruder.say(bytes, random() % 2 == 0 ? scene.bell.descriptor() : -1);
    }
  }
  drive({&scene.pair.a},
        [&] { return scene.pair.a.count(Event::Kind::lost) == scene.pair.a.count(Event::Kind::connected); });
  scene.pair.a.inbox.clear();
  scene.require_unharmed();
}

TEST_CASE("a process that hangs up without a word and lives is not said to have died") {
  Scene scene;
  {
    Intruder intruder(scene.pair.directory.path());
    intruder.greet(9, scene.bell.descriptor());
    await(scene.pair.a, Event::Kind::connected);
  }
  const Event lost = await(scene.pair.a, Event::Kind::lost);
  REQUIRE(lost.reason->message() ==
          "process " + std::to_string(::getpid()) + " of node 9 ended the connection without a word");
  scene.pair.a.inbox.clear();
  scene.require_unharmed();
}
