// Lists of revoked certificates go from member to member, over our own TCP and over libfabric's: whoever was given one
// first, all take it, and whom it names is cut off before he notices.
#include "tcp_members.hpp"

#include <filesystem>

#include <spindrift/core/bytes.hpp>
#include <spindrift/fabric/ofi/ofi.hpp>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;

namespace {

using Catch::Matchers::Contains;

/// A group whose authority is elsewhere: its lists are where somebody copies them.
struct Hosts {
  Keys keys;
  TemporaryDirectory directory;
  tls::Authority elsewhere;

  Hosts() : elsewhere(moved()) {}

  void revoke(std::uint32_t node) { value_or_throw(elsewhere.revoke(keys.member(node), tls::test::now())); }
  void copy_list_to(std::uint32_t node) const {
    const std::string to = keys.authority.bundle_directory(keys.member(node)) + "/" + tls::revoked_file;
    std::filesystem::copy_file(directory.path() + "/keys/authority/" + tls::revoked_file, to + ".new");
    std::filesystem::rename(to + ".new", to);
  }
  [[nodiscard]] std::unique_ptr<Fabric> fabric(const std::string& name, NodeId node,
                                               const std::shared_ptr<tls::Credentials>& credentials) const {
    if (name == "tcp")
      return value_or_throw(make_tcp(
          {.self = node, .runtime_directory = directory.path(), .group_name = group_of_keys, .credentials = credentials}));
    return value_or_throw(make_ofi({.self = node,
                                    .provider = "tcp",
                                    .runtime_directory = directory.path(),
                                    .group_name = group_of_keys,
                                    .credentials = credentials}));
  }

 private:
  [[nodiscard]] tls::Authority moved() const {
    const std::filesystem::path from = keys.authority.bundle_directory(keys.member(1));
    const std::string to = directory.path() + "/keys";
    std::filesystem::create_directory(to);
    std::filesystem::copy(from.parent_path() / "authority", to + "/authority", std::filesystem::copy_options::recursive);
    return value_or_throw(tls::Authority::open(to));
  }
};

struct Node {
  std::shared_ptr<tls::Credentials> credentials;
  Endpoint endpoint;

  Node(const Hosts& hosts, const std::string& fabric, std::uint32_t id)
      : credentials(hosts.keys.of(NodeId(id))), endpoint(id, hosts.fabric(fabric, NodeId(id), credentials)) {}
};

void meet(Endpoint& one, Endpoint& other) {
  one.connect(other);
  await(one, Event::Kind::connected, {&other});
  await(other, Event::Kind::connected, {&one});
}

std::string reason_of(const Event& event) { return event.reason ? event.reason->to_string() : ""; }

}  // namespace

TEST_CASE("a list that one member was given is taken by all, and whom it names learns why") {
  Hosts hosts;
  const std::string fabric = GENERATE("tcp", "ofi:tcp");
  CAPTURE(fabric);
  Node a(hosts, fabric, 1), b(hosts, fabric, 2), c(hosts, fabric, 3);
  meet(a.endpoint, b.endpoint);
  meet(a.endpoint, c.endpoint);
  meet(b.endpoint, c.endpoint);
  const Log log(hosts.directory);
  hosts.revoke(3);
  hosts.copy_list_to(GENERATE(1U, 3U));
  const Event at_a = await(a.endpoint, Event::Kind::lost, {&b.endpoint, &c.endpoint});
  const Event at_b = await(b.endpoint, Event::Kind::lost, {&a.endpoint, &c.endpoint});
  for (const Event* lost : {&at_a, &at_b}) {
    CHECK(lost->node == NodeId(3));
    CHECK_THAT(reason_of(*lost), Contains("revoked"));
  }
  const Event end = await(c.endpoint, Event::Kind::ended, {&a.endpoint, &b.endpoint});
  CHECK_THAT(reason_of(end), Contains("this node's certificate is revoked") && Contains("spindrift://group/3"));
  CHECK(c.endpoint.count(Event::Kind::lost) == 0);  // it is told before its connections end
  CHECK(*a.credentials->lists() == *b.credentials->lists());
  // They do end, and the two others stay linked.
  drive({&a.endpoint, &b.endpoint, &c.endpoint}, [&] { return c.endpoint.count(Event::Kind::lost) == 2; });
  CHECK(a.endpoint.inbox.empty());
  CHECK(b.endpoint.inbox.empty());
  // A thread writes down what it has read when that is in force already.
  drive({&a.endpoint, &b.endpoint}, [&] { return count_of(log.text(), "event=revocations_changed") >= 3; });
  const std::string told = log.text();
  CHECK_THAT(told, Contains("event=revocations_changed by=") && Contains("event=cut_off subject=3 identity="));
  CHECK(count_of(told, "event=revocations_changed") == 3);
  CHECK(count_of(told, "event=revocations_changed by=") == 2);
}

