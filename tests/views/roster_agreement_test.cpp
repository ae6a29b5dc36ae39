// The roster: its changes, a proposal, who holds it, and what a decree may say of it.
#include <catch2/catch.hpp>

#include <spindrift/views/roster_agreement.hpp>
#include <spindrift/views/roster_wishes.hpp>

#include "../roster_view.hpp"

namespace spindrift::views {
namespace {

using Kind = RosterChange::Kind;

const Roster three{4, {{NodeId(0), "a:1"}, {NodeId(1), "b:1"}, {NodeId(2), "c:1"}}, {}};

View view_of_three() {
  View view;
  view.id = ViewId(9);
  view.members = {NodeId(0), NodeId(1), NodeId(2)};
  view.incarnations = {1, 1, 1};
  view.roster = three;
  return view;
}

RosterChange add(std::uint32_t node, std::string at) { return {Kind::add, NodeId(node), std::move(at)}; }
RosterChange remove(std::uint32_t node) { return {Kind::remove, NodeId(node), {}}; }
RosterChange drain(std::uint32_t node) { return {Kind::drain, NodeId(node), {}}; }
RosterChange undrain(std::uint32_t node) { return {Kind::undrain, NodeId(node), {}}; }
RosterChange move(std::uint32_t node, std::string to) { return {Kind::move, NodeId(node), std::move(to)}; }

Roster changed(const Roster& roster, std::vector<RosterChange> changes) { return next_edition(roster, changes, View()); }

Decree decree_with(std::optional<Digest> roster, RankSet left = {}, std::vector<Join> joins = {}) {
  Decree decree;
  decree.left = left;
  decree.joins = std::move(joins);
  decree.roster = roster;
  return decree;
}

const RankSet all = RankSet::first(3);

}  // namespace

TEST_CASE("a roster changes by one edition, whatever is possible of the changes, in their order") {
  const Roster next = changed(three, {add(7, "d:1"), remove(1), move(2, "c:9"), move(8, "e:1"), add(0, "f:1")});
  CHECK(next.edition == 5);
  CHECK(next.nodes == std::vector<NodeAddress>{{NodeId(0), "a:1"}, {NodeId(2), "c:9"}, {NodeId(7), "d:1"}});
  CHECK(changed(three, {add(0, "a:1"), remove(9), move(1, "b:1")}) == three);
  CHECK(next.digest() != three.digest());
}

TEST_CASE("a change is in effect, possible or impossible, and the reason says what to do instead") {
  CHECK(in_effect(three, add(1, "b:1")));
  CHECK(in_effect(three, remove(5)));
  CHECK_FALSE(in_effect(three, move(1, "b:2")));
  CHECK(check(three, add(5, "e:1"), {}));
  CHECK(check(three, add(1, "b:1"), {}));
  for (const RosterChange& impossible : {add(1, "x:1"), remove(5), move(5, "e:1"), add(5, std::string(300, 'h')),
                                         move(1, "a\nb"), add(5, "b:1"), move(1, "c:1")}) {
    const auto checked = check(three, impossible, {});
    REQUIRE_FALSE(checked);
    CHECK_FALSE(checked.error().fix().empty());
  }
  CHECK_FALSE(check(Roster{0, {{NodeId(3), ""}}, {}}, remove(3), {}));
  View pair;
  pair.members = {NodeId(0), NodeId(1)};
  CHECK(check(three, remove(1), pair));
  CHECK(check(three, std::vector{remove(2), remove(1)}, pair));
  const auto nobody_left = check(three, std::vector{remove(1), add(5, "e:1"), remove(0)}, pair);
  REQUIRE_FALSE(nobody_left);  // nodes 2 and 5 may be in the group, and would find nobody
  CHECK(nobody_left.error().message().find("node 0 cannot be taken out: no member of the view would stay") == 0);
  Roster full;
  for (std::uint32_t i = 0; i < roster_count_max; ++i) full.nodes.push_back({NodeId(i), ""});
  CHECK_FALSE(check(full, add(500, ""), {}));
  CHECK(changed(full, {add(500, "")}) == full);
}

TEST_CASE("a leader proposes once in a view, all that it knows, and holds it") {
  const View view = view_of_three();
  RosterAgreement leader(view, Rank(0));
  CHECK_FALSE(leader.propose(0));
  leader.request(Rank(0), std::vector{remove(9)});
  CHECK_FALSE(leader.propose(0));
  leader.request(Rank(0), std::vector{add(7, "d:1")});
  leader.request(Rank(0), std::vector{add(7, "d:1"), move(1, "b:2")});
  const auto proposal = leader.propose(0);
  REQUIRE(proposal);
  CHECK(*proposal == changed(three, {add(7, "d:1"), move(1, "b:2")}));
  CHECK(leader.held(proposal->digest()) != nullptr);
  leader.request(Rank(0), std::vector{add(8, "e:1")});
  CHECK_FALSE(leader.propose(0));
}

TEST_CASE("a roster is agreed when all who stay hold it and are in it") {
  const View view = view_of_three();
  RosterAgreement leader(view, Rank(0));
  leader.request(Rank(0), std::vector{remove(2), add(7, "d:1")});
  const Roster proposal = leader.propose(0).value();
  CHECK_FALSE(leader.agreed(all));
  leader.on_held(Rank(0), proposal.digest());
  leader.on_held(Rank(1), proposal.digest());
  leader.on_held(Rank(2), Digest{{1, 2}});
  CHECK_FALSE(leader.agreed(all));
  leader.on_held(Rank(2), proposal.digest());
  CHECK_FALSE(leader.agreed(all));  // node 2 has not left yet
  const RankSet without_two = all.without(RankSet::of(Rank(2)));
  CHECK(leader.agreed(without_two) == proposal.digest());
  CHECK_FALSE(leader.agreed({}));
  CHECK(leader.may_join(NodeId(7), {}, without_two));
  CHECK_FALSE(leader.may_join(NodeId(7), {}, all));
  CHECK_FALSE(leader.may_join(NodeId(2), {}, without_two));
}

TEST_CASE("a member is bound to a roster that it asked for itself, before or behind the proposal, and to one of another") {
  const View view = view_of_three();
  RosterAgreement leader(view, Rank(0));
  leader.request(Rank(1), std::vector{drain(1), add(7, "d:1")});
  CHECK(leader.bound().empty());
  leader.request(Rank(0), std::vector{remove(2)});
  const Roster proposal = leader.propose(0).value();
  CHECK(leader.bound() == RankSet::of(Rank(1)));
  leader.request(Rank(2), std::vector{remove(2)});
  CHECK(leader.bound() == all.without(RankSet::of(Rank(0))));
  RosterAgreement member(view, Rank(2));
  REQUIRE(member.hold(Rank(0), proposal));
  CHECK(member.bound() == leader.bound());
}

TEST_CASE("a member holds one roster of each that proposes, of the next edition, and keeps it") {
  const View view = view_of_three();
  RosterAgreement member(view, Rank(2));
  const Roster first = changed(three, {add(7, "d:1")});
  const Roster second = changed(three, {add(8, "e:1")});
  CHECK_FALSE(member.hold(Rank(0), three));
  CHECK(member.hold(Rank(0), first));
  CHECK_FALSE(member.hold(Rank(0), second));
  CHECK(member.hold(Rank(1), second));
  CHECK(member.held(first.digest()) != nullptr);
  CHECK(*member.held(second.digest()) == second);
  CHECK(member.held(three.digest()) == nullptr);
  Roster later = second;
  later.edition = 7;
  RosterAgreement other(view, Rank(2));
  CHECK_FALSE(other.hold(Rank(0), later));
}

TEST_CASE("a decree brings nobody into a view who is not in its roster, and names no roster that is not held") {
  const View view = view_of_three();
  RosterAgreement member(view, Rank(2));
  const Roster next = changed(three, {add(7, "d:1"), remove(1)});
  REQUIRE(member.hold(Rank(0), next));
  const RankSet one = RankSet::of(Rank(1));
  CHECK(member.admits(decree_with({})));
  CHECK_FALSE(member.admits(decree_with({}, {}, {{NodeId(7), 5}})));
  CHECK_FALSE(member.admits(decree_with(next.digest())));
  CHECK(member.admits(decree_with(next.digest(), one)));
  CHECK(member.admits(decree_with(next.digest(), one, {{NodeId(7), 5}})));
  CHECK_FALSE(member.admits(decree_with(next.digest(), one, {{NodeId(1), 5}})));
  CHECK_FALSE(member.admits(decree_with(Digest{{1, 2}})));
  CHECK(*member.next(decree_with(next.digest())) == next);
  CHECK(*member.next(decree_with({})) == three);
}

TEST_CASE("a drained node stays in the roster, may be in no view, and is let in again, or removed and forgotten") {
  const Roster next = changed(three, {drain(2), drain(1), drain(1), drain(9)});
  CHECK(next.edition == 5);
  CHECK(next.nodes == three.nodes);
  CHECK(next.drained == std::vector{NodeId(1), NodeId(2)});
  CHECK((next.contains(NodeId(1)) && next.is_drained(NodeId(1)) && !next.admits(NodeId(1)) && next.admits(NodeId(0))));
  CHECK_FALSE(next.admits(NodeId(9)));
  CHECK(next.digest() != three.digest());
  CHECK(next.digest() != changed(three, {drain(1)}).digest());
  CHECK((in_effect(next, drain(1)) && in_effect(next, undrain(0)) && in_effect(three, undrain(1))));
  CHECK_FALSE((in_effect(three, drain(1)) || in_effect(next, undrain(1)) || in_effect(three, undrain(9))));
  CHECK(changed(next, {undrain(1), move(2, "c:2")}).drained == std::vector{NodeId(2)});
  CHECK(changed(next, {undrain(0)}) == next);
  CHECK(changed(next, {remove(1), add(1, "b:1")}).drained == std::vector{NodeId(2)});
  CHECK(changed(three, {drain(1), undrain(1)}) == three);
}

TEST_CASE("a drain is impossible that would leave no majority of the view, or nobody, and says why and what to do instead") {
  const View view = view_of_three();
  CHECK(check(three, drain(2), view));
  const Roster less = next_edition(three, std::vector{drain(2)}, view);
  const auto refused = check(less, drain(1), view);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind() == ErrorKind::bad_argument);
  CHECK(refused.error().message() == "node 1 cannot be drained: of the view's 3 members 1 would stay, and a majority is 2");
  CHECK_FALSE(refused.error().fix().empty());
  CHECK_FALSE(check(three, std::vector{drain(2), drain(1)}, view));  // nor in one breath
  CHECK(check(three, std::vector{drain(2), undrain(2), drain(1)}, view));
  CHECK(next_edition(three, std::vector{drain(2), drain(1), drain(0)}, view) == less);
  CHECK(check(less, drain(2), view));  // it is
  View two;
  two.members = {NodeId(0), NodeId(1)};
  CHECK_FALSE(check(three, drain(1), two));
  CHECK(check(three, drain(2), two));  // no member: nobody misses it
  two.members = {NodeId(0)};
  CHECK_FALSE(check(three, drain(0), two));
  CHECK_FALSE(check(changed(three, {drain(1), drain(2)}), drain(0), {}));
  CHECK_FALSE(check(changed(three, {drain(1), drain(2)}), remove(0), {}));
  const auto twice = check(less, add(2, "c:1"), view);
  REQUIRE_FALSE(twice);
  CHECK(twice.error().fix().find("drain 2 --undo") != std::string::npos);
  for (const RosterChange& wrong :
       {drain(9), undrain(9), RosterChange{Kind::drain, NodeId(2), "c:1"}, RosterChange{Kind::undrain, NodeId(2), "c:1"}}) {
    CHECK_FALSE(check(three, wrong, view));
  }
}

