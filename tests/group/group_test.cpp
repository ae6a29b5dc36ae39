// The public face, over shared memory and TCP: joining, sending from many threads, one order everywhere, a graceful leave.
#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <future>

#include <spindrift/core/config/without_file.hpp>

#include "group_fixture.hpp"

using namespace spindrift;

TEST_CASE("a group of one delivers to itself") {
  GroupFixture fixture;
  Group group(fixture.config(0, 1));
  Journal journal;
  group.subgroup("orders").on_delivery([&](auto batch) { journal.keep(batch); });
  group.subgroup("ticks").on_delivery([](auto) {});
  group.subgroup("orders").send("alone");
  group.leave();
  CHECK(journal.lines == std::vector<std::string>{"0:alone"});
}

TEST_CASE("groups to which nobody gave an id take the lowest ones that are free, and found or join one group") {
  GroupFixture fixture;
  const Config config = value_or_throw(config_without_file(
      "quick", {"orders"}, {{"SPINDRIFT/runtime_directory", fixture.directory()}}));
  auto first = std::make_unique<Group>(config);
  Group second(config);
  CHECK(first->self() == NodeId(0));
  CHECK(second.self() == NodeId(1));
  CHECK(second.view().members == std::vector{NodeId(0), NodeId(1)});
  second.subgroup("orders").on_delivery([](auto) {});
  first.reset();
  Group third(config);
  CHECK(third.self() == NodeId(0));
  CHECK(third.view().members == std::vector{NodeId(1), NodeId(0)});
  third.subgroup("orders").on_delivery([](auto) {});
}

TEST_CASE("groups to which nobody gave an id take one of the roster, and are told how to add one if none is left") {
  GroupFixture fixture;
  const Config config = value_or_throw(config_without_file(
      "few", {"orders"}, {{"SPINDRIFT/runtime_directory", fixture.directory()}, {"SPINDRIFT/members", "0, 1, 2"}}));
  const auto begin = [&] {
    auto group = std::make_unique<Group>(config);
    group->subgroup("orders").on_delivery([](auto) {});
    return group;
  };
  const auto first = begin();
  auto second = begin();
  const auto change = [&](RosterChange::Kind kind, std::uint32_t node) {
    static_cast<void>(first->change_roster({{kind, NodeId(node), ""}}, std::chrono::seconds(20)));
  };
  change(RosterChange::Kind::remove, 1);
  second->wait();
  second.reset();
  const auto third = begin();
  CHECK(third->self() == NodeId(2));
  CHECK_THROWS_WITH(begin(), Catch::Contains("no id is left: each of the 2 ids of the group has a process on this host") &&
                                 Catch::Contains("spindrift group add 1 --group few"));
  change(RosterChange::Kind::add, 1);
  const auto fourth = begin();
  CHECK(fourth->self() == NodeId(1));
  CHECK_THROWS_WITH(begin(), Catch::Contains("spindrift group add 3 --group few"));
  change(RosterChange::Kind::add, 40);
  CHECK(begin()->self() == NodeId(40));  // which its configuration does not name
}

TEST_CASE("a program's log goes where its configuration says, and names each key without effect once") {
  GroupFixture fixture;
  const std::string path = fixture.directory() + "/log";
  Group group(fixture.config(0, 1, "log_level = warn,group=info\nlog_file = " + path + "\n[PERS]\nreset = true\n"));
  log::info(log::Room::group, "of a program");
  log::info(log::Room::core, "too low");
  group.subgroup("orders").on_delivery([](auto) {});
  group.leave();
  value_or_throw(log::configure(log::Level::warn, ""));
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  CHECK_THAT(text, Catch::Contains("of a program") && !Catch::Contains("too low"));
  const std::string warning = "has no effect in this version\" place=test.cfg:13 key=\"[PERS] reset\" fix=\"remove it\"";
  CHECK_THAT(text, Catch::Contains(warning));
  CHECK(text.find(warning) == text.rfind(warning));
}

