// dds::core::QosProvider: qualities by the names of profiles, out of a file.
#pragma once

#include <memory>
#include <string>

#include <spindrift/dds/qos.hpp>

namespace spindrift::topics {
class QosProfiles;
}

namespace dds::core {

/// Reads a file of profiles once, and checks all of it; docs/dds.md has its form. Any thread.
class QosProvider {
 public:
  /// `uri`: "file://" and a path, or a path; `profile`: what the functions without one give, "" is DEFAULT. Throws
  /// InvalidArgumentError: something in the file is wrong, and it says what, with file, line and fix; or there is no such
  /// profile. UnsupportedError: the URI is of another scheme.
  explicit QosProvider(const std::string& uri, const std::string& profile = "");

  // The defaults of the entity, and over them what the profile says. Throw InvalidArgumentError: there is no such profile.
  [[nodiscard]] domain::qos::DomainParticipantQos participant_qos(const std::string& profile = "") const;
  [[nodiscard]] topic::qos::TopicQos topic_qos(const std::string& profile = "") const;
  [[nodiscard]] pub::qos::PublisherQos publisher_qos(const std::string& profile = "") const;
  [[nodiscard]] sub::qos::SubscriberQos subscriber_qos(const std::string& profile = "") const;
  [[nodiscard]] pub::qos::DataWriterQos datawriter_qos(const std::string& profile = "") const;
  [[nodiscard]] sub::qos::DataReaderQos datareader_qos(const std::string& profile = "") const;

 private:
  template <class Qos>
  [[nodiscard]] Qos made(Qos qos, const char* kind, const std::string& profile) const;

  std::shared_ptr<const spindrift::topics::QosProfiles> profiles_;
  std::string profile_;
};

}  // namespace dds::core
