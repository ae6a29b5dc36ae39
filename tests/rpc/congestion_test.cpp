// Timely and the wheel by themselves, and many clients that send to one server through a link.
#include <catch2/catch.hpp>

#include <numeric>

#include "paper_network.hpp"

namespace spindrift::rpc {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr CongestionOptions ten_gigabits{.link_bytes_per_second = 1'250'000'000};

Time at(std::int64_t us) { return Time(microseconds(us)); }

TEST_CASE("round trips that grow lower the rate, and low ones raise it up to the link's") {
  Timely timely(ten_gigabits);
  CHECK(timely.at_link_rate());
  std::int64_t now = 0;
  for (int rtt = 60; rtt < 160; rtt += 10) timely.on_round_trip(microseconds(rtt), at(now += 200));
  const double low = timely.bytes_per_second();
  CHECK_FALSE(timely.at_link_rate());
  CHECK(low < 0.5 * 1.25e9);
  for (int i = 0; i < 300; ++i) timely.on_round_trip(microseconds(20), at(now += 200));
  CHECK(timely.at_link_rate());
}

TEST_CASE("a round trip above the highest lowers the rate also if they fall, down to a least one") {
  Timely timely(ten_gigabits);
  std::int64_t now = 0;
  for (int rtt = 9000; rtt > 1000; rtt -= 10) timely.on_round_trip(microseconds(rtt), at(now += 10'000));
  CHECK(timely.bytes_per_second() == Approx(0.001 * 1.25e9));
}

TEST_CASE("of the round trips within one only the first counts") {
  Timely once(ten_gigabits), often(ten_gigabits);
  once.on_round_trip(microseconds(500), at(1000));
  for (int i = 0; i < 400; ++i) often.on_round_trip(microseconds(500), at(1000 + i));
  CHECK(once.bytes_per_second() == often.bytes_per_second());
}

TEST_CASE("at the link's rate short round trips are ignored, unless each is to be computed with") {
  CongestionOptions options = ten_gigabits;
  Timely ignores(options);
  for (int i = 1; i <= 20; ++i) ignores.on_round_trip(microseconds(10 + i), at(100 * i));
  ignores.on_round_trip(microseconds(60), at(3000));
  CongestionOptions computes = ten_gigabits;
  computes.rtt_ignored_below = Duration::zero();
  Timely all(computes);
  for (int i = 1; i <= 20; ++i) all.on_round_trip(microseconds(10 + i), at(100 * i));
  all.on_round_trip(microseconds(60), at(3000));
  CHECK(ignores.bytes_per_second() != all.bytes_per_second());
}

TEST_CASE("a wheel gives each session back when its time has come, and not before") {
  PacingWheel wheel;
  std::vector<std::uint32_t> visited;
  const auto advance = [&](std::int64_t us) {
    visited.clear();
    wheel.advance(at(us), [&](std::uint32_t session) { visited.push_back(session); });
    return visited;
  };
  advance(1'000'000);
  CHECK(wheel.next_due() == never);
  wheel.put(1, at(1'000'005));
  wheel.put(2, at(1'000'003));
  wheel.put(3, at(1'000'005));
  wheel.put(4, at(999'000));    // past
  wheel.put(5, at(2'000'000));  // beyond the wheel
  CHECK(wheel.next_due() == at(1'000'001));
  CHECK(advance(1'000'001) == std::vector{4u});
  CHECK(wheel.next_due() == at(1'000'004));
  CHECK(advance(1'000'003).empty());
  CHECK(advance(1'000'004) == std::vector{2u});
  CHECK(advance(1'000'100) == std::vector{1u, 3u});
  CHECK(advance(1'004'000).empty());
  CHECK(advance(1'004'097) == std::vector{5u});
  CHECK(wheel.empty());
  wheel.put(6, at(9'000'000));
  CHECK(advance(20'000'000) == std::vector{6u});
}

/// Clients that send requests of 16 packets to one server as fast as they may, over a link that carries one packet of full
/// size in a microsecond, with a queue before it that has no end.
struct Incast {
  Incast(std::size_t count, CongestionOptions congestion) {
    const RpcOptions options{.receive_packets = 4096, .congestion = congestion};
    server = std::make_unique<PaperNode>(to_server, 0, options);
    SPINDRIFT_CHECK(server->endpoint.handle(1, *server).ok());
    server->serve = [](IncomingRequest& request) { request.answer(); };
    for (std::size_t i = 0; i < count; ++i) {
      clients.push_back(std::make_unique<PaperNode>(to_server, i + 1, options));
      PaperNode* const client = clients.back().get();
      const SessionId session = client->endpoint.connect(route_to(0), *client).value();
      client->when_answered = [this, client, session](const CallAnswer&) {
        ++answers;
        client->call(session, 16 * payload_bytes_least, 0);
      };
      for (int k = 0; k < 4; ++k) client->call(session, 16 * payload_bytes_least, 0);
    }
  }

  void tick() {
    now += microseconds(1);
    // The packets of the server are small, and take two microseconds.
    for (auto packet = to_server.begin(); packet != to_server.end();) {
      if (packet->from != 0) {
        ++packet;
        continue;
      }
      back.push_back({now + microseconds(2), std::move(*packet)});
      packet = to_server.erase(packet);
    }
    queued.push_back(to_server.size());
    if (!to_server.empty()) {
      server->transport.arrived.push_back(std::move(to_server.front()));
      to_server.pop_front();
      ++carried;
    }
    for (; !back.empty() && back.front().first <= now; back.pop_front())
      clients[back.front().second.to - 1]->transport.arrived.push_back(std::move(back.front().second));
    server->endpoint.step(now);
    for (auto& client : clients) client->endpoint.step(now);
  }

  std::deque<PaperPacket> to_server;
  std::deque<std::pair<Time, PaperPacket>> back;
  std::unique_ptr<PaperNode> server;
  std::vector<std::unique_ptr<PaperNode>> clients;
  std::vector<std::size_t> queued;
  std::size_t answers = 0, carried = 0;
  Time now{std::chrono::seconds(1)};
};

struct IncastSeen {
  double mean_queue = 0;  ///< packets, which are microseconds
  double carried = 0;     ///< of what the link could carry
};

IncastSeen play(CongestionOptions congestion) {
  Incast incast(16, congestion);
  for (int i = 0; i < 20'000; ++i) incast.tick();
  incast.queued.clear();
  incast.carried = 0;
  for (int i = 0; i < 20'000; ++i) incast.tick();
  const double sum = std::accumulate(incast.queued.begin(), incast.queued.end(), 0.0);
  CHECK(incast.answers > 100);
  return {sum / 20'000, static_cast<double>(incast.carried) / 20'000};
}

TEST_CASE("many clients of one server fill the queue before it, unless their sessions are controlled") {
  const IncastSeen free = play({});
  const IncastSeen controlled = play({.link_bytes_per_second = 544'000'000});  // of a packet and its header in a microsecond
  INFO("queue " << free.mean_queue << " and " << controlled.mean_queue << ", carried " << free.carried << " and "
                << controlled.carried);
  CHECK(free.mean_queue > 400);  // 16 sessions of 32 credits
  CHECK(controlled.mean_queue < free.mean_queue / 3);
  CHECK(controlled.carried > 0.7);
}

TEST_CASE("a session that is paced at the link's rate sends no burst that is faster") {
  const RpcOptions paced{.congestion = {.link_bytes_per_second = 54'400'000, .pace_at_link_rate = true}};  // 10 us a packet
  for (const bool pace : {false, true}) {
    PaperPair pair(pace ? paced : RpcOptions{});
    const SessionId session = pair.connected();
    pair.client.call(session, 16 * payload_bytes_least, 0);
    const auto under_way = [&] {
      return std::count_if(pair.on_the_way.begin(), pair.on_the_way.end(),
                           [](const PaperPacket& packet) { return packet.kind() == PacketKind::request; });
    };
    pair.client.endpoint.step(pair.now);
    if (pace) CHECK(pair.client.endpoint.next_due() <= pair.now + microseconds(12));  // for the next packet
    auto most = under_way();
    for (int i = 0; i < 400 && pair.client.answers.empty(); ++i) {
      pair.round(microseconds(10));
      most = std::max(most, under_way());
    }
    CHECK(pair.client.answers.size() == 1);
    CHECK((pace ? most <= 2 : most == 16));
  }
}

TEST_CASE("the time of a handler that answers later is not taken for the network's") {
  PaperPair pair({.congestion = {.link_bytes_per_second = 1'000'000'000}});
  const SessionId session = pair.connected();
  std::vector<RequestId> held;
  pair.server.serve = [&](IncomingRequest& request) { held.push_back(request.id()); };
  for (int i = 0; i < 20; ++i) {
    pair.client.call(session, 8, 8);
    pair.rounds(3);
    pair.round(milliseconds(3));
    pair.server.endpoint.answer(held.back());
    pair.rounds(3);
  }
  CHECK(pair.client.answers.size() == 20);
  CHECK(pair.client.endpoint.session(session)->pace().timely().at_link_rate());
}

TEST_CASE("a response that comes while its request waits to be sent again is dropped") {
  // Appendix C of the paper. Here nothing that waits refers to the request; it is dropped because it is out of turn.
  PaperPair pair({.credits = 1});
  const SessionId session = pair.connected();
  pair.client.call(session, 8, 8);
  pair.rounds(2);
  REQUIRE(pair.on_the_way.size() == 1);
  PaperPacket late = pair.on_the_way.front();
  pair.on_the_way.clear();
  pair.client.call(session, 8, 8);
  pair.now += milliseconds(6);
  pair.client.endpoint.step(pair.now);  // goes back, and sends one of the two
  REQUIRE(pair.client.answers.empty());
  pair.rounds(20, milliseconds(1));
  CHECK(pair.client.answers.size() == 2);
  CHECK(pair.server.requests.size() == 2);
  pair.on_the_way.push_back(late);
  pair.rounds(2);
  CHECK(pair.client.answers.size() == 2);
}

}  // namespace
}  // namespace spindrift::rpc
