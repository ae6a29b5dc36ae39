// The problems of a file's lines and values: each is told with its line, its cause and its fix.
#include "config_fixture.hpp"

using namespace spindrift;
using namespace spindrift::test;

TEST_CASE("an unknown key names the nearest one of its section") {
  check_text_problems("[SPINDRIFT]\n\nspin_su = 3\n",
                      {{"test.cfg:3", R"(no key "spin_su" in [SPINDRIFT])", "did you mean spin_us?"}});
}

TEST_CASE("a known key in the wrong section is sent to the right one") {
  check_text_problems("[SPINDRIFT]\nlocal_id = 3\nwindow_size = 2\n",
                      {{"test.cfg:2", "no key \"local_id\"", "move it to [DERECHO]"},
                       {"test.cfg:3", "no key \"window_size\"", "move it to [SUBGROUP/DEFAULT]"}});
}

TEST_CASE("a key that resembles one of another section, or stands in none, is told both") {
  check_text_problems("memebers = 1\n[DERECHO]\nmemebers = 2\nwindow_sise = 3\n",
                      {{"test.cfg:1", "before any section", "did you mean members in [SPINDRIFT]?"},
                       {"test.cfg:3", "no key \"memebers\"", "did you mean members in [SPINDRIFT]?"},
                       {"test.cfg:4", "no key \"window_sise\"", "did you mean window_size in [SUBGROUP/DEFAULT]?"}});
  check_text_problems("frobnicate = 1\n", {{"test.cfg:1", "before any section", "write the section of its key above it"}});
}

TEST_CASE("a key that resembles no other is shown the known ones") {
  check_text_problems("[RDMA]\nfrobnicate = 3\n", {{"test.cfg:2", "frobnicate", "provider, domain, tx_depth, rx_depth"}});
}

TEST_CASE("an unknown section is reported once, and not its keys") {
  check_text_problems("[DERECO]\nlocal_id = 1\n[DERECO]\nlocal_ip = x\n",
                      {{"test.cfg:1", "no section [DERECO]", "did you mean [DERECHO]?"}});
  check_text_problems("[ZZZZZZZZZ]\n", {{"test.cfg:1", "no section", "[SUBGROUP/DEFAULT]"}});
  check_text_problems("[SUBGROUP/]\n", {{"test.cfg:1", "no section", "1 to 40 of A-Z"}});
}

TEST_CASE("lines that are no INI are reported one by one and the rest is still checked") {
  check_text_problems("stray = 1\n[SPINDRIFT\nno equals sign\n= 3\n[SPINDRIFT]\npoll = maybe\n",
                      {{"test.cfg:2", "is not a section", "[SECTION]"},
                       {"test.cfg:3", "not of the form key = value", "key = value"},
                       {"test.cfg:4", "not of the form key = value", "key = value"},
                       {"test.cfg:1", "before any section", ""},
                       {"test.cfg:6", "poll = \"maybe\"", "block or spin"}});
}

TEST_CASE("quotes must close, and nothing follows them") {
  check_text_problems("[SPINDRIFT]\nlog_file = 'abc\nspin_us = 1\n",
                      {{"test.cfg:2", "no closing quote", "close it with '"}});
  check_text_problems("[SPINDRIFT]\nlog_file = \"abc\nspin_us = \"1\"\n",
                      {{"test.cfg:2", "no closing quote", "close it with \""}});
  check_text_problems("[SPINDRIFT]\nlog_file = 'a\nb' c\n", {{"test.cfg:3", "text follows the closing quote", "remove"}});
}

TEST_CASE("a control character in a value is refused") {
  check_text_problems(std::string_view("[SPINDRIFT]\nlog_file = a\0b\n", 27),
                      {{"test.cfg:2", "control character", "remove"}});
}

TEST_CASE("a key given twice names the first line") {
  check_text_problems("[SPINDRIFT]\nspin_us = 1\n[SPINDRIFT]\nspin_us = 1\n",
                      {{"test.cfg:4", "given twice, first on line 2", "remove one"}});
}

