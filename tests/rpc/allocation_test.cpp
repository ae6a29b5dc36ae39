// Once sessions are connected and buffers made, calls take no memory; and peers that keep no rule take no more than a server
// is allowed to keep.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>

#include <malloc.h>

#include "paper_network.hpp"

namespace {

std::size_t allocations = 0;
std::size_t bytes_in_use = 0;
std::size_t bytes_in_use_most = 0;

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  bytes_in_use += ::malloc_usable_size(memory);
  bytes_in_use_most = std::max(bytes_in_use_most, bytes_in_use);
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  bytes_in_use -= ::malloc_usable_size(memory);
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  bytes_in_use -= ::malloc_usable_size(memory);
  std::free(memory);
}

namespace spindrift::rpc {
namespace {

/// One end of a wire that holds a burst each way, in memory of its own.
class FixedTransport final : public PacketTransport {
 public:
  FixedTransport() { burst_.reserve(most); }
  void connect(FixedTransport& other) { other_ = &other; }
  [[nodiscard]] std::size_t payload_bytes() const noexcept override { return payload_bytes_least; }
  [[nodiscard]] std::uint32_t receive_packets() const noexcept override { return most; }
  void send(std::span<const OutgoingPacket> burst) override {
    for (const OutgoingPacket& packet : burst) {
      auto& to = other_->waiting_[other_->count_];
      std::memcpy(to.bytes.data(), packet.header.data(), header_bytes);
      if (!packet.payload.empty()) std::memcpy(to.bytes.data() + header_bytes, packet.payload.data(), packet.payload.size());
      to.size = header_bytes + packet.payload.size();
      ++other_->count_;
    }
  }
  [[nodiscard]] std::span<const IncomingPacket> receive() override {
    std::memcpy(&taken_, &waiting_, sizeof taken_);
    burst_.clear();
    for (std::size_t i = 0; i < count_; ++i) burst_.push_back({{}, std::span(taken_[i].bytes).first(taken_[i].size)});
    count_ = 0;
    return burst_;
  }

 private:
  static constexpr std::size_t most = 64;
  struct Place {
    std::array<std::byte, header_bytes + payload_bytes_least> bytes;
    std::size_t size;
  };
  FixedTransport* other_ = nullptr;
  std::array<Place, most> waiting_{}, taken_{};
  std::size_t count_ = 0;
  std::vector<IncomingPacket> burst_;
};

/// Calls again with the same buffers as soon as it is answered; at the other end, an echo.
class Caller final : public CallHandler, SessionHandler, RequestHandler, TokenSource {
 public:
  Caller(PacketTransport& transport, const RpcOptions& options) : endpoint(transport, *this, options) {
    SPINDRIFT_CHECK(endpoint.handle(1, *this).ok());
  }
  void begin(std::size_t calls, std::size_t bytes) {
    session_ = endpoint.connect({}, *this).value();
    for (std::size_t i = 0; i < calls; ++i) call(endpoint.buffer(bytes), endpoint.buffer(bytes));
  }
  void call(MessageBuffer request, MessageBuffer response) {
    OutgoingCall out{.type = 1, .handler = this};
    out.request = std::move(request);
    out.response = std::move(response);
    SPINDRIFT_CHECK(endpoint.call(session_, out).ok());
  }
  void on_answer(CallAnswer&& answer) override {
    ++answers;
    call(std::move(answer.request), std::move(answer.response));
  }
  void on_session(SessionId, SessionChange) override {}
  void on_request(IncomingRequest& request) override {
    const auto room = request.make_response(request.bytes().size()).value();
    std::copy(request.bytes().begin(), request.bytes().end(), room.begin());
    request.answer();
  }
  std::uint64_t next_token() override { return 5; }

  RpcEndpoint endpoint;
  std::size_t answers = 0;

 private:
  SessionId session_;
};

TEST_CASE("calls of one packet, and of several, take no memory once they have begun") {
  for (const std::size_t bytes : {std::size_t{32}, 3 * payload_bytes_least}) {
    FixedTransport at_client, at_server;
    at_client.connect(at_server);
    at_server.connect(at_client);
    const RpcOptions options{.congestion = {.link_bytes_per_second = 1'000'000'000, .pace_at_link_rate = true}};
    Caller client(at_client, options), server(at_server, options);
    client.begin(12, bytes);
    Time now{std::chrono::seconds(1)};
    const auto play = [&](int rounds) {
      for (int i = 0; i < rounds; ++i) {
        now += std::chrono::microseconds(3);
        client.endpoint.step(now);
        server.endpoint.step(now);
      }
    };
    play(20'000);  // until every span of the wheel has been used
    const std::size_t before = allocations, answered = client.answers;
    play(20'000);
    CHECK(allocations - before == 0);
    CHECK(client.answers > answered + 1000);
  }
}

/// Begins a request of the largest size in each slot of as many sessions as it is given, time and again.
struct Greedy : PaperPair {
  explicit Greedy(const RpcOptions& options) : PaperPair({.receive_packets = 32}, options) {}

  void connect(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const SessionOffer offer{
          .session = static_cast<std::uint32_t>(i), .credits = 32, .token = i + 1, .payload_bytes = payload_bytes_least};
      say({.kind = PacketKind::connect}, encode(offer));
    }
    server.endpoint.step(now);
    for (const PaperPacket& packet : on_the_way) {
      const auto grant = decode_grant(std::span(packet.bytes).subspan(header_bytes));
      if (packet.kind() == PacketKind::accept) grants.push_back(grant.value());
    }
    on_the_way.clear();
  }
  void begin_everywhere(std::uint64_t turn) {
    const std::vector<std::byte> piece(payload_bytes_least);
    for (const SessionGrant& grant : grants) {
      for (std::uint64_t slot = 0; slot < slots_per_session; ++slot) {
        say({.kind = PacketKind::request,
             .request_type = 1,
             .session = grant.session,
             .token = grant.token,
             .request = slots_per_session * turn + slot,
             .message_bytes = message_bytes_most},
            piece);
      }
      server.endpoint.step(now);
      on_the_way.clear();
    }
  }
  void say(const PacketHeader& header, std::span<const std::byte> payload) {
    const auto head = encode(header);
    std::vector<std::byte> bytes(head.begin(), head.end());
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    server.transport.arrived.push_back({1, 2, std::move(bytes)});
  }

  std::vector<SessionGrant> grants;
};

TEST_CASE("clients that begin requests of 8 MiB in all slots of all sessions have a server keep what it may, and no more") {
  const RpcOptions options{.kept_bytes_max = 40u << 20, .session_kept_bytes_max = 16u << 20};
  Greedy pair(options);
  pair.connect(64);
  REQUIRE(pair.grants.size() == 64);
  const std::size_t before = bytes_in_use;
  bytes_in_use_most = before;
  for (std::uint64_t turn = 1; turn <= 3; ++turn) pair.begin_everywhere(turn);
  CHECK(pair.server.endpoint.kept_bytes() == 40u << 20);
  CHECK(pair.server.endpoint.counts().requests_overloaded > 64);
  CHECK(bytes_in_use_most - before < (40u << 20) / 16 * 17 + (1u << 20));  // with the packets' headers, and a burst
  pair.rounds(40, std::chrono::milliseconds(100));                         // silence ends them
  CHECK(pair.server.endpoint.kept_bytes() == 0);
  CHECK(bytes_in_use < before);
}

}  // namespace
}  // namespace spindrift::rpc
