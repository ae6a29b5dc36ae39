// Status files together: those of one founding, and a removal from all sides.
#include <filesystem>

#include <catch2/catch.hpp>

#include <spindrift/core/runtime_path.hpp>
#include <spindrift/group/status.hpp>

#include "command.hpp"
#include "group_report.hpp"

using namespace spindrift;
using namespace spindrift::test;
using namespace spindrift::tools;
using Catch::Matchers::Contains;
using group::MemberStatus;

namespace {

/// A node that was in a view of these members, whose incarnations begin at `first`.
MemberStatus status_of(std::uint32_t node, std::uint64_t first, std::vector<std::uint32_t> members) {
  MemberStatus status;
  status.group = "spindrift";
  status.node = NodeId(node);
  status.incarnation = first + node;
  status.state = "failed";
  status.view = ViewId(1);
  for (const std::uint32_t each : members) status.members.push_back({NodeId(each), first + each, 1000});
  status.end = MemberStatus::End{"left", "", 5000};
  return status;
}

MemberStatus::Change removal(std::uint32_t node, const std::string& reason, std::optional<NodeId> by,
                             ViewId view = ViewId(1)) {
  MemberStatus::Change change;
  change.view = view;
  change.at_ms = 2000;
  change.failed.push_back({NodeId(node), reason, by});
  return change;
}

}  // namespace

TEST_CASE("a removal in an earlier founding is none in this one, though the views have the same numbers") {
  GroupReport report;
  MemberStatus now = status_of(0, 900, {0, 1});
  now.end.reset();
  now.state = "active";
  MemberStatus also_now = status_of(1, 900, {1, 2});
  also_now.changes.push_back(removal(0, "it is slow", NodeId(1)));
  MemberStatus before = status_of(2, 100, {0, 1, 2});
  before.changes.push_back(removal(1, "its connection broke", NodeId(2)));
  report.nodes = {{now, NodeReport::Condition::running},
                  {also_now, NodeReport::Condition::ended},
                  {before, NodeReport::Condition::ended}};
  CHECK(report.of_newest_founding(report.nodes[0].status));
  CHECK(report.of_newest_founding(report.nodes[1].status));
  CHECK_FALSE(report.of_newest_founding(report.nodes[2].status));
  REQUIRE(report.departures().size() == 1);
  CHECK(report.departures()[0].reason == "it is slow");
}

TEST_CASE("the newest founding is that of the latest views, though all have ended and an earlier one came to more") {
  GroupReport report;
  MemberStatus before = status_of(1, 100, {0, 1});
  before.view = ViewId(7);
  before.changes.push_back({ViewId(7), 2000, {}, {}, {}, {}});
  MemberStatus earlier_in_last = status_of(2, 900, {0, 2});
  earlier_in_last.view = ViewId(0);
  earlier_in_last.changes.push_back({ViewId(0), 3000, {}, {}, {}, {}});
  MemberStatus last = status_of(0, 900, {0});
  last.changes.push_back({ViewId(1), 3500, {}, {}, {}, {}});
  report.nodes = {{last, NodeReport::Condition::ended},
                  {before, NodeReport::Condition::ended},
                  {earlier_in_last, NodeReport::Condition::ended}};
  REQUIRE(report.newest() != nullptr);
  CHECK(report.newest()->node == NodeId(0));
  CHECK_FALSE(report.of_newest_founding(report.nodes[1].status));
  CHECK(report.of_newest_founding(report.nodes[2].status));
  report.nodes[1].condition = NodeReport::Condition::running;
  CHECK(report.newest()->node == NodeId(1));
}

TEST_CASE("a process that was in no view is of no earlier founding") {
  GroupReport report;
  MemberStatus newcomer = status_of(3, 500, {});
  newcomer.view.reset();
  report.nodes = {{status_of(0, 900, {0}), NodeReport::Condition::running}, {newcomer, NodeReport::Condition::running}};
  CHECK(report.of_newest_founding(report.nodes[1].status));
}

TEST_CASE("why tells a removal from all sides: whose finding it was, what others say, and the removed one's last words") {
  Directory directory;
  MemberStatus accuser = status_of(0, 100, {0, 2});
  accuser.changes.push_back(removal(1, "its connection broke", NodeId(0)));
  MemberStatus third = status_of(2, 100, {0, 2});
  third.changes.push_back(removal(1, "it and node 0 accuse each other", NodeId(0)));
  MemberStatus gone = status_of(1, 100, {0, 1, 2});
  gone.view = ViewId(0);
  gone.end = MemberStatus::End{"removed", "the others removed this node; it had itself accused node 0 (silent)", 2500};
  REQUIRE(std::filesystem::create_directory(directory.path() + "/" + std::string(status_directory)));
  for (const MemberStatus& each : {accuser, gone, third})
    REQUIRE(group::write_status(directory.path() + "/" + status_file_name(each.node), each).ok());
  const std::string told = run({"group", "why", "--group-dir", directory.path()}).output;
  CHECK_THAT(told, Contains("node 1 was removed: its connection broke, found by node 0 itself; node 2 says: it and node 0 "
                            "accuse each other; its own last words: the others removed this node; it had itself accused "
                            "node 0 (silent); says node 0, 2\n"));
  CHECK_THAT(told, Contains("node 1 ended: removed: ") && Contains("; fix: start it again, as by spindrift node"));
  gone.view = ViewId(7);  // a later start of that node
  REQUIRE(group::write_status(directory.path() + "/" + status_file_name(gone.node), gone).ok());
  CHECK_THAT(run({"group", "why", "--group-dir", directory.path()}).output, !Contains("its own last words"));
}

TEST_CASE("why says of each start of a node what the others said of that start, and no other") {
  const Directory directory;
  REQUIRE(std::filesystem::create_directory(directory.path() + "/" + std::string(status_directory)));
  const auto why = [&](const MemberStatus& one, const MemberStatus& other) {
    for (const MemberStatus* each : {&one, &other})
      REQUIRE(group::write_status(directory.path() + "/" + status_file_name(each->node), *each).ok());
    return run({"group", "why", "--group-dir", directory.path()}).output;
  };
  MemberStatus witness = status_of(0, 100, {0, 1});
  witness.view = ViewId(3);
  witness.changes.push_back(removal(1, "its first process died", NodeId(0)));
  MemberStatus killed = status_of(1, 100, {0, 1});  // a later start, whose death nobody has seen
  killed.view = ViewId(3);
  killed.end.reset();
  CHECK_THAT(why(witness, killed), Contains("is gone without a word; no other node of this host runs"));

  witness.changes.push_back(removal(1, "its second process died", NodeId(0), ViewId(4)));
  CHECK_THAT(why(witness, killed), Contains("without a word; the others (node 0) removed it for view 4: its second"));

  killed.view = ViewId(0);  // the first one, while the second one's status is on another host
  killed.end = MemberStatus::End{"removed", "nobody heard it", 500};  // by a clock that is behind
  CHECK_THAT(why(witness, killed), Catch::StartsWith("1970-01-01T00:00:00Z node 1 ended"));
  killed.end = MemberStatus::End{"removed", "nobody heard it", 2500};
  const std::string told = why(witness, killed);
  CHECK_THAT(told, Contains("its first process died, found by node 0 itself; its own last words: nobody heard it"));
  CHECK_THAT(told, Contains("its second process died, found by node 0 itself; says node 0"));
}
