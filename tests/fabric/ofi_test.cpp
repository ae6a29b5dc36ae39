// The additions of libfabric's connections: names, addresses that cannot be used, strangers at the port, and late calls.
#include "../skip.hpp"
#include "harness.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <thread>

#include <spindrift/fabric/ofi/ofi.hpp>
#include <spindrift/core/file_descriptor.hpp>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;

namespace {

using std::chrono::milliseconds;

struct Alone {
  TemporaryDirectory directory;
  Endpoint a{1, make_tcp_or_throw(NodeId(1), directory.path())};
};

Result<std::unique_ptr<Fabric>> make(const TemporaryDirectory& directory, std::uint32_t id, std::string provider = "tcp",
                                     Duration silence_max = std::chrono::seconds(10)) {
  return make_ofi({.self = NodeId(id),
                   .provider = std::move(provider),
                   .runtime_directory = directory.path(),
                   .group_name = "group",
                   .silence_max = silence_max});
}

std::string port_of(const Address& address) { return address.endpoint.substr(address.endpoint.rfind(':') + 1); }

}  // namespace

TEST_CASE("two that have nothing to say stay linked, though silence is ended") {
  const TemporaryDirectory directory;
  Endpoint a(1, value_or_throw(make(directory, 1, "tcp", milliseconds(200))));
  Endpoint b(2, value_or_throw(make(directory, 2, "tcp", milliseconds(200))));
  a.connect(b);
  const PeerId b_at_a = await(a, Event::Kind::connected, {&b}).peer;
  await(b, Event::Kind::connected, {&a});
  const Time until = now() + milliseconds(1000);
  drive({&a, &b}, [&] { return now() >= until; });
  REQUIRE(a.inbox.empty());
  send(a, b_at_a, "still here");
  REQUIRE(text_of(await(b, Event::Kind::message, {&a})) == "still here");
}

TEST_CASE("two that call each other and are then held up are linked once") {
  const TemporaryDirectory directory;
  const bool lower_first = GENERATE(true, false);
  CAPTURE(lower_first);
  Endpoint a(1, make_tcp_or_throw(NodeId(1), directory.path()));
  Endpoint b(2, make_tcp_or_throw(NodeId(2), directory.path()));
  a.connect(b);
  b.connect(a);
  std::this_thread::sleep_for(milliseconds(150));  // longer than calls are taken to cross
  Endpoint& first = lower_first ? a : b;
  Endpoint& second = lower_first ? b : a;
  first.pump();
  const PeerId second_at_first = await(first, Event::Kind::connected, {&second}).peer;
  const PeerId first_at_second = await(second, Event::Kind::connected, {&first}).peer;
  for (int i = 0; i < 3; ++i) {
    send(first, second_at_first, "there");
    REQUIRE(text_of(await(second, Event::Kind::message, {&first})) == "there");
    send(second, first_at_second, "and back");
    REQUIRE(text_of(await(first, Event::Kind::message, {&second})) == "and back");
  }
  CHECK(first.inbox.empty());
  CHECK(second.inbox.empty());
}

TEST_CASE("memory that is released while operations read it goes when their peer is lost, not before") {
  Alone alone;
  auto b = std::make_unique<Endpoint>(2, make_tcp_or_throw(NodeId(2), alone.directory.path()));
  alone.a.connect(*b);
  const PeerId b_at_a = await(alone.a, Event::Kind::connected, {b.get()}).peer;
  const PeerId a_at_b = await(*b, Event::Kind::connected, {&alone.a}).peer;
  constexpr std::size_t bytes = 64U << 20U;  // more than sockets hold while `b` takes nothing
  const Region target = value_or_throw(b->fabric->allocate(bytes, "mirror"));
  value_or_throw(b->fabric->expose(a_at_b, target.key, Access::write));
  await(alone.a, Event::Kind::exposed, {b.get()});
  const Region source = value_or_throw(alone.a.fabric->allocate(bytes, "row"));
  Operation write;
  write.peer = b_at_a;
  write.local = source.memory.data();
  write.bytes = bytes;
  write.region = target.key;
  value_or_throw(alone.a.fabric->post({&write, 1}));
  alone.a.fabric->release(source.key);
  alone.a.pump();
  const auto mapped = [&] { return ::msync(source.memory.data(), bytes, MS_ASYNC) == 0; };
  CHECK(mapped());
  b.reset();
  await(alone.a, Event::Kind::lost);
  CHECK_FALSE(mapped());
}

