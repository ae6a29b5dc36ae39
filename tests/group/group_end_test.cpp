// How groups end badly, and what users are told: mistakes of the caller, of the config, and of the application.
#include <catch2/catch.hpp>

#include <fstream>
#include <functional>
#include <future>
#include <iterator>

#include <spindrift/group/status.hpp>

#include "group_fixture.hpp"

using namespace spindrift;
using Catch::Matchers::Contains;

namespace {

template <class Call>
Error error_of(Call&& call) {
  try {
    call();
  } catch (const Exception& thrown) {
    return thrown.error();
  }
  return {ErrorKind::unsupported, "nothing was thrown"};
}

void accept_everything(Group& group) {
  for (const std::string& name : group.subgroup_names()) group.subgroup(name).on_delivery([](auto) {});
}

}  // namespace

TEST_CASE("an unknown subgroup is refused with the known ones") {
  GroupFixture fixture;
  Group group(fixture.config(0, 1));
  accept_everything(group);
  const Error error = error_of([&] { static_cast<void>(group.subgroup("order")); });
  CHECK(error.kind() == ErrorKind::bad_argument);
  CHECK_THAT(error.to_string(), Contains("\"order\"") && Contains("use one of: orders, ticks"));
}

TEST_CASE("a message larger than the subgroup takes is refused with the limit") {
  GroupFixture fixture;
  Group group(fixture.config(0, 1));
  accept_everything(group);
  Subgroup& orders = group.subgroup("orders");
  const Error error = error_of([&] { orders.send(std::string(orders.message_bytes_max() + 1, 'x')); });
  CHECK(error.kind() == ErrorKind::bad_argument);
  CHECK_THAT(error.to_string(), Contains(std::to_string(orders.message_bytes_max())) && Contains("max_smc_payload_size"));
}

TEST_CASE("who has left sends no more, and the others go on") {
  GroupFixture fixture;
  auto groups = fixture.join(3);
  for (auto& group : groups) accept_everything(*group);
  groups[1]->leave();
  CHECK_FALSE(groups[1]->open());
  const Error error = error_of([&] { groups[1]->subgroup("orders").send("too late"); });
  CHECK(error.kind() == ErrorKind::group_closed);
  CHECK_THAT(error.to_string(), Contains("node 1 has left"));
  groups[0]->subgroup("orders").send("still here");
  groups[0]->leave();
}

TEST_CASE("a member that waits in vain says for whom") {
  GroupFixture fixture;
  const Error error = error_of([&] { Group group(fixture.config(0, 3, "join_timeout_ms = 100\n")); });
  CHECK(error.kind() == ErrorKind::timed_out);
  CHECK_THAT(error.to_string(), Contains("node 1, 2"));
}

TEST_CASE("who was to be met on this host is named with the place where it was looked for") {
  const GroupFixture fixture("shm+ofi:tcp");
  const Error error = error_of([&] { Group group(fixture.config(0, 3, "join_timeout_ms = 100\n")); });
  CHECK(error.kind() == ErrorKind::timed_out);
  CHECK_THAT(error.message(), Catch::Contains("node 1, 2"));
  CHECK_THAT(error.fix(),
             Catch::Contains("node 2, on this node's host as addresses say, with runtime_directory " + fixture.directory()));
}

TEST_CASE("a founder whose configuration differs ends nobody: it says by which key, and the others go on waiting") {
  GroupFixture fixture;
  std::optional<Group> waiting;
  std::thread other([&] { waiting.emplace(fixture.config(1, 2)); });
  const Error error = error_of(
      [&] { Group group(fixture.config(0, 2, "[SPINDRIFT]\nsuspect_after_ms = 777\njoin_timeout_ms = 500\n")); });
  CHECK(error.kind() == ErrorKind::refused);
  CHECK_THAT(error.to_string(), Contains("node 1 was there") && Contains("configurations differ") &&
                                    Contains("[SPINDRIFT] suspect_after_ms is 777 here and 2000 there"));
  Group group(fixture.config(0, 2));
  other.join();
  accept_everything(group);
  accept_everything(*waiting);
  CHECK(group.view().members.size() == 2);
}

TEST_CASE("a node id that is in use is refused") {
  GroupFixture fixture;
  Group group(fixture.config(0, 1));
  accept_everything(group);
  CHECK(error_of([&] { Group twin(fixture.config(0, 1)); }).kind() == ErrorKind::refused);
}