TEST_CASE("a value of the wrong type or out of range says what may stand there") {
  check_text_problems("[SPINDRIFT]\nspin_us = soon\n",
                      {{"test.cfg:2", "spin_us = \"soon\" is not valid", "integer from 0 to 10000"}});
  check_text_problems("[SPINDRIFT]\nspin_us = 10001\n", {{"test.cfg:2", "out of range", "from 0 to 10000 (microseconds)"}});
  check_text_problems("[SPINDRIFT]\nsuspect_after_ms = 0\n", {{"test.cfg:2", "out of range", "from 10 to 600000"}});
  check_text_problems("[SPINDRIFT]\nspin_us = -1\n", {{"test.cfg:2", "out of range", "from 0"}});
  check_text_problems("[SPINDRIFT]\nspin_us = 5 MiB\n", {{"test.cfg:2", "not valid", "integer"}});
  check_text_problems("[SPINDRIFT]\nspin_us =\n", {{"test.cfg:2", "not valid", "integer"}});
  check_text_problems("[SPINDRIFT]\njoin_timeout_ms = 99999999999999999999\n", {{"test.cfg:2", "not valid", "integer"}});
  check_text_problems("[SUBGROUP/DEFAULT]\nring_size = 9999999999 GiB\n", {{"test.cfg:2", "not valid", "KiB"}});
  check_text_problems("[SPINDRIFT]\ngroup_name = Night Watch\n", {{"test.cfg:2", "group_name", "a-z"}});
  check_text_problems("[SPINDRIFT]\ngroup_name = " + std::string(33, 'a'), {{"test.cfg:2", "group_name", "1 to 32"}});
  check_text_problems("[SPINDRIFT]\nruntime_directory = here\n", {{"test.cfg:2", "runtime_directory", "absolute path"}});
  check_text_problems("[SPINDRIFT]\nruntime_directory = /" + std::string(80, 'a'), {{"test.cfg:2", "directory", "80"}});
  check_text_problems("[SPINDRIFT]\nkeys = here\n", {{"test.cfg:2", "keys", "absolute or begins with ~/"}});
  check_text_problems("[SPINDRIFT]\nsecurity = off\n", {{"test.cfg:2", "security", "tls or none"}});
  check_text_problems("[SPINDRIFT]\nlog_level = loud\n", {{"test.cfg:2", "\"loud\" is not a log level", "warn"}});
  check_text_problems("[SPINDRIFT]\nmembers = 1, x\n", {{"test.cfg:2", "\"x\" is not a node id", "separated by commas"}});
  check_text_problems("[SPINDRIFT]\nmembers = 1, 2, 1\n", {{"test.cfg:2", "node 1 is named twice", "once"}});
  check_text_problems("[PERS]\nreset = perhaps\n", {{"test.cfg:2", "reset", "true or false"}});
  check_text_problems("[DERECHO]\ngms_port = 65536\n", {{"test.cfg:2", "out of range", "65535"}});
}

TEST_CASE("a wrong value of the file is reported even where a flag hides it") {
  const auto problems = Config::check_text("[SPINDRIFT]\nspin_us = soon\n", "test.cfg", {{"SPINDRIFT/spin_us", "3"}});
  check_problems(problems, {{"test.cfg:2", "soon", "integer"}});
}

TEST_CASE("flags and variables are checked like the file") {
  check_problems(
      Config::check_text("", "test.cfg", {{"SPINDRIFT/poll", "maybe"}}, {{"SPINDRIFT_SPIN_US", "soon"}}),
      {{"flag --set SPINDRIFT/poll", "maybe", "block or spin"}, {"environment SPINDRIFT_SPIN_US", "soon", "integer"}});
  check_problems(
      Config::check_text("", "test.cfg", {{"SPINDRIFT/pol", "spin"}, {"poll", "spin"}, {"SPNDRIFT/poll", "spin"}}),
      {{"flag --set", "SPINDRIFT/pol", "did you mean poll?"},
       {"flag --set", "no key \"poll\"", "SECTION/key=value"},
       {"flag --set", "SPNDRIFT/poll", "did you mean [SPINDRIFT]?"}});
}

