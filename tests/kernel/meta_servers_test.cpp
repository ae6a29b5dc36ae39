// The nodes that keep the meta tables, the one that a node asks first, and the use that it makes of the answers.
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <set>

#include <spindrift/kernel/meta_servers.hpp>

using namespace spindrift;
using namespace spindrift::kernel;

namespace {

std::vector<MetaMember> members_of(const std::vector<std::pair<std::uint32_t, std::uint64_t>>& nodes_and_hosts) {
  std::vector<MetaMember> members;
  for (const auto& [node, host] : nodes_and_hosts) members.push_back({NodeId(node), host});
  return members;
}
std::vector<std::uint32_t> nodes_of(const std::vector<MetaMember>& members) {
  std::vector<std::uint32_t> nodes;
  for (const MetaMember& member : members) nodes.push_back(member.node.value());
  return nodes;
}
using Nodes = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("meta servers are on different hosts first, in rank order") {
  const auto members = members_of({{5, 1}, {3, 1}, {8, 2}, {1, 2}, {9, 3}});
  CHECK(nodes_of(meta_servers_of(members, 0)).empty());
  CHECK(nodes_of(meta_servers_of(members, 1)) == Nodes{5});
  CHECK(nodes_of(meta_servers_of(members, 2)) == Nodes{5, 8});
  CHECK(nodes_of(meta_servers_of(members, 3)) == Nodes{5, 8, 9});
  CHECK(nodes_of(meta_servers_of(members, 4)) == Nodes{5, 3, 8, 9});
  CHECK(nodes_of(meta_servers_of(members, 9)) == Nodes{5, 3, 8, 1, 9});
  CHECK(meta_servers_of({}, 3).empty());
}

TEST_CASE("meta servers stay when others leave, and when others come to hosts that have one") {
  const auto before = meta_servers_of(members_of({{5, 1}, {3, 1}, {8, 2}, {1, 2}, {9, 3}}), 3);
  CHECK(meta_servers_of(members_of({{5, 1}, {8, 2}, {9, 3}, {4, 1}, {2, 3}}), 3) == before);
  CHECK(meta_servers_of(members_of({{5, 1}, {8, 2}, {1, 2}, {9, 3}, {4, 7}}), 3) == before);
}

TEST_CASE("a node asks each server once, those of its own host first") {
  const auto servers = members_of({{1, 1}, {2, 2}, {3, 1}, {4, 3}, {5, 2}});
  for (std::uint32_t self = 0; self < 100; ++self) {
    const auto order = lookup_order(servers, {NodeId(self), 2});
    REQUIRE(order.size() == 5);
    CHECK(std::set<NodeId>(order.begin(), order.end()).size() == 5);
    CHECK(std::set<NodeId>(order.begin(), order.begin() + 2) == std::set<NodeId>{NodeId(2), NodeId(5)});
    // The others in rank order, rotated.
    const std::vector<NodeId> far(order.begin() + 2, order.end());
    const std::vector<NodeId> ranks{NodeId(1), NodeId(3), NodeId(4), NodeId(1), NodeId(3)};
    CHECK(std::search(ranks.begin(), ranks.end(), far.begin(), far.end()) != ranks.end());
  }
  CHECK(lookup_order({}, {NodeId(1), 1}).empty());
}

TEST_CASE("first choices spread over the servers, whatever the steps of the ids are") {
  const auto servers = members_of({{1, 1}, {2, 2}, {3, 3}, {4, 4}});
  for (const std::uint32_t step : {1U, 2U, 4U, 10U, 100U, 1024U}) {
    std::map<NodeId, int> clients;
    for (std::uint32_t i = 0; i < 400; ++i) ++clients[lookup_order(servers, {NodeId(i * step), 99}).front()];
    CAPTURE(step);
    for (const MetaMember& server : servers) {
      CHECK(clients[server.node] >= 70);
      CHECK(clients[server.node] <= 130);
    }
  }
}

TEST_CASE("a search asks the next server when one does not answer or has not heard of it") {
  MetaSearch search({NodeId(1), NodeId(2), NodeId(3)});
  CHECK(search.server() == NodeId(1));
  search.on_answer(MetaAnswer::no_answer);
  CHECK(search.server() == NodeId(2));
  search.on_answer(MetaAnswer::absent);
  CHECK(search.server() == NodeId(3));
  CHECK(search.state() == MetaSearch::State::asking);
  search.on_answer(MetaAnswer::found);
  CHECK(search.state() == MetaSearch::State::found);
  CHECK_FALSE(search.server());
}

TEST_CASE("a key is absent only if every server says so") {
  const auto after = [](std::vector<MetaAnswer> answers) {
    MetaSearch search({NodeId(1), NodeId(2)});
    for (const MetaAnswer answer : answers) search.on_answer(answer);
    CHECK_FALSE(search.server());
    return search.state();
  };
  CHECK(after({MetaAnswer::absent, MetaAnswer::absent}) == MetaSearch::State::absent);
  CHECK(after({MetaAnswer::absent, MetaAnswer::no_answer}) == MetaSearch::State::unanswered);
  CHECK(after({MetaAnswer::no_answer, MetaAnswer::absent}) == MetaSearch::State::unanswered);
  CHECK(after({MetaAnswer::no_answer, MetaAnswer::no_answer}) == MetaSearch::State::unanswered);
  CHECK(MetaSearch({}).state() == MetaSearch::State::unanswered);
}

TEST_CASE("the first server's absent is enough for what every table has before anybody hears of it") {
  MetaSearch search({NodeId(1), NodeId(2), NodeId(3)}, true);
  search.on_answer(MetaAnswer::no_answer);
  search.on_answer(MetaAnswer::absent);
  CHECK(search.state() == MetaSearch::State::absent);
}
