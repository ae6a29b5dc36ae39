// Requests of clients, message by message: at whatever member they are made, and whatever state or log comes in between.
#include <catch2/catch.hpp>

#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <spindrift/group/replicated.hpp>

#include "group_fixture.hpp"
#include "replicated_fixture.hpp"

using namespace spindrift;

namespace {

struct Unusual {};

/// Counts how often it was asked for something.
class Register {
 public:
  int pay(int cents) {
    ++calls_;
    if (cents < 0) throw std::invalid_argument("less than nothing");
    if (cents == 0) throw Unusual{};
    return sum_ += cents;
  }
  std::string print(std::uint64_t bytes) {
    ++calls_;
    return std::string(bytes, 'x');
  }
  [[nodiscard]] int calls() const { return calls_; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(sum_, calls_);
  }
  using Methods = Replicates<&Register::pay, &Register::print, &Register::calls>;

 private:
  int sum_ = 0;
  int calls_ = 0;
};

class RegisterOfNow : public Register {
 public:
  int reset() { return 0; }
  using Methods = Replicates<&RegisterOfNow::reset, &Register::print, &Register::pay, &Register::calls>;
  using FormerMethods = Formerly<Register::Methods>;
};

template <class T>
class ClientFixture : public ReplicaFixture<T> {
 public:
  explicit ClientFixture(std::uint32_t count = 3) : ReplicaFixture<T>(count) {}

