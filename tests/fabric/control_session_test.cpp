// The talk of two ends inside of TLS over fabrics that protect nothing comes whole, in order, from the end that was
// greeted, or not at all; and a process that cannot prove that it belongs there is nobody's peer.
#include "tcp_members.hpp"

#include <spindrift/core/bytes.hpp>
#include <spindrift/fabric/connected/control_session.hpp>
#include <spindrift/fabric/connected/proofs.hpp>
#include <spindrift/fabric/ofi/ofi.hpp>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;
using connected::ControlSession;
using connected::PeerCall;
using State = ControlSession::State;

namespace {

constexpr std::uint64_t incarnation_of(std::uint32_t node) { return 1000 + node; }

/// One end of a connection between nodes 1 and 2, whose greetings have been heard.
struct SessionEnd {
  PeerCall call;
  ControlSession session;
  Result<void> outcome{};

  SessionEnd(tls::RecordSession records, std::uint32_t self, std::uint32_t other)
      : session(std::move(records), NodeId(self), incarnation_of(self)) {
    call.node = NodeId(other);
    call.state = PeerCall::State::up;
    call.incarnation = incarnation_of(other);
    call.word = 10 + self;
    call.peer_word = 10 + other;
    session.begin(never);
  }

  void take(std::span<const std::byte> records) {
    if (outcome.ok()) outcome = session.take(records, call);
  }
  /// The records of what it has to say, without the headers of the messages that carry them.
  [[nodiscard]] Bytes records() {
    Bytes all;
    for (const Bytes& carrier : session.take_carriers()) {
      const auto control = connected::decode_control(carrier);
      REQUIRE(control);
      REQUIRE(control->kind == connected::Kind::sealed);
      REQUIRE(carrier.size() <= connected::header_bytes + connected::message_bytes_max);
      all.insert(all.end(), control->payload.begin(), control->payload.end());
    }
    return all;
  }
};

struct Ends {
  Keys keys;
  SessionEnd caller;
  SessionEnd called;

  Ends() : Ends(1, 2) {}
  /// Each end has the keys of the given node; they are greeted as nodes 1 and 2.
  Ends(std::uint32_t caller_keys, std::uint32_t called_keys)
      : caller(value_or_throw(tls::RecordSession::calling(keys.of(NodeId(caller_keys)))), 1, 2),
        called(value_or_throw(tls::RecordSession::answering(keys.of(NodeId(called_keys)))), 2, 1) {}

  /// Until nobody has anything to say; records come in pieces of at most so many bytes.
  void talk(std::size_t piece_max = SIZE_MAX) {
    caller.take({});
    for (bool any = true; any;) {
      any = pass(caller, called, piece_max);
      any = pass(called, caller, piece_max) || any;
    }
  }
  static bool pass(SessionEnd& from, SessionEnd& to, std::size_t piece_max) {
    const Bytes records = from.records();
    for (std::span<const std::byte> rest(records); !rest.empty();) {
      const auto piece = rest.first(std::min(rest.size(), piece_max));
      to.take(piece);
      rest = rest.subspan(piece.size());
    }
    return !records.empty();
  }
};

Bytes pattern(std::size_t bytes) {
  Bytes made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>(i * 7 + i / 251);
  return made;
}

bool says(const Result<void>& outcome, std::string_view what) {
  INFO((outcome.ok() ? "no error" : outcome.error().to_string()));
  const bool said = !outcome.ok() && outcome.error().to_string().find(what) != std::string::npos;
  CHECK(said);
  return said;
}

}  // namespace

TEST_CASE("both ends of a session are proved whatever pieces its records come in, and messages come whole and in order") {
  for (const std::size_t piece_max : {std::size_t{1}, std::size_t{7}, std::size_t{1000}, SIZE_MAX}) {
    Ends ends;
    ends.talk(piece_max);
    REQUIRE(ends.caller.outcome.ok());
    REQUIRE(ends.called.outcome.ok());
    REQUIRE(ends.caller.session.state() == State::proved);
    REQUIRE(ends.called.session.state() == State::proved);
    const std::vector<std::size_t> sizes{1, 0, 16384, 16385, connected::message_bytes_max};
    for (const std::size_t size : sizes) value_or_throw(ends.caller.session.say(pattern(size)));
    ends.talk(piece_max);
    for (const std::size_t size : sizes) {
      const auto came = ends.called.session.next();
      REQUIRE(came);
      CHECK(*came == pattern(size));
    }
    CHECK_FALSE(ends.called.session.next());
  }
}

TEST_CASE("what is said inside of a session is nowhere to be read in its records") {
  Ends ends;
  ends.talk();
  const Bytes secret = pattern(64);
  value_or_throw(ends.called.session.say(secret));
  const Bytes records = ends.called.records();
  REQUIRE(records.size() > secret.size());
  CHECK(std::search(records.begin(), records.end(), secret.begin(), secret.end()) == records.end());
}

