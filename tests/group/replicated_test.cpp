// Replicated objects over a channel whose order the test decides: calls, answers, failures, exceptions, ends.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "replicated_fixture.hpp"

using namespace spindrift;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

struct Order {
  std::string item;
  std::vector<std::pair<std::string, int>> options;
  std::optional<double> limit;
  std::map<int, std::string> notes;
  bool urgent = false;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(item, options, limit, notes, urgent);
  }
  bool operator==(const Order&) const = default;
};

/// Plain: travels as it is.
struct Point {
  std::int32_t x = 0;
  std::int32_t y = 0;
  bool operator==(const Point&) const = default;
};

class ShopClosed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Shop {
 public:
  std::uint64_t add(std::uint64_t amount) {
    total_ += amount;
    history_.push_back(amount);
    return total_;
  }
  void reset() { total_ = 0; }
  std::uint64_t total() const { return total_; }
  Order improve(const Order& order, std::tuple<int, Point> by) {
    Order better = order;
    better.notes[std::get<0>(by)] = std::to_string(std::get<1>(by).x) + "," + std::to_string(std::get<1>(by).y);
    return better;
  }
  std::uint64_t take(std::uint64_t amount) {
    if (amount > total_) throw std::out_of_range("only " + std::to_string(total_) + " there");
    return total_ -= amount;
  }
  void close() { throw ShopClosed("until tomorrow"); }
  void throw_number() { throw 7; }
  std::string long_text(std::uint32_t length) { return std::string(length, 'x'); }
  bool flip(bool on) { return !on; }
  const std::vector<std::uint64_t>& history() const { return history_; }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(total_, history_);
  }

 private:
  std::uint64_t total_ = 0;
  std::vector<std::uint64_t> history_;

 public:
  using Methods = Replicates<&Shop::add, &Shop::reset, &Shop::total, &Shop::improve, &Shop::take, &Shop::close,
                             &Shop::throw_number, &Shop::long_text, &Shop::flip, &Shop::history>;
};

using Fixture = ReplicaFixture<Shop>;

template <class Call>
ErrorKind kind_of(Call&& call) {
  try {
    call();
  } catch (const Exception& thrown) {
    return thrown.error().kind();
  }
  return ErrorKind::unsupported;
}

/// The same on a thread that is not the poller's, as applications wait.
template <class Call>
ErrorKind kind_elsewhere(Call&& call) {
  ErrorKind kind = ErrorKind::unsupported;
  std::thread([&] { kind = kind_of(call); }).join();
  return kind;
}

std::vector<std::uint32_t> nodes_of(const auto& results) {
  std::vector<std::uint32_t> nodes;
  for (const auto& result : results) nodes.push_back(result.node().value());
  return nodes;
}

}  // namespace

TEST_CASE("an update changes every replica and every replica's result comes back") {
  Fixture shops(3);
  const Future<std::uint64_t> first = shops[0].update<&Shop::add>(5);
  const Future<std::uint64_t> second = shops[1].update<&Shop::add>(7);
  CHECK_FALSE(first.is_delivered());
  shops.deliver_all();
  CHECK(first.get() == 5);
  CHECK(second.get() == 12);
  const auto results = second.all();
  CHECK(nodes_of(results) == std::vector<std::uint32_t>{1, 0, 2});
  for (const auto& result : results) CHECK(result.value() == 12);
  for (std::size_t node = 0; node < 3; ++node) CHECK(shops[node].query<&Shop::total>() == 12);
  CHECK(shops.fault_count() == 0);
}

TEST_CASE("a local query sees what is applied here, an ordered one everything before it") {
  Fixture shops(2);
  static_cast<void>(shops[0].update<&Shop::add>(5));
  const auto ordered = shops[1].ordered_query<&Shop::total>();
  CHECK(shops[1].query<&Shop::total>() == 0);
  shops.deliver_all();
  CHECK(ordered.get() == 5);
  CHECK(ordered.all().size() == 1);
  CHECK(shops[1].ordered_query<&Shop::history>().is_delivered() == false);
}

TEST_CASE("a posted update asks nobody for an answer") {
  Fixture shops(3);
  const auto posted = shops[0].post<&Shop::add>(5);
  while (shops.deliver_ordered()) {
  }
  CHECK(shops.privately().empty());
  CHECK(posted.get() == 5);
  CHECK(nodes_of(posted.all()) == std::vector<std::uint32_t>{0});
  CHECK(shops[2].query<&Shop::total>() == 5);
}

