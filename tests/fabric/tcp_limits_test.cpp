// The TCP fabric at the end of its descriptors, and at addresses that are not IPv4's, or where somebody else listens:
// members go on, who cannot be accepted waits, and the log says why.
#include "tcp_members.hpp"

#include "../descriptors.hpp"
#include "../skip.hpp"

#include <netinet/tcp.h>
#include <sys/resource.h>

#include <spindrift/fabric/connected/socket_address.hpp>
#include <spindrift/fabric/tcp/socket.hpp>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;

namespace {

/// Lets this process open so many descriptors more, for as long as it lives.
class DescriptorsLeft {
 public:
  explicit DescriptorsLeft(std::size_t more) {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    const FileDescriptor next(::open("/dev/null", O_RDONLY | O_CLOEXEC));  // the least free one: all below are taken
    const rlimit low{static_cast<rlim_t>(next.get()) + more, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &low) == 0);
  }
  ~DescriptorsLeft() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorsLeft(const DescriptorsLeft&) = delete;
  DescriptorsLeft& operator=(const DescriptorsLeft&) = delete;

 private:
  rlimit before_{};
};

/// Processor time of all threads but this one.
std::chrono::microseconds others_at_work() {
  rusage all{}, own{};
  ::getrusage(RUSAGE_SELF, &all);
  ::getrusage(RUSAGE_THREAD, &own);
  const auto sum = [](const rusage& of) {
    return std::chrono::seconds(of.ru_utime.tv_sec + of.ru_stime.tv_sec) +
           std::chrono::microseconds(of.ru_utime.tv_usec + of.ru_stime.tv_usec);
  };
  return sum(all) - sum(own);
}

/// Sockets that have their descriptors, and do not call yet.
std::vector<FileDescriptor> callers_to_be(std::size_t count) {
  std::vector<FileDescriptor> callers(count);
  for (FileDescriptor& each : callers) each = FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return callers;
}

void call(const FileDescriptor& caller, std::string_view word) {
  const sockaddr_in to = socket_address_of(address_of(NodeId(2)).endpoint);
  REQUIRE(::connect(caller.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
  if (!word.empty()) REQUIRE(::send(caller.get(), word.data(), word.size(), MSG_NOSIGNAL) > 0);
}

}  // namespace

TEST_CASE(
    "strangers who take the last descriptors end no member and keep no core busy, and who has a key comes in after them") {
  if (spindrift::test::sanitizer_opens_pipes) return spindrift::test::skip(spindrift::test::pipes_of_the_sanitizer);
  Keys keys;
  Members members(keys);
  Endpoint c(3, keys.fabric(NodeId(3), members.directory.path()));
  const Log log(members.directory);
  const auto callers = callers_to_be(10);
  {
    const DescriptorsLeft left(3);
    for (const FileDescriptor& each : callers) call(each, "\x16");
    const Time begun = now();
    const auto worked = others_at_work();
    members.exchange_until([&] {
      return now() - begun > std::chrono::seconds(1) && count_of(log.text(), "cannot accept calls for a while") > 0;
    });
    CHECK(others_at_work() - worked < (now() - begun) * 3 / 10);
    CHECK(members.a.inbox.empty());
    CHECK(members.b.inbox.empty());
  }
  CHECK_THAT(log.text(), Catch::Contains("cannot accept calls for a while") && Catch::Contains("ulimit -n"));
  CHECK(count_of(log.text(), "cannot accept calls for a while") == 1);
  c.connect(members.b);
  members.exchange_until([&] {
    c.pump();
    return c.count(Event::Kind::connected) == 1;
  });
  CHECK(await(members.b, Event::Kind::connected, {&members.a, &c}).node == NodeId(3));
  members.check_undisturbed();
}

TEST_CASE("of the last descriptors those who say nothing give theirs back, and who has a key comes in at once") {
  if (spindrift::test::sanitizer_opens_pipes) return spindrift::test::skip(spindrift::test::pipes_of_the_sanitizer);
  Keys keys;
  Members members(keys);
  const tls::KeyPair good = keys.pair_of(keys.member(3));
  const auto callers = callers_to_be(10);
  auto own = callers_to_be(1);
  const Time begun = now();
  {
    const DescriptorsLeft left(2);
    for (const FileDescriptor& each : callers) call(each, "");
    call(own.front(), "");
    REQUIRE(::fcntl(own.front().get(), F_SETFL, O_NONBLOCK) == 0);
    Stranger caller(std::move(own.front()), caller_with(&good));
    caller.say(greeting_as(NodeId(3)));
    members.exchange_until([&] { return caller.heard().size() >= sizeof(connected::GreetingBytes); });
  }
  CHECK(now() - begun < std::chrono::milliseconds(2900) * (hang / std::chrono::seconds(60)));  // nobody was merely given up
  members.check_undisturbed();
}

TEST_CASE("keys that cannot be looked at for want of descriptors blame the limit, and not who may write to them") {
  if (spindrift::test::sanitizer_opens_pipes) return spindrift::test::skip(spindrift::test::pipes_of_the_sanitizer);
  const Keys keys;
  const auto credentials = keys.of(NodeId(1));
  const auto reloaded = [&] {
    const DescriptorsLeft none(0);
    return credentials->reload();
  }();
  REQUIRE_FALSE(reloaded);
  CHECK(reloaded.error().kind() == ErrorKind::resource);
  CHECK_THAT(reloaded.error().to_string(), Catch::Contains("ulimit -n") && !Catch::Contains("let nobody"));
}

TEST_CASE("the kernel gives a host that is gone the time of silence, and one that does not read a time of its own") {
  TemporaryDirectory group;
  const auto at = value_or_throw(connected::resolve(address_of(NodeId(1)).endpoint, false));
  constexpr tcp::SocketPatience patience{std::chrono::seconds(6), std::chrono::seconds(40)};
  const FileDescriptor listener = value_or_throw(tcp::listen_at(at));
  const FileDescriptor calls = value_or_throw(tcp::begin_connecting(at, patience));
  FileDescriptor called;
  drive({}, [&] {
    connected::SocketAddress from;
    called = value_or_throw(tcp::accept_from(listener, from, patience));
    return static_cast<bool>(called);
  });
  for (const FileDescriptor* const each : std::initializer_list<const FileDescriptor*>{&calls, &called}) {
    const auto option = [&](int level, int name) {
      int value = 0;
      socklen_t bytes = sizeof value;
      REQUIRE(::getsockopt(each->get(), level, name, &value, &bytes) == 0);
      return value;
    };
    CHECK(option(IPPROTO_TCP, TCP_USER_TIMEOUT) == 40000);
    CHECK(option(SOL_SOCKET, SO_KEEPALIVE) == 1);
    CHECK(option(IPPROTO_TCP, TCP_KEEPIDLE) + option(IPPROTO_TCP, TCP_KEEPINTVL) * option(IPPROTO_TCP, TCP_KEEPCNT) == 6);
    CHECK(option(IPPROTO_TCP, TCP_NODELAY) == 1);
  }
}

TEST_CASE("on a short way the kernel holds no more than a cache does") {
  const auto at = value_or_throw(connected::resolve(address_of(NodeId(1)).endpoint, false));
  constexpr tcp::SocketPatience patience{std::chrono::seconds(6), std::chrono::seconds(6)};
  constexpr int twice_the_bytes = 2 * (256 << 10);  // as the kernel counts them
  const FileDescriptor listener = value_or_throw(tcp::listen_at(at));
  const auto held_by = [](const FileDescriptor& socket) {
    int bytes = 0;
    socklen_t size = sizeof bytes;
    REQUIRE(::getsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &bytes, &size) == 0);
    return bytes;
  };
  bool caller = false, called = false;
  // Some ways over loopback are long while others want the CPUs.
  for (int i = 0; i < 200 && !(caller && called); ++i) {
    const FileDescriptor calls = value_or_throw(tcp::begin_connecting(at, patience));
    FileDescriptor answers;
    drive({}, [&] {
      connected::SocketAddress from;
      answers = value_or_throw(tcp::accept_from(listener, from, patience));
      return static_cast<bool>(answers);
    });
    value_or_throw(tcp::connected_socket(calls));
    caller |= held_by(calls) == twice_the_bytes;
    called |= held_by(answers) == twice_the_bytes;
  }
  CHECK(caller);
  CHECK(called);
}

