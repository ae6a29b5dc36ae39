// Rosters that change while a group runs: the calls, the socket for commands, and members that come and go with them.
#include <catch2/catch.hpp>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <future>
#include <string>
#include <vector>

#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/core/runtime_path.hpp>
#include <spindrift/fabric/host_sockets.hpp>
#include <spindrift/group/roster_calls.hpp>
#include <spindrift/group/roster_messages.hpp>
#include <spindrift/group/roster_service.hpp>

#include "../roster_view.hpp"
#include "group_fixture.hpp"

namespace spindrift {
namespace {

using Kind = RosterChange::Kind;
using namespace std::chrono_literals;

const Roster two{3, {{NodeId(0), "a:1"}, {NodeId(1), "b:1"}}, {}};
const RosterChange add_seven{Kind::add, NodeId(7), "c:1"};
const RosterChange remove_one{Kind::remove, NodeId(1), ""};

Roster with(const Roster& roster, std::vector<RosterChange> changes) { return next_edition(roster, changes, View()); }

/// A group with one subgroup, in which everybody is.
Config config_of(const GroupFixture& fixture, unsigned node, const std::string& members, const std::string& extra = "") {
  return value_or_throw(Config::parse("[DERECHO]\nlocal_id = " + std::to_string(node) +
                                          "\n[SPINDRIFT]\ngroup_name = test\nruntime_directory = " + fixture.directory() +
                                          "\nmembers = " + members + "\njoin_timeout_ms = 20000\n" + extra +
                                          "\n[LAYOUT]\njson_layout = '[{\"name\": \"orders\"}]'\n",
                                      "test.cfg"));
}

std::string over_tcp(const GroupFixture& fixture, const std::string& port_digit) {
  const std::string net = "127.77." + std::to_string(::getpid() % 250) + ".";
  return "fabric = tcp\naddresses = " + net + "<id>:74" + port_digit + "1\nkeys = " + fixture.directory() + "/keys/<id>\n";
}

std::vector<std::unique_ptr<Group>> pair_of(const GroupFixture& fixture, const std::string& extra = "") {
  std::vector<std::unique_ptr<Group>> groups(2);
  auto other = std::async(std::launch::async, [&] { return std::make_unique<Group>(config_of(fixture, 1, "0, 1", extra)); });
  groups[0] = std::make_unique<Group>(config_of(fixture, 0, "0, 1", extra));
  groups[1] = other.get();
  return groups;
}

void await_members(const Group& group, std::size_t count) {
  while (group.view().members.size() != count) std::this_thread::sleep_for(1ms);
}

/// That view begins, and all members have it.
void show(group::RosterCalls& calls, const View& view) {
  calls.on_view(view);
  calls.on_active();
}

}  // namespace

TEST_CASE("the word that a view is revived travels as a call of its own") {
  const group::RosterCall call{{}, 1500ms, group::Revive{{NodeId(0), NodeId(7)}, true}};
  const auto read = group::decode_roster_call(group::encode(call));
  REQUIRE(read.ok());
  CHECK(read->revive == call.revive);
  CHECK(read->changes.empty());
  CHECK_FALSE(group::decode_roster_call(group::encode(group::RosterCall{{add_seven}, 1500ms}))->revive);
  group::RosterCall both = call;
  both.changes = {add_seven};
  CHECK_FALSE(group::decode_roster_call(group::encode(both)));
  std::string text = group::encode(call);
  text.replace(text.find("true"), 4, "7777");
  CHECK_FALSE(group::decode_roster_call(text));
}

TEST_CASE("the word that a log is trimmed travels as a call of its own") {
  group::RosterCall call;
  call.trim = group::LogTrim{"orders", 5000};
  const auto read = group::decode_roster_call(group::encode(call));
  REQUIRE(read.ok());
  CHECK(read->trim == call.trim);
  CHECK(read->changes.empty());
  std::string text = group::encode(call);
  text.replace(text.find("5000"), 4, "-500");
  CHECK_FALSE(group::decode_roster_call(text));
  SECTION("not with a change") { call.changes = {add_seven}; }
  SECTION("not with a revival") { call.revive = group::Revive{{NodeId(0)}, false}; }
  CHECK_FALSE(group::decode_roster_call(group::encode(call)));
}

TEST_CASE("the word that a log is adopted travels as a call of its own") {
  group::RosterCall call;
  call.adopt = group::LogAdoption{"orders", NodeId(7), true};
  const auto read = group::decode_roster_call(group::encode(call));
  REQUIRE(read.ok());
  CHECK(read->adopt == call.adopt);
  SECTION("not with a change") { call.changes = {add_seven}; }
  SECTION("not with a revival") { call.revive = group::Revive{{NodeId(0)}, false}; }
  SECTION("not with another word about a log") { call.trim = group::LogTrim{"orders", 5000}; }
  CHECK_FALSE(group::decode_roster_call(group::encode(call)));
}

TEST_CASE("the word that nodes found without a majority travels as one of its own, and not with that of a revival") {
  const group::RosterCall call{{}, 1500ms, group::Revive{{NodeId(0), NodeId(7)}, true, true}};
  const auto read = group::decode_roster_call(group::encode(call));
  REQUIRE(read.ok());
  CHECK(read->revive == call.revive);
  std::string both = group::encode(call);
  both.replace(both.find("found"), 5, "revive");
  CHECK_FALSE(group::decode_roster_call(both).ok());
}

TEST_CASE("calls for a roster and their outcomes travel as JSON, and what is none is told why") {
  const group::RosterCall call{{add_seven, remove_one, {Kind::move, NodeId(1), "d:1"}, {Kind::drain, NodeId(1), ""},
                                {Kind::undrain, NodeId(0), ""}},
                               1500ms};
  const auto read = group::decode_roster_call(group::encode(call));
  REQUIRE(read);
  CHECK(read->changes == call.changes);
  CHECK(read->patience == call.patience);
  const auto roster = group::decode_roster_outcome(group::encode(Result<Roster>(two)));
  REQUIRE(roster);
  CHECK(*roster == two);
  const Roster drained = with(two, {{Kind::drain, NodeId(1), ""}});
  CHECK(group::decode_roster_outcome(group::encode(Result<Roster>(drained))).value() == drained);
  Roster sized = two;
  sized.sizes = {{"orders", 4096, 8}, {"news", 8192, 1}};
  CHECK(group::decode_roster_outcome(group::encode(Result<Roster>(sized))).value() == sized);
  sized.sizes[0].subgroup = "a\033[2J";
  CHECK_FALSE(group::decode_roster_outcome(group::encode(Result<Roster>(sized))));
  const Error error = Error(ErrorKind::bad_argument, "no \"such\" node").at("here").fix("do it");
  const auto told = group::decode_roster_outcome(group::encode(Result<Roster>(error)));
  REQUIRE_FALSE(told);
  CHECK(told.error().kind() == ErrorKind::bad_argument);
  CHECK(told.error().to_string() == error.to_string());
  for (const char* const text :
       {"", "[]", "{}", "{\"version\":4}", "{\"version\":3}", "{\"version\":3,\"changes\":[{}],\"patience_ms\":1}",
        R"({"version":3,"changes":[{"kind":"swap","node":1,"endpoint":""}],"patience_ms":1})",
        R"({"version":3,"changes":[],"patience_ms":99999999999})",
        R"({"version":3,"changes":[{"kind":"add","node":-1,"endpoint":""}],"patience_ms":1})",
        R"({"version":3,"changes":[{"kind":"add","node":1.5,"endpoint":""}],"patience_ms":1})",
        R"({"version":3,"changes":[{"kind":"add","node":4294967295,"endpoint":""}],"patience_ms":1})",
        R"({"version":6666666666666666666666662,"changes":[],"patience_ms":1})",
        R"({"version":3.5,"changes":[],"patience_ms":1})", R"({"version":3,"changes":[],"patience_ms":1e300})",
        R"({"version":3,"changes":[],"patience_ms":-1})",
        R"({"version":3,"roster":{"edition":1e300,"nodes":[{"node":0,"endpoint":""}],"drained":[],"added":[],"sizes":[]}})",
        R"({"version":3,"error":{"kind":-1e300,"message":"","place":"","fix":""}})"}) {
    const auto wrong = group::decode_roster_call(text);
    INFO(text);
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().kind() == ErrorKind::bad_input);
    CHECK_FALSE(group::decode_roster_outcome(text));
  }
}

