// A node whose key was revoked is started again: it is told so, whoever has the list.
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "command.hpp"
#include "command_group.hpp"
#include "exit_code.hpp"

using namespace spindrift;
using namespace spindrift::test;
using namespace spindrift::tools;
using Catch::Matchers::Contains;

namespace {

/// Three nodes over TCP, at addresses of this process's own. Nodes 0 and 1 have the keys where they were made, node 2 a
/// copy, as if it were on another host.
struct KeyedGroup {
  Directory directory;
  std::string keys = directory.path() + "/keys";
  std::string config;

  explicit KeyedGroup(const std::string& fabric) {
    const auto pid = static_cast<unsigned>(::getpid());
    const std::string host = "127." + std::to_string(pid / 250 % 250 + 1) + "." + std::to_string(pid % 250 + 1) + ".";
    config = directory.file("group.cfg",
                            "[SPINDRIFT]\nmembers = 0, 1, 2\ngroup_name = orders\nsecurity = tls\nfabric = " + fabric +
                                "\naddresses = 0@" + host + "1:7441, 1@" + host + "2:7441, 2@" + host +
                                "3:7441\nruntime_directory = " + directory.path() +
                                "/run\njoin_timeout_ms = 30000\n[LAYOUT]\njson_layout = '[{\"name\": \"orders\"}]'\n");
    std::filesystem::create_directory(directory.path() + "/run");
    std::filesystem::permissions(directory.path() + "/run", std::filesystem::perms::owner_all);
    REQUIRE(run({"keys", "init", "orders", "--nodes", "0,1,2", "--dir", keys}).code == 0);
    std::filesystem::copy(keys + "/2", keys + "-elsewhere");
  }
  [[nodiscard]] std::vector<std::string> node(int id, const std::string& bundle, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"node", "--config", config, "--id", std::to_string(id), "--set", "SPINDRIFT/keys=" + bundle});
    return more;
  }
};

void check_new_start(const std::string& fabric) {
  const KeyedGroup group(fabric);
  Command zero(group.node(0, group.keys + "/0"));
  Command one(group.node(1, group.keys + "/1"));
  Command two(group.node(2, group.keys + "-elsewhere"));
  for (Command* each : {&zero, &one, &two}) REQUIRE(each->wait_for("in view"));
  CHECK(end(two).code == 0);
  for (Command* each : {&zero, &one}) REQUIRE(each->wait_for("view 1: members 0, 1; left 2"));
  REQUIRE(run({"keys", "revoke", "orders", "--nodes", "2", "--dir", group.keys}).code == 0);
  for (Command* each : {&zero, &one}) REQUIRE(each->wait_for("event=revocations_changed"));

  const CommandResult without_list =
      run(group.node(2, group.keys + "-elsewhere", {"--set", "SPINDRIFT/join_timeout_ms=5000"}));
  CHECK(without_list.code == number(ExitCode::refused));
  CHECK_THAT(
      without_list.errors,
      Contains("spindrift: node 2 waited 5000 ms for a view; because: the list of node ") &&
          Contains(": this node's certificate is revoked; fix: give the node a new certificate, if it is to come back"));
  const CommandResult with_list = run(group.node(2, group.keys + "/2"));
  CHECK(with_list.code == number(ExitCode::refused));
  CHECK_THAT(with_list.errors, Contains("/keys/2/node.crt: this node's certificate is revoked; fix: give the node a new"));

  REQUIRE(run({"keys", "rotate", "orders", "--nodes", "2", "--dir", group.keys}).code == 0);
  Command back(group.node(2, group.keys + "/2"));
  REQUIRE(back.wait_for("in view"));
  for (Command* each : {&back, &zero}) CHECK(end(*each).code == 0);
  CHECK(end(one).code == 0);
}

}  // namespace

TEST_CASE("a node whose key was revoked is refused at its next start, with the reason, over tcp") { check_new_start("tcp"); }

TEST_CASE("a node whose key was revoked is refused at its next start, with the reason, over libfabric") {
  check_new_start("ofi:tcp");
}
