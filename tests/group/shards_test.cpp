// Shards in real groups: how many, which is mine, whose is a key, and a replicated object cut into them.
#include <catch2/catch.hpp>

#include <map>
#include <string>

#include <spindrift/core/config/layout_parts.hpp>
#include <spindrift/group/replicated.hpp>

#include "group_fixture.hpp"

using namespace spindrift;
using namespace std::chrono_literals;

namespace {

class Store {
 public:
  void put(const std::string& key, const std::string& value) { values_[key] = value; }
  [[nodiscard]] std::string get(const std::string& key) const { return values_.at(key); }
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(values_);
  }
  using Methods = Replicates<&Store::put, &Store::get, &Store::size>;

 private:
  std::map<std::string, std::string> values_;
};

/// `members` nodes, and a subgroup "store" in shards, and "all".
std::vector<std::unique_ptr<Group>> join(const GroupFixture& fixture, unsigned members, const std::string& cut) {
  std::string ids;
  for (unsigned i = 0; i < members; ++i) ids += (i == 0 ? "" : ",") + std::to_string(i);
  const Config config = value_or_throw(Config::parse("[SPINDRIFT]\nmembers = " + ids +
                                                         "\n[LAYOUT]\njson_layout = '[{\"name\": \"all\"}, {\"name\": "
                                                         "\"store\", " + cut + "}]'\n",
                                                     "shards.cfg"));
  GroupOptions options;
  options.layout = value_or_throw(config.layout_function());
  return fixture.join_from(0, members, "", options);
}

}  // namespace

TEST_CASE("a member knows how many shards there are, which is its own, and their names") {
  GroupFixture fixture;
  auto groups = join(fixture, 5, R"("members": [0, 1, 2, 3], "shards": 2, "min_members": 2)");
  for (unsigned node = 0; node < 5; ++node) {
    const Shards shards = groups[node]->shards("store");
    CHECK(shards.count() == 2);
    CHECK(shards.mine() == (node == 4 ? std::nullopt : std::optional<std::uint32_t>(node / 2)));
    CHECK(shards.name(1) == "store/1");
    CHECK(&shards.subgroup(1) == &groups[node]->subgroup("store/1"));
    CHECK(&shards.subgroup(0) == &groups[node]->subgroup("store"));
  }
  const Shards one = groups[4]->shards("all");
  CHECK(one.count() == 1);
  CHECK(one.mine() == 0U);
  CHECK(one.of("Ann") == 0);
  const auto none = thrown_by([&] { static_cast<void>(groups[0]->shards("store").subgroup(2)); });
  REQUIRE(none);
  CHECK(none->kind() == ErrorKind::bad_argument);
  CHECK_THAT(none->to_string(), Catch::Contains("subgroup store has no shard 2; fix: use one of 0 to 1"));
  CHECK(thrown_by([&] { static_cast<void>(one.name(1)); }).has_value());
  CHECK_THAT(thrown_by([&] { static_cast<void>(groups[0]->shards("shop")); })->to_string(),
             Catch::Contains("no subgroup is named \"shop\""));
  for (auto& group : groups) {
    for (const std::string& name : group->subgroup_names()) group->subgroup(name).on_delivery([](auto) {});
  }
  for (unsigned node = 5; node > 0; --node) groups[node - 1]->leave();
}

TEST_CASE("an object in shards keeps each key at the members of its shard, and any node finds it there") {
  GroupFixture fixture;
  auto groups = join(fixture, 4, R"("shards": 2, "min_members": 2)");
  std::vector<std::vector<Replicated<Store>>> stores;  // by node, then by shard
  for (auto& group : groups) {
    const Shards shards = group->shards("store");
    auto& own = stores.emplace_back();
    for (std::uint32_t shard = 0; shard < 2; ++shard) own.push_back(group->replicated<Store>(shards.name(shard)));
    group->subgroup("all").on_delivery([](auto) {});
  }
  std::size_t kept[2] = {0, 0};
  for (int i = 0; i < 50; ++i) {
    const std::string key = "key " + std::to_string(i);
    const std::uint32_t shard = groups[0]->shards("store").of(key);
    stores[2 * shard][shard].update<&Store::put>(key, std::to_string(i)).stable();
    ++kept[shard];
    const std::uint32_t elsewhere = 2 * (1 - shard) + 1;
    CHECK(groups[elsewhere]->shards("store").of(key) == shard);
    const auto member = groups[elsewhere]->shards("store").subgroup(shard).description().members.back();
    CHECK(stores[elsewhere][shard].query_at<&Store::get>(member, key).get(20s) == std::to_string(i));
  }
  for (std::uint32_t shard = 0; shard < 2; ++shard) {
    CHECK(kept[shard] > 0);
    for (const auto& result : stores[3][shard].query_all<&Store::size>().get(20s)) CHECK(result.value() == kept[shard]);
  }
  const auto not_a_sender = thrown_by([&] { static_cast<void>(stores[3][0].update<&Store::put>("key", "value")); });
  REQUIRE(not_a_sender);
  CHECK(not_a_sender->kind() == ErrorKind::bad_argument);
  leave_all(groups);
}

TEST_CASE("a member keeps its shard over views, and a shard that is too small has no members") {
  GroupFixture fixture;
  auto groups = join(fixture, 4, R"("shards": 2, "min_members": 2)");
  for (auto& group : groups) {
    for (const std::string& name : group->subgroup_names()) group->subgroup(name).on_delivery([](auto) {});
  }
  groups[3]->leave();
  while (groups[0]->view().rank_of(NodeId(3))) std::this_thread::yield();
  while (groups[2]->view().rank_of(NodeId(3))) std::this_thread::yield();
  CHECK(groups[0]->shards("store").mine() == 0U);
  CHECK(groups[2]->shards("store").mine() == std::nullopt);
  CHECK(groups[2]->shards("store").count() == 2);
  CHECK_THAT(groups[2]->shards("store").subgroup(1).description().inadequate, Catch::Contains("needs 2 members"));
  groups[2]->leave();
  groups[1]->leave();
  groups[0]->leave();
}

TEST_CASE("a program's own layout of parts has shards, and its members send where it says") {
  GroupFixture fixture;
  GroupOptions options;
  options.layout = value_or_throw(LayoutParts(fixture.config(0, 3))
                                      .add(LayoutPart("store").shards(3))
                                      .add(LayoutPart("news").senders({NodeId(1)}))
                                      .function());
  auto groups = fixture.join_from(0, 3, "", options);
  Journal news;
  for (auto& group : groups) {
    const Shards shards = group->shards("store");
    CHECK(shards.count() == 3);
    CHECK(shards.mine() == group->self().value());
    for (std::uint32_t shard = 0; shard < 3; ++shard) shards.subgroup(shard).on_delivery([](auto) {});
    group->subgroup("news").on_delivery([&news, first = group == groups[0]](auto batch) {
      if (first) news.keep(batch);
    });
  }
  CHECK(thrown_by([&] { groups[0]->subgroup("news").send("mine"); }).has_value());
  groups[1]->subgroup("news").send("theirs");
  news.await(1);
  CHECK(news.lines.front() == "1:theirs");
  for (unsigned node : {2U, 0U, 1U}) groups[node]->leave();
}