TEST_CASE("a roster that drains a member is agreed when that has left, and a decree brings it into no view") {
  const View view = view_of_three();
  RosterAgreement leader(view, Rank(0));
  leader.request(Rank(0), std::vector{drain(2), drain(1)});  // of three members two have to stay
  const Roster proposal = leader.propose(0).value();
  CHECK(proposal.drained == std::vector{NodeId(2)});
  for (std::uint32_t i = 0; i < 3; ++i) leader.on_held(Rank(i), proposal.digest());
  CHECK_FALSE(leader.agreed(all));  // node 2 has not left yet
  const RankSet two = RankSet::of(Rank(2));
  CHECK(leader.agreed(all.without(two)) == proposal.digest());
  CHECK_FALSE(leader.may_join(NodeId(2), {}, all.without(two)));
  CHECK_FALSE(leader.admits(decree_with(proposal.digest())));
  CHECK(leader.admits(decree_with(proposal.digest(), two)));
  CHECK_FALSE(leader.admits(decree_with(proposal.digest(), two, {{NodeId(2), 5}})));
}

RosterChange create(std::string name, std::uint64_t window = 8) {
  RosterChange change{.kind = Kind::create};
  change.subgroup.name = std::move(name);
  change.subgroup.profile = {.ring_bytes = 4096, .window_messages = window, .message_bytes_max = 100};
  return change;
}
RosterChange drop(std::string name) { return {.kind = Kind::drop, .subgroup = {.name = std::move(name)}}; }

