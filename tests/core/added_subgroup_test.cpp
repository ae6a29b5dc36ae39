// Subgroups beyond the configuration's: what one may be, and what a view makes of it.
#include <catch2/catch.hpp>

#include <spindrift/core/view.hpp>

namespace spindrift {
namespace {

AddedSubgroup orders() {
  AddedSubgroup orders;
  orders.name = "orders";
  orders.profile = {.ring_bytes = 4096, .window_messages = 8, .message_bytes_max = 100};
  return orders;
}

std::vector<NodeId> nodes(std::initializer_list<std::uint32_t> ids) {
  std::vector<NodeId> all;
  for (const std::uint32_t id : ids) all.emplace_back(id);
  return all;
}

}  // namespace

TEST_CASE("a subgroup that is created has a name, a profile and nodes that are possible, and the error says what to do") {
  CHECK(check(orders()));
  const auto refused = [](auto change) {
    AddedSubgroup wrong = orders();
    change(wrong);
    const auto checked = check(wrong);
    return !checked && checked.error().kind() == ErrorKind::bad_argument && !checked.error().fix().empty();
  };
  CHECK(refused([](AddedSubgroup& wrong) { wrong.name = ""; }));
  CHECK(refused([](AddedSubgroup& wrong) { wrong.name = "a b"; }));
  CHECK(refused([](AddedSubgroup& wrong) { wrong.name = std::string(65, 'a'); }));
  CHECK(refused([](AddedSubgroup& wrong) { wrong.profile.ring_bytes = 6000; }));
  CHECK(refused([](AddedSubgroup& wrong) { wrong.profile.ring_bytes = 2048; }));
  CHECK(refused([](AddedSubgroup& wrong) { wrong.profile.window_messages = 0; }));
  CHECK(refused([](AddedSubgroup& wrong) { wrong.profile.window_messages = (1 << 20) + 1; }));
  CHECK(refused([](AddedSubgroup& wrong) { wrong.profile.message_bytes_max = 0; }));
  CHECK(refused([](AddedSubgroup& wrong) { wrong.profile.message_bytes_max = 2041; }));
  CHECK(refused([](AddedSubgroup& wrong) { wrong.profile.bulk_ring_bytes = 5000; }));
  CHECK(refused([](AddedSubgroup& wrong) { wrong.members = nodes({2, 1}); }));
  CHECK(refused([](AddedSubgroup& wrong) { wrong.members = nodes({1, 1}); }));
  CHECK(refused([](AddedSubgroup& wrong) {
    wrong.members = nodes({1, 2});
    wrong.senders = nodes({3});
  }));
  AddedSubgroup bulky = orders();
  bulky.profile = {.ring_bytes = 4096,
                   .window_messages = 8,
                   .message_bytes_max = 100'000,
                   .bulk_ring_bytes = 1 << 18,
                   .large_message_bytes = 1000};
  CHECK(check(bulky));
  bulky.profile.bulk_ring_bytes = 1 << 17;
  CHECK_FALSE(check(bulky));
}

TEST_CASE("in a view it has the members that it lists, those of before first, or all, and without any it is inadequate") {
  AddedSubgroup some = orders();
  some.members = nodes({1, 3, 5});
  some.senders = nodes({3, 5});
  const SubgroupView first = in_view(some, nodes({5, 2, 1}), nullptr);
  CHECK(first.members == nodes({5, 1}));
  CHECK(first.senders == nodes({5}));
  CHECK(first.inadequate.empty());
  const SubgroupView next = in_view(some, nodes({3, 1, 5}), &first);
  CHECK(next.members == nodes({5, 1, 3}));
  CHECK(next.senders == nodes({5, 3}));
  const SubgroupView without = in_view(some, nodes({1, 2}), &next);
  CHECK((without.members.empty() && without.senders.empty() && !without.dropped));
  CHECK(without.inadequate == "needs one of its senders, 3, 5, and none is in the view");
  CHECK(in_view(orders(), nodes({4, 2}), nullptr).members == nodes({4, 2}));
  const SubgroupView dropped = in_view({}, nodes({4, 2}), &first);
  CHECK((dropped.dropped && dropped.members.empty() && !dropped.inadequate.empty()));
}

TEST_CASE("the layout is shown its own subgroups of the view before, and the roster's follow it") {
  std::size_t shown = 99;
  const LayoutFunction layout = [&](const std::vector<NodeId>& members, const View* previous) {
    shown = previous == nullptr ? 0 : previous->subgroups.size();
    std::vector<SubgroupView> one(1);
    one[0].members = one[0].senders = members;
    return one;
  };
  Roster roster;
  View first;
  first.members = nodes({1, 2});
  first.subgroups = subgroups_of(layout, roster, first.members, nullptr);
  CHECK(first.layout_count() == 1);
  roster.added = {orders()};
  View second;
  second.members = nodes({2, 3});
  second.roster = roster;
  second.subgroups = subgroups_of(layout, roster, second.members, &first);
  REQUIRE(second.subgroups.size() == 2);
  CHECK(second.subgroups[1].name == "orders");
  CHECK(second.layout_count() == 1);
  const auto third = subgroups_of(layout, roster, nodes({3, 2}), &second);
  CHECK(shown == 1);
  CHECK(third[1].members == nodes({2, 3}));  // as they were
}

}  // namespace spindrift
