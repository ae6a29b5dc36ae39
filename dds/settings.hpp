// The meaning of policies here; those that are not supported are refused, with their names and the reason.
#pragma once

#include <spindrift/dds/qos.hpp>
#include <spindrift/dds/sample_cache.hpp>
#include <spindrift/dds/type_support.hpp>
#include <spindrift/dds/writer_core.hpp>

namespace spindrift::topics {

// All throw dds::core::UnsupportedError, InconsistentPolicyError or InvalidArgumentError.

/// Its id is 0 to 232.
void check_domain(std::uint32_t domain);
/// A name that a topic of programs can have, and a description that can travel.
void check_topic(const std::string& name, const TypeSupport& type);
void check(const dds::domain::qos::DomainParticipantQos& qos);
void check(const dds::topic::qos::TopicQos& qos);
/// Publishers' and subscribers'.
void check(const dds::pub::qos::PublisherQos& qos);

/// The qualities of participants and topics that all are told.
[[nodiscard]] EndpointQos told(const dds::domain::qos::DomainParticipantQos& qos);
[[nodiscard]] EndpointQos told(const dds::topic::qos::TopicQos& qos);
/// Those of writers and readers; `topic`: as their topic was made.
[[nodiscard]] EndpointQos offered(const dds::pub::qos::DataWriterQos& qos, const dds::pub::qos::PublisherQos& publisher,
                                  const dds::topic::qos::TopicQos& topic);
[[nodiscard]] WriterRules writer_rules(const dds::pub::qos::DataWriterQos& qos);
[[nodiscard]] EndpointQos requested(const dds::sub::qos::DataReaderQos& qos, const dds::sub::qos::SubscriberQos& subscriber,
                                    const dds::topic::qos::TopicQos& topic);
[[nodiscard]] CacheRules cache_rules(const dds::sub::qos::DataReaderQos& qos);

}  // namespace spindrift::topics
