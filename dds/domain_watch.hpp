// For programs that look below the topics of a domain: the views of its group, and the messages of topics in the one order
// that a subgroup has over all of its topics.
#pragma once

#include <functional>

#include <spindrift/dds/sample_message.hpp>
#include <spindrift/group/group.hpp>

namespace spindrift::topics {

/// Functions that are called, if they are set. All outlive the participant, and must not wait for it.
struct DomainWatch {
  /// On the poller, between the last message of the view before and the first of this one.
  std::function<void(const NewView&)> on_view{};
  /// On the poller, for each message of a topic, before readers have its sample. It may name a topic that nobody here has.
  std::function<void(const Subgroup&, const Delivery&, const SampleMessage&)> on_message{};
};

}  // namespace spindrift::topics
