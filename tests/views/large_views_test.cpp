// Views of more members than two words have bits for, and what earlier releases, which have two words, see of the rest.
#include <catch2/catch.hpp>

#include <cstring>
#include <string>
#include <vector>

#include <spindrift/core/log.hpp>
#include <spindrift/sst/table.hpp>
#include <spindrift/views/decree.hpp>
#include <spindrift/views/founding.hpp>
#include <spindrift/views/messages.hpp>
#include <spindrift/views/roster_bytes.hpp>
#include <spindrift/views/view_change.hpp>

#include "one_subgroup.hpp"

namespace spindrift::views {
namespace {

constexpr std::uint32_t many = 200;

View view_of_first(std::uint32_t members) {
  View view;
  view.id = ViewId(1);
  for (std::uint32_t i = 0; i < members; ++i) {
    view.members.emplace_back(i);
    view.incarnations.push_back(1000 + i);
  }
  view.subgroups.push_back(subgroup_of(view.members));
  return view;
}

Roster roster_of_first(std::uint32_t nodes, std::uint32_t version) {
  Roster roster;
  for (std::uint32_t i = 0; i < nodes; ++i) roster.nodes.push_back({NodeId(i), ""});
  roster.version = version;
  return roster;
}

RankSet set_of(std::initializer_list<std::uint32_t> ranks) {
  RankSet set;
  for (const std::uint32_t rank : ranks) set.add(Rank(rank));
  return set;
}

std::optional<Message> read(const std::vector<std::byte>& bytes, const std::vector<SubgroupView>& shapes = {}) {
  return decode(bytes, {"group", {1, 2}, {17, 19}}, shapes, NodeId(0));
}

}  // namespace

TEST_CASE("a set of ranks has all that a view may have") {
  const RankSet all = RankSet::first(member_count_max);
  CHECK(all.count() == member_count_max);
  const RankSet some = RankSet::first(129);
  CHECK(some.count() == 129);
  CHECK((some.contains(Rank(128)) && !some.contains(Rank(129))));
  CHECK((all.includes(some) && !some.includes(all) && all.without(some).count() == member_count_max - 129));
  const RankSet high = set_of({member_count_max - 1});
  CHECK((high.disjoint(some) && !high.disjoint(all) && !high.empty() && !(high == RankSet())));
  RankSet joined = some;
  joined.add(high);
  CHECK(joined.count() == 130);
}

TEST_CASE("a decree of a large view travels, and that of a small one has the words that earlier releases know") {
  CHECK(sst::decree_words_of(view_of_first(128)) == 10 + 64 + 2 + 128);
  const View view = view_of_first(many);
  CHECK(sst::decree_words_of(view) == 14 + 64 + 4 + many);
  Decree decree;
  decree.failed = set_of({1, 150});
  decree.left = set_of({127, 199});
  decree.joins = {{NodeId(300), 7}};
  decree.loaded = {set_of({0, 128, 198})};
  decree.trim = {std::vector<std::uint64_t>(many, 3)};
  const auto read_back = decode(encode(decree, view), view);
  REQUIRE(read_back);
  CHECK((read_back->failed == decree.failed && read_back->left == decree.left && read_back->joins == decree.joins));
  CHECK((read_back->loaded == decree.loaded && read_back->trim == decree.trim));
  decree.failed = set_of({many});  // no member
  CHECK_FALSE(decode(encode(decree, view), view));
}

TEST_CASE("a row says whom its owner suspects, whatever the rank, and a reader takes no other word for that") {
  REQUIRE(log::set_levels("off").ok());
  struct Nothing final : Counts {
    void wedge() override {}
    [[nodiscard]] bool can_deliver(const Decree&) const override { return true; }
  } counts;
  const View view = view_of_first(many);
  const std::vector<RankSet> loaded{RankSet::first(many)};
  const RosterAgreement rosters(view, Rank(0));
  std::vector<std::byte> own(sst::RowLayout(view, NodeId(0)).bytes());
  sst::Table table(view, NodeId(0), own);
  std::vector<std::vector<std::byte>> rows(many);
  for (std::uint32_t i = 1; i < many; ++i) {
    rows[i].resize(table.layout(Rank(i)).bytes());
    table.attach_mapped(Rank(i), rows[i]);
  }
  ViewChange change(view, loaded, table, counts, rosters, {});
  const auto says = [&](std::uint32_t of, std::uint32_t word, std::uint64_t bits) {
    std::memcpy(rows[of].data() + table.layout(Rank(of)).suspected(word), &bits, sizeof bits);
  };
  change.suspect(Rank(150), "it was told to");
  CHECK(table.own(table.layout(Rank(0)).suspected(150 / 64)) == std::uint64_t{1} << 150 % 64);
  says(170, 0, 1);  // this member
  static_cast<void>(change.step({}, true, {}));
  CHECK(change.suspected() == set_of({150, 170}));
  says(171, many / 64, std::uint64_t{1} << (many % 64));  // nobody
  static_cast<void>(change.step({}, true, {}));
  CHECK(change.suspected() == set_of({150, 170, 171}));
}

TEST_CASE("the notice of a large view travels") {
  ViewNotice notice;
  notice.view = view_of_first(many);
  notice.view.roster = roster_of_first(many, large_rosters_since);
  notice.view.roster.sizes = ring_sizes_of(notice.view.subgroups);
  notice.newcomers = set_of({190, 199});
  notice.loaded = {RankSet::first(190)};
  const auto message = read(encode(notice), one_subgroup({}, nullptr));
  REQUIRE((message && std::holds_alternative<ViewNotice>(*message)));
  const auto& read_back = std::get<ViewNotice>(*message);
  CHECK((read_back.view.members == notice.view.members && read_back.view.roster == notice.view.roster));
  CHECK((read_back.newcomers == notice.newcomers && read_back.loaded == notice.loaded));
  CHECK(read_back.view.subgroups[0].senders == notice.view.members);
}

TEST_CASE("the word to revive a view is as earlier releases know it, unless it names members that these do not have") {
  const auto travels = [](const RankSet& members) {
    const auto message = read(encode(ReviveRequest{ViewId(3), {1, members}}));
    return message && std::get<ReviveRequest>(*message).revival.members == members;
  };
  CHECK(travels(set_of({0, 127})));
  CHECK(travels(set_of({5, 199})));
  const auto few = encode(ReviveRequest{ViewId(3), {1, set_of({0, 127})}});
  const auto more = encode(ReviveRequest{ViewId(3), {1, set_of({0, 199})}});
  CHECK(few.size() + 16 == more.size());
  auto two_ways_to_say_it = few;
  two_ways_to_say_it.resize(more.size());
  CHECK_FALSE(read(two_ways_to_say_it));
}

TEST_CASE("a roster has as many nodes as all who speak its version can read") {
  const auto is_read = [](std::uint32_t nodes, std::uint32_t version) {
    ByteWriter writer;
    put_roster(writer, roster_of_first(nodes, version));
    const auto bytes = writer.take();
    ByteReader reader(bytes);
    Roster roster;
    return get_roster(reader, roster);
  };
  CHECK((is_read(128, 18) && is_read(129, 19) && is_read(roster_count_max, 19)));
  CHECK_FALSE(is_read(129, 18));
  CHECK_FALSE(is_read(roster_count_max + 1, 19));

  const View view = view_of_first(3);
  const std::vector<RosterChange> add{{.kind = RosterChange::Kind::add, .node = NodeId(900)}};
  CHECK(check(roster_of_first(128, 19), add, view).ok());
  const auto early = check(roster_of_first(128, 18), add, view);
  REQUIRE_FALSE(early.ok());
  CHECK(early.error().to_string().find("128 nodes, as many as it may while a member is of an earlier release") !=
        std::string::npos);
  CHECK(early.error().to_string().find("upgrade all members") != std::string::npos);
  const auto full = check(roster_of_first(roster_count_max, 19), add, view);
  REQUIRE_FALSE(full.ok());
  CHECK(full.error().to_string().find("upgrade") == std::string::npos);
}

TEST_CASE("a first view that an earlier release is in has as much of the file as that can read") {
  const auto founded_with = [](std::uint32_t newest) {
    Founding founding({NodeId(0), 100}, {NodeId(0), NodeId(190)}, one_subgroup, roster_of_first(many, 19));
    const std::vector<Founding::Met> met{{{NodeId(190), 101}, true, {17, newest}}};
    static_cast<void>(founding.step(met));
    founding.on_promise(NodeId(190), {1, 100});
    const auto view = founding.step(met).view;
    REQUIRE(view);
    CHECK(view->view.roster.contains(NodeId(190)));
    return view->view.roster.nodes.size();
  };
  CHECK(founded_with(18) == 128);
  CHECK(founded_with(19) == many);
}

TEST_CASE("more founders than an earlier release among them can read found nothing with it") {
  const auto asks = [](std::uint32_t newest) {
    std::vector<NodeId> founders;
    std::vector<Founding::Met> met;
    for (std::uint32_t i = 0; i < 129; ++i) {
      founders.emplace_back(i);
      if (i > 0) met.push_back({{NodeId(i), 100 + i}, true, {17, i == 77 ? newest : 19}});
    }
    Founding founding({NodeId(0), 100}, founders, one_subgroup, roster_of_first(many, 19));
    return !founding.step(met).messages.empty();
  };
  CHECK(asks(19));
  CHECK_FALSE(asks(18));
}

}  // namespace spindrift::views
