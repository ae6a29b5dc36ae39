// Observers on hosts without a member: fed over the network by members of other hosts, whom nothing that they do harms. Here
// such a host is a runtime directory in which no member is.
#include <spindrift/group/observer.hpp>

#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <list>

#include <catch2/catch.hpp>

#include <spindrift/core/config/addresses.hpp>
#include <spindrift/fabric/connected/socket_address.hpp>
#include <spindrift/fabric/connected/wire.hpp>
#include <spindrift/fabric/tls/authority.hpp>
#include <spindrift/fabric/tls/openssl.hpp>
#include <spindrift/group/network_feed.hpp>
#include <spindrift/group/observer_frames.hpp>
#include <spindrift/group/remote_observers.hpp>

#include "group_fixture.hpp"
#include "observer_watch.hpp"
#include "relay.hpp"

using namespace spindrift;
using namespace std::chrono_literals;
using fabric::tls::Identity;
using fabric::tls::Role;

namespace {

const std::string port = "join_timeout_ms = 20000\nobserver_port = 7511\n";
const std::string open_port = port + "security = none\n";

/// A group that observers of other hosts may observe, and the keys of such.
struct ObservedGroup {
  explicit ObservedGroup(unsigned count, const std::string& fabric = "tcp", std::string options = port)
      : fixture(fabric), members(count), extra(std::move(options)), groups(fixture.join(members, extra)) {
    journals = keep_journals(groups);
  }

  [[nodiscard]] std::string keys_of(Role role, const std::string& name) const {
    auto authority = value_or_throw(fabric::tls::Authority::open(fixture.directory() + "/keys"));
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const auto issued = value_or_throw(authority.add(value_or_throw(Identity::of_role("test", role, name)),
                                                     fabric::tls::valid_for(now, std::chrono::days(1))));
    return authority.bundle_directory(issued.identity);
  }
  /// The configuration of a process on a host without a member.
  [[nodiscard]] Config elsewhere(const std::string& keys, const std::vector<ConfigOverride>& more = {}) const {
    std::vector<ConfigOverride> overrides{{"SPINDRIFT/runtime_directory", fixture.directory() + "/elsewhere"},
                                          {"SPINDRIFT/keys", keys}};
    overrides.insert(overrides.end(), more.begin(), more.end());
    return value_or_throw(Config::read(fixture.file(0, members, extra), overrides));
  }
  [[nodiscard]] Config elsewhere() const { return elsewhere(keys_of(Role::observer, "dashboard")); }

  void send(unsigned from, int first, int last) const {
    for (int i = first; i < last; ++i) groups[from]->subgroup("orders").send(std::to_string(i));
  }
  /// A connection of somebody to a member's port.
  [[nodiscard]] FileDescriptor call(unsigned node) const {
    const std::string endpoint = groups[0] ? config::observer_address_of(elsewhere(fixture.directory()), NodeId(node)) : "";
    const auto address = value_or_throw(fabric::connected::resolve(endpoint, true));
    FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.bytes) == 0);
    const timeval limit{60, 0};
    REQUIRE(::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
    return socket;
  }

  GroupFixture fixture;
  unsigned members;
  std::string extra;
  std::vector<std::unique_ptr<Group>> groups;
  std::deque<Journal> journals;
};

void say(const FileDescriptor& socket, std::span<const std::byte> bytes) {
  static_cast<void>(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));  // the other end may have hung up
}

/// Waits until the other end hangs up; the bytes that it said before.
std::size_t until_hung_up(const FileDescriptor& socket) {
  std::array<std::byte, 4096> buffer;
  std::size_t total = 0;
  while (true) {
    const ssize_t came = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
    if (came == 0 || (came < 0 && errno == ECONNRESET)) return total;
    REQUIRE(came > 0);
    total += static_cast<std::size_t>(came);
  }
}

