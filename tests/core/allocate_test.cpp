// Subgroups of one view after another: who comes in, who stays, and when there is nobody.
#include "config_fixture.hpp"

using namespace spindrift;
using namespace spindrift::test;

namespace {

/// The views of one layout, each following the last.
class Views {
 public:
  explicit Views(std::string_view layout, unsigned count = 8)
      : layout_(parse(with_layout(layout, count)).layout_function().value()) {}

  const View& next(std::initializer_list<std::uint32_t> members) {
    View view;
    view.members = ids(members);
    view.subgroups = layout_(view.members, last_.members.empty() ? nullptr : &last_);
    last_ = std::move(view);
    return last_;
  }

  [[nodiscard]] const SubgroupView& at(std::size_t position) const { return last_.subgroups.at(position); }

 private:
  LayoutFunction layout_;
  View last_;
};

}  // namespace

TEST_CASE("a configuration without a layout has no layout function") {
  const auto layout = parse("").layout_function();
  REQUIRE_FALSE(layout);
  CHECK_THAT(layout.error().message(), Catch::Contains("no layout"));
}

TEST_CASE("a layout function outlives its configuration, and all members get what the configuration's view says") {
  LayoutFunction layout;
  View view;
  {
    const Config config = parse(with_layout(R"([{"name": "a", "members": [0, 2]}, {"name": "b", "topics": ["x"]}])"));
    layout = config.layout_function().value();
    view = config.view().value();
  }
  const auto subgroups = layout(view.members, nullptr);
  REQUIRE(subgroups.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(subgroups[i].name == view.subgroups[i].name);
    CHECK(subgroups[i].members == view.subgroups[i].members);
    CHECK(subgroups[i].topics == view.subgroups[i].topics);
    CHECK(subgroups[i].profile.ring_bytes == view.subgroups[i].profile.ring_bytes);
  }
}

TEST_CASE("a plain subgroup without members has all of the view, survivors first") {
  Views views(R"([{"name": "all"}])");
  views.next({3, 1, 2});
  CHECK(views.at(0).members == ids({3, 1, 2}));
  views.next({1, 2, 0});
  CHECK(views.at(0).members == ids({1, 2, 0}));
  CHECK(views.at(0).senders == ids({1, 2, 0}));
}

TEST_CASE("a plain subgroup has those of its members that are there, and newcomers come last") {
  Views views(R"([{"name": "a", "members": [1, 2, 5], "senders": [1, 5]}])");
  views.next({0, 1, 2});
  CHECK(views.at(0).members == ids({1, 2}));
  CHECK(views.at(0).senders == ids({1}));
  views.next({0, 2, 5});
  CHECK(views.at(0).members == ids({2, 5}));
  views.next({0, 2, 5, 1});
  CHECK(views.at(0).members == ids({2, 5, 1}));
  CHECK(views.at(0).senders == ids({5, 1}));
}

TEST_CASE("a plain subgroup below its minimum has no members, and says so") {
  Views views(R"([{"name": "a", "members": [1, 2, 5], "min_members": 2, "mode": "unordered", "topics": ["x"]}])");
  views.next({0, 1, 3});
  CHECK(views.at(0).members.empty());
  CHECK(views.at(0).senders.empty());
  CHECK(views.at(0).inadequate == "needs 2 members and lacks 1: 1 of the view's can be given: 1");
  CHECK(views.at(0).mode == DeliveryMode::unordered);
  CHECK(views.at(0).topics == std::vector<std::string>{"x"});
  CHECK(views.at(0).profile.ring_bytes == 1U << 20U);
  views.next({0, 3});
  CHECK(views.at(0).inadequate == "needs 2 members and lacks 2: none of the view's can be given");
  views.next({3, 5, 1});
  CHECK(views.at(0).inadequate.empty());
  CHECK(views.at(0).members == ids({5, 1}));
}