std::vector<std::string> names_of(const Roster& roster) {
  std::vector<std::string> names;
  for (const AddedSubgroup& each : roster.added) names.push_back(each.name);
  return names;
}

TEST_CASE("subgroups are created at the first places that were empty before, and keep them until they are dropped") {
  using Names = std::vector<std::string>;
  const Roster two = changed(three, {create("a"), create("b")});
  CHECK(names_of(two) == Names{"a", "b"});
  CHECK(two.edition == three.edition + 1);
  const Roster less = changed(two, {drop("a"), create("c")});
  CHECK(names_of(less) == Names{"", "b", "c"});  // the place of "a" is empty for a view
  CHECK(names_of(changed(less, {create("d"), create("a")})) == Names{"d", "b", "c", "a"});
  CHECK(names_of(changed(less, {drop("b"), drop("c")})) == Names{"", "", ""});
  CHECK((in_effect(two, create("a")) && in_effect(two, drop("c"))));
  CHECK_FALSE((in_effect(two, create("a", 9)) || in_effect(two, drop("b")) || in_effect(two, create("c"))));
}

TEST_CASE("a subgroup is created only if it is possible and new, and none of the layout is created or dropped") {
  View view = view_of_three();
  view.subgroups.resize(1);
  view.subgroups[0].name = "orders";
  const Roster there = changed(three, {create("a")});
  CHECK(check(three, create("a"), view));
  CHECK(check(there, create("a"), view));
  CHECK(check(there, drop("a"), view));
  RosterChange large = create("b");
  large.subgroup.profile.message_bytes_max = 4000;
  RosterChange stranger = create("b");
  stranger.subgroup.members = {NodeId(1)};
  stranger.subgroup.senders = {NodeId(2)};
  RosterChange placed = create("b");
  placed.node = NodeId(1);
  for (const RosterChange& wrong : {create("orders"), create("a", 9), create("no name"), large, stranger, placed,
                                    drop("orders"), drop("b"), create("b", 0)}) {
    const auto refused = check(there, wrong, view);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind() == ErrorKind::bad_argument);
    CHECK_FALSE(refused.error().fix().empty());
  }
  RosterChange huge = create("huge");
  huge.subgroup.profile.ring_bytes = added_ring_bytes_max;
  CHECK(check(three, huge, view));
  CHECK_FALSE(check(there, huge, view));
  Roster full = three;
  for (std::size_t i = 0; i < added_subgroup_count_max; ++i) full = changed(full, {create("s" + std::to_string(i))});
  CHECK_FALSE(check(full, create("a"), view));
  CHECK(check(full, std::vector{drop("s7"), create("a")}, view));
}