TEST_CASE("a call with more changes than a roster may have nodes is refused, wherever it comes from") {
  const std::vector<RosterChange> most(roster_changes_max, add_seven);
  std::vector<RosterChange> more = most;
  more.push_back(add_seven);
  CHECK(group::decode_roster_call(group::encode(group::RosterCall{most, 1500ms})));
  const auto decoded = group::decode_roster_call(group::encode(group::RosterCall{more, 1500ms}));
  group::RosterCalls calls;
  show(calls, view_with(two));
  const auto called = calls.change(more, {}, [] {});
  REQUIRE_FALSE(decoded);
  REQUIRE_FALSE(called);
  CHECK(decoded.error().kind() == ErrorKind::bad_argument);
  CHECK(called.error().to_string() == decoded.error().to_string());
  CHECK_FALSE(calls.any());
}

TEST_CASE("a call hears of a view when all members have it, and one that comes meanwhile waits for that, too") {
  group::RosterCalls calls;
  show(calls, view_with(two));
  auto waiting = std::async(std::launch::async, [&] { return calls.change({add_seven}, {}, [] {}); });
  while (!calls.any()) std::this_thread::yield();
  calls.on_view(view_with(with(two, {add_seven})));
  auto late = std::async(std::launch::async, [&] { return calls.change({add_seven}, {}, [] {}); });
  CHECK(waiting.wait_for(20ms) == std::future_status::timeout);
  CHECK(late.wait_for(20ms) == std::future_status::timeout);
  CHECK(calls.change({}, {}, [] {}).value() == with(two, {add_seven}));  // who only asks hears of it at once
  calls.on_active();
  CHECK(waiting.get());
  CHECK(late.get());
}

