// Calls over UDP and through shared memory, and what the transports refuse.
#include <catch2/catch.hpp>

#include <cerrno>
#include <memory>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/untrusted.hpp>
#include <spindrift/rpc/shm/shm_transport.hpp>
#include <spindrift/rpc/udp/udp_transport.hpp>

#include "paper_network.hpp"

namespace spindrift::rpc {
namespace {

/// An endpoint over any transport, which echoes, and writes down what comes back.
class Echo final : public CallHandler, SessionHandler, RequestHandler, TokenSource {
 public:
  Echo(PacketTransport& transport, const RpcOptions& options) : endpoint(transport, *this, options) {
    SPINDRIFT_CHECK(endpoint.handle(1, *this).ok());
  }
  void connect(const PacketRoute& to) { session = endpoint.connect(to, *this).value(); }
  void call(std::size_t bytes) {
    OutgoingCall out{.type = 1, .request = endpoint.buffer(bytes), .response = endpoint.buffer(bytes), .handler = this};
    for (std::size_t i = 0; i < bytes; ++i) out.request.data()[i] = PaperNode::pattern(i);
    REQUIRE(endpoint.call(session, out).ok());
  }
  void on_answer(CallAnswer&& answer) override { answers.push_back(std::move(answer)); }
  void on_session(SessionId, SessionChange) override {}
  void on_request(IncomingRequest& request) override { PaperNode::echo(request); }
  std::uint64_t next_token() override { return ++token_; }

 private:
  std::uint64_t token_ = 77;

