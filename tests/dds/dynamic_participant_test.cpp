// Participants without types beside one that has them.
#include <map>
#include <mutex>

#include <catch2/catch.hpp>

#include <spindrift/dds/dynamic_participant.hpp>

#include "dds_fixture.hpp"

namespace untyped {

struct Reading {
  std::int32_t sensor;
  double value;
};
/// The names of these two are one, and this one's fields have some.
struct NamedReading {
  std::int32_t sensor;
  double value;
};

}  // namespace untyped

template <>
struct dds::topic::topic_type_name<untyped::NamedReading> {
  static std::string value() { return "untyped::Reading"; }
};
template <>
struct dds::topic::topic_field_names<untyped::NamedReading> {
  static constexpr std::array names{"sensor", "value"};
};
template <>
struct dds::topic::topic_key<untyped::Reading> {
  using type = key_fields<&untyped::Reading::sensor>;
};
template <>
struct dds::topic::topic_key<untyped::NamedReading> {
  using type = key_fields<&untyped::NamedReading::sensor>;
};

namespace spindrift::test {
namespace {

using namespace dds::core::policy;
using topics::DynamicParticipant;
using topics::DynamicRead;
using topics::DynamicSample;

/// Takes until so much has come.
std::vector<DynamicRead> take(topics::DynamicReader& reader, std::size_t count) {
  std::vector<DynamicRead> all;
  for (;;) {
    const std::uint64_t seen = DynamicParticipant::changes();
    for (DynamicRead& each : reader.take()) all.push_back(std::move(each));
    if (all.size() >= count) return all;
    DynamicParticipant::await_change(seen, std::chrono::steady_clock::now() + std::chrono::seconds(20));
  }
}

topics::AnnouncedTopic only_topic(const DynamicParticipant& participant) {
  const auto topics = participant.topics();
  REQUIRE(topics.size() == 1);
  REQUIRE(topics.front().type != nullptr);
  return topics.front();
}

}  // namespace

TEST_CASE("a participant without types reads writers of any partition and ownership, with names that anybody announces") {
  const Domain domain;
  const dds::domain::DomainParticipant typed(0);
  const dds::topic::Topic<untyped::Reading> topic(typed, "readings");
  const dds::domain::DomainParticipant named(0);
  const dds::topic::Topic<untyped::NamedReading> same(named, "readings");
  dds::pub::qos::PublisherQos around;
  around << Partition("north");
  dds::pub::qos::DataWriterQos qos(topic.qos());
  qos << Ownership::Exclusive();
  dds::pub::DataWriter<untyped::Reading> writer(dds::pub::Publisher(typed, around), topic, qos);

  DynamicParticipant untyped(0, "", {});
  // Each tells the others of itself once it has all histories.
  const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (std::uint64_t seen = DynamicParticipant::changes(); untyped.others() < 2; seen = DynamicParticipant::changes()) {
    REQUIRE(std::chrono::steady_clock::now() < late);
    DynamicParticipant::await_change(seen, late);
  }
  CHECK(untyped.others() == 2);
  const auto announced = only_topic(untyped);
  CHECK(announced.participants.size() == 2);
  CHECK(announced.type->root().fields[1].name == "value");
  topics::DynamicReader reader = untyped.read(announced, {});
  writer.write({4, 1.5});
  writer.dispose_instance({4, 0});
  const auto read = take(reader, 2);
  REQUIRE(read[0].sample != nullptr);
  CHECK(read[0].sample->json().dump() == R"({"sensor":4,"value":1.5})");
  CHECK(read[1].sample == nullptr);
  CHECK(read[1].about.instance_state == topics::instance_disposed);
  CHECK(reader.lost() == 0);
}

TEST_CASE(
    "a participant without types that keeps all up to a bound drops what is beyond it, and counts that until somebody "
    "takes") {
  const Domain domain;
  DynamicParticipant untyped(0, "", {});
  const dds::domain::DomainParticipant typed(0);
  const dds::topic::Topic<untyped::Reading> topic(typed, "readings");
  dds::pub::DataWriter<untyped::Reading> writer(dds::pub::Publisher(typed), topic);
  topics::DynamicReader bounded = untyped.read(only_topic(untyped), {.bytes_max = 10'000});
  topics::DynamicReader all = untyped.read(only_topic(untyped), {.bytes_max = 10'000'000});
  constexpr std::size_t written = 2000;  // of one instance, more than a reader keeps otherwise
  for (std::size_t each = 0; each < written; ++each) writer.write({1, static_cast<double>(each)});
  CHECK(take(all, written).size() == written);
  CHECK(all.lost() == 0);
  const std::size_t kept = bounded.take().size();
  CHECK(kept > 10);
  CHECK(kept < 30);
  CHECK(bounded.lost() == written - kept);
  writer.write({1, -1});
  CHECK(take(bounded, 1).size() == 1);
}

TEST_CASE("a participant without types that is to miss nothing holds up the writers when it is full") {
  const Domain domain;
  DynamicParticipant untyped(0, "", {});
  const dds::domain::DomainParticipant typed(0);
  const dds::topic::Topic<untyped::Reading> topic(typed, "readings");
  dds::pub::qos::DataWriterQos qos(topic.qos());
  qos << Reliability::Reliable(dds::core::Duration::from_millisecs(50));
  dds::pub::DataWriter<untyped::Reading> writer(dds::pub::Publisher(typed), topic, qos);
  topics::DynamicReader reader = untyped.read(only_topic(untyped), {.held_max = 10});
  std::size_t written = 0;
  const auto fill = [&] {
    for (; written < 100'000; ++written) writer.write({1, static_cast<double>(written)});
  };
  CHECK_THROWS_AS(fill(), dds::core::TimeoutError);
  const auto read = take(reader, written);
  REQUIRE(read.size() == written);
  for (std::size_t each = 0; each < written; ++each) REQUIRE(read[each].sample->json()["f1"] == static_cast<double>(each));
  CHECK(reader.lost() == 0);
}

TEST_CASE("what a participant without types passes on has its time, and so do the ends of its instances") {
  const Domain domain;
  const dds::domain::DomainParticipant typed(0);
  const dds::topic::Topic<untyped::Reading> topic(typed, "readings");
  DynamicParticipant untyped(0, "", {});
  const auto announced = only_topic(untyped);
  topics::DynamicReader reader = untyped.read(announced, {});
  topics::DynamicWriter writer = untyped.write(announced);
  const auto sample = [&](const char* json) {
    return DynamicSample::from_json(announced.type, topics::SampleJson::parse(json)).value();
  };
  for (const char* json : {R"({"f0":7,"f1":1})", R"({"f0":8,"f1":2})"}) REQUIRE(writer.write(sample(json), 12'345'678'900));
  REQUIRE(writer.dispose(sample(R"({"f0":7,"f1":0})")));
  REQUIRE(writer.unregister(sample(R"({"f0":8,"f1":0})")));
  const auto read = take(reader, 4);
  CHECK(read[0].about.source_timestamp == 12'345'678'900);
  CHECK(read[0].about.writer.process() == untyped.id());
  CHECK(read[2].about.instance_state == topics::instance_disposed);
  CHECK(read[3].about.instance_state == topics::instance_no_writers);
}

TEST_CASE("what a participant without types writes is read with them, and stays when its writer is gone") {
  const Domain domain;
  const dds::domain::DomainParticipant typed(0);
  dds::topic::qos::TopicQos kept;
  kept << Durability::Transient();
  const dds::topic::Topic<untyped::Reading> topic(typed, "readings", kept);
  dds::sub::DataReader<untyped::Reading> reader(dds::sub::Subscriber(typed), topic, dds::sub::qos::DataReaderQos(kept));
  {
    DynamicParticipant untyped(0, "", {});
    const auto announced = only_topic(untyped);
    topics::DynamicWriter writer = untyped.write(announced);
    CHECK(writer.readers() == 1);
    const auto sample = DynamicSample::from_json(announced.type, topics::SampleJson::parse(R"({"f0":7,"f1":-1})"));
    REQUIRE(sample);
    REQUIRE(writer.write(*sample));
    while (!writer.is_delivered()) {
    }
  }
  const auto samples = take(reader, 1);
  CHECK(samples[0].data().sensor == 7);
  CHECK(samples[0].data().value == -1);
  await(reader, [&] { return reader.subscription_matched_status().current_count() == 0; });
  for (const auto& each : reader.take())
    CHECK_FALSE(each.info().state().instance_state() == dds::sub::status::InstanceState::not_alive_disposed());

  DynamicParticipant late(0, "", {});
  topics::DynamicReader with_history = late.read(only_topic(late), {.from_last = true});
  CHECK(take(with_history, 1)[0].sample->json()["f0"] == 7);
}

TEST_CASE("who watches a domain from below is told of its views, and of all samples of a subgroup in their one order") {
  const Domain domain;
  const dds::domain::DomainParticipant typed(0);
  const dds::topic::Topic<untyped::Reading> topic(typed, "readings");
  dds::pub::DataWriter<untyped::Reading> writer(dds::pub::Publisher(typed), topic);
  std::mutex mutex;
  bool known = true;
  std::vector<std::uint64_t> views;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> samples;  // node and number of the writer's
  DynamicParticipant participant(
      0, "", {},
      {.on_view =
           [&](const NewView& news) {
             const std::lock_guard lock(mutex);
             views.push_back(news.view.id.value());
           },
       .on_message =
           [&](const Subgroup& subgroup, const Delivery& delivery, const topics::SampleMessage& message) {
             const std::lock_guard lock(mutex);
             known = known && subgroup.name() == "dds.readings" &&
                     message.header.topic == topics::digest_of_topic("readings");
             if (message.header.kind == 0) samples.emplace_back(delivery.sender.value(), message.header.sequence);
           }});
  auto other = participant.write(only_topic(participant));
  auto reader = participant.read(only_topic(participant), {});
  const auto type = only_topic(participant).type;
  for (int round = 0; round < 3; ++round) {
    writer.write(untyped::Reading{round, 1});
    REQUIRE(other.write(DynamicSample::from_json(type, {{"f0", round}, {"f1", 2}}).value()));
  }
  CHECK(take(reader, 6).size() == 6);
  const std::lock_guard lock(mutex);
  CHECK(known);
  CHECK_FALSE(views.empty());
  REQUIRE(samples.size() == 6);  // it is told before readers are
  std::map<std::uint32_t, std::uint64_t> last;
  for (const auto& [node, number] : samples) CHECK(number == ++last[node]);
  CHECK(last.size() == 2);
}

}  // namespace spindrift::test
