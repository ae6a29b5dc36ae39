// The words of a client whose requests to a replicated object are each carried out once, whichever member it asks.
#pragma once

#include <cstdint>
#include <string>

#include <spindrift/core/result.hpp>

namespace spindrift {

/// One client's session with a replicated object, open at all members of its subgroup. To be kept by the client; it is no
/// secret, and proves nothing: members of the group alone ask, and whom they ask for is their concern.
struct ClientSessionId {
  std::uint64_t number = 0;  ///< it is the object's session of that number, by the order; from 1 on
  std::uint64_t word = 0;    ///< drawn when it was opened: tells it from that of another object that began anew

  bool operator==(const ClientSessionId&) const noexcept = default;
};

/// One request of a client, the same each time that it is made.
struct ClientRequest {
  ClientSessionId session{};
  std::uint64_t number = 0;   ///< given by the client, another one to each of its requests: 0, 1, 2, …
  std::uint64_t settled = 0;  ///< all of lower numbers are: the client has their results, or gave them up, and asks no more
};

/// The reasons for which a client's request is not carried out.
enum class ClientRefusal : std::uint8_t {
  over,          ///< its session is over, or never was: what it asked for last may have been carried out
  settled,       ///< it is settled; it may have been carried out
  ahead,         ///< its number is too far from what is settled; it was not carried out
  full,          ///< too many bytes of results are not settled; it was not carried out
  too_large,     ///< it was carried out before, and its result was too large to be kept
  other_method,  ///< another method was called by that number before
};

/// Thrown in place of a result.
class ClientRefused : public Exception {
 public:
  ClientRefused(ClientRefusal reason, Error error) : Exception(std::move(error)), reason_(reason) {}
  [[nodiscard]] ClientRefusal reason() const noexcept { return reason_; }

 private:
  ClientRefusal reason_;
};

namespace replicated {

/// With the step to take. `subgroup`: its name.
[[nodiscard]] ClientRefused client_refused(ClientRefusal reason, const ClientRequest& request, const std::string& subgroup);

}  // namespace replicated
}  // namespace spindrift