TEST_CASE("an end whose key is another node's is refused by whoever greeted this node, and is told so") {
  Ends wrong_caller(3, 2);
  wrong_caller.talk();
  says(wrong_caller.called.outcome, "group/3 is not admitted");
  CHECK(wrong_caller.called.session.state() != State::proved);
  CHECK(wrong_caller.caller.session.state() != State::proved);
  Ends wrong_called(1, 3);
  wrong_called.talk();
  says(wrong_called.caller.outcome, "group/3 is not admitted");
  CHECK(wrong_called.caller.session.state() != State::proved);
  CHECK(wrong_called.called.session.state() != State::proved);
}

TEST_CASE("a session that was carried over from another connection is refused") {
  const auto changed = [](const std::function<void(PeerCall&)>& change) {
    Ends ends;
    change(ends.called.call);
    ends.talk();
    says(ends.called.outcome, "another connection's");
    CHECK(ends.called.session.state() == State::greeting);
  };
  changed([](PeerCall& call) { ++call.word; });
  changed([](PeerCall& call) { ++call.peer_word; });
  changed([](PeerCall& call) { ++call.incarnation; });
}

TEST_CASE("records that were changed, left out, repeated or exchanged end the session, and nothing of them is taken") {
  const auto tampered = [](const std::function<std::vector<Bytes>(std::vector<Bytes>)>& tamper) {
    Ends ends;
    ends.talk();
    std::vector<Bytes> sealed;
    for (std::size_t i = 0; i < 3; ++i) {
      value_or_throw(ends.caller.session.say(Bytes(40, static_cast<std::byte>(i))));
      sealed.push_back(ends.caller.records());
    }
    for (const Bytes& each : tamper(std::move(sealed))) ends.called.take(each);
    says(ends.called.outcome, "what came is not what was sent");
    std::size_t next = 0;
    for (auto message = ends.called.session.next(); message; message = ends.called.session.next())
      CHECK(*message == Bytes(40, static_cast<std::byte>(next++)));
    CHECK(next < 3);
  };
  for (const std::size_t place : {std::size_t{5}, std::size_t{20}, std::size_t{60}}) {
    tampered([place](std::vector<Bytes> sealed) {
      sealed[1].at(place) ^= std::byte{1};
      return sealed;
    });
  }
  tampered([](std::vector<Bytes> sealed) { return std::vector{sealed[0], sealed[2]}; });
  tampered([](std::vector<Bytes> sealed) { return std::vector{sealed[0], sealed[0]}; });
  tampered([](std::vector<Bytes> sealed) { return std::vector{sealed[1], sealed[0]}; });
}

TEST_CASE("a member that announces a message that is too long inside of a session is refused") {
  Keys keys;
  SessionEnd called(value_or_throw(tls::RecordSession::answering(keys.of(NodeId(2)))), 2, 1);
  auto caller = value_or_throw(tls::RecordSession::calling(keys.of(NodeId(1))));
  value_or_throw(caller.take({}));
  while (!caller.established()) {
    called.take(caller.take_sealed());
    value_or_throw(caller.take(called.records()));
  }
  const auto greeting = connected::encode(connected::Greeting{NodeId(1), incarnation_of(1), 0, 11, 12});
  value_or_throw(caller.seal(ByteWriter().put(std::uint32_t{sizeof greeting}).put_bytes(greeting).take()));
  called.take(caller.take_sealed());
  REQUIRE(called.session.state() == State::proved);
  constexpr std::uint32_t longest = connected::header_bytes + connected::message_bytes_max;
  value_or_throw(caller.seal(ByteWriter().put(longest).take()));
  called.take(caller.take_sealed());
  CHECK(called.outcome.ok());
  value_or_throw(caller.seal(ByteWriter().put_bytes(Bytes(longest)).put(longest + 1).take()));
  called.take(caller.take_sealed());
  says(called.outcome, "announces a message");
}

namespace {

/// A connection that goes nowhere.
struct Silent final : connected::Connection {
  using Connection::Connection;
  void send(std::span<const std::byte>, bool, std::uint64_t) override {}
  void transfer(const connected::Transfer&) override {}
  void flush() override {}
  [[nodiscard]] bool idle() const noexcept override { return true; }
  void close() override {}
  [[nodiscard]] Result<Right> give_right(connected::OwnRegion&, Access) override {
    return Error(ErrorKind::unsupported, "nothing is exposed here");
  }
};

}  // namespace

TEST_CASE("who is up has three seconds to prove himself, and who needs no proof, for ever") {
  Ends ends;
  connected::Proofs proofs(ends.keys.of(NodeId(1)), std::make_shared<AuditTrail>(), NodeId(1), incarnation_of(1), Time{});
  Silent connection(ends.caller.call);
  connection.session = std::make_unique<ControlSession>(std::move(ends.caller.session));
  const Time begun = Time{} + std::chrono::seconds(10);
  proofs.begin(*connection.session, begun);
  CHECK(proofs.next_time() <= begun + std::chrono::seconds(3));
  CHECK(proofs.judge(connection, false, begun + std::chrono::milliseconds(2999)).ok());
  const auto late = proofs.judge(connection, false, begun + std::chrono::seconds(3));
  REQUIRE_FALSE(late.ok());
  CHECK(late.error().kind() == ErrorKind::timed_out);
  connected::Proofs nobody(nullptr, std::make_shared<AuditTrail>(), NodeId(1), incarnation_of(1), Time{});
  connection.session.reset();
  CHECK(nobody.judge(connection, true, begun + std::chrono::hours(1)).ok());
  CHECK(nobody.next_time() == never);
}

