// The program's tables among real members, over shared memory and sockets.
#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include <spindrift/group/table.hpp>

#include "group_fixture.hpp"

using namespace spindrift;
using namespace std::chrono_literals;

namespace {

constexpr Duration patience = 60s;  // for what comes in any case

/// Larger than a line.
struct Load {
  std::array<std::uint64_t, 20> words{};
  [[nodiscard]] static Load of(std::uint64_t value) {
    Load load;
    load.words.fill(value);
    return load;
  }
  [[nodiscard]] bool whole() const {
    return std::all_of(words.begin(), words.end(), [&](std::uint64_t word) { return word == words[0]; });
  }
};

using Count = std::uint64_t;

/// So many rows with this value, and no others.
template <class T>
auto all_have(std::size_t count, T value) {
  return [=](const auto& rows) {
    const auto has = [&](const auto& row) { return row.value == value; };
    return rows.size() == count && std::all_of(rows.begin(), rows.end(), has);
  };
}

void take_everything(Group& group) {
  for (const char* name : {"orders", "ticks"}) group.subgroup(name).on_delivery([](auto) {});
}

}  // namespace

TEST_CASE("every member sees what each has set last in its row, of several words never a mixture") {
  GroupFixture fixture(GENERATE(std::string("shm"), std::string("tcp")));
  auto groups = fixture.join(3);
  std::vector<ProgramTable<Load>> tables;
  for (auto& group : groups) tables.push_back(group->table<Load>("load"));
  CHECK(tables[0].rows().empty());
  CHECK_FALSE(tables[0].row(NodeId(1)));
  constexpr std::uint64_t last = 3000;
  std::atomic<bool> whole{true};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    tables[i].watch([&](const auto& rows) {
      for (const auto& row : rows) {
        if (!row.value.whole()) whole = false;
      }
    });
    threads.emplace_back([&, i] {
      for (std::uint64_t value = 1; value <= last; ++value) tables[i].set(Load::of(value));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (auto& table : tables) {
    table.wait([](const auto& rows) {
      const auto through = [](const auto& row) { return row.value.words[0] == last; };
      return rows.size() == 3 && std::all_of(rows.begin(), rows.end(), through);
    }, patience);
    for (std::uint32_t node = 0; node < 3; ++node) {
      CHECK(table.rows()[node].node == NodeId(node));
      CHECK(table.row(NodeId(node))->whole());
    }
  }
  CHECK(whole);
  for (auto& group : groups) take_everything(*group);
  leave_all(groups);
}

TEST_CASE("rows stay through changes of the view, a newcomer sees all, and who goes takes its row along") {
  GroupFixture fixture(GENERATE(std::string("shm"), std::string("tcp")));
  auto groups = fixture.join(3);
  for (auto& group : groups) take_everything(*group);
  std::vector<ProgramTable<Count>> tables;
  for (auto& group : groups) tables.push_back(group->table<Count>("count"));
  for (auto& table : tables) table.set(7);
  for (auto& table : tables) table.wait(all_have(3, Count{7}), patience);
  std::atomic<bool> stayed{true};
  tables[0].watch([&](const auto& rows) {
    const auto found = std::find_if(rows.begin(), rows.end(), [](const auto& row) { return row.node == NodeId(1); });
    if (found == rows.end() || found->value != 7) stayed = false;
  });
  groups[2]->leave();
  tables[0].wait(all_have(2, Count{7}), patience);
  CHECK_FALSE(tables[0].row(NodeId(2)));
  CHECK(thrown_by([&] { tables[2].set(8); })->kind() == ErrorKind::group_closed);
  groups[2].reset();

  Group again(fixture.config(2, 3));
  take_everything(again);
  auto newcomer = again.table<Count>("count");
  CHECK(newcomer.row(NodeId(0)) == 7U);  // as soon as there is a table
  CHECK(newcomer.row(NodeId(1)) == 7U);
  CHECK_FALSE(newcomer.row(NodeId(2)));
  CHECK_FALSE(tables[0].row(NodeId(2)));
  newcomer.set(1);
  tables[0].wait([](const auto& rows) { return rows.size() == 3 && rows.back().value == 1; }, patience);
  CHECK(tables[0].rows().back().node == NodeId(2));
  CHECK(stayed);
  again.leave();
  groups.pop_back();
  leave_all(groups);
}

TEST_CASE("members make tables in any order and at any time, and each finds its own by its name") {
  GroupFixture fixture;
  auto groups = fixture.join(2);
  for (auto& group : groups) take_everything(*group);
  auto first_a = groups[0]->table<Count>("a");
  auto first_b = groups[0]->table<Load>("b");
  first_a.set(1);
  first_b.set(Load::of(2));
  auto second_b = groups[1]->table<Load>("b");
  second_b.wait([](const auto& rows) { return rows.size() == 1 && rows[0].value.words[7] == 2; }, patience);
  second_b.set(Load::of(3));
  auto second_a = groups[1]->table<Count>("a");
  second_a.wait(all_have(1, Count{1}), patience);
  second_a.set(1);
  first_a.wait(all_have(2, Count{1}), patience);
  first_b.wait([](const auto& rows) { return rows.size() == 2 && rows[1].value.whole() && rows[1].value.words[0] == 3; },
               patience);
  auto same = groups[0]->table<Count>("a");  // the same table again
  same.set(5);
  CHECK(first_a.row(NodeId(0)) == 5U);

  auto other_type = groups[1]->table<Load>("c");  // another table than node 0's of that name
  auto counts = groups[0]->table<Count>("c", TableRows::monotone);
  counts.set(4);
  other_type.set(Load::of(4));
  first_a.set(6);
  second_a.wait([](const auto& rows) { return rows[0].value == 6; }, patience);  // what was set before is here, too
  CHECK(other_type.rows().size() == 1);
  const auto in_vain = thrown_by([&] { static_cast<void>(other_type.barrier(1ms)); });
  REQUIRE(in_vain);
  CHECK_THAT(in_vain->to_string(), Catch::Contains("node 0 has another table of this name"));
  leave_all(groups);
}

TEST_CASE("what a table cannot be is refused by a sentence with its fix") {
  GroupFixture fixture;
  Group group(fixture.config(0, 1, "table_bytes = 1 KiB\njoin_timeout_ms = 20000\n"));
  take_everything(group);
  auto count = group.table<Count>("count", TableRows::monotone);
  count.set(3);
  const auto refused = [](auto&& call, ErrorKind kind, const std::string& words) {
    const auto thrown = thrown_by(call);
    REQUIRE(thrown);
    CHECK(thrown->kind() == kind);
    CHECK_THAT(thrown->to_string(), Catch::Contains(words) && Catch::Contains("fix: "));
  };
  refused([&] { count.set(2); }, ErrorKind::bad_argument, "a word of the monotone table count was to become smaller");
  refused([&] { static_cast<void>(group.table<Count>("")); }, ErrorKind::bad_argument, "a table needs a name");
  refused([&] { static_cast<void>(group.table<Count>("count")); }, ErrorKind::bad_argument, "another rule");
  refused([&] { static_cast<void>(group.table<Load>("count")); }, ErrorKind::bad_argument, "rows of another type");
  refused([&] { static_cast<void>(group.table<double>("d", TableRows::monotone)); }, ErrorKind::bad_argument,
          "not numbers of 64 bits alone");
  static_cast<void>(group.table<Load>("large"));
  refused([&] { static_cast<void>(group.table<Load>("larger")); }, ErrorKind::resource, "raise [SPINDRIFT] table_bytes");
  CHECK(count.row(NodeId(0)) == 3U);
  group.leave();
  CHECK(thrown_by([&] { static_cast<void>(group.table<Count>("late")); })->kind() == ErrorKind::group_closed);
}

TEST_CASE("no member passes a barrier before all have come, round after round") {
  GroupFixture fixture(GENERATE(std::string("shm"), std::string("tcp")));
  auto groups = fixture.join(3);
  for (auto& group : groups) take_everything(*group);
  constexpr std::uint64_t rounds = 200;
  std::array<std::atomic<std::uint64_t>, 3> at{};
  std::atomic<bool> early{false};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    threads.emplace_back([&, i] {
      auto table = groups[i]->table<Count>("phase");
      for (std::uint64_t round = 1; round <= rounds; ++round) {
        at[i] = round;
        if (table.barrier(patience) != round) early = true;
        for (const auto& other : at) {
          if (other < round) early = true;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_FALSE(early);
  leave_all(groups);
}

TEST_CASE("a barrier goes on without who leaves or dies, and with who comes") {
  GroupFixture fixture(GENERATE(std::string("shm"), std::string("tcp")));
  auto groups = fixture.join(3);
  for (auto& group : groups) take_everything(*group);
  std::vector<ProgramTable<Count>> tables;
  for (auto& group : groups) tables.push_back(group->table<Count>("phase"));
  std::array<std::uint64_t, 2> rounds{};
  const auto meet = [&](auto&& meanwhile) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 2; ++i) threads.emplace_back([&, i] { rounds[i] = tables[i].barrier(patience); });
    meanwhile();
    for (std::thread& thread : threads) thread.join();
  };
  CHECK(thrown_by([&] { static_cast<void>(tables[2].barrier(1ms)); })->kind() == ErrorKind::timed_out);
  meet([] {});
  CHECK(rounds == std::array<std::uint64_t, 2>{1, 1});
  meet([&] { groups[2]->leave(); });
  CHECK(rounds == std::array<std::uint64_t, 2>{2, 2});
  groups[2].reset();
  Group again(fixture.config(2, 3));
  take_everything(again);
  meet([&] { CHECK(again.table<Count>("phase").barrier(patience) == 3); });
  CHECK(rounds == std::array<std::uint64_t, 2>{3, 3});
  again.leave();
  groups.pop_back();
  std::optional<Error> ended;
  std::thread waiting([&] { ended = thrown_by([&] { static_cast<void>(tables[0].barrier(patience)); }); });
  while (!thrown_by([&] { tables[1].wait([](const auto&) { return false; }, 1ms); })) std::this_thread::yield();
  groups[0]->leave();
  waiting.join();
  CHECK(ended->kind() == ErrorKind::group_closed);
  groups[1]->leave();
}

TEST_CASE("a handler may set rows, and may not wait for them, and what it throws ends its member") {
  GroupFixture fixture;
  auto groups = fixture.join(2);
  for (auto& group : groups) take_everything(*group);
  auto first = groups[0]->table<Count>("ping");
  auto second = groups[1]->table<Count>("ping");
  std::mutex mutex;
  std::optional<Error> waited, met;
  second.watch([&](const auto& rows) {
    const std::lock_guard lock(mutex);
    if (!met) met = thrown_by([&] { static_cast<void>(second.barrier()); });
    if (!waited) waited = thrown_by([&] { second.wait([](const auto&) { return false; }); });
    static_cast<void>(groups[1]->table<Count>("made in a handler"));
    if (!rows.empty() && rows[0].value > 0) second.set(rows[0].value);
  });
  CHECK(thrown_by([&] { second.watch([](const auto&) {}); })->kind() == ErrorKind::bad_argument);
  for (Count value = 1; value <= 50; ++value) {
    first.set(value);
    first.wait(all_have(2, value), patience);
  }
  {
    const std::lock_guard lock(mutex);
    REQUIRE(waited);
    CHECK(waited->kind() == ErrorKind::would_block);
    REQUIRE(met);
    CHECK(met->kind() == ErrorKind::would_block);
  }
  first.watch([](const auto&) { throw std::runtime_error("enough"); });
  CHECK(thrown_by([&] { first.wait([](const auto&) { return false; }); })->kind() == ErrorKind::handler_failed);
  CHECK(thrown_by([&] { groups[0]->leave(); })->kind() == ErrorKind::handler_failed);
  groups.clear();
}