TEST_CASE("a call is over when views have granted all of it, and also if that is undone later") {
  group::RosterCalls calls;
  show(calls, view_with(two));
  auto waiting = std::async(std::launch::async, [&] { return calls.change({add_seven, remove_one}, {}, [] {}); });
  while (!calls.any()) std::this_thread::yield();
  CHECK(calls.take() == std::vector{add_seven, remove_one});
  CHECK_FALSE(calls.any());
  show(calls, view_with(with(two, {add_seven})));
  CHECK(waiting.wait_for(20ms) == std::future_status::timeout);
  const Roster last = with(two, {remove_one});  // node 7 is out again
  show(calls, view_with(last));
  const auto outcome = waiting.get();
  REQUIRE(outcome);
  CHECK(*outcome == last);
  CHECK(calls.change({remove_one}, {}, [] {}).value() == last);
  CHECK_FALSE(calls.any());
}

TEST_CASE("a call ends with the reason if it is impossible, becomes so, takes too long, or the member ends") {
  group::RosterCalls calls;
  show(calls, view_with(two));
  const RosterChange other{Kind::add, NodeId(0), "x:1"};
  CHECK(calls.change({other}, {}, [] {}).error().kind() == ErrorKind::bad_argument);
  CHECK(calls.change({add_seven}, 1ms, [] {}).error().kind() == ErrorKind::timed_out);
  CHECK(calls.take() == std::vector{add_seven});
  auto overtaken = std::async(std::launch::async, [&] { return calls.change({add_seven}, {}, [] {}); });
  while (!calls.any()) std::this_thread::yield();
  show(calls, view_with(with(two, {{Kind::add, NodeId(7), "elsewhere:1"}})));
  CHECK(overtaken.get().error().kind() == ErrorKind::bad_argument);
  static_cast<void>(calls.take());
  show(calls, view_with(two));
  auto ended = std::async(std::launch::async, [&] { return calls.change({add_seven}, {}, [] {}); });
  while (!calls.any()) std::this_thread::yield();
  calls.on_end(Error(ErrorKind::removed, "it is over"), nullptr);
  CHECK(ended.get().error().kind() == ErrorKind::removed);
  CHECK(calls.change({add_seven}, {}, [] {}).error().kind() == ErrorKind::removed);
}