TEST_CASE("arguments and results of many types travel whole") {
  Fixture shops(2);
  const Order order{
      .item = "lamp", .options = {{"red", 1}, {"", -2}}, .limit = 2.5, .notes = {{3, "three"}}, .urgent = true};
  const auto improved = shops[0].update<&Shop::improve>(order, std::tuple(9, Point{-1, 4}));
  const auto flipped = shops[0].update<&Shop::flip>(true);
  shops.deliver_all();
  Order expected = order;
  expected.notes[9] = "-1,4";
  for (const auto& result : improved.all()) CHECK(result.value() == expected);
  for (const auto& result : flipped.all()) CHECK(result.value() == false);
  CHECK(shops.fault_count() == 0);
}

TEST_CASE("answers that come before the own delivery are kept") {
  Fixture shops(3);
  const auto future = shops[0].update<&Shop::add>(5);
  const Fixture::Sent sent = shops.ordered().front();
  shops.ordered().clear();
  const Delivery delivery = shops.next_delivery(NodeId(0), sent.bytes);
  shops.core(1).on_delivery(std::span(&delivery, 1));
  shops.deliver_all();
  CHECK_FALSE(future.is_delivered());
  shops.core(0).on_delivery(std::span(&delivery, 1));
  CHECK(future.get() == 5);
  CHECK(kind_elsewhere([&] { static_cast<void>(future.all(1ms)); }) == ErrorKind::timed_out);
  shops.core(2).on_delivery(std::span(&delivery, 1));
  shops.deliver_all();
  CHECK(nodes_of(future.all()) == std::vector<std::uint32_t>{0, 1, 2});
  CHECK(shops.fault_count() == 0);
}

TEST_CASE("a replica that dies before it answers is listed as lost") {
  Fixture shops(3);
  const auto future = shops[0].update<&Shop::add>(5);
  shops.deliver_ordered();
  std::erase_if(shops.privately(), [](const Fixture::Sent& sent) { return sent.from == NodeId(2); });
  shops.deliver_all();
  CHECK(kind_elsewhere([&] { static_cast<void>(future.all(1ms)); }) == ErrorKind::timed_out);
  shops.fail(2);
  const auto results = future.all();
  CHECK(nodes_of(results) == std::vector<std::uint32_t>{0, 1, 2});
  CHECK_FALSE(results[1].lost());
  CHECK(results[2].lost());
  CHECK(kind_of([&] { static_cast<void>(results[2].value()); }) == ErrorKind::member_lost);
}

TEST_CASE("a call that is delivered in the next view awaits that view's replicas") {
  Fixture shops(3);
  const auto future = shops[0].update<&Shop::add>(5);
  shops.fail(1);
  shops.deliver_all();
  CHECK(nodes_of(future.all()) == std::vector<std::uint32_t>{0, 2});
}

TEST_CASE("what a method throws reaches the caller from every replica") {
  Fixture shops(2);
  const auto standard = shops[0].update<&Shop::take>(1);
  const auto own_type = shops[0].update<&Shop::close>();
  const auto no_exception = shops[0].update<&Shop::throw_number>();
  shops.deliver_all();
  CHECK_THROWS_AS(standard.get(), std::out_of_range);
  CHECK_THROWS_AS(standard.all()[1].value(), std::out_of_range);
  CHECK_THROWS_WITH(standard.all()[1].value(), "only 0 there");
  CHECK_THROWS_AS(own_type.get(), ShopClosed);
  try {
    own_type.all()[1].value();
    FAIL("nothing was thrown");
  } catch (const ReplicaError& error) {
    CHECK_THAT(error.type_name(), Contains("ShopClosed"));
    CHECK(std::string(error.what()) == "until tomorrow");
  }
  CHECK_THROWS_AS(no_exception.get(), int);
  CHECK_THROWS_AS(no_exception.all()[1].value(), ReplicaError);
  CHECK(shops.fault_count() == 0);
}

