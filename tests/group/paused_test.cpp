// Subgroups in which a member takes nothing for a while, and those that are taken from their first message on.
#include <catch2/catch.hpp>

#include <chrono>
#include <future>
#include <map>
#include <thread>

#include <spindrift/core/config/without_file.hpp>
#include <spindrift/group/status.hpp>

#include "group_fixture.hpp"

namespace spindrift {
namespace {

using namespace std::chrono_literals;

AddedSubgroup small(std::string name) {
  AddedSubgroup subgroup;
  subgroup.name = std::move(name);
  subgroup.profile = {.ring_bytes = 4096, .window_messages = 16, .message_bytes_max = 200};
  return subgroup;
}

/// Sends numbers until nothing goes for as long as a full ring takes to be seen: who takes nothing holds up the senders.
int send_until_full(Subgroup& subgroup) {
  int sent = 0;
  for (auto since = std::chrono::steady_clock::now(); std::chrono::steady_clock::now() - since < 200ms;) {
    const std::string text = std::to_string(sent);
    const bool taken =
        subgroup.try_send(text.size(), [&](std::span<std::byte> to) { std::memcpy(to.data(), text.data(), text.size()); });
    if (!taken) continue;
    ++sent;
    since = std::chrono::steady_clock::now();
  }
  return sent;
}

/// Until the member's status says so of its handler of the subgroup "slow".
template <class Condition>
void await_pause(const GroupFixture& fixture, unsigned node, const Condition& holds) {
  const std::string path = fixture.directory() + "/test/status/" + std::to_string(node) + ".status";
  for (;;) {
    const group::MemberStatus status = value_or_throw(group::read_status(path));
    for (const group::MemberStatus::SubgroupEntry& each : status.subgroups) {
      if (each.name == "slow" && holds(each.paused)) return;
    }
    std::this_thread::yield();
  }
}

void discard(Group& group) {
  for (const char* const name : {"orders", "ticks"}) group.subgroup(name).on_delivery([](auto) {});
}

}  // namespace

TEST_CASE("a subgroup that is paused holds up its senders alone, whatever the view does meanwhile, and loses nothing") {
  GroupFixture fixture;
  auto groups = fixture.join_from(0, 2);
  discard(*groups[0]);
  Subgroup& there = groups[0]->create_subgroup(small("slow"), 20s);
  Subgroup& here = groups[1]->subgroup("slow");
  Journal taken;
  Journal quick;
  groups[1]->subgroup("orders").on_delivery([&](auto batch) { quick.keep(batch); });
  groups[1]->subgroup("ticks").on_delivery([](auto) {});
  here.on_delivery([&](std::span<const Delivery> batch) {
    taken.keep(batch);
    here.pause();
  });
  const int sent = send_until_full(there);
  const std::size_t first = taken.count;
  REQUIRE(first < static_cast<std::size_t>(sent));
  for (int i = 0; i < 500; ++i) groups[0]->subgroup("orders").send(std::to_string(i));
  quick.await(500);
  const ViewId before = groups[1]->view().id;
  static_cast<void>(groups[0]->create_subgroup(small("another"), 20s));
  CHECK(groups[1]->view().id > before);
  CHECK(taken.count == first);
  here.resume();
  while (taken.count < static_cast<std::size_t>(sent)) here.resume();  // it pauses itself with each batch
  taken.await(static_cast<std::size_t>(sent));
  for (std::size_t i = 0; i < taken.lines.size(); ++i) CHECK(taken.lines[i] == "0:" + std::to_string(i));
  CHECK_FALSE(groups[1]->counters().empty());
  leave_all(groups);
}

TEST_CASE("a drop, and a member that leaves, wait until a subgroup that is paused is resumed") {
  GroupFixture fixture;
  auto groups = fixture.join(2);
  for (auto& group : groups) discard(*group);
  Subgroup& there = groups[0]->create_subgroup(small("slow"), 20s);
  Subgroup& here = groups[1]->subgroup("slow");
  Journal taken;
  here.on_delivery([&](auto batch) { taken.keep(batch); });
  here.pause();
  there.send("last");
  groups[0]->create_subgroup(small("another"), 20s);  // from here on the message waits in this process
  const auto waits = thrown_by([&] { groups[0]->drop_subgroup("slow", 300ms); });
  REQUIRE(waits);
  CHECK(waits->kind() == ErrorKind::timed_out);
  Journal quick;
  groups[1]->subgroup("another").on_delivery([&](auto batch) { quick.keep(batch); });
  groups[0]->subgroup("another").send("too");  // the group goes on meanwhile
  quick.await(1);
  here.resume();
  groups[0]->drop_subgroup("slow", 20s);
  taken.await(1);

  static_cast<void>(groups[0]->create_subgroup(small("again"), 20s));
  Subgroup& held = groups[1]->subgroup("again");
  held.on_delivery([&](auto batch) { taken.keep(batch); });
  held.pause();
  held.send("of all");  // its own, which it does not leave behind
  auto leaving = std::async(std::launch::async, [&] { groups[1]->leave(); });
  CHECK(leaving.wait_for(300ms) == std::future_status::timeout);
  held.resume();
  leaving.get();
  CHECK(taken.count == 2);
  groups[0]->leave();
}

TEST_CASE("who waits to send to a subgroup knows who has paused it, whose status says since when, and how much waits") {
  GroupFixture fixture;
  auto groups = fixture.join_from(0, 3);
  for (auto& group : groups) discard(*group);
  Subgroup& there = groups[0]->create_subgroup(small("slow"), 20s);
  Journal taken;
  for (unsigned i = 1; i < 3; ++i) groups[i]->subgroup("slow").on_delivery([](auto) {});
  there.on_delivery([&](auto batch) { taken.keep(batch); });
  CHECK(there.awaited().empty());
  const std::uint64_t before_ms = group::wall_clock_ms();
  groups[1]->subgroup("slow").pause();
  const int sent = send_until_full(there);
  REQUIRE(sent > 0);
  CHECK(there.awaited() == std::vector{NodeId(1)});
  CHECK(groups[2]->subgroup("slow").awaited() == std::vector{NodeId(1)});  // whose turns it took without a message
  std::uint64_t since_ms = 0;
  await_pause(fixture, 1, [&](const auto& pause) {
    if (!pause || pause->messages < static_cast<std::uint64_t>(sent)) return false;
    since_ms = pause->since_ms;
    return pause->messages == static_cast<std::uint64_t>(sent);
  });
  CHECK(since_ms >= before_ms);
  CHECK(since_ms <= group::wall_clock_ms());
  groups[1]->subgroup("slow").pause();  // it is: since then as before
  await_pause(fixture, 1, [&](const auto& pause) { return pause && pause->since_ms == since_ms; });
  await_pause(fixture, 2, [](const auto& pause) { return !pause; });
  groups[1]->subgroup("slow").resume();
  await_pause(fixture, 1, [](const auto& pause) { return !pause; });
  there.send("through again");
  taken.await(static_cast<std::size_t>(sent) + 1);

  there.pause();  // the sender itself
  REQUIRE(send_until_full(there) > 0);
  CHECK(there.awaited() == std::vector{NodeId(0)});
  there.resume();
  leave_all(groups);
  CHECK(thrown_by([&] { static_cast<void>(there.awaited()); })->kind() == ErrorKind::group_closed);
}

TEST_CASE("a handler cannot ask for whom its sends wait") {
  GroupFixture fixture;
  auto groups = fixture.join_from(0, 1);
  std::promise<std::optional<Error>> asked;
  groups[0]->subgroup("ticks").on_delivery([](auto) {});
  groups[0]->subgroup("orders").on_delivery([&](auto) {
    asked.set_value(thrown_by([&] { static_cast<void>(groups[0]->subgroup("orders").awaited()); }));
  });
  groups[0]->subgroup("orders").send("one");
  const auto refused = asked.get_future().get();
  REQUIRE(refused);
  CHECK(refused->kind() == ErrorKind::bad_argument);
  leave_all(groups);
}

TEST_CASE("a handler that is not set cannot pause, and one that is not paused may resume") {
  GroupFixture fixture;
  auto groups = fixture.join(1);
  CHECK(thrown_by([&] { groups[0]->subgroup("orders").pause(); })->kind() == ErrorKind::bad_argument);
  groups[0]->subgroup("orders").resume();
  CHECK(groups[0]->subgroup("orders").name() == "orders");
  discard(*groups[0]);
  groups[0]->subgroup("orders").resume();
  leave_all(groups);
}

TEST_CASE("who takes created subgroups as they come into being misses no message, in a group without a file") {
  GroupFixture fixture;
  const Config config =
      value_or_throw(config_without_file("quick", {}, {{"SPINDRIFT/runtime_directory", fixture.directory()}}));
  struct Member {
    Journal taken;
    std::unique_ptr<Group> group;
  };
  const auto join = [&] {
    auto member = std::make_unique<Member>();
    GroupOptions options;
    options.on_created = [&taken = member->taken](Subgroup& subgroup) {
      subgroup.on_delivery([&taken](auto batch) { taken.keep(batch); });
    };
    member->group = std::make_unique<Group>(config, std::move(options));
    return member;
  };
  const auto first = join();
  const auto second = join();
  CHECK(first->group->subgroup_names().empty());
  Subgroup& news = second->group->create_subgroup({.name = "news"}, 20s);
  news.send("one");
  second->group->create_subgroup({.name = "more"}, 20s).send("two");
  first->taken.await(2);
  second->taken.await(2);
  const auto third = join();  // which has both in its first view
  CHECK(third->group->subgroup_names() == std::vector<std::string>{"news", "more"});
  third->group->create_subgroup({.name = "news"}).send("three");
  first->taken.await(3);
  second->taken.await(3);
  third->taken.await(1);
  CHECK(third->taken.lines == std::vector<std::string>{"2:three"});
  for (const auto* member : {&first, &second, &third}) (*member)->group->leave();
}

}  // namespace spindrift
