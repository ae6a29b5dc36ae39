// Two honest endpoints of calls and a third that sends any packets at any time, as a client and as a server of the others.
// The honest ones neither crash nor loop; what they call each other is carried out once and answered, and no more is kept
// than is allowed, nor any of it in the end.
//
// The third is a real endpoint as well, whose packets may be changed on their way. So the input reaches every state of a
// session before it lies.
#include <map>
#include <set>

#include "../rpc/paper_network.hpp"
#include "fuzz.hpp"

namespace {

using namespace spindrift;
using namespace spindrift::rpc;
using fuzz::expect;

constexpr std::uint64_t hostile = 2;  // 0 and 1 are honest
constexpr std::uint8_t type_handled = 1;
constexpr std::size_t large = 4096;
const RpcOptions options{.credits = 4,
                         .receive_packets = 64,
                         .queued_calls_max = 4,
                         .burst_packets = 3,
                         .message_bytes_max = large,
                         .kept_bytes_max = 4 * large,
                         .session_kept_bytes_max = 2 * large};

std::byte byte_of(std::uint64_t call, std::size_t at) { return static_cast<std::byte>(call * 101 + at * 7 + at / 256); }
bool is_of(std::span<const std::byte> bytes, std::uint64_t call) {
  for (std::size_t i = 1; i < bytes.size(); ++i) {
    if (bytes[i] != byte_of(call, i)) return false;
  }
  return bytes.empty() || bytes[0] == static_cast<std::byte>(call);
}

struct Call {
  std::uint64_t server = 0;
  std::uint32_t handled = 0;
  bool open = true;
};

/// One process: calls the others, and answers them now or later, as the first byte of a request says.
class Node final : public CallHandler, public SessionHandler, public RequestHandler {
 public:
  Node(std::deque<PaperPacket>& on_the_way, std::uint64_t place)
      : transport(on_the_way, place), tokens_(1000 * (place + 1)), endpoint(transport, tokens_, options), place_(place) {
    SPINDRIFT_CHECK(endpoint.handle(type_handled, *this).ok());
  }

  void connect(std::uint64_t to) { sessions[to] = endpoint.connect(route_to(to), *this).value(); }
  /// The number is of this node's calls.
  void call(std::uint64_t to, std::size_t bytes, std::size_t room, std::uint8_t type) {
    const std::uint64_t number = calls.size();
    OutgoingCall out{
        .type = type, .request = endpoint.buffer(bytes), .response = endpoint.buffer(room), .handler = this, .tag = number};
    for (std::size_t i = 0; i < bytes; ++i)
      out.request.data()[i] = i == 0 ? static_cast<std::byte>(number) : byte_of(number, i);
    const auto made = endpoint.call(sessions[to], out);
    if (!made) return;
    calls.push_back({.server = to});
    ids.push_back(*made);
  }
  void answer(RequestId request, std::size_t bytes, std::uint64_t number) {
    const auto room = endpoint.make_response(request, bytes);
    if (!room) return endpoint.answer(request, CallStatus::overloaded);
    for (std::size_t i = 0; i < bytes; ++i) (*room)[i] = i == 0 ? static_cast<std::byte>(number) : byte_of(number, i);
    endpoint.answer(request);
  }
  void answer_one(std::size_t which) {
    const Held held = late[which % late.size()];
    late.erase(late.begin() + static_cast<std::ptrdiff_t>(which % late.size()));
    expect(is_of(endpoint.kept(held.request), held.call) || !held.honest, "a kept request stays as it was sent");
    answer(held.request, held.bytes, held.call);
  }
  void on_request(IncomingRequest& request) override;
  void on_answer(CallAnswer&& answer) override;
  void on_session(SessionId session, SessionChange change) override {
    if (place_ == hostile || change == SessionChange::connected) return;
    for (const auto& [to, mine] : sessions) expect(mine != session || to == hostile, "honest sessions stay");
  }
  void check() const {
    expect(endpoint.kept_bytes() <= options.kept_bytes_max, "no more is kept than is allowed");
    for (const auto& [to, id] : sessions) {
      const ClientSession* const session = endpoint.session(id);
      if (session != nullptr) expect(session->credits() <= options.credits, "credits are not made");
    }
  }

  struct Held {
    RequestId request;
    std::size_t bytes = 0;
    std::uint64_t call = 0;
    bool honest = false;
  };
  PaperTransport transport;

 private:
  CountedTokens tokens_;

 public:
  RpcEndpoint endpoint;
  Node* peer = nullptr;                         // the other honest one
  std::map<std::uint64_t, SessionId> sessions;  // by server
  std::vector<Call> calls;
  std::vector<CallId> ids;
  std::vector<Held> late;

