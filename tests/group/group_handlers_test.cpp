// Handlers with a thread of their own: whom they hold up, and whom not.
#include <catch2/catch.hpp>

#include <chrono>
#include <future>
#include <memory>

#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/core/runtime_path.hpp>
#include <spindrift/group/roster_service.hpp>
#include <spindrift/group/status.hpp>

#include "group_fixture.hpp"

using namespace spindrift;
using Catch::Matchers::Contains;

namespace {

std::uint64_t counter_of(const Group& group, const std::string& name) {
  for (const CounterValue& counter : group.counters()) {
    if (counter.name == name) return counter.value;
  }
  FAIL("no counter " << name);
  return 0;
}

/// Returns once the handler of "orders" at the first, on its own thread, has a message of the other, and waits.
void occupy(Group& busy, Group& other, std::promise<void>& release) {
  const auto begun = std::make_shared<std::promise<void>>();  // the handler may be in it still when this returns
  busy.subgroup("orders").on_delivery(
      [begun, &release](std::span<const Delivery>) {
        begun->set_value();
        release.get_future().wait();
      },
      HandlerThread::own);
  other.subgroup("orders").on_delivery([](auto) {});
  other.subgroup("orders").send("one");
  begun->get_future().wait();
}

}  // namespace

TEST_CASE("a handler on its own thread holds up its subgroup alone") {
  GroupFixture fixture;
  auto groups = fixture.join(2);
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  Journal slow;
  Journal quick;
  groups[0]->subgroup("orders").on_delivery(
      [&](std::span<const Delivery> batch) {
        released.wait();
        slow.keep(batch);
      },
      HandlerThread::own);
  groups[0]->subgroup("ticks").on_delivery([&](auto batch) { quick.keep(batch); });
  groups[1]->subgroup("orders").on_delivery([](auto) {});
  groups[1]->subgroup("ticks").on_delivery([](auto) {});
  for (int i = 0; i < 500; ++i) groups[1]->subgroup("orders").send(std::to_string(i));
  for (int i = 0; i < 500; ++i) groups[1]->subgroup("ticks").send("tick");
  quick.await(500);  // on a shared thread, they would wait for the release
  CHECK(slow.count == 0);
  release.set_value();
  slow.await(500);
  for (std::size_t i = 0; i < slow.lines.size(); ++i) CHECK(slow.lines[i] == "1:" + std::to_string(i));
  leave_all(groups);
}

