// The replay's plan, schedule, messages and tallies, without processes.
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include <catch2/catch.hpp>

#include <spindrift/core/config/config.hpp>

#include "flight/plan.hpp"
#include "flight/sample_message.hpp"
#include "flight/schedule.hpp"
#include "flight/tally.hpp"
#include "ulog_builder.hpp"

using namespace spindrift;
using namespace spindrift::tools;
using Catch::Matchers::Contains;

namespace {

ulog::Recording shipped() {
  auto recording = ulog::Recording::read(FLIGHT_DIRECTORY "/sample_log_small.ulg");
  REQUIRE(recording.ok());
  return std::move(*recording);
}

ulog::Recording small() {
  auto recording = ulog::Recording::parse(std::move(test::small_recording().bytes()), "small.ulg");
  REQUIRE(recording.ok());
  return std::move(*recording);
}

View view_of(const std::string& config) {
  const auto read = Config::parse(config, "flight.cfg");
  INFO((read.ok() ? std::string() : read.error().to_string()));
  REQUIRE(read.ok());
  auto view = read->view();
  REQUIRE(view.ok());
  return std::move(*view);
}

/// Samples of one topic with these timestamps.
ulog::Recording with_timestamps(const std::vector<std::uint64_t>& timestamps_us) {
  test::UlogBuilder file;
  file.format("t:uint64_t timestamp;uint8_t value;").subscribe(0, "t");
  for (const std::uint64_t time : timestamps_us) file.sample(0, time, "v");
  auto recording = ulog::Recording::parse(std::move(file.bytes()), "times.ulg");
  REQUIRE(recording.ok());
  return std::move(*recording);
}

/// Delivers a recording's messages to a tally, in the order of the file.
struct Player {
  const ulog::Recording& recording;
  const FlightPlan& plan;
  std::vector<std::uint32_t> numbers = std::vector<std::uint32_t>(recording.topics().size());
  std::vector<std::uint64_t> sequences = std::vector<std::uint64_t>(16);

  void deliver(FlightTally& tally, const ulog::Sample& sample, std::optional<NodeId> sender = {}) {
    std::vector<std::byte> message(message_bytes(sample));
    encode_sample(sample, numbers[sample.topic]++, message);
    const TopicPlan& planned = plan[sample.topic];
    const Delivery delivery{.sender = sender.value_or(planned.sender),
                            .sender_rank = {},
                            .index = {},
                            .sequence = SequenceNumber(sequences[planned.subgroup.value()]++),
                            .payload = message};
    tally.add(planned.subgroup, std::span(&delivery, 1));
  }
};

}  // namespace

TEST_CASE("every recorded topic is in exactly one subgroup of the generated configuration and has one sender") {
  const ulog::Recording recording = shipped();
  const View view = view_of(flight_config(recording, 3, "flight", "/dev/shm/x"));
  CHECK(view.members.size() == 3);
  CHECK(view.subgroups.size() == 4);
  std::multiset<std::string> listed;
  for (const SubgroupView& subgroup : view.subgroups) listed.insert(subgroup.topics.begin(), subgroup.topics.end());
  CHECK(listed.size() == recording.topics().size());
  for (const ulog::Topic& topic : recording.topics()) CHECK(listed.count(topic.name) == 1);

  const auto plan = plan_flight(recording, view);
  REQUIRE(plan.ok());
  std::map<NodeId, std::uint64_t> load;
  for (std::size_t t = 0; t < plan->size(); ++t) load[(*plan)[t].sender] += recording.topics()[t].samples;
  REQUIRE(load.size() == 3);
  for (const auto& [node, samples] : load) CHECK(samples > recording.samples().size() / 4);
}

TEST_CASE("a configuration that cannot carry the recording is refused with the reason") {
  const ulog::Recording recording = small();
  const auto refusal = [&](const std::string& layout, const std::string& more = "") {
    const auto plan = plan_flight(
        recording, view_of("[SPINDRIFT]\nmembers = 0, 1\n" + more + "[LAYOUT]\njson_layout = '" + layout + "'\n"));
    return plan.ok() ? std::string("accepted") : plan.error().to_string();
  };
  CHECK(refusal(R"([{"name": "all", "topics": ["speed", "pose"]}])") == "accepted");
  CHECK_THAT(refusal(R"([{"name": "all", "topics": ["speed"]}])"), Contains("no subgroup carries the recorded topic pose"));
  CHECK_THAT(refusal(R"([{"name": "all", "mode": "unordered", "topics": ["speed", "pose"]}])"), Contains("unordered"));
  CHECK_THAT(refusal(R"([{"name": "all", "members": [0], "topics": ["speed", "pose"]}, {"name": "rest"}])"),
             Contains("lacks members"));
  CHECK_THAT(refusal(R"([{"name": "all", "topics": ["speed", "pose"]}])", "[SUBGROUP/DEFAULT]\nmax_smc_payload_size = 30\n"),
             Contains("take messages of 33 bytes"));
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
  const ulog::Recording recording = small();
  const View view = view_of(flight_config(recording, 2, "flight", "/dev/shm/x"));
  const FlightPlan plan = plan_flight(recording, view).value();
  FlightTally tally(recording, plan, view.subgroups.size());
  tally.begin_view(view);
  Player player{recording, plan};
  for (const ulog::Sample& sample : recording.samples()) {
    CHECK_FALSE(tally.complete());
    player.deliver(tally, sample);
  }
  CHECK(tally.complete());
  CHECK_FALSE(tally.fault());
  CHECK(tally.result().contents == recorded_contents(recording));
  CHECK(tally.result().counts == std::vector<std::uint64_t>{4, 2});
}