 public:
  RpcEndpoint endpoint;
  SessionId session;
  std::vector<CallAnswer> answers;
};

/// Small and large calls from one to the other, each step a millisecond after the last.
void call_and_answer(PacketTransport& at_client, PacketTransport& at_server, const PacketRoute& route) {
  const RpcOptions options{.credits = 8};
  Echo client(at_client, options), server(at_server, options);
  client.connect(route);
  const std::size_t sizes[] = {1, 0, 500, 5000, 100'000, 1 << 20};
  for (const std::size_t bytes : sizes) client.call(bytes);
  Time now{std::chrono::seconds(1)};
  for (int i = 0; i < 100'000 && client.answers.size() < std::size(sizes); ++i) {
    now += std::chrono::microseconds(100);
    client.endpoint.step(now);
    server.endpoint.step(now);
  }
  REQUIRE(client.answers.size() == std::size(sizes));
  for (const CallAnswer& answer : client.answers) {
    CHECK(answer.status == CallStatus::answered);
    CHECK(answer.response.size() == answer.request.size());
    CHECK(std::equal(answer.response.data().begin(), answer.response.data().end(), answer.request.data().begin()));
  }
}

TEST_CASE("calls go over UDP, by IPv4 and IPv6") {
  for (const char* address : {"127.0.0.1:0", "[::1]:0"}) {
    auto one = UdpTransport::open({.address = address});
    if (!one && address[0] == '[') {
      WARN("no IPv6 on loopback: " << one.error().to_string());
      continue;
    }
    REQUIRE(one);
    const auto other = UdpTransport::open({.address = address});
    REQUIRE(other);
    call_and_answer(**one, **other, (*one)->route_to((*other)->address()).value());
  }
}

TEST_CASE("UDP takes no address but of the loopback interface, and says why") {
  for (const char* address : {"10.0.0.1:0", "0.0.0.0:0", "[::]:0", "[fd00::1]:7000", "example.org:7000"}) {
    const auto refused = UdpTransport::open({.address = address});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind() == ErrorKind::unsupported);
    CHECK(refused.error().to_string().find("not encrypted") != std::string::npos);
  }
  const auto transport = UdpTransport::open({});
  REQUIRE(transport);
  CHECK((*transport)->route_to("192.168.1.1:7000").error().kind() == ErrorKind::unsupported);
  CHECK((*transport)->route_to("[::1]:7000").error().kind() == ErrorKind::bad_argument);
  CHECK_FALSE((*transport)->route_to("127.0.0.1"));
  CHECK_FALSE(UdpTransport::open({.payload_bytes = 100}));
  CHECK_FALSE(UdpTransport::open({.address = (*transport)->address()}));  // in use
}

TEST_CASE("a packet of UDP that is longer than any is dropped, and one that comes ends a sleep") {
  const auto to = UdpTransport::open({.payload_bytes = 512});
  const auto from = UdpTransport::open({.payload_bytes = 2000});
  REQUIRE((to && from));
  CHECK_FALSE((*to)->wait(Duration::zero()));
  const std::vector<std::byte> header(header_bytes), fits(512), longer(513);
  const PacketRoute route = (*from)->route_to((*to)->address()).value();
  const std::vector<OutgoingPacket> burst{{route, header, longer}, {route, header, fits}, {route, header, {}}};
  (*from)->send(burst);
  CHECK((*to)->wait(std::chrono::seconds(10)));
  const auto packets = (*to)->receive();
  REQUIRE(packets.size() == 2);
  CHECK(packets[0].bytes.size() == header_bytes + 512);
  CHECK(packets[1].bytes.size() == header_bytes);
  CHECK(packets[0].from == (*to)->route_to((*from)->address()).value());
}

TEST_CASE("UDP loses none of as many packets as it says to have room for, whatever their size") {
  constexpr std::size_t sizes[] = {512, 900, 1408, 2000, 4000, 8000, 9000, 17'000, 33'000, 65'000};
  for (const std::size_t payload_bytes : sizes) {
    const auto to = UdpTransport::open({.payload_bytes = payload_bytes, .receive_buffer_bytes = 256 << 10});
    const auto from = UdpTransport::open({.payload_bytes = payload_bytes});
    REQUIRE((to && from));
    const PacketRoute route = (*from)->route_to((*to)->address()).value();
    const std::vector<std::byte> header(header_bytes), payload(payload_bytes);
    const std::vector<OutgoingPacket> burst((*to)->receive_packets(), {route, header, payload});
    (*from)->send(burst);
    std::size_t taken = 0;
    for (std::size_t more = 1; more > 0; taken += more) more = (*to)->receive().size();
    INFO(payload_bytes << " bytes a packet");
    CHECK((*from)->packets_unsent() == 0);
    CHECK(taken == burst.size());
  }
}

/// Both ends of a memory.
struct ShmPair {
  explicit ShmPair(const ShmRingOptions& options = {})
      : one(ShmTransport::create(options).value()), other(ShmTransport::open(one->share().value(), options).value()) {}
  std::unique_ptr<ShmTransport> one, other;
};

TEST_CASE("calls go through shared memory") {
  const ShmPair pair;
  call_and_answer(*pair.one, *pair.other, ShmTransport::peer());
}

TEST_CASE("a ring that is full loses packets, and goes on when there is room") {
  const ShmPair pair({.payload_bytes = 512, .places = 4});
  for (int round = 0; round < 3; ++round) {
    const std::vector<std::byte> header(header_bytes, static_cast<std::byte>(round));
    const std::vector<OutgoingPacket> burst(6, {ShmTransport::peer(), header, {}});
    pair.one->send(burst);
    CHECK(pair.one->packets_unsent() == 2 * (static_cast<std::uint64_t>(round) + 1));
    const auto packets = pair.other->receive();
    REQUIRE(packets.size() == 4);
    for (const IncomingPacket& packet : packets) CHECK(packet.bytes[5] == static_cast<std::byte>(round));
    CHECK(pair.other->receive().empty());
  }
}

TEST_CASE("neither end can take the memory from under the other") {
  const ShmPair pair;
  const FileDescriptor memory = pair.one->share().value();
  struct stat status {};
  REQUIRE(::fstat(memory.get(), &status) == 0);
  for (const off_t bytes : {off_t{0}, status.st_size - 1, status.st_size + 1}) {
    CHECK(::ftruncate(memory.get(), bytes) != 0);
    CHECK(errno == EPERM);
  }
  CHECK(::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE) != 0);
}

TEST_CASE("memory that is not what it should be is refused") {
  const auto one = ShmTransport::create({});
  REQUIRE(one);
  CHECK(ShmTransport::open((*one)->share().value(), {.places = 64}).error().kind() == ErrorKind::bad_input);
  CHECK(ShmTransport::open(FileDescriptor(::open("/dev/null", O_RDWR)), {}).error().kind() == ErrorKind::bad_input);
  CHECK(ShmTransport::open(FileDescriptor(), {}).error().kind() == ErrorKind::bad_input);
  CHECK_FALSE(ShmTransport::create({.places = 3}));
  struct stat status {};
  REQUIRE(::fstat((*one)->share().value().get(), &status) == 0);
  for (const int seals : {0, F_SEAL_GROW, F_SEAL_SHRINK}) {
    FileDescriptor memory(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    REQUIRE(::ftruncate(memory.get(), status.st_size) == 0);
    REQUIRE(::fcntl(memory.get(), F_ADD_SEALS, seals) == 0);
    CHECK(ShmTransport::open(std::move(memory), {}).error().kind() == ErrorKind::refused);
  }
}

TEST_CASE("words of shared memory that a peer should not write are bounded") {
  const ShmPair pair({.payload_bytes = 512, .places = 4});
  const FileDescriptor file = pair.one->share().value();
  const auto write_word = [&](off_t where, std::uint64_t word) {
    REQUIRE(::pwrite(file.get(), &word, sizeof word, where) == sizeof word);
  };
  // The first ring is the creator's: a count that is read, then places of 576 bytes.
  write_word(0, ~std::uint64_t{0});  // more than was ever written
  const std::vector<std::byte> header(header_bytes);
  pair.one->send(std::vector<OutgoingPacket>(6, {ShmTransport::peer(), header, {}}));
  CHECK(pair.one->packets_unsent() == 2);
  write_word(64, std::uint64_t{1} << 32 | 0xffffffff);    // a packet of 4 GiB
  write_word(64 + 576, std::uint64_t{1} << 32 | 3);       // one of three bytes
  write_word(64 + 2 * 576, std::uint64_t{9} << 32 | 40);  // one of another turn
  CHECK(pair.other->receive().empty());
  write_word(64 + 2 * 576, std::uint64_t{1} << 32 | 40);
  CHECK(pair.other->receive().size() == 2);
}

}  // namespace
}  // namespace spindrift::rpc
