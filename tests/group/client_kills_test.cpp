// Members that serve a client are killed, or stopped, while its requests are under way, again and again.
#include <catch2/catch.hpp>

#include <chrono>
#include <csignal>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "../tools/command.hpp"
#include "served_group.hpp"
#include "till.hpp"

using namespace spindrift;

namespace {

constexpr Duration patience = std::chrono::seconds(120);
const std::string extra = "join_timeout_ms = 60000\nclient_port = 7600\nsecurity = none\n";

std::unique_ptr<test::Command> peer(const GroupFixture& fixture, unsigned node) {
  return std::make_unique<test::Command>(std::vector<std::string>{fixture.file(node, 3, extra)});
}

}  // namespace

TEST_CASE("updates of a client whose member is killed or stopped are each carried out once, again and again") {
  const int rounds = 16;
  const GroupFixture fixture("tcp");
  std::vector<std::unique_ptr<test::Command>> peers(3);
  for (unsigned node = 1; node < 3; ++node) peers[node] = peer(fixture, node);
  Group group(fixture.config(0, 3, extra));
  group.subgroup("ticks").on_delivery([](std::span<const Delivery>) {});
  auto here = group.replicated<Till>("orders");
  here.offer();
  for (unsigned node = 1; node < 3; ++node) REQUIRE(peers[node]->wait_for("lets clients in"));

  std::set<std::uint64_t> answers;
  for (int round = 0; round < rounds; ++round) {
    const unsigned victim = 1 + static_cast<unsigned>(round) % 2;
    ClientOptions options;
    options.members = {config::client_address_of(fixture.config(0, 3, extra), NodeId(victim))};
    options.give_up_after = patience;
    options.answer_within = std::chrono::milliseconds(500);
    Client client(options);
    auto till = client.replicated<Till>("orders");
    answers.insert(till.update<&Till::pay>("Ann").get(patience));
    std::vector<ClientFuture<std::uint64_t>> many;
    for (int i = 0; i < 300; ++i) many.push_back(till.update<&Till::pay>("Ann"));
    for (int i = 0; i < round * 11; ++i) answers.insert(many[static_cast<std::size_t>(i)].get(patience));
    peers[victim]->send_signal(round % 4 == 3 ? SIGSTOP : SIGKILL);
    for (const auto& each : many) answers.insert(each.get(patience));
    const std::uint64_t all = 301 * (static_cast<std::uint64_t>(round) + 1);
    REQUIRE(answers.size() == all);
    REQUIRE(*answers.begin() == 1);
    REQUIRE(*answers.rbegin() == all);
    REQUIRE(till.ordered_query<&Till::calls>("Ann").get(patience) == all);
    REQUIRE(here.ordered_query<&Till::calls>("Ann").get(patience) == all);
    if (round + 1 == rounds) break;
    peers[victim]->send_signal(SIGKILL);
    static_cast<void>(peers[victim]->finish());
    peers[victim] = peer(fixture, victim);
    REQUIRE(peers[victim]->wait_for("lets clients in"));
  }
  for (unsigned node = 1; node < 3; ++node) peers[node]->send_signal(SIGKILL);
}