std::vector<std::byte> framed(group::ObserverFrame::Kind kind, std::size_t announced, std::span<const std::byte> body) {
  std::vector<std::byte> bytes(group::frame_head_bytes);
  const std::array<std::uint32_t, 2> head{static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(announced)};
  std::memcpy(bytes.data(), head.data(), bytes.size());
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

/// A member's first packet for somebody who says hello with those keys, whatever they are good for.
std::optional<group::ObserverPacket> answer_to(const ObservedGroup& group, const std::string& keys) {
  const fabric::tls::Owned<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
  REQUIRE(SSL_CTX_use_certificate_chain_file(context.get(), (keys + "/node.crt").c_str()) == 1);
  REQUIRE(SSL_CTX_use_PrivateKey_file(context.get(), (keys + "/node.key").c_str(), SSL_FILETYPE_PEM) == 1);
  const std::string protocol = "\x0bspindrift/1";
  REQUIRE(SSL_CTX_set_alpn_protos(context.get(), reinterpret_cast<const unsigned char*>(protocol.data()),
                                  static_cast<unsigned>(protocol.size())) == 0);
  const fabric::tls::Owned<SSL> session(SSL_new(context.get()));
  const FileDescriptor socket = group.call(0);
  REQUIRE(SSL_set_fd(session.get(), socket.get()) == 1);
  REQUIRE(SSL_connect(session.get()) == 1);
  const auto hello = group::encode({group::ObserverCall::hello, 0, {}, "orders"});
  std::vector<std::byte> said = framed(group::ObserverFrame::Kind::packet, hello.size(), hello);
  const auto greeting = fabric::connected::observer_greeting();
  said.insert(said.begin(), greeting.begin(), greeting.end());
  REQUIRE(SSL_write(session.get(), said.data(), static_cast<int>(said.size())) == static_cast<int>(said.size()));
  std::array<std::byte, 4096> heard;
  const int count = SSL_read(session.get(), heard.data(), static_cast<int>(heard.size()));
  REQUIRE(count > static_cast<int>(group::frame_head_bytes));
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, heard.data() + 4, sizeof bytes);
  REQUIRE(group::frame_head_bytes + bytes <= static_cast<std::size_t>(count));
  return group::decode_observer_packet(std::span(heard).subspan(group::frame_head_bytes, bytes));
}

std::optional<Error> error_of(Watch& watch) {
  return thrown_by([&] { watch.until([] { return false; }); });
}

}  // namespace

TEST_CASE("an observer on a host without a member gets what members deliver, in their order, and is no member") {
  const auto [fabric, options] = GENERATE(table<std::string, std::string>(
      {{"tcp", port}, {"tcp", open_port}, {"shm+tcp", port}, {"ofi:tcp", port}, {"ofi:tcp", port + "security = tls\n"}}));
  CAPTURE(fabric, options);
  ObservedGroup group(2, fabric, options);
  group.send(0, 0, 1);
  for (const Journal& journal : group.journals) journal.await(1);
  Watch watch(group.fixture.directory().empty() || options == open_port ? group.elsewhere("/none") : group.elsewhere());
  watch.until_fed();
  for (int i = 0; i < 1000; ++i) group.send(static_cast<unsigned>(i % 2), i, i + 1);
  group.groups[0]->subgroup("ticks").send("elsewhere");
  watch.until_lines(1000);
  group.journals[1].await(1001);
  CHECK(watch.lines == std::vector<std::string>(group.journals[1].lines.begin() + 1, group.journals[1].lines.end()));
  CHECK(std::is_sorted(watch.places.begin(), watch.places.end()));
  CHECK(watch.gaps.empty());
  CHECK(group.groups[0]->view().members.size() == 2);
  leave_all(group.groups);
}

TEST_CASE("an observer elsewhere goes on with another member when one leaves, at the place where it was") {
  ObservedGroup group(3);
  Watch watch(group.elsewhere());
  watch.until_fed();
  follow_two_leavers(watch, group.groups, [&](int from, int to) { group.send(0, from, to); });
  leave_all(group.groups);
}

TEST_CASE("an observer elsewhere misses nothing when the next member feeds somebody already") {
  ObservedGroup group(2);
  const std::string keys = group.keys_of(Role::observer, "dashboard");
  Watch watch(group.elsewhere(keys));
  watch.until_fed();
  const std::uint32_t source = watch.observer.source()->value(), other = 1 - source;
  Watch beside(group.elsewhere(keys), "orders", {NodeId(other)});
  beside.until_fed();
  group.send(other, 0, 100);
  watch.until_lines(100);
  group.groups[source]->leave();
  group.send(other, 100, 200);  // while nobody is there for the first observer
  group.journals[other].await(200);
  watch.until_lines(200);
  CHECK(watch.gaps.empty());
  CHECK(watch.observer.source() == NodeId(other));
  CHECK(std::is_sorted(watch.places.begin(), watch.places.end()));
  group.groups[other]->leave();
}

