// One table of the program's without a group: its rows, the barrier, and what no correct member shows.
#include <catch2/catch.hpp>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include <spindrift/group/table_core.hpp>

#include "group_fixture.hpp"

using namespace spindrift;
using group::TableCore;
using Words = TableCore::Words;

namespace {

class Channel final : public group::TableChannel {
 public:
  void check_open() const override {
    if (closed) throw Exception(Error(ErrorKind::group_closed, "the group has ended"));
  }
  void refuse_handlers(const std::string&) const override {}
  void call_poller() noexcept override { ++calls; }
  std::atomic<bool> closed{false};
  std::atomic<int> calls{0};
};

View view_of(const std::vector<std::uint32_t>& nodes, std::uint64_t incarnation_of_last = 1) {
  View view;
  for (const std::uint32_t node : nodes) {
    view.members.emplace_back(node);
    view.incarnations.push_back(1);
  }
  view.incarnations.back() = incarnation_of_last;
  return view;
}

const group::TableForm numbers{"n", 16, TableRows::monotone, true};
const group::TableForm any{"a", 16, TableRows::latest, true};

Words row(std::uint64_t arrived, std::uint64_t passed) { return {0, arrived, passed, 0, 0}; }

/// Node 1 of the view's members.
struct Table {
  explicit Table(const std::vector<std::uint32_t>& nodes, const group::TableForm& form = any) : core("t", form, channel) {
    core.on_view(view_of(nodes), NodeId(1));
    static_cast<void>(core.on_look(true));
  }
  void set(std::uint64_t first, std::uint64_t second) {
    const std::array values{first, second};
    core.set(std::as_bytes(std::span(values)));
  }
  [[nodiscard]] std::vector<std::uint64_t> read(std::uint32_t node) const {
    std::vector<std::uint64_t> values(2);
    if (!core.read(NodeId(node), std::as_writable_bytes(std::span(values)))) values.clear();
    return values;
  }
  [[nodiscard]] std::optional<ErrorKind> barrier() {
    const auto thrown = thrown_by([&] { round = core.barrier(Duration{}); });
    return thrown ? std::optional(thrown->kind()) : std::nullopt;
  }
  Channel channel;
  TableCore core;
  std::uint64_t round = 0;
};

}  // namespace

TEST_CASE("an own row is to be written when it has changed, and again in a new view") {
  Table table({0, 1, 2});
  CHECK(table.core.take_own() == Words{0, 0, 0, 0, 0});  // others see that there is a table
  CHECK_FALSE(table.core.take_own());
  table.set(3, 4);
  CHECK(table.read(1) == std::vector<std::uint64_t>{3, 4});
  table.set(5, 6);
  CHECK(table.channel.calls == 2);
  CHECK(table.core.take_own() == Words{1, 0, 0, 5, 6});
  table.set(5, 6);
  CHECK(table.channel.calls == 2);
  CHECK_FALSE(table.core.take_own());
  table.core.on_view(view_of({0, 1}), NodeId(1));
  CHECK(table.core.take_own() == Words{1, 0, 0, 5, 6});
}

TEST_CASE("a row stays through views with the start of its node, and goes with it") {
  Table table({0, 1, 2});
  REQUIRE(table.core.on_row(NodeId(0), Words{1, 0, 0, 7, 8}));
  REQUIRE(table.core.on_row(NodeId(2), Words{1, 0, 0, 9, 9}));
  table.core.on_view(view_of({0, 1, 2}), NodeId(1));
  CHECK(table.read(0) == std::vector<std::uint64_t>{7, 8});
  CHECK(table.read(2) == std::vector<std::uint64_t>{9, 9});
  table.core.on_view(view_of({0, 1, 2}, 2), NodeId(1));
  CHECK(table.read(0) == std::vector<std::uint64_t>{7, 8});
  CHECK(table.read(2).empty());
  table.core.on_view(view_of({1, 2}, 2), NodeId(1));
  CHECK(table.read(0).empty());
}