TEST_CASE("a handler that throws ends its member, with its words everywhere") {
  GroupFixture fixture;
  auto groups = fixture.join(2);
  groups[0]->subgroup("orders").on_delivery([](auto) { throw std::runtime_error("out of luck"); });
  groups[0]->subgroup("ticks").on_delivery([](auto) {});
  accept_everything(*groups[1]);
  groups[1]->subgroup("orders").send("provoke");
  CHECK_THAT(error_of([&] { groups[0]->wait(); }).to_string(), Contains("out of luck"));
  Subgroup& ticks = groups[0]->subgroup("ticks");
  const std::vector<std::function<void()>> calls{
      [&] { groups[0]->wait(); },
      [&] { groups[0]->leave(); },
      [&] { ticks.send("too late"); },
      [&] { static_cast<void>(ticks.try_send(1, [](auto) {})); },
      [&] { groups[0]->send_private(NodeId(1), {}); },
  };
  for (const auto& call : calls) CHECK(error_of(call).kind() == ErrorKind::handler_failed);
  const Error elsewhere = error_of([&] { groups[1]->wait(); });
  CHECK(elsewhere.kind() == ErrorKind::no_majority);
  CHECK_THAT(elsewhere.to_string(), Contains("node 0") && Contains("out of luck"));
}

TEST_CASE("what on_failure throws is logged and ends nothing more, and it needs a function") {
  GroupFixture fixture;
  std::atomic<bool> told = false;
  {
    Group group(fixture.config(0, 1));
    CHECK(error_of([&] { group.on_failure({}); }).kind() == ErrorKind::bad_argument);
    group.on_failure([&](const Error&) {
      told = true;
      throw std::runtime_error("of its own");
    });
    group.subgroup("ticks").on_delivery([](auto) {});
    group.subgroup("orders").on_delivery([](auto) { throw std::runtime_error("the first"); });
    group.subgroup("orders").send("x");
    const Error error = error_of([&] { group.wait(); });
    CHECK(error.kind() == ErrorKind::handler_failed);
    CHECK_THAT(error.message(), Contains("the first"));
  }
  CHECK(told);
}

TEST_CASE("what a handler cannot ask for is refused by the name of the call") {
  GroupFixture fixture;
  Group group(fixture.config(0, 1));
  std::promise<Error> told;
  group.subgroup("ticks").on_delivery([](auto) {});
  group.subgroup("orders").on_delivery([&](auto) {
    told.set_value(error_of([&] { static_cast<void>(group.create_subgroup({.name = "news"})); }));
  });
  group.subgroup("orders").send("x");
  const Error refused = told.get_future().get();
  CHECK(refused.kind() == ErrorKind::bad_argument);
  CHECK_THAT(refused.message(), Contains("create_subgroup was called from a handler"));
}

TEST_CASE("leave and wait from a handler are refused instead of waiting for themselves") {
  GroupFixture fixture;
  Group group(fixture.config(0, 1));
  std::vector<ErrorKind> kinds;
  group.subgroup("ticks").on_delivery([](auto) {});
  group.subgroup("orders").on_delivery([&](auto) {
    kinds.push_back(error_of([&] { group.leave(); }).kind());
    kinds.push_back(error_of([&] { group.wait(); }).kind());
  });
  group.subgroup("orders").send("now");
  group.leave();
  CHECK(kinds == std::vector<ErrorKind>{ErrorKind::bad_argument, ErrorKind::bad_argument});
}

TEST_CASE("a member without handlers leaves, and so can the others") {
  GroupFixture fixture;
  auto groups = fixture.join(3);
  accept_everything(*groups[0]);
  accept_everything(*groups[2]);
  for (int i = 0; i < 10; ++i) groups[0]->subgroup("orders").send("for all");
  for (int i = 0; i < 10; ++i) groups[1]->subgroup("ticks").send("from one that never listened");
  groups[1].reset();
  groups[0]->leave();
  groups[2]->leave();
  CHECK(groups[0]->view().members.size() == 2);
}

TEST_CASE("handlers that are set while a member leaves without them are refused as too late") {
  GroupFixture fixture;
  Group group(fixture.config(0, 1));
  group.leave();
  Subgroup& orders = group.subgroup("orders");
  CHECK(error_of([&] { orders.on_delivery([](auto) {}); }).kind() == ErrorKind::group_closed);
  CHECK(error_of([&] { orders.on_state([](auto&) {}, [](auto&) {}); }).kind() == ErrorKind::group_closed);
}

TEST_CASE("a leave that waits for a member without a handler says so, in the log and in its status") {
  GroupFixture fixture;
  const std::string path = fixture.directory() + "/log";
  auto groups = fixture.join(2);
  accept_everything(*groups[0]);
  groups[1]->subgroup("orders").on_delivery([](auto) {});
  groups[0]->subgroup("ticks").send("unheard");
  value_or_throw(log::configure(log::Level::warn, path));
  std::thread leaver([&] { groups[0]->leave(); });
  std::string text;
  while (text.find("leaving waits") == std::string::npos) {
    std::ifstream file(path);
    text.assign(std::istreambuf_iterator<char>(file), {});
    std::this_thread::yield();
  }
  value_or_throw(log::configure(log::Level::warn, ""));
  CHECK_THAT(text, Contains("subgroup=ticks") && Contains("nodes=1"));
  const std::string status = fixture.directory() + "/test/status/0.status";
  while (value_or_throw(group::read_status(status)).waits.leave != "node 1 has not taken what it sent in subgroup ticks")
    std::this_thread::yield();
  groups[1]->subgroup("ticks").on_delivery([](auto) {});
  leaver.join();
  groups[1]->leave();
}
