// Layouts: both forms, and which member comes into which subgroup.
#include "config_fixture.hpp"

using namespace spindrift;
using namespace spindrift::test;

namespace {

View view_of(const std::string& text) { return parse(text).view().value(); }

}  // namespace

TEST_CASE("a plain subgroup has all members, all of them senders, ordered, of the default profile") {
  const View view = view_of(with_layout(R"([{"name": "main"}])"));
  CHECK(view.id == ViewId(0));
  CHECK(view.members == ids({0, 1, 2}));
  REQUIRE(view.subgroups.size() == 1);
  const SubgroupView& main = view.subgroups[0];
  CHECK(main.name == "main");
  CHECK(main.members == ids({0, 1, 2}));
  CHECK(main.senders == ids({0, 1, 2}));
  CHECK(main.mode == DeliveryMode::ordered);
  CHECK(main.profile.message_bytes_max == 10240);
  CHECK(main.profile.window_messages == 1024);
  CHECK(main.profile.ring_bytes == 1 << 20);
  CHECK(main.topics.empty());
}

TEST_CASE("the plain form names members, senders, mode, profile and topics") {
  const View view = view_of(with_layout(R"([
      {"name": "a", "members": [2, "0"], "senders": [2], "mode": "unordered", "profile": "SMALL", "topics": ["x", "y[0]"]},
      {"name": "b", "topics": ["z"]}])") +
                            "[SUBGROUP/SMALL]\nmax_smc_payload_size = 100\nwindow_size = 50\nring_size = 4 KiB\n");
  const SubgroupView& a = view.subgroups.at(0);
  CHECK(a.members == ids({0, 2}));
  CHECK(a.senders == ids({2}));
  CHECK(a.mode == DeliveryMode::unordered);
  CHECK(a.profile.message_bytes_max == 100);
  CHECK(a.profile.window_messages == 50);
  CHECK(a.profile.ring_bytes == 4096);
  CHECK(a.topics == std::vector<std::string>{"x", "y[0]"});
  CHECK(view.subgroups.at(1).topics == std::vector<std::string>{"z"});
}

TEST_CASE("storage of a subgroup is memory unless its entry says logged, in the plain form, of shards and in Derecho's") {
  const View view = view_of(with_layout(R"([{"name": "usual"}, {"name": "memory", "storage": "memory"},
      {"name": "logged", "storage": "logged"}, {"name": "cut", "shards": 2, "storage": "logged", "mode": "ordered"},
      {"name": "Foo", "layout": [{"min_nodes_by_shard": [1, 1, 1], "max_nodes_by_shard": [1, 1, 1],
        "delivery_modes_by_shard": ["Ordered", "Ordered", "Raw"], "storage_by_shard": ["memory", "logged", "memory"]}]}])") +
                            with_journals);
  std::vector<std::string> logged;
  for (const SubgroupView& each : view.subgroups) {
    if (each.storage == SubgroupStorage::logged) logged.push_back(each.name);
  }
  CHECK(logged == std::vector<std::string>{"logged", "cut", "cut/1", "Foo/1"});
  CHECK(view.subgroups.size() == 8);
}

TEST_CASE("a subgroup is logged in every view, also in those that lack its members") {
  const auto layout = parse(with_layout(R"([{"name": "a", "members": [0], "storage": "logged"}, {"name": "b"}])") +
                            with_journals).layout_function().value();
  for (const auto& members : {ids({0, 1}), ids({1, 2})}) {
    const auto subgroups = layout(members, nullptr);
    CHECK(subgroups.at(0).storage == SubgroupStorage::logged);
    CHECK(subgroups.at(1).storage == SubgroupStorage::memory);
  }
}

TEST_CASE("ranks follow the list of members, and subgroups follow the ranks") {
  const View view =
      view_of("[SPINDRIFT]\nmembers = 9, 3, 5\n[LAYOUT]\njson_layout = '[{\"name\": \"a\", \"members\": [5, 9]}]'\n");
  CHECK(view.members == ids({9, 3, 5}));
  CHECK(view.subgroups[0].members == ids({9, 5}));
  CHECK(view.subgroups[0].senders == ids({9, 5}));
}

TEST_CASE("without a list, the members are the ids that the layout names") {
  const Config config = parse("[LAYOUT]\njson_layout = '[{\"name\": \"a\", \"members\": [7, 2]}, {\"name\": \"b\"}]'\n");
  CHECK(config.view()->members == ids({2, 7}));
  CHECK(config.view()->subgroups[1].members == ids({2, 7}));
  CHECK(effective(config, "SPINDRIFT", "members").value == "2, 7");
  CHECK(effective(config, "SPINDRIFT", "members").origin == "default, derived from the layout");
}

