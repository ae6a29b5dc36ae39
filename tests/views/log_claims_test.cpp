// A log that was away and is taken up again: by whom, and what the next view makes of it.
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include <spindrift/views/deliveries.hpp>
#include <spindrift/views/log_claims.hpp>
#include <spindrift/views/own_logs.hpp>
#include <spindrift/views/versions.hpp>

#include "application.hpp"
#include "away_log.hpp"
#include "ends_of_logs.hpp"

namespace spindrift::views {
TEST_CASE("a node says nothing of a log that is cut short, as if it had none of it") {
  const std::vector<SubgroupView> shapes = layout_of_most(4)({NodeId(1)}, nullptr);
  EndsOfLogs logs;
  CHECK(known_logs(&logs, shapes).size() == 1);
  logs.cut_short = SubgroupId(0);
  CHECK(known_logs(&logs, shapes).empty());
}

TEST_CASE("holders that are back are found by the longest of their logs, when all of them in the view have said theirs") {
  Claims claims(away({holder(1, 50), holder(2, 51), holder(9, 52)}));
  CHECK(claims.claims.asks());
  CHECK_FALSE(claims.claims.asks());
  CHECK(claims.found().empty());
  claims.say(1, 50, 8);
  CHECK(claims.found().empty());
  claims.say(0, 1, 99);  // it is no holder
  SECTION("one has more") {
    claims.say(2, 40, 9);
    CHECK(claims.found() == set_of({2}));
  }
  SECTION("they have the same") {
    claims.say(2, 40, 8);
    CHECK(claims.found() == set_of({1, 2}));
  }
  SECTION("one lost its disk since") {
    claims.say(2, 52, 9);
    CHECK(claims.found() == set_of({1}));
  }
  SECTION("both did") {
    claims.say(2, 52, 9);
    claims.say(1, 51, 8);
    CHECK(claims.found().empty());
  }
  SECTION("the log has no message yet") {
    claims.say(1, 50, 0);
    claims.say(2, 51, 0);
    CHECK(claims.found() == set_of({1, 2}));
  }
}

TEST_CASE("nobody is named for a log whom the layout leaves out of its subgroup") {
  Claims claims(away({holder(1, 50), holder(2, 51)}));
  claims.layout = [](const std::vector<NodeId>& members, const View*) {
    std::vector<SubgroupView> subgroups = layout_of_most(4)(members, nullptr);
    std::erase(subgroups[0].members, NodeId(2));
    std::erase(subgroups[0].senders, NodeId(2));
    return subgroups;
  };
  claims.say(1, 50, 8);
  claims.say(2, 51, 9);
  CHECK(claims.found().empty());
  claims.say(2, 51, 7);
  CHECK(claims.found() == set_of({1}));
}

TEST_CASE("longest logs that differ are nobody's, and are told of once") {
  Claims claims(away({holder(1, 50), holder(2, 51)}));
  claims.say(1, 50, 8);
  claims.say(2, 51, 8, 6);
  CHECK(claims.found().empty());
  CHECK(claims.claims.take_forked() == std::vector<ForkedLog>{{SubgroupId(0), 8, {NodeId(1), NodeId(2)}}});
  CHECK(claims.claims.take_forked().empty());
}

TEST_CASE("nobody is asked for a log that somebody has, nor in a view of an earlier version") {
  CHECK_FALSE(Claims(away({holder(1, 50)}), set_of({3})).claims.asks());
  CHECK_FALSE(Claims(away({holder(1, 50)}, logs_return_since - 1)).claims.asks());
  CHECK_FALSE(Claims(away({})).claims.asks());
}

TEST_CASE("those that are named go on in the subgroup, whomever else the layout would take") {
  const View view = away({holder(2, 50), holder(3, 51)});
  Decree decree;
  decree.loaded = {set_of({2})};
  std::vector<SubgroupId> lost;
  View next = successor(view, decree, layout_of_most(2), view.roster);
  const std::vector<RankSet> loaded = loaded_in(next, view, {RankSet()}, decree, lost);
  CHECK(loaded[0] == set_of({2}));
  carry_logs(next, view, decree, loaded);
  CHECK(next.subgroups[0].member_position(NodeId(2)));
  CHECK(next.subgroups[0].log_holders == Holders{holder(2, 102)});
  CHECK(next.subgroups[0].inadequate.empty());
}

TEST_CASE("while a subgroup is inadequate all that had its log are holders, be they gone, and those that had it last") {
  View view = away({holder(0, 100), holder(2, 102), holder(9, 50)});
  Decree decree;
  decree.failed = set_of({2});
  decree.left = set_of({1});
  for (const bool stays : {true, false}) {
    decree.loaded = {stays ? set_of({0, 1}) : set_of({1})};
    View next = successor(view, decree, layout_of_most(0), view.roster);
    std::vector<SubgroupId> lost;
    carry_logs(next, view, decree, loaded_in(next, view, {set_of({0})}, decree, lost));
    std::vector<NodeId> nodes = nodes_of(next.subgroups[0].log_holders);
    std::ranges::sort(nodes);
    CHECK(nodes == std::vector{NodeId(0), NodeId(1), NodeId(2), NodeId(9)});
    CHECK(next.subgroups[0].inadequate.starts_with("its log is with") == !stays);
  }
  view.roster.version = logs_return_since - 1;
  decree.loaded = {set_of({0, 1})};
  View next = successor(view, decree, layout_of_most(0), view.roster);
  carry_logs(next, view, decree, {set_of({0})});
  CHECK(next.subgroups[0].log_holders == Holders{holder(0, 100)});
}

TEST_CASE("of those that have the log in a first view only members of the subgroup are holders behind it") {
  View first = away({});
  first.subgroups = layout_of_most(1)(first.members, nullptr);
  std::vector<RankSet> loaded(1);
  begin_logs(first, loaded, std::vector<FirstLog>{{SubgroupId(0), {holder(0, 100), holder(1, 101)}, {NodeId(0)}}});
  CHECK(first.subgroups[0].log_holders == Holders{holder(0, 100)});
}

namespace {

/// Node 0, from view to view; the log has five messages at first.
struct Reading {
  void begin(std::uint64_t id, const RankSet& having, bool member = true) {
    View view = away({holder(1, 50)});
    view.id = ViewId(id);
    if (!having.empty()) view.subgroups = layout_of_most(4)(view.members, nullptr);
    if (!member) std::erase(view.subgroups[0].members, NodeId(0));
    deliveries.begin_view(view, {having}, {});
  }