RosterChange change_to(std::string name, std::uint64_t window) {
  RosterChange change = create(std::move(name), window);
  change.kind = Kind::change;
  return change;
}

TEST_CASE("a subgroup that was created changes its window, its ring and its senders, and nothing else") {
  View view = view_of_three();
  view.subgroups.resize(1);
  view.subgroups[0].name = "orders";
  const Roster there = changed(three, {create("a"), create("b")});
  RosterChange senders = change_to("a", 9);
  senders.subgroup.senders = {NodeId(1)};
  RosterChange ring = change_to("a", 8);
  ring.subgroup.profile.ring_bytes = 8192;
  for (const RosterChange& right : {change_to("a", 9), senders, ring}) {
    CHECK(check(there, right, view));
    CHECK_FALSE(in_effect(there, right));
    const Roster next = changed(there, {right});
    CHECK(in_effect(next, right));
    CHECK(next.edition == there.edition + 1);
    CHECK(next.added == std::vector{right.subgroup, there.added[1]});
  }
  CHECK(in_effect(there, change_to("a", 8)));
  RosterChange larger = change_to("a", 8);
  larger.subgroup.profile.message_bytes_max = 101;
  RosterChange members = change_to("a", 8);
  members.subgroup.members = {NodeId(1)};
  RosterChange mode = change_to("a", 8);
  mode.subgroup.mode = DeliveryMode::unordered;
  RosterChange huge = change_to("a", 8);
  huge.subgroup.profile.ring_bytes = added_ring_bytes_max;
  for (const RosterChange& wrong :
       {larger, members, mode, huge, change_to("a", 0), change_to("c", 9), change_to("orders", 9)}) {
    const auto refused = check(there, wrong, view);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind() == ErrorKind::bad_argument);
    CHECK_FALSE(refused.error().fix().empty());
  }
  CHECK(changed(there, {drop("a"), change_to("a", 9)}).added[0].name.empty());
}