 private:
  std::uint64_t place_;
};

void Node::on_request(IncomingRequest& request) {
  const std::span<const std::byte> bytes = request.bytes();
  const ClientSession* const of_peer = peer == nullptr ? nullptr : peer->endpoint.session(peer->sessions[place_]);
  Held held{.request = request.id(), .bytes = bytes.size()};
  held.honest = of_peer != nullptr && of_peer->ends().peer_session == request.id().session.number;
  if (!bytes.empty()) held.call = static_cast<std::uint64_t>(bytes[0]);
  if (held.honest) {
    expect(held.call < peer->calls.size() && is_of(bytes, held.call), "an honest request arrives as it was sent");
    expect(++peer->calls[held.call].handled == 1, "an honest request is handled once");
  } else if (bytes.size() > 1) {
    held.bytes = static_cast<std::size_t>(bytes[1]) * 40;
  }
  if (held.call % 4 == 3) return request.answer(CallStatus::failed);
  if (held.call % 4 != 2) return answer(held.request, held.bytes, held.call);
  static_cast<void>(request.keep());
  late.push_back(held);
}

void Node::on_answer(CallAnswer&& answer) {
  expect(answer.tag < calls.size() && std::exchange(calls[answer.tag].open, false), "a call ends once");
  expect(is_of(answer.request.data(), answer.tag), "a request comes back as it was");
  const Call& call = calls[answer.tag];
  if (place_ == hostile || call.server == hostile) return;
  using enum CallStatus;
  const bool carried_out = answer.status == answered || answer.status == failed || answer.status == too_large;
  expect(!carried_out || call.handled == 1, "what is answered was carried out");
  expect(answer.status != unhandled || call.handled == 0, "what is unhandled was not carried out");
  expect(answer.status != peer_lost && answer.status != session_closed, "honest sessions stay");
  expect(answer.status != answered || is_of(answer.response.data(), answer.tag), "a response arrives as it was sent");
}

struct Group {
  Group() {
    for (std::uint64_t place = 0; place < 3; ++place) nodes.emplace_back(on_the_way, place);
    nodes[0].peer = &nodes[1];
    nodes[1].peer = &nodes[0];
    for (std::uint64_t from = 0; from < 2; ++from) nodes[from].connect(1 - from);
    for (int i = 0; i < 4; ++i) round();
  }
  void step(std::uint64_t which, Duration later) {
    now += later;
    nodes[which].endpoint.step(now);
    nodes[which].check();
  }
  void deliver(PaperPacket packet) {
    if (packet.to < nodes.size()) nodes[packet.to].transport.arrived.push_back(std::move(packet));
  }
  void round() {
    for (; !on_the_way.empty(); on_the_way.pop_front()) deliver(std::move(on_the_way.front()));
    for (std::uint64_t node = 0; node < 3; ++node) step(node, std::chrono::microseconds(300));
  }

