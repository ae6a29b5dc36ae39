// The hosts of a view's members, as a member learns of them.
#include <catch2/catch.hpp>

#include <optional>
#include <vector>

#include <spindrift/core/log.hpp>
#include <spindrift/views/member.hpp>

#include "application.hpp"
#include "desk.hpp"
#include "one_subgroup.hpp"

namespace spindrift::views {
namespace {

/// Node 2, started as 102, which node 0 takes into view 5 together with node 1. It has not met that one.
struct TakenIn {
  TakenIn() {
    REQUIRE(log::set_levels("off"));
    fabric.own_traits.ordered_writes = true;
    fabric.own_traits.peers_max = 3;
    MemberOptions options;
    options.self = NodeId(2);
    options.incarnation = 102;
    options.roster.nodes = view.roster.nodes;
    options.founders = {NodeId(0)};
    options.identity = group;
    options.layout = [](const std::vector<NodeId>& members, const View*) { return std::vector{subgroup_of(members)}; };
    member.emplace(std::move(options), fabric, application, counters);
    REQUIRE(member->start());
    view.subgroups = {subgroup_of(view.members)};
    meet(0, false, true);
    fabric.says(10, encode(ViewNotice{view, {RankSet::of(Rank(0))}, {}, RankSet(0b110, 0)}));
    step();
  }
  void meet(std::uint32_t node, bool fresh, bool here) {
    fabric.connected(10 + node, node, here);
    fabric.says(10 + node, encode(group, Hello{NodeId(node), 100 + node, fresh, ViewId(fresh ? 0 : 5)}, NodeId(2), {}));
  }
  void step() { static_cast<void>(member->step(now += Duration(1000))); }
  [[nodiscard]] const Mandate& mandate() {
    REQUIRE(member->epoch() != nullptr);
    return member->epoch()->change().mandate();
  }

  View view = view_of(5, {{NodeId(0), 100}, {NodeId(1), 101}, {NodeId(2), 102}});
  Time now{};
  PaperFabric fabric;
  Application application;
  CounterBlock counters = CounterBlock::in_memory(100);
  std::optional<Member> member;
};

}  // namespace

TEST_CASE("the place of a member that is met behind the beginning of the view counts from then on") {
  for (const bool here : {true, false}) {
    TakenIn newcomer;
    CHECK_FALSE(newcomer.mandate().is_of_one_host());
    CHECK_FALSE(newcomer.mandate().is_of_several_hosts());
    newcomer.meet(1, true, here);
    newcomer.step();
    CHECK(newcomer.mandate().is_of_one_host() == here);
    CHECK(newcomer.mandate().is_of_several_hosts() == !here);
  }
}

}  // namespace spindrift::views