TEST_CASE("ring and message sizes must fit together") {
  check_text_problems("[SUBGROUP/DEFAULT]\nring_size = 5000\nmax_smc_payload_size = 1\n",
                      {{"test.cfg:2", "no power of two", "write 8192"}});
  check_text_problems("[SUBGROUP/DEFAULT]\nring_size = 4096\nmax_smc_payload_size = 2041\n",
                      {{"test.cfg:2", "does not fit into half of ring_size = 4096", "raise ring_size to 8192"}});
  CHECK(Config::check_text("[SUBGROUP/DEFAULT]\nring_size = 4096\nmax_smc_payload_size = 2040\n", "test.cfg").empty());
}

TEST_CASE("a bulk ring must hold two of the largest messages, and the ring what is not large") {
  const std::string small = "[SUBGROUP/DEFAULT]\nmax_smc_payload_size = 1 MiB\nring_size = 4096\n";
  check_text_problems(small + "bulk_ring_bytes = 3 MiB\n", {{"test.cfg:4", "no power of two", "write 4194304"},
                                                            {"test.cfg:3", "half of ring_size = 4096", "raise ring_size"}});
  check_text_problems(small + "large_message_bytes = 2040\nbulk_ring_bytes = 1 MiB\n",
                      {{"test.cfg:5", "half of bulk_ring_bytes = 1048576", "raise bulk_ring_bytes to 2097152"},
                       {"test.cfg:3", "half of ring_size = 4096", "raise ring_size"}});
  check_text_problems(small + "large_message_bytes = 15\nbulk_ring_bytes = 2 MiB\n",
                      {{"test.cfg:4", "large_message_bytes = 15 is below 16", "64 KiB"},
                       {"test.cfg:3", "half of ring_size = 4096", "raise ring_size"}});
  check_text_problems(small + "large_message_bytes = 2041\nbulk_ring_bytes = 2 MiB\n",
                      {{"test.cfg:3", "that is not large, large_message_bytes = 2041", "raise ring_size to 8192"}});
  CHECK(Config::check_text(small + "large_message_bytes = 2040\nbulk_ring_bytes = 2 MiB\n", "test.cfg").empty());
}

TEST_CASE("more members than a group may have are refused where they are named") {
  std::string most;
  for (int id = 0; id < 256; ++id) most += (id == 0 ? "" : ", ") + std::to_string(id);
  const std::string layout = "\n[LAYOUT]\njson_layout = '[{\"name\": \"a\"}]'\n";
  CHECK(parse("[SPINDRIFT]\nmembers = " + most + layout).view().value().members.size() == 256);
  check_text_problems("[SPINDRIFT]\nmembers = " + most + ", 256" + layout,
                      {{"test.cfg:2", "members names more than 256 nodes", "256 nodes at most"}});
}

TEST_CASE("what follows from a value that cannot be read is no problem of its own") {
  const std::string layout = "[LAYOUT]\njson_layout = '[{\"name\": \"a\"}]'\n";
  check_text_problems("[SPINDRIFT]\nmembers = 0-3\n" + layout, {{"test.cfg:2", "\"0-3\" is not a node id", "commas"}});
  check_text_problems("[SPINDRIFT]\nmembers = 0, 1\nfabric = tcp\naddresses = 0@a:1, 1@b\n" + layout,
                      {{"test.cfg:4", "\"b\" is no address", "id@host:port"}});
  check_problems(Config::check_text("[SPINDRIFT]\nmembers = 0, 1\nfabric = tcp\n" + layout, "test.cfg",
                                    {{"SPINDRIFT/addresses", "nowhere"}}),
                 {{"flag --set SPINDRIFT/addresses", "names no node", "id@host:port"}});
}

