// Endpoints over TCP on loopback, in one thread; and callers without any, which say what they like.
#pragma once

#include <catch2/catch.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <poll.h>

#include <spindrift/core/clock.hpp>
#include <spindrift/fabric/connected/wire.hpp>
#include <spindrift/fabric/tcp/socket.hpp>
#include <spindrift/rpc/rpc_endpoint.hpp>
#include <spindrift/rpc/tcp/packet_frames.hpp>
#include <spindrift/rpc/tcp/tcp_transport.hpp>

#include "../fabric/tls_fixture.hpp"
#include "paper_network.hpp"

namespace spindrift::rpc::test {

inline Time now() { return SystemClock().now(); }

/// Silence ends nothing in these tests: what ends, ends because of its connection.
inline RpcOptions patient_options(std::uint32_t credits = 8) {
  RpcOptions options = over_tcp({.credits = credits});
  options.silence_max = std::chrono::hours(1);
  return options;
}

inline std::unique_ptr<StreamTransport> opened(StreamOptions options) {
  return value_or_throw(StreamTransport::open(std::move(options)));
}

/// An endpoint that echoes, and writes down what it is told.
class TcpNode final : public CallHandler, public SessionHandler, public RequestHandler, public TokenSource {
 public:
  explicit TcpNode(StreamOptions options = {}, const RpcOptions& rpc = patient_options())
      : transport(opened(std::move(options))), endpoint(*transport, *this, rpc) {
    SPINDRIFT_CHECK(endpoint.handle(1, *this).ok());
  }
  /// A server at any port of loopback.
  [[nodiscard]] static StreamOptions listening(std::shared_ptr<fabric::tls::Credentials> credentials = nullptr) {
    StreamOptions options;
    options.listen = "127.0.0.1:0";
    options.credentials = std::move(credentials);
    return options;
  }
  [[nodiscard]] static StreamOptions calling(std::shared_ptr<fabric::tls::Credentials> credentials) {
    StreamOptions options;
    options.credentials = std::move(credentials);
    return options;
  }

  /// A session over a connection of its own.
  SessionId connect(const TcpNode& to, std::uint32_t node = 1) {
    route = value_or_throw(transport->call(NodeId(node), to.transport->address()));
    return session = value_or_throw(endpoint.connect(route, *this));
  }
  void call(std::size_t bytes) { call(session, bytes); }
  void call(SessionId over, std::size_t bytes) {
    OutgoingCall out{.type = 1, .request = endpoint.buffer(bytes), .response = endpoint.buffer(bytes), .handler = this};
    for (std::size_t i = 0; i < bytes; ++i) out.request.data()[i] = PaperNode::pattern(i);
    REQUIRE(endpoint.call(over, out).ok());
  }
  void on_answer(CallAnswer&& answer) override {
    echoed = echoed && (answer.status != CallStatus::answered ||
                        std::ranges::equal(answer.request.data(), answer.response.data()));
    answers.push_back(answer.status);
  }
  void on_session(SessionId, SessionChange change) override { changes.push_back(change); }
  void on_request(IncomingRequest& request) override {
    from = request.id();
    ++requests;
    if (!silent) PaperNode::echo(request);
  }
  /// No two nodes have one in common.
  std::uint64_t next_token() override {
    static std::uint64_t token = 77;
    return ++token;
  }
  [[nodiscard]] bool all_answered(std::size_t count) const {
    return answers.size() == count && std::ranges::count(answers, CallStatus::answered) == std::ptrdiff_t(count);
  }

  std::unique_ptr<StreamTransport> transport;
  RpcEndpoint endpoint;
  PacketRoute route;
  SessionId session;
  RequestId from;
  bool silent = false;  ///< requests are not answered
  bool echoed = true;   ///< all answers had the bytes of their requests
  std::size_t requests = 0;
  std::vector<CallStatus> answers;
  std::vector<SessionChange> changes;
};

/// Steps them until that holds. False: it never came to be, in a time that is long for everything here.
inline bool stepped_until(std::initializer_list<TcpNode*> nodes, const std::function<bool()>& done) {
  for (const Time give_up = now() + std::chrono::seconds(30); now() < give_up;) {
    bool came = false;
    for (TcpNode* const node : nodes) came = node->endpoint.step(now()) || came;
    if (done()) return true;
    if (!came) static_cast<void>((*nodes.begin())->transport->wait(std::chrono::milliseconds(1)));
  }
  return false;
}

/// A caller that is no endpoint.
class RawCaller {
 public:
  explicit RawCaller(const TcpNode& server) {
    const auto at = value_or_throw(fabric::connected::resolve(server.transport->address(), true));
    socket_ = FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&at.storage), at.bytes) == 0);
  }
  void say(std::span<const std::byte> bytes) {
    REQUIRE(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
  }
  void greet() { say(fabric::connected::client_greeting()); }
  /// A length and that many bytes, of which `given` come.
  void say_frame(std::uint32_t length, std::size_t given) {
    const auto head = field_bytes(length);
    say(head);
    say(std::vector<std::byte>(given, std::byte{9}));
  }
  void hang_up() { socket_ = FileDescriptor(); }
  /// Whether the server has hung up.
  [[nodiscard]] bool is_ended() const {
    std::byte none[64];
    const ssize_t count = ::recv(socket_.get(), none, sizeof none, MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN);
  }
  [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }

 private:
  FileDescriptor socket_;
};

}  // namespace spindrift::rpc::test
