// The parts that untyped participants and observers have in common.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <spindrift/dds/dynamic_reader.hpp>
#include <spindrift/dds/qos.hpp>

namespace spindrift::topics {

/// Samples that wait for somebody to take them, where a reader keeps all up to a bound.
struct ReaderBacklog {
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> dropped{0};

  /// Lets samples through as long as so many bytes hold them, and counts; empty: all. It keeps this alive.
  [[nodiscard]] static std::function<bool(const void*)> filter(const std::shared_ptr<ReaderBacklog>& backlog,
                                                               std::uint64_t bytes_max);
};

/// By name; without those whose last participant has ended.
[[nodiscard]] std::vector<AnnouncedTopic> announced_topics(const std::map<EndpointId, EndpointFacts>& endpoints);

/// The ownership that the topic's endpoints have, which has to be one; without any, the topic's.
[[nodiscard]] dds::core::policy::Ownership ownership_of(const AnnouncedTopic& topic);
/// The qualities of a reader that reads like that, of its subscriber, and of its topic.
[[nodiscard]] dds::sub::qos::DataReaderQos reader_qos(const AnnouncedTopic& topic, const DynamicReading& how);
[[nodiscard]] dds::sub::qos::SubscriberQos any_partition();
[[nodiscard]] dds::topic::qos::TopicQos topic_qos(const AnnouncedTopic& topic);
[[nodiscard]] dds::core::policy::UserData user_data(const std::string& mark);

}  // namespace spindrift::topics
