// The tally of a member that comes back: it is told by another what all made of the flight before it came, and until then
// keeps what it is given. The tally travels as a sample of a topic, `tally_topic`: a subgroup's own state would be asked of
// every program that looks on.
//
// The invariant to remember: a tally is that of the boundary before a view. A member that gets it has heard of that view,
// and has all that was delivered from there on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <spindrift/dds/dynamic_participant.hpp>
#include <spindrift/views/new_view.hpp>

#include "flight/tally.hpp"

namespace spindrift::tools {

inline constexpr const char* tally_topic = "spindrift_demo_tally";
/// Most bytes of the message with a tally of so many topics.
[[nodiscard]] std::uint64_t tally_bytes_max(std::size_t topics) noexcept;
/// That topic, as members announce it.
[[nodiscard]] topics::AnnouncedTopic announced_tally();

/// A tally on its way, as of the boundary before that view.
struct TallyMessage {
  std::uint64_t view = 0;
  std::string text;
};
[[nodiscard]] topics::DynamicSample sample_of(const TallyMessage& message);
/// Nothing: these bytes are no such sample.
[[nodiscard]] std::optional<TallyMessage> tally_from(std::span<const std::byte> sample);

/// Takes views and deliveries on one thread, and passes them on once the tally is there.
class TallyRelay {
 public:
  TallyRelay(FlightTally& tally, const FlightParts& parts, NodeId self) : tally_(tally), parts_(parts), self_(self) {}

  /// As FlightTally::begin_view. Returns what this member is to tell those that have come.
  [[nodiscard]] std::optional<TallyMessage> begin_view(const views::NewView& news);
  /// As FlightTally::add.
  void add(SubgroupId subgroup, const Delivery& delivery, std::optional<std::size_t> topic,
           std::span<const std::byte> sample);
  /// Another member has told it. Throws Exception (bad_input) if the text is none for this recording.
  void on_tally(const TallyMessage& message);

 private:
  struct Kept {
    SubgroupId subgroup;
    Delivery delivery;  ///< its payload is `message`
    std::optional<std::size_t> topic;
    std::vector<std::byte> message;
    std::size_t sample_at = 0;  ///< in the message
  };

  FlightTally& tally_;
  const FlightParts parts_;
  const NodeId self_;
  bool ready_ = false;
  bool some_came_ = false;  // members that came later than the first view
  std::vector<std::variant<View, Kept>> kept_;
};

}  // namespace spindrift::tools