TEST_CASE("members over TCP find each other by names and in IPv6, and one address that nobody knows keeps none from it") {
  const Keys keys;
  const TemporaryDirectory directory;
  const std::string endpoint = address_of(NodeId(1)).endpoint;
  const auto port = std::stoul(endpoint.substr(endpoint.rfind(':') + 1));
  const std::string host = GENERATE("localhost", "[::1]");
  CAPTURE(host);
  const auto a = keys.fabric(NodeId(1), directory.path()), b = keys.fabric(NodeId(2), directory.path());
  const auto listening = a->listen({NodeId(1), host + ":" + std::to_string(port)});
  if (!listening && host == "[::1]") return spindrift::test::skip("this machine has no IPv6");
  REQUIRE(listening);
  value_or_throw(b->listen({NodeId(2), host + ":" + std::to_string(port + 1)}));
  value_or_throw(b->connect({NodeId(3), "no-such-host.invalid:7400"}));
  value_or_throw(b->connect({NodeId(1), host + ":" + std::to_string(port)}));
  const Time limit = now() + hang;
  std::size_t linked = 0;
  while (linked < 2) {
    std::array<Event, 4> events;
    for (Fabric* each : {a.get(), b.get()}) {
      const std::size_t count = each->poll(events);
      for (std::size_t i = 0; i < count; ++i) linked += events[i].kind == Event::Kind::connected ? 1 : 0;
    }
    REQUIRE(now() < limit);
  }
}

TEST_CASE("a node with a key that listens at the address of another hears nothing of who calls that") {
  Keys keys;
  const TemporaryDirectory directory;
  const FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_in at = socket_address_of(address_of(NodeId(2)).endpoint);
  REQUIRE(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
  REQUIRE(::listen(listener.get(), 8) == 0);
  Endpoint a(1, keys.fabric(NodeId(1), directory.path()));
  a.connect(NodeId(2));
  const auto node_3 = keys.of(NodeId(3));
  std::size_t ended = 0;
  std::optional<Stranger> called;
  drive({&a}, [&] {
    if (!called) {
      FileDescriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket) return false;
      tls::Owned<SSL> session = value_or_throw(node_3->new_session());
      SSL_set_accept_state(session.get());
      called.emplace(std::move(socket), std::move(session));
    }
    if (!called->over()) return false;
    CHECK(called->heard().empty());
    called.reset();
    return ++ended == 3;
  });
  CHECK(a.inbox.empty());
}
