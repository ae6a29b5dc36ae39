// Layouts that a program composes: the same subgroups as the configuration's form gives, choices view by view, mistakes.
#include "config_fixture.hpp"

#include <algorithm>

#include <spindrift/core/config/layout_parts.hpp>

using namespace spindrift;
using namespace spindrift::test;

namespace {

/// A group of that many, with the profiles DEFAULT and SMALL.
Config group_of(unsigned count) {
  return parse(with_layout(R"([{"name": "unused"}])", count) +
               "[SUBGROUP/SMALL]\nmax_smc_payload_size = 100\nwindow_size = 50\nring_size = 4 KiB\n" + with_journals);
}

LayoutFunction function_of(const Config& config, const std::vector<LayoutPart>& parts) {
  LayoutParts all(config);
  for (const LayoutPart& part : parts) all.add(part);
  return value_or_throw(all.function());
}

/// The views of one layout, each following the last.
struct Views {
  LayoutFunction layout;
  View last{};

  const std::vector<SubgroupView>& next(std::initializer_list<std::uint32_t> members) {
    View view;
    view.members = ids(members);
    view.subgroups = layout(view.members, last.members.empty() ? nullptr : &last);
    last = std::move(view);
    return last.subgroups;
  }
};

/// The members with even ids.
std::vector<NodeId> even(const std::vector<NodeId>& members) {
  std::vector<NodeId> chosen;
  std::copy_if(members.begin(), members.end(), std::back_inserter(chosen), [](NodeId id) { return id.value() % 2 == 0; });
  return chosen;
}

/// The error of a layout of those parts in a group of 3.
Error error_of(const std::vector<LayoutPart>& parts) {
  LayoutParts all(group_of(3));
  for (const LayoutPart& part : parts) all.add(part);
  const auto made = all.function();
  REQUIRE_FALSE(made);
  CHECK(made.error().kind() == ErrorKind::bad_config);
  CHECK(made.error().place() == "LayoutParts");
  CHECK_FALSE(made.error().fix().empty());
  return made.error();
}

}  // namespace

TEST_CASE("parts make the subgroups that the configuration's entries make, view by view") {
  const Config config = group_of(6);
  Views parts{function_of(config, {LayoutPart("all"), LayoutPart("some").of(ids({1, 2, 4})).senders(ids({4})).unordered(),
                                   LayoutPart("cut").shards(2).at_least(2).at_most(3).profile("SMALL"),
                                   LayoutPart("kept").logged(), LayoutPart("parts").shards(2).logged()})};
  Views entries{value_or_throw(parse(with_layout(R"([{"name": "all"},
      {"name": "some", "members": [1, 2, 4], "senders": [4], "mode": "unordered"},
      {"name": "cut", "shards": 2, "min_members": 2, "max_members": 3, "profile": "SMALL"},
      {"name": "kept", "storage": "logged"}, {"name": "parts", "shards": 2, "storage": "logged"}])", 6) +
      "[SUBGROUP/SMALL]\nmax_smc_payload_size = 100\nwindow_size = 50\nring_size = 4 KiB\n" + with_journals)
          .layout_function())};
  for (const auto& members : {std::initializer_list<std::uint32_t>{0, 1, 2, 3, 4, 5}, {0, 2, 3, 5}, {2, 3, 5, 1, 4}}) {
    const auto& made = parts.next(members);
    const auto& expected = entries.next(members);
    REQUIRE(made.size() == expected.size());
    for (std::size_t i = 0; i < made.size(); ++i) {
      CHECK(made[i].name == expected[i].name);
      CHECK(made[i].members == expected[i].members);
      CHECK(made[i].senders == expected[i].senders);
      CHECK(made[i].mode == expected[i].mode);
      CHECK(made[i].storage == expected[i].storage);
      CHECK(made[i].inadequate == expected[i].inadequate);
      CHECK(made[i].profile.ring_bytes == expected[i].profile.ring_bytes);
    }
  }
  CHECK(parts.last.subgroups.at(3).name == "cut/1");
  CHECK(parts.last.subgroups.at(3).profile.ring_bytes == 4096);
  CHECK(parts.last.subgroups.at(4).storage == SubgroupStorage::logged);
}

