// A thread holds this between reserving and committing a message at a SendGate.
#pragma once

#include <cstdint>

#include <spindrift/smc/reservation.hpp>

namespace spindrift::smc {
class BulkRing;
class SendRing;
}  // namespace spindrift::smc

namespace spindrift::views {

/// Space for one message. Commit or abandon it soon, on the same thread: later messages, and a change of the view, wait
/// for it.
struct SendClaim {
  smc::Reservation reservation;
  smc::SendRing* ring = nullptr;
  smc::BulkRing* bulk = nullptr;  ///< of a large message
  std::uint32_t place = 0;
};

}  // namespace spindrift::views
