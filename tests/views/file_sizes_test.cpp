// Sizes of rings that files say, and when a group takes them.
#include <catch2/catch.hpp>

#include <spindrift/views/roster_agreement.hpp>

namespace spindrift::views {
namespace {

const std::vector<RingSizes> old_sizes{{"orders", 4096, 8}};
const std::vector<RingSizes> new_sizes{{"orders", 8192, 20}};

View view_of_two() {
  View view;
  view.id = ViewId(9);
  view.members = {NodeId(0), NodeId(1)};
  view.incarnations = {1, 1};
  SubgroupView orders;
  orders.name = "orders";
  orders.profile = {.ring_bytes = 4096, .window_messages = 8, .message_bytes_max = 100};
  view.subgroups = {orders};
  view.roster = {4, {{NodeId(0), "a:1"}, {NodeId(1), "b:1"}}, {}, {}, old_sizes, digest_of(old_sizes)};
  return view;
}

RosterChange add(std::uint32_t node) { return {RosterChange::Kind::add, NodeId(node), "d:1"}; }

}  // namespace

TEST_CASE("a group takes the sizes that the files of all members say, and remembers that they did") {
  const View view = view_of_two();
  RosterAgreement leader(view, Rank(0));
  REQUIRE(leader.on_file(Rank(1), new_sizes));
  CHECK_FALSE(leader.propose(0));  // the leader's own file says what it said before
  REQUIRE(leader.on_file(Rank(0), new_sizes));
  const auto proposal = leader.propose(0);
  REQUIRE(proposal);
  CHECK(proposal->edition == 5);
  CHECK(proposal->sizes == new_sizes);
  CHECK(proposal->filed == digest_of(new_sizes));
  CHECK(proposal->nodes == view.roster.nodes);
}

TEST_CASE("as long as files differ a group keeps its sizes, whatever else changes") {
  const View view = view_of_two();
  RosterAgreement leader(view, Rank(0));
  REQUIRE(leader.on_file(Rank(1), new_sizes));
  REQUIRE(leader.on_file(Rank(0), {{"orders", 8192, 21}}));
  CHECK_FALSE(leader.propose(0));
  leader.request(Rank(0), std::vector{add(7)});
  const auto proposal = leader.propose(0);
  REQUIRE(proposal);
  CHECK(proposal->sizes == old_sizes);
  CHECK(proposal->filed == digest_of(old_sizes));
}

TEST_CASE("what a file says of a member that says it again is what it says last, and what is impossible is refused") {
  const View view = view_of_two();
  RosterAgreement leader(view, Rank(0));
  CHECK_FALSE(leader.on_file(Rank(1), {}));
  CHECK_FALSE(leader.on_file(Rank(1), {{"order", 8192, 20}}));
  CHECK_FALSE(leader.on_file(Rank(1), {{"orders", 8192, 0}}));
  REQUIRE(leader.on_file(Rank(1), {{"orders", 8192, 21}}));
  REQUIRE(leader.on_file(Rank(0), new_sizes));
  REQUIRE(leader.on_file(Rank(1), new_sizes));
  CHECK(leader.propose(0));
}

TEST_CASE("one proposal has both what files say and what somebody wants, who decides about sizes") {
  const View view = view_of_two();
  RosterAgreement leader(view, Rank(0));
  const RosterChange resize{.kind = RosterChange::Kind::resize, .sizes = {"orders", 4096, 3}};
  leader.request(Rank(0), std::vector{add(7), resize});
  REQUIRE(leader.on_file(Rank(0), new_sizes));
  REQUIRE(leader.on_file(Rank(1), new_sizes));
  const auto proposal = leader.propose(0);
  REQUIRE(proposal);
  CHECK(proposal->edition == 5);
  CHECK(proposal->contains(NodeId(7)));
  CHECK(proposal->sizes == std::vector{resize.sizes});
  CHECK(proposal->filed == Digest());
}

TEST_CASE("what somebody wanted is undone by no file, whatever all of them say") {
  View view = view_of_two();
  view.roster.filed = {};
  for (const auto& said : {new_sizes, old_sizes}) {
    RosterAgreement leader(view, Rank(0));
    REQUIRE(leader.on_file(Rank(0), said));
    REQUIRE(leader.on_file(Rank(1), said));
    CHECK_FALSE(leader.propose(0));
  }
}

TEST_CASE("nobody proposes other subgroups for the layout's, or sizes that do not hold their messages") {
  const View view = view_of_two();
  RosterAgreement member(view, Rank(1));
  Roster next = view.roster;
  ++next.edition;
  const auto refused = [&](std::vector<RingSizes> sizes) {
    next.sizes = std::move(sizes);
    return !member.hold(Rank(0), next);
  };
  CHECK(refused({}));
  CHECK(refused({{"news", 4096, 8}}));
  CHECK(refused({{"orders", 4096, 8}, {"news", 4096, 8}}));
  CHECK(refused({{"orders", 64, 8}}));
  CHECK_FALSE(refused(new_sizes));
}

}  // namespace spindrift::views
