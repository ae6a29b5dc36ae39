// Files as a Derecho user has them, and the example file that the table writes.
#include "config_fixture.hpp"

#include <fstream>
#include <iterator>

using namespace spindrift;
using namespace spindrift::test;

namespace {

constexpr std::string_view derecho_file = R"ini(
[DERECHO]
# where the first leader listens
leader_ip = 192.168.10.1
leader_gms_port = 23580
leader_external_port = 32645
contact_ip = 192.168.10.1
contact_port = 23580
local_id = 2
local_ip = 192.168.10.3
gms_port = 23580
state_transfer_port = 28366
sst_port = 37683
rdmc_port = 31675
external_port = 32645
heartbeat_ms = 100
sst_poll_cq_timeout_ms = 100
disable_partitioning_safety = false
max_p2p_request_payload_size = 10240
max_p2p_reply_payload_size = 10240
p2p_window_size = 16
json_layout = '
[
    {
        "type_alias":   "Accounts",
        "layout":       [
                            {
                                "min_nodes_by_shard": [2, 2],
                                "max_nodes_by_shard": ["3", "3"],
                                "delivery_modes_by_shard": ["Ordered", "Raw"],
                                "reserved_node_ids_by_shard": [["*0", "1"], []],
                                "profiles_by_shard": ["VCS", "DEFAULT"]
                            }
                        ]
    }
]'

[SPINDRIFT]
members = 0, 1, 2, 3

[SUBGROUP/DEFAULT]
max_payload_size = 10240
max_reply_payload_size = 10240
max_smc_payload_size = 10240
block_size = 1048576
window_size = 16
rdmc_send_algorithm = binomial_send

[SUBGROUP/VCS]
max_payload_size = 8192
max_smc_payload_size = 8192
block_size = 0
window_size = 50
rdmc_send_algorithm = chain_send
num_shards = 1
min_nodes = 1
max_nodes = 4

[RDMA]
provider = verbs
domain = mlx5_1
tx_depth = 256
rx_depth = 256

[PERS]
file_path = .plog
ramdisk_path = /dev/shm/volatile_t
reset = false
max_log_entry = 1048576
max_data_size = 549755813888

[LOGGER]
default_log_name = derecho_debug
default_log_level = trace
)ini";

std::string text_of(const std::string& path) {
  std::ifstream file(SPINDRIFT_TREE + ("/" + path));
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a Derecho user's file works") {
  const Config config = parse(derecho_file);
  CHECK(config.local_id() == NodeId(2));
  const View view = config.view().value();
  REQUIRE(view.subgroups.size() == 2);
  CHECK(view.subgroups[0].name == "Accounts");
  CHECK(view.subgroups[0].members == ids({0, 1}));
  CHECK(view.subgroups[0].senders == ids({0}));
  CHECK(view.subgroups[0].profile.window_messages == 50);
  CHECK(view.subgroups[0].profile.message_bytes_max == 8192);
  CHECK(view.subgroups[1].name == "Accounts/1");
  CHECK(view.subgroups[1].members == ids({2, 3}));
  CHECK(view.subgroups[1].mode == DeliveryMode::unordered);
  CHECK(view.subgroups[1].profile.window_messages == 16);
}

TEST_CASE("a Derecho user is told which lines have no effect") {
  const Config config = parse(derecho_file);
  const auto& notes = config.notes();
  const auto noted = [&](std::string_view key) {
    return std::any_of(notes.begin(), notes.end(),
                       [&](const std::string& note) { return note.find(key) != std::string::npos; });
  };
  CHECK(noted("test.cfg:4: [DERECHO] leader_ip"));
  CHECK(noted("[SUBGROUP/VCS] block_size"));
  CHECK(noted("[RDMA] provider"));
  CHECK(noted("[PERS] reset"));
  CHECK_FALSE(noted("[PERS] file_path"));
  CHECK(noted("[LOGGER] default_log_level"));
  CHECK_FALSE(noted("[DERECHO] local_id"));
  CHECK_FALSE(noted("window_size is accepted, but not used by this version (Most messages"));
}

TEST_CASE("the example file names every key and works as it stands") {
  const std::string example = Config::example();
  const Config config = parse(example);
  CHECK(config.view()->members == ids({0, 1, 2}));
  CHECK(config.notes().empty());
  for (const EffectiveValue& value : config.effective()) {
    INFO(value.section << "/" << value.key);
    CHECK_THAT(example, Catch::Contains(value.key + " ="));
  }
}

TEST_CASE("the example file in the tree is the one that the table writes") {
  INFO("write it anew: spindrift config example > derecho.cfg.example");
  CHECK(text_of("derecho.cfg.example") == Config::example());
}

TEST_CASE("the page of keys in the tree is the one that the table writes") {
  INFO("write it anew: spindrift config keys > docs/config.md");
  CHECK(text_of("docs/config.md") == Config::reference());
}

TEST_CASE("no cut of a configuration crashes the parser, and what is refused is explained") {
  const std::string texts[] = {std::string(derecho_file), Config::example()};
  for (const std::string& text : texts) {
    for (std::size_t length = 0; length < text.size(); length += 7) {
      const std::string_view cut = std::string_view(text).substr(0, length);
      const auto problems = Config::check_text(cut, "test.cfg");
      CHECK(Config::parse(cut, "test.cfg").ok() == problems.empty());
      for (const Error& problem : problems) {
        INFO(problem.to_string());
        CHECK_FALSE((problem.place().empty() || problem.message().empty() || problem.fix().empty()));
      }
    }
  }
}