TEST_CASE("a subgroup whose senders are all gone is inadequate") {
  Views views(R"([{"name": "a", "members": [1, 2], "senders": [1]}, {"name": "b", "layout": [
      {"min_nodes_by_shard": [1], "max_nodes_by_shard": [2], "reserved_node_ids_by_shard": [["*3", "*4", "5"]]}]}])");
  views.next({0, 2, 5});
  CHECK(views.at(0).inadequate == "needs its sender, 1, who is not in the view");
  CHECK(views.at(1).inadequate == "needs one of its senders, 3, 4, and none is in the view");
  CHECK(views.at(1).members.empty());
  views.next({0, 2, 5, 4});
  CHECK(views.at(1).members == ids({5, 4}));
  CHECK(views.at(1).senders == ids({4}));
}

TEST_CASE("shards keep who they have and are filled up from the spare members") {
  Views views(R"([{"name": "s", "layout": [{"min_nodes_by_shard": [2, 2], "max_nodes_by_shard": [2, 3]}]}])");
  views.next({0, 1, 2, 3, 4, 5});
  CHECK(views.at(0).members == ids({0, 1}));
  CHECK(views.at(1).members == ids({2, 3, 4}));
  views.next({1, 2, 4, 5, 6});  // 5 had no place; it comes to the first shard now
  CHECK(views.at(0).members == ids({1, 5}));
  CHECK(views.at(1).members == ids({2, 4, 6}));
  views.next({1, 2, 6, 0});  // the second shard does not take what the first needs
  CHECK(views.at(0).members == ids({1, 0}));
  CHECK(views.at(1).members == ids({2, 6}));
}

TEST_CASE("a shard that has its minimum gives nobody away to one that has not") {
  Views views(R"([{"name": "s", "layout": [{"min_nodes_by_shard": [1, 2], "max_nodes_by_shard": [3, 2]}]}])", 5);
  views.next({0, 1, 2, 3, 4});
  CHECK(views.at(0).members == ids({0, 1, 2}));
  CHECK(views.at(1).members == ids({3, 4}));
  views.next({0, 1, 2, 3});
  CHECK(views.at(0).members == ids({0, 1, 2}));
  CHECK(views.at(1).inadequate == "needs 2 members and lacks 1: 1 of the view's can be given: 3");
  views.next({0, 1, 2, 3, 4});
  CHECK(views.at(1).members == ids({3, 4}));
}

TEST_CASE("nobody grows beyond the minimum by members that an inadequate shard waits for") {
  Views views(R"([{"name": "s", "layout": [{"min_nodes_by_shard": [2, 2], "max_nodes_by_shard": [4, 4]}]}])");
  views.next({0, 1, 2});
  CHECK(views.at(0).members == ids({0, 1}));
  CHECK(views.at(1).inadequate == "needs 2 members and lacks 1: 1 of the view's can be given: 2");
  views.next({0, 1, 2, 3});
  CHECK(views.at(0).members == ids({0, 1}));
  CHECK(views.at(1).members == ids({2, 3}));
}

TEST_CASE("the rests of two broken shards make one") {
  Views views(R"([{"name": "s", "layout": [{"min_nodes_by_shard": [2, 2, 1], "max_nodes_by_shard": [2, 2, 1]}]}])");
  views.next({0, 1, 2, 3, 4});
  views.next({1, 3, 4});
  CHECK(views.at(0).members == ids({1, 3}));
  CHECK_FALSE(views.at(1).inadequate.empty());
  CHECK(views.at(2).members == ids({4}));
}

TEST_CASE("a shard that cannot reach its minimum holds back nobody from a later one") {
  Views views(R"([{"name": "s", "layout": [{"min_nodes_by_shard": [3, 3, 1], "max_nodes_by_shard": [3, 3, 1]}]}])");
  views.next({0, 1, 2, 3});
  CHECK(views.at(0).members == ids({0, 1, 2}));
  CHECK_FALSE(views.at(1).inadequate.empty());
  CHECK(views.at(2).members == ids({3}));
}

