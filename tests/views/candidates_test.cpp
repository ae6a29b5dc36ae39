// The words of members on which candidates they are linked with.
#include <catch2/catch.hpp>

#include "desk.hpp"

namespace spindrift::views {
namespace {

TEST_CASE("a member's word says which candidates it is linked with, until it says otherwise or its connection ends") {
  Desk desk;
  desk.links.begin_view(desk.view);
  desk.meet(11, 1, 101, false, ViewId(5));
  desk.meet(12, 2, 102, false, ViewId(5));
  desk.meet(13, 3, 103);
  desk.hear();
  const auto linked = [&] {
    REQUIRE(desk.links.candidates().size() == 1);
    return desk.links.candidates()[0].linked;
  };
  CHECK(linked() == RankSet(0b001, 0));
  desk.fabric.says(11, encode(LinkedCandidates{{{NodeId(3), 103}}}));
  desk.fabric.says(12, encode(LinkedCandidates{{{NodeId(3), 99}}}));  // another start of it
  CHECK(desk.hear().empty());
  CHECK(linked() == RankSet(0b011, 0));
  desk.fabric.says(12, encode(LinkedCandidates{{{NodeId(3), 103}}}));
  desk.hear();
  CHECK(linked() == RankSet(0b111, 0));
  SECTION("it says otherwise") { desk.fabric.says(12, encode(LinkedCandidates{})); }
  SECTION("its connection ends") { desk.fabric.loses(12); }
  SECTION("it is back, and has said nothing yet") {
    desk.fabric.loses(12);
    desk.hear();
    desk.meet(22, 2, 102, false, ViewId(5));
  }
  desk.hear();
  CHECK(linked() == RankSet(0b011, 0));
}

TEST_CASE("a later start of a candidate takes its place, though the end of that one is not heard, but an earlier does not") {
  Desk desk;
  desk.links.begin_view(desk.view);
  desk.meet(13, 3, 103);
  desk.hear();
  desk.meet(23, 3, 102);
  desk.hear();
  CHECK(desk.links.candidates()[0].who == Join{NodeId(3), 103});
  desk.meet(33, 3, 104);
  desk.hear();
  REQUIRE(desk.links.candidates().size() == 1);
  CHECK(desk.links.candidates()[0].who == Join{NodeId(3), 104});
  CHECK(desk.ended(13));
}

TEST_CASE("a candidate's own word is not taken for a member's") {
  Desk desk;
  desk.links.begin_view(desk.view);
  desk.meet(13, 3, 103);
  desk.fabric.says(13, encode(LinkedCandidates{{{NodeId(3), 103}}}));
  desk.hear();
  CHECK(desk.links.candidates() == std::vector{Candidate{{NodeId(3), 103}, RankSet(0b001, 0)}});
}

TEST_CASE("a member tells its leader which candidates it is linked with, and again what is new or whenever the leader is") {
  Desk desk;
  desk.links.begin_view(desk.view);
  desk.meet(11, 1, 101, false, ViewId(5));
  desk.meet(12, 2, 102, false, ViewId(5));
  desk.hear();
  desk.links.tell_candidates(NodeId(1));  // there is none
  desk.meet(13, 3, 103);
  desk.hear();
  for (int i = 0; i < 2; ++i) desk.links.tell_candidates(NodeId(1));
  REQUIRE(desk.sent_to<LinkedCandidates>(11).size() == 1);
  CHECK(desk.sent_to<LinkedCandidates>(11)[0].candidates == std::vector{Join{NodeId(3), 103}});
  CHECK(desk.sent_to<LinkedCandidates>(12).empty());
  desk.links.tell_candidates(NodeId(2));
  CHECK(desk.sent_to<LinkedCandidates>(12).size() == 1);
  desk.fabric.loses(13);
  desk.hear();
  desk.links.tell_candidates(NodeId(2));
  REQUIRE(desk.sent_to<LinkedCandidates>(12).size() == 2);
  CHECK(desk.sent_to<LinkedCandidates>(12)[1].candidates.empty());
}

}  // namespace
}  // namespace spindrift::views
