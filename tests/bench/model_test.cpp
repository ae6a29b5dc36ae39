// The modeled setting: it counts right, obeys its own link, repeats itself, and each switch of the ablation does what it
// says.
#include <catch2/catch.hpp>

#include <spindrift/bench/papers/model/experiment.hpp>
#include <spindrift/bench/papers/model/network.hpp>

namespace {

using namespace spindrift;
using namespace spindrift::bench::model;

Experiment small(System system) {
  Experiment experiment;
  experiment.system = std::move(system);
  experiment.members = 3;
  experiment.senders = 3;
  experiment.window = 20;
  experiment.rounds = 80;
  return experiment;
}

}  // namespace

TEST_CASE("a modeled run has the same outcome every time") {
  for (const System& system : {baseline(), spindle(spindle_all), product()}) {
    const Outcome first = run(small(system));
    const Outcome second = run(small(system));
    CHECK(first.simulated_seconds == second.simulated_seconds);
    CHECK(first.messages_per_second == second.messages_per_second);
    CHECK(first.writes == second.writes);
    CHECK(first.sent.histogram == second.sent.histogram);
  }
}

TEST_CASE("no modeled member receives or sends more than its port allows") {
  for (const System& system : {spindle(spindle_all), product()}) {
    for (const std::uint32_t senders : {1u, 2u, 4u}) {
      Experiment experiment = small(system);
      experiment.members = 4;
      experiment.senders = senders;
      experiment.rounds = 400;
      const Outcome outcome = run(experiment);
      REQUIRE_FALSE(outcome.stalled);
      // A sender sends each of its messages to three peers.
      CHECK(outcome.gigabytes_per_second * 3 / senders <= experiment.link.bytes_per_ns);
      CHECK(outcome.gigabytes_per_second > 0);
      // Headers, guards and acknowledgements come on top of the messages.
      CHECK(outcome.wire_bytes > 3.0 / 4 * 10240);
    }
  }
}

TEST_CASE("a write arrives after its latency, and writes of two senders share the receiver's port") {
  const Link link;
  const MirrorLayout::Interval all{0, 1 << 20};
  Network network(3, {.link = link, .software = {}, .rings_at = 1 << 20}, {1 << 20, {&all, 1}}, [](std::uint32_t) {});
  std::vector<std::byte> bytes(1 << 19, std::byte{7});
  const auto post = [&](std::uint32_t from, std::size_t count) {
    const fabric::Operation write{.peer = fabric::PeerId(2), .local = bytes.data(), .bytes = count, .region = {}};
    CHECK(network.endpoint(from).post({&write, 1}));
  };
  post(0, 1);
  CHECK(network.next_landing(2) == Approx(1730).margin(10));
  CHECK(network.land(2, network.next_landing(2) - 1) == 0);
  CHECK(network.mirror(2, 0)[0] == std::byte{0});
  CHECK(network.land(2, network.next_landing(2)) == 1);
  CHECK(network.mirror(2, 0)[0] == std::byte{7});
  CHECK(network.mirror(2, 1)[0] == std::byte{0});

  post(0, bytes.size());
  post(1, bytes.size());
  network.land(2, network.next_landing(2));
  const double both_ns = 2 * link.occupancy_ns(static_cast<double>(bytes.size()), 1);
  CHECK(network.next_landing(2) == Approx(both_ns + link.flight_ns(4096)).epsilon(0.01));
}

TEST_CASE("mirrors share no byte that is used, and take little more memory than those") {
  const std::vector<MirrorLayout::Interval> used{{128, 64}, {192, 64}, {20480, 2048}};
  const std::uint64_t stride = MirrorLayout(24576, used).stride();
  CHECK(stride >= 2176);
  CHECK(stride < 3000);
  for (std::uint64_t shift = 1; shift < 20; ++shift) {
    for (const auto& a : used) {
      for (const auto& b : used) {
        const std::uint64_t from = b.offset + shift * stride;
        CHECK((from >= a.offset + a.bytes || from + b.bytes <= a.offset));
      }
    }
  }
}

TEST_CASE("each stage of batching lets its own batches grow") {
  const Outcome none = run(small(spindle(0)));
  CHECK(none.sent.mean() == 1);
  CHECK(none.delivered.mean() == 1);
  const Outcome delivery = run(small(spindle(1)));
  CHECK(delivery.sent.mean() == 1);
  CHECK(delivery.delivered.mean() > 1);
  const Outcome all = run(small(spindle(spindle_batching)));
  CHECK(all.sent.mean() > 1);
  CHECK(all.writes < none.writes);
}

TEST_CASE("without null-sends a silent sender stops the others, with them it does not") {
  Experiment experiment = small(spindle(spindle_batching));
  experiment.delayed = 1;
  experiment.delay_ns = for_ever;
  CHECK(run(experiment).stalled);
  experiment.system = spindle(spindle_nulls);
  const Outcome outcome = run(experiment);
  CHECK_FALSE(outcome.stalled);
  CHECK(outcome.null_runs_delayed > outcome.null_runs_continuous);
}

TEST_CASE("a lock that is held while posting lets less through") {
  CHECK(run(small(spindle(spindle_nulls))).sent.mean() < run(small(spindle(spindle_all))).sent.mean());
}