TEST_CASE("a member that leaves as it was told to has the roster of the first view without it, or says where to look") {
  const Error left(ErrorKind::group_closed, "node 1 has left the group");
  const Roster without = with(two, {remove_one});
  for (const Roster* const known : {&without, &two, static_cast<const Roster*>(nullptr)}) {
    group::RosterCalls calls;
    calls.on_view(view_with(two));
    auto waiting = std::async(std::launch::async, [&] { return calls.change({remove_one}, {}, [] {}); });
    while (!calls.any()) std::this_thread::yield();
    calls.on_end(left, known);
    const auto outcome = waiting.get();
    REQUIRE(outcome.ok() == (known == &without));
    if (outcome) CHECK(*outcome == without);
    if (!outcome) CHECK(outcome.error().fix().find("spindrift group roster") != std::string::npos);
  }
}

TEST_CASE("a call that would drain too many at once is impossible as a whole, and nobody is asked") {
  group::RosterCalls calls;
  View view = view_with(with(two, {add_seven}));
  show(calls, view);
  const RosterChange drain_one{Kind::drain, NodeId(1), ""};
  const RosterChange drain_seven{Kind::drain, NodeId(7), ""};
  CHECK(calls.change({drain_one, drain_seven}, {}, [] {}).error().kind() == ErrorKind::bad_argument);
  CHECK_FALSE(calls.any());
  auto waiting = std::async(std::launch::async, [&] { return calls.change({drain_one}, {}, [] {}); });
  while (!calls.any()) std::this_thread::yield();
  view.roster = with(view.roster, {drain_seven});  // another member's wish was first, and node 7 is on its way out
  show(calls, view);
  CHECK(waiting.get().error().kind() == ErrorKind::bad_argument);
}

TEST_CASE("a member's roster is asked for and changed through its socket, and garbage there changes nothing") {
  const GroupFixture fixture;
  const auto directory = value_or_throw(GuardedDirectory::open(fixture.directory(), "calls"));
  std::vector<group::RosterCall> heard;
  const auto change = [&](const group::RosterCall& call) -> Result<Roster> {
    heard.push_back(call);
    return with(two, call.changes);
  };
  CHECK(group::change_roster_through(directory, NodeId(4), {{}, 1s}).error().kind() == ErrorKind::member_lost);
  {
    group::RosterService service(NodeId(4), directory, change);
    REQUIRE(service.start());
    CHECK(group::change_roster_through(directory, NodeId(4), {{}, 1s}).value() == two);
    CHECK(group::change_roster_through(directory, NodeId(4), {{add_seven}, 1s}).value() == with(two, {add_seven}));
    std::vector<FileDescriptor> silent;
    for (std::size_t i = 0; i < 2 * group::RosterService::callers_max; ++i) {
      auto socket = value_or_throw(fabric::call_in(directory, node_file_name(NodeId(4), roster_suffix)));
      REQUIRE(socket);
      if (i % 2 == 0) REQUIRE(::send(socket->get(), "garbage", 7, MSG_NOSIGNAL) == 7);
      silent.push_back(std::move(*socket));
    }
    CHECK(group::change_roster_through(directory, NodeId(4), {{remove_one}, 1s}).value() == with(two, {remove_one}));
    CHECK(heard.size() == 3);
  }
  CHECK(group::change_roster_through(directory, NodeId(4), {{}, 1s}).error().kind() == ErrorKind::member_lost);
}

TEST_CASE("the newest roster is that of the highest edition of all members that answer, and of none that does not") {
  const GroupFixture fixture;
  const auto directory = value_or_throw(GuardedDirectory::open(fixture.directory(), "rosters"));
  const std::vector<NodeId> nodes{NodeId(1), NodeId(2), NodeId(3), NodeId(4), NodeId(5)};
  CHECK_FALSE(group::newest_roster(directory, nodes, 20s));
  const Roster newer = with(two, {add_seven});
  const auto tells = [](const Result<Roster>& what) { return [what](const group::RosterCall&) { return what; }; };
  group::RosterService older_one(NodeId(1), directory, tells(two));
  group::RosterService newer_one(NodeId(2), directory, tells(newer));
  group::RosterService ended(NodeId(3), directory, tells(Error(ErrorKind::group_closed, "over")));
  for (auto* const service : {&older_one, &newer_one, &ended}) REQUIRE(service->start());
  CHECK(group::newest_roster(directory, nodes, 20s) == newer);
  const std::vector<NodeId> some{NodeId(1), NodeId(3)};
  CHECK(group::newest_roster(directory, some, 20s) == two);
  const auto silent = value_or_throw(fabric::listen_in(directory, node_file_name(NodeId(4), roster_suffix)));
  CHECK(group::newest_roster(directory, nodes, 50ms) == newer);
}

