// Strangers who speak libfabric's own protocol: what they can say after their call was answered, and in whose name.
#include "harness.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/fabric/connected/wire.hpp>
#include <spindrift/fabric/ofi/ofi.hpp>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;
using connected::Greeting;

namespace {

using Bytes = std::vector<std::byte>;
constexpr std::size_t request_header_bytes = 32;
/// The size of an acceptance; a rejection has no greeting.
constexpr std::size_t answer_bytes = request_header_bytes + sizeof(connected::GreetingBytes);

FileDescriptor connection_to(NodeId node) {
  const std::string endpoint = address_of(node).endpoint;
  const std::size_t colon = endpoint.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoul(endpoint.substr(colon + 1))));
  ::inet_pton(AF_INET, endpoint.substr(0, colon).c_str(), &address.sin_addr);
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  return socket;
}

/// A whole request of libfabric's provider tcp: its header, then what the application says.
Bytes request_of(const Greeting& greeting) {
  const auto said = connected::encode(greeting);
  return ByteWriter()
      .put(std::uint8_t{3}, std::uint8_t{0}, htons(static_cast<std::uint16_t>(said.size())), std::uint32_t{0},
           std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{1})
      .put_bytes(said)
      .take();
}

/// The bytes that come on the socket while the endpoints go on, up to so many bytes or the end.
Bytes answer_on(const FileDescriptor& socket, std::initializer_list<Endpoint*> endpoints, std::size_t bytes) {
  Bytes answer(bytes);
  std::size_t have = 0;
  bool over = false;
  drive(endpoints, [&] {
    const ssize_t got = ::recv(socket.get(), answer.data() + have, bytes - have, MSG_DONTWAIT);
    over = got == 0 || (got < 0 && errno != EAGAIN);
    if (got > 0) have += static_cast<std::size_t>(got);
    return over || have == bytes;
  });
  answer.resize(have);
  return answer;
}

void check_well(Endpoint& from, PeerId to_at_from, Endpoint& to) {
  for (int i = 0; i < 20; ++i) {
    send(from, to_at_from, "still well");
    REQUIRE(text_of(await(to, Event::Kind::message, {&from})) == "still well");
  }
}

struct Two {
  TemporaryDirectory directory;
  Endpoint a{1, make_tcp_or_throw(NodeId(1), directory.path())};
  Endpoint b{2, make_tcp_or_throw(NodeId(2), directory.path())};
  PeerId b_at_a;

  Two() {
    a.connect(b);
    b_at_a = await(a, Event::Kind::connected, {&b}).peer;
    await(b, Event::Kind::connected, {&a});
  }
};

}  // namespace

TEST_CASE("a forged reset, with the start that its victim tells and any attempt, does not end the connection") {
  Two pair;
  // A caller is told the start of the node that it calls.
  const auto asked = connection_to(NodeId(2));
  const Bytes call = request_of({NodeId(9), 77, 1, 5, 0});
  REQUIRE(::send(asked.get(), call.data(), call.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(call.size()));
  const Bytes answer = answer_on(asked, {&pair.a, &pair.b}, answer_bytes);
  REQUIRE(answer.size() == answer_bytes);
  const auto told = connected::decode_greeting(std::span(answer).subspan(request_header_bytes));
  REQUIRE(told.has_value());
  REQUIRE(told->node == NodeId(2));
  for (const std::uint64_t attempt : {std::uint64_t{2}, std::uint64_t{1} << 60U, UINT64_MAX}) {
    CAPTURE(attempt);
    const auto forger = connection_to(NodeId(1));
    const Bytes forged = request_of({NodeId(2), told->incarnation, attempt, 6, told->word});
    REQUIRE(::send(forger.get(), forged.data(), forged.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(forged.size()));
    CHECK(answer_on(forger, {&pair.a, &pair.b}, answer_bytes).size() < answer_bytes);  // turned away
    check_well(pair.a, pair.b_at_a, pair.b);
  }
  CHECK(pair.a.inbox.empty());
}

TEST_CASE("three hundred connections that say nothing do not keep two members from talking") {
  Two pair;
  std::vector<FileDescriptor> idle;
  for (int i = 0; i < 300; ++i) {
    idle.push_back(connection_to(NodeId(1)));
    if (i % 50 == 0) check_well(pair.a, pair.b_at_a, pair.b);
  }
  check_well(pair.a, pair.b_at_a, pair.b);
  CHECK(pair.a.inbox.empty());
}

TEST_CASE("callers who greet and then say nothing are bounded for each name, and are found silent") {
  const TemporaryDirectory directory;
  Endpoint a(1, value_or_throw(make_ofi({.self = NodeId(1),
                                         .provider = "tcp",
                                         .runtime_directory = directory.path(),
                                         .group_name = "group",
                                         .silence_max = std::chrono::milliseconds(500)})));
  std::vector<FileDescriptor> callers;
  std::size_t answered = 0;
  for (std::uint64_t start = 1; start <= 20; ++start) {
    callers.push_back(connection_to(NodeId(1)));
    const Bytes call = request_of({NodeId(2), start, 1, start, 0});
    REQUIRE(::send(callers.back().get(), call.data(), call.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(call.size()));
    answered += answer_on(callers.back(), {&a}, answer_bytes).size() == answer_bytes ? 1 : 0;
  }
  CHECK(answered == 8);
  std::size_t lost = 0;
  while (lost < answered) lost += await(a, Event::Kind::lost).reason.has_value() ? 1 : 0;
  CHECK(lost == answered);
}
