// The replay's plan, schedule, messages and tallies, without processes.
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include <catch2/catch.hpp>

#include "flight/plan.hpp"
#include "flight/schedule.hpp"
#include "flight/tally.hpp"
#include "flight/tally_relay.hpp"
#include "flight/typed_flight.hpp"
#include "flight_fixture.hpp"

using namespace spindrift;
using namespace spindrift::tools;
using namespace spindrift::tools::test;
using Catch::Matchers::Contains;

namespace {

/// Samples of one topic with these timestamps.
ulog::Recording with_timestamps(const std::vector<std::uint64_t>& timestamps_us) {
  spindrift::test::UlogBuilder file;
  file.format("t:uint64_t timestamp;uint8_t value;").subscribe(0, "t");
  for (const std::uint64_t time : timestamps_us) file.sample(0, time, "v");
  auto recording = ulog::Recording::parse(std::move(file.bytes()), "times.ulg");
  REQUIRE(recording.ok());
  return std::move(*recording);
}

}  // namespace

TEST_CASE("every recorded topic is in exactly one subgroup of the generated configuration and has one sender") {
  const ulog::Recording recording = shipped();
  const TypedFlight flight = typed(recording);
  const auto config = Config::parse(flight_config(recording, flight, 3, "flight", "/dev/shm/x"), "flight.cfg");
  REQUIRE(config.ok());
  const View view = flight_view(*config).value();
  CHECK(view.members.size() == 3);
  CHECK(config->view().value().members.size() == 3 + more_nodes);
  CHECK(std::ranges::count_if(view.subgroups, may_carry) == 4);
  std::multiset<std::string> listed;
  for (const SubgroupView& subgroup : view.subgroups) listed.insert(subgroup.topics.begin(), subgroup.topics.end());
  CHECK(listed.size() == recording.topics().size() + 1);
  CHECK(listed.count(tally_topic) == 1);
  for (const ulog::Topic& topic : recording.topics()) CHECK(listed.count(topic.name) == 1);

  const auto plan = plan_flight(recording, flight, view);
  REQUIRE(plan.ok());
  std::map<NodeId, std::uint64_t> load;
  for (std::size_t t = 0; t < plan->size(); ++t) load[(*plan)[t].sender] += recording.topics()[t].samples;
  REQUIRE(load.size() == 3);
  for (const auto& [node, samples] : load) CHECK(samples > recording.samples().size() / 4);
}

TEST_CASE("a configuration that cannot carry the recording is refused with the reason") {
  const ulog::Recording recording = small();
  const TypedFlight flight = typed(recording);
  const auto refusal = [&](const std::string& layout, const std::string& more = "") {
    const auto plan = plan_flight(
        recording, flight, view_of("[SPINDRIFT]\nmembers = 0, 1\n" + more + "[LAYOUT]\njson_layout = '" + layout + "'\n"));
    return plan.ok() ? std::string("accepted") : plan.error().to_string();
  };
  CHECK(refusal(R"([{"name": "all", "topics": ["speed", "pose"]}])") == "accepted");
  CHECK_THAT(refusal(R"([{"name": "all", "topics": ["speed"]}])"), Contains("no subgroup carries the recorded topic pose"));
  CHECK_THAT(refusal(R"([{"name": "all", "mode": "unordered", "topics": ["speed", "pose"]}])"), Contains("unordered"));
  CHECK_THAT(refusal(R"([{"name": "all", "members": [0], "topics": ["speed", "pose"]}, {"name": "rest"}])"),
             Contains("lacks members"));
  CHECK_THAT(refusal(R"([{"name": "all", "topics": ["speed", "pose"]}])", "[SUBGROUP/DEFAULT]\nmax_smc_payload_size = 90\n"),
             Contains("take messages of 1") && Contains("subgroup all takes 90"));
}

