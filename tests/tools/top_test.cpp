// The rows and the page of `spindrift top`.
#include <algorithm>
#include <sstream>

#include <catch2/catch.hpp>

#include "top_page.hpp"

using namespace spindrift;
using namespace spindrift::tools;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

struct NodeFacts {
  std::uint32_t node = 0;
  std::uint64_t delivered = 0;
  std::uint64_t views = 1;
};

/// Nodes that run in view 3, in subgroups "orders" and "audit".
GroupLook look(std::chrono::seconds at, const std::vector<NodeFacts>& facts) {
  GroupLook look{Time(at), {}, {}};
  for (const NodeFacts& each : facts) {
    group::MemberStatus status;
    status.node = NodeId(each.node);
    status.state = "active";
    status.view = ViewId(3);
    status.members.resize(facts.size());
    for (const char* name : {"orders", "audit"}) {
      group::MemberStatus::SubgroupEntry subgroup;
      subgroup.name = name;
      status.subgroups.push_back(subgroup);
    }
    look.report.nodes.push_back({std::move(status), NodeReport::Condition::running});
    look.counters.nodes.push_back({NodeId(each.node),
                                   {{"views.installed", each.views},
                                    {"subgroup.orders.sent", each.delivered / 2},
                                    {"subgroup.orders.sent_bytes", each.delivered * 20},
                                    {"subgroup.orders.stable_latency_us_to_64", each.delivered},
                                    {"subgroup.orders.stable_latency_us_to_2048", each.delivered / 20},
                                    {"subgroup.orders.stable_latency_us_over_2048", 7},
                                    {"subgroup.orders.stable_latency_us_sum", each.delivered * 50},
                                    {"subgroup.orders.delivered", each.delivered},
                                    {"subgroup.orders.delivered_bytes", each.delivered * 10},
                                    {"subgroup.audit.delivered", 5}}});
  }
  return look;
}

constexpr std::chrono::seconds first(100);
constexpr std::chrono::seconds second(102);

std::string shown(TopPage& page, const GroupLook& before, const GroupLook& now) {
  return page.text("g", before, now, {200, 100});
}

}  // namespace

TEST_CASE("rates are of the time between two looks, and of a process that began between them there are none") {
  const auto rows = node_rows(look(first, {{0, 100}, {1, 900}}), look(second, {{0, 300}, {1, 20}, {2, 5}}));
  REQUIRE(rows.size() == 3);
  REQUIRE(rows[0].rates);
  CHECK(rows[0].rates->sent == 50);
  CHECK(rows[0].rates->sent_bytes == 2000);
  CHECK(rows[0].rates->delivered == 100);
  CHECK(rows[0].rates->bytes == 1000);
  CHECK_FALSE(rows[1].rates);
  CHECK_FALSE(rows[2].rates);
}

TEST_CASE("a node is behind those that came in the same view, and no others") {
  const GroupLook now = look(second, {{0, 300, 4}, {1, 280, 4}, {2, 20, 1}});
  const auto rows = node_rows(now, now);
  CHECK(rows[0].behind == 0);
  CHECK(rows[1].behind == 20);
  CHECK_FALSE(rows[2].behind);  // it alone came in view 3
  const auto subgroups = subgroup_rows(now, now, NodeId(1));
  REQUIRE(subgroups.size() == 2);
  CHECK(subgroups[0].subgroup == "orders");
  CHECK(subgroups[0].behind == 20);
  CHECK(subgroups[1].behind == 0);
}

TEST_CASE("a node that died has no rates, is behind nobody, and nobody behind it") {
  GroupLook now = look(second, {{0, 300}, {1, 400}});
  now.report.nodes[1].condition = NodeReport::Condition::died;
  const auto rows = node_rows(look(first, {{0, 100}, {1, 100}}), now);
  CHECK(rows[1].state == "died");
  CHECK_FALSE(rows[1].rates);
  CHECK_FALSE(rows[1].behind);
  CHECK_FALSE(rows[0].behind);
}

TEST_CASE("a row says the first thing that its node waits for, and how many there are") {
  GroupLook now = look(second, {{0, 1}});
  now.report.nodes[0].status.subgroups[1].blocked = "node 1 must deliver";
  CHECK(node_rows(now, now)[0].waits == "audit: node 1 must deliver");
  now.report.nodes[0].status.waits.leave = "a handler";
  CHECK(node_rows(now, now)[0].waits == "(2) to leave: a handler");
  now.report.nodes[0].status.waits.handler = "a handler of subgroup audit has been at work";
  CHECK(node_rows(now, now)[0].waits == "(3) a handler of subgroup audit has been at work");
}

