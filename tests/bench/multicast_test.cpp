// A measured group delivers exactly what it was asked to send, at every member, with the payload that was written.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include <spindrift/bench/matrix.hpp>
#include <spindrift/bench/multicast.hpp>

#include "failure.hpp"

using namespace spindrift;
using namespace spindrift::bench;

namespace {

MulticastRun small_run(std::uint32_t members, std::uint32_t senders, std::uint64_t message_bytes, std::uint64_t messages) {
  MulticastRun run;
  run.shape = {members, senders, profile_for(message_bytes, 10, 0), {}};
  run.message_bytes = message_bytes;
  run.messages = messages;
  return run;
}

/// The lines of what the work reports.
template <class Work>
std::vector<nlohmann::json> reported(Work work) {
  const PrivateDirectory directory = PrivateDirectory::make();
  const std::string path = directory.path() + "/lines";
  {
    FigureReport report(path);
    work(report);
  }
  std::ifstream in(path);
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

}  // namespace

TEST_CASE("every member of a measured group delivers every message with its payload") {
  const auto senders = GENERATE(1u, 2u, 3u);
  const auto result = run_multicast(small_run(3, senders, 100, 300));
  CHECK(result.messages == 300);
  CHECK(result.messages_per_second > 0);
  REQUIRE(result.members.size() == 3);
  for (const MemberResult& member : result.members) {
    CHECK(member.delivered == 300);
    CHECK(member.delivered_bytes == 300 * 100);
    CHECK(member.payload_sum == 300 * 2);  // 100 bytes are two lines
    CHECK(member.seconds > 0);
  }
}

TEST_CASE("an untouched payload is sent with its length and not read") {
  auto run = small_run(2, 2, 1024, 100);
  run.touch = false;
  const auto result = run_multicast(run);
  for (const MemberResult& member : result.members) {
    CHECK(member.delivered_bytes == 100 * 1024);
    CHECK(member.payload_sum == 0);
  }
}

TEST_CASE("messages are rounded up to a multiple of the senders") {
  const auto result = run_multicast(small_run(3, 3, 8, 10));
  CHECK(result.messages == 12);
  for (const MemberResult& member : result.members) CHECK(member.delivered == 12);
}

TEST_CASE("a latency run measures each message once") {
  const auto latencies_ns = run_multicast_latencies_ns(small_run(2, 1, 64, 40));
  REQUIRE(latencies_ns.size() == 40);
  for (const std::uint64_t latency : latencies_ns) CHECK(latency > 0);
}

TEST_CASE("a wrong setting of the user is reported before anything runs") {
  auto run = small_run(2, 2, 8, 10);
  run.shape.settings = {{"SPINDRIFT/no_such_key", "1", "--set"}};
  CHECK(error_of([&] { return run_multicast(run); }).kind() == ErrorKind::bad_config);
}

TEST_CASE("a matrix yields a figure per cell with its limit, one more beside a ring, and three percentiles per latency") {
  Matrix matrix;
  matrix.members = {2, 3};
  matrix.senders = {Senders::one};
  matrix.message_bytes = {64};
  matrix.touch = {true};
  matrix.messages = 200;
  matrix.repeats = 2;
  const auto figures = reported([&](FigureReport& report) { measure_throughput(matrix, report); });
  REQUIRE(figures.size() == 3);
  for (const auto& figure : figures) {
    CHECK(figure["repeats"] == 2);
    CHECK(figure["limit_median"] > 0);
  }
  CHECK(figures[1]["bench"] == "multicast beside one ring");
  CHECK(figures[1]["median"] == figures[0]["median"]);

  LatencyMatrix latency;
  latency.members = {2};
  latency.messages = 30;
  latency.repeats = 1;
  const auto latencies = reported([&](FigureReport& report) { measure_latency(latency, report); });
  REQUIRE(latencies.size() == 3);
  CHECK(latencies[0]["median"] <= latencies[2]["median"]);
}

TEST_CASE("senders are one, half or all of the members, never none") {
  CHECK(sender_count(Senders::one, 5) == 1);
  CHECK(sender_count(Senders::half, 5) == 2);
  CHECK(sender_count(Senders::half, 1) == 1);
  CHECK(sender_count(Senders::all, 5) == 5);
}

TEST_CASE("the configuration of a bench is what was asked for") {
  const GroupShape shape{4, 2, profile_for(1024, 100, 131072), {{"SPINDRIFT/spin_us", "7", "--set"}}};
  const Config config = member_config(shape, "/dev/shm/somewhere", NodeId(3));
  CHECK(config.local_id() == NodeId(3));
  CHECK(config.polling().spin == std::chrono::microseconds(7));
  CHECK(config.runtime_directory() == "/dev/shm/somewhere");
  const auto view = config.view();
  REQUIRE(view);
  REQUIRE(view->subgroups.size() == 1);
  CHECK(view->members.size() == 4);
  CHECK(view->subgroups[0].members.size() == 4);
  CHECK(view->subgroups[0].senders == std::vector{NodeId(0), NodeId(1)});
  CHECK(view->subgroups[0].profile.window_messages == 100);
  CHECK(view->subgroups[0].profile.message_bytes_max == 1024);
  CHECK(view->subgroups[0].profile.ring_bytes == 131072);
}

TEST_CASE("a ring for a window holds the window, the largest message and nothing needless") {
  CHECK(tight_profile(1, 1).ring_bytes == 4096);
  CHECK(tight_profile(100, 1000).ring_bytes == 131072);
  CHECK(tight_profile(10240, 1).ring_bytes == 32768);
}

TEST_CASE("a group under measurement has the sizes of one that is configured by nobody, where nothing else is asked for") {
  const auto config = Config::parse(
      "[DERECHO]\nlocal_id = 0\n[LAYOUT]\njson_layout = '[{\"name\": \"plain\", \"members\": [0]}]'\n", "a user's");
  REQUIRE(config);
  const Profile plain = config->view()->subgroups.front().profile;
  CHECK(profile_for(1024).window_messages == plain.window_messages);
  CHECK(profile_for(1024).ring_bytes == plain.ring_bytes);
  CHECK(profile_for(1024).message_bytes_max == 1024);
  CHECK(profile_for(1024, 7).window_messages == 7);
  CHECK(profile_for(1024, 7).ring_bytes == plain.ring_bytes);
  CHECK(profile_for(10240, 100, 65536).ring_bytes == 65536);
  CHECK(profile_for(4 << 20).ring_bytes >= 8 << 20);
}

TEST_CASE("as many messages are on their way as the window allows, and the ring holds") {
  CHECK(most_on_their_way({1 << 20, 100, 1024}, 1024) == 100);
  CHECK(most_on_their_way({1 << 20, 4096, 1024}, 1024) == (1 << 20) / 1032);
}

TEST_CASE("a private directory goes with its owner") {
  std::string path;
  {
    auto directory = PrivateDirectory::make();
    path = directory.path();
    CHECK(std::filesystem::is_directory(path));
  }
  CHECK_FALSE(std::filesystem::exists(path));
}