TEST_CASE("parse reports the first of several problems and how many there are") {
  const auto config = Config::parse("[SPINDRIFT]\nspin_us = soon\npoll = maybe\n", "test.cfg");
  REQUIRE_FALSE(config);
  CHECK(config.error().place() == "test.cfg:2");
  CHECK_THAT(config.error().message(), Catch::Contains("soon") && Catch::Contains("first of 2 problems"));
  CHECK_THAT(config.error().fix(), Catch::Contains("integer"));
}

TEST_CASE("a configuration without a layout is valid but describes no view") {
  const auto view = parse("").view();
  REQUIRE_FALSE(view);
  CHECK(view.error().place() == "test.cfg");
  CHECK_THAT(view.error().message(), Catch::Contains("no layout"));
  CHECK_THAT(view.error().fix(), Catch::Contains("[LAYOUT]"));
  CHECK_FALSE(parse("").local_rank());
}

TEST_CASE("an address that is none is named") {
  for (const auto& [text, cause] :
       std::vector<std::pair<std::string, std::string>>{{"10.0.0.1:7400", "\"10.0.0.1:7400\" names no node"},
                                                        {"x@10.0.0.1:7400", "\"x\" is no node id"},
                                                        {"0@10.0.0.1", "\"10.0.0.1\" is no address"},
                                                        {"0@10.0.0.1:74000", "\"10.0.0.1:74000\" is no address"},
                                                        {"0@fd00::1:7400", "\"fd00::1:7400\" is no address"},
                                                        {"0@a:1, 0@b:1", "node 0 has two addresses"},
                                                        {"a<id>:1, b<id>:1", "there are two patterns"},
                                                        {"0@a:1,", "\"\" names no node"}}) {
    check_text_problems("[SPINDRIFT]\naddresses = " + text + "\n", {{"test.cfg:2", cause, "id@host:port"}});
  }
}

TEST_CASE("a fabric between hosts needs an address for every member, each its own") {
  const std::string layout = "[LAYOUT]\njson_layout = '[{\"name\": \"orders\", \"members\": [0, 1, 2]}]'\n";
  check_text_problems("[SPINDRIFT]\nfabric = ofi:tcp\n" + layout,
                      {{"test.cfg", "node 0 has no address", "add 0@host:port"},
                       {"test.cfg", "node 1 has no address", "add 1@host:port"},
                       {"test.cfg", "node 2 has no address", "add 2@host:port"}});
  check_text_problems("[SPINDRIFT]\nfabric = ofi:tcp\naddresses = 0@a:1, 2@a:1\nnetwork_trusted = true\n" + layout,
                      {{"test.cfg:3", "node 1 has no address", "add 1@host:port"},
                       {"test.cfg:3", "nodes 0 and 2 have the same address, a:1", "of its own"}});
  check_text_problems("[SPINDRIFT]\naddresses = 0@a:1, 2@b:1\n" + layout,
                      {{"test.cfg:2", "node 1 has no address", "add 1@host:port"}});
  check_text_problems("[SPINDRIFT]\nfabric = udp\n",
                      {{"test.cfg:2", "fabric = \"udp\"",
                        "shm or tcp or ofi:tcp or ofi:net or vq:tcp or vq:net or verbs or shm+tcp or shm+ofi:tcp or "
                        "shm+ofi:net or shm+vq:tcp or shm+vq:net or shm+verbs"}});
  check_text_problems("[SPINDRIFT]\nfabric = vq:verbs\n",
                      {{"test.cfg:2", "vq:verbs\" is not offered: libfabric's provider verbs", "or verbs or"}});
}

