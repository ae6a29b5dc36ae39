// The statuses of a writer, each handed out with what changed since it was asked for.
#pragma once

#include <spindrift/dds/endpoint_entities.hpp>
#include <spindrift/dds/status_bits.hpp>

namespace spindrift::topics {

[[nodiscard]] dds::core::status::PublicationMatchedStatus publication_matched(WriterEntity& writer);
[[nodiscard]] dds::core::status::OfferedIncompatibleQosStatus offered_incompatible(WriterEntity& writer);
[[nodiscard]] dds::core::status::OfferedDeadlineMissedStatus offered_deadline(WriterEntity& writer);
[[nodiscard]] dds::core::status::LivelinessLostStatus liveliness_lost(WriterEntity& writer);

}  // namespace spindrift::topics