TEST_CASE("a function chooses members in each view anew, and one that it chooses no more goes") {
  Views views{function_of(group_of(6), {LayoutPart("even").chosen_by(even).at_least(2),
                                        LayoutPart("first").chosen_by([](const std::vector<NodeId>& members) {
                                          return std::vector{members[0], members[0], NodeId(77)};
                                        })})};
  views.next({0, 1, 2, 3, 4});
  CHECK(views.last.subgroups[0].members == ids({0, 2, 4}));
  CHECK(views.last.subgroups[1].members == ids({0}));
  views.next({2, 4, 3, 0});
  CHECK(views.last.subgroups[0].members == ids({0, 2, 4}));
  CHECK(views.last.subgroups[1].members == ids({2}));
  CHECK(views.last.subgroups[1].senders == ids({2}));
  views.next({4, 3, 5});
  CHECK(views.last.subgroups[0].members.empty());
  CHECK(views.last.subgroups[0].inadequate == "needs 2 members and lacks 1: 1 of the view's can be given: 4");
}

TEST_CASE("members that a function chooses are cut into shards") {
  unsigned calls = 0;
  const LayoutFunction layout = function_of(group_of(8), {LayoutPart("s").shards(2).chosen_by([&](const auto& members) {
                                              ++calls;
                                              return even(members);
                                            })});
  Views views{layout};
  calls = 0;
  views.next({0, 1, 2, 3, 4, 6});
  CHECK(calls == 1);
  CHECK(views.last.subgroups.at(0).members == ids({0, 2}));
  CHECK(views.last.subgroups.at(1).members == ids({4, 6}));
  views.next({0, 4, 6, 7});
  CHECK(views.last.subgroups.at(0).members == ids({0}));
  CHECK(views.last.subgroups.at(1).members == ids({4, 6}));
}

TEST_CASE("a layout of parts that cannot be is refused with cause and fix") {
  const auto says = [](const std::vector<LayoutPart>& parts, const std::string& what) {
    CHECK_THAT(error_of(parts).message(), Catch::Contains(what));
  };
  says({}, "the layout has no part");
  says({LayoutPart("a b")}, "subgroup \"a b\": it needs another name");
  says({LayoutPart("")}, "needs another name");
  says({LayoutPart("a"), LayoutPart("a")}, "two parts of the layout are called \"a\"");
  says({LayoutPart("a").of(ids({0})).chosen_by(even)}, "are named, and chosen by a function");
  says({LayoutPart("a").chosen_by(even).senders(ids({0}))}, "chooses its members, but not its senders");
  says({LayoutPart("a").of({})}, "it names no members");
  says({LayoutPart("a").of(ids({1, 1}))}, "it names a node twice");
  says({LayoutPart("a").of(ids({1, 9}))}, "node 9 is no member of the group");
  says({LayoutPart("a").of(ids({1})).senders(ids({2}))}, "sender 2 is no member of the subgroup");
  says({LayoutPart("a").at_least(0)}, "at_least is 0");
  says({LayoutPart("a").at_least(4)}, "it needs 4 members and lacks 1");
  says({LayoutPart("a").shards(0)}, "it has no shard");
  says({LayoutPart("a").shards(2).at_least(2)}, "subgroup \"a/1\": it needs 2 members and lacks 1");
  says({LayoutPart("a").shards(2).senders(ids({0}))}, "senders belong to one shard");
  says({LayoutPart("a").at_most(2)}, "without shards it has all members");
  says({LayoutPart("a").shards(1).at_least(3).at_most(2)}, "at_most, 2, is less than at_least, 3");
  says({LayoutPart("a").profile("TINY")}, "there is no profile \"TINY\"");
  says({LayoutPart("a").shards(UINT32_MAX)}, "more than 1024 subgroups and shards");
  says({LayoutPart("a").unordered().logged()}, "subgroup \"a\": it is logged, and unordered");
  says({LayoutPart("a").at_least(0), LayoutPart("b").shards(0)}, "(the first of 2 problems)");
  const auto none = LayoutParts(parse("")).add(LayoutPart("a")).function();
  REQUIRE_FALSE(none);
  CHECK_THAT(none.error().message(), Catch::Contains("no layout"));
}

TEST_CASE("a logged part needs what a configuration's logged subgroup needs") {
  const auto outcome = [](const std::vector<ConfigOverride>& flags, const LayoutPart& part) {
    const auto made = LayoutParts(parse(with_layout(R"([{"name": "unused"}])"), flags)).add(part).function();
    return made ? std::string() : made.error().message();
  };
  const ConfigOverride directory{"PERS/file_path", "/var/lib/spindrift"};
  const ConfigOverride present{"SPINDRIFT/founding", "present"};
  CHECK(outcome({directory}, LayoutPart("a").logged()).empty());
  CHECK(outcome({}, LayoutPart("a")).empty());
  CHECK_THAT(outcome({}, LayoutPart("a").logged()), Catch::Contains("subgroup \"a\": it is logged, and no directory"));
  CHECK_THAT(outcome({directory, present}, LayoutPart("a").logged()), Catch::Contains("no founders are named"));
}
