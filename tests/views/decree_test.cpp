// The end of a view: the decree's words, and their consequences for the next view.
#include <catch2/catch.hpp>

#include <vector>

#include <spindrift/sst/row_layout.hpp>
#include <spindrift/views/decree.hpp>

namespace spindrift::views {
namespace {

RankSet set_of(std::initializer_list<std::uint32_t> ranks) {
  RankSet set;
  for (const std::uint32_t rank : ranks) set.add(Rank(rank));
  return set;
}

/// Nodes 10 … 13 as 110 … 113; "all" has everybody, "few" the first two, who alone send.
View four_members() {
  View view;
  view.id = ViewId(6);
  for (std::uint32_t i = 0; i < 4; ++i) {
    view.members.emplace_back(10 + i);
    view.incarnations.push_back(110 + i);
  }
  view.subgroups.resize(2);
  view.subgroups[0].members = view.subgroups[0].senders = view.members;
  view.subgroups[1].members = view.subgroups[1].senders = {NodeId(10), NodeId(11)};
  return view;
}

Decree one_of_each() {
  Decree decree;
  decree.failed = set_of({1});
  decree.left = set_of({3});
  decree.joins = {{NodeId(20), 7}, {NodeId(11), 211}};
  decree.loaded = {set_of({0, 2, 3}), set_of({0})};
  decree.trim = {{1, 2, 3, 4}, {5, 6}};
  return decree;
}

bool same(const Decree& a, const Decree& b) {
  return a.failed == b.failed && a.left == b.left && a.joins == b.joins && a.loaded == b.loaded && a.trim == b.trim;
}

/// The two first nodes of a view are in "few", if there are so many.
std::vector<SubgroupView> layout(const std::vector<NodeId>& members, const View*) {
  std::vector<SubgroupView> subgroups(2);
  subgroups[0].members = subgroups[0].senders = members;
  if (members.size() < 2) return subgroups;
  subgroups[1].members = subgroups[1].senders = {members[0], members[1]};
  return subgroups;
}

TEST_CASE("created subgroups begin with all of their members, and of dropped ones nobody has a state") {
  AddedSubgroup made;
  made.name = "made";
  made.profile = {.ring_bytes = 4096, .window_messages = 7, .message_bytes_max = 100};
  made.members = {NodeId(10), NodeId(12), NodeId(20)};
  AddedSubgroup old = made;
  old.name = "old";
  View view = four_members();
  view.roster.added = {old};
  view.subgroups.push_back(in_view(old, view.members, nullptr));
  Decree decree = one_of_each();
  decree.loaded.push_back(set_of({0, 2}));
  decree.trim.push_back({7, 7});
  Roster next_roster = view.roster;
  next_roster.added = {AddedSubgroup(), made};
  const View next = successor(view, decree, layout, next_roster);
  REQUIRE(next.subgroups.size() == 4);
  CHECK((next.subgroups[2].dropped && next.subgroups[2].members.empty()));
  CHECK(next.subgroups[3].members == std::vector{NodeId(10), NodeId(12), NodeId(20)});
  std::vector<SubgroupId> lost;
  const std::vector<RankSet> before{set_of({0, 1, 2, 3}), set_of({0, 1}), set_of({0, 2})};
  const auto loaded = loaded_in(next, view, before, decree, lost);
  CHECK(loaded[2].empty());
  CHECK(loaded[3] == set_of({0, 1, 2}));
  CHECK(std::find(lost.begin(), lost.end(), SubgroupId(2)) == lost.end());
}

TEST_CASE("a decree survives its own encoding") {
  const View view = four_members();
  const auto words = encode(one_of_each(), view);
  CHECK(words.size() == sst::decree_words_of(view));
  const auto again = decode(words, view);
  REQUIRE(again);
  CHECK(same(*again, one_of_each()));
}

TEST_CASE("a word that was changed, a word too few and the decree of another view are no decree") {
  View view = four_members();
  auto words = encode(one_of_each(), view);
  for (std::uint64_t& word : words) {
    word ^= 1;
    CHECK_FALSE(decode(words, view));
    word ^= 1;
  }
  CHECK_FALSE(decode(std::span(words).first(words.size() - 1), view));
  view.id = ViewId(7);
  CHECK_FALSE(decode(words, view));
}

TEST_CASE("a decree that says what cannot be is refused though its digest is right") {
  const View view = four_members();
  const auto refused = [&](auto change) {
    Decree decree = one_of_each();
    change(decree);
    return !decode(encode(decree, view), view);
  };
  CHECK_FALSE(refused([](Decree&) {}));
  CHECK(refused([](Decree& decree) { decree.failed.add(Rank(4)); }));
  CHECK(refused([](Decree& decree) { decree.left.add(Rank(4)); }));
  CHECK(refused([](Decree& decree) { decree.left.add(Rank(1)); }));                    // failed and left
  CHECK(refused([](Decree& decree) { decree.joins[0].incarnation = 0; }));
  CHECK(refused([](Decree& decree) { decree.joins[0].node = NodeId(11); }));           // twice
  CHECK(refused([](Decree& decree) { decree.joins[0].node = NodeId(12); }));           // it stays
}

TEST_CASE("the next view has who stays in their order, then the newcomers in theirs") {
  const View next = successor(four_members(), one_of_each(), layout);
  CHECK(next.id == ViewId(7));
  CHECK(next.members == std::vector{NodeId(10), NodeId(12), NodeId(20), NodeId(11)});
  CHECK(next.incarnations == std::vector<std::uint64_t>{110, 112, 7, 211});
  CHECK(next.subgroups[1].members == std::vector{NodeId(10), NodeId(12)});
}

TEST_CASE("who stays keeps its state, who comes has none, and who was moved out of a subgroup loses it") {
  const View view = four_members();
  Decree decree = one_of_each();
  const View next = successor(view, decree, layout);
  std::vector<SubgroupId> lost;
  const auto loaded = loaded_in(next, view, {set_of({0, 1, 2, 3}), set_of({0, 1})}, decree, lost);
  CHECK(loaded == std::vector{set_of({0, 1}), set_of({0})});
  CHECK(lost.empty());

  decree.loaded[1] = set_of({2});  // of "few", which node 12 was in long ago
  View without = next;
  without.subgroups[1].members = without.subgroups[1].senders = {NodeId(10), NodeId(20)};
  const auto moved = loaded_in(without, view, {set_of({0, 1, 2, 3}), set_of({0, 1})}, decree, lost);
  CHECK(moved[1] == set_of({0, 2}));
  CHECK(lost == std::vector{SubgroupId(1)});
}

TEST_CASE("where nobody is left who has a state, all begin anew, and it is lost only if somebody had it") {
  const View view = four_members();
  Decree decree = one_of_each();
  decree.loaded = {set_of({3}), {}};
  const View next = successor(view, decree, layout);
  std::vector<SubgroupId> lost;
  const auto loaded = loaded_in(next, view, {set_of({3}), {}}, decree, lost);
  CHECK(loaded == std::vector{set_of({0, 1, 2, 3}), set_of({0, 1})});
  CHECK(lost == std::vector{SubgroupId(0)});
}

TEST_CASE("members of an inadequate subgroup keep what they have") {
  const View view = four_members();
  Decree decree = one_of_each();
  decree.joins.clear();
  decree.failed = set_of({1, 2});  // node 10 alone stays
  decree.loaded = {set_of({0}), set_of({0})};
  const View next = successor(view, decree, layout);
  REQUIRE(next.subgroups[1].members.empty());
  std::vector<SubgroupId> lost;
  const auto loaded = loaded_in(next, view, {set_of({0}), set_of({0})}, decree, lost);
  CHECK(loaded[1] == set_of({0}));
  CHECK(lost.empty());
}

TEST_CASE("a rank is that of one start of a node") {
  const View view = four_members();
  CHECK(rank_of(view, {NodeId(12), 112}) == Rank(2));
  CHECK_FALSE(rank_of(view, {NodeId(12), 113}));
  CHECK_FALSE(rank_of(view, {NodeId(14), 114}));
  CHECK_FALSE(rank_of(view, {NodeId(12), 0}));
}

}  // namespace
}  // namespace spindrift::views
