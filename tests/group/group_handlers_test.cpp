// Handlers with a thread of their own: whom they hold up, and whom not.
#include <catch2/catch.hpp>

#include <chrono>
#include <future>

#include "group_fixture.hpp"

using namespace spindrift;
using Catch::Matchers::Contains;

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