TEST_CASE("rows are in rank order, without those that are not set") {
  Table table({2, 1, 0});
  std::vector<std::uint32_t> nodes;
  const auto list = [&] {
    nodes.clear();
    table.core.for_each([&](NodeId node, auto bytes) {
      CHECK(bytes.size() == 16);
      nodes.push_back(node.value());
    });
    return nodes;
  };
  CHECK(list().empty());
  REQUIRE(table.core.on_row(NodeId(0), Words{1, 0, 0, 7, 8}));
  CHECK(list() == std::vector<std::uint32_t>{0});
  table.set(1, 1);
  CHECK(list() == std::vector<std::uint32_t>{1, 0});
  REQUIRE(table.core.on_row(NodeId(2), Words{0, 0, 0, 0, 0}));
  CHECK(list() == std::vector<std::uint32_t>{1, 0});
}

TEST_CASE("the words of a monotone table never fall, neither the own ones nor another member's") {
  Table table({0, 1}, numbers);
  table.set(3, 3);
  table.set(3, 4);
  const auto thrown = thrown_by([&] { table.set(4, 3); });
  REQUIRE(thrown);
  CHECK(thrown->kind() == ErrorKind::bad_argument);
  CHECK(table.read(1) == std::vector<std::uint64_t>{3, 4});
  CHECK(table.core.on_row(NodeId(0), Words{1, 0, 0, 5, 5}));
  CHECK_FALSE(table.core.on_row(NodeId(0), Words{1, 0, 0, 4, 6}));
  CHECK(table.read(0) == std::vector<std::uint64_t>{5, 5});
  Table other({0, 1});
  CHECK(other.core.on_row(NodeId(0), Words{1, 0, 0, 5, 5}));
  CHECK(other.core.on_row(NodeId(0), Words{1, 0, 0, 4, 6}));
}

TEST_CASE("a row whose words about itself cannot be is nobody's") {
  Table table({0, 1});
  CHECK_FALSE(table.core.on_row(NodeId(0), Words{2, 0, 0, 0, 0}));
  CHECK_FALSE(table.core.on_row(NodeId(0), Words{0, 1, 2, 0, 0}));
  CHECK_FALSE(table.core.on_row(NodeId(0), Words{0, ~std::uint64_t{0}, 0, 0, 0}));
  CHECK(table.core.on_row(NodeId(0), row(3, 2)));
  CHECK_FALSE(table.core.on_row(NodeId(0), row(2, 2)));
  CHECK_FALSE(table.core.on_row(NodeId(0), row(3, 1)));
  CHECK(table.core.on_row(NodeId(0), Words{1, 3, 2, 0, 0}));
  CHECK_FALSE(table.core.on_row(NodeId(0), Words{0, 3, 2, 0, 0}));
  CHECK(table.core.on_row(NodeId(7), row(1, 1)));  // it is not in the view any more
}

TEST_CASE("a barrier's round is over when all members have come to it") {
  Table table({0, 1, 2});
  CHECK(table.barrier() == ErrorKind::timed_out);
  CHECK(table.core.take_own() == Words{0, 1, 0, 0, 0});
  REQUIRE(table.core.on_row(NodeId(0), row(1, 0)));
  CHECK(table.barrier() == ErrorKind::timed_out);  // the same round
  CHECK_FALSE(table.core.take_own());
  REQUIRE(table.core.on_row(NodeId(2), row(1, 0)));
  CHECK(table.core.take_own() == Words{0, 1, 1, 0, 0});
  CHECK(table.barrier() == ErrorKind::timed_out);  // the next one
  CHECK(table.core.take_own() == Words{0, 2, 1, 0, 0});
  REQUIRE(table.core.on_row(NodeId(0), row(2, 1)));
  REQUIRE(table.core.on_row(NodeId(2), row(2, 1)));
  CHECK(table.core.take_own() == Words{0, 2, 2, 0, 0});
}

