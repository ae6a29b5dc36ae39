// The first view, from the founder's end and from that of who follows.
#include <catch2/catch.hpp>

#include <map>
#include <vector>

#include <spindrift/views/founding.hpp>

#include "one_subgroup.hpp"

namespace spindrift::views {
namespace {

const GroupIdentity group{"g", {1, 2}};

Join node(std::uint32_t id, std::uint64_t incarnation) { return {NodeId(id), incarnation}; }
Founding::Met fresh(std::uint32_t id) { return {node(id, 100 + id), true}; }
Founding::Met in_a_view(std::uint32_t id) { return {node(id, 100 + id), false}; }

/// The founding of three founders, all of whom start as 100 + id.
Founding founding_of(std::uint32_t id) {
  return {node(id, 100 + id), {NodeId(0), NodeId(1), NodeId(2)}, one_subgroup};
}

template <class T>
T sent(const Founding::Step& step, std::size_t place = 0) {
  REQUIRE(step.messages.size() > place);
  const auto message = decode(step.messages[place].message, group, {});
  REQUIRE((message && std::holds_alternative<T>(*message)));
  return std::get<T>(*message);
}

PromiseRequest request(std::uint64_t ballot) {
  return {ballot, {NodeId(0), NodeId(1), NodeId(2)}, {100, 101, 102}};
}

ViewNotice notice_with(std::uint32_t id, std::uint64_t incarnation) {
  ViewNotice notice;
  notice.view.members = {NodeId(7), NodeId(id)};
  notice.view.incarnations = {107, incarnation};
  return notice;
}

TEST_CASE("the founder asks when all founders are here and fresh, and founds when all have promised") {
  Founding founder = founding_of(0);
  const std::vector<Founding::Met> one{fresh(1)};
  const std::vector<Founding::Met> both{fresh(1), fresh(2)};
  CHECK(founder.step({}).messages.empty());
  CHECK(founder.step(one).messages.empty());
  const Founding::Step asks = founder.step(both);
  CHECK(asks.messages.size() == 2);
  CHECK(sent<PromiseRequest>(asks, 1) == request(1));
  CHECK_FALSE(asks.view);
  CHECK(founder.step(both).messages.empty());
  founder.on_promise(NodeId(1), {1, 100});
  CHECK_FALSE(founder.step(both).view);
  founder.on_promise(NodeId(2), {1, 100});
  const Founding::Step founds = founder.step(both);
  REQUIRE(founds.view);
  CHECK(founds.view->view.members == request(1).members);
  CHECK(founds.view->view.incarnations == request(1).incarnations);
  REQUIRE(founds.view->loaded.size() == 1);
  CHECK(founds.view->loaded[0] == RankSet::first(3));
}

/// The founding of a process that founds with whoever is present.
Founding founding_with_present(std::uint32_t id) { return {node(id, 100 + id), one_subgroup}; }
Founding::Look there(std::vector<NodeId> nodes) {
  return [nodes = std::move(nodes)] { return std::optional(nodes); };
}

TEST_CASE("the lowest of those present founds with all of them, or alone") {
  const Founding::Step alone = founding_with_present(3).step({}, there({}));
  REQUIRE(alone.view);
  CHECK(alone.view->view.members == std::vector{NodeId(3)});

  Founding founder = founding_with_present(1);
  const std::vector<Founding::Met> one{fresh(2)};
  const std::vector<Founding::Met> both{fresh(2), fresh(5)};
  CHECK(founder.step(both).messages.empty());                                   // nobody knows who is there
  CHECK(founder.step(one, there({NodeId(2), NodeId(5)})).messages.empty());     // one of them has not said that it is fresh
  CHECK(founder.step(both, there({NodeId(0), NodeId(2)})).messages.empty());    // a lower one founds
  const std::vector<Founding::Met> with_group{fresh(2), in_a_view(5)};
  CHECK(founder.step(with_group, there({NodeId(2), NodeId(5)})).messages.empty());
  const Founding::Step asks = founder.step(both, there({NodeId(2), NodeId(5)}));
  REQUIRE(asks.messages.size() == 2);
  CHECK(sent<PromiseRequest>(asks) == PromiseRequest{1, {NodeId(1), NodeId(2), NodeId(5)}, {101, 102, 105}});
  founder.on_promise(NodeId(2), {1, 101});
  founder.on_promise(NodeId(5), {1, 101});
  const Founding::Step founds = founder.step(both, there({NodeId(0), NodeId(2), NodeId(5)}));  // who came later joins
  REQUIRE(founds.view);
  CHECK(founds.view->view.members == std::vector{NodeId(1), NodeId(2), NodeId(5)});
}

TEST_CASE("the roster of those present has all of them, and as much of the founder's file as there is room for") {
  Roster file;
  for (std::uint32_t id = 0; id < roster_count_max; ++id) file.nodes.push_back({NodeId(id), {}});
  Founding founder({NodeId(0), 100}, one_subgroup, file);
  const std::vector<Founding::Met> met{fresh(500), fresh(501)};
  const auto look = [] { return std::optional(std::vector{NodeId(500), NodeId(501)}); };
  REQUIRE(founder.step(met, look).messages.size() == 2);
  founder.on_promise(NodeId(500), {1, 100});
  founder.on_promise(NodeId(501), {1, 100});
  const auto view = founder.step(met, look).view;
  REQUIRE(view);
  const Roster& roster = view->view.roster;
  CHECK(roster.nodes.size() == roster_count_max);
  constexpr std::uint32_t kept = roster_count_max - 2;
  for (const std::uint32_t id : {0U, 1U, kept - 1, 500U, 501U}) CHECK(roster.contains(NodeId(id)));
  for (const std::uint32_t id : {kept, kept + 1}) CHECK_FALSE(roster.contains(NodeId(id)));
}

TEST_CASE("one of those present that promises itself to another founds no more, and asks again with a higher ballot") {
  Founding process = founding_with_present(2);
  const std::vector<Founding::Met> one{fresh(5)};
  CHECK(sent<PromiseRequest>(process.step(one, there({NodeId(5)}))).ballot == 1);
  const std::vector<Founding::Met> both{fresh(1), fresh(5)};
  const PromiseRequest lower{1, {NodeId(1), NodeId(2), NodeId(5)}, {101, 102, 105}};
  REQUIRE(process.on_request(node(1, 101), lower));
  CHECK(sent<Promise>(process.step(both, there({NodeId(1), NodeId(5)}))).founder == 102);  // its own is as high
  PromiseRequest higher = lower;
  higher.ballot = 4;
  REQUIRE(process.on_request(node(1, 101), higher));
  CHECK(sent<Promise>(process.step(both, there({NodeId(1), NodeId(5)}))).ballot == 4);
  process.on_promise(NodeId(5), {1, 102});  // comes too late
  CHECK_FALSE(process.step(both, there({NodeId(1), NodeId(5)})).view);
  process.on_lost();  // of node 1
  CHECK(sent<PromiseRequest>(process.step(one, there({NodeId(5)}))).ballot == 5);
}

TEST_CASE("one that asks those present follows none but them into another view") {
  Founding process = founding_with_present(1);
  const std::vector<Founding::Met> one{fresh(2)};
  REQUIRE(process.step(one, there({NodeId(2)})).messages.size() == 1);
  CHECK_FALSE(process.accepts(node(7, 107), notice_with(1, 101)));
  CHECK(process.accepts(node(2, 102), notice_with(1, 101)));
}

TEST_CASE("only the first of the founders asks, and nobody who sees a group") {
  const std::vector<Founding::Met> others{fresh(0), fresh(2)};
  CHECK(founding_of(1).step(others).messages.empty());
  const std::vector<Founding::Met> with_group{fresh(1), fresh(2), in_a_view(5)};
  CHECK(founding_of(0).step(with_group).messages.empty());
}

TEST_CASE("a founder asks again, with a higher ballot, when one was lost or has promised itself to a later founding") {
  Founding founder = founding_of(0);
  const std::vector<Founding::Met> both{fresh(1), fresh(2)};
  CHECK(sent<PromiseRequest>(founder.step(both)).ballot == 1);
  founder.on_promise(NodeId(1), {1, 100});
  founder.on_lost();
  CHECK(sent<PromiseRequest>(founder.step(both)).ballot == 2);
  founder.on_promise(NodeId(1), {1, 100});  // to the founding before
  founder.on_promise(NodeId(2), {2, 100});
  CHECK_FALSE(founder.step(both).view);
  founder.on_promise(NodeId(1), {9, 55});  // to another start of the founder
  CHECK(sent<PromiseRequest>(founder.step(both)).ballot == 10);
}

TEST_CASE("a promise of somebody else, or to another founder with the same ballot, does not count") {
  Founding founder = founding_of(0);
  const std::vector<Founding::Met> both{fresh(1), fresh(2)};
  static_cast<void>(founder.step(both));
  founder.on_promise(NodeId(1), {1, 100});
  founder.on_promise(NodeId(6), {1, 100});
  CHECK_FALSE(founder.step(both).view);
  founder.on_promise(NodeId(2), {1, 99});
  const Founding::Step again = founder.step(both);
  CHECK_FALSE(again.view);
  CHECK(sent<PromiseRequest>(again).ballot == 2);
}

TEST_CASE("who is asked promises when the founder is here and no group is seen, and keeps to the highest ballot") {
  Founding follower = founding_of(1);
  const std::vector<Founding::Met> all{fresh(0), fresh(2)};
  const std::vector<Founding::Met> with_group{fresh(0), in_a_view(5)};
  REQUIRE(follower.on_request(node(0, 100), request(4)));
  CHECK(follower.step(with_group).messages.empty());
  const Founding::Step promises = follower.step(all);
  REQUIRE(promises.messages.size() == 1);
  CHECK(promises.messages[0].to == NodeId(0));
  CHECK(sent<Promise>(promises).ballot == 4);
  CHECK(follower.step(all).messages.empty());
  REQUIRE(follower.on_request(node(0, 100), request(3)));
  CHECK(sent<Promise>(follower.step(all)).ballot == 4);
  REQUIRE(follower.on_request(node(0, 100), request(8)));
  CHECK(sent<Promise>(follower.step(all)).ballot == 8);
  REQUIRE(follower.on_request(node(0, 100), request(9)));
  CHECK(follower.step({}).messages.empty());  // the founder is gone, and its question with it
  CHECK(follower.step(all).messages.empty());
}

TEST_CASE("who is asked promises when it has met all that found, as the processes that are asked") {
  Founding follower = founding_of(1);
  const std::vector<Founding::Met> founder_alone{fresh(0)};
  const std::vector<Founding::Met> another_start{fresh(0), {node(2, 99), true}};
  const std::vector<Founding::Met> all{fresh(0), fresh(2)};
  REQUIRE(follower.on_request(node(0, 100), request(1)));
  CHECK(follower.step(founder_alone).messages.empty());
  CHECK(follower.step(another_start).messages.empty());
  CHECK(follower.accepts(node(7, 107), notice_with(1, 101)));  // it has promised nothing yet
  CHECK(sent<Promise>(follower.step(all)).ballot == 1);
  CHECK(follower.step(all).messages.empty());
  REQUIRE(follower.on_request(node(0, 100), request(1)));
  CHECK(sent<Promise>(follower.step(founder_alone)).ballot == 1);  // what it has promised it says whoever is here
}

TEST_CASE("a request of others than are configured and here is impossible") {
  Founding follower = founding_of(1);
  CHECK_FALSE(follower.on_request(node(2, 102), request(1)));
  CHECK_FALSE(follower.on_request(node(0, 99), request(1)));
  PromiseRequest earlier_start = request(1);
  earlier_start.incarnations[1] = 100;
  CHECK_FALSE(follower.on_request(node(0, 100), earlier_start));
  PromiseRequest fewer = request(1);
  fewer.members.pop_back();
  fewer.incarnations.pop_back();
  CHECK_FALSE(follower.on_request(node(0, 100), fewer));
  Founding unconfigured(node(1, 101), {}, one_subgroup);
  CHECK(unconfigured.on_request(node(0, 100), fewer));
  CHECK_FALSE(founding_of(0).on_request(node(0, 100), request(1)));
}

TEST_CASE("a process follows who tells it of a view with this very start of it") {
  Founding joiner = founding_of(1);
  joiner.on_notice(node(7, 107), notice_with(1, 100));
  CHECK_FALSE(joiner.step({}).view);
  joiner.on_notice(node(7, 107), notice_with(1, 101));
  const Founding::Step follows = joiner.step({});
  REQUIRE(follows.view);
  CHECK(follows.view->view.members == std::vector{NodeId(7), NodeId(1)});
  CHECK_FALSE(joiner.step({}).view);
}

TEST_CASE("who has promised follows only a process of the same founding, as the incarnation named there") {
  Founding follower = founding_of(1);
  const std::vector<Founding::Met> all{fresh(0), fresh(2)};
  REQUIRE(follower.on_request(node(0, 100), request(1)));
  REQUIRE(follower.step(all).messages.size() == 1);
  CHECK_FALSE(follower.accepts(node(7, 107), notice_with(1, 101)));
  CHECK_FALSE(follower.accepts(node(2, 99), notice_with(1, 101)));
  CHECK(follower.accepts(node(2, 102), notice_with(1, 101)));
  CHECK(follower.accepts(node(0, 100), notice_with(1, 101)));
}

}  // namespace
}  // namespace spindrift::views