TEST_CASE("due times follow the timestamps and ignore stray ones") {
  std::vector<std::uint64_t> times;
  for (std::uint64_t i = 0; i < 100; ++i) times.push_back(5'000'000 + i * 10'000);
  times[10] = 0;
  times[40] = 900'000'000;
  const std::vector<Duration> due = due_times(with_timestamps(times));
  REQUIRE(due.size() == times.size());
  CHECK(due.front() == Duration::zero());
  CHECK(due.back() == std::chrono::milliseconds(990));
  CHECK(due[50] == std::chrono::milliseconds(500));
  CHECK(due[10] <= std::chrono::milliseconds(250));
  CHECK(due[40] <= std::chrono::milliseconds(550));
}

TEST_CASE("a pause in the flight stays a pause") {
  std::vector<std::uint64_t> times;
  for (std::uint64_t i = 0; i < 100; ++i) times.push_back(i * 1'000 + (i < 50 ? 0 : 7'000'000));
  const std::vector<Duration> due = due_times(with_timestamps(times));
  CHECK(due[49] == std::chrono::milliseconds(49));
  CHECK(due[50] == std::chrono::milliseconds(7050));
}

TEST_CASE("due times stay in range whatever the file says") {
  const std::uint64_t huge = ~std::uint64_t{0};
  for (const Duration due : due_times(with_timestamps({0, huge, 0, huge, huge, 5, huge}))) {
    CHECK(due >= Duration::zero());
    CHECK(due <= std::chrono::hours(366 * 24));
  }
  CHECK(due_times(with_timestamps({})).empty());
}

TEST_CASE("the shipped recording takes between six and eight seconds at its own pace") {
  const std::vector<Duration> due = due_times(shipped());
  const Duration last = *std::max_element(due.begin(), due.end());
  CHECK(last > std::chrono::seconds(6));
  CHECK(last < std::chrono::seconds(8));
}

TEST_CASE("a tally of everything in order equals the file and is complete") {
  const Flight flight(2);
  const ulog::Recording& recording = flight.recording;
  const View& view = flight.view;
  FlightTally tally(flight.parts());
  tally.begin_view(view);
  Player player(flight);
  for (const ulog::Sample& sample : recording.samples()) {
    CHECK_FALSE(tally.complete());
    player.deliver(tally, sample);
  }
  CHECK(tally.complete());
  CHECK_FALSE(tally.fault());
  CHECK(tally.result().contents == recorded_contents(recording, flight.flight));
  CHECK(tally.result().counts == std::vector<std::uint64_t>{4, 2});
}

TEST_CASE("a tally notices lost, repeated and misplaced samples") {
  const Flight flight(2);
  const ulog::Recording& recording = flight.recording;
  const View& view = flight.view;
  const auto& samples = recording.samples();
  FlightTally tally(flight.parts());
  tally.begin_view(view);
  Player player(flight);

  SECTION("a gap") {
    player.numbers[0] = 1;
    player.deliver(tally, samples[0]);
    CHECK_THAT(tally.fault().value_or(""), Contains("a sample of speed came that is not sample 0 of the file"));
  }
  SECTION("a repetition") {
    player.deliver(tally, samples[0]);
    player.numbers[0] = 0;
    player.deliver(tally, samples[0]);
    CHECK_THAT(tally.fault().value_or(""), Contains("a sample of speed came that is not sample 1 of the file"));
  }
  SECTION("another sender") {
    player.deliver(tally, samples[0], NodeId(99));
    CHECK_THAT(tally.fault().value_or(""), Contains("node 99"));
  }
  SECTION("of no topic of the recording") {
    const std::vector<std::byte> noise(15);
    const Delivery delivery{.sender = NodeId(1), .sender_rank = {}, .index = {}, .sequence = {}, .payload = noise};
    tally.add(SubgroupId(0), delivery, std::nullopt, noise);
    CHECK_THAT(tally.fault().value_or(""), Contains("node 1 sent a sample of no topic"));
  }
}

TEST_CASE("different delivery orders have different digests, equal ones the same") {
  const Flight flight(2);
  const ulog::Recording& recording = flight.recording;
  const View& view = flight.view;
  const auto& samples = recording.samples();
  const auto digests_of = [&](const std::vector<std::size_t>& order) {
    FlightTally tally(flight.parts());
    tally.begin_view(view);
    Player player(flight);
    for (const std::size_t i : order) {
      const auto before = [&](const ulog::Sample& each) { return &each < &samples[i] && each.topic == samples[i].topic; };
      player.numbers[samples[i].topic] = static_cast<std::uint32_t>(std::ranges::count_if(samples, before));
      player.deliver(tally, samples[i]);
    }
    return tally.result().sequences;
  };
  CHECK(digests_of({0, 1, 2, 3}) == digests_of({0, 1, 2, 3}));
  CHECK(digests_of({0, 1, 2, 3}) != digests_of({2, 1, 0, 3}));
}

TEST_CASE("a result survives the way through the pipe, and nonsense is no result") {
  const TallyResult result{
      .counts = {1, 2},
      .contents = {digest_of("a"), digest_of("b")},
      .senders = {0, 7},
      .sequences = {digest_of("c")},
      .messages = 3,
      .bytes = 99,
      .delivered = 2,
      .seconds = 0.5,
      .views = {
          {.view = 4, .members = {0, 7}, .joined = {7}, .left = {}, .failed = {"3 (gone)"}, .delivered = 2, .gap_ms = 1.5},
          {.view = 5, .members = {0}, .joined = {}, .left = {7}, .failed = {}, .delivered = 0, .gap_ms = {}}}};
  const auto read = result_from_json(to_json(result), 2, 1);
  REQUIRE(read);
  CHECK(read->counts == result.counts);
  CHECK(read->contents == result.contents);
  CHECK(read->sequences == result.sequences);
  CHECK(read->messages == 3);
  CHECK(read->senders == result.senders);
  CHECK(read->delivered == 2);
  REQUIRE(read->views.size() == 2);
  CHECK(read->views[0].failed == result.views[0].failed);
  CHECK(read->views[0].gap_ms == 1.5);
  CHECK(read->views[1].left == result.views[1].left);
  CHECK_FALSE(read->views[1].gap_ms);
  CHECK_FALSE(result_from_json(to_json(result), 3, 1));
  CHECK_FALSE(result_from_json("{", 2, 1));
  CHECK_FALSE(result_from_json("[]", 2, 1));
  CHECK_FALSE(result_from_json(R"({"counts": "x"})", 2, 1));
}

namespace {

struct Assignment {
  std::size_t topic;
  std::uint32_t node;
  std::uint64_t number;
  bool operator==(const Assignment&) const = default;
};

}  // namespace

TEST_CASE("when a sender is gone the next in line sends on from the first sample that was not delivered") {
  Flight flight(3);
  const ulog::Recording& recording = flight.recording;
  const View& all = flight.view;
  flight.plan.assign(2, {.subgroup = flight.plan[0].subgroup, .sender = NodeId(1)});
  std::vector<Assignment> assigned;
  FlightTally tally(flight.parts(),
                    [&](std::size_t topic, const Sender& sender, std::uint64_t number) {
                      assigned.push_back({topic, sender.node.value(), number});
                    });
  tally.begin_view(with_members(all, 0, {{0, 10}, {1, 11}, {2, 12}}));
  CHECK(assigned == std::vector<Assignment>{{0, 1, 0}, {1, 1, 0}});
  Player player(flight);
  for (const std::size_t i : {0U, 1U, 2U}) player.deliver(tally, recording.samples()[i]);
  assigned.clear();

  SECTION("it died: both topics go to one survivor, each where it stood") {
    tally.begin_view(with_members(all, 1, {{0, 10}, {2, 12}}));
    CHECK(assigned == std::vector<Assignment>{{0, 2, 2}, {1, 2, 1}});
    player.deliver(tally, recording.samples()[3], NodeId(2));
    CHECK_FALSE(tally.fault());
    assigned.clear();
    tally.begin_view(with_members(all, 2, {{0, 10}, {2, 12}, {1, 99}}));  // it came back, and the survivor keeps them
    CHECK(assigned.empty());
    tally.begin_view(with_members(all, 3, {{0, 10}}));
    CHECK(assigned == std::vector<Assignment>{{0, 0, 3}, {1, 0, 1}});
  }
  SECTION("it died and came back in one change: its new life begins where the old one's messages end") {
    tally.begin_view(with_members(all, 1, {{0, 10}, {2, 12}, {1, 99}}));
    CHECK(assigned == std::vector<Assignment>{{0, 1, 2}, {1, 1, 1}});
  }
  SECTION("another left: nothing changes") {
    tally.begin_view(with_members(all, 1, {{1, 11}, {2, 12}}));
    CHECK(assigned.empty());
  }
  SECTION("a newcomer with the state agrees with those that were there") {
    std::vector<std::stringstream> states(all.subgroups.size());
    for (std::uint32_t s = 0; s < states.size(); ++s) tally.save(SubgroupId(s), states[s]);
    const View next = with_members(all, 1, {{0, 10}, {1, 99}});
    tally.begin_view(next);
    const std::vector<Assignment> expected = std::exchange(assigned, {});
    FlightTally newcomer(flight.parts(),
                   [&](std::size_t topic, const Sender& sender, std::uint64_t number) {
                     assigned.push_back({topic, sender.node.value(), number});
                   });
    newcomer.begin_view(next);
    CHECK(assigned.empty());
    for (std::uint32_t s = 0; s < states.size(); ++s) newcomer.load(SubgroupId(s), states[s]);
    CHECK(assigned == expected);
    Player other = player;
    for (const std::size_t i : {3U, 4U, 5U}) {
      player.deliver(tally, recording.samples()[i]);
      other.deliver(newcomer, recording.samples()[i]);
    }
    CHECK(newcomer.complete());
    CHECK_FALSE(newcomer.fault());
    CHECK(newcomer.result().contents == tally.result().contents);
    CHECK(newcomer.result().sequences == tally.result().sequences);
    CHECK(newcomer.result().contents == recorded_contents(recording, flight.flight));
    CHECK(newcomer.result().delivered == 3);
  }
  SECTION("a state of another replay is refused") {
    FlightTally newcomer(flight.parts());
    for (const char* text : {"", "{}", "[1]", R"({"sequence":[1,2],"messages":1,"bytes":1,"topics":[]})"}) {
      std::istringstream stream(text);
      CHECK_THROWS_AS(newcomer.load(flight.plan[0].subgroup, stream), Exception);
    }
  }
}

TEST_CASE("programs that look on take over nothing") {
  const Flight flight(2);
  const View with_onlooker = with_members(flight.view, 1, {{1, 11}, {7, 17}});
  const auto next = next_in_line({.subgroup = flight.plan[0].subgroup, .sender = NodeId(0)}, flight.view, with_onlooker);
  REQUIRE(next);
  CHECK(next->node == NodeId(1));
}

TEST_CASE("a flight that is flown several times goes on in time, and has all samples so often") {
  ulog::Recording recording = shipped();
  const std::size_t once = recording.samples().size();
  const std::uint64_t attitudes = recording.topics()[0].samples;
  const Duration length = due_times(recording).back();
  repeat(recording, 3);
  CHECK(recording.samples().size() == 3 * once);
  CHECK(recording.topics()[0].samples == 3 * attitudes);
  const std::vector<Duration> due = due_times(recording);
  CHECK(due[2 * once + once / 2] > 2 * length);
  CHECK(*std::max_element(due.begin(), due.end()) < 4 * length);
  CHECK(typed(recording).samples_of(0) == 3 * attitudes);
  const std::vector<Duration> hurried = due_times(recording, 2);
  CHECK(hurried[once] == due[once] / 2);
}
