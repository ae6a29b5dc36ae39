// Clients of real groups: they make their requests again at another member when theirs is gone.
#include <catch2/catch.hpp>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <spindrift/group/replicated.hpp>

#include "../tools/command.hpp"
#include "group_replicas.hpp"
#include "logged_fixture.hpp"
#include "till.hpp"

using namespace spindrift;

namespace {

constexpr Duration patience = std::chrono::seconds(120);

Replicated<Till> attach(Group& group) {
  group.subgroup("ticks").on_delivery([](std::span<const Delivery>) {});
  return group.replicated<Till>("orders");
}

std::optional<ClientRefusal> refusal(const Future<std::uint64_t>& call) {
  try {
    static_cast<void>(call.get(patience));
  } catch (const ClientRefused& refused) {
    return refused.reason();
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("a request that is made again when its member has left is carried out once, and answered alike") {
  GroupFixture fixture(GENERATE("shm", "tcp"));
  auto groups = fixture.join(3);
  auto tills = replicas_of<Till>(groups);
  const ClientSessionId session = tills[0].open_session().get(patience);
  std::vector<Future<std::uint64_t>> first;
  for (std::uint64_t number = 0; number < 40; ++number)
    first.push_back(tills[0].update_once<&Till::pay>({session, number, 0}, "Ann"));
  CHECK_THROWS_AS(tills[0].update_once<&Till::pay>({session, 40, 0}, "").get(patience), std::invalid_argument);
  for (std::uint64_t number = 0; number < 40; ++number) CHECK(first[number].get(patience) == number + 1);
  groups[0]->leave();
  for (std::uint64_t number = 0; number < 40; ++number)
    CHECK(tills[1 + number % 2].update_once<&Till::pay>({session, number, 0}, "Ann").get(patience) == number + 1);
  CHECK_THROWS_AS(tills[2].update_once<&Till::pay>({session, 40, 0}, "").get(patience), std::invalid_argument);
  CHECK(tills[1].update_once<&Till::pay>({session, 41, 41}, "Ann").get(patience) == 41);
  CHECK(refusal(tills[2].update_once<&Till::pay>({session, 3, 3}, "Ann")) == ClientRefusal::settled);
  CHECK(tills[2].ordered_query<&Till::calls>("Ann").get(patience) == 41);
  groups.erase(groups.begin());
  leave_all(groups);
}

TEST_CASE("requests whose member is killed while they are under way are carried out once, and answered alike") {
  GroupFixture fixture(GENERATE("shm", "tcp"));
  // Its session is opened before it is there, by those that found without it.
  const std::string founders = "founders = 1, 2\njoin_timeout_ms = 20000";
  auto groups = fixture.join_from(1, 3, founders);
  auto tills = replicas_of<Till>(groups);
  const ClientSessionId session = tills[0].open_session().get(patience);
  test::Command peer({fixture.file(0, 3, founders), std::to_string(session.number), std::to_string(session.word)},
                     SPINDRIFT_CLIENT_PEER);
  REQUIRE(peer.wait_for("request 500: 501"));
  peer.send_signal(SIGKILL);
  const std::string output = peer.finish().output;
  // All that it said, but for what was cut off, and none of the others: these may have been carried out, or not.
  std::istringstream lines(output.substr(0, output.rfind('\n') + 1));
  std::uint64_t answered = 0;
  for (std::string line; std::getline(lines, line); ++answered)
    REQUIRE(line == "request " + std::to_string(answered) + ": " + std::to_string(answered + 1));
  const std::uint64_t first = answered - unsettled + 1;
  const std::uint64_t end = answered + 2 * under_way;
  for (std::uint64_t number = first; number < end; ++number)
    CHECK(pay(tills[number % 2], session, number).get(patience) == number + 1);
  CHECK(tills[0].ordered_query<&Till::calls>("Ann").get(patience) == end);
  CHECK(tills[1].query<&Till::calls>("Ann") <= end);
  leave_all(groups);
}

TEST_CASE("a joiner answers a repeated request from the table that came with the state") {
  GroupFixture fixture;
  auto groups = fixture.join(3);
  auto tills = replicas_of<Till>(groups);
  groups[2]->leave();
  groups[2].reset();
  const ClientSessionId session = tills[0].open_session().get(patience);
  CHECK(tills[0].update_once<&Till::pay>({session, 7, 7}, "Ann").get(patience) == 1);
  groups[2] = std::make_unique<Group>(fixture.config(2, 3));
  auto again = attach(*groups[2]);
  CHECK(again.update_once<&Till::pay>({session, 7, 7}, "Ann").get(patience) == 1);
  CHECK(again.update_once<&Till::pay>({session, 8, 8}, "Ann").get(patience) == 2);
  CHECK(tills[1].update_once<&Till::pay>({session, 8, 8}, "Ann").get(patience) == 2);
  CHECK(again.query<&Till::calls>("Ann") == 2);
  leave_all(groups);
}

TEST_CASE("a client whose session is over because too many were opened is told so by every member") {
  GroupFixture fixture;
  auto groups = fixture.join(2);
  auto tills = replicas_of<Till>(groups);
  const ClientSessionId first = tills[0].open_session().get(patience);
  const ClientSessionId second = tills[0].open_session().get(patience);
  CHECK(tills[0].update_once<&Till::pay>({second, 0, 0}, "Ann").get(patience) == 1);
  std::vector<Future<ClientSessionId>> more;
  for (std::size_t i = 0; i < 1022; ++i) more.push_back(tills[i % 2].open_session());
  for (const auto& opened : more) static_cast<void>(opened.get(patience));
  CHECK(tills[1].update_once<&Till::pay>({first, 0, 0}, "Ann").get(patience) == 2);
  static_cast<void>(tills[1].open_session().get(patience));
  for (auto& till : tills) {
    CHECK(refusal(till.update_once<&Till::pay>({second, 0, 0}, "Ann")) == ClientRefusal::over);
    CHECK(till.update_once<&Till::pay>({first, 0, 0}, "Ann").get(patience) == 2);
  }
  CHECK(tills[0].ordered_query<&Till::calls>("Ann").get(patience) == 2);
  leave_all(groups);
}

TEST_CASE("sessions of objects in two subgroups have nothing to do with each other") {
  GroupFixture fixture;
  GroupOptions options;
  const LayoutFunction usual = value_or_throw(fixture.config(0, 2).layout_function());
  options.layout = [usual](const std::vector<NodeId>& members, const View* before) {
    auto subgroups = usual(members, before);
    subgroups[1].mode = DeliveryMode::ordered;
    return subgroups;
  };
  auto groups = fixture.join_from(0, 2, "", options);
  std::vector<Replicated<Till>> orders;
  std::vector<Replicated<Till>> ticks;
  for (auto& group : groups) {
    orders.push_back(group->replicated<Till>("orders"));
    ticks.push_back(group->replicated<Till>("ticks"));
  }
  const ClientSessionId session = orders[0].open_session().get(patience);
  CHECK(orders[1].update_once<&Till::pay>({session, 0, 0}, "Ann").get(patience) == 1);
  CHECK(refusal(ticks[1].update_once<&Till::pay>({session, 0, 0}, "Ann")) == ClientRefusal::over);
  const ClientSessionId other = ticks[1].open_session().get(patience);
  CHECK(other.number == session.number);
  CHECK(other.word != session.word);
  CHECK(ticks[0].update_once<&Till::pay>({other, 0, 0}, "Ann").get(patience) == 1);
  CHECK(refusal(orders[0].update_once<&Till::pay>({other, 1, 0}, "Ann")) == ClientRefusal::over);
  orders[1].close_session(session).get(patience);
  CHECK(refusal(orders[0].update_once<&Till::pay>({session, 0, 0}, "Ann")) == ClientRefusal::over);
  CHECK(ticks[1].update_once<&Till::pay>({other, 0, 0}, "Ann").get(patience) == 1);
  leave_all(groups);
}

TEST_CASE_METHOD(LoggedFixture, "requests that were durable are not carried out again when all have been stopped") {
  ClientSessionId session;
  {
    auto groups = join_logged(0, 2);
    auto till = attach(*groups[0]);
    static_cast<void>(attach(*groups[1]));
    session = till.open_session().get(patience);
    const auto paid = till.update_once<&Till::pay>({session, 0, 0}, "Ann");
    CHECK(paid.get(patience) == 1);
    paid.durable(patience);
    leave_all(groups);
  }
  auto groups = join_logged(0, 2);
  static_cast<void>(attach(*groups[0]));
  auto till = attach(*groups[1]);
  till.loaded(patience);
  CHECK(till.update_once<&Till::pay>({session, 0, 0}, "Ann").get(patience) == 1);
  CHECK(till.update_once<&Till::pay>({session, 1, 1}, "Ann").get(patience) == 2);
  leave_all(groups);
}

TEST_CASE_METHOD(LoggedFixture, "a checkpoint has the sessions, for its own member and for one that was away") {
  constexpr HistoryBounds last_hundred{.messages = 100, .bytes = 0, .age_ms = 0};
  ClientSessionId session;
  const auto first_segment = [&](unsigned node) {
    return directory() + "/journals/test/" + std::to_string(node) + "/0000000000000000.segment";
  };
  {
    auto groups = join_logged(0, 3, last_hundred);
    std::vector<Replicated<Till>> tills;
    for (auto& group : groups) tills.push_back(attach(*group));
    groups[2]->leave();
    groups.pop_back();
    session = tills[0].open_session().get(patience);
    CHECK(tills[0].update_once<&Till::pay>({session, 0, 0}, "Ann").get(patience) == 1);
    const auto begun = std::chrono::steady_clock::now();
    const auto untrimmed = [&](unsigned node) { return std::filesystem::exists(first_segment(node)); };
    for (unsigned round = 0; untrimmed(0) || untrimmed(1); ++round) {
      const std::string who(4000, static_cast<char>('a' + round % 26));
      std::optional<Future<std::uint64_t>> last;
      for (int i = 0; i < 500; ++i) last = tills[1].update<&Till::pay>(who);
      last->durable(patience);
      REQUIRE(std::chrono::steady_clock::now() - begun < patience);
    }
    auto back = join_logged(2, 3, last_hundred);
    auto till = attach(*back[0]);
    CHECK(till.update_once<&Till::pay>({session, 0, 0}, "Ann").get(patience) == 1);
    groups.push_back(std::move(back[0]));
    leave_all(groups);
  }
  auto groups = join_logged(0, 3, last_hundred);
  for (auto& group : groups) {
    auto till = attach(*group);
    CHECK(till.update_once<&Till::pay>({session, 0, 0}, "Ann").get(patience) == 1);
    CHECK(till.query<&Till::calls>("Ann") == 1);
  }
  leave_all(groups);
}