TEST_CASE("where whoever is present founds, a newcomer's file names one that is there or none, and the group goes on") {
  const GroupFixture fixture;
  const std::string present = "founding = present\n";
  std::vector<std::unique_ptr<Group>> groups;
  const auto begin = [&](unsigned node, const std::string& members) {
    groups.push_back(std::make_unique<Group>(config_of(fixture, node, members, present)));
    groups.back()->subgroup("orders").on_delivery([](auto) {});
  };
  for (unsigned node = 0; node < 3; ++node) begin(node, "0, 1, 2");
  const RosterChange add_five{Kind::add, NodeId(5), ""};
  const RosterChange add_six{Kind::add, NodeId(6), ""};
  static_cast<void>(groups[2]->change_roster({add_five, add_six}, 20s));
  const ViewId before = groups[2]->view().id;
  begin(5, "0, 5");
  begin(6, "6");
  const View all = groups.back()->view();
  CHECK(all.members == std::vector{NodeId(0), NodeId(1), NodeId(2), NodeId(5), NodeId(6)});
  CHECK(all.id.value() == before.value() + 2);  // nobody was removed, and came again
}

TEST_CASE("a node of no file is added, joins with a file of its own, and finds those that its file does not name") {
  const bool tcp = GENERATE(false, true);
  const GroupFixture fixture(tcp ? "tcp" : "shm");
  const std::string extra = tcp ? over_tcp(fixture, "1") : "";
  auto groups = pair_of(fixture, extra);
  const Roster first = groups[0]->view().roster;
  CHECK(first.edition == 0);
  CHECK(first.nodes.size() == 2);
  const auto stranger = thrown_by([&] { Group(config_of(fixture, 5, "1, 5", extra)); });
  REQUIRE(stranger);
  CHECK(stranger->kind() == ErrorKind::refused);
  const std::string address = tcp ? config_of(fixture, 5, "1, 5", extra).address_of(NodeId(5)) : "";
  const RosterChange add_five{Kind::add, NodeId(5), address};
  const Roster second = groups[1]->change_roster({add_five}, 20s);
  CHECK(second == with(first, {add_five}));
  CHECK(groups[1]->change_roster({add_five}, 20s) == second);
  groups.push_back(std::make_unique<Group>(config_of(fixture, 5, "1, 5", extra)));
  await_members(*groups[0], 3);
  CHECK(groups[2]->view().roster == second);
  groups[2]->subgroup("orders").on_delivery([](auto) {});
  groups[0]->subgroup("orders").on_delivery([](auto) {});
  std::atomic<std::size_t> delivered = 0;
  groups[1]->subgroup("orders").on_delivery([&](std::span<const Delivery> batch) { delivered += batch.size(); });
  for (int i = 0; i < 100; ++i) groups[2]->subgroup("orders").send("five");
  while (delivered < 100) std::this_thread::sleep_for(1ms);

  // One of the first goes for good, by the word of the newcomer; the other comes back by its old file.
  CHECK(groups[2]->change_roster({{Kind::remove, NodeId(0), ""}}, 20s).find(NodeId(0)) == nullptr);
  groups[0]->wait();
  CHECK_FALSE(groups[0]->open());
  await_members(*groups[1], 2);
  groups[1].reset();
  groups[1] = std::make_unique<Group>(config_of(fixture, 1, "1, 5", extra));
  await_members(*groups[2], 2);
  CHECK(groups[1]->view().roster.edition == 2);
}