TEST_CASE("a name is looked up beside the poller, also in IPv6, and one that nobody knows is tried again") {
  const TemporaryDirectory directory;
  const std::string port = port_of(address_of(NodeId(1)));
  const std::string other_port = std::to_string(std::stoul(port) + 1);
  const std::string host = GENERATE("localhost", "127.0.0.1", "[::1]");
  CAPTURE(host);
  const auto a = value_or_throw(make(directory, 1));
  const auto listening = a->listen({NodeId(1), host + ":" + port});
  if (!listening && host == "[::1]") return spindrift::test::skip("this machine has no IPv6");
  value_or_throw(Result<void>(listening ? Result<void>() : Result<void>(listening.error())));
  const auto b = value_or_throw(make(directory, 2));
  value_or_throw(b->listen({NodeId(2), host + ":" + other_port}));
  value_or_throw(b->connect({NodeId(3), "no-such-host.invalid:7400"}));
  value_or_throw(b->connect({NodeId(1), host + ":" + port}));
  const Time limit = now() + hang;
  bool linked = false;
  while (!linked && now() < limit) {
    std::array<Event, 4> events;
    static_cast<void>(a->poll(events));
    b->prepare_sleep();
    linked = b->poll(events) > 0;
    if (linked) {
      b->cancel_sleep();
    } else {
      b->sleep(now() + milliseconds(2));
    }
  }
  REQUIRE(linked);
}

TEST_CASE("an address, an id or a port that cannot be used is refused with the reason") {
  const TemporaryDirectory directory;
  const Address here = address_of(NodeId(1));
  const auto kind_of = [](const Result<void>& result) { return result ? "good" : to_string(result.error().kind()); };
  SECTION("no address") {
    for (const char* text :
         {"", "host", "host:", ":7400", "host:70000", "host:74oo", "fd00::1:7400", "[fd00::1:7400", "a b:1"}) {
      CAPTURE(text);
      const auto refused = value_or_throw(make(directory, 1))->listen({NodeId(1), text});
      CHECK(kind_of(refused) == "bad argument");
    }
  }
  SECTION("an address of another host") {
    const auto refused = value_or_throw(make(directory, 1))->listen({NodeId(1), "192.0.2.77:7400"});
    REQUIRE_FALSE(refused.ok());
    CHECK_FALSE(refused.error().fix().empty());
  }
  SECTION("an id that is taken on this host") {
    const auto first = value_or_throw(make(directory, 1));
    value_or_throw(first->listen(here));
    const auto refused = value_or_throw(make(directory, 1))->listen({NodeId(1), address_of(NodeId(9)).endpoint});
    CHECK(kind_of(refused) == "refused");
    CHECK_THAT(refused.error().message(), Catch::Contains("already running"));
  }
  SECTION("a port that is taken") {
    const auto first = value_or_throw(make(directory, 1));
    value_or_throw(first->listen(here));
    const auto refused = value_or_throw(make(directory, 2))->listen({NodeId(2), here.endpoint});
    CHECK(kind_of(refused) == "resource");
    CHECK_THAT(refused.error().fix(), Catch::Contains("ss -ltnp"));
  }
  SECTION("a provider that is not there, or cannot do it") {
    for (const char* provider : {"no_such_provider", "udp"}) {
      const auto refused = value_or_throw(make(directory, 1, provider))->listen(here);
      CHECK(kind_of(refused) == "unsupported");
      CHECK_THAT(refused.error().message(), Catch::Contains("installed are: "));
    }
  }
}

TEST_CASE("strangers at the port do no harm") {
  Alone alone;
  Endpoint b(2, make_tcp_or_throw(NodeId(2), alone.directory.path()));
  alone.a.connect(b);
  const PeerId b_at_a = await(alone.a, Event::Kind::connected, {&b}).peer;
  await(b, Event::Kind::connected, {&alone.a});
  const std::string endpoint = address_of(NodeId(1)).endpoint;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoul(port_of(address_of(NodeId(1))))));
  ::inet_pton(AF_INET, endpoint.substr(0, endpoint.rfind(':')).c_str(), &address.sin_addr);
  std::vector<FileDescriptor> strangers;
  for (const std::size_t bytes : {0U, 1U, 16U, 24U, 200U, 5000U}) {
    FileDescriptor stranger(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(stranger.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    const std::string words(bytes, static_cast<char>(bytes));
    static_cast<void>(::send(stranger.get(), words.data(), words.size(), MSG_NOSIGNAL));
    strangers.push_back(std::move(stranger));
    alone.a.pump();
  }
  for (const bool there : {true, false}) {
    if (!there) strangers.clear();
    for (int i = 0; i < 100; ++i) {
      send(alone.a, b_at_a, "still well");
      REQUIRE(text_of(await(b, Event::Kind::message, {&alone.a})) == "still well");
    }
  }
  REQUIRE(alone.a.inbox.empty());
}