TEST_CASE("an observer elsewhere that reads nothing holds up nobody, and then learns exactly what it has missed") {
  const std::string options = GENERATE(port, open_port);
  ObservedGroup group(2, "tcp", options);
  Watch watch(options == port ? group.elsewhere() : group.elsewhere("/none"));
  watch.until_fed();
  group.groups[0]->subgroup("orders").send("first");
  watch.until_lines(1);
  const std::string large(5000, 'x');
  constexpr std::size_t messages = 8000;  // 40 MB: more than a feed and what lies in sockets
  for (std::size_t i = 0; i < messages; ++i) group.groups[0]->subgroup("orders").send(large);
  for (const Journal& journal : group.journals) journal.await(messages + 1);
  watch.until([&] { return watch.accounted() == messages + 1; });
  CHECK(watch.gaps.size() >= 1);
  CHECK(watch.lines.size() > 500);
  CHECK(std::is_sorted(watch.places.begin(), watch.places.end()));
  const std::size_t gaps = watch.gaps.size();
  group.groups[0]->subgroup("orders").send("last");
  watch.until([&] { return watch.lines.back() == "0:last"; });
  CHECK(watch.gaps.size() == gaps);
  CHECK(watch.accounted() == messages + 2);
  leave_all(group.groups);
}

TEST_CASE("an observer elsewhere that waits hears of each message when it comes, not with the next sign of life") {
  ObservedGroup group(1);
  Watch watch(group.elsewhere());
  watch.until_fed();
  const auto begun = std::chrono::steady_clock::now();
  constexpr int messages = 20;
  for (int i = 0; i < messages; ++i) {
    group.send(0, i, i + 1);
    watch.until_lines(static_cast<std::size_t>(i) + 1);
  }
  CHECK(std::chrono::steady_clock::now() - begun < messages * group::NetworkFeed::between_signs / 2);
  leave_all(group.groups);
}

TEST_CASE("large messages reach an observer elsewhere") {
  ObservedGroup group(1, "tcp", port + "[SUBGROUP/DEFAULT]\nmax_smc_payload_size = 4 MiB\n");
  Watch watch(group.elsewhere());
  watch.until_fed();
  for (std::size_t i = 1; i <= 5; ++i) {
    const std::string large((std::size_t{4} << 20U) - i, static_cast<char>('a' + i));
    group.groups[0]->subgroup("orders").send(large);
    watch.until_lines(i);
    CHECK((watch.lines.back() == "0:" + large));
  }
  CHECK(watch.gaps.empty());
  leave_all(group.groups);
}

TEST_CASE("an observer elsewhere whose connection breaks or is silent goes on, and counts what it missed") {
  ObservedGroup group(1, "tcp", open_port);
  const std::string endpoint = config::observer_address_of(group.elsewhere("/none"), NodeId(0));
  Relay relay(value_or_throw(fabric::connected::resolve(endpoint, true)));
  Watch watch(group.elsewhere("/none", {{"SPINDRIFT/addresses", "0@" + relay.host() + ":7411"}}));
  watch.until_fed();
  group.send(0, 0, 100);
  watch.until_lines(100);
  relay.cut();
  group.send(0, 100, 300);  // before it is fed again
  group.journals[0].await(300);
  watch.until([&] { return watch.accounted() == 300; });
  group.send(0, 300, 310);
  watch.until([&] { return watch.lines.back() == "0:309"; });
  CHECK(watch.accounted() == 310);

  relay.stand_still();  // as a host does that was cut off: no word, and no end of the connection
  const auto still = std::chrono::steady_clock::now();
  group.send(0, 310, 400);
  watch.until([&] { return !watch.observer.source(); });
  const auto noticed = std::chrono::steady_clock::now() - still;
  CHECK(noticed > 3s);
  CHECK(noticed < 30s);
  relay.go_on();
  watch.until([&] { return watch.accounted() == 400; });
  CHECK(watch.observer.source() == NodeId(0));
  CHECK(std::is_sorted(watch.places.begin(), watch.places.end()));
  leave_all(group.groups);
}