TEST_CASE("subgroups in which nobody sends cost a fair poller time, and this one only those of the same activity word") {
  for (const bool fair : {true, false}) {
    Experiment experiment = small(fair ? baseline() : product());
    experiment.subgroups = sst::subgroups_per_activity;
    const double among_few = run(experiment).messages_per_second;
    experiment.subgroups = 5 * sst::subgroups_per_activity;
    const double among_many = run(experiment).messages_per_second;
    CHECK((among_many < 0.5 * among_few) == fair);
    CHECK((among_many > 0.9 * among_few) != fair);
  }
}

TEST_CASE("unordered delivery is modeled too, and costs about the same") {
  for (const System& system : {baseline(), product()}) {
    Experiment experiment = small(system);
    experiment.senders = 1;
    const double ordered = run(experiment).messages_per_second;
    experiment.mode = DeliveryMode::unordered;
    const Outcome outcome = run(experiment);
    CHECK_FALSE(outcome.stalled);
    CHECK(outcome.messages_per_second > 0.9 * ordered);
  }
}

TEST_CASE("a large message that is handed on costs its sender one copy, and the group as many as before") {
  Experiment experiment = small(product());
  experiment.members = 6;
  experiment.senders = 1;
  experiment.message_bytes = 1'000'000;
  experiment.rounds = 200;
  experiment.large = smc::relay::direct;
  const Outcome direct = run(experiment);
  experiment.large = smc::relay::rotation;
  const Outcome rotation = run(experiment);
  CHECK_FALSE(direct.stalled);
  CHECK_FALSE(rotation.stalled);
  CHECK(rotation.gigabytes_per_second > 2 * direct.gigabytes_per_second);
  CHECK(rotation.wire_bytes == Approx(direct.wire_bytes).epsilon(0.05));
}

TEST_CASE("who waits for a lock gets in by chance: batches that are sent differ, and have the mean that was asked for") {
  Experiment experiment = small(spindle(spindle_batching));
  experiment.system.software.slow_share = 0;
  experiment.senders = 1;
  experiment.window = 200;
  experiment.rounds = 4000;
  const Outcome outcome = run(experiment);
  CHECK(outcome.sent.histogram[1] > outcome.sent.histogram[2]);
  CHECK(outcome.sent.histogram[2] > outcome.sent.histogram[6]);
  CHECK(outcome.sent.histogram[6] > 0);
  // The poller looks more than once while nobody gets in, so batches are longer than what one look lets in, but not twice.
  CHECK(outcome.sent.mean() > experiment.system.software.handoffs);
  CHECK(outcome.sent.mean() < 2 * experiment.system.software.handoffs);
}

TEST_CASE("a thread in a slow phase takes as many times as long for a message, with a lock and without") {
  for (const System& system : {spindle(spindle_batching), product()}) {
    Experiment experiment = small(system);
    experiment.senders = 1;
    experiment.message_bytes = 64;
    experiment.rounds = 400;
    experiment.system.software.produce_ns = 200'000;  // beside which the poller's part is little
    experiment.system.software.handoffs = 0;
    experiment.system.software.slow_share = 0;
    const double fast = run(experiment).messages_per_second;
    experiment.system.software.slow_share = 1;
    experiment.system.software.slow_times = 4;
    const double slow = run(experiment).messages_per_second;
    CHECK(fast / slow == Approx(4).epsilon(0.1));
    experiment.system.software.slow_share = 0.5;
    const double sometimes = run(experiment).messages_per_second;
    CHECK(sometimes > 1.1 * slow);
    CHECK(sometimes < 0.9 * fast);
  }
}

TEST_CASE("null-sends cost something in a small group of equals, and gain in a large one of which some are slow") {
  const auto gain = [](std::uint32_t members, double slow_share) {
    Experiment experiment = small(spindle(spindle_batching));
    experiment.members = experiment.senders = members;
    experiment.window = 100;
    experiment.rounds = 1500;
    experiment.system.software.slow_share = slow_share;
    experiment.system.software.phase_ns = 1e9;  // longer than the run
    const double without = run(experiment).messages_per_second;
    experiment.system.policy.null_sends = true;
    return run(experiment).messages_per_second / without;
  };
  CHECK(gain(4, 0) < 0.99);
  CHECK(gain(16, derecho_software().slow_share) > 1.05);
}

TEST_CASE("a delay far shorter than the wait for the lock costs a thread that shares it nothing") {
  Experiment experiment = small(spindle(spindle_nulls));
  experiment.rounds = 2000;
  const double none = run(experiment).messages_per_second;
  experiment.delayed = 1;
  experiment.delay_ns = 200;
  CHECK(run(experiment).messages_per_second > 0.97 * none);
  experiment.delay_ns = 100e3;
  CHECK(run(experiment).messages_per_second < 0.8 * none);
}

TEST_CASE("threads that are slow at times do not slow Spindrift down, and 10 KB messages of many fill the links") {
  Experiment experiment = small(product());
  experiment.members = experiment.senders = 8;
  experiment.window = 100;
  experiment.rounds = 400;
  const double with = run(experiment).gigabytes_per_second;
  experiment.system.software.slow_share = 0;
  CHECK(with == Approx(run(experiment).gigabytes_per_second).epsilon(0.01));
  CHECK(with > 11);
}
