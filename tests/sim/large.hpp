// Large messages in a run: drawing profiles that have them, and reserving whatever a message's size is.
#pragma once

#include <spindrift/views/send_gate.hpp>

#include "random.hpp"

namespace spindrift::sim {

/// Gives some profiles a bulk ring, small enough to be full often.
inline void draw_bulk_ring(Random& random, Profile& profile) {
  if (!random.chance(1, 2)) return;
  profile.bulk_ring_bytes = random.pick<std::uint64_t>({512, 1024, 4096, 16384});
  profile.large_message_bytes = random.spread(16, 200);
  if (random.chance(1, 2)) profile.message_bytes_max = profile.bulk_ring_bytes / 2;
  profile.message_bytes_max = std::min(profile.message_bytes_max, profile.bulk_ring_bytes / 2);
}

[[nodiscard]] inline views::SendGate::Outcome reserve_at(views::SendGate& gate, const Profile& profile, std::uint64_t bytes,
                                                         views::SendGate::Claim& claim) {
  return bytes > profile.ring_payload_max() ? gate.reserve_large(bytes, claim) : gate.reserve(bytes, claim);
}

}  // namespace spindrift::sim
