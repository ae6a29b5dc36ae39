// Clients outside of real groups: updates are carried out once, whichever member is asked and whatever becomes of it.
#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <spindrift/rpc/drawn_tokens.hpp>
#include <spindrift/rpc/rpc_endpoint.hpp>
#include <spindrift/rpc/tcp/tcp_transport.hpp>

#include "served_group.hpp"
#include "till.hpp"

using namespace spindrift;
using fabric::tls::Role;

namespace {

constexpr Duration patience = std::chrono::seconds(120);

/// As Till, with another list.
class OtherTill : public Till {
 public:
  using Methods = Replicates<&Till::calls, &Till::pay>;
};

/// Its results have the size that is asked for.
class Slow {
 public:
  std::uint64_t add(std::uint64_t bytes) { return sum_ += bytes; }
  std::string print(std::uint64_t bytes) { return std::string(bytes, 'x'); }
  [[nodiscard]] std::uint64_t sum() const { return sum_; }
  [[nodiscard]] std::string text(std::uint64_t bytes) const { return std::string(bytes, 'y'); }
  void clear() { sum_ = 0; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(sum_);
  }
  using Methods = Replicates<&Slow::add, &Slow::print, &Slow::sum, &Slow::text, &Slow::clear>;

 private:
  std::uint64_t sum_ = 0;
};

/// A query of it runs until the test lets it return.
class Read {
 public:
  std::uint64_t change() { return ++changes_; }
  [[nodiscard]] std::uint64_t hold() const {
    ++begun;
    begun.notify_all();
    released.wait(false);
    return changes_;
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(changes_);
  }
  using Methods = Replicates<&Read::change, &Read::hold>;

  static inline std::atomic<int> begun{0};
  static inline std::atomic<bool> released{false};

 private:
  std::uint64_t changes_ = 0;
};

/// An update of it runs until the test lets it return.
class Held {
 public:
  std::uint64_t hold() {
    held = true;
    held.notify_all();
    released.wait(false);
    return ++calls_;
  }
  std::uint64_t count() { return ++calls_; }
  [[nodiscard]] std::uint64_t calls() const { return calls_; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(calls_);
  }
  using Methods = Replicates<&Held::hold, &Held::count, &Held::calls>;

  static inline std::atomic<bool> held{false};
  static inline std::atomic<bool> released{false};

 private:
  std::uint64_t calls_ = 0;
};

std::optional<Error> error_of(const auto& future) {
  return thrown_by([&] { static_cast<void>(future.get(patience)); });
}

}  // namespace

TEST_CASE("a client calls a replicated object, each update once, and reads it at a member and in the order") {
  ServedGroup<Till> group(3);
  Client client(group.options(1));
  auto till = client.replicated<Till>("orders");
  CHECK(till.update<&Till::pay>("Ann").get(patience) == 1);
  CHECK(till.ordered_query<&Till::calls>("Ann").get(patience) == 1);
  CHECK(till.query<&Till::calls>("Ann").get(patience) == 1);
  CHECK_THROWS_AS(till.update<&Till::pay>("").get(patience), std::invalid_argument);
  std::vector<ClientFuture<std::uint64_t>> many;
  for (int i = 0; i < 500; ++i) many.push_back(till.update<&Till::pay>("Bob"));
  std::set<std::uint64_t> results;
  for (const auto& each : many) results.insert(each.get(patience));
  CHECK(results.size() == 500);
  CHECK(*results.rbegin() == 500);
  CHECK(group.replicas[0].ordered_query<&Till::calls>("Bob").get(patience) == 500);
  leave_all(group.groups);
}

