// Values of the configuration: defaults, precedence, spelling, origins.
#include "config_fixture.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include <spindrift/core/config/addresses.hpp>
#include <spindrift/core/config/without_file.hpp>
#include <spindrift/core/keys_path.hpp>

using namespace spindrift;
using namespace spindrift::test;

TEST_CASE("an empty configuration has the documented defaults") {
  const Config config = parse("");
  CHECK(config.local_id() == NodeId(0));
  CHECK(config.group_name() == "spindrift");
  CHECK(config.fabric() == "shm");
  CHECK(config.runtime_directory() == "/dev/shm/spindrift-" + std::to_string(::getuid()));
  CHECK_FALSE(config.proves_members());  // nobody comes from another host
  CHECK(config.keys_directory() == keys_path("~/.spindrift/<group>/<id>", "spindrift", NodeId(0)));
  CHECK(config.polling().mode == PollMode::block);
  CHECK(config.polling().spin == std::chrono::microseconds(50));
  CHECK(config.join_timeout() == std::chrono::seconds(30));
  CHECK(config.founders().empty());
  CHECK(config.suspect_after() == std::chrono::milliseconds(2000));
  CHECK(config.integer("SPINDRIFT", "handler_stuck_after_ms") == 30'000);
  CHECK_FALSE(config.partitioning_safety_disabled());
  CHECK(config.state_buffer_bytes() == 64U << 20U);
  CHECK(config.log_level() == "warn");
  CHECK(config.log_file().empty());
  CHECK(config.notes().empty());
}

TEST_CASE("a flag wins over the environment, that over the file, that over the default") {
  const std::string file = "[SPINDRIFT]\nspin_us = 1\n";
  const Config::Environment environment = {{"SPINDRIFT_SPIN_US", "2"}};
  const std::vector<ConfigOverride> flags = {{"SPINDRIFT/spin_us", "3"}};
  const auto value = [](const Config& config) { return effective(config, "SPINDRIFT", "spin_us"); };

  CHECK(value(parse("")).value == "50");
  CHECK(value(parse("")).origin == "default");
  CHECK(value(parse(file)).value == "1");
  CHECK(value(parse(file)).origin == "test.cfg:2");
  CHECK(value(parse(file, {}, environment)).value == "2");
  CHECK(value(parse(file, {}, environment)).origin == "environment SPINDRIFT_SPIN_US");
  CHECK(value(parse(file, flags, environment)).value == "3");
  CHECK(value(parse(file, flags, environment)).origin == "flag --set");
}

TEST_CASE("the last of several flags for one key counts and the origin names the flag as written") {
  const Config config = parse("", {{"DERECHO/local_id", "1"}, {"DERECHO/local_id", "2", "--id"}});
  CHECK(config.local_id() == NodeId(2));
  CHECK(effective(config, "DERECHO", "local_id").origin == "flag --id");
}

TEST_CASE("founders are all members, or those that are named, in rank order") {
  const std::string text = with_layout(R"([{"name": "main"}])");
  CHECK(parse(text).founders() == ids({0, 1, 2}));
  CHECK(effective(parse(text), "SPINDRIFT", "founders").origin == "default, all members");
  CHECK(parse(text, {{"SPINDRIFT/founders", "2,0"}}).founders() == ids({0, 2}));
  check_problems(Config::check_text(text, "test.cfg", {{"SPINDRIFT/founders", "0, 3"}}),
                 {{"flag --set", "founder 3 is no member of the group", "add 3 to [SPINDRIFT] members"}});
}

TEST_CASE("a group that whoever is present founds names no founders, and its processes take free ids") {
  const std::string text =
      "[SPINDRIFT]\nfounding = present\n[LAYOUT]\njson_layout = '[{\"name\": \"main\", \"members\": [0, 40]}]'\n";
  const Config config = parse(text);
  CHECK(founded_by_present(config));
  CHECK(config.founders().empty());
  CHECK(value_or_throw(config.view()).members.size() == 33);  // 0 to 31, and whom the layout names
  CHECK(takes_free_id(config));
  const Config own = as_node(config, NodeId(7));
  CHECK(own.local_id() == NodeId(7));
  CHECK_FALSE(takes_free_id(own));
  CHECK(own.digest() == config.digest());
  CHECK(takes_free_id(config));
  const Config added = as_node(config, NodeId(50));  // the file does not name it, the group's roster may
  CHECK(value_or_throw(added.local_rank()) == Rank(33));
  CHECK(value_or_throw(added.view()).subgroups[0].members == ids({0, 40}));
  CHECK(added.digest() == config.digest());
  CHECK_FALSE(takes_free_id(parse(text, {{"DERECHO/local_id", "0"}})));
  CHECK_FALSE(takes_free_id(parse(with_layout(R"([{"name": "main"}])"))));
  check_problems(Config::check_text(text, "test.cfg", {{"SPINDRIFT/founders", "0"}}),
                 {{"flag --set", "founders are named, and whoever is present founds the group",
                   "remove [SPINDRIFT] founders, or founding = present"}});
  check_problems(Config::check_text(text, "test.cfg", {{"SPINDRIFT/addresses", "<id>.cluster:7400"}}),
                 {{"test.cfg:2",
                   "whoever is present founds the group, and the fabric, which is not shm, does not know who is",
                   "write a file that names the founders ([SPINDRIFT] founding = named), or set neither fabric"}});
}

TEST_CASE("a group without a file has the subgroups that are named") {
  const Config config = value_or_throw(config_without_file("quick", {"Orders.1", "audit"}, {{"SPINDRIFT/spin_us", "7"}}));
  CHECK(config.group_name() == "quick");
  CHECK(founded_by_present(config));
  CHECK(takes_free_id(config));
  CHECK(config.polling().spin == std::chrono::microseconds(7));
  const View view = value_or_throw(config.view());
  REQUIRE(view.subgroups.size() == 2);
  CHECK(view.subgroups[0].name == "Orders.1");
  CHECK(view.subgroups[1].name == "audit");
  CHECK(view.subgroups[1].senders == view.members);
  CHECK(value_or_throw(config_without_file("quick", {"a"}, {{"SPINDRIFT/group_name", "other"}})).group_name() == "other");
}

TEST_CASE("names of a group without a file are checked as in one, and the error says which it is") {
  for (const std::string name : {"", ".a", "Orders", "a\"b", "a'b", "a b", "a/b", "a]", "\xff"}) {
    const auto group = config_without_file(name, {"orders"});
    REQUIRE_FALSE(group);
    CHECK(group.error().kind() == ErrorKind::bad_config);
    CHECK(group.error().place() == "the group's name SPINDRIFT/group_name");
    CHECK(group.error().fix() == "write 1 to 32 characters of a-z, 0-9, _ and -");
  }
  for (const std::string name : {"", "a\"b", "a'b", "a b", "a/b", "a]", "\xff"}) {
    const auto subgroup = config_without_file("quick", {"orders", name});
    REQUIRE_FALSE(subgroup);
    CHECK(subgroup.error().place() == "the names of the subgroups:1, layout[1].name");
    CHECK(subgroup.error().fix() == "write a string of 1 to 64 of A-Z, a-z, 0-9, _, . and -");
  }
  CHECK_FALSE(config_without_file(std::string(33, 'a'), {"orders"}));
  CHECK_FALSE(config_without_file("quick", {"orders", "orders"}));
}

TEST_CASE("a group may begin without subgroups, without a file and with one") {
  const Config config = value_or_throw(config_without_file());
  CHECK(config.group_name() == "default");
  CHECK(value_or_throw(config.view()).subgroups.empty());
  CHECK(config.digest() != value_or_throw(config_without_file("default", {"orders"})).digest());
  CHECK(value_or_throw(parse(with_layout("[]")).view()).subgroups.empty());
}

TEST_CASE("nothing in the environment makes another group of one without a file") {
  ::setenv("SPINDRIFT_GROUP_NAME", "elsewhere", 1);
  ::setenv("SPINDRIFT_FOUNDING", "named", 1);
  ::setenv("SPINDRIFT_LAYOUT_JSON_LAYOUT", R"([{"name": "elsewhere"}])", 1);
  ::setenv("SPINDRIFT_SPIN_US", "7", 1);
  const Config config = value_or_throw(config_without_file("quick", {"orders"}));
  for (const char* each : {"GROUP_NAME", "FOUNDING", "LAYOUT_JSON_LAYOUT", "SPIN_US"})
    ::unsetenv(("SPINDRIFT_" + std::string(each)).c_str());
  CHECK(config.group_name() == "quick");
  CHECK(founded_by_present(config));
  CHECK(value_or_throw(config.view()).subgroups.at(0).name == "orders");
  CHECK(config.polling().spin == std::chrono::microseconds(7));
}

TEST_CASE("the keys of membership are read") {
  const Config config =
      parse("[SPINDRIFT]\nsuspect_after_ms = 10\nstate_buffer_size = 1 GiB\n[DERECHO]\ndisable_partitioning_safety = yes\n");
  CHECK(config.suspect_after() == std::chrono::milliseconds(10));
  CHECK(config.state_buffer_bytes() == std::uint64_t{1} << 30U);
  CHECK(config.partitioning_safety_disabled());
  CHECK(config.notes().empty());
}

TEST_CASE("every value in force comes with documentation and the variable that sets it") {
  for (const EffectiveValue& value : parse("").effective()) {
    INFO(value.section << "/" << value.key);
    CHECK_FALSE(value.documentation.empty());
    CHECK(value.environment.rfind("SPINDRIFT_", 0) == 0);
  }
  CHECK(effective(parse(""), "DERECHO", "local_id").environment == "SPINDRIFT_DERECHO_LOCAL_ID");
  CHECK(effective(parse(""), "SUBGROUP/DEFAULT", "window_size").environment == "SPINDRIFT_SUBGROUP_DEFAULT_WINDOW_SIZE");
}

TEST_CASE("spelling does not matter: blanks, comments, quotes, carriage returns, units, words for true") {
  const Config config = parse(
      "\xef\xbb\xbf# comment\r\n"
      "; comment\r\n"
      "  [SPINDRIFT]  # comment\r\n"
      "\tgroup_name='night-watch'\r\n"
      "poll   =   \"spin\"  ; comment\r\n"
      "runtime_directory = /tmp/x/ # comment\r\n"
      "[SUBGROUP/DEFAULT]\r\n"
      "ring_size = 2 MiB\r\n"
      "[PERS]\r\n"
      "reset = yes\r\n");
  CHECK(config.group_name() == "night-watch");
  CHECK(config.polling().mode == PollMode::spin);
  CHECK(config.runtime_directory() == "/tmp/x");
  CHECK(config.integer("SUBGROUP/DEFAULT", "ring_size") == 2 << 20);
  CHECK(config.boolean("PERS", "reset"));
}

TEST_CASE("one value says where each node's keys lie, and to go without must be written down") {
  const std::string text = "[SPINDRIFT]\ngroup_name = orders\nsecurity = none\nkeys = /etc/spindrift/<group>/<id>/\n";
  const Config config = parse(text + "[DERECHO]\nlocal_id = 7\n");
  CHECK_FALSE(config.proves_members());
  CHECK(config.keys_directory() == "/etc/spindrift/orders/7");
  CHECK(config.digest() != parse("[SPINDRIFT]\ngroup_name = orders\nkeys = /x\n").digest());
  CHECK(parse("[SPINDRIFT]\nkeys = /x\n").digest() == parse("").digest());
}

TEST_CASE("members of different hosts prove who they are unless it is written that they do not") {
  const auto proves = [](const std::string& keys) {
    return parse("[SPINDRIFT]\nmembers = 0, 1\n" + keys + "[LAYOUT]\njson_layout = '[{\"name\": \"a\"}]'\n")
        .proves_members();
  };
  const std::string here = "addresses = 0@127.0.0.1:7400, 1@127.0.0.2:7400\n";
  const std::string beyond = "addresses = 0@10.0.0.1:7400, 1@10.0.0.2:7400\nnetwork_trusted = true\n";
  CHECK(proves("fabric = tcp\n" + here));
  CHECK(proves("fabric = shm+tcp\n" + beyond));
  CHECK_FALSE(proves("fabric = tcp\nsecurity = none\n" + here));
  for (const std::string fabric : {"fabric = ofi:tcp\n", "fabric = vq:net\n", "fabric = verbs\n", "fabric = shm+vq:tcp\n"}) {
    CHECK_FALSE(proves(fabric + here));
    CHECK(proves(fabric + "security = tls\n" + here));
    CHECK(proves(fabric + beyond));
    CHECK_FALSE(proves(fabric + "security = none\n" + beyond));
  }
}

TEST_CASE("members listen for observers at their hosts, those of one host at one port after the other") {
  const std::string text =
      "[SPINDRIFT]\naddresses = 0@10.0.0.1:7400, 1@Host-b:7400, 2@10.0.0.1:7401, 3@host-b:7401, 4@[fd00::1]:7400\n"
      "[LAYOUT]\njson_layout = '[{\"name\": \"orders\", \"members\": [0, 1, 2, 3, 4]}]'\n";
  const Config given = parse(text, {{"SPINDRIFT/observer_port", "7500"}});
  CHECK(config::observer_address_of(given, NodeId(0)) == "10.0.0.1:7500");
  CHECK(config::observer_address_of(given, NodeId(1)) == "Host-b:7500");
  CHECK(config::observer_address_of(given, NodeId(2)) == "10.0.0.1:7501");
  CHECK(config::observer_address_of(given, NodeId(3)) == "host-b:7501");
  CHECK(config::observer_address_of(given, NodeId(4)) == "[fd00::1]:7500");
  CHECK(config::observer_address_of(given, NodeId(9)).empty());
  CHECK(config::observer_address_of(parse(text), NodeId(0)).empty());
  CHECK(parse(text).digest() == given.digest());
}

TEST_CASE("a hash inside a value starts no comment unless a blank stands before it") {
  CHECK(parse("[SPINDRIFT]\nlog_file = a#b;c #d\n").log_file() == "a#b;c");
}

TEST_CASE("a section may be opened twice") {
  const Config config = parse("[SPINDRIFT]\nspin_us = 1\n[DERECHO]\nlocal_id = 4\n[SPINDRIFT]\npoll = spin\n");
  CHECK(config.polling().spin == std::chrono::microseconds(1));
  CHECK(config.polling().mode == PollMode::spin);
}

TEST_CASE("a profile takes from the default profile what it does not set") {
  const Config config = parse("[SUBGROUP/FAST]\nwindow_size = 7\n[SUBGROUP/DEFAULT]\nmax_smc_payload_size = 100\n");
  CHECK(config.integer("SUBGROUP/FAST", "window_size") == 7);
  CHECK(config.integer("SUBGROUP/FAST", "max_smc_payload_size") == 100);
  CHECK(effective(config, "SUBGROUP/FAST", "max_smc_payload_size").origin == "test.cfg:4 in [SUBGROUP/DEFAULT]");
  CHECK(config.integer("SUBGROUP/DEFAULT", "window_size") == 1024);
}

TEST_CASE("the ring is derived from the largest message: at least 1 MiB, at least four of them, a power of two") {
  const auto ring = [](const std::string& largest) {
    return parse("[SUBGROUP/DEFAULT]\nmax_smc_payload_size = " + largest).integer("SUBGROUP/DEFAULT", "ring_size");
  };
  CHECK(ring("1") == 1 << 20);
  CHECK(ring(std::to_string((1 << 18) - 16)) == 1 << 20);
  CHECK(ring(std::to_string((1 << 18) - 15)) == 1 << 21);
  CHECK(ring(std::to_string((1 << 28) - 16)) == 1 << 30);
}

TEST_CASE("a key without effect and a variable without key are noted") {
  const Config config = parse("[DERECHO]\ngms_port = 23580\n[SUBGROUP/DEFAULT]\nblock_size = 0\n", {},
                              {{"SPINDRIFT_POOL", "spin"}, {"SPINDRIFT_SPIN_US", "1"}});
  REQUIRE(config.notes().size() == 3);
  CHECK_THAT(config.notes()[0], Catch::StartsWith("test.cfg:2: [DERECHO] gms_port is accepted, but not used"));
  CHECK_THAT(config.notes()[1], Catch::StartsWith("test.cfg:4: [SUBGROUP/DEFAULT] block_size"));
  CHECK_THAT(config.notes()[2], Catch::Contains("SPINDRIFT_POOL"));
}

TEST_CASE("a configuration is read from a file with the layout file beside it and the process's environment") {
  const auto directory = std::filesystem::temp_directory_path() / ("spindrift-config-" + std::to_string(::getpid()));
  std::filesystem::create_directories(directory);
  const std::string path = (directory / "derecho.cfg").string();
  std::ofstream(path) << "[SPINDRIFT]\nmembers = 4, 5\n[LAYOUT]\njson_layout_file = 'layout.json'\n";
  std::ofstream(directory / "layout.json") << R"([{"name": "main"}])";
  REQUIRE(::setenv("SPINDRIFT_DERECHO_LOCAL_ID", "5", 1) == 0);
  const auto config = Config::read(path);
  const auto rank = config ? config->local_rank() : Result<Rank>(Error(ErrorKind::bad_config, ""));
  std::ofstream(directory / "layout.json") << "[{\"name\": \"main\"},\n\n,";
  const auto broken = Config::check(path);
  std::filesystem::remove(directory / "layout.json");
  const auto missing = Config::check(path);
  ::unsetenv("SPINDRIFT_DERECHO_LOCAL_ID");
  std::filesystem::remove_all(directory);

  REQUIRE(config);
  REQUIRE(rank);
  CHECK(*rank == Rank(1));
  CHECK(config->view()->subgroups.at(0).members == ids({4, 5}));
  REQUIRE(broken.size() == 1);
  CHECK(broken[0].place() == "layout.json:3");
  REQUIRE(missing.size() == 1);
  CHECK(missing[0].place() == path + ":4");
  CHECK_THAT(missing[0].to_string(), Catch::Contains("layout.json") && Catch::Contains("No such file"));
  CHECK_FALSE(missing[0].fix().empty());
}

TEST_CASE("a file that cannot be read is an error, and load throws it") {
  const auto absent = Config::read("/nonexistent/derecho.cfg");
  REQUIRE_FALSE(absent);
  CHECK(absent.error().place() == "/nonexistent/derecho.cfg");
  CHECK_THAT(absent.error().message(), Catch::Contains("No such file"));
  CHECK_FALSE(absent.error().fix().empty());
  CHECK_FALSE(Config::read("/dev/null"));
  CHECK_THROWS_AS(Config::load("/nonexistent/derecho.cfg"), Exception);
}

TEST_CASE("who gives addresses reaches other hosts by tcp and neighbors in place, unless another fabric is written") {
  const auto config = [](const std::string& lines, const std::vector<ConfigOverride>& flags = {},
                         const Config::Environment& environment = {}) {
    return parse("[SPINDRIFT]\nmembers = 0, 1\n" + lines + "[LAYOUT]\njson_layout = '[{\"name\": \"a\"}]'\n", flags,
                 environment);
  };
  const std::string addresses = "addresses = 10.0.0.<id>:7400\n";
  const Config between_hosts = config(addresses);
  CHECK(between_hosts.fabric() == "shm+tcp");
  CHECK(between_hosts.origin("SPINDRIFT", "fabric") == "default, because addresses are given");
  CHECK(effective(between_hosts, "SPINDRIFT", "fabric").origin == "default, because addresses are given");
  CHECK(between_hosts.proves_members());
  CHECK(config("").fabric() == "shm");
  CHECK(config("").origin("SPINDRIFT", "fabric") == "default");
  CHECK(config("fabric = shm\n" + addresses).fabric() == "shm");
  CHECK(config("fabric = tcp\n" + addresses).origin("SPINDRIFT", "fabric") == "test.cfg:3");
  CHECK(config("", {{"SPINDRIFT/addresses", "127.0.0.1:740<id>"}}).fabric() == "shm+tcp");
  CHECK(config("", {}, {{"SPINDRIFT_ADDRESSES", "127.0.0.1:740<id>"}}).fabric() == "shm+tcp");
}

TEST_CASE("a process that is no member is told how to become one") {
  const auto rank = parse(with_layout(R"([{"name": "main"}])"), {{"DERECHO/local_id", "7", "--id"}}).local_rank();
  REQUIRE_FALSE(rank);
  check_problems({rank.error()}, {{"flag --id", "node 7, which is not among the members 0, 1, 2", "local_id"}});
}

TEST_CASE("addresses are a list, a pattern, or a list with a pattern for the others") {
  const auto config = [](const std::string& addresses, const std::string& fabric = "ofi:tcp") {
    return parse("[SPINDRIFT]\nfabric = " + fabric + "\naddresses = " + addresses + "\nmembers = 0, 1, 12\n" +
                 "network_trusted = true\n[LAYOUT]\njson_layout = '[{\"name\": \"orders\"}]'\n");
  };
  const Config list = config("1@[fd00::1]:7401,0@10.0.0.1:7400 , 12@node-12.cluster:7400");
  CHECK(list.fabric() == "ofi:tcp");
  CHECK(config("10.0.0.<id>:7400", "ofi:net").fabric() == "ofi:net");
  CHECK(config("10.0.0.1:740<id>", "shm+ofi:tcp").fabric() == "shm+ofi:tcp");
  CHECK(list.text("SPINDRIFT", "addresses") == "1@[fd00::1]:7401, 0@10.0.0.1:7400, 12@node-12.cluster:7400");
  CHECK(list.address_of(NodeId(0)) == "10.0.0.1:7400");
  CHECK(list.address_of(NodeId(1)) == "[fd00::1]:7401");
  CHECK(list.address_of(NodeId(12)) == "node-12.cluster:7400");
  CHECK(list.address_of(NodeId(2)).empty());
  const Config pattern = config("node-<id>.cluster:74<id>");
  CHECK(pattern.address_of(NodeId(0)) == "node-0.cluster:740");
  CHECK(pattern.address_of(NodeId(12)) == "node-12.cluster:7412");
  const Config both = config("node-<id>.cluster:7400, 1@10.0.0.1:1");
  CHECK(both.address_of(NodeId(1)) == "10.0.0.1:1");
  CHECK(both.address_of(NodeId(12)) == "node-12.cluster:7400");
  CHECK(parse("").address_of(NodeId(0)).empty());
}