TEST_CASE("without any id, the members are the smallest group that satisfies the minima") {
  const View view = view_of(R"([LAYOUT]
json_layout = '[{"type_alias": "Foo", "layout": [{"min_nodes_by_shard": [3], "max_nodes_by_shard": [5]}]},
                {"type_alias": "Bar", "layout": [{"min_nodes_by_shard": [2], "max_nodes_by_shard": [2]}]}]'
)");
  CHECK(view.members == ids({0, 1, 2, 3, 4}));
  CHECK(view.subgroups.at(0).members == ids({0, 1, 2}));
  CHECK(view.subgroups.at(1).members == ids({3, 4}));
}

TEST_CASE("two shards are filled to their minima in rank order, then by turns to their maxima") {
  constexpr auto layout = R"([{"type_alias": "Foo", "layout": [
      {"min_nodes_by_shard": [2, "1"], "max_nodes_by_shard": [3, 3], "delivery_modes_by_shard": ["Ordered", "Raw"],
       "topics_by_shard": [["x"], []]}]}])";
  View view = view_of(with_layout(layout, 3));
  REQUIRE(view.subgroups.size() == 2);
  CHECK(view.subgroups[0].name == "Foo");
  CHECK(view.subgroups[1].name == "Foo/1");
  CHECK(view.subgroups[0].mode == DeliveryMode::ordered);
  CHECK(view.subgroups[1].mode == DeliveryMode::unordered);
  CHECK(view.subgroups[0].topics == std::vector<std::string>{"x"});
  CHECK(view.subgroups[0].members == ids({0, 1}));
  CHECK(view.subgroups[1].members == ids({2}));

  view = view_of(with_layout(layout, 5));
  CHECK(view.subgroups[0].members == ids({0, 1, 2}));
  CHECK(view.subgroups[1].members == ids({3, 4}));

  view = view_of(with_layout(layout, 8));
  CHECK(view.subgroups[0].members == ids({0, 1, 2}));
  CHECK(view.subgroups[1].members == ids({3, 4, 5}));
}

TEST_CASE("subgroups of one type are numbered from the second on") {
  const View view = view_of(with_layout(R"([{"type_alias": "Bar", "name": "cache", "layout": [
      {"min_nodes_by_shard": [1], "max_nodes_by_shard": [1]},
      {"min_nodes_by_shard": [1, 1], "max_nodes_by_shard": [1, 1]}]}])"));
  REQUIRE(view.subgroups.size() == 3);
  CHECK(view.subgroups[0].name == "cache");
  CHECK(view.subgroups[1].name == "cache.1");
  CHECK(view.subgroups[2].name == "cache.1/1");
}

TEST_CASE("reserved nodes are in every shard that reserves them and fill no other") {
  const View view = view_of(with_layout(R"([
      {"type_alias": "Foo", "layout": [{"min_nodes_by_shard": [2, 2], "max_nodes_by_shard": [3, 3],
                                        "reserved_node_ids_by_shard": [["1", "2", "3"], [4, 5]]}]},
      {"type_alias": "Bar", "layout": [{"min_nodes_by_shard": [1], "max_nodes_by_shard": [3],
                                        "reserved_node_ids_by_shard": [[3, 4, 5]]}]}])",
                                        7));
  CHECK(view.subgroups[0].members == ids({1, 2, 3}));
  CHECK(view.subgroups[1].members == ids({0, 4, 5}));
  CHECK(view.subgroups[2].members == ids({3, 4, 5}));
}

TEST_CASE("more nodes may be reserved than the maximum says, as in Derecho") {
  const View view = view_of(with_layout(R"([{"layout": [{"min_nodes_by_shard": ["2"], "max_nodes_by_shard": ["2"],
                                                         "reserved_node_ids_by_shard": [["0", "1", "2"]]}]}])"));
  CHECK(view.subgroups[0].name == "subgroup0");
  CHECK(view.subgroups[0].members == ids({0, 1, 2}));
}

TEST_CASE("a star marks the senders of a shard, and without a star all members send") {
  const View view = view_of(with_layout(R"([{"type_alias": "Foo", "layout": [
      {"min_nodes_by_shard": [2, 1], "max_nodes_by_shard": [2, 1],
       "reserved_node_ids_by_shard": [["*1", "0"], ["2"]]}]}])"));
  CHECK(view.subgroups[0].members == ids({0, 1}));
  CHECK(view.subgroups[0].senders == ids({1}));
  CHECK(view.subgroups[1].senders == ids({2}));
}

TEST_CASE("a layout from a flag replaces the one of the file") {
  const Config config = parse(with_layout(R"([{"name": "file"}])"), {{"LAYOUT/json_layout", R"([{"name": "flag"}])"}});
  CHECK(config.view()->subgroups.at(0).name == "flag");
}

TEST_CASE("without any id, shards of a plain subgroup need as many members as all of them together, others the same ones") {
  const View view = view_of(R"([LAYOUT]
json_layout = '[{"name": "s", "shards": 3, "min_members": 2}, {"name": "t", "shards": 2}]'
)");
  CHECK(view.members == ids({0, 1, 2, 3, 4, 5}));
  CHECK(view.subgroups.at(2).members == ids({4, 5}));
  CHECK(view.subgroups.at(3).members == ids({0, 1, 2}));
}
