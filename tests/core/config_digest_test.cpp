// The digest that members compare: equal for equal meaning, different for everything that must not differ.
#include "config_fixture.hpp"

using namespace spindrift;
using namespace spindrift::test;

namespace {

const std::string base =
    with_layout(R"([{"name": "a", "topics": ["x"]}, {"name": "b", "members": [0, 1], "senders": [1]}])");

ConfigDigest digest(const std::string& text, const std::vector<ConfigOverride>& flags = {}) {
  return parse(text, flags).digest();
}

}  // namespace

TEST_CASE("the digest ignores comments, order, spelling and what is each member's own") {
  CHECK(digest("# comment\n" + base) == digest(base));
  CHECK(digest("[SPINDRIFT]\ngroup_name = spindrift\n" + base) == digest(base));
  CHECK(digest(base, {{"DERECHO/local_id", "2"}}) == digest(base));
  CHECK(digest(base, {{"SPINDRIFT/poll", "spin"}, {"SPINDRIFT/log_level", "trace"}}) == digest(base));
  CHECK(digest(base, {{"SPINDRIFT/runtime_directory", "/tmp"}, {"DERECHO/gms_port", "1"}}) == digest(base));
  CHECK(digest(base, {{"SUBGROUP/DEFAULT/ring_size", "1 MiB"}}) == digest(base));
  CHECK(digest(base + "[SUBGROUP/UNUSED]\nwindow_size = 3\n") == digest(base));
  CHECK(digest(with_layout(R"([{"topics":["x"],"name":"a","mode":"Ordered"},
                               {"name":"b","senders":["1"],"members":["1","0"]}])")) == digest(base));
}

TEST_CASE("the digest is over what the layout means for every view, not only for that of all members") {
  const auto filled = [](std::string_view least, std::string_view most) {
    return digest(with_layout(R"([{"name": "a", "layout": [{"min_nodes_by_shard": [)" + std::string(least) +
                              R"(], "max_nodes_by_shard": [)" + std::string(most) +
                              R"(], "reserved_node_ids_by_shard": [["0", "*1"]]}]}])"));
  };
  const auto named = digest(with_layout(R"([{"name": "a", "members": [0, 1], "senders": [1]}])"));
  CHECK(filled("2", "2") == filled("\"2\"", "\"2\""));
  CHECK_FALSE(filled("1", "2") == filled("2", "2"));
  CHECK_FALSE(named == filled("2", "2"));
  CHECK_FALSE(named == digest(with_layout(R"([{"name": "a", "members": [0, 1], "min_members": 2, "senders": [1]}])")));
  CHECK(named == digest(with_layout(R"([{"name": "a", "members": [0, 1], "min_members": 1, "senders": [1]}])")));
}

TEST_CASE("the digest is over shards: how many, how large, of whom") {
  const auto cut = [](std::string_view how) {
    return digest(with_layout(R"([{"name": "a", )" + std::string(how) + "}]", 6));
  };
  const auto two = cut(R"("shards": 2)");
  CHECK(two == cut(R"("shards": 2, "min_members": 1)"));
  CHECK(cut(R"("shards": 2, "members": [5, 4, 3])") == cut(R"("shards": 2, "members": [3, 4, 5])"));
  CHECK_FALSE(two == cut(R"("shards": 2, "members": [5, 4, 3, 2, 1, 0])"));  // who joins later is in none of them
  CHECK_FALSE(two == cut(R"("shards": 3)"));
  CHECK_FALSE(two == cut(R"("shards": 2, "min_members": 2)"));
  CHECK_FALSE(two == cut(R"("shards": 2, "max_members": 3)"));
  CHECK_FALSE(two == cut(R"("shards": 2, "members": [0, 1, 2, 3, 4])"));
  CHECK_FALSE(two == cut(R"("layout": [{"min_nodes_by_shard": [1, 1], "max_nodes_by_shard": [128, 128]}])"));
  const auto apart = digest(with_layout(R"([{"name": "a", "shards": 1}, {"name": "b", "shards": 1}])"));
  CHECK_FALSE(apart == digest(with_layout(R"([
      {"name": "a", "layout": [{"min_nodes_by_shard": [1], "max_nodes_by_shard": [128]}]}, {"name": "b", "shards": 1}])")));
}

TEST_CASE("the digest leaves out who may be in the group, and who founds it: a group that runs has its roster of its own") {
  CHECK(digest(base, {{"SPINDRIFT/founders", "2, 0"}}) == digest(base));
  CHECK(digest(with_layout(R"([{"name": "a"}])", 3)) == digest(with_layout(R"([{"name": "a"}])", 7)));
  const ConfigDigest named = digest(with_layout(R"([{"name": "a", "members": [0, 1, 2]}])", 3));
  CHECK_FALSE(digest(with_layout(R"([{"name": "a"}])", 3)) == named);
  CHECK(digest(base, {{"SPINDRIFT/state_buffer_size", "1 MiB"}, {"SPINDRIFT/join_timeout_ms", "1"}}) == digest(base));
}

TEST_CASE("the digest holds members to one fabric, whether it is written or the default of who gives addresses") {
  const std::vector<ConfigOverride> here = {{"SPINDRIFT/addresses", "127.0.0.1:740<id>"}};
  const auto with = [&](const std::string& fabric) {
    return digest(base, {{"SPINDRIFT/addresses", "h<id>:1"}, {"SPINDRIFT/fabric", fabric}});
  };
  CHECK(digest(base, here) == with("shm+tcp"));
  CHECK(digest(base, {{"SPINDRIFT/addresses", "h<id>:1"}}) == digest(base, here));
  CHECK(digest(base) == with("shm"));
  CHECK_FALSE(digest(base, here) == digest(base));
}

TEST_CASE("the digest leaves out what a group has as its view says: windows, and rings of messages that are not large") {
  CHECK(digest(base, {{"SUBGROUP/DEFAULT/window_size", "1023"}}) == digest(base));
  CHECK(digest(base, {{"SUBGROUP/DEFAULT/ring_size", "2 MiB"}}) == digest(base));
}

TEST_CASE("the digest differs where members would misunderstand each other") {
  CHECK(digest(base, {{"SPINDRIFT/table_bytes", "4096"}}) == digest(base));
  CHECK_FALSE(digest(base, {{"SPINDRIFT/table_bytes", "8 KiB"}}) == digest(base));
  const auto changed = [](std::string_view from, std::string_view to) {
    std::string text = base;
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    return digest(text.replace(at, from.size(), to));
  };
  std::vector<ConfigDigest> digests = {digest(base)};
  digests.push_back(digest(base, {{"SPINDRIFT/group_name", "other"}}));
  digests.push_back(digest(base, {{"SPINDRIFT/suspect_after_ms", "501"}}));
  digests.push_back(digest(base, {{"DERECHO/disable_partitioning_safety", "true"}}));
  digests.push_back(digest(base, {{"SPINDRIFT/split_rows", "true"}}));
  digests.push_back(digest(base, {{"SUBGROUP/DEFAULT/max_smc_payload_size", "10239"}}));
  digests.push_back(digest(base, {{"SUBGROUP/DEFAULT/bulk_ring_bytes", "1 MiB"}}));
  digests.push_back(
      digest(base, {{"SUBGROUP/DEFAULT/bulk_ring_bytes", "1 MiB"}, {"SUBGROUP/DEFAULT/large_message_bytes", "4096"}}));
  digests.push_back(changed("\"name\": \"a\"", "\"name\": \"c\""));
  digests.push_back(changed("\"x\"", "\"y\""));
  digests.push_back(changed("\"x\"", "\"x\", \"y\""));
  digests.push_back(changed("\"senders\": [1]", "\"senders\": [0]"));
  digests.push_back(changed("\"senders\": [1]", "\"mode\": \"unordered\""));
  digests.push_back(changed("\"members\": [0, 1]", "\"members\": [1, 2]"));
  for (std::size_t i = 0; i < digests.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      INFO(i << " and " << j);
      CHECK_FALSE(digests[i] == digests[j]);
    }
  }
}

TEST_CASE("the digest tells logged subgroups from others, and does not depend on whether memory is written") {
  const auto stored = [](std::string_view how) {
    return digest(with_layout(R"([{"name": "a")" + std::string(how) + R"(}, {"name": "b"}])") + with_journals);
  };
  CHECK(stored(R"(, "storage": "memory")") == stored(""));
  CHECK(stored("") == digest(with_layout(R"([{"name": "a"}, {"name": "b"}])")));
  CHECK_FALSE(stored(R"(, "storage": "logged")") == stored(""));
  CHECK_FALSE(stored(R"(, "storage": "logged")") == stored(R"(, "mode": "unordered")"));
  const auto shards = [](std::string_view how) {
    return digest(with_layout(R"([{"name": "a", "shards": 2)" + std::string(how) + "}]") + with_journals);
  };
  CHECK_FALSE(shards(R"(, "storage": "logged")") == shards(""));
}

TEST_CASE("the digest of a known configuration is the same with every compiler") {
  CHECK(digest(base).to_string() == "7a3a23937e1a418776226b7ef20cff23");
}
