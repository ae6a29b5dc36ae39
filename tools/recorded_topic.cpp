// Topics as channels of a recording, and back.
#include <algorithm>
#include <charconv>

#include <spindrift/dds/qos_words.hpp>
#include <spindrift/dds/type_idl.hpp>

#include "topic_recording.hpp"

namespace spindrift::tools {
namespace {

constexpr const char* type_key = "spindrift_type";
constexpr const char* named_type_key = "spindrift_type_with_names";

namespace words = topics::qos_words;

/// The most that the topic and its writers offer.
topics::EndpointQos offered_by(const topics::AnnouncedTopic& topic) {
  topics::EndpointQos qos = topic.qos;
  for (const topics::EndpointFacts& each : topic.writers) {
    qos.durability = std::max(qos.durability, each.qos.durability);
    qos.kept.depth = std::max(qos.kept.depth, each.qos.kept.depth);
    qos.kept.service_depth = std::max(qos.kept.service_depth, each.qos.kept.service_depth);
    qos.ownership = each.qos.ownership;
  }
  return qos;
}

/// The texts of a channel, taken apart. One that is missing or none is told by its name.
class ChannelTexts {
 public:
  explicit ChannelTexts(const mcap::McapChannel& channel) : texts_(channel.metadata) {}

  std::string text(const char* key) {
    const auto found = texts_.find(key);
    if (found != texts_.end()) return found->second;
    if (wrong_.empty()) wrong_ = key;
    return {};
  }
  template <std::size_t count>
  std::uint8_t word(const char* key, const std::array<std::string_view, count>& choice) {
    const std::string given = text(key);
    const auto found = std::ranges::find(choice, given);
    if (found == choice.end() && wrong_.empty()) wrong_ = key;
    return static_cast<std::uint8_t>(found == choice.end() ? 0 : found - choice.begin());
  }
  std::int32_t number(const char* key) {
    const std::string given = text(key);
    std::int32_t value = 0;
    const auto [end, fault] = std::from_chars(given.data(), given.data() + given.size(), value);
    const bool good = fault == std::errc() && end == given.data() + given.size() && value > 0;
    if (!good && wrong_.empty()) wrong_ = key;
    return value;
  }
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  const mcap::Texts& texts_;
  std::string wrong_;
};

}  // namespace

mcap::McapSchema schema_of(const topics::AnnouncedTopic& topic, std::uint16_t id) {
  topics::TypeIdl idl = topics::idl_of(*topic.type);
  return {.id = id, .name = std::move(idl.name), .encoding = "omgidl", .data = std::move(idl.text)};
}

mcap::McapChannel channel_of(const topics::AnnouncedTopic& topic, std::uint16_t id) {
  const topics::EndpointQos qos = offered_by(topic);
  mcap::McapChannel channel{.id = id, .schema_id = id, .topic = topic.name, .message_encoding = "cdr", .metadata = {}};
  channel.metadata = {{type_key, topic.type->description()},
                      {named_type_key, topic.type->named()},
                      {"reliability", std::string(words::reliabilities[qos.reliability])},
                      {"durability", std::string(words::durabilities[qos.durability])},
                      {"ownership", std::string(words::ownerships[qos.ownership])},
                      {"history_depth", std::to_string(qos.kept.depth)},
                      {"durability_service_history_depth", std::to_string(qos.kept.service_depth)}};
  return channel;
}

Result<topics::AnnouncedTopic> topic_of(const mcap::McapChannel& channel, const std::string& file) {
  ChannelTexts texts(channel);
  topics::EndpointFacts facts{.topic = channel.topic};
  facts.type = texts.text(type_key);
  facts.named = texts.text(named_type_key);
  facts.qos.reliability = texts.word("reliability", words::reliabilities);
  facts.qos.durability = texts.word("durability", words::durabilities);
  facts.qos.ownership = texts.word("ownership", words::ownerships);
  facts.qos.kept.depth = texts.number("history_depth");
  facts.qos.kept.service_depth = texts.number("durability_service_history_depth");
  const std::string place = file + ": channel " + channel.topic;
  if (!texts.wrong().empty() || channel.message_encoding != "cdr") {
    return Error(ErrorKind::bad_input,
                 texts.wrong().empty() ? "its messages are no CDR" : "its " + texts.wrong() + " is missing, or none")
        .at(place)
        .fix("replay topics that spindrift topic record has recorded; leave others out with --topics");
  }
  auto type = topics::DynamicType::of(facts);
  if (!type)
    return Error(ErrorKind::bad_input, "its type cannot be read").at(place).fix(type.error().fix()).because(type.error());
  topics::AnnouncedTopic topic;
  topic.name = channel.topic;
  topic.description = facts.type;
  topic.type = std::make_shared<const topics::DynamicType>(std::move(type).value());
  topic.qos = facts.qos;
  return topic;
}

}  // namespace spindrift::tools
