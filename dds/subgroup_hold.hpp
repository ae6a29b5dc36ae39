// A subgroup of topics whose deliveries wait at this participant while readers have no room: and marks, behind which all is
// given that waited.
//
// The invariant to remember: what waits here when a view begins is of the views before. A mark that is sent then comes
// behind it, for a subgroup's deliveries are given in the order of its views. All with the monitor held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <spindrift/dds/endpoint.hpp>
#include <spindrift/dds/errands.hpp>
#include <spindrift/group/group.hpp>

namespace spindrift::topics {

class SubgroupHold {
 public:
  SubgroupHold(Subgroup& subgroup, Errands& errands) : subgroup_(subgroup), errands_(errands) {}

  /// One more topic of the subgroup has a reader without room; or it has none any more.
  void hold();
  void go_on();

  /// The mark of this participant behind which all that waits here now will have been given, which is sent as soon as no
  /// reader is without room. 0: nothing waits.
  [[nodiscard]] std::uint32_t mark(const EndpointId& self);
  /// The mark that the message is: whose, and its number. Nothing: it is none.
  [[nodiscard]] static std::optional<EndpointId> mark_in(std::span<const std::byte> message, std::uint32_t sender);

 private:
  enum class Deliveries : std::uint8_t { given, held, held_before };
  void send();

  Subgroup& subgroup_;
  Errands& errands_;
  Deliveries deliveries_ = Deliveries::given;
  std::uint32_t holding_ = 0;  // topics
  EndpointId sent_;            // the last mark, by its number
  std::uint32_t wanted_ = 0;
};

}  // namespace spindrift::topics
