// Types and samples by topic.
#include "flight/typed_flight.hpp"

#include <utility>

#include <spindrift/core/digest.hpp>
#include <spindrift/dds/sample_message.hpp>

namespace spindrift::tools {

TypedFlight::TypedFlight(const ulog::Recording& recording) : recording_(&recording), samples_(recording.topics().size()) {
  for (std::size_t at = 0; at < recording.samples().size(); ++at)
    samples_[recording.samples()[at].topic].push_back(static_cast<std::uint32_t>(at));
}

Result<TypedFlight> TypedFlight::of(const ulog::Recording& recording) {
  TypedFlight flight(recording);
  for (const ulog::Topic& topic : recording.topics()) {
    auto type = ulog::SampleType::of(recording.formats(), topic.name);
    if (!type) {
      const Error& why = type.error();
      return Error(why.kind(), why.message()).at(recording.name() + ": " + why.place()).fix(why.fix());
    }
    flight.digests_.emplace(topics::digest_of_topic(topic.name), flight.types_.size());
    flight.types_.push_back(std::move(type).value());
  }
  return flight;
}

std::uint64_t TypedFlight::message_bytes_max(std::size_t topic) const {
  return sizeof(topics::SampleEnvelope) + types_[topic].bytes_max();
}

topics::AnnouncedTopic TypedFlight::announced(std::size_t topic) const {
  topics::AnnouncedTopic made;
  made.name = recording_->topics()[topic].name;
  made.type = types_[topic].type();
  made.description = made.type->description();
  made.qos.reliability = 1;
  return made;
}

std::optional<std::size_t> TypedFlight::topic_of(std::uint64_t digest) const {
  const auto found = digests_.find(digest);
  return found == digests_.end() ? std::nullopt : std::optional(found->second);
}

void TypedFlight::write(std::size_t topic, std::size_t number, std::vector<std::byte>& to) const {
  types_[topic].write(recording_->samples()[samples_[topic][number]], to);
}

}  // namespace spindrift::tools