TEST_CASE("a member of the own host feeds an observer if there is one, and the network only then if there is none") {
  ObservedGroup group(2);
  Watch here(value_or_throw(Config::read(group.fixture.file(0, 2, group.extra), {{"SPINDRIFT/keys", "/none"}})));
  here.until_fed();  // without keys, which the network would need
  Watch one(group.elsewhere(), "orders", {NodeId(1)});
  one.until_fed();
  CHECK(one.observer.source() == NodeId(1));
  group.groups[1]->leave();
  one.until([&] { return !one.observer.source(); });
  CHECK_THAT(one.observer.waits_for(), Catch::StartsWith("node 1 of group test on this host or another"));
  group.groups[0]->leave();
}

TEST_CASE("keys of another role, of another group and of another authority, and none, are refused by name") {
  ObservedGroup group(1);
  const std::vector<ConfigOverride> soon{{"SPINDRIFT/join_timeout_ms", "1500"}};
  for (const Role role : {Role::client, Role::admin}) {
    Watch watch(group.elsewhere(group.keys_of(role, "x"), {{"SPINDRIFT/join_timeout_ms", "86400000"}}));
    const auto error = error_of(watch);  // at once
    REQUIRE(error);
    CHECK(error->kind() == ErrorKind::refused);
    CHECK_THAT(error->to_string(), Catch::Contains("may not observe") && Catch::Contains(std::string(to_string(role))));
  }
  Watch without(group.elsewhere(group.fixture.directory() + "/nowhere", soon));
  CHECK_THAT(error_of(without).value().to_string(), Catch::Contains("no keys of an observer"));

  const GroupFixture others("tcp");  // of the same name, with an authority of its own
  Watch stranger(group.elsewhere(others.directory() + "/keys/1", soon));
  CHECK_THAT(error_of(stranger).value().to_string(), Catch::Contains("node 0 at ") && Catch::Contains("certificate"));

  Watch member(group.elsewhere(group.fixture.directory() + "/keys/5"));
  member.until_fed();
  leave_all(group.groups);
}

TEST_CASE("a member itself refuses keys of another role, and says so, whatever a caller does about it") {
  ObservedGroup group(1);
  for (const Role role : {Role::client, Role::admin}) {
    const auto said = answer_to(group, group.keys_of(role, "x"));
    REQUIRE(said);
    CHECK(said->call == group::ObserverCall::refused);
    CHECK(said->number == static_cast<std::uint64_t>(group::ObserverRefusal::not_admitted));
    CHECK_THAT(said->text, Catch::Contains("it has the role " + std::string(to_string(role))));
  }
  const auto said = answer_to(group, group.keys_of(Role::observer, "x"));
  REQUIRE(said);
  CHECK(said->call == group::ObserverCall::welcome);
  leave_all(group.groups);
}

TEST_CASE("an observer whose security is not the members' is told that this may be it") {
  const auto [of_members, of_observer, says] = GENERATE(table<std::string, std::string, std::string>(
      {{open_port, "tls", "proves itself by keys"}, {port, "none", "proves nothing"}}));
  CAPTURE(of_members);
  ObservedGroup group(1, "tcp", of_members);
  Watch watch(group.elsewhere(group.fixture.directory() + "/keys/5",
                              {{"SPINDRIFT/security", of_observer}, {"SPINDRIFT/join_timeout_ms", "1500"}}));
  const auto error = error_of(watch);
  REQUIRE(error);
  CHECK_THAT(error->to_string(), Catch::Contains("node 0 at ") && Catch::Contains("another [SPINDRIFT] security") &&
                                     Catch::Contains(says));
  leave_all(group.groups);
}

TEST_CASE("one identity has some of a member's places for observers, and others have the rest") {
  ObservedGroup group(1);
  const std::string keys = group.keys_of(Role::observer, "many");
  std::list<Watch> watches;
  for (std::size_t i = 0; i < group::RemoteObservers::callers_per_identity; ++i) {
    watches.emplace_back(group.elsewhere(keys));
    watches.back().until_fed();
  }
  Watch more(group.elsewhere(keys, {{"SPINDRIFT/join_timeout_ms", "1500"}}));
  CHECK_THAT(error_of(more).value().to_string(), Catch::Contains("16 observers that are spindrift://test/observer/many"));
  Watch other(group.elsewhere(group.keys_of(Role::observer, "other")));
  other.until_fed();
  leave_all(group.groups);
}

