// A tally on its way to a member that comes back, without processes.
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "flight/tally_relay.hpp"
#include "flight_fixture.hpp"

using namespace spindrift;
using namespace spindrift::tools;
using namespace spindrift::tools::test;

TEST_CASE("a member that comes back keeps what it is given until the oldest one tells it what was before") {
  const Flight flight(3);
  const View first = with_members(flight.view, 0, {{0, 10}, {1, 11}, {2, 12}});
  const View without = with_members(flight.view, 1, {{0, 10}, {1, 11}});
  const View again = with_members(flight.view, 2, {{0, 10}, {1, 11}, {2, 99}});
  const View later = with_members(flight.view, 3, {{0, 10}, {1, 11}, {2, 99}, {7, 70}});
  const auto news = [](const View& view, std::vector<NodeId> joined) {
    return views::NewView{.view = view, .joined = std::move(joined), .left = {}, .failed = {}, .state_lost = {}};
  };
  FlightTally old_tally(flight.parts());
  FlightTally new_tally(flight.parts());
  TallyRelay oldest(old_tally, flight.parts(), NodeId(0));
  FlightTally other_tally(flight.parts());
  TallyRelay other(other_tally, flight.parts(), NodeId(1));
  TallyRelay newcomer(new_tally, flight.parts(), NodeId(2));
  std::vector<TallyRelay*> relays{&oldest, &other};
  Player player(flight);
  const auto deliver = [&](std::size_t sample) {
    const ulog::Sample& what = flight.recording.samples()[sample];
    std::vector<std::byte> message(16);  // something lies before the sample
    std::vector<std::byte> bytes;
    flight.flight.write(what.topic, player.numbers[what.topic]++, bytes);
    message.insert(message.end(), bytes.begin(), bytes.end());
    const TopicPlan& planned = flight.plan[what.topic];
    const NodeId sender = next_in_line(planned, flight.view, without)->node;
    const Delivery delivery{.sender = sender,
                            .sender_rank = {},
                            .index = {},
                            .sequence = SequenceNumber(player.sequences[planned.subgroup.value()]++),
                            .payload = message};
    for (TallyRelay* each : relays) each->add(planned.subgroup, delivery, what.topic, std::span(message).subspan(16));
  };
  for (TallyRelay* each : relays) CHECK_FALSE(each->begin_view(news(first, {NodeId(0), NodeId(1), NodeId(2)})));
  for (TallyRelay* each : relays) CHECK_FALSE(each->begin_view(news(without, {})));
  for (const std::size_t sample : {0U, 1U}) deliver(sample);
  const auto told = oldest.begin_view(news(again, {NodeId(2)}));
  REQUIRE(told);
  CHECK_FALSE(other.begin_view(news(again, {NodeId(2)})));
  CHECK_FALSE(newcomer.begin_view(news(again, {NodeId(0), NodeId(1)})));
  relays.push_back(&newcomer);
  deliver(2);
  for (TallyRelay* each : relays) static_cast<void>(each->begin_view(news(later, {NodeId(7)})));
  deliver(3);
  CHECK(new_tally.messages() == 0);

  const auto received = tally_from(sample_of(*told).bytes());
  REQUIRE(received);
  newcomer.on_tally({99, "a view that it has not seen"});
  CHECK(new_tally.messages() == 0);
  CHECK_THROWS_AS(TallyRelay(newcomer).on_tally({2, "nonsense"}), Exception);
  newcomer.on_tally(*received);
  newcomer.on_tally({2, "told twice"});
  for (const std::size_t sample : {4U, 5U}) deliver(sample);
  for (const FlightTally* each : {&old_tally, &other_tally, &new_tally}) {
    CHECK_FALSE(each->fault());
    CHECK(each->complete());
    CHECK(each->result().sequences == old_tally.result().sequences);
    CHECK(each->result().contents == recorded_contents(flight.recording, flight.flight));
  }
  CHECK(new_tally.result().delivered == 4);
  CHECK_FALSE(tally_from(std::vector<std::byte>(5)));
}
