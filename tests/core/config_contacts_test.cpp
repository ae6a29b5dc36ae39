// Configurations whose nodes are told by contacts.
#include "config_fixture.hpp"

#include <spindrift/core/config/contacts.hpp>

using namespace spindrift;
using namespace spindrift::test;

namespace {

const std::string layout = "\n[LAYOUT]\njson_layout = '[{\"name\": \"orders\", \"members\": [0, 1, 2]}]'\n";

std::string with(const std::string& keys) { return "[SPINDRIFT]\n" + keys + layout; }

/// The one problem of it.
Error problem_of(const std::string& text,
                 const std::vector<ConfigOverride>& overrides = {{"DERECHO/local_id", "0", "--id"}}) {
  const auto problems = Config::check_text(text, "test.cfg", overrides);
  REQUIRE(problems.size() == 1);
  CHECK_FALSE(problems.front().place().empty());
  CHECK_FALSE(problems.front().fix().empty());
  return problems.front();
}

}  // namespace

TEST_CASE("who has contacts needs to know no node but its own, and founds nothing") {
  const Config config = parse(with("contacts = a:1 ,[fd00::1]:2\n"), {{"DERECHO/local_id", "7"}});
  CHECK(contacts_of(config) == std::vector<std::string>{"a:1", "[fd00::1]:2"});
  CHECK(config.fabric() == "shm+tcp");
  CHECK(config.proves_members());
  CHECK(config.view().value().members == std::vector{NodeId(7)});
  CHECK(config.founders().empty());
  CHECK_FALSE(can_begin_group(config));
  CHECK(has_local_id(config));
  CHECK_FALSE(has_local_id(parse(with("contacts = a:1\n"))));
  CHECK(contacts_of(parse(with("members = 0, 1, 2\n"))).empty());
}

TEST_CASE("contacts change nothing of what members must have alike") {
  CHECK(parse(with("contacts = a:1\n")).digest() ==
        parse(with("fabric = shm+tcp\nmembers = 0, 1, 2\naddresses = <id>.x:1\n")).digest());
}

TEST_CASE("who bootstraps founds alone, at its own address, whatever other members it names") {
  const Config alone = parse(with("contacts = a:1\nbootstrap = true\naddresses = 3@a:1\n"), {{"DERECHO/local_id", "3"}});
  CHECK(alone.founders() == std::vector{NodeId(3)});
  CHECK(alone.view().value().members == std::vector{NodeId(3)});
  CHECK(can_begin_group(alone));
  const Config one_of_three = parse(with("contacts = a:1\nbootstrap = true\nmembers = 0, 1, 2\naddresses = n<id>:1\n"),
                                    {{"DERECHO/local_id", "1"}});
  CHECK(one_of_three.founders() == std::vector{NodeId(1)});
  CHECK(one_of_three.view().value().members == std::vector{NodeId(0), NodeId(1), NodeId(2)});
  CHECK(can_begin_group(parse(with("contacts = a:1\nmembers = 0, 1, 2\naddresses = n<id>:1\n"))));
}

TEST_CASE("contacts that nobody could ask, and foundings that would look for nobody, are refused with the reason") {
  CHECK(problem_of(with("contacts = a\n")).message().find("is no address") != std::string::npos);
  CHECK(problem_of(with("contacts = a:0\n")).message().find("nobody can be called at a:0") != std::string::npos);
  CHECK(problem_of(with("contacts = 0.0.0.0:1\n")).message().find("nobody can be called") != std::string::npos);
  CHECK(problem_of(with("contacts = a:1,\n")).message().find("is no address") != std::string::npos);
  CHECK(problem_of(with("contacts = a:1\nfabric = shm\n")).message().find("the fabric is shm") != std::string::npos);
  CHECK(problem_of(with("contacts = a:1\nfabric = ofi:tcp\n")).message().find("the fabric is ofi:tcp") != std::string::npos);
  CHECK(problem_of(with("bootstrap = true\nmembers = 0, 1, 2\n")).message().find("without a look") != std::string::npos);
  CHECK(problem_of(with("contacts = a:1\nbootstrap = true\n")).message().find("node 0 has no address") !=
        std::string::npos);
  CHECK(problem_of(with("contacts = a:1\nbootstrap = true\naddresses = 0@a:1\n"), {}).message().find(
            "nothing says which one it is") != std::string::npos);
  CHECK(problem_of(with("contacts = a:1\nfounders = 0\n")).message().find("founders are named") != std::string::npos);
  CHECK(problem_of(with("contacts = a:1\nbootstrap = true\naddresses = 0@a:1\nfounders = 0\n")).message().find(
            "founders are named") != std::string::npos);
}

TEST_CASE("the roster that a contact tells stands for members and addresses, and leaves the rest as it was") {
  const Roster roster{4, {{NodeId(9), "b:2"}, {NodeId(1), "[fd00::1]:3"}}, {}};
  const Config asked = parse(with("contacts = a:1\nspin_us = 3\n"));
  const Config told = as_node_of(asked, roster, NodeId(1));
  CHECK(told.local_id() == NodeId(1));
  CHECK(told.view().value().members == std::vector{NodeId(9), NodeId(1)});
  CHECK(told.view().value().roster == roster);
  CHECK(told.address_of(NodeId(9)) == "b:2");
  CHECK(told.address_of(NodeId(1)) == "[fd00::1]:3");
  CHECK(told.address_of(NodeId(0)).empty());
  CHECK(told.founders().empty());
  CHECK(contacts_of(told).empty());
  CHECK(told.digest() == asked.digest());
  CHECK(told.integer("SPINDRIFT", "spin_us") == 3);
  CHECK(told.view().value().subgroups.at(0).members == std::vector{NodeId(1)});
}