  std::deque<PaperPacket> on_the_way;
  std::deque<Node> nodes;
  Time now{std::chrono::seconds(1)};
};

/// A header that is nearly right for a session of the hostile node with `to`: its side is that of the kind.
PacketHeader nearly_right(Group& group, std::uint64_t to, fuzz::Choices& choices) {
  PacketHeader header{.kind = static_cast<PacketKind>(1 + choices.choice(packet_kind_last))};
  const bool of_server = header.kind >= PacketKind::accept;
  Node& session_of = group.nodes[of_server ? to : hostile];
  const auto with = session_of.sessions.find(of_server ? hostile : to);
  const ClientSession* const session =
      with == session_of.sessions.end() ? nullptr : session_of.endpoint.session(with->second);
  if (session != nullptr) {
    header.session = of_server ? session->ends().id.number : session->ends().peer_session;
    header.token = of_server ? session->ends().token : session->ends().peer_token;
  }
  header.request_type = static_cast<std::uint8_t>(choices.choice(4));
  header.status = static_cast<std::uint8_t>(choices.choice(6));
  header.request = choices.choice(64);
  if (header.request == 63) header.request = choices.number(8);
  constexpr std::uint32_t sizes[] = {0, 1, 40, 511, 512, 513, 1024, 1500, 4095, 4096, 4097, 8192, 8u << 20};
  header.message_bytes = sizes[choices.choice(std::size(sizes))];
  header.packet = static_cast<std::uint16_t>(choices.choice(16));
  if (header.packet == 15) header.packet = static_cast<std::uint16_t>(choices.number(2));
  header.late = choices.choice(8) == 0;
  return header;
}

std::size_t payload_of(const PacketHeader& header, fuzz::Choices& choices) {
  const std::size_t any = choices.choice(256);
  if (any > 200) return any * 3;
  if (header.kind == PacketKind::connect) return offer_bytes;
  if (header.kind == PacketKind::accept) return grant_bytes;
  if (header.kind == PacketKind::request) return bytes_in_packet(header.message_bytes, payload_bytes_least, header.packet);
  // The size of a response piece depends on the request.
  if (header.kind == PacketKind::response)
    return bytes_in_packet(header.message_bytes, payload_bytes_least, static_cast<std::uint32_t>(any % 9));
  return 0;
}

void say(Group& group, fuzz::Choices& choices) {
  PaperPacket packet{.from = hostile, .to = choices.choice(2), .bytes = {}};
  const PacketHeader header = nearly_right(group, packet.to, choices);
  const auto head = encode(header);
  packet.bytes.assign(head.begin(), head.end());
  packet.bytes.resize(header_bytes + payload_of(header, choices), std::byte{6});
  const auto changed = choices.take(choices.choice(offer_bytes + 1));
  for (std::size_t i = 0; i < changed.size() && header_bytes + i < packet.bytes.size(); ++i)
    packet.bytes[header_bytes + i] = static_cast<std::byte>(changed[i]);
  group.deliver(std::move(packet));
}

/// The bytes as they are, from the hostile node's place or from nobody's.
void say_bytes(Group& group, fuzz::Choices& choices) {
  PaperPacket packet{.from = choices.choice(4) == 0 ? 9 : hostile, .to = choices.choice(2), .bytes = {}};
  for (const std::uint8_t byte : choices.take(choices.number(2) % 600)) packet.bytes.push_back(static_cast<std::byte>(byte));
  group.deliver(std::move(packet));
}

/// The oldest packet arrives, twice, never or last; one of the hostile node with other bytes.
void carry(Group& group, fuzz::Choices& choices) {
  if (group.on_the_way.empty()) return;
  PaperPacket packet = std::move(group.on_the_way.front());
  group.on_the_way.pop_front();
  switch (choices.choice(8)) {
    case 0: return;
    case 1: group.deliver(packet); break;
    case 2: group.on_the_way.push_back(std::move(packet)); return;
    case 3:
      if (packet.from != hostile || packet.bytes.empty()) break;
      packet.bytes[choices.choice(256) % packet.bytes.size()] ^= static_cast<std::byte>(choices.number(1));
      break;
    default: break;
  }
  group.deliver(std::move(packet));
}

void call(Group& group, fuzz::Choices& choices) {
  const std::uint64_t from = choices.choice(3);
  Node& caller = group.nodes[from];
  const std::uint64_t to = (from + 1 + choices.choice(2)) % 3;
  if (caller.calls.size() == 256) return;  // a request's first byte has its number
  if (!caller.sessions.contains(to) || caller.endpoint.session(caller.sessions[to]) == nullptr) return caller.connect(to);
  constexpr std::size_t sizes[] = {1, 2, 512, 513, 1400, large, large + 1};
  const std::size_t bytes = sizes[choices.choice(std::size(sizes))];
  caller.call(to, bytes, choices.choice(4) == 0 ? bytes / 2 : bytes, choices.choice(16) == 0 ? 7 : type_handled);
}

void end_something(Group& group, fuzz::Choices& choices) {
  Node& node = group.nodes[choices.choice(3)];
  const std::uint64_t what = choices.choice(4);
  if (what == 0 && node.sessions.contains(hostile)) node.endpoint.close(node.sessions[hostile]);
  if (what == 1 && &node == &group.nodes[hostile]) node.endpoint.end();
  if (what == 2 && !node.ids.empty()) node.endpoint.cancel(node.ids[choices.choice(node.ids.size())]);
  if (what == 3 && !node.late.empty()) node.answer_one(choices.choice(256));
}

/// Packets arrive, handlers answer: honest calls end; then everything ends.
void finish(Group& group) {
  const auto open = [&] {
    return std::any_of(group.nodes.begin(), group.nodes.begin() + hostile, [](const Node& node) {
      return std::any_of(node.calls.begin(), node.calls.end(),
                         [](const Call& call) { return call.open && call.server != hostile; });
    });
  };
  for (int i = 0; i < 1000 && open(); ++i) {
    for (Node& node : group.nodes) {
      while (!node.late.empty()) node.answer_one(0);
    }
    group.round();
  }
  expect(!open(), "honest calls end");
  for (Node& node : group.nodes) {
    for (const auto& [to, session] : node.sessions) node.endpoint.close(session);
    node.endpoint.end();
    while (!node.late.empty()) node.answer_one(0);
    node.endpoint.step(group.now);
    expect(node.endpoint.kept_bytes() == 0, "nothing is kept of sessions that are over");
    for (const Call& call : node.calls) expect(!call.open, "a call ends with its session");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Choices choices(data, std::min<std::size_t>(size, 4096));
  Group group;
  for (int i = 0; i < 400 && !choices.empty(); ++i) {
    switch (choices.choice(10)) {
      case 0: call(group, choices); break;
      case 1: end_something(group, choices); break;
      case 2: say_bytes(group, choices); break;
      case 3:
      case 4: say(group, choices); break;
      case 5: group.round(); break;
      case 6: group.step(choices.choice(3), std::chrono::microseconds(10 * choices.choice(256))); break;
      default: carry(group, choices);
    }
  }
  finish(group);
  return 0;
}