  Application application;
  EndsOfLogs logs;
  Deliveries deliveries{NodeId(0), 1, 1000, application, {}, &logs};
};

}  // namespace

TEST_CASE("an application is given the log that its member takes up in a later view than its first, once") {
  Reading reading;
  reading.begin(7, {});
  CHECK(reading.application.replays.empty());
  reading.begin(8, set_of({0}));
  CHECK(reading.application.replays == std::vector<std::uint64_t>{5});
  reading.begin(9, set_of({0}));
  CHECK(reading.application.replays.size() == 1);
}

TEST_CASE("who was given more of a log than is durable for sure cannot go on with one that others take up") {
  Reading reading;
  reading.begin(7, set_of({0}));
  reading.begin(8, {});
  SECTION("it takes it up itself") {
    reading.begin(9, set_of({0}));
    CHECK_FALSE(reading.deliveries.set_back());
    CHECK(reading.application.replays.size() == 1);
  }
  SECTION("others do") {
    reading.begin(9, set_of({1}));
    CHECK(reading.deliveries.set_back() == SubgroupId(0));
  }
  SECTION("others do, and its application is being given its own log, though it is out of the subgroup") {
    reading.application.saved = false;
    reading.begin(9, set_of({1}), false);
    CHECK(reading.deliveries.set_back() == SubgroupId(0));
  }
  SECTION("others do, and it comes into the subgroup later") {
    reading.begin(9, set_of({1}), false);
    CHECK_FALSE(reading.deliveries.set_back());
    reading.begin(10, set_of({1}));
    CHECK(reading.deliveries.set_back() == SubgroupId(0));
  }
}

TEST_CASE("who was given nothing of a log can go on with one that others take up") {
  Reading reading;
  reading.begin(7, {});
  reading.begin(8, set_of({1}));
  CHECK_FALSE(reading.deliveries.set_back());
}

}  // namespace spindrift::views