TEST_CASE("a member that removes itself leaves, its call has the roster without it, and the others go on") {
  const GroupFixture fixture;
  auto groups = pair_of(fixture);
  const Roster without = groups[0]->change_roster({{Kind::remove, NodeId(0), ""}});
  CHECK(without.nodes == std::vector<NodeAddress>{{NodeId(1), ""}});
  groups[0]->wait();
  await_members(*groups[1], 1);
  CHECK(groups[1]->view().roster == without);
}

TEST_CASE("a node that is drained leaves, is refused with the command that ends that, and comes back when it is undone") {
  const bool tcp = GENERATE(false, true);
  const GroupFixture fixture(tcp ? "tcp" : "shm");
  const std::string extra = tcp ? over_tcp(fixture, "3") : "";
  const std::string all = "0, 1, 2";
  std::vector<std::unique_ptr<Group>> groups(3);
  std::vector<std::future<std::unique_ptr<Group>>> others;
  for (const unsigned node : {1U, 2U}) {
    others.push_back(
        std::async(std::launch::async, [&, node] { return std::make_unique<Group>(config_of(fixture, node, all, extra)); }));
  }
  groups[0] = std::make_unique<Group>(config_of(fixture, 0, all, extra));
  for (const unsigned node : {1U, 2U}) groups[node] = others[node - 1].get();

  const RosterChange drain{Kind::drain, NodeId(2), ""};
  const Roster drained = groups[1]->change_roster({drain}, 20s);
  CHECK(drained.edition == 1);
  CHECK(drained.nodes == groups[0]->view().roster.nodes);
  CHECK(drained.drained == std::vector{NodeId(2)});
  groups[2]->wait();
  CHECK_FALSE(groups[2]->open());
  groups[2].reset();
  await_members(*groups[0], 2);
  CHECK(groups[1]->change_roster({drain}, 20s) == drained);

  const auto refusal = thrown_by([&] { Group(config_of(fixture, 2, all, extra)); });
  REQUIRE(refusal);
  CHECK(refusal->kind() == ErrorKind::refused);
  CHECK_THAT(refusal->message(), Catch::Matchers::EndsWith("refused this node: it is drained"));
  CHECK_THAT(refusal->fix(), Catch::Matchers::Contains("spindrift group drain 2 --undo"));
  const auto too_many = thrown_by([&] { groups[0]->change_roster({{Kind::drain, NodeId(1), ""}}, 20s); });
  REQUIRE(too_many);
  CHECK(too_many->kind() == ErrorKind::bad_argument);
  CHECK_THAT(too_many->message(), Catch::Matchers::Contains("a majority is 2"));
  CHECK(groups[0]->view().roster == drained);

  CHECK(groups[0]->change_roster({{Kind::undrain, NodeId(2), ""}}, 20s).drained.empty());
  groups[2] = std::make_unique<Group>(config_of(fixture, 2, all, extra));
  await_members(*groups[0], 3);
  await_members(*groups[1], 3);
  CHECK(groups[2]->view().roster.edition == 2);
}

TEST_CASE("what is no address for the group's fabric is refused before anybody is asked, and so is a call of a handler") {
  const bool tcp = GENERATE(false, true);
  const GroupFixture fixture(tcp ? "tcp" : "shm");
  auto groups = pair_of(fixture, tcp ? over_tcp(fixture, "2") : "");
  for (const char* const endpoint : tcp ? std::vector{"", "nowhere", "h:port"} : std::vector{"h:1"}) {
    const auto error = thrown_by([&] { groups[0]->change_roster({{Kind::add, NodeId(5), endpoint}}); });
    REQUIRE(error);
    CHECK(error->kind() == ErrorKind::bad_argument);
    CHECK_FALSE(error->fix().empty());
  }
  std::promise<ErrorKind> told;
  groups[1]->subgroup("orders").on_delivery([](auto) {});
  groups[0]->subgroup("orders").on_delivery([&](auto) {
    const auto error = thrown_by([&] { groups[0]->change_roster({{Kind::remove, NodeId(5), ""}}); });
    told.set_value(error ? error->kind() : ErrorKind::resource);
  });
  groups[0]->subgroup("orders").send("now");
  CHECK(told.get_future().get() == ErrorKind::bad_argument);
  CHECK(groups[1]->view().roster.edition == 0);
}

}  // namespace spindrift
