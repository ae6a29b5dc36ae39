// A group as Prometheus reads it: names, types, labels, and that no counter of the code is left out.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>

#include "prometheus.hpp"

using namespace spindrift;
using namespace spindrift::tools;
using Catch::Matchers::Contains;

namespace {

const std::string awkward_name = "a.\"b\"\\\nc";
const std::string escaped_label = R"(subgroup="a.\"b\"\\\nc")";

NodeReport report_of(std::uint32_t node, NodeReport::Condition condition) {
  group::MemberStatus status;
  status.node = NodeId(node);
  status.view = ViewId(7);
  status.members = {{NodeId(1), 1, 0}, {NodeId(2), 2, 0}};
  group::MemberStatus::SubgroupEntry subgroup;
  subgroup.name = awkward_name;
  subgroup.blocked = "it waits";
  status.subgroups = {subgroup};
  return {std::move(status), condition};
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The names that the pattern's first group matches in the sources of the rooms that count.
std::set<std::string> names_in_sources(const std::string& pattern) {
  std::set<std::string> names;
  const std::regex wanted(pattern);
  for (const char* room : {"fabric", "kernel", "smc", "group"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(std::filesystem::path(SOURCE_DIRECTORY) / room)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
      const std::string text = text_of(entry.path());
      for (std::sregex_iterator at(text.begin(), text.end(), wanted), end; at != end; ++at) names.insert((*at)[1]);
    }
  }
  return names;
}

}  // namespace

TEST_CASE("a counter comes out with HELP, TYPE and labels, and its subgroup's name is escaped") {
  const GroupCounters counters{.nodes = {{NodeId(1), {{"subgroup." + awkward_name + ".sent", 18446744073709551615U}}},
                                         {NodeId(2), {{"subgroup." + awkward_name + ".sent", 0}}}},
                               .problems = {}};
  CHECK(prometheus_text("orders", {}, counters) ==
        "# HELP spindrift_subgroup_sent_messages_total Messages that this node sent.\n"
        "# TYPE spindrift_subgroup_sent_messages_total counter\n"
        "spindrift_subgroup_sent_messages_total{group=\"orders\",node=\"1\"," +
            escaped_label + "} 18446744073709551615\n" +
            "spindrift_subgroup_sent_messages_total{group=\"orders\",node=\"2\"," + escaped_label + "} 0\n" +
            "# HELP spindrift_unreadable_files Files of nodes that could not be read; spindrift counters says why.\n"
            "# TYPE spindrift_unreadable_files gauge\nspindrift_unreadable_files{group=\"orders\"} 0\n");
}

TEST_CASE("samples of one metric stand together, also where nodes have several") {
  const std::vector<CounterValue> values{{"views.installed", 1}, {"poller.sleeps", 2}};
  const GroupCounters counters{.nodes = {{NodeId(0), values}, {NodeId(1), values}}, .problems = {}};
  const std::string text = prometheus_text("orders", {}, counters);
  CHECK_THAT(text, Contains("spindrift_poller_sleeps_total{group=\"orders\",node=\"0\"} 2\n"
                            "spindrift_poller_sleeps_total{group=\"orders\",node=\"1\"} 2\n"));
  CHECK(text.find("# TYPE spindrift_poller_sleeps_total") == text.rfind("# TYPE spindrift_poller_sleeps_total"));
}

TEST_CASE("a status says of a node that runs how it fares, and of one that died only that") {
  const GroupReport report{
      .nodes = {report_of(1, NodeReport::Condition::running), report_of(2, NodeReport::Condition::died)},
      .problems = {Error(ErrorKind::bad_input, "a broken file")}};
  const GroupCounters counters{.nodes = {}, .problems = {Error(ErrorKind::bad_input, "another")}};
  const std::string text = prometheus_text("orders", report, counters);
  CHECK_THAT(text, Contains("spindrift_node_running{group=\"orders\",node=\"1\"} 1\n") &&
                       Contains("spindrift_node_running{group=\"orders\",node=\"2\"} 0\n") &&
                       Contains("spindrift_node_view{group=\"orders\",node=\"1\"} 7\n") &&
                       Contains("spindrift_node_view_members{group=\"orders\",node=\"1\"} 2\n") &&
                       !Contains("spindrift_node_view{group=\"orders\",node=\"2\"}"));
  CHECK_THAT(text, Contains("spindrift_subgroup_adequate{group=\"orders\",node=\"1\"," + escaped_label + "} 1\n") &&
                       Contains("spindrift_subgroup_sends_blocked{group=\"orders\",node=\"1\"," + escaped_label + "} 1\n") &&
                       Contains("spindrift_unreadable_files{group=\"orders\"} 2\n"));
}