namespace {

std::unique_ptr<Fabric> proved(const std::shared_ptr<tls::Credentials>& credentials, std::uint32_t self,
                               const std::string& directory) {
  return value_or_throw(make_ofi({.self = NodeId(self),
                                  .provider = "tcp",
                                  .runtime_directory = directory,
                                  .group_name = group_of_keys,
                                  .credentials = credentials}));
}

/// Members 1 and 2 over libfabric's TCP, proved to each other.
struct ProvedPair {
  Keys keys;
  TemporaryDirectory directory;
  Endpoint a{1, proved(keys.of(NodeId(1)), 1, directory.path())};
  Endpoint b{2, proved(keys.of(NodeId(2)), 2, directory.path())};

  /// Calls a member as its node 3 until it has tried for a while; the member never hears of a peer.
  void try_as_three(const std::shared_ptr<tls::Credentials>& credentials) {
    stranger_is_nobody(proved(credentials, 3, directory.path()));
  }
  void stranger_is_nobody(std::unique_ptr<Fabric> fabric) {
    value_or_throw(fabric->listen({NodeId(3), "127.0.0.1:0"}));
    value_or_throw(fabric->connect(a.address(NodeId(1))));
    std::array<Event, 8> events;
    const Time limit = now() + std::chrono::milliseconds(1500);  // two attempts
    std::size_t said = 0;
    while (now() < limit) {
      const std::size_t count = fabric->poll(events);
      for (std::size_t i = 0; i < count; ++i) {
        if (events[i].kind != Event::Kind::connected) continue;
        std::string text = "take me in";
        const Operation message = send_of(events[i].peer, text);
        static_cast<void>(fabric->post({&message, 1}));
        ++said;
      }
      a.pump();
      b.pump();
    }
    INFO(said);
    CHECK(a.inbox.empty());
    CHECK(b.inbox.empty());
  }
  void meet() {
    a.connect(b);
    const PeerId b_at_a = await(a, Event::Kind::connected, {&b}).peer;
    await(b, Event::Kind::connected, {&a});
    send(a, b_at_a, "well");
    CHECK(text_of(await(b, Event::Kind::message, {&a})) == "well");
  }
};

}  // namespace

TEST_CASE_METHOD(ProvedPair, "over libfabric, too, nobody without the group's key is a peer, and members are") {
  SECTION("no key at all") { stranger_is_nobody(make_tcp_or_throw(NodeId(3), directory.path())); }
  SECTION("another group's") {
    const Keys others("others");
    const std::string bundle = others.authority.bundle_directory(others.member(3));
    try_as_three(value_or_throw(tls::Credentials::load(bundle, "others", NodeId(3))));
  }
  SECTION("another authority's of the same name") { try_as_three(Keys().of(NodeId(3))); }
  SECTION("another node's") { try_as_three(keys.of(NodeId(2))); }
  SECTION("a revoked one") {
    const auto before = keys.of(NodeId(3));
    value_or_throw(keys.authority.revoke(keys.member(3), tls::test::now()));
    for (Endpoint* const each : {&a, &b}) {
      const Time read = now() + std::chrono::milliseconds(1200);  // keys are looked at each second
      drive({each}, [&] { return now() > read; });
    }
    try_as_three(before);
  }
  meet();
}

TEST_CASE_METHOD(ProvedPair, "over libfabric, too, who is connected is lost when his key is revoked, as the audit says") {
  const Log log(directory);
  meet();
  value_or_throw(keys.authority.revoke(keys.member(2), tls::test::now()));
  const Event lost = await(a, Event::Kind::lost, {&b});
  CHECK(lost.node == NodeId(2));
  CHECK(lost.reason->to_string().find("revoked") != std::string::npos);
  const std::string whose = " subject=2 identity=" + keys.member(2).uri() + " serial=";
  CHECK_THAT(log.text(), Catch::Contains("event=proved" + whose) && Catch::Contains("event=cut_off" + whose));
}

TEST_CASE_METHOD(ProvedPair, "a caller over libfabric that proves nothing is given up, and the member calls on") {
  // A process without keys takes the place of node 2 at its address before it comes.
  b.fabric.reset();
  {
    Endpoint silent{2, make_tcp_or_throw(NodeId(2), directory.path())};
    a.connect(silent);
    await(silent, Event::Kind::connected, {&a});
    drive({&a, &silent}, [&] { return silent.count(Event::Kind::lost) > 0; });
    CHECK(a.inbox.empty());
  }
  b.fabric = proved(keys.of(NodeId(2)), 2, directory.path());
  value_or_throw(b.fabric->listen(b.address(NodeId(2))));
  await(a, Event::Kind::connected, {&b});
  await(b, Event::Kind::connected, {&a});
}
