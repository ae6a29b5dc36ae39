// Calls of replicated objects around the end of a view: what a member runs late, because it or the source of its state had
// kept it, and who answers that.
#include <catch2/catch.hpp>

#include <array>
#include <chrono>
#include <optional>
#include <vector>

#include <spindrift/group/replica_members.hpp>

#include "group_fixture.hpp"
#include "replicated_fixture.hpp"
#include "tally.hpp"

using namespace spindrift;
using namespace std::chrono_literals;

namespace {

using Tallies = ReplicaFixture<Tally>;

/// The nodes that answered.
template <class R>
std::vector<NodeId> answered_by(const std::vector<ReplicaResult<R>>& results) {
  std::vector<NodeId> nodes;
  for (const auto& result : results) {
    if (!result.lost()) nodes.push_back(result.node());
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}
const std::vector<NodeId> first_two{NodeId(0), NodeId(1)};

/// The next message of the order, taken out of it, which is delivered in the present view at whoever has it when.
struct Late {
  explicit Late(Tallies& tallies)
      : sent(tallies.ordered().front()), delivery(tallies.next_delivery(sent.from, sent.bytes)) {
    tallies.ordered().pop_front();
  }
  Late(const Late&) = delete;
  Late& operator=(const Late&) = delete;

  Tallies::Sent sent;
  Delivery delivery;  ///< payload in `sent`
};

}  // namespace

TEST_CASE("a member answers from the view on in which it came, came back, or got the state") {
  replicated::ReplicaMembers members;
  const std::array three{NodeId(0), NodeId(1), NodeId(2)};
  const std::array without{NodeId(0), NodeId(2)};
  const std::array anew{NodeId(2)};
  members.begin_view(ViewId(1), without, {});
  members.begin_view(ViewId(2), three, {});
  CHECK(members.answers(NodeId(0), ViewId(1)));
  CHECK_FALSE(members.answers(NodeId(1), ViewId(1)));
  CHECK(members.answers(NodeId(1), ViewId(2)));
  CHECK_FALSE(members.answers(NodeId(3), ViewId(2)));
  members.begin_view(ViewId(3), three, anew);
  CHECK(members.answers(NodeId(1), ViewId(2)));
  CHECK_FALSE(members.answers(NodeId(2), ViewId(2)));
  CHECK(members.answers(NodeId(2), ViewId(3)));
  members.begin_view(ViewId(4), without, {});
  members.begin_view(ViewId(5), three, {});
  CHECK_FALSE(members.answers(NodeId(1), ViewId(4)));
  CHECK(members.answers(NodeId(0), ViewId(1)));
}

TEST_CASE("a newcomer runs an update that its source had kept without a word to its caller") {
  Tallies tallies(2);
  const auto call = tallies[1].update<&Tally::add>(7);
  const Late late(tallies);
  tallies.deliver_to(1, late.delivery);
  tallies.add(NodeId(2));
  tallies.install_view();
  tallies.deliver_to(2, late.delivery);  // behind the state
  tallies.deliver_all();
  CHECK(tallies.fault_count() == 0);
  CHECK(tallies[2].query<&Tally::sum>() == 7);
  tallies.deliver_to(0, late.delivery);
  tallies.deliver_all();
  CHECK(answered_by(call.all(1s)) == first_two);
  CHECK(tallies.fault_count() == 0);
}

TEST_CASE("a caller that runs its own update in a later view does not wait for who came into it") {
  Tallies tallies(2);
  const auto call = tallies[1].update<&Tally::add>(7);
  const Late late(tallies);
  tallies.deliver_to(0, late.delivery);
  tallies.add(NodeId(2));
  tallies.install_view();
  tallies.deliver_to(1, late.delivery);
  tallies.deliver_all();
  CHECK(answered_by(call.all(1s)) == first_two);
}

TEST_CASE("a member whose state has to come anew does not answer what is in it, and is listed as lost") {
  Tallies tallies(3);
  const std::array again{NodeId(2)};
  const auto call = tallies[1].update<&Tally::add>(7);
  const auto query = tallies[1].ordered_query_at<&Tally::sum>(NodeId(2));
  const Late update(tallies);
  const Late asked(tallies);
  for (const Late* const late : {&update, &asked}) {
    tallies.deliver_to(0, late->delivery);
    tallies.deliver_to(1, late->delivery);
  }
  tallies.deliver_all();
  tallies.install_view(again);
  CHECK(answered_by(call.all(1s)) == first_two);
  CHECK(call.all(1s).size() == 3);
  CHECK(thrown_by([&] { static_cast<void>(query.get(1s)); })->kind() == ErrorKind::member_lost);
  tallies.deliver_to(2, asked.delivery);  // its source had kept it
  CHECK(tallies.privately().empty());
  CHECK(tallies.fault_count() == 0);
}

TEST_CASE("a query in the order of a member that got the state since ends for the caller that runs late, too") {
  Tallies tallies(3);
  const std::array again{NodeId(2)};
  const auto query = tallies[1].ordered_query_at<&Tally::sum>(NodeId(2));
  const Late asked(tallies);
  tallies.install_view(again);
  tallies.deliver_to(1, asked.delivery);
  CHECK(thrown_by([&] { static_cast<void>(query.get(1s)); })->kind() == ErrorKind::member_lost);
}

TEST_CASE("an update that its caller runs in a later view is stable, and those of that view become so in their turn") {
  Tallies tallies(2);
  const auto early = tallies[1].update<&Tally::add>(1);
  const Late late(tallies);
  const auto next = tallies[1].update<&Tally::add>(2);
  tallies.install_view();
  for (const std::size_t which : {0U, 1U}) tallies.deliver_to(which, late.delivery);
  CHECK(early.is_stable());
  tallies.deliver_all();
  CHECK_FALSE(next.is_stable());
  tallies.report_stable();
  CHECK(next.is_stable());
}

namespace {

const std::string three_found = "join_timeout_ms = 20000\nfounders = 0,1,2\n";

/// Nodes 0 to 2 found a group of four.
std::vector<std::unique_ptr<Group>> found_three(const GroupFixture& fixture) {
  std::vector<std::unique_ptr<Group>> groups(3);
  std::vector<std::thread> joining;
  for (unsigned node = 0; node < 3; ++node) {
    joining.emplace_back([&, node] { groups[node] = std::make_unique<Group>(fixture.config(node, 4, three_found)); });
  }
  for (std::thread& thread : joining) thread.join();
  for (auto& group : groups) group->subgroup("ticks").on_delivery([](auto) {});
  return groups;
}

void join_last(const GroupFixture& fixture, std::vector<std::unique_ptr<Group>>& groups) {
  groups.push_back(std::make_unique<Group>(fixture.config(3, 4, three_found)));
  groups[3]->subgroup("ticks").on_delivery([](auto) {});
}

}  // namespace

// Node 0 has the state and takes nothing before it has an object, so it hands on what it kept; node 2 keeps the call open.
TEST_CASE("a node that joins a real group behind an open call runs it and stays") {
  GroupFixture fixture;
  auto groups = found_three(fixture);
  auto caller = groups[1]->replicated<Tally>("orders");
  const auto call = caller.update<&Tally::add>(7);
  CHECK(call.get(10s) == 7);
  join_last(fixture, groups);
  auto newcomer = groups[3]->replicated<Tally>("orders");
  static_cast<void>(groups[0]->replicated<Tally>("orders"));
  newcomer.loaded(10s);
  CHECK(newcomer.query_at<&Tally::sum>(NodeId(3)).get(10s) == 7);  // behind whatever it said of the update
  CHECK(caller.query_at<&Tally::sum>(NodeId(3)).get(10s) == 7);
  CHECK(groups[1]->view().members.size() == 4);
  static_cast<void>(groups[2]->replicated<Tally>("orders"));
  CHECK(answered_by(call.all(10s)) == std::vector<NodeId>{NodeId(0), NodeId(1), NodeId(2)});
  leave_all(groups);
}

TEST_CASE("a call of a real group does not wait for a node whose state begins anew with the call in it") {
  GroupFixture fixture;
  auto groups = found_three(fixture);
  std::vector<Replicated<Tally>> tallies;
  for (auto& group : groups) tallies.push_back(group->replicated<Tally>("orders"));
  join_last(fixture, groups);  // it takes no state before it has an object
  const auto call = tallies[1].update<&Tally::add>(7);
  CHECK(call.get(10s) == 7);
  groups[2]->leave();
  const auto results = call.all(10s);
  const auto is_last = [](const auto& result) { return result.node() == NodeId(3) && result.lost(); };
  CHECK(std::count_if(results.begin(), results.end(), is_last) == 1);
  auto newcomer = groups[3]->replicated<Tally>("orders");
  newcomer.loaded(10s);
  CHECK(newcomer.query<&Tally::sum>() == 7);
  groups.erase(groups.begin() + 2);
  leave_all(groups);
}