TEST_CASE("a tally notices lost, repeated and misplaced samples") {
  const ulog::Recording recording = small();
  const View view = view_of(flight_config(recording, 2, "flight", "/dev/shm/x"));
  const FlightPlan plan = plan_flight(recording, view).value();
  const auto& samples = recording.samples();
  FlightTally tally(recording, plan, view.subgroups.size());
  tally.begin_view(view);
  Player player{recording, plan};

  SECTION("a gap") {
    player.numbers[0] = 1;
    player.deliver(tally, samples[0]);
    CHECK_THAT(tally.fault().value_or(""), Contains("sample 1 of speed came where 0 was due"));
  }
  SECTION("a repetition") {
    player.deliver(tally, samples[0]);
    player.numbers[0] = 0;
    player.deliver(tally, samples[0]);
    CHECK_THAT(tally.fault().value_or(""), Contains("sample 0 of speed came where 1 was due"));
  }
  SECTION("another sender") {
    player.deliver(tally, samples[0], NodeId(99));
    CHECK_THAT(tally.fault().value_or(""), Contains("node 99"));
  }
  SECTION("not a sample") {
    const std::vector<std::byte> noise(15);
    const Delivery delivery{.sender = NodeId(1), .sender_rank = {}, .index = {}, .sequence = {}, .payload = noise};
    tally.add(SubgroupId(0), std::span(&delivery, 1));
    CHECK_THAT(tally.fault().value_or(""), Contains("no sample"));
  }
}

TEST_CASE("different delivery orders have different digests, equal ones the same") {
  const ulog::Recording recording = small();
  const View view = view_of(flight_config(recording, 2, "flight", "/dev/shm/x"));
  const FlightPlan plan = plan_flight(recording, view).value();
  const auto& samples = recording.samples();
  const auto digests_of = [&](const std::vector<std::size_t>& order) {
    FlightTally tally(recording, plan, view.subgroups.size());
    tally.begin_view(view);
    Player player{recording, plan};
    for (const std::size_t i : order) player.deliver(tally, samples[i]);
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

/// A view of nodes 0 … with incarnation 10 + node, unless said otherwise.
View with_members(const View& all, std::uint64_t id, const std::vector<std::pair<std::uint32_t, std::uint64_t>>& members) {
  View view = all;
  view.id = ViewId(id);
  view.members.clear();
  view.incarnations.clear();
  for (const auto& [node, incarnation] : members) {
    view.members.emplace_back(node);
    view.incarnations.push_back(incarnation);
  }
  for (SubgroupView& subgroup : view.subgroups) subgroup.members = subgroup.senders = view.members;
  return view;
}

struct Assignment {
  std::size_t topic;
  std::uint32_t node;
  std::uint64_t number;
  bool operator==(const Assignment&) const = default;
};

}  // namespace

TEST_CASE("when a sender is gone the next in line sends on from the first sample that was not delivered") {
  const ulog::Recording recording = small();
  const View all = view_of(flight_config(recording, 3, "flight", "/dev/shm/x"));
  const FlightPlan plan(2, {.subgroup = plan_flight(recording, all).value()[0].subgroup, .sender = NodeId(1)});
  std::vector<Assignment> assigned;
  FlightTally tally(recording, plan, all.subgroups.size(),
                    [&](std::size_t topic, const Sender& sender, std::uint64_t number) {
                      assigned.push_back({topic, sender.node.value(), number});
                    });
  tally.begin_view(with_members(all, 0, {{0, 10}, {1, 11}, {2, 12}}));
  CHECK(assigned == std::vector<Assignment>{{0, 1, 0}, {1, 1, 0}});
  Player player{recording, plan};
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
    FlightTally newcomer(recording, plan, all.subgroups.size(),
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
    CHECK(newcomer.result().contents == recorded_contents(recording));
    CHECK(newcomer.result().delivered == 3);
  }
  SECTION("a state of another replay is refused") {
    FlightTally newcomer(recording, plan, all.subgroups.size());
    for (const char* text : {"", "{}", "[1]", R"({"sequence":[1,2],"messages":1,"bytes":1,"topics":[]})"}) {
      std::istringstream stream(text);
      CHECK_THROWS_AS(newcomer.load(plan[0].subgroup, stream), Exception);
    }
  }
}
