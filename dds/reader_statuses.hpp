// The statuses of a reader, each handed out with what changed since it was asked for.
#pragma once

#include <spindrift/dds/endpoint_entities.hpp>
#include <spindrift/dds/status_bits.hpp>

namespace spindrift::topics {

[[nodiscard]] dds::core::status::SubscriptionMatchedStatus subscription_matched(ReaderEntity& reader);
[[nodiscard]] dds::core::status::RequestedIncompatibleQosStatus requested_incompatible(ReaderEntity& reader);
[[nodiscard]] dds::core::status::RequestedDeadlineMissedStatus requested_deadline(ReaderEntity& reader);
[[nodiscard]] dds::core::status::LivelinessChangedStatus liveliness_changed(ReaderEntity& reader);
[[nodiscard]] dds::core::status::SampleLostStatus sample_lost(ReaderEntity& reader);
[[nodiscard]] dds::core::status::SampleRejectedStatus sample_rejected(ReaderEntity& reader);

}  // namespace spindrift::topics