TEST_CASE("latencies are those of the messages between two looks, by subgroup") {
  const auto rows = subgroup_rows(look(first, {{0, 100}}), look(second, {{0, 300}}), NodeId(0));
  REQUIRE(rows.size() == 2);
  REQUIRE(rows[0].latency);
  CHECK(rows[0].latency->p50 == 64);
  CHECK(rows[0].latency->p99 == 2048);
  CHECK_FALSE(rows[1].latency);
  CHECK_FALSE(subgroup_rows(look(first, {{0, 300}}), look(second, {{0, 100}}), NodeId(0))[0].latency);
  CHECK_FALSE(node_rows(look(first, {{0, 100}}), look(second, {{0, 300}}))[0].latency);
  TopPage page;
  page.on_key('0');
  const std::string text = page.text("orders", look(first, {{0, 100}}), look(second, {{0, 300}}), {80, 24});
  CHECK_THAT(text, Contains("\norders        50    2.00k          100    1.00k  64us  2.0ms       -\n"));
}

TEST_CASE("times are short") {
  CHECK(short_time(1) == "1us");
  CHECK(short_time(512) == "512us");
  CHECK(short_time(1024) == "1.0ms");
  CHECK(short_time(1048576) == "1.0s");
  CHECK(short_time(~std::uint64_t{0}) == ">4.2s");
}

TEST_CASE("numbers are short") {
  CHECK(short_number(0) == "0");
  CHECK(short_number(999.4) == "999");
  CHECK(short_number(999.5) == "1.00k");
  CHECK(short_number(12345) == "12.3k");
  CHECK(short_number(999949) == "1.00M");
  CHECK(short_number(2.5e9) == "2.50G");
}

TEST_CASE("keys sort, look into a node and back, and end") {
  const GroupLook before = look(first, {{0, 100}, {1, 100}, {12, 100}});
  const GroupLook now = look(second, {{0, 200}, {1, 400}, {12, 300}});
  TopPage page;
  CHECK_THAT(shown(page, before, now), Contains("sorts (by name)") && Contains("group g: view 3 of 3 members, 3 nodes"));
  page.on_key('s');
  const std::string sorted = shown(page, before, now);
  CHECK_THAT(sorted, Contains("sorts (by sent)"));
  CHECK(sorted.find("\n   1  ") < sorted.find("\n  12  "));
  CHECK(sorted.find("\n  12  ") < sorted.find("\n   0  "));
  page.on_key('\r');  // the first as it is sorted
  CHECK_THAT(shown(page, before, now), StartsWith("group g, node 1: ") && Contains("\norders ") && Contains("\naudit "));
  page.on_key('\n');
  CHECK_THAT(shown(page, before, now), Contains("\nnode "));
  page.on_key('1');
  CHECK_THAT(shown(page, before, now), StartsWith("group g, node 1: "));
  page.on_key('2');
  CHECK_THAT(shown(page, before, now), StartsWith("group g, node 12: "));
  page.on_key('\r');
  page.on_key('7');
  CHECK_THAT(shown(page, before, now), Contains("node 7 is in no subgroup here\n"));
  for (int i = 0; i < 20; ++i) page.on_key('9');  // more than a node id has
  CHECK_FALSE(page.ended());
  page.on_key('x');
  CHECK_FALSE(page.ended());
  page.on_key('q');
  CHECK(page.ended());
}

TEST_CASE("a page fits its terminal, whatever that is") {
  std::vector<NodeFacts> many;
  for (std::uint32_t i = 0; i < 64; ++i) many.push_back({i * 1000000, i * 1000000000000U});
  GroupLook now = look(second, many);
  for (NodeReport& node : now.report.nodes) node.status.subgroups[0].blocked = std::string(300, 'w');
  for (const TerminalSize size : {TerminalSize{80, 24}, TerminalSize{20, 3}, TerminalSize{1, 1}, TerminalSize{500, 200}}) {
    const std::string text = TopPage().text("group", now, now, size);
    CHECK(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) <= size.lines);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) CHECK(line.size() <= size.columns);
  }
  CHECK_THAT(TopPage().text("group", now, now, {80, 24}), Contains("\nand 44 more lines\n"));
  const std::string usual = TopPage().text("orders", look(first, {{0, 1}}), look(second, {{0, 1234567}}), {80, 24});
  CHECK_THAT(usual, Contains("\n   0  active     3    309k    12.3M         617k    6.17M       -\n"));
}
