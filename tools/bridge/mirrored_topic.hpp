// One topic of a bridge: what both sides have of it, and its mirrors.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bridge/mirror.hpp"
#include "bridge_command.hpp"

namespace spindrift::tools::bridge {

class MirroredTopic {
 public:
  MirroredTopic(std::string name, topics::DynamicParticipant& participant, const CycloneSide& side,
                const BridgeOptions& options);

  /// Makes the mirrors that there are to be, and ends others. `ours`: null: nobody of Spindrift's domain has the topic.
  /// Throws what ends the bridge.
  void look(const topics::AnnouncedTopic* ours);
  /// Ends the mirrors, and says what they passed on.
  void finish();

 private:
  /// The process of another bridge between the same domains, which was there before this one: two would pass on each
  /// other's samples for ever.
  [[nodiscard]] std::optional<topics::EndpointId> elder_bridge(const topics::AnnouncedTopic* ours) const;
  /// The type that is mirrored, once one side has it. Errors: the reason why none is.
  [[nodiscard]] Result<void> agree(const topics::AnnouncedTopic* ours, const std::vector<const CycloneEndpoint*>& theirs);
  [[nodiscard]] topics::EndpointQos offered_there(const std::vector<const CycloneEndpoint*>& theirs) const;
  void look_to_cyclone(const topics::AnnouncedTopic& ours, bool anybody_there);
  void look_from_cyclone(const topics::AnnouncedTopic* ours, const std::vector<const CycloneEndpoint*>& theirs);
  void end_to_cyclone();
  void end_from_cyclone();
  void refuse(const Error& reason);
  void say_if_nobody_has_it();
  void say_mirrored(const char* direction, const topics::EndpointQos& qos);
  void say_left_out(const std::vector<const CycloneEndpoint*>& theirs);

  const std::string name_;
  topics::DynamicParticipant& participant_;
  const CycloneSide& side_;
  const BridgeOptions& options_;
  std::shared_ptr<const topics::DynamicType> type_;  // as our side has it
  std::shared_ptr<const CycloneTopic> cyclone_;
  std::unique_ptr<ToCyclone> to_;
  std::unique_ptr<FromCyclone> from_;
  /// The qualities that the mirrors were made for, and what those before them passed on.
  struct Past {
    topics::EndpointQos to_qos{}, from_qos{};
    MirrorCounts to{}, from{};
    std::uint64_t from_when_to_began = 0;
  } past_;
  /// By then somebody would be known, if there were anybody; nothing: somebody was, or that nobody is has been said.
  std::optional<std::chrono::steady_clock::time_point> known_by_;
  std::string said_;      // the latest reason why it is not mirrored
  std::string left_out_;  // the latest policies that are not taken over
};

}  // namespace spindrift::tools::bridge
