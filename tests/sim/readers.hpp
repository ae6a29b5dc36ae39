// The right to read a message (P1): where rows are split, and of a large one anyway, members of its subgroup alone are
// let at the memory in which its sender builds it. The place is what the application got, so nothing rests on what the
// member says.
#pragma once

#include <algorithm>
#include <string>

#include <spindrift/core/view.hpp>
#include <spindrift/smc/reservation.hpp>

#include "report.hpp"
#include "sim_fabric.hpp"

namespace spindrift::sim {

inline void check_readers(const Network& network, Report& report, std::uint32_t sender, const SubgroupView& subgroup,
                          const smc::Reservation& reservation) {
  const auto check = [&](const std::byte* place) {
    for (const NodeId reader : network.readers_of(sender, place)) {
      if (subgroup.member_position(reader)) continue;
      return report.violate("P1", "process " + std::to_string(sender) + " lets node " + std::to_string(reader.value()) +
                                      " read messages of subgroup " + subgroup.name + ", of which it is no member");
    }
  };
  if (subgroup.profile.split_rows) {
    report.hit(Probe::split_row);
    check(reservation.header);
  }
  if (reservation.payload.size() > subgroup.profile.ring_payload_max()) check(reservation.payload.data());
}

}  // namespace spindrift::sim