TEST_CASE("a query after a place sees all up to there at whichever member") {
  ServedGroup<Till> group(3, "security = none\n");
  Client writer(group.open_options(0));
  auto paid = writer.replicated<Till>("orders");
  MessagePlace place{};
  for (std::uint64_t round = 1; round <= 20; ++round) {
    for (unsigned member = 0; member < 3; ++member) {
      const auto update = paid.update<&Till::pay>("Ann");
      const std::uint64_t count = update.get(patience);
      CHECK(update.place(patience) > place);
      place = update.place(patience);
      Client reader(group.open_options(member));
      const auto seen = reader.replicated<Till>("orders").query_after<&Till::calls>(place, "Ann");
      CHECK(seen.get(patience) >= count);
      CHECK(seen.place(patience) >= place);
    }
  }
  const auto beyond = error_of(paid.query_after<&Till::calls>({ViewId(place.view.value() + 9), SequenceNumber(0)}, "Ann"));
  REQUIRE(beyond);
  CHECK(beyond->kind() == ErrorKind::refused);
  CHECK(beyond->message().find("begun anew") != std::string::npos);
  const auto threw = paid.update<&Till::pay>("");
  CHECK(threw.place(patience) > place);
  CHECK_THROWS_AS(threw.get(patience), std::invalid_argument);
  leave_all(group.groups);
}

TEST_CASE("a client goes on at another member when its member leaves, which it has learned of") {
  ServedGroup<Till> group(3);
  Client client(group.options(0));
  auto till = client.replicated<Till>("orders");
  CHECK(till.update<&Till::pay>("Ann").get(patience) == 1);
  for (unsigned gone = 0; gone < 2; ++gone) {
    std::vector<ClientFuture<std::uint64_t>> many;
    for (int i = 0; i < 200; ++i) many.push_back(till.update<&Till::pay>("Ann"));
    group.groups[gone]->leave();
    group.groups[gone].reset();
    std::set<std::uint64_t> results;
    for (const auto& each : many) results.insert(each.get(patience));
    CHECK(results.size() == 200);
    CHECK(*results.rbegin() == 1 + 200 * (gone + 1));
  }
  CHECK(group.replicas[2].query<&Till::calls>("Ann") == 401);
  group.groups[2]->leave();
}

TEST_CASE("a client with keys of another role, of another group or without any is not let in") {
  ServedGroup<Till> group(1);
  ClientOptions options = group.options(0);
  options.give_up_after = std::chrono::seconds(3);
  SECTION("an observer's") {
    options.keys = group.keys_of(Role::observer, "dashboard");
    const auto refused = thrown_by([&] { const Client client(options); });
    REQUIRE(refused);
    CHECK(refused->kind() == ErrorKind::refused);
  }
  SECTION("none") {
    options.keys.clear();
    Client client(options);
    const auto refused = error_of(client.replicated<Till>("orders").update<&Till::pay>("Ann"));
    REQUIRE(refused);
    CHECK(refused->kind() == ErrorKind::timed_out);
    CHECK(refused->message().find("was not carried out") != std::string::npos);
  }
  SECTION("of another group") {
    const GroupFixture other("tcp");
    const std::string theirs = other.directory() + "/keys/1";
    options.keys = theirs;
    Client client(options);
    CHECK(error_of(client.replicated<Till>("orders").update<&Till::pay>("Ann")));
  }
  CHECK(group.replicas[0].query<&Till::calls>("Ann") == 0);
  leave_all(group.groups);
}

TEST_CASE("clients have the rights that the members' configuration gives to the names in their keys") {
  ServedGroup<Till> group(2, "client_rights = teller@orders:update, auditor@*:query\n");
  Client teller(group.options(0, "teller")), auditor(group.options(1, "auditor")), other(group.options(0, "other"));
  auto paying = teller.replicated<Till>("orders");
  auto reading = auditor.replicated<Till>("orders");
  CHECK(paying.update<&Till::pay>("Ann").get(patience) == 1);
  CHECK(reading.ordered_query<&Till::calls>("Ann").get(patience) == 1);
  const auto refused = error_of(reading.update<&Till::pay>("Ann"));
  REQUIRE(refused);
  CHECK(refused->kind() == ErrorKind::refused);
  CHECK(refused->message().find("client auditor has no right to update in subgroup orders") != std::string::npos);
  CHECK(refused->fix().find("client_rights") != std::string::npos);
  CHECK(reading.query<&Till::calls>("Ann").get(patience) <= 1);
  CHECK(error_of(other.replicated<Till>("orders").query<&Till::calls>("Ann"))->kind() == ErrorKind::refused);
  ClientOptions of_member = group.options(0, "one");
  of_member.keys = group.fixture.directory() + "/keys/1";
  Client trusted(of_member);
  CHECK(trusted.replicated<Till>("orders").update<&Till::pay>("Ann").get(patience) == 2);
  leave_all(group.groups);
}

