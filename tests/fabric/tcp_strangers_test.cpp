// Strangers at the port of the TCP fabric with keys, and members who break the protocol: they get no further than they may,
// and nobody else notices.
#include "tcp_members.hpp"

#include <random>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;
using namespace spindrift::fabric::tcp;
using tls::test::last_year;
using tls::test::this_year;

namespace {

/// It is told nothing but what TLS itself says.
void check_refused(Members& members, Stranger caller) {
  caller.say(greeting_as(NodeId(1)));
  caller.say(alive_frame());
  const Time begun = now();
  members.exchange_until([&] { return caller.over(); });
  CHECK(now() - begun < std::chrono::milliseconds(2900) * (hang / std::chrono::seconds(60)));  // it was not merely given up
  CHECK(caller.heard().empty());
  members.check_undisturbed();
}

void check_refused(Members& members, const tls::KeyPair& pair) { check_refused(members, caller_of_b(caller_with(&pair))); }

Bytes read_frame(std::uint64_t key, std::uint64_t offset, std::uint64_t bytes) {
  return frame({FramePurpose::read, 0, key, offset}, encode(ReadRequest{1, bytes}));
}

}  // namespace

TEST_CASE("who has no key of the group, or one for something else, hears nothing and is told of to nobody") {
  Keys keys;
  const auto identity = [](tls::Role role) { return value_or_throw(tls::Identity::of_role(group_of_keys, role, "one")); };
  for (const auto role : {tls::Role::client, tls::Role::observer, tls::Role::admin})
    REQUIRE(keys.authority.add(identity(role), this_year()));
  REQUIRE(keys.authority.add(keys.member(4), last_year()));
  REQUIRE(keys.authority.add(keys.member(5), this_year()));
  REQUIRE(keys.authority.revoke(keys.member(5), tls::test::now()));
  Members members(keys);

  check_refused(members, caller_of_b(caller_with(nullptr)));
  const tls::KeyPair own = value_or_throw(tls::make_authority(group_of_keys, this_year()));
  check_refused(members, own);
  check_refused(members, value_or_throw(tls::issue_certificate(own, keys.member(1), this_year())));
  const Keys others("others");
  check_refused(members, others.pair_of(others.member(1)));
  check_refused(members, keys.pair_of(keys.member(4)));
  check_refused(members, keys.pair_of(keys.member(5)));
  check_refused(members, keys.pair_of(keys.member(3)));  // who greets as node 1
  check_refused(members, keys.pair_of(keys.member(2)));  // node 2's own
  for (const auto role : {tls::Role::client, tls::Role::observer, tls::Role::admin}) {
    const Log log(members.directory);
    const tls::KeyPair other = keys.pair_of(identity(role));
    check_refused(members, other);
    const std::string told = log.text();
    CHECK_THAT(told, Catch::Contains("room=audit event=refused from=\"127.0.0.1 port ") &&
                         Catch::Contains(" identity=" + identity(role).uri() + " serial=") &&
                         Catch::Contains("has the role " + std::string(to_string(role))));
  }
  const tls::KeyPair good = keys.pair_of(keys.member(1));
  tls::Owned<SSL> old = caller_with(&good);
  SSL_set_max_proto_version(old.get(), TLS1_2_VERSION);
  check_refused(members, caller_of_b(std::move(old)));
}

