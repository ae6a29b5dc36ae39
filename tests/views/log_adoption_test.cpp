// A log that is adopted: what speaks against it, who is named for it, and what the next view makes of it.
#include <catch2/catch.hpp>

#include <memory>
#include <span>
#include <vector>

#include <spindrift/views/log_claims.hpp>

#include "away_log.hpp"

namespace spindrift::views {
namespace {

using Catch::Contains;

/// Nodes 1 and 9 are the holders: 1 has lost its disk since, 9 is not here. The others have parts of the log.
struct LostHolder : Claims {
  explicit LostHolder(View of = away({holder(1, 50), holder(9, 51)})) : Claims(std::move(of)) {
    say(0, 1, 5);
    say(1, 60, 0);
    say(2, 1, 8);
    say(3, 1, 0);
  }
};

}  // namespace

TEST_CASE("nobody but a holder has a log taken up, unless somebody says that it is adopted") {
  LostHolder claims;
  CHECK(claims.found().empty());
  CHECK_THAT(claims.adopt(2, false),
             Contains("with nodes 1, 9") && Contains("node 2 goes up to version 8") && Contains("lost"));
  CHECK(claims.kind == ErrorKind::no_majority);
  CHECK(claims.found().empty());
  CHECK(claims.adopt(2).empty());
  CHECK(claims.found() == set_of({2}));
  claims.say(3, 1, 0);  // what is said once more changes nothing
  CHECK(claims.found() == set_of({2}));
}

TEST_CASE("all members with as much of the same log are named with the one that is adopted") {
  LostHolder claims;
  claims.say(0, 1, 8);
  CHECK(claims.adopt(2).empty());
  CHECK(claims.found() == set_of({0, 2}));
}

TEST_CASE("a log is not adopted where another member has more of it, or as much of another one") {
  LostHolder claims;
  CHECK_THAT(claims.adopt(0), Contains("node 2 has the log up to version 8, and node 0 only up to 5"));
  CHECK(claims.kind == ErrorKind::refused);
  claims.say(3, 1, 8, 6);
  CHECK_THAT(claims.adopt(2), Contains("node 3") && Contains("not the same"));
  CHECK(claims.kind == ErrorKind::refused);
  CHECK(claims.found().empty());
}

TEST_CASE("a log is not adopted of who has nothing of it, or is no member") {
  LostHolder claims;
  CHECK_THAT(claims.adopt(3), Contains("node 3 has nothing of the log"));
  CHECK_THAT(claims.adopt(9), Contains("node 9 is no member"));
  CHECK(claims.kind == ErrorKind::bad_argument);
}

TEST_CASE("a log is not adopted where a holder is here with it, or a member has not said what it has") {
  LostHolder claims;
  claims.say(1, 50, 3);  // before the others: the longest of the holders' in the view is taken up
  CHECK_THAT(claims.adopt(2), Contains("node 1 is a holder of the log, and here with it"));
  CHECK(claims.found() == set_of({1}));
  Claims silent(away({holder(9, 51)}));
  for (const std::uint32_t node : {0U, 1U, 2U}) silent.say(node, 1, 8);
  CHECK_THAT(silent.adopt(2), Contains("node 3 has not said yet"));
  CHECK(silent.kind == ErrorKind::refused);
  CHECK(silent.found().empty());
}

TEST_CASE("a log is not adopted where the subgroup is adequate, not logged, dropped, or of an earlier version") {
  Claims here(away({holder(1, 50)}), set_of({1}));
  CHECK_THAT(here.adopt(2), Contains("the log of subgroup orders is here"));
  View plain = away({});
  plain.subgroups[0].storage = SubgroupStorage::memory;
  CHECK_THAT(LostHolder(plain).adopt(2), Contains("is not logged"));
  View dropped = away({holder(9, 51)});
  dropped.subgroups[0].dropped = true;
  CHECK_THAT(LostHolder(dropped).adopt(2), Contains("was dropped"));
  LostHolder earlier(away({holder(9, 51)}, logs_return_since - 1));
  CHECK_THAT(earlier.adopt(2), Contains("version 19"));
  CHECK(earlier.kind == ErrorKind::unsupported);
}

TEST_CASE("a log is not adopted where the next view would have nobody in its subgroup, or nobody who has it") {
  LostHolder claims;
  SECTION("it would lack members") {
    claims.layout = [](const std::vector<NodeId>& members, const View*) {
      std::vector<SubgroupView> subgroups = layout_of_most(0)(members, nullptr);
      subgroups[0].inadequate = "it needs five members";
      return subgroups;
    };
    CHECK_THAT(claims.adopt(2), Contains("it needs five members"));
  }
  SECTION("the layout takes others") {
    claims.layout = [](const std::vector<NodeId>& members, const View*) {
      std::vector<SubgroupView> subgroups = layout_of_most(4)(members, nullptr);
      std::erase(subgroups[0].members, NodeId(2));
      std::erase(subgroups[0].senders, NodeId(2));
      return subgroups;
    };
    CHECK_THAT(claims.adopt(2), Contains("no place"));
  }
  CHECK(claims.found().empty());
}

TEST_CASE("behind a view in which a log was adopted those that are named are its only holders") {
  LostHolder claims;
  REQUIRE(claims.adopt(2).empty());
  Decree decree;
  decree.loaded = {claims.found()};
  std::vector<SubgroupId> lost;
  View next = successor(claims.view, decree, claims.layout, claims.view.roster);
  carry_logs(next, claims.view, decree, loaded_in(next, claims.view, claims.loaded, decree, lost));
  CHECK(next.subgroups[0].log_holders == Holders{holder(2, 102)});
  CHECK(next.subgroups[0].inadequate.empty());
  CHECK(lost.empty());
}

TEST_CASE("while a log is away its subgroup says which holders are here without it, and what can be done") {
  const View view = away({holder(1, 50), holder(9, 51)});
  Decree decree;
  decree.loaded.resize(1);
  View next = successor(view, decree, layout_of_most(4), view.roster);
  carry_logs(next, view, decree, {RankSet()});
  CHECK_THAT(next.subgroups[0].inadequate,
             Contains("its log is with nodes 1, 9, none of which was there with it") &&
                 Contains("node 1 is here, without it so far") && Contains("spindrift log adopt"));
}

}  // namespace spindrift::views