TEST_CASE("who is to send no more in a subgroup is silent there first, as all are in one that is dropped") {
  View view = view_of_three();
  view.roster = changed(three, {create("a"), create("b"), create("c")});
  for (const AddedSubgroup& each : view.roster.added) view.subgroups.push_back(in_view(each, view.members, nullptr));
  RosterChange senders = change_to("b", 8);
  senders.subgroup.senders = {NodeId(0), NodeId(2)};
  const Roster next = changed(view.roster, {drop("a"), senders, change_to("c", 9)});
  const auto of_layout = static_cast<std::uint32_t>(view.layout_count());
  CHECK(dropped_by(view, next) == std::vector{SubgroupId(of_layout)});
  CHECK(silenced_by(view, next, NodeId(0)) == std::vector{SubgroupId(of_layout)});
  CHECK(silenced_by(view, next, NodeId(1)) == std::vector{SubgroupId(of_layout), SubgroupId(of_layout + 1)});
}

TEST_CASE("places are never more than twice the subgroups, however many are dropped and created at once") {
  Roster roster = three;
  std::vector<RosterChange> first, second;
  for (std::size_t i = 0; i < added_subgroup_count_max; ++i) {
    first.push_back(create("a" + std::to_string(i)));
    second.push_back(drop("a" + std::to_string(i)));
  }
  for (std::size_t i = 0; i < added_subgroup_count_max; ++i) second.push_back(create("b" + std::to_string(i)));
  roster = changed(roster, first);
  CHECK(roster.added.size() == added_subgroup_count_max);
  roster = changed(roster, second);
  CHECK(roster.added.size() == added_place_count_max);
  CHECK(possible(roster.added));
  for (RosterChange& each : second) each.subgroup.name[0] = each.kind == Kind::drop ? 'b' : 'c';
  CHECK(changed(roster, second).added.size() == added_place_count_max);
}