TEST_CASE("a histogram comes out with buckets that add up, sum and count, in seconds") {
  const GroupCounters counters{.nodes = {{NodeId(1),
                                          {{"subgroup.orders.stable_latency_us_to_1", 2},
                                           {"subgroup.orders.stable_latency_us_to_2", 3},
                                           {"subgroup.orders.stable_latency_us_over_2", 1},
                                           {"subgroup.orders.stable_latency_us_sum", 1000008},
                                           {"subgroup.orders.send_batch_to_1", 4},
                                           {"subgroup.orders.send_batch_over_1", 0},
                                           {"subgroup.orders.send_batch_sum", 4}}}},
                               .problems = {}};
  const std::string text = prometheus_text("g", {}, counters);
  const std::string labels = "{group=\"g\",node=\"1\",subgroup=\"orders\"";
  CHECK_THAT(text, Contains("# TYPE spindrift_subgroup_stable_latency_seconds histogram\n"
                            "spindrift_subgroup_stable_latency_seconds_bucket" + labels + ",le=\"0.000001\"} 2\n"
                            "spindrift_subgroup_stable_latency_seconds_bucket" + labels + ",le=\"0.000002\"} 5\n"
                            "spindrift_subgroup_stable_latency_seconds_bucket" + labels + ",le=\"+Inf\"} 6\n"
                            "spindrift_subgroup_stable_latency_seconds_sum" + labels + "} 1.000008\n"
                            "spindrift_subgroup_stable_latency_seconds_count" + labels + "} 6\n"));
  CHECK_THAT(text, Contains("spindrift_subgroup_send_batch_messages_bucket" + labels + ",le=\"1\"} 4\n") &&
                       !Contains("spindrift_other"));
}

TEST_CASE("a member's lag is a gauge with the member in a label, and how full a ring is a ratio") {
  const GroupCounters counters{.nodes = {{NodeId(1),
                                          {{"subgroup.orders.lag_messages_of_12", 3},
                                           {"subgroup.orders.lag_bytes_of_12", 72},
                                           {"subgroup.orders.ring_used_percent", 7}}}},
                               .problems = {}};
  const std::string labels = "{group=\"g\",node=\"1\",subgroup=\"orders\"";
  CHECK_THAT(prometheus_text("g", {}, counters),
             Contains("# TYPE spindrift_subgroup_lag_bytes gauge\n"
                      "spindrift_subgroup_lag_bytes" + labels + ",for=\"12\"} 72\n") &&
                 Contains("spindrift_subgroup_lag_messages" + labels + ",for=\"12\"} 3\n") &&
                 Contains("spindrift_subgroup_ring_used_ratio" + labels + "} 0.07\n"));
}

TEST_CASE("a counter that is not known is told of under its own name") {
  const GroupCounters counters{.nodes = {{NodeId(0), {{"subgroup.orders.laughs", 3}, {"laughs", 4}}}}, .problems = {}};
  CHECK_THAT(prometheus_text("g", {}, counters),
             Contains("# TYPE spindrift_other untyped\n"
                      "spindrift_other{group=\"g\",node=\"0\",counter=\"subgroup.orders.laughs\"} 3\n"
                      "spindrift_other{group=\"g\",node=\"0\",counter=\"laughs\"} 4\n"));
}

TEST_CASE("every counter of the code has a metric, and every metric a row in the document for operators") {
  NodeCounters node;
  for (const std::string& name : names_in_sources(R"re(\bcounter\(counters, "([a-z_]+)"\))re"))
    node.values.push_back({"subgroup.orders." + name, 1});
  CHECK(node.values.size() >= 10);
  for (const std::string& name : names_in_sources(R"re(\bhistogram\(counters, "([a-z_]+)")re"))
    node.values.push_back({"subgroup.orders." + name + "_sum", 1});
  for (const std::string& name : names_in_sources(R"re("\.(lag_[a-z_]+_of_|ring_used_percent)")re"))
    node.values.push_back({"subgroup.orders." + name + (name.ends_with('_') ? "1" : ""), 1});
  CHECK(node.values.size() >= 17);
  for (const std::string& name : names_in_sources(R"re("((?:vq|views|poller|fabric\.shm)\.[a-z_]+)")re"))
    node.values.push_back({name, 1});
  CHECK(node.values.size() >= 30);
  const GroupReport report{.nodes = {report_of(1, NodeReport::Condition::running)}, .problems = {}};
  const std::string text = prometheus_text("g", report, {.nodes = {node}, .problems = {}});
  CHECK_THAT(text, !Contains("spindrift_other"));
  const std::string page = text_of(std::filesystem::path(SOURCE_DIRECTORY) / "docs/operate.md");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("# TYPE ")) continue;
    const std::string metric = line.substr(7, line.find(' ', 7) - 7);
    CAPTURE(metric);
    CHECK_THAT(page, Contains("`" + metric + "`"));
  }
}
