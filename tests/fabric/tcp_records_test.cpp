// Things that a node with a key may say in TLS beside its data, or beside TLS: changes of keys without end, alerts, records
// of every type and length. Its connection ends, with bounded memory, and nobody else notices.
#include "tcp_members.hpp"

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;

namespace {

Bytes record_of(unsigned type, std::size_t bytes, unsigned version = 0x0303) {
  Bytes record(5 + bytes, std::byte{1});
  record[0] = static_cast<std::byte>(type);
  record[1] = static_cast<std::byte>(version >> 8U);
  record[2] = static_cast<std::byte>(version);
  record[3] = static_cast<std::byte>(bytes >> 8U);
  record[4] = static_cast<std::byte>(bytes);
  return record;
}

void check_lost(Members& members, Insider& insider) {
  members.exchange_until([&] { return members.b.count(Event::Kind::lost) == 1; });
  const Event lost = await(members.b, Event::Kind::lost, {&members.a});
  CHECK(lost.peer == insider.at_b);
  members.check_undisturbed();
}

constexpr unsigned change_cipher = 20, alert = 21, handshake = 22, application = 23, heartbeat = 24;

}  // namespace

TEST_CASE("records that TLS has not sealed end the connection, whatever their type and length say") {
  Keys keys;
  Members members(keys);
  const tls::KeyPair good = keys.pair_of(keys.member(3));
  std::uint64_t start = 100;
  for (const unsigned type : {0U, change_cipher, alert, handshake, application, heartbeat, 255U}) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{16384 + 256},
                                    std::size_t{16384 + 257}, std::size_t{65535}}) {
      CAPTURE(type, bytes);
      Insider insider(members, good, ++start);
      insider.caller.say_raw(record_of(type, bytes));
      check_lost(members, insider);
    }
  }
}

TEST_CASE("a caller that floods with records before it has proved anything is given up") {
  Keys keys;
  Members members(keys);
  for (const unsigned type : {change_cipher, alert, handshake, application}) {
    CAPTURE(type);
    Stranger caller = caller_of_b(nullptr);
    const Bytes record = record_of(type, type == alert ? 2 : 1);
    members.exchange_until([&] {
      for (int i = 0; i < 100; ++i) caller.say_raw(record);
      return caller.over();
    });
    CHECK(caller.heard().size() < sizeof(connected::GreetingBytes));
  }
  members.check_undisturbed();
}

TEST_CASE(
    "a node that changes its keys without end is lost, whether it takes the answers or not, and a few changes are none") {
  Keys keys;
  Members members(keys);
  const tls::KeyPair good = keys.pair_of(keys.member(3));
  {
    Insider insider(members, good, 1);
    for (int i = 0; i < 10; ++i) {
      REQUIRE(insider.caller.change_keys());
      insider.caller.say(alive_frame());
      insider.caller.step();
      members.exchange();
    }
    REQUIRE_FALSE(insider.caller.over());
    members.b.fabric->disconnect(insider.at_b);
    members.exchange_until([&] { return insider.caller.over(); });
  }
  Insider insider(members, good, 2);
  members.exchange_until([&] {
    static_cast<void>(insider.caller.change_keys());
    return members.b.count(Event::Kind::lost) == 1;
  });
  const Event lost = await(members.b, Event::Kind::lost, {&members.a});
  REQUIRE(lost.reason);
  CHECK_THAT(lost.reason->to_string(), Catch::Contains("it changes its keys"));
  members.check_undisturbed();
}