TEST_CASE("a reserved member comes to its shard, above the maximum if need be, and fills no other") {
  Views views(R"([{"name": "s", "layout": [{"min_nodes_by_shard": [2, 1], "max_nodes_by_shard": [2, 4],
                                            "reserved_node_ids_by_shard": [[6, 7], []]}]},
                  {"name": "t", "layout": [{"min_nodes_by_shard": [1], "max_nodes_by_shard": [1],
                                            "reserved_node_ids_by_shard": [[6]]}]}])");
  views.next({0, 1, 2});
  CHECK(views.at(0).members == ids({0, 1}));
  CHECK(views.at(1).members == ids({2}));
  CHECK_FALSE(views.at(2).inadequate.empty());
  views.next({0, 1, 2, 7});
  CHECK(views.at(0).members == ids({0, 1, 7}));
  CHECK(views.at(1).members == ids({2}));
  views.next({1, 2, 7, 6});
  CHECK(views.at(0).members == ids({1, 7, 6}));
  CHECK(views.at(2).members == ids({6}));
}

TEST_CASE("the shards of a plain subgroup cut the members as even as can be, beside others that have the same") {
  Views views(R"([{"name": "all"}, {"name": "s", "shards": 3, "mode": "unordered"}, {"name": "t", "shards": 2}])");
  views.next({0, 1, 2, 3, 4, 5, 6});
  CHECK(views.at(0).members.size() == 7);
  CHECK(views.at(1).name == "s");
  CHECK(views.at(2).name == "s/1");
  CHECK(views.at(3).name == "s/2");
  CHECK(views.at(1).members == ids({0, 1, 2}));
  CHECK(views.at(2).members == ids({3, 4}));
  CHECK(views.at(3).members == ids({5, 6}));
  CHECK(views.at(3).mode == DeliveryMode::unordered);
  CHECK(views.at(3).senders == views.at(3).members);
  CHECK(views.at(4).members == ids({0, 1, 2, 3}));
  CHECK(views.at(5).members == ids({4, 5, 6}));
}

TEST_CASE("newcomers come to the smallest shard, and nobody leaves one that has its minimum") {
  Views views(R"([{"name": "s", "shards": 2, "min_members": 2, "max_members": 3}])");
  views.next({0, 1, 2, 3, 4, 5, 6});
  CHECK(views.at(0).members == ids({0, 1, 2}));
  CHECK(views.at(1).members == ids({3, 4, 5}));  // 6 has no place
  views.next({0, 1, 3});
  CHECK(views.at(0).members == ids({0, 1}));
  CHECK(views.at(1).inadequate == "needs 2 members and lacks 1: 1 of the view's can be given: 3");
  views.next({0, 1, 3, 4});
  CHECK(views.at(1).members == ids({3, 4}));
  views.next({0, 1, 3, 4, 7});
  CHECK(views.at(0).members == ids({0, 1, 7}));
  views.next({0, 1, 3, 4, 7, 8, 9});
  CHECK(views.at(0).members == ids({0, 1, 7}));
  CHECK(views.at(1).members == ids({3, 4, 8}));
}

TEST_CASE("shards of named members have no others, whatever the rest does") {
  Views views(R"([{"name": "s", "shards": 2, "members": [5, 2, 7]},
                  {"name": "d", "layout": [{"min_nodes_by_shard": [2], "max_nodes_by_shard": [2],
                                            "reserved_node_ids_by_shard": [[2]]}]}])");
  views.next({0, 1, 2, 5, 7});
  CHECK(views.at(0).members == ids({2, 5}));
  CHECK(views.at(1).members == ids({7}));
  CHECK(views.at(2).members == ids({0, 2}));
  views.next({0, 1, 2});
  CHECK(views.at(0).members == ids({2}));
  CHECK(views.at(1).inadequate == "needs 1 members and lacks 1: none of the view's can be given");
}
