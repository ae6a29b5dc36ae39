// Look-ups in a view.
#include <catch2/catch.hpp>

#include <stdexcept>

#include <spindrift/core/view.hpp>

using namespace spindrift;

TEST_CASE("ranks, positions and sender ranks are places in their lists") {
  View view;
  view.members = {NodeId(9), NodeId(3), NodeId(5)};
  SubgroupView subgroup;
  subgroup.name = "orders";
  subgroup.members = {NodeId(9), NodeId(5)};
  subgroup.senders = {NodeId(5)};
  view.subgroups.push_back(subgroup);

  CHECK(view.rank_of(NodeId(9)) == Rank(0));
  CHECK(view.rank_of(NodeId(5)) == Rank(2));
  CHECK_FALSE(view.rank_of(NodeId(4)));
  CHECK(view.subgroup(SubgroupId(0)).name == "orders");
  CHECK_THROWS_AS(view.subgroup(SubgroupId(1)), std::out_of_range);
  CHECK(subgroup.member_position(NodeId(5)) == 1U);
  CHECK_FALSE(subgroup.member_position(NodeId(3)));
  CHECK(subgroup.sender_rank(NodeId(5)) == SenderRank(0));
  CHECK_FALSE(subgroup.sender_rank(NodeId(9)));
}