TEST_CASE("a member holds no roster in which a subgroup became another, took a name of the layout, or lost its place") {
  View view = view_of_three();
  view.roster = changed(three, {create("a"), create("b")});
  view.subgroups.resize(3);
  view.subgroups[0].name = "orders";
  const auto held = [&](auto change) {
    Roster next = view.roster;
    ++next.edition;
    change(next.added);
    return RosterAgreement(view, Rank(2)).hold(Rank(0), next);
  };
  CHECK(held([](auto& added) { added.push_back(create("c").subgroup); }));
  CHECK(held([](auto& added) { added[0] = {}; }));
  CHECK_FALSE(held([](auto& added) { added[0] = create("c").subgroup; }));
  CHECK_FALSE(held([](auto& added) { added.pop_back(); }));
  CHECK_FALSE(held([](auto& added) { added.push_back(create("orders").subgroup); }));
  Roster next = view.roster;
  next.added[1] = {};
  CHECK(dropped_by(view, next) == std::vector{SubgroupId(2)});
  CHECK(dropped_by(view, view.roster).empty());
}

TEST_CASE("a wish is kept that one in front of it makes possible") {
  Roster full;
  for (std::uint32_t i = 0; i < roster_count_max; ++i) full.nodes.push_back({NodeId(i), ""});
  View view;
  view.members = {NodeId(0)};
  view.roster = full;
  RosterWishes wishes;
  wishes.want({remove(5), add(500, "")}, view);
  wishes.want({add(501, "")}, view);
  CHECK(wishes.take_unsaid() == std::vector{remove(5), add(500, "")});
  wishes.begin_view(view);
  CHECK(wishes.take_unsaid() == std::vector{remove(5), add(500, "")});
}

TEST_CASE("wishes are said once in each view, until they are granted or impossible") {
  RosterWishes wishes;
  wishes.want({add(7, "d:1"), remove(1)}, view_with(three));
  wishes.want({remove(1), remove(5), move(0, "a:1"), add(2, "x:1")}, view_with(three));
  CHECK(wishes.take_unsaid() == std::vector{add(7, "d:1"), remove(1)});
  CHECK(wishes.take_unsaid().empty());
  wishes.want({move(2, "c:2")}, view_with(three));
  CHECK(wishes.take_unsaid() == std::vector{move(2, "c:2")});
  wishes.begin_view(view_with(changed(three, {add(7, "x:1"), move(2, "c:2")})));  // somebody else's node 7
  CHECK(wishes.take_unsaid() == std::vector{remove(1)});
  wishes.begin_view(view_with(changed(three, {remove(1)})));
  CHECK(wishes.take_unsaid().empty());
}

TEST_CASE("no more wishes are said at once than a message may have") {
  RosterWishes wishes;
  std::vector<RosterChange> many;
  for (std::uint32_t i = 0; i < roster_changes_max + 5; ++i) {
    many.push_back(move(2, "c:" + std::to_string(i + 10)));
  }
  wishes.want(many, view_with(three));
  CHECK(wishes.take_unsaid().size() == roster_changes_max);
  CHECK(wishes.take_unsaid().size() == 5);
  CHECK(wishes.take_unsaid().empty());
  wishes.begin_view(view_with(three));
  CHECK(wishes.take_unsaid().front() == many.front());
}

}  // namespace spindrift::views