TEST_CASE("a member that slows the others' sends down is named in their status, and its time is counted") {
  GroupFixture fixture;
  auto groups = fixture.join(3);
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  for (auto& group : groups) {
    const bool slow = group->self() == NodeId(2);
    group->subgroup("orders").on_delivery(
        [slow, &released](auto) {
          if (slow) released.wait();
        },
        HandlerThread::own);
    group->subgroup("ticks").on_delivery([](auto) {});
  }
  const std::string status = fixture.directory() + "/test/status/0.status";
  const auto named = [&status] { return value_or_throw(group::read_status(status)).waits.sends; };
  CHECK(named().empty());
  std::atomic<bool> over{false};
  std::thread sending([&] {
    while (!over) groups[0]->subgroup("orders").send("as many as there is space for");
  });
  while (named() != "node 2, whose application takes least of subgroup orders")
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(counter_of(*groups[0], "subgroup.orders.lag_messages_of_2") > 0);
  CHECK(counter_of(*groups[0], "subgroup.orders.lag_bytes_of_2") >
        10 * counter_of(*groups[0], "subgroup.orders.lag_messages_of_2"));
  CHECK(counter_of(*groups[0], "subgroup.orders.ring_used_percent") > 50);
  CHECK(counter_of(*groups[0], "subgroup.ticks.ring_used_percent") == 0);
  std::uint64_t in_subgroup = 0, for_two = 0, for_others = 0;
  for (const CounterValue& counter : groups[0]->counters()) {
    if (counter.name == "subgroup.orders.send_wait_ms") in_subgroup = counter.value;
    if (counter.name == "sends.wait_ms_for.2") for_two = counter.value;
    if (counter.name == "sends.wait_ms_for.0" || counter.name == "sends.wait_ms_for.1") for_others += counter.value;
    if (counter.name == "subgroup.ticks.send_wait_ms") CHECK(counter.value == 0);
  }
  CHECK(for_two > 100);  // of a second, on a machine with other work
  CHECK(for_two > 2 * for_others);
  CHECK(in_subgroup >= for_two);
  over = true;
  release.set_value();
  sending.join();
  while (!named().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  while (counter_of(*groups[0], "subgroup.orders.lag_messages_of_2") > 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(counter_of(*groups[0], "subgroup.orders.lag_bytes_of_2") == 0);
  while (counter_of(*groups[0], "subgroup.orders.ring_used_percent") > 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  leave_all(groups);
}

TEST_CASE("a view does not end, and nobody leaves, before a handler on its own thread is through") {
  using namespace std::chrono_literals;
  GroupFixture fixture;
  std::promise<void> begun;
  std::promise<void> release;
  std::promise<void> ended;
  std::atomic<bool> through{false};
  GroupOptions options;
  options.on_view = [&](const NewView& news) {
    if (news.left == std::vector{NodeId(2)}) ended.set_value();
  };
  std::vector<std::unique_ptr<Group>> others;
  std::thread joining([&] { others = fixture.join_from(1, 3); });
  Group busy(fixture.config(0, 3), options);
  joining.join();
  busy.subgroup("orders").on_delivery(
      [&](std::span<const Delivery>) {
        begun.set_value();
        release.get_future().wait();
        through = true;
      },
      HandlerThread::own);
  busy.subgroup("ticks").on_delivery([](auto) {});
  for (auto& group : others) {
    for (const std::string& name : group->subgroup_names()) group->subgroup(name).on_delivery([](auto) {});
  }
  others[1]->subgroup("orders").send("one");
  begun.get_future().wait();
  std::thread leaver([&] { others[1]->leave(); });
  // That nothing happens has no event: on a busy machine a view that ends too early may go unnoticed, never the other way.
  CHECK(ended.get_future().wait_for(300ms) == std::future_status::timeout);
  release.set_value();
  leaver.join();
  busy.leave();
  CHECK(through);
  others[0]->leave();
}

TEST_CASE("a handler on its own thread may take longer than silence may last: members and a newcomer wait for it") {
  using namespace std::chrono_literals;
  GroupFixture fixture(GENERATE("shm", "tcp"));
  const std::string extra = "founders = 0, 1\nsuspect_after_ms = 300\njoin_timeout_ms = 60000\n";
  std::promise<void> release;
  std::unique_ptr<Group> other;
  std::thread joining([&] { other = std::make_unique<Group>(fixture.config(1, 3, extra)); });
  Group busy(fixture.config(0, 3, extra));
  joining.join();
  occupy(busy, *other, release);
  auto newcomer = std::async(std::launch::async, [&] { return std::make_unique<Group>(fixture.config(2, 3, extra)); });
  // That nobody is removed meanwhile has no event: on a busy machine it may go unnoticed, never the other way.
  CHECK(newcomer.wait_for(1500ms) == std::future_status::timeout);
  CHECK(busy.open());
  release.set_value();
  auto third = newcomer.get();
  const std::vector<NodeId> everybody{NodeId(0), NodeId(1), NodeId(2)};
  CHECK(third->view().members == everybody);
  CHECK(busy.view().members == everybody);
  for (Group* each : {third.get(), other.get(), &busy}) each->leave();
}

TEST_CASE("who has a log adopted while a view is ending is answered in the next one") {
  GroupFixture fixture;
  std::promise<void> release;
  std::unique_ptr<Group> other;
  std::thread joining([&] { other = std::make_unique<Group>(fixture.config(1, 2)); });
  Group busy(fixture.config(0, 2));
  joining.join();
  occupy(busy, *other, release);
  std::thread leaver([&] { other->leave(); });
  const std::string status = group_directory(fixture.directory(), "test") + "/" + status_file_name(NodeId(0));
  while (value_or_throw(group::read_status(status)).state == "active") std::this_thread::yield();
  const auto runtime = value_or_throw(GuardedDirectory::open(fixture.directory(), "test"));
  auto adopting = std::async(std::launch::async, [&] {
    group::RosterCall call{{}, std::chrono::seconds(20)};
    call.adopt = group::LogAdoption{"nothing", NodeId(0), true};
    return group::change_roster_through(runtime, NodeId(0), call);
  });
  // That it waits has no event: on a busy machine a call that is refused too early may go unnoticed, never the other way.
  CHECK(adopting.wait_for(std::chrono::milliseconds(300)) == std::future_status::timeout);
  release.set_value();
  CHECK(adopting.get().error().message() == "the group has no subgroup nothing");
  leaver.join();
  busy.leave();
}

TEST_CASE("a member whose handler is stuck while a view is to end ends by itself and says which, and the others go on") {
  GroupFixture fixture;
  std::promise<void> begun;
  std::promise<void> release;
  const std::string extra = "join_timeout_ms = 20000\nhandler_stuck_after_ms = 200\n";
  auto groups = fixture.join_from(0, 4, extra);
  groups[0]->subgroup("orders").on_delivery(
      [&](std::span<const Delivery>) {
        begun.set_value();
        release.get_future().wait();
      },
      HandlerThread::own);
  for (unsigned i = 1; i < 4; ++i) groups[i]->subgroup("orders").on_delivery([](auto) {});
  for (auto& group : groups) group->subgroup("ticks").on_delivery([](auto) {});
  groups[1]->subgroup("orders").send("one");
  begun.get_future().wait();
  groups[2]->leave();  // which is over when the one that is stuck has gone
  try {
    groups[0]->wait();
    FAIL("the group goes on");
  } catch (const Exception& failure) {
    CHECK(failure.error().kind() == ErrorKind::handler_failed);
    CHECK_THAT(failure.what(), Contains("orders") && Contains("handler_stuck_after_ms"));
  }
  release.set_value();
  groups[0].reset();
  groups[1]->leave();
  groups[3]->leave();
}

TEST_CASE("a member that nobody is to wait for ends when its handler is behind, names the subgroup, and the others go on") {
  GroupFixture fixture;
  std::promise<void> begun;
  std::promise<void> release;
  auto groups = fixture.join_from(0, 3, "join_timeout_ms = 20000\nlagging_member = remove\nlagging_after_ms = 200\n");
  groups[0]->subgroup("orders").on_delivery(
      [&, first = true](std::span<const Delivery>) mutable {
        if (!std::exchange(first, false)) return;
        begun.set_value();
        release.get_future().wait();
      },
      HandlerThread::own);
  for (unsigned i = 1; i < 3; ++i) groups[i]->subgroup("orders").on_delivery([](auto) {});
  for (auto& group : groups) group->subgroup("ticks").on_delivery([](auto) {});
  groups[1]->subgroup("orders").send("one");
  begun.get_future().wait();
  groups[1]->subgroup("orders").send("two");  // which waits for the handler
  try {
    groups[0]->wait();
    FAIL("the group goes on");
  } catch (const Exception& failure) {
    CHECK(failure.error().kind() == ErrorKind::lagging);
    CHECK_THAT(failure.what(), Contains("subgroup orders") && Contains("lagging_after_ms") && Contains("lagging_member"));
  }
  release.set_value();
  groups[0].reset();
  groups[1]->leave();
  groups[2]->leave();
}

TEST_CASE("what a handler throws on its own thread ends its member, with its words everywhere") {
  GroupFixture fixture;
  auto groups = fixture.join(2);
  groups[1]->subgroup("ticks").on_delivery([](auto) {});
  groups[1]->subgroup("orders").on_delivery([](auto) {});
  groups[0]->subgroup("ticks").on_delivery([](auto) {});
  groups[0]->subgroup("orders").on_delivery([](auto) { throw std::runtime_error("out of cheese"); }, HandlerThread::own);
  groups[1]->subgroup("orders").send("cheese?");
  for (auto& group : groups) {
    try {
      group->wait();
      FAIL("the group goes on");
    } catch (const Exception& failure) {
      CHECK_THAT(failure.what(), Contains("out of cheese"));
    }
  }
}

TEST_CASE("a handler on its own thread may send, and must not wait") {
  GroupFixture fixture;
  auto groups = fixture.join(1);
  Journal orders;
  std::atomic<bool> refused{false};
  std::atomic<bool> known{true};
  groups[0]->subgroup("ticks").on_delivery([](auto) {});
  groups[0]->subgroup("orders").on_delivery(
      [&](std::span<const Delivery> batch) {
        known = known && groups[0]->on_poller_thread();
        if (orders.count == 0) groups[0]->subgroup("orders").send("echo");
        try {
          groups[0]->leave();
        } catch (const Exception& refusal) {
          refused = refusal.error().kind() == ErrorKind::bad_argument;
        }
        orders.keep(batch);
      },
      HandlerThread::own);
  groups[0]->subgroup("orders").send("shout");
  orders.await(2);
  CHECK(orders.lines == std::vector<std::string>{"0:shout", "0:echo"});
  CHECK(refused);
  CHECK(known);
  leave_all(groups);
}