TEST_CASE("an observer elsewhere is told which subgroups there are, and that no member listens for it") {
  ObservedGroup group(1);
  Watch wrong(group.elsewhere(), "order");
  const auto error = error_of(wrong);
  REQUIRE(error);
  CHECK(error->kind() == ErrorKind::bad_argument);
  CHECK_THAT(error->to_string(), Catch::Contains("no subgroup \"order\"; there are orders, ticks"));
  leave_all(group.groups);
  group.groups.clear();

  Watch nobody(group.elsewhere(group.fixture.directory() + "/keys/1", {{"SPINDRIFT/join_timeout_ms", "1500"}}));
  CHECK_THAT(error_of(nobody).value().to_string(),
             Catch::Contains("node 0 at 127.") && Catch::Contains("nobody answers there"));
  Watch off(group.elsewhere("/none", {{"SPINDRIFT/join_timeout_ms", "100"}, {"SPINDRIFT/observer_port", "0"}}));
  CHECK_THAT(error_of(off).value().to_string(),
             Catch::Contains("on this host that is in") && Catch::Contains("observer_port"));
}

TEST_CASE("an observer elsewhere whose key is revoked is cut off") {
  ObservedGroup group(2);
  const std::string keys = group.keys_of(Role::observer, "dashboard");
  Watch watch(group.elsewhere(keys, {{"SPINDRIFT/join_timeout_ms", "5000"}}));
  watch.until_fed();
  auto authority = value_or_throw(fabric::tls::Authority::open(group.fixture.directory() + "/keys"));
  static_cast<void>(value_or_throw(authority.revoke(value_or_throw(Identity::of_role("test", Role::observer, "dashboard")),
                                  std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()))));
  const auto error = error_of(watch);
  REQUIRE(error);
  CHECK_THAT(error->to_string(), Catch::Contains("revoked"));
  group.send(0, 0, 1);
  for (const Journal& journal : group.journals) journal.await(1);
  leave_all(group.groups);
}

TEST_CASE("callers of the port for observers that are none are cut off, too many are refused, and no member is harmed") {
  ObservedGroup group(1, "tcp", open_port);
  const auto greeting = fabric::connected::observer_greeting();
  using Kind = group::ObserverFrame::Kind;
  const auto hello = group::encode({group::ObserverCall::hello, 0, {}, "orders"});
  const auto welcome = group::encode({group::ObserverCall::welcome, 0, {}, {}});
  const std::vector<std::vector<std::byte>> wrong{
      framed(Kind::packet, 5, std::vector<std::byte>(5)),       framed(Kind::packet, 1 << 30, {}),
      framed(Kind::record, hello.size(), hello),                framed(static_cast<Kind>(77), hello.size(), hello),
      framed(Kind::packet, welcome.size(), welcome),            std::vector<std::byte>(4096, std::byte{0xff}),
  };
  for (const auto& bytes : wrong) {
    const FileDescriptor socket = group.call(0);
    say(socket, greeting);
    say(socket, bytes);
    CHECK(until_hung_up(socket) == 0);
  }
  const FileDescriptor other = group.call(0);
  say(other, std::vector<std::byte>(48, std::byte{1}));
  CHECK(until_hung_up(other) == 0);
  const FileDescriptor silent = group.call(0);
  say(silent, greeting);
  CHECK(until_hung_up(silent) == 0);  // after three seconds

  Watch watch(group.elsewhere("/none"));
  watch.until_fed();
  std::list<FileDescriptor> many;
  std::size_t refused = 0;
  for (std::size_t i = 0; i < group::RemoteObservers::callers_max; ++i) {
    many.push_back(group.call(0));
    say(many.back(), greeting);
    say(many.back(), framed(Kind::packet, hello.size(), hello));
    std::array<std::byte, 512> answer{};
    REQUIRE(::recv(many.back().get(), answer.data(), answer.size(), 0) > 0);
    const auto said = group::decode_observer_packet(std::span(answer).subspan(group::frame_head_bytes, 56));
    refused += said && said->call == group::ObserverCall::refused ? 1 : 0;
  }
  CHECK(refused == 1);
  group.send(0, 0, 1);
  watch.until_lines(1);
  leave_all(group.groups);
}