  ClientSessionId open(std::size_t at) {
    const auto opened = (*this)[at].open_session();
    this->deliver_all();
    return opened.get();
  }
  auto pay(std::size_t at, const ClientRequest& request, int cents) {
    auto paid = (*this)[at].template update_once<&Register::pay>(request, cents);
    this->deliver_all();
    return paid;
  }
  int calls(std::size_t at) { return (*this)[at].template query<&Register::calls>(); }
  std::string state(std::size_t at) {
    std::ostringstream state;
    value_or_throw(this->core(at).save(state));
    return state.str();
  }
  Result<void> load(std::size_t at, const std::string& state) {
    return this->core(at).load(std::as_bytes(std::span(state)));
  }
  /// Everybody is delivered the bytes with that many more or less behind them.
  bool accuses(std::vector<std::byte> bytes, std::ptrdiff_t more) {
    const std::size_t before = this->fault_count();
    bytes.resize(static_cast<std::size_t>(static_cast<std::ptrdiff_t>(bytes.size()) + more));
    this->deliver_to(1, this->next_delivery(NodeId(0), bytes));
    return this->fault_count() == before + 1;
  }
  /// The bytes of the message that is under way, which nobody gets.
  std::vector<std::byte> taken() {
    std::vector<std::byte> bytes = std::move(this->ordered().back().bytes);
    this->ordered().pop_back();
    return bytes;
  }
};

/// The reason for which the call is not carried out.
template <class R>
std::optional<ClientRefusal> refusal(const Future<R>& call) {
  try {
    call.get();
  } catch (const ClientRefused& refused) {
    return refused.reason();
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("a request that is made again at another member changes the object once, and is answered alike") {
  ClientFixture<Register> fixture;
  const ClientSessionId session = fixture.open(0);
  CHECK(fixture.pay(0, {session, 0, 0}, 5).get() == 5);
  CHECK(fixture.pay(1, {session, 1, 1}, 5).get() == 10);
  CHECK(fixture.pay(2, {session, 1, 1}, 5).get() == 10);
  CHECK(fixture.pay(1, {session, 1, 1}, 5).all().size() == 1);
  for (std::size_t at = 0; at < 3; ++at) CHECK(fixture.calls(at) == 2);
  CHECK(fixture.privately().empty());
  CHECK(fixture.fault_count() == 0);
}

TEST_CASE("a request whose member dies on the way or behind it is carried out once") {
  ClientFixture<Register> fixture;
  const ClientSessionId session = fixture.open(0);
  static_cast<void>(fixture[0].update_once<&Register::pay>({session, 0, 0}, 5));
  fixture.deliver_ordered();
  static_cast<void>(fixture[0].update_once<&Register::pay>({session, 1, 0}, 5));
  static_cast<void>(fixture.taken());
  fixture.fail(0);
  CHECK(fixture.pay(1, {session, 0, 0}, 5).get() == 5);
  CHECK(fixture.pay(2, {session, 1, 0}, 5).get() == 10);
  CHECK(fixture.calls(1) == 2);
}

TEST_CASE("an exception comes again as an exception, the first time and later as the same") {
  ClientFixture<Register> fixture;
  const ClientSessionId session = fixture.open(0);
  for (std::size_t at = 0; at < 3; ++at) {
    CHECK_THROWS_AS(fixture.pay(at, {session, 0, 0}, -1).get(), std::invalid_argument);
    CHECK_THROWS_WITH(fixture.pay(at, {session, 0, 0}, -1).get(), "less than nothing");
    const auto unusual = fixture.pay(at, {session, 1, 0}, 0);
    CHECK_THROWS_AS(unusual.get(), ReplicaError);
  }
  CHECK(fixture.calls(0) == 2);
}

TEST_CASE("what is not carried out says why, and nothing comes of it") {
  ClientFixture<Register> fixture;
  const ClientSessionId session = fixture.open(0);
  CHECK(fixture.pay(0, {session, 2, 1}, 1).get() == 1);
  CHECK(refusal(fixture.pay(0, {session, 0, 0}, 1)) == ClientRefusal::settled);
  CHECK(refusal(fixture.pay(0, {session, 65, 1}, 1)) == ClientRefusal::ahead);
  CHECK(refusal(fixture.pay(0, {{session.number, session.word + 1}, 1, 1}, 1)) == ClientRefusal::over);
  const auto other = fixture[0].update_once<&Register::print>({session, 2, 1}, 1);
  fixture.deliver_all();
  CHECK(refusal(other) == ClientRefusal::other_method);
  CHECK_THROWS_AS(fixture[0].update_once<&Register::pay>({session, 2, 3}, 1), ClientRefused);
  CHECK(fixture.ordered().empty());
  const auto closed = fixture[1].close_session(session);
  fixture.deliver_all();
  closed.get();
  const auto late = fixture.pay(0, {session, 3, 1}, 1);
  CHECK(refusal(late) == ClientRefusal::over);
  const auto words = thrown_by([&] { late.get(); });
  REQUIRE(words);
  CHECK(words->kind() == ErrorKind::refused);
  CHECK_THAT(words->to_string(), Catch::Contains("request 3 of session 1 is of a session that is over with the replicated "
                                                 "object of subgroup orders") &&
                                     Catch::Contains("fix: open another session"));
  CHECK(fixture.calls(2) == 1);
}

TEST_CASE("a result that is too large is given once, and large ones are to be settled") {
  ClientFixture<Register> fixture;
  const ClientSessionId session = fixture.open(0);
  const auto print = [&](const ClientRequest& request, std::uint64_t bytes) {
    auto printed = fixture[0].update_once<&Register::print>(request, bytes);
    fixture.deliver_all();
    return printed;
  };
  CHECK(print({session, 0, 0}, 70'000).get().size() == 70'000);
  CHECK(refusal(print({session, 0, 0}, 70'000)) == ClientRefusal::too_large);
  for (std::uint64_t number = 2; number < 7; ++number) CHECK(print({session, number, 0}, 60'000).get().size() == 60'000);
  CHECK(refusal(print({session, 7, 0}, 1)) == ClientRefusal::full);
  CHECK(print({session, 1, 1}, 60'000).get().size() == 60'000);
  CHECK(refusal(print({session, 7, 1}, 1)) == ClientRefusal::full);
  CHECK(print({session, 7, 4}, 1).get().size() == 1);
  CHECK(fixture.calls(2) == 8);
}

TEST_CASE("a joiner answers a repeated request from the state that it got, and the object of before has no sessions") {
  ClientFixture<Register> fixture(2);
  const std::string empty = fixture.state(1);
  const ClientSessionId session = fixture.open(0);
  CHECK(fixture.pay(0, {session, 0, 0}, 5).get() == 5);
  fixture.add(NodeId(2));
  REQUIRE(fixture.load(2, fixture.state(1)));
  CHECK(fixture.state(2) == fixture.state(0));
  fixture.fail(0);
  CHECK(fixture.pay(2, {session, 0, 0}, 5).get() == 5);
  CHECK(fixture.calls(2) == 1);
  CHECK(fixture.state(2) == fixture.state(1));
  CHECK(fixture.open(2).number == 2);
  REQUIRE(fixture.load(2, empty));
  CHECK(fixture.state(2) == empty);
}

TEST_CASE("calls and states without sessions have the bytes that they had before there were any") {
  ClientFixture<Register> fixture(2);
  constexpr std::size_t head = 24;
  static_cast<void>(fixture[0].update<&Register::pay>(5));
  CHECK(fixture.taken().size() == head + sizeof(int));
  static_cast<void>(fixture[0].post<&Register::pay>(5));
  CHECK(fixture.taken().size() == head + sizeof(int));
  const std::string state = fixture.state(0);
  CHECK(state.size() == 16 + 2 * sizeof(int));
  std::uint64_t form = 0;
  std::memcpy(&form, state.data() + 8, sizeof form);
  CHECK(form == 2);
  static_cast<void>(fixture[0].update_once<&Register::pay>({}, 5));
  CHECK(fixture.taken().size() == head + sizeof(ClientRequest) + sizeof(int));
}

TEST_CASE("a state whose table cannot be so is refused, and changes nothing") {
  ClientFixture<Register> fixture(2);
  const ClientSessionId session = fixture.open(0);
  CHECK(fixture.pay(0, {session, 0, 0}, 5).get() == 5);
  const std::string good = fixture.state(0);
  for (const std::size_t size : {std::size_t{20}, std::size_t{40}, good.size() - 1}) {
    fixture.add(NodeId(5));
    const auto loaded = fixture.load(fixture.members.size() - 1, good.substr(0, size));
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().kind() == ErrorKind::bad_input);
    fixture.members.pop_back();
  }
  std::string other_form = good;
  other_form[24] = 2;
  CHECK_FALSE(fixture.load(1, other_form));
  CHECK(fixture.pay(1, {session, 0, 0}, 5).get() == 5);
}

TEST_CASE("a result from elsewhere that is none of its method's is no harm to whoever asks for it") {
  ClientFixture<Register> fixture(2);
  const ClientSessionId session = fixture.open(0);
  CHECK(fixture.pay(0, {session, 0, 0}, 5).get() == 5);
  std::string state = fixture.state(0);
  // Behind the head, the table's size, its own head, the session's, and the result's number: the method, 0, and the kind.
  constexpr std::size_t method_at = 16 + 8 + 24 + 32 + 8;
  state[method_at] = 1;
  REQUIRE(fixture.load(1, state));
  const auto printed = fixture[1].update_once<&Register::print>({session, 0, 0}, 1);
  fixture.deliver_all();
  const auto unreadable = thrown_by([&] { static_cast<void>(printed.get()); });
  REQUIRE(unreadable);
  CHECK(unreadable->kind() == ErrorKind::bad_input);
  CHECK(fixture.fault_count() == 0);
}

TEST_CASE("sessions and what was carried out in them come again from the log") {
  ClientFixture<Register> fixture(2);
  fixture.logged = true;
  std::vector<std::vector<std::byte>> log;
  const auto deliver = [&] {
    log.push_back(fixture.ordered().front().bytes);
    fixture.deliver_all();
  };
  const auto opened = fixture[0].open_session();
  deliver();
  const auto closed = fixture[0].open_session();
  deliver();
  const auto paid = fixture[0].update_once<&Register::pay>({opened.get(), 0, 0}, 5);
  deliver();
  const auto thrown = fixture[0].update_once<&Register::pay>({opened.get(), 1, 0}, -1);
  deliver();
  const auto again = fixture[0].update_once<&Register::pay>({opened.get(), 0, 0}, 5);
  deliver();
  const auto close = fixture[0].close_session(closed.get());
  deliver();
  CHECK(again.get() == paid.get());
  fixture.add(NodeId(2));
  for (std::uint64_t version = 0; version < log.size(); ++version) {
    Delivery delivery = fixture.next_delivery(NodeId(0), log[version]);
    delivery.version = version;
    fixture.core(2).on_replay(std::span(&delivery, 1));
  }
  CHECK(fixture.state(2) == fixture.state(0));
  CHECK(fixture.privately().empty());
  fixture.fail(0);
  CHECK(fixture.pay(2, {opened.get(), 0, 0}, 5).get() == 5);
  CHECK_THROWS_AS(fixture.pay(2, {opened.get(), 1, 0}, -1).get(), std::invalid_argument);
  CHECK(fixture.calls(2) == 2);
}

TEST_CASE("a checkpoint of an earlier program answers by the methods' places of now") {
  ClientFixture<Register> before(1);
  before.logged = true;
  const ClientSessionId session = before.open(0);
  CHECK(before.pay(0, {session, 0, 0}, 5).get() == 5);
  ClientFixture<RegisterOfNow> now(1);
  now.logged = true;
  REQUIRE(now.load(0, before.state(0)));
  CHECK(now.pay(0, {session, 0, 0}, 5).get() == 5);
  CHECK(now.calls(0) == 1);
}

TEST_CASE("no session is opened while a member of the group may not know it") {
  ClientFixture<Register> fixture(2);
  fixture.spoken = views::clients_since - 1;
  const auto refused = thrown_by([&] { static_cast<void>(fixture[0].open_session()); });
  REQUIRE(refused);
  CHECK(refused->kind() == ErrorKind::unsupported);
  CHECK_THAT(refused->to_string(), Catch::Contains("clients have sessions from version 21 on") &&
                                       Catch::Contains("fix: run this release at all members"));
  CHECK(fixture.ordered().empty());
}

TEST_CASE("words of clients that nobody can have said are their sender's fault, and change nothing") {
  ClientFixture<Register> fixture(2);
  const ClientSessionId session = fixture.open(0);
  const std::string before = fixture.state(1);
  static_cast<void>(fixture[0].open_session());
  const std::vector<std::byte> open = fixture.taken();
  static_cast<void>(fixture[0].close_session(session));
  const std::vector<std::byte> close = fixture.taken();
  static_cast<void>(fixture[0].update_once<&Register::pay>({session, 0, 0}, 5));
  const std::vector<std::byte> once = fixture.taken();
  for (const std::ptrdiff_t more : {-1, 1}) {
    CHECK(fixture.accuses(open, more));
    CHECK(fixture.accuses(close, more));
  }
  CHECK(fixture.accuses(once, -5));
  CHECK(fixture.state(1) == before);
  std::vector<std::byte> query = once;
  const std::uint32_t place = replicated::position_in<&Register::calls, Register::Methods>;
  std::memcpy(query.data() + 16, &place, sizeof place);
  CHECK(fixture.accuses(query, 0));
  std::vector<std::byte> none = once;
  const auto behind_the_last = static_cast<std::uint32_t>(Register::Methods::count);
  std::memcpy(none.data() + 16, &behind_the_last, sizeof behind_the_last);
  CHECK(fixture.accuses(none, 0));
  std::vector<std::byte> unknown = close;
  const std::uint32_t behind = 8;
  std::memcpy(unknown.data() + 20, &behind, sizeof behind);
  CHECK(fixture.accuses(unknown, 0));
  CHECK(fixture.state(1) == before);
  CHECK_FALSE(fixture.accuses(once, 0));
  CHECK(fixture.calls(1) == 1);
}