TEST_CASE("a connection has one of a member's places for clients, however many it asks for") {
  ServedGroup<Till> group(1, "security = none\n");
  struct Changes final : rpc::SessionHandler {
    void on_session(rpc::SessionId, rpc::SessionChange change) override { all.push_back(change); }
    std::vector<rpc::SessionChange> all;
  } changes;
  const auto transport = value_or_throw(rpc::StreamTransport::open({}));
  rpc::DrawnTokens tokens;
  rpc::RpcEndpoint endpoint(*transport, tokens, rpc::over_tcp());
  const auto route = value_or_throw(transport->call(group.address_of(0)));
  for (int i = 0; i < 3; ++i) static_cast<void>(value_or_throw(endpoint.connect(route, changes)));
  const SystemClock clock;
  while (changes.all.size() < 3) {
    static_cast<void>(transport->wait(std::chrono::milliseconds(10)));
    static_cast<void>(endpoint.step(clock.now()));
  }
  CHECK(std::ranges::count(changes.all, rpc::SessionChange::connected) == 1);
  CHECK(std::ranges::count(changes.all, rpc::SessionChange::no_credits) == 2);
  Client client(group.open_options(0));
  CHECK(client.replicated<Till>("orders").update<&Till::pay>("Ann").get(patience) == 1);
  leave_all(group.groups);
}

TEST_CASE("a member's keys do for a client, and a group without keys lets in who is on loopback") {
  SECTION("a member's") {
    ServedGroup<Till> group(2);
    ClientOptions options = group.options(0);
    options.keys = group.fixture.directory() + "/keys/1";
    Client client(options);
    CHECK(client.replicated<Till>("orders").update<&Till::pay>("Ann").get(patience) == 1);
    leave_all(group.groups);
  }
  SECTION("nobody has keys") {
    ServedGroup<Till> group(2, "security = none\n");
    Client client(group.open_options(1));
    CHECK(client.replicated<Till>("orders").update<&Till::pay>("Ann").get(patience) == 1);
    leave_all(group.groups);
  }
}

TEST_CASE("a client is told what there is not: a subgroup, an object that is offered, the same methods") {
  ServedGroup<Till> group(2, "security = none\n", false);
  ClientOptions options = group.open_options(0);
  options.give_up_after = std::chrono::seconds(2);
  Client client(options);
  auto unknown = error_of(client.replicated<Till>("nowhere").update<&Till::pay>("Ann"));
  REQUIRE(unknown);
  CHECK(unknown->kind() == ErrorKind::bad_argument);
  CHECK(unknown->message().find("no subgroup nowhere") != std::string::npos);
  auto unoffered = error_of(client.replicated<Till>("orders").update<&Till::pay>("Ann"));
  REQUIRE(unoffered);
  CHECK(unoffered->kind() == ErrorKind::timed_out);
  CHECK(unoffered->to_string().find("offers no replicated object") != std::string::npos);
  group.replicas[1].offer();
  CHECK(client.replicated<Till>("orders").update<&Till::pay>("Ann").get(patience) == 1);
  auto other = client.replicated<OtherTill>("orders");
  auto differs = error_of(other.update<&Till::pay>("Ann"));
  REQUIRE(differs);
  CHECK(differs->kind() == ErrorKind::refused);
  CHECK(error_of(other.query<&Till::calls>("Ann"))->kind() == ErrorKind::refused);
  leave_all(group.groups);
}

TEST_CASE("a client whose session is over is told so where nobody knows, and goes on in another one") {
  ServedGroup<Till> group(2, "security = none\n");
  Client client(group.open_options(0));
  auto till = client.replicated<Till>("orders");
  CHECK(till.update<&Till::pay>("Ann").get(patience) == 1);
  std::vector<Future<ClientSessionId>> more;
  for (std::size_t i = 0; i < 1024; ++i) more.push_back(group.replicas[1].open_session());
  for (const auto& opened : more) static_cast<void>(opened.get(patience));
  CHECK(till.update<&Till::pay>("Ann").get(patience) == 2);  // its first attempt was refused: so it was not carried out
  CHECK(group.replicas[0].query<&Till::calls>("Ann") == 2);
  leave_all(group.groups);
}