TEST_CASE("a member comes to a barrier when the rows of all were looked at, and to that round in which they wait") {
  Channel channel;
  TableCore core("t", any, channel);
  core.on_view(view_of({0, 1}), NodeId(1));
  CHECK_FALSE(core.come());
  CHECK(thrown_by([&] { static_cast<void>(core.barrier(Duration{})); })->kind() == ErrorKind::timed_out);
  static_cast<void>(core.on_look(false));
  CHECK_FALSE(core.come());
  CHECK(core.take_own() == Words{0, 0, 0, 0, 0});
  REQUIRE(core.on_row(NodeId(0), row(6, 5)));
  std::uint64_t round = 0;
  std::thread waiter([&] { round = core.barrier({}); });
  static_cast<void>(core.on_look(true));
  waiter.join();
  CHECK(round == 6);
  CHECK(core.is_over(6));
  CHECK_FALSE(core.is_over(7));
}

TEST_CASE("who waits in vain at a table hears for whom, and why") {
  using Catch::Matchers::Contains;
  Table table({0, 1, 2, 3, 4});
  table.core.on_other_form(NodeId(0));
  table.core.on_other_form(NodeId(7));  // it is not in the view any more
  REQUIRE(table.core.on_row(NodeId(2), row(0, 0)));
  REQUIRE(table.core.on_row(NodeId(3), Words{1, 1, 0, 5, 5}));
  const auto barrier = thrown_by([&] { static_cast<void>(table.core.barrier(Duration{})); });
  REQUIRE(barrier);
  CHECK(barrier->kind() == ErrorKind::timed_out);
  CHECK_THAT(barrier->to_string(),
             Contains("at the barrier of table t: node 0 has another table of this name, node 2 has not come, node 4 has no "
                      "such table") &&
                 Contains("fix: run the same program at all members") && !Contains("node 3"));
  const auto rows = thrown_by([&] { table.core.wait([] { return false; }, Duration{}); });
  REQUIRE(rows);
  CHECK_THAT(rows->to_string(), Contains("node 0 has another table of this name, node 2 has not set its row, node 4 has no "
                                         "such table") &&
                                    !Contains("node 3"));
  Table alike({0, 1});
  CHECK_THAT(thrown_by([&] { static_cast<void>(alike.core.barrier(Duration{})); })->to_string(), !Contains("fix:"));
}

TEST_CASE("who goes is not waited for at the barrier, and who comes is") {
  Table table({0, 1, 2});
  CHECK(table.barrier() == ErrorKind::timed_out);
  REQUIRE(table.core.on_row(NodeId(0), row(1, 0)));
  table.core.on_view(view_of({0, 1, 3}), NodeId(1));
  CHECK(table.core.take_own() == Words{0, 1, 0, 0, 0});
  REQUIRE(table.core.on_row(NodeId(3), row(1, 0)));
  CHECK(table.core.take_own() == Words{0, 1, 1, 0, 0});
  Table left({0, 1, 2});
  CHECK(left.barrier() == ErrorKind::timed_out);
  REQUIRE(left.core.on_row(NodeId(0), row(1, 0)));
  left.core.on_view(view_of({0, 1}), NodeId(1));
  CHECK(left.core.take_own() == Words{0, 1, 1, 0, 0});
}

TEST_CASE("who comes to a running group begins with the round in which the others wait") {
  Table table({0, 1, 2});
  REQUIRE(table.core.on_row(NodeId(0), row(6, 5)));
  REQUIRE(table.core.on_row(NodeId(2), row(5, 5)));
  CHECK(table.barrier() == ErrorKind::timed_out);
  CHECK(table.core.take_own() == Words{0, 6, 5, 0, 0});
  REQUIRE(table.core.on_row(NodeId(2), row(6, 5)));
  CHECK(table.core.take_own() == Words{0, 6, 6, 0, 0});
  Table alone({1});
  CHECK_FALSE(alone.barrier());
  CHECK(alone.round == 1);
  CHECK_FALSE(alone.barrier());
  CHECK(alone.round == 2);
}