TEST_CASE("the ports for observers are ports, those of members are none of them, and shm has none") {
  const auto text = [](const std::string& addresses, const std::string& port, const std::string& more = "") {
    return "[SPINDRIFT]\nmembers = 0, 1\naddresses = " + addresses + "\nobserver_port = " + port + "\n" + more +
           "[LAYOUT]\njson_layout = '[{\"name\": \"orders\"}]'\n";
  };
  check_text_problems(text("0@a:1, 1@a:2", "65535"), {{"test.cfg:4", "node 1 for observers would be above 65535", "lower"}});
  check_text_problems(text("0@a:7400, 1@a:7401", "7400"),
                      {{"test.cfg:4", "node 0 would listen for observers at a:7400, where node 0 listens", "another"}});
  check_text_problems(text("0@a:7400, 1@a:7401", "7399"),
                      {{"test.cfg:4", "node 1 would listen for observers at a:7400, where node 0 listens", "another"}});
  check_text_problems(text("0@a:1, 1@b:1", "7500", "fabric = shm\n"),
                      {{"test.cfg:4", "which fabric shm has not", "shm+tcp"}});
  check_text_problems(text("0@a:1, 1@b:1", "65536"), {{"test.cfg:4", "observer_port", "65535"}});
  CHECK(Config::check_text(text("0@a:7400, 1@b:7400", "7401"), "test.cfg").empty());
}

TEST_CASE("clients of other hosts call members that have keys alone") {
  const auto text = [](const std::string& addresses, const std::string& more) {
    return "[SPINDRIFT]\nmembers = 0, 1\naddresses = " + addresses + "\nclient_port = 7600\n" + more +
           "[LAYOUT]\njson_layout = '[{\"name\": \"orders\"}]'\n";
  };
  const std::string apart = "0@127.0.0.1:1, 1@10.0.0.1:1";
  check_text_problems(text(apart, "security = none\n"),
                      {{"test.cfg:4", "node 1 would listen for clients at 10.0.0.1:1, which other", "spindrift keys init"}});
  CHECK(Config::check_text(text(apart, "security = tls\n"), "test.cfg").empty());
  CHECK(Config::check_text(text(apart, ""), "test.cfg").empty());
  CHECK(Config::check_text(text("0@127.0.0.1:1, 1@[::1]:1", "security = none\n"), "test.cfg").empty());
}

TEST_CASE("rights of clients that are none are told with their line") {
  const std::string text = "[SPINDRIFT]\nmembers = 0\nclient_rights = teller@ledger:all\n"
                           "[LAYOUT]\njson_layout = '[{\"name\": \"ledger\"}]'\n";
  check_text_problems(text, {{"test.cfg:3", "\"teller@ledger:all\" is no right of a client", "CLIENT@SUBGROUP:query"}});
}

TEST_CASE("a fabric that cannot tell members from strangers stays on loopback unless the network is trusted") {
  const auto text = [](const std::string& fabric, const std::string& addresses) {
    return "[SPINDRIFT]\nmembers = 0, 1\nfabric = " + fabric + "\naddresses = " + addresses +
           "\n[LAYOUT]\njson_layout = '[{\"name\": \"orders\"}]'\n";
  };
  for (const std::string fabric : {"ofi:tcp", "vq:net", "verbs", "shm+ofi:tcp", "shm+vq:net", "shm+verbs"}) {
    CAPTURE(fabric);
    const std::string apart = text(fabric, "0@127.0.0.1:1, 1@10.0.0.1:1");
    check_text_problems(apart, {{"test.cfg:4", "node 1 listens at 10.0.0.1:1, which other hosts", "network_trusted"}});
    CHECK_FALSE(parse(text(fabric, "0@127.0.0.1:1, 1@[::1]:1")).needs_trusted_network());
    CHECK(parse(apart, {{"SPINDRIFT/network_trusted", "true"}}).needs_trusted_network());
  }
  // On one host too, for the address that is listened at counts, not the place of the members.
  check_text_problems(text("ofi:tcp", "host:740<id>"), {{"test.cfg:4", "node 0 listens at host:7400", "network_trusted"}});
  CHECK_FALSE(parse(text("shm", "host:740<id>")).needs_trusted_network());
}
