// From pass to pass.
#include <spindrift/smc/latencies.hpp>

#include <chrono>

namespace spindrift::smc {

Latencies::Latencies(const SubgroupRows& rows, CounterBlock& counters)
    : own_{rows.histogram(counters, "own_latency_us", bounds), std::nullopt},
      stable_{rows.histogram(counters, "stable_latency_us", bounds), std::nullopt} {}

void Latencies::on_turn(const SendRing& ring, Time now) {
  if (own_.watched && stable_.watched) return;
  const auto index = ring.next_message();
  if (!index) return;
  for (Way* const way : {&own_, &stable_}) {
    if (!way->watched) way->watched = Watched{*index, now};
  }
}

void Latencies::on_delivered(std::uint64_t own, std::uint64_t everywhere, Time now) {
  own_.on_delivered(own, now);
  stable_.on_delivered(everywhere, now);
}

void Latencies::Way::on_delivered(std::uint64_t count, Time now) {
  if (!watched || watched->index >= count) return;
  times.add(static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now - watched->since).count()));
  watched.reset();
}

}  // namespace spindrift::smc
