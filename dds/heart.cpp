// Beats, as errands.
#include <spindrift/dds/heart.hpp>

#include <algorithm>

namespace spindrift::topics {

void Heart::add(const EndpointId& writer, std::int64_t lease_ns) {
  leases_.insert_or_assign(writer, lease_ns);
  next_ns_ = 0;
  if (!std::exchange(started_, true)) sends_.start();
}

std::int64_t Heart::check(std::int64_t now_ns) {
  std::int64_t shortest = endless;
  for (const auto& [writer, lease_ns] : leases_) shortest = std::min(shortest, lease_ns);
  if (shortest == endless) return endless;
  if (now_ns < next_ns_) return next_ns_;
  next_ns_ = now_ns + shortest / 3;  // two of them may come late
  // While one waits for space another would say nothing more.
  if (!beats_.exchange(true)) {
    sends_.add([this] {
      beats_ = false;
      beat_();
    });
  }
  return next_ns_;
}

}  // namespace spindrift::topics