TEST_CASE("everything is counted, however many subgroups with large messages there are") {
  GroupFixture fixture;
  std::string text = "[DERECHO]\nlocal_id = 0\n[SPINDRIFT]\ngroup_name = test\nmembers = 0\nfabric = shm\n";
  text += "runtime_directory = " + fixture.directory() + "\n[SUBGROUP/DEFAULT]\nbulk_ring_bytes = 1 MiB\n";
  text += "[LAYOUT]\njson_layout = '[";
  constexpr unsigned subgroups = 40;
  for (unsigned i = 0; i < subgroups; ++i)
    text += std::string(i == 0 ? "" : ",") + "{\"name\":\"s" + std::to_string(i) + "\",\"members\":[0]}";
  Group group(value_or_throw(Config::parse(text + "]'\n", "test.cfg")));
  unsigned counted = 0;
  for (const CounterValue& counter : group.counters()) counted += counter.name.ends_with(".large_sent") ? 1 : 0;
  CHECK(counted == subgroups);
  group.leave();
}

TEST_CASE("members over virtual queue pairs count how each of their links began") {
  constexpr unsigned members = 4;
  GroupFixture fixture("vq:tcp");
  auto groups = fixture.join(members);
  std::uint64_t called = 0;
  std::uint64_t called_by = 0;
  for (const auto& group : groups) {
    std::uint64_t links = 0;
    for (const CounterValue& counter : group->counters()) {
      if (!counter.name.starts_with("vq.links_")) continue;
      links += counter.value;
      (counter.name == "vq.links_called_by" ? called_by : called) += counter.value;
    }
    CHECK(links >= members - 1);
  }
  CHECK(called >= members * (members - 1) / 2);
  CHECK(called_by >= members * (members - 1) / 2);
  leave_all(groups);
}

TEST_CASE("all members deliver the same messages in the same order, and everything sent before the end") {
  constexpr unsigned members = 3, threads = 2, messages = 2000;
  GroupFixture fixture(
      GENERATE("shm", "tcp", "shm+tcp", "ofi:tcp", "ofi:net", "vq:tcp", "vq:net", "shm+ofi:tcp", "shm+vq:tcp"));
  auto groups = fixture.join(members);
  std::vector<Journal> orders(members), ticks(members);
  for (unsigned i = 0; i < members; ++i) {
    groups[i]->subgroup("orders").on_delivery([&orders, i](auto batch) { orders[i].keep(batch); });
    groups[i]->subgroup("ticks").on_delivery([&ticks, i](auto batch) { ticks[i].keep(batch); });
  }
  std::vector<std::thread> senders;
  for (unsigned i = 0; i < members; ++i) {
    for (unsigned t = 0; t < threads; ++t) {
      senders.emplace_back([&, i, t] {
        for (unsigned k = 0; k < messages; ++k) {
          groups[i]->subgroup("orders").send("o" + std::to_string(t) + "." + std::to_string(k));
          if (k % 4 == 0) groups[i]->subgroup("ticks").send("t" + std::to_string(t) + "." + std::to_string(k));
        }
      });
    }
  }
  for (std::thread& sender : senders) sender.join();
  for (unsigned i = 0; i < members; ++i) {
    orders[i].await(members * threads * messages);
    ticks[i].await(members * threads * messages / 4);
  }
  leave_all(groups);

  CHECK(orders[0].lines.size() == members * threads * messages);
  CHECK(orders[1].lines == orders[0].lines);
  CHECK(orders[2].lines == orders[0].lines);
  for (Journal& journal : ticks) std::sort(journal.lines.begin(), journal.lines.end());
  CHECK(ticks[0].lines.size() == members * threads * messages / 4);
  CHECK(ticks[1].lines == ticks[0].lines);
  CHECK(ticks[2].lines == ticks[0].lines);
}

TEST_CASE("one silent member holds nobody up") {
  GroupFixture fixture;
  auto groups = fixture.join(3);
  std::atomic<unsigned> delivered{0};
  for (auto& group : groups) {
    group->subgroup("orders").on_delivery([&](auto batch) { delivered += static_cast<unsigned>(batch.size()); });
    group->subgroup("ticks").on_delivery([](auto) {});
  }
  for (int k = 0; k < 500; ++k) groups[1]->subgroup("orders").send("only one speaks");
  groups[1]->leave();
  CHECK(delivered == 3 * 500);
}