TEST_CASE("an answer longer than a private message arrives whole, in pieces, from each replica") {
  Fixture shops(3);
  for (const std::uint32_t length : {4064U - 8U, 4064U - 7U, 5000U, 20'000U}) {
    const auto future = shops[0].update<&Shop::long_text>(length);
    shops.deliver_ordered();
    const std::size_t pieces = (length + 8 + 4063) / 4064;
    CHECK(shops.privately().size() == 2 * pieces);
    // The pieces of one replica among those of the other.
    std::stable_sort(shops.privately().begin(), shops.privately().end(), [](const auto& left, const auto& right) {
      return left.bytes.size() > right.bytes.size();
    });
    shops.deliver_all();
    for (const auto& result : future.all(1s)) CHECK(result.value() == std::string(length, 'x'));
  }
  CHECK(shops.fault_count() == 0);
}

TEST_CASE("pieces of an answer that do not fit are reported, and a lost replica's are forgotten") {
  Fixture shops(2);
  const auto future = shops[0].update<&Shop::long_text>(9000);
  shops.deliver_ordered();
  REQUIRE(shops.privately().size() == 3);
  const std::vector<Fixture::Sent> good(shops.privately().begin(), shops.privately().end());
  shops.privately().clear();
  const auto changed = [&](std::size_t which, std::size_t at, int to) {
    auto bytes = good[which].bytes;
    bytes[at] = static_cast<std::byte>(to);
    return bytes;
  };
  constexpr std::size_t threw = 16;
  constexpr std::size_t left = 24;
  CHECK(shops.refuses(0, NodeId(1), changed(0, left + 4, 1)));  // more than an answer may have
  CHECK_FALSE(shops.refuses(0, NodeId(1), good[0].bytes));
  CHECK(shops.refuses(0, NodeId(1), good[0].bytes));
  CHECK(shops.refuses(0, NodeId(1), good[2].bytes));
  CHECK(shops.refuses(0, NodeId(1), changed(1, threw, 1)));
  CHECK(shops.refuses(0, NodeId(1), std::span(good[1].bytes).first(32)));  // nothing but a head
  CHECK_FALSE(shops.refuses(0, NodeId(1), good[1].bytes));
  CHECK_FALSE(shops.refuses(0, NodeId(1), good[2].bytes));
  CHECK(future.all(1s).at(1).value().size() == 9000);

  const auto unfinished = shops[0].update<&Shop::long_text>(9000);
  shops.deliver_ordered();
  shops.deliver_private();
  shops.fail(1);
  CHECK(unfinished.all(1s).at(1).lost());
}

TEST_CASE("a call that cannot be sent leaves nothing behind") {
  Fixture shops(1);
  shops.message_bytes_max = 8;
  CHECK(kind_of([&] { static_cast<void>(shops[0].update<&Shop::add>(1)); }) == ErrorKind::bad_argument);
  shops.message_bytes_max = 4096;
  const auto next = shops[0].update<&Shop::add>(2);
  shops.deliver_all();
  CHECK(next.get() == 2);
}

TEST_CASE("waiting ends when the poller delivers") {
  Fixture shops(2);
  const auto future = shops[0].update<&Shop::add>(5);
  std::uint64_t seen = 0;
  std::size_t results = 0;
  std::thread waiter([&] {
    seen = future.get();
    results = future.all().size();
    future.stable();
  });
  shops.deliver_all();
  shops.report_stable();
  waiter.join();
  CHECK(seen == 5);
  CHECK(results == 2);
}

TEST_CASE("a call is stable once every member has delivered it, at the latest with the next view") {
  Fixture shops(2);
  const auto first = shops[0].update<&Shop::add>(1);
  shops.deliver_all();
  shops.report_stable(0);  // all before it are everywhere
  CHECK_FALSE(first.is_stable());
  CHECK(kind_elsewhere([&] { first.stable(1ms); }) == ErrorKind::timed_out);
  shops.report_stable();
  first.stable();
  const auto second = shops[0].update<&Shop::add>(1);
  shops.deliver_all();
  CHECK_FALSE(second.is_stable());
  shops.fail(1);
  CHECK(second.is_stable());
}

TEST_CASE("the end of the group wakes those who wait, and whoever comes later learns it") {
  auto shops = std::make_unique<Fixture>(2);
  const auto answered = (*shops)[0].update<&Shop::add>(0);
  shops->deliver_all();
  const auto open = (*shops)[0].update<&Shop::add>(5);
  const auto half = (*shops)[0].update<&Shop::add>(6);
  std::swap(shops->ordered()[0], shops->ordered()[1]);
  shops->deliver_ordered();
  ErrorKind waited = ErrorKind::unsupported;
  std::thread waiter([&] { waited = kind_of([&] { open.delivered(); }); });
  shops->end(0, Error(ErrorKind::group_closed, "node 1 left"));
  waiter.join();
  CHECK(waited == ErrorKind::group_closed);
  CHECK(half.get() == 6);
  CHECK(kind_of([&] { static_cast<void>(half.all()); }) == ErrorKind::group_closed);
  CHECK(kind_of([&] { half.stable(); }) == ErrorKind::group_closed);
  CHECK(kind_of([&] { answered.stable(1s); }) == ErrorKind::group_closed);
  CHECK(kind_of([&] { static_cast<void>((*shops)[0].update<&Shop::add>(1)); }) == ErrorKind::group_closed);
  shops.reset();
  CHECK(half.get() == 6);
  CHECK(kind_of([&] { static_cast<void>(open.get()); }) == ErrorKind::group_closed);
}

namespace {

/// Reaches its own handle from within a method, as an application's object may.
struct Echo {
  std::vector<int> heard;
  static inline Replicated<Echo>* handle = nullptr;
  static inline std::vector<Future<int>> nested;
  static inline std::optional<ErrorKind> refused;

  int shout(int volume) {
    heard.push_back(volume);
    if (volume > 0 && handle != nullptr && nested.size() < 2) {
      nested.push_back(handle->update<&Echo::shout>(volume - 1));
      refused = kind_of([] { static_cast<void>(nested.back().get()); });
    }
    return volume;
  }
  std::size_t count() const { return heard.size(); }
  int count_from_within() { return static_cast<int>(handle->query<&Echo::count>()); }
  using Methods = Replicates<&Echo::shout, &Echo::count_from_within>;
};

}  // namespace

TEST_CASE("a method may call further ones, but not wait for them") {
  ReplicaFixture<Echo> echoes(1);
  Echo::handle = &echoes[0];
  Echo::nested.clear();
  const auto first = echoes[0].update<&Echo::shout>(2);
  const auto count = echoes[0].update<&Echo::count_from_within>();
  echoes.deliver_all();
  Echo::handle = nullptr;
  CHECK(first.get() == 2);
  CHECK(count.get() == 1);
  REQUIRE(Echo::nested.size() == 2);
  CHECK(Echo::nested[1].get() == 0);
  CHECK(Echo::refused == ErrorKind::would_block);
  CHECK(echoes[0].query<&Echo::count>() == 3);
}

TEST_CASE("a joiner starts from a member's state") {
  Fixture shops(1);
  static_cast<void>(shops[0].update<&Shop::add>(5));
  shops.deliver_all();
  std::ostringstream saved;
  REQUIRE(shops.core(0).save(saved).ok());
  const std::string text = saved.str();
  const std::span<const std::byte> state = std::as_bytes(std::span(text));
  shops.add(NodeId(1));
  REQUIRE(shops.core(1).load(state).ok());
  shops.install_view();
  const auto future = shops[1].update<&Shop::add>(2);
  shops.deliver_all();
  for (const auto& result : future.all()) CHECK(result.value() == 7);
  CHECK(shops[1].query<&Shop::history>() == std::vector<std::uint64_t>{5, 2});

  for (std::size_t length = 0; length < state.size(); ++length) {
    CHECK(shops.core(1).load(state.first(length)).error().kind() == ErrorKind::bad_input);
  }
}

TEST_CASE("a query of a replica whose state is on its way waits for it, and a handler is told so") {
  Fixture shops(2);
  const std::array nodes{NodeId(0), NodeId(1)};
  shops.begin_view(1, nodes, true);
  CHECK_FALSE(shops[1].is_loaded());
  CHECK_THROWS_WITH(shops[1].loaded(1ms), Contains("subgroup " + shops.members[1].channel->subgroup() + " did not come"));
  {
    const group::HandlerThreads::Entry entry(*shops.members[1].channel->handler_threads(), group::HandlerThreads::Kind::own);
    CHECK(kind_of([&] { static_cast<void>(shops[1].query<&Shop::total>()); }) == ErrorKind::would_block);
  }
  std::uint64_t total = 0;
  std::thread reader([&] { total = shops[1].query<&Shop::total>(); });
  static_cast<void>(shops[0].update<&Shop::add>(5));
  shops.deliver_all();
  shops.core(1).on_loaded();
  reader.join();
  CHECK(total == 5);
  shops[1].loaded();

  shops.begin_view(1, nodes, true);
  ErrorKind ended = ErrorKind::unsupported;
  std::thread waiter([&] { ended = kind_of([&] { shops[1].loaded(); }); });
  shops.end(1, Error(ErrorKind::group_closed, "over"));
  waiter.join();
  CHECK(ended == ErrorKind::group_closed);
}

TEST_CASE("methods of one name and type list are told apart from others by their digest") {
  CHECK(replicated::DigestOf<Replicates<&Shop::add, &Shop::reset>>::value() ==
        replicated::DigestOf<Replicates<&Shop::add, &Shop::reset>>::value());
  CHECK(replicated::DigestOf<Replicates<&Shop::add, &Shop::take>>::value() !=
        replicated::DigestOf<Replicates<&Shop::take, &Shop::add>>::value());
  CHECK(replicated::DigestOf<Replicates<&Shop::add>>::value() != replicated::DigestOf<Replicates<&Shop::take>>::value());
  CHECK(replicated::describe<&Shop::add>().substr(0, 4) == "add ");
}

TEST_CASE("updates are what is not const and queries what is") {
  STATIC_REQUIRE(UpdateOf<&Shop::add, Shop>);
  STATIC_REQUIRE_FALSE(UpdateOf<&Shop::total, Shop>);
  STATIC_REQUIRE(QueryOf<&Shop::total, Shop>);
  STATIC_REQUIRE_FALSE(QueryOf<&Shop::add, Shop>);
  STATIC_REQUIRE_FALSE(UpdateOf<&Shop::add, Echo>);
  STATIC_REQUIRE(ReplicatedMethodOf<&Shop::add, Shop>);
  STATIC_REQUIRE_FALSE(ReplicatedMethodOf<&Echo::count, Echo>);
}