TEST_CASE("a member whose method takes long answers others, and nothing that it could not take meanwhile is lost") {
  ServedGroup<Held> group(1, "security = none\n");
  ClientOptions options = group.open_options(0);
  options.answer_within = patience;
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<ClientFuture<std::uint64_t>> many;
  clients.push_back(std::make_unique<Client>(options));
  many.push_back(clients[0]->replicated<Held>("orders").update<&Held::hold>());
  Held::held.wait(false);
  for (int i = 0; i < 40; ++i) {
    clients.push_back(std::make_unique<Client>(options));
    auto held = clients.back()->replicated<Held>("orders");
    many.push_back(held.ordered_query<&Held::calls>());
    many.push_back(held.query<&Held::calls>());
    for (int j = 0; j < 30; ++j) many.push_back(held.update<&Held::count>());
  }
  Client other(options);
  CHECK(error_of(other.replicated<Held>("nowhere").query<&Held::calls>())->kind() == ErrorKind::bad_argument);
  Held::released = true;
  Held::released.notify_all();
  for (const auto& each : many) CHECK_NOTHROW(static_cast<void>(each.get(patience)));
  CHECK(group.replicas[0].ordered_query<&Held::calls>().get(patience) == 1 + 40 * 30);
  leave_all(group.groups);
}

TEST_CASE("queries that wait for a client which has left are never run") {
  ServedGroup<Read> group(1, "security = none\n");
  Client other(group.open_options(0));
  {
    Client client(group.open_options(0));
    auto read = client.replicated<Read>("orders");
    std::vector<ClientFuture<std::uint64_t>> futures;
    for (int i = 0; i < 6; ++i) futures.push_back(read.query<&Read::hold>());
    Read::begun.wait(0);
  }
  // The member is called when that connection has ended. One more query may begin while it takes note.
  CHECK(error_of(other.replicated<Read>("nowhere").query<&Read::hold>())->kind() == ErrorKind::bad_argument);
  Read::released = true;
  Read::released.notify_all();
  CHECK(other.replicated<Read>("orders").query<&Read::hold>().get(patience) == 0);
  CHECK(Read::begun <= 3);
  leave_all(group.groups);
}

TEST_CASE("results that are large come whole, and those that are too large are told of") {
  ServedGroup<Slow> group(2, "security = none\n");
  Client client(group.open_options(0));
  auto slow = client.replicated<Slow>("orders");
  CHECK(slow.update<&Slow::print>(900'000).get(patience) == std::string(900'000, 'x'));
  CHECK(slow.query<&Slow::text>(900'000).get(patience) == std::string(900'000, 'y'));
  CHECK(slow.ordered_query<&Slow::text>(900'000).get(patience) == std::string(900'000, 'y'));
  const auto update = error_of(slow.update<&Slow::print>(3'000'000));
  REQUIRE(update);
  CHECK(update->kind() == ErrorKind::resource);
  CHECK(update->message().find("was carried out") != std::string::npos);
  CHECK(error_of(slow.query<&Slow::text>(3'000'000))->kind() == ErrorKind::resource);
  const auto query = error_of(slow.query<&Slow::text>(9'000'000));
  CHECK(query->kind() == ErrorKind::resource);
  CHECK(query->message().find("carried out") == std::string::npos);
  slow.update<&Slow::clear>().get(patience);
  CHECK(slow.query<&Slow::sum>().get(patience) == 0);
  leave_all(group.groups);
}

TEST_CASE("a client that is gone ends what was not answered, and closes its sessions") {
  ServedGroup<Till> group(2, "security = none\n");
  std::optional<ClientFuture<std::uint64_t>> left;
  for (int i = 0; i < 40; ++i) {
    Client client(group.open_options(0));
    auto till = client.replicated<Till>("orders");
    static_cast<void>(till.update<&Till::pay>("Ann").get(patience));
    left = till.update<&Till::pay>("Bob");
  }
  const auto ended = thrown_by([&] { static_cast<void>(left->get(patience)); });
  if (ended) CHECK(ended->kind() == ErrorKind::group_closed);
  CHECK(group.replicas[0].ordered_query<&Till::calls>("Ann").get(patience) == 40);
  leave_all(group.groups);
}
