// Draws plans.
#include "rpc_plan.hpp"

#include <fmt/format.h>

#include "random.hpp"

namespace spindrift::sim {
namespace {

void draw_packets(RpcPlan& plan, Random& random) {
  plan.packets.delay = static_cast<Ticks>(random.spread(1, 200)) * microsecond;
  if (random.chance(1, 2)) plan.packets.jitter = static_cast<Ticks>(random.spread(1, 2000)) * microsecond;
  if (random.chance(1, 2)) plan.packets.lost = random.pick({1u, 10u, 50u, 200u});
  if (random.chance(1, 3)) plan.packets.twice = random.pick({10u, 100u, 300u});
  if (random.chance(1, 3)) plan.packets.strange = random.pick({10u, 100u, 500u});
  if (plan.nodes > 2 && random.chance(1, 6)) plan.packets.hostile = static_cast<std::int32_t>(random.below(plan.nodes));
}

void draw_congestion(rpc::CongestionOptions& congestion, Random& random) {
  if (random.chance(2, 3)) return;
  congestion.link_bytes_per_second = random.spread(10'000'000, 2'000'000'000);
  congestion.pace_at_link_rate = random.chance(1, 3);
  if (random.chance(1, 3)) congestion.rtt_ignored_below = Duration::zero();
}

void draw_work(RpcPlan& plan, Random& random) {
  plan.calls = static_cast<std::uint32_t>(random.spread(4, 100));
  plan.bytes_max = random.spread(64, 32 * 1024);
  plan.between_calls = static_cast<Ticks>(random.spread(1, 1000)) * microsecond;
  plan.handler_delay_max = static_cast<Ticks>(random.spread(1, 64)) * millisecond;
  plan.later = random.pick({0u, 100u, 700u});
  plan.nested = random.pick({0u, 0u, 200u});
  plan.given_up = random.pick({0u, 0u, 100u, 400u});
  plan.closed = random.pick({0u, 0u, 20u});
}

void draw_faults(RpcPlan& plan, Random& random) {
  if (random.chance(1, 2)) return;
  for (std::uint64_t i = random.between(1, 4); i > 0; --i) {
    RpcFault fault{.kind = random.pick({RpcFault::Kind::crash, RpcFault::Kind::pause, RpcFault::Kind::cut,
                                       RpcFault::Kind::hang_up})};
    fault.node = static_cast<std::uint32_t>(random.below(plan.nodes));
    fault.other = static_cast<std::uint32_t>(random.below(plan.nodes));
    fault.at = static_cast<Ticks>(random.between(0, static_cast<std::uint64_t>(plan.healed_at / millisecond))) * millisecond;
    fault.lasts = static_cast<Ticks>(random.spread(1, 512)) * millisecond;
    plan.faults.push_back(fault);
  }
}

void draw_memory(rpc::RpcOptions& options, Random& random) {
  if (random.chance(2, 3)) return;
  options.message_bytes_max = 33 * 1024;  // of what `draw_work` makes
  options.session_kept_bytes_max = options.message_bytes_max * random.pick({1u, 2u, 4u});
  options.kept_bytes_max = options.session_kept_bytes_max * random.pick({1u, 2u});
}

}  // namespace

RpcPlan RpcPlan::of(std::uint64_t seed) {
  Random random(seed, Purpose::rpc_plan);
  RpcPlan plan;
  plan.seed = seed;
  plan.nodes = static_cast<std::uint32_t>(random.between(2, 6));
  plan.payload_bytes = random.between(512, 1500);
  plan.healed_at = 400 * millisecond;
  plan.options.credits = random.pick({1u, 2u, 4u, 8u, 32u});
  plan.scarce = random.chance(1, 8);
  const std::uint32_t sessions =
      plan.scarce ? static_cast<std::uint32_t>(random.between(1, 2 * plan.nodes)) : 64 * plan.nodes;
  plan.options.receive_packets = plan.options.credits * sessions;
  plan.options.queued_calls_max = random.pick({4u, 1024u});
  plan.options.burst_packets = random.pick({1u, 3u, 32u});
  plan.options.retransmit_after = std::chrono::milliseconds(random.between(1, 5));
  plan.options.silence_max = std::chrono::milliseconds(random.pick({100u, 200u, 400u}));
  draw_packets(plan, random);
  draw_work(plan, random);
  draw_faults(plan, random);
  draw_congestion(plan.options.congestion, random);
  draw_memory(plan.options, random);
  return plan;
}

std::string RpcPlan::describe() const {
  std::string text = fmt::format(
      "seed {}: {} nodes, {} calls each up to {} bytes every {} us, {} bytes a packet, {} credits{}, silence {} ms; of a "
      "thousand "
      "{} later, {} nested, {} given up, {} closed; of a thousand packets {} lost, {} twice, {} strange; {} + {} us, "
      "hostile {}, link {} MB/s; {} bytes kept, {} of a session",
      seed, nodes, calls, bytes_max, between_calls / microsecond, payload_bytes, options.credits, scarce ? " (scarce)" : "",
      options.silence_max.count() / millisecond, later, nested, given_up, closed, packets.lost, packets.twice,
      packets.strange, packets.delay / microsecond, packets.jitter / microsecond, packets.hostile,
      options.congestion.link_bytes_per_second / 1'000'000, options.kept_bytes_max, options.session_kept_bytes_max);
  for (const RpcFault& fault : faults) {
    constexpr const char* names[] = {"crash", "pause", "cut", "hang-up"};
    text += fmt::format("; {} of {} at {} ms for {} ms", names[static_cast<int>(fault.kind)], fault.node,
                        fault.at / millisecond, fault.lasts / millisecond);
  }
  return text;
}

}  // namespace spindrift::sim
