// Sizes of rings at real members: files that differ in them, and changes while a group runs.
#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <thread>

#include <spindrift/group/group.hpp>
#include <spindrift/group/sizes_report.hpp>

#include "group_fixture.hpp"

namespace spindrift {
namespace {

using namespace std::chrono_literals;

const std::string changed_window = "join_timeout_ms = 20000\n[SUBGROUP/DEFAULT]\nwindow_size = 64\n";

std::uint64_t window(const Group& group, const char* subgroup) {
  return group.view().in_layout(subgroup)->profile.window_messages;
}

template <class Holds>
bool comes_to_hold(const Holds& holds) {
  const auto limit = std::chrono::steady_clock::now() + 20s;
  while (!holds() && std::chrono::steady_clock::now() < limit) std::this_thread::sleep_for(1ms);
  return holds();
}

void discard_all(Group& group) {
  for (const char* const name : {"orders", "ticks"}) group.subgroup(name).on_delivery([](auto) {});
}

AddedSubgroup sizes(std::string name, std::uint64_t window) {
  AddedSubgroup subgroup;
  subgroup.name = std::move(name);
  subgroup.profile.window_messages = window;
  return subgroup;
}

}  // namespace

TEST_CASE("members whose files differ in a window are one group, which takes what all files say when they say the same") {
  const bool tcp = GENERATE(false, true);
  const GroupFixture fixture(tcp ? "tcp" : "shm");
  auto groups = fixture.join(3);
  for (const auto& group : groups) discard_all(*group);
  const std::uint64_t before = window(*groups[0], "orders");
  REQUIRE(before != 64);
  for (unsigned id = 0; id < 3; ++id) {
    CHECK(window(*groups[id], "orders") == before);
    groups[id].reset();
    groups[id] = std::make_unique<Group>(fixture.config(id, 3, changed_window));
    discard_all(*groups[id]);
  }
  for (const auto& group : groups) {
    CHECK(comes_to_hold([&] { return window(*group, "orders") == 64 && window(*group, "ticks") == 64; }));
    CHECK(group->subgroup("orders").description().profile.window_messages == 64);
  }
}

TEST_CASE("a call changes the rings of a subgroup of the layout at once and at all members, and nothing is lost by it") {
  const GroupFixture fixture;
  const auto groups = fixture.join(2);
  std::atomic<std::uint64_t> delivered = 0;
  std::atomic<bool> in_order = true;
  groups[1]->subgroup("orders").on_delivery([&](std::span<const Delivery> batch) {
    for (const Delivery& each : batch) {
      std::uint64_t number = 0;
      std::memcpy(&number, each.payload.data(), sizeof number);
      if (number != delivered++) in_order = false;
    }
  });
  groups[0]->subgroup("orders").on_delivery([](auto) {});
  for (const auto& group : groups) group->subgroup("ticks").on_delivery([](auto) {});
  constexpr std::uint64_t count = 20'000;
  std::thread sender([&] {
    for (std::uint64_t i = 0; i < count; ++i) {
      groups[0]->subgroup("orders").send(8, [&](std::span<std::byte> to) { std::memcpy(to.data(), &i, sizeof i); });
    }
  });
  for (const std::uint64_t next : {1U, 7U, 300U, 16U}) {
    CHECK(groups[1]->change_subgroup(sizes("orders", next), 20s).description().profile.window_messages == next);
    CHECK(comes_to_hold([&] { return window(*groups[0], "orders") == next; }));
  }
  sender.join();
  CHECK(comes_to_hold([&] { return delivered == count; }));
  CHECK(in_order);
  CHECK(groups[0]->change_subgroup(sizes("ticks", 9), 20s).description().mode == DeliveryMode::unordered);
}

TEST_CASE("what the layout says of a subgroup does not change while the group runs, and the reason says what does") {
  const GroupFixture fixture;
  const auto groups = fixture.join(1);
  discard_all(*groups[0]);
  const auto refused = [&](const AddedSubgroup& subgroup) {
    const auto error = thrown_by([&] { groups[0]->change_subgroup(subgroup, 20s); });
    return error && error->kind() == ErrorKind::bad_argument && error->fix().find("window") != std::string::npos;
  };
  AddedSubgroup other = sizes("orders", 0);
  other.profile.message_bytes_max = 50;
  CHECK(refused(other));
  other = sizes("orders", 7);
  other.senders = {NodeId(0)};
  CHECK(refused(other));
  other = sizes("orders", 0);
  other.senders = {NodeId(0)};
  CHECK(refused(other));
}

TEST_CASE("a difference of sizes is told by subgroup and key, and none by nothing") {
  const std::vector<RingSizes> group{{"orders", 4096, 8}, {"news", 4096, 8}};
  CHECK(group::differences(group, group).empty());
  CHECK(group::differences(group, std::vector<RingSizes>{{"orders", 4096, 9}, {"news", 8192, 8}}) ==
        "subgroup orders: window_size is 8 in the group and 9 here; "
        "subgroup news: ring_size is 4096 in the group and 8192 here");
  CHECK(group::changes(group, group).empty());
  CHECK(group::changes({}, group).empty());
  CHECK(group::changes(group, std::vector<RingSizes>{{"orders", 4096, 9}, {"news", 4096, 8}}) ==
        "subgroup orders: window_size was 8 and is 9");
}

}  // namespace spindrift
