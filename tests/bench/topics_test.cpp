// Topics as `bench dds` measures them: what it counts, and what it reads of ddsperf's words; never how fast it is.
#include <catch2/catch.hpp>

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <spindrift/bench/ddsperf.hpp>
#include <spindrift/bench/topic_ends.hpp>
#include <spindrift/bench/topics.hpp>

using namespace spindrift;
using namespace spindrift::bench;
using namespace std::chrono_literals;

TEST_CASE("samples of every size and quality, and in every way, come to two readers in order, and none is missing") {
  const auto [bytes, quality, way] = GENERATE(table<std::uint64_t, TopicQuality, SampleWay>({
      {100, TopicQuality::atomic, SampleWay::in_place},
      {1024, TopicQuality::unordered, SampleWay::in_place},
      {1024, TopicQuality::stored, SampleWay::in_place},
      {1024, TopicQuality::logged, SampleWay::in_place},
      {10240, TopicQuality::atomic, SampleWay::copied},
      {1024, TopicQuality::atomic, SampleWay::unread},
      {10240, TopicQuality::atomic, SampleWay::untyped},
  }));
  const std::string directory = std::filesystem::temp_directory_path();
  const auto listeners = bytes == 100 ? ListenerPlace::poller : ListenerPlace::thread;
  CHECK(samples_per_second({2, bytes, quality, way, listeners, 300ms, directory}) > 0);
}

TEST_CASE("every trip of a sample is timed") {
  const auto times_ns = topic_round_trips_ns({100, 50, GENERATE(ListenerPlace::thread, ListenerPlace::poller)});
  REQUIRE(times_ns.size() == 50);
  CHECK(std::all_of(times_ns.begin(), times_ns.end(), [](std::uint64_t ns) { return ns > 0; }));
}

TEST_CASE("a sample that comes twice, or behind its place, or with one missing fails a run") {
  SampleOrder order(false);
  order.take(1);
  order.take(2);
  CHECK_THROWS_AS(order.take(2), Exception);
  CHECK_THROWS_AS(order.take(1), Exception);
  CHECK_THROWS_AS(order.take(4), Exception);
  CHECK(order.count() == 2);
  SampleOrder with_gaps(true);
  with_gaps.take(1);
  with_gaps.take(4);
  CHECK_THROWS_AS(with_gaps.take(4), Exception);
  CHECK(with_gaps.last() == 4);
}

TEST_CASE("the sample of each size has it") {
  const auto size_of = [](auto sample) { return sizeof sample; };
  for (const std::uint64_t bytes : sample_sizes) CHECK(with_type_of(bytes, size_of) == bytes);
}

TEST_CASE("of a subscriber's words the rates of its whole seconds are taken, where the others are there") {
  const std::string said =
      "[7] participant vm:7: new (self)\n"
      "[7] 1.000  size 1024 total 22120 lost 0 delta 22120 lost 0 rate 22.12 kS/s 181.19 Mb/s (2.21 kS/s 18.12 Mb/s)\n"
      "[7] 1.000  rss:7.3MB vcsw:785 ivcsw:668 recvUC:3%+0%\n"
      "[7] 2.000  size 1024 total 214024 lost 0 delta 191904 lost 0 rate 191.89 kS/s 1571.99 Mb/s (21.40 kS/s 175.32 Mb/s)\n"
      "[7] 3.000  size 1024 total 528437 lost 0 delta 314413 lost 0 rate 314.43 kS/s 2575.81 Mb/s (52.85 kS/s 432.92 Mb/s)\n"
      "[7] 4.000  size 1024 total 849720 lost 0 delta 321283 lost 0 rate 321.29 kS/s 2631.98 Mb/s (84.97 kS/s 696.10 Mb/s)\n"
      "[7] participant vm:8: gone\n"
      "[7] 5.001  size 1024 total 934379 lost 0 delta 84659 lost 0 rate 84.57 kS/s 692.80 Mb/s (93.34 kS/s 764.64 Mb/s)\n";
  const auto rates = subscriber_rates(said);
  REQUIRE(rates.size() == 2);
  CHECK(rates[0] == Approx(314430));
  CHECK(rates[1] == Approx(321290));
  CHECK(subscriber_rates("[7] participant vm:7: new (self)\n").empty());
}

TEST_CASE("of a pinger's words the medians of the percentiles are taken") {
  const std::string said =
      "[7] 2.000  vm:8 size 1024 mean 50.406us min 6.591us 50% 12.279us 90% 15us 99% 1862.993us max 6552.992us cnt 9891\n"
      "[7] 3.000  vm:8 size 1024 mean 59.039us min 11.308us 50% 13.000us 90% 17us 99% 2000.000us max 6608.024us cnt 8449\n"
      "[7] 4.000  vm:8 size 1024 mean 14.234us min 6.325us 50% 7.000us 90% 13.327us 99% 26.000us max 6316.101us cnt 34927\n";
  const auto trips = pinger_trips(said);
  REQUIRE(trips);
  CHECK(trips->p50_us == Approx(10));
  CHECK(trips->p99_us == Approx(1013));
  CHECK_FALSE(pinger_trips("[7] participant vm:7: new (self)\n"));
}

TEST_CASE("ddsperf is measured where it is installed") {
  if (!ddsperf_installed()) {
    WARN(ddsperf_missing);
    return;
  }
  CHECK(ddsperf_round_trips(100).p50_us > 0);
}