TEST_CASE("messages wait for their handler, and are not lost") {
  GroupFixture fixture;
  auto groups = fixture.join(2);
  for (int k = 0; k < 10; ++k) groups[0]->subgroup("orders").send(std::to_string(k));
  std::vector<Journal> journals(2);
  for (unsigned i = 0; i < 2; ++i) {
    groups[i]->subgroup("orders").on_delivery([&journals, i](auto batch) { journals[i].keep(batch); });
    groups[i]->subgroup("ticks").on_delivery([](auto) {});
  }
  for (const Journal& journal : journals) journal.await(10);
  leave_all(groups);
  CHECK(journals[0].lines.size() == 10);
  CHECK(journals[1].lines == journals[0].lines);
}

TEST_CASE("threads that wait for space all go on, though who has the turn sends no more") {
  GroupFixture fixture;
  Group group(fixture.config(0, 1, "[SUBGROUP/DEFAULT]\nwindow_size = 2\n"));
  group.subgroup("ticks").on_delivery([](auto) {});
  Subgroup& orders = group.subgroup("orders");
  std::atomic<unsigned> sent{0};
  std::vector<std::thread> senders;
  for (unsigned i = 0; i < 100; ++i) {
    senders.emplace_back([&] {
      try {
        orders.send("one each");
        ++sent;
      } catch (const Exception&) {
        return;  // it waited until the group ended
      }
    });
  }
  while (sent < 2) std::this_thread::yield();  // nothing is delivered yet: the others wait
  std::atomic<unsigned> delivered{0};
  orders.on_delivery([&](auto batch) { delivered += static_cast<unsigned>(batch.size()); });
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (delivered < senders.size() && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  CHECK(delivered == senders.size());
  group.leave();
  for (std::thread& sender : senders) sender.join();
}

TEST_CASE("a builder that throws sends nothing and harms nobody") {
  GroupFixture fixture;
  Group group(fixture.config(0, 1));
  Journal journal;
  group.subgroup("orders").on_delivery([&](auto batch) { journal.keep(batch); });
  group.subgroup("ticks").on_delivery([](auto) {});
  const auto change_mind = [](std::span<std::byte>) { throw std::runtime_error("changed my mind"); };
  CHECK_THROWS_AS(group.subgroup("orders").send(8, change_mind), std::runtime_error);
  group.subgroup("orders").send("after");
  group.leave();
  CHECK(journal.lines == std::vector<std::string>{"0:after"});
}

TEST_CASE("a send that may wait for a time sends nothing where there is no room until then") {
  GroupFixture fixture;
  Group group(fixture.config(0, 1, "[SUBGROUP/DEFAULT]\nwindow_size = 2\n"));
  Subgroup& orders = group.subgroup("orders");
  std::promise<void> go_on;
  Journal journal;
  orders.on_delivery([&, may_go = go_on.get_future().share()](std::span<const Delivery> batch) {
    may_go.wait();
    journal.keep(batch);
  });
  group.subgroup("ticks").on_delivery([](auto) {});
  const auto fill = [](std::span<std::byte> to) { std::ranges::fill(to, std::byte{'a'}); };
  std::size_t sent = 0;
  while (orders.send_within(std::chrono::milliseconds(5), 1, fill)) ++sent;
  CHECK(sent >= 2);
  std::thread handler([&] { go_on.set_value(); });
  CHECK(orders.send_within(std::chrono::hours(1), 1, fill));
  handler.join();
  group.leave();
  CHECK(journal.lines.size() == sent + 1);
}

TEST_CASE("a handler may send, and is told where it would have to wait") {
  GroupFixture fixture;
  Group group(fixture.config(0, 1, "[SUBGROUP/DEFAULT]\nwindow_size = 2\n"));
  Subgroup& orders = group.subgroup("orders");
  std::promise<bool> refused;
  orders.on_delivery([&](std::span<const Delivery> batch) {
    if (batch.front().payload.size() != 5) return;
    try {
      for (int k = 0; k < 3; ++k) orders.send("again!");
      refused.set_value(false);
    } catch (const Exception& thrown) {
      refused.set_value(thrown.error().kind() == ErrorKind::would_block);
    }
  });
  group.subgroup("ticks").on_delivery([](auto) {});
  orders.send("first");
  CHECK(refused.get_future().get());
  group.leave();
}