TEST_CASE("what is not TLS is no way in, nor is what others have said in TLS") {
  Keys keys;
  Members members(keys);
  const auto check_not_let_in = [&](std::span<const std::byte> said) {
    Stranger caller = caller_of_b(nullptr);
    caller.say(said);
    members.exchange_until([&] { return caller.over(); });
    members.check_undisturbed();
    return caller.heard();
  };
  CHECK(check_not_let_in(greeting_as(NodeId(3))).size() < sizeof(connected::GreetingBytes));
  std::mt19937 random(3);
  for (int i = 0; i < 8; ++i) {
    Bytes noise(2000);
    for (std::byte& each : noise) each = static_cast<std::byte>(random());
    CHECK(check_not_let_in(noise).size() < sizeof(connected::GreetingBytes));
  }

  // All that node 3 says in a session that succeeds, as somebody who listens has it.
  const tls::KeyPair good = keys.pair_of(keys.member(3));
  const auto node_2 = keys.of(NodeId(2));
  const tls::Owned<SSL> caller = caller_with(&good), called = value_or_throw(node_2->new_session());
  SSL_set_accept_state(called.get());
  for (SSL* const each : {caller.get(), called.get()}) SSL_set_bio(each, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  Bytes recorded;
  const auto pass = [](SSL* from, SSL* to, Bytes* copy) {
    std::array<std::byte, 16384> bytes;
    for (int count = 0; (count = BIO_read(SSL_get_wbio(from), bytes.data(), static_cast<int>(bytes.size()))) > 0;) {
      REQUIRE(BIO_write(SSL_get_rbio(to), bytes.data(), count) == count);
      if (copy != nullptr) copy->insert(copy->end(), bytes.begin(), bytes.begin() + count);
    }
  };
  for (int i = 0; i < 3; ++i) {
    static_cast<void>(SSL_do_handshake(caller.get()));
    pass(caller.get(), called.get(), &recorded);
    static_cast<void>(SSL_do_handshake(called.get()));
    pass(called.get(), caller.get(), nullptr);
  }
  REQUIRE(SSL_is_init_finished(called.get()) == 1);
  Bytes words = greeting_as(NodeId(3));
  const Bytes alive = alive_frame();
  words.insert(words.end(), alive.begin(), alive.end());
  REQUIRE(SSL_write(caller.get(), words.data(), static_cast<int>(words.size())) == static_cast<int>(words.size()));
  pass(caller.get(), called.get(), &recorded);
  CHECK_FALSE(check_not_let_in(recorded).empty());  // of a handshake that does not go on
}

TEST_CASE("callers who begin to prove themselves are bounded, for each address and in all, and members get in") {
  Keys keys;
  Members members(keys);
  std::vector<FileDescriptor> idle;
  const auto call = [&](int count, const std::string& source) {
    for (int i = 0; i < count; ++i) {
      idle.push_back(connection_to(address_of(NodeId(2)).endpoint, source));
      static_cast<void>(::send(idle.back().get(), "\x16", 1, MSG_NOSIGNAL));
      if (i % 8 == 0) members.exchange();
    }
  };
  const std::size_t before = held().descriptors;
  const auto accepted = [&] { return held().descriptors - before - idle.size(); };
  const auto open = [&] {
    return static_cast<std::size_t>(std::count_if(idle.begin(), idle.end(), [](const FileDescriptor& each) {
      std::byte byte{};
      return ::recv(each.get(), &byte, 1, 0) < 0 && errno == EAGAIN;
    }));
  };
  call(100, "127.9.9.9");
  members.exchange_until([&] { return open() <= 16; });
  CHECK(accepted() <= 16);
  {
    // From another address a member comes in at once.
    Insider insider(members, keys.pair_of(keys.member(3)), 5);
    CHECK(open() > 0);
    members.b.fabric->disconnect(insider.at_b);
    members.exchange_until([&] { return insider.caller.over(); });
  }
  for (int source = 1; source <= 20; ++source) call(10, "127.9.8." + std::to_string(source));
  members.exchange_until([&] { return open() <= 64; });
  CHECK(accepted() <= 64);
  // A node that is turned away now calls again.
  Endpoint c(3, keys.fabric(NodeId(3), members.directory.path()));
  c.connect(members.b);
  members.exchange_until([&] {
    c.pump();
    return c.count(Event::Kind::connected) == 1;
  });
  CHECK(await(members.b, Event::Kind::connected, {&members.a, &c}).node == NodeId(3));
  members.exchange_until([&] { return open() == 0; });
  members.check_undisturbed();
}

TEST_CASE("who proves itself or greets a byte at a time is given up after 3 seconds") {
  Keys keys;
  Members members(keys);
  const tls::KeyPair good = keys.pair_of(keys.member(3));
  Stranger proving = caller_of_b(nullptr), greeting = caller_of_b(caller_with(&good));
  const Bytes record = bytes_of(std::array{std::byte{22}, std::byte{3}, std::byte{1}, std::byte{1}, std::byte{0}});
  const Bytes words = greeting_as(NodeId(3));
  const Time begun = now();
  std::size_t said = 0;
  members.exchange_until([&] {
    if (now() - begun > std::chrono::milliseconds(100) * said && said < 40) {
      proving.say(std::span(&record[std::min(said, record.size() - 1)], 1));
      greeting.say(std::span(&words[said], 1));
      ++said;
    }
    const bool proved = proving.over(), greeted = greeting.over();
    return proved && greeted;
  });
  CHECK(now() - begun > std::chrono::milliseconds(2900));
  CHECK(said > 5);
  CHECK(greeting.heard().empty());
  members.check_undisturbed();
}

TEST_CASE("a member whose frames claim what it was not given is lost for that reason, and nobody else is") {
  Keys keys;
  Members members(keys);
  const tls::KeyPair good = keys.pair_of(keys.member(3));
  const Bytes eight(8, std::byte{0xee});
  const auto write = [&](std::uint64_t key, std::uint64_t offset) {
    return frame({FramePurpose::write, 0, key, offset}, eight);
  };
  std::uint64_t start = 100;
  const auto insider = [&] { return Insider(members, good, ++start); };
  const Region other = value_or_throw(members.b.fabric->allocate(4096, "another one"));

  check_ends(members, insider(), write(4711, 0), "it wrote to memory that it was not given");
  check_ends(members, insider(), read_frame(4711, 0, 8), "it read memory that it was not given");
  for (const std::uint64_t offset : {std::uint64_t{4089}, std::uint64_t{4096}, std::uint64_t{1} << 40U, UINT64_MAX - 7}) {
    Insider wide = insider();
    const std::uint64_t key = wide.key_to(members, other, Access::write);
    check_ends(members, std::move(wide), write(key, offset), "it wrote out of the memory that it was given");
    Insider far = insider();
    const std::uint64_t readable = far.key_to(members, other, Access::read);
    check_ends(members, std::move(far), read_frame(readable, offset, 8), "it read out of the memory that it was given");
  }
  Insider writer = insider();
  const std::uint64_t written = writer.key_to(members, other, Access::write);
  check_ends(members, std::move(writer), read_frame(written, 0, 8), "it read memory that it was not given");
  Insider reader = insider();
  const std::uint64_t readable = reader.key_to(members, other, Access::read);
  check_ends(members, std::move(reader), write(readable, 0), "it wrote to memory that it was not given");
  // The key of one connection is nothing on the next.
  check_ends(members, insider(), write(written, 0), "it wrote to memory that it was not given");
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{4097}, UINT64_MAX}) {
    Insider greedy = insider();
    const std::uint64_t key = greedy.key_to(members, other, Access::read);
    check_ends(members, std::move(greedy), read_frame(key, 0, bytes), "it read out of the memory that it was given");
  }
  CHECK(std::all_of(other.memory.begin(), other.memory.end(), [](std::byte each) { return each == std::byte{}; }));
}

