// The modelled setting: it counts right, obeys its own link, repeats itself, and each switch of the ablation does what it
// says.
#include <catch2/catch.hpp>

#include <spindrift/bench/model/experiment.hpp>
#include <spindrift/bench/model/network.hpp>

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

TEST_CASE("a modelled run has the same outcome every time") {
  for (const System& system : {baseline(), spindle(spindle_all), product()}) {
    const Outcome first = run(small(system));
    const Outcome second = run(small(system));
    CHECK(first.simulated_seconds == second.simulated_seconds);
    CHECK(first.messages_per_second == second.messages_per_second);
    CHECK(first.writes == second.writes);
    CHECK(first.sent.histogram == second.sent.histogram);
  }
}

TEST_CASE("no modelled member receives or sends more than its port allows") {
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

TEST_CASE("a lane of their own lets acknowledgements overtake messages, and changes nothing that is delivered") {
  Experiment experiment = small(product());
  experiment.members = experiment.senders = 8;
  experiment.rounds = 200;
  const Outcome behind = run(experiment);
  experiment.system.acknowledgement_lane = true;
  const Outcome beside = run(experiment);
  CHECK_FALSE(beside.stalled);
  CHECK(beside.gigabytes_per_second > behind.gigabytes_per_second);
}

TEST_CASE("unordered delivery is modelled too, and costs about the same") {
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
  experiment.large = smc::Relay::direct;
  const Outcome direct = run(experiment);
  experiment.large = smc::Relay::rotation;
  const Outcome rotation = run(experiment);
  CHECK_FALSE(direct.stalled);
  CHECK_FALSE(rotation.stalled);
  CHECK(rotation.gigabytes_per_second > 2 * direct.gigabytes_per_second);
  CHECK(rotation.wire_bytes == Approx(direct.wire_bytes).epsilon(0.05));
}
