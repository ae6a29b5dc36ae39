// Endpoints of calls over a network of paper: packets lie in a list until a test delivers, drops, repeats or changes them.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include <spindrift/rpc/rpc_endpoint.hpp>

namespace spindrift::rpc {

struct PaperPacket {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::vector<std::byte> bytes;

  /// Its header; an endpoint sent it, so it has one.
  [[nodiscard]] PacketHeader header() const { return decode(bytes, payload_bytes_least).value().header; }
  [[nodiscard]] PacketKind kind() const { return header().kind; }
};

inline PacketRoute route_to(std::uint64_t place) { return {{place, 0, 0}}; }

class PaperTransport final : public PacketTransport {
 public:
  PaperTransport(std::deque<PaperPacket>& on_the_way, std::uint64_t place) : on_the_way_(on_the_way), place_(place) {}

  [[nodiscard]] std::size_t payload_bytes() const noexcept override { return payload_bytes_least; }
  [[nodiscard]] std::uint32_t receive_packets() const noexcept override { return 8192; }
  void send(std::span<const OutgoingPacket> burst) override {
    ++bursts;
    for (const OutgoingPacket& packet : burst) {
      std::vector<std::byte> bytes(packet.header.begin(), packet.header.end());
      bytes.insert(bytes.end(), packet.payload.begin(), packet.payload.end());
      on_the_way_.push_back({place_, packet.to.words[0], std::move(bytes)});
    }
  }
  [[nodiscard]] std::span<const IncomingPacket> receive() override {
    taken_ = std::move(arrived);
    arrived.clear();
    burst_.clear();
    for (const PaperPacket& packet : taken_) burst_.push_back({route_to(packet.from), packet.bytes});
    return burst_;
  }

  std::vector<PaperPacket> arrived;
  std::size_t bursts = 0;

 private:
  std::deque<PaperPacket>& on_the_way_;
  std::uint64_t place_;
  std::vector<PaperPacket> taken_;
  std::vector<IncomingPacket> burst_;
};

class CountedTokens final : public TokenSource {
 public:
  explicit CountedTokens(std::uint64_t first) : next_(first) {}
  [[nodiscard]] std::uint64_t next_token() override { return next_++; }

 private:
  std::uint64_t next_;
};

/// An endpoint that writes down what it is told.
class PaperNode final : public CallHandler, public SessionHandler, public RequestHandler {
 public:
  PaperNode(std::deque<PaperPacket>& on_the_way, std::uint64_t place, const RpcOptions& options)
      : transport(on_the_way, place), tokens_(place * 1000), endpoint(transport, tokens_, options) {}

  void on_answer(CallAnswer&& answer) override {
    answers.push_back(std::move(answer));
    if (when_answered) when_answered(answers.back());
  }
  void on_session(SessionId, SessionChange change) override { changes.push_back(change); }
  void on_request(IncomingRequest& request) override {
    requests.push_back(request.id());
    if (serve) return serve(request);
    echo(request);
  }
  static void echo(IncomingRequest& request) {
    const auto room = request.make_response(request.bytes().size()).value();
    std::copy(request.bytes().begin(), request.bytes().end(), room.begin());
    request.answer();
  }

  /// A call of type 1 with bytes that say where they are.
  CallId call(SessionId session, std::size_t bytes, std::size_t response_bytes, Time deadline = never) {
    OutgoingCall out{.type = 1,
                     .request = endpoint.buffer(bytes),
                     .response = endpoint.buffer(response_bytes),
                     .handler = this,
                     .tag = ++calls,
                     .deadline = deadline};
    for (std::size_t i = 0; i < bytes; ++i) out.request.data()[i] = pattern(i);
    return endpoint.call(session, out).value();
  }
  static std::byte pattern(std::size_t i) { return static_cast<std::byte>(i * 7 + i / 251); }

  PaperTransport transport;

 private:
  CountedTokens tokens_;

 public:
  RpcEndpoint endpoint;
  std::function<void(IncomingRequest&)> serve;  ///< instead of an echo
  std::function<void(const CallAnswer&)> when_answered;
  std::vector<CallAnswer> answers;
  std::vector<SessionChange> changes;
  std::vector<RequestId> requests;
  std::uint64_t calls = 0;
};

/// A client at place 1 and a server at place 2. `pass` judges each packet that is delivered; false drops it.
struct PaperPair {
  explicit PaperPair(const RpcOptions& client_options = {}, const RpcOptions& server_options = {})
      : client(on_the_way, 1, client_options), server(on_the_way, 2, server_options) {
    SPINDRIFT_CHECK(server.endpoint.handle(1, server).ok());
  }

  void deliver() {
    std::deque<PaperPacket> packets = std::move(on_the_way);
    on_the_way.clear();
    for (PaperPacket& packet : packets) {
      if (pass && !pass(packet)) continue;
      log.push_back(packet);
      (packet.to == 1 ? client : server).transport.arrived.push_back(std::move(packet));
    }
  }
  /// One step of both, and of time.
  void round(Duration later = std::chrono::microseconds(10)) {
    now += later;
    deliver();
    client.endpoint.step(now);
    server.endpoint.step(now);
  }
  void rounds(int count, Duration later = std::chrono::microseconds(10)) {
    for (int i = 0; i < count; ++i) round(later);
  }
  SessionId connected() {
    const SessionId session = client.endpoint.connect(route_to(2), client).value();
    rounds(4);
    log.clear();
    return session;
  }
  [[nodiscard]] std::size_t delivered(PacketKind kind) const {
    return static_cast<std::size_t>(
        std::count_if(log.begin(), log.end(), [&](const PaperPacket& packet) { return packet.kind() == kind; }));
  }

  std::deque<PaperPacket> on_the_way;
  std::vector<PaperPacket> log;  ///< what was delivered
  std::function<bool(PaperPacket&)> pass;
  Time now{std::chrono::seconds(1)};
  PaperNode client;
  PaperNode server;
};

}  // namespace spindrift::rpc