TEST_CASE("a member whose frames are none of the protocol is lost for that reason, and nobody else is") {
  Keys keys;
  Members members(keys);
  const tls::KeyPair good = keys.pair_of(keys.member(3));
  std::uint64_t start = 200;
  const auto check = [&](const Bytes& said, const std::string& reason) {
    check_ends(members, Insider(members, good, ++start), said, reason);
  };
  const Bytes eight(8, std::byte{0xee});
  check(frame({FramePurpose::reply, 0, 1, 0}, eight), "it answered what it was not asked");
  check(message_frame(Bytes(65536 + 9)), "it sent what is no frame of this protocol");
  check(Bytes(5000, std::byte{0xee}), "it sent what is no frame of this protocol");
  check(message_frame(eight), "it does not keep to the protocol of connections");
  check(message_frame({}), "it does not keep to the protocol of connections");
  check(message_frame(connected::encode(connected::Kind::unmapped, 4711)), "it gave back a region that it did not have");

  // Before its first message nobody is told of it.
  Stranger hasty = caller_of_b(caller_with(&good));
  hasty.say(greeting_as(NodeId(3), ++start));
  hasty.say(frame({FramePurpose::write, 0, 1, 0}, eight));
  members.exchange_until([&] { return hasty.over(); });
  members.check_undisturbed();
}

TEST_CASE("a member whose key is revoked is lost though it is connected, and one whose key is replaced is not") {
  Keys keys;
  Members members(keys);
  value_or_throw(keys.authority.rotate(keys.member(1), tls::test::this_year()));
  members.check_undisturbed();
  const Log log(members.directory);
  value_or_throw(keys.authority.revoke(keys.member(2), tls::test::now()));
  const Event lost = await(members.a, Event::Kind::lost, {&members.b});
  CHECK(lost.peer == members.b_at_a);
  REQUIRE(lost.reason);
  CHECK_THAT(lost.reason->to_string(), Catch::Matchers::Contains("revoked"));
  // The thread that looks at the files writes down what it found when that is in force already.
  drive({&members.a}, [&] { return count_of(log.text(), "event=revocations_changed reason=") > 0; });
  CHECK_THAT(log.text(), Catch::Contains("event=cut_off subject=2 identity=" + keys.member(2).uri() + " serial="));
}