TEST_CASE("a member that starts with an old list learns the newer one from the first that it meets") {
  Hosts hosts;
  const std::string fabric = GENERATE("tcp", "ofi:tcp");
  CAPTURE(fabric);
  Node c(hosts, fabric, 3), b(hosts, fabric, 2);
  hosts.revoke(3);
  hosts.copy_list_to(1);
  meet(b.endpoint, c.endpoint);
  Node a(hosts, fabric, 1);
  CHECK(*a.credentials->lists() != *b.credentials->lists());
  a.endpoint.connect(b.endpoint);
  const Event lost = await(b.endpoint, Event::Kind::lost, {&a.endpoint, &c.endpoint});
  CHECK(lost.node == NodeId(3));
  CHECK(*a.credentials->lists() == *b.credentials->lists());
}

TEST_CASE("a peer that was cut off by a list does not notice for two seconds, and nothing that it says counts") {
  Keys keys;
  Members members(keys);
  Insider revoked(members, keys.pair_of(keys.member(3)), 1);
  value_or_throw(keys.authority.revoke(keys.member(3), tls::test::now()));
  const Event lost = await(members.b, Event::Kind::lost, {&members.a});
  const Time cut = now();
  CHECK(lost.node == NodeId(3));
  revoked.caller.say(message_frame(connected::user_message(Bytes(8))));
  CHECK_FALSE(revoked.caller.over());
  members.exchange_until([&] { return revoked.caller.over(); });
  CHECK(now() - cut > std::chrono::milliseconds(1500));
  members.check_undisturbed();
}

TEST_CASE("a peer that hands on lists that are none, forged, or too many is lost for that reason") {
  Keys keys;
  Members members(keys);
  const tls::KeyPair good = keys.pair_of(keys.member(3));
  std::uint64_t start = 300;
  const auto part = [](std::uint64_t rest, std::span<const std::byte> bytes) {
    return message_frame(
        ByteWriter().put(static_cast<std::uint64_t>(connected::Kind::revoked), rest).put_bytes(bytes).take());
  };
  const auto check = [&](const Bytes& said, const std::string& reason) {
    check_ends(members, Insider(members, good, ++start), said, reason);
  };
  const Bytes whole = *keys.of(NodeId(1))->lists();
  Bytes forged = whole;
  forged.back() ^= std::byte{1};
  check(part(0, forged), "is not signed by the authority that it names");
  check(part(0, Bytes(100, std::byte{0xee})), "cannot be read");
  Bytes unannounced = part(5, whole), often;
  const Bytes once = part(0, whole);
  unannounced.insert(unannounced.end(), once.begin(), once.end());
  check(unannounced, "other parts of a list of revoked certificates than it announced");
  for (std::uint32_t i = 0; i <= connected::HeardLists::at_once_max; ++i)
    often.insert(often.end(), once.begin(), once.end());
  check(often, "too often");
  members.check_undisturbed();
}

TEST_CASE("lists come in parts, so many as were announced, and are put together") {
  const Bytes lists(200'000, std::byte{7});
  connected::HeardLists heard;
  const Time at{std::chrono::hours(1)};
  const auto messages = connected::revoked_messages(lists);
  REQUIRE(messages.size() == 4);
  std::optional<Bytes> whole;
  for (const Bytes& message : messages) {
    CHECK(message.size() <= connected::header_bytes + connected::message_bytes_max);
    CHECK_FALSE(whole);
    const auto control = connected::decode_control(message);
    REQUIRE(control);
    whole = value_or_throw(heard.take(control->payload, control->rest, at));
  }
  REQUIRE(whole);
  CHECK(*whole == lists);
  const Bytes eight(8);
  SECTION("another part than was announced") {
    CHECK_FALSE(value_or_throw(heard.take(eight, 16, at)));
    CHECK_FALSE(value_or_throw(heard.take(eight, 8, at)));
    CHECK(heard.take(eight, 8, at).error().kind() == ErrorKind::refused);
  }
  SECTION("too much") { CHECK_FALSE(heard.take(eight, connected::revoked_bytes_max, at)); }
  SECTION("too often, and once more a second later") {
    for (std::uint32_t i = 1; i < connected::HeardLists::at_once_max; ++i) REQUIRE(heard.take(eight, 0, at));
    CHECK_FALSE(heard.take(eight, 0, at));
    CHECK(heard.take(eight, 0, at + std::chrono::seconds(1)));
    CHECK_FALSE(heard.take(eight, 0, at + std::chrono::seconds(1)));
  }
}