TEST_CASE("rounds that were over stay known when the one that told of them is gone, and are told on") {
  Table newcomer({0, 1, 2});
  REQUIRE(newcomer.core.on_row(NodeId(0), row(3, 3)));
  REQUIRE(newcomer.core.on_row(NodeId(2), row(0, 0)));
  CHECK(newcomer.core.take_own() == row(3, 3));  // before it comes
  newcomer.core.on_view(view_of({1, 2}), NodeId(1));
  CHECK(newcomer.core.take_own() == row(3, 3));
  CHECK(newcomer.core.come() == 4);
  CHECK_FALSE(newcomer.core.is_over(4));

  Table waits({0, 1, 2});
  REQUIRE(waits.core.come() == 1);
  REQUIRE(waits.core.on_row(NodeId(0), row(1, 1)));
  CHECK(waits.core.take_own() == row(1, 0));  // a round in which it waits is over when it has read that all have come
}

TEST_CASE("who has come since this member waits is not waited for in a round that is over for another") {
  Table table({0, 1, 2});
  CHECK(table.barrier() == ErrorKind::timed_out);
  table.core.on_view(view_of({0, 1, 2, 3}), NodeId(1));
  table.core.on_view(view_of({0, 1, 2, 3}), NodeId(1));
  REQUIRE(table.core.on_row(NodeId(2), row(1, 1)));
  CHECK(table.core.take_own() == Words{0, 1, 0, 0, 0});  // what node 0 had set is not here yet
  REQUIRE(table.core.on_row(NodeId(0), row(1, 0)));
  CHECK(table.core.take_own() == Words{0, 1, 1, 0, 0});
  CHECK(table.barrier() == ErrorKind::timed_out);
  REQUIRE(table.core.on_row(NodeId(2), row(2, 1)));
  REQUIRE(table.core.on_row(NodeId(0), row(2, 1)));
  CHECK(table.core.take_own() == Words{0, 2, 1, 0, 0});  // in the next round it is
}

TEST_CASE("who waits for rows looks whenever one has changed, and ends with the group") {
  Table table({0, 1});
  std::thread poller([&] {
    for (std::uint64_t value = 1; value <= 5; ++value) {
      static_cast<void>(table.core.on_row(NodeId(0), Words{1, 0, 0, value, value}));
      static_cast<void>(table.core.on_look(true));
    }
  });
  table.core.wait([&] { return table.read(0) == std::vector<std::uint64_t>{5, 5}; }, {});
  poller.join();
  CHECK(thrown_by([&] { table.core.wait([] { return false; }, std::chrono::milliseconds(1)); })->kind() ==
        ErrorKind::timed_out);
  std::thread ending([&] { table.core.on_end(Error(ErrorKind::no_majority, "gone")); });
  CHECK(thrown_by([&] { table.core.wait([] { return false; }, {}); })->kind() == ErrorKind::no_majority);
  ending.join();
  CHECK(thrown_by([&] { static_cast<void>(table.core.barrier({})); })->kind() == ErrorKind::no_majority);
  table.channel.closed = true;
  CHECK(thrown_by([&] { table.set(1, 1); })->kind() == ErrorKind::group_closed);
}

TEST_CASE("a table's handler is called when rows have changed, once for all, and at first for those that are there") {
  Table table({0, 1});
  REQUIRE(table.core.on_row(NodeId(0), Words{1, 0, 0, 1, 1}));
  CHECK(table.core.on_look(true) == nullptr);
  int called = 0;
  table.core.watch([&] { ++called; });
  CHECK(thrown_by([&] { table.core.watch([] {}); })->kind() == ErrorKind::bad_argument);
  const auto look = [&] {
    const auto* const handler = table.core.on_look(true);
    if (handler != nullptr) (*handler)();
    return called;
  };
  CHECK(look() == 1);
  CHECK(look() == 1);
  REQUIRE(table.core.on_row(NodeId(0), Words{1, 0, 0, 2, 2}));
  table.set(3, 3);
  CHECK(look() == 2);
  REQUIRE(table.core.on_row(NodeId(0), Words{1, 1, 0, 2, 2}));  // nothing that it shows
  CHECK(look() == 2);
  table.core.on_view(view_of({1}), NodeId(1));
  CHECK(look() == 3);
}
