// Built-in topics, and what is found, discovered and ignored.
#include <catch2/catch.hpp>

#include <iterator>

#include "dds_fixture.hpp"

using namespace spindrift::test;
using namespace dds::core::policy;
using Catch::Matchers::Contains;
using dds::core::Duration;
using dds::core::InstanceHandle;
using dds::core::StringSeq;
using dds::domain::DomainParticipant;
using dds::pub::DataWriter;
using dds::pub::Publisher;
using dds::sub::DataReader;
using dds::sub::Subscriber;
using dds::sub::status::InstanceState;
using dds::topic::ParticipantBuiltinTopicData;
using dds::topic::PublicationBuiltinTopicData;
using dds::topic::SubscriptionBuiltinTopicData;
using dds::topic::Topic;
using dds::topic::TopicBuiltinTopicData;

namespace {

using Bytes = std::vector<std::uint8_t>;

template <class Data>
DataReader<Data> builtin_reader(const DomainParticipant& participant, const std::string& topic) {
  std::vector<DataReader<Data>> found;
  dds::sub::find<DataReader<Data>>(dds::sub::builtin_subscriber(participant), topic, std::back_inserter(found));
  return found.at(0);
}

/// Waits until the reader has an instance of that handle in such a state, and returns its sample.
template <class Data>
dds::sub::Sample<Data> await_instance(DataReader<Data>& reader, const InstanceHandle& handle, const InstanceState& state) {
  dds::core::cond::WaitSet waitset;
  const dds::sub::status::DataState any(dds::sub::status::SampleState::any(), dds::sub::status::ViewState::any(), state);
  const dds::core::cond::StatusCondition changed(reader);
  waitset += changed;
  for (;;) {
    const auto samples = reader.select().instance(handle).state(any).read();
    if (samples.length() > 0) return samples[0];
    waitset.wait(Duration::from_secs(20));
  }
}

}  // namespace

TEST_CASE("writers and readers of all participants are samples of built-in topics, with their policies") {
  const Domain domain;
  const DomainParticipant one(0), other(0);
  const Topic<Reading> here(one, "readings", dds::topic::qos::TopicQos() << TopicData(Bytes{7})), there(other, "readings");
  const Publisher publisher(one, dds::pub::qos::PublisherQos() << Partition("p") << GroupData(Bytes{8}));
  const Subscriber subscriber(one, dds::sub::qos::SubscriberQos() << Partition("p"));
  const DataWriter<Reading> writer(publisher, here,
                                   dds::pub::qos::DataWriterQos()
                                       << UserData(Bytes{1, 2}) << Durability::TransientLocal() << OwnershipStrength(5)
                                       << Deadline(Duration(2, 0)) << LatencyBudget(Duration(0, 4))
                                       << Lifespan(Duration(9, 0)));
  const DataReader<Reading> reader(
      subscriber, here,
      all_of() << Deadline(Duration(3, 0)) << TimeBasedFilter(Duration(1, 0)) << LatencyBudget(Duration(1, 0)));
  auto publications = builtin_reader<PublicationBuiltinTopicData>(other, "DCPSPublication");
  const auto sample = await_instance(publications, writer.instance_handle(), InstanceState::alive());
  const PublicationBuiltinTopicData& data = sample.data();
  CHECK(data.topic_name() == "readings");
  CHECK(data.type_name() == "spindrift::test::Reading");
  CHECK(data.user_data().value() == Bytes{1, 2});
  CHECK(data.topic_data().value() == Bytes{7});
  CHECK(data.group_data().value() == Bytes{8});
  CHECK(data.durability() == Durability::TransientLocal());
  CHECK(data.ownership_strength().value() == 5);
  CHECK(data.deadline().period() == Duration(2, 0));
  CHECK(data.latency_budget().duration() == Duration(0, 4));
  CHECK(data.lifespan().duration() == Duration(9, 0));
  CHECK(data.partition().name() == StringSeq{"p"});
  CHECK(data.reliability().kind() == ReliabilityKind::RELIABLE);
  auto subscriptions = builtin_reader<SubscriptionBuiltinTopicData>(other, "DCPSSubscription");
  const auto read = await_instance(subscriptions, reader.instance_handle(), InstanceState::alive()).data();
  CHECK(read.time_based_filter().minimum_separation() == Duration(1, 0));
  CHECK(read.participant_key() == data.participant_key());
  CHECK(read.key() != data.key());
  CHECK(dds::pub::matched_subscription_data(writer, reader.instance_handle()) == read);
  CHECK(dds::sub::matched_publication_data(reader, writer.instance_handle()) == data);
  CHECK_THROWS_AS(dds::sub::matched_publication_data(reader, reader.instance_handle()), dds::core::InvalidArgumentError);
}

TEST_CASE("topics and participants are samples of built-in topics, and disposed of when they are gone") {
  const Domain domain;
  const DomainParticipant one(0);
  auto participants = builtin_reader<ParticipantBuiltinTopicData>(one, "DCPSParticipant");
  auto topics = builtin_reader<TopicBuiltinTopicData>(one, "DCPSTopic");
  InstanceHandle of_participant, of_topic;
  {
    const DomainParticipant other(0, dds::domain::qos::DomainParticipantQos() << UserData(Bytes{3}));
    const Topic<Reading> topic(other, "readings",
                               dds::topic::qos::TopicQos() << History::KeepLast(4) << ResourceLimits(7, 6, 5));
    of_participant = other.instance_handle();
    of_topic = topic.instance_handle();
    CHECK(await_instance(participants, of_participant, InstanceState::alive()).data().user_data().value() == Bytes{3});
    const auto data = await_instance(topics, of_topic, InstanceState::alive()).data();
    CHECK(data.name() == "readings");
    CHECK(data.history().depth() == 4);
    CHECK(data.resource_limits() == ResourceLimits(7, 6, 5));
  }
  await_instance(topics, of_topic, InstanceState::not_alive_disposed());
  await_instance(participants, of_participant, InstanceState::not_alive_disposed());
}

TEST_CASE("the names of built-in topics are no application's, and their readers are the same as long as they live") {
  const Domain domain;
  const DomainParticipant one(0);
  CHECK_THAT(words_of<dds::core::InvalidArgumentError>([&] { const Topic<Reading> topic(one, "DCPSTopic"); }),
             Contains("builtin_subscriber"));
  const auto first = builtin_reader<TopicBuiltinTopicData>(one, "DCPSTopic");
  CHECK(builtin_reader<TopicBuiltinTopicData>(one, "DCPSTopic") == first);
  CHECK_THROWS_AS(builtin_reader<ParticipantBuiltinTopicData>(one, "DCPSTopic"), dds::core::InvalidDowncastError);
}

TEST_CASE("topics, writers and readers are found by name, and as the type that they are") {
  const Domain domain;
  const DomainParticipant one(0);
  const Topic<Reading> topic(one, "readings");
  const Publisher publisher(one);
  const Subscriber subscriber(one);
  const DataWriter<Reading> writer(publisher, topic);
  const DataReader<Reading> reader(subscriber, topic, all_of());
  CHECK(dds::topic::find<Topic<Reading>>(one, "readings") == topic);
  CHECK(dds::topic::find<Topic<Reading>>(one, "others").is_nil());
  CHECK_THROWS_AS(dds::topic::find<Topic<Line>>(one, "readings"), dds::core::InvalidDowncastError);
  std::vector<DataWriter<Reading>> writers;
  CHECK(dds::pub::find<DataWriter<Reading>>(publisher, "readings", std::back_inserter(writers)) == 1);
  CHECK(writers.at(0) == writer);
  CHECK(dds::pub::find<DataWriter<Reading>>(Publisher(one), "readings", std::back_inserter(writers)) == 0);
  std::vector<DataReader<Reading>> readers;
  CHECK(dds::sub::find<DataReader<Reading>>(subscriber, "readings", std::back_inserter(readers)) == 1);
  CHECK(readers.at(0) == reader);
}

TEST_CASE("topics of other participants are discovered, waited for, and made alike") {
  const Domain domain;
  const DomainParticipant one(0), other(0);
  CHECK(dds::topic::discover_any_topic(one, "fast", Duration::zero()).name().empty());
  CHECK(dds::topic::discover_topic<Topic<Reading>>(one, "fast", Duration::from_millisecs(1)).is_nil());
  std::unique_ptr<Topic<Reading>> there;
  std::thread beside([&] {
    there = std::make_unique<Topic<Reading>>(
        other, "fast", dds::topic::qos::TopicQos() << Reliability::BestEffort() << History::KeepLast(3));
  });
  const auto found = dds::topic::discover_topic<Topic<Reading>>(one, "fast", Duration::from_secs(20));
  beside.join();
  REQUIRE_FALSE(found.is_nil());
  CHECK(found.qos().policy<Reliability>().kind() == ReliabilityKind::BEST_EFFORT);
  CHECK(found.qos().policy<History>().depth() == 3);
  CHECK(dds::topic::discover_topic<Topic<Reading>>(one, "fast") == found);
  std::vector<TopicBuiltinTopicData> all;
  CHECK(dds::topic::discover_any_topics(one, std::back_inserter(all)) == 2);
  CHECK_THROWS_AS(dds::topic::discover_topic<Topic<Line>>(other, "fast"), dds::core::InvalidDowncastError);
}

TEST_CASE("a writer that is ignored matches no reader here, and its samples do not come, while others take them") {
  const Domain domain;
  const DomainParticipant one(0), other(0);
  const Topic<Reading> here(one, "readings"), there(other, "readings");
  const auto keeping = dds::pub::qos::DataWriterQos() << Durability::Transient();
  DataWriter<Reading> left(Publisher(one), here, keeping), right(Publisher(one), here, keeping);
  DataReader<Reading> before(Subscriber(other), there, all_of());
  DataReader<Reading> elsewhere(Subscriber(one), here, all_of());
  left.write({1, 1});
  right.write({2, 2});
  CHECK(take(before, 2).size() == 2);
  dds::pub::ignore(other, left.instance_handle());
  CHECK(dds::sub::matched_publications(before) == dds::core::InstanceHandleSeq{right.instance_handle()});
  DataReader<Reading> after(Subscriber(other), there, all_of() << Durability::Transient());
  left.write({1, 3});
  right.write({2, 4});
  CHECK(take(before, 1).at(0).data().value == 4);
  const auto of_after = take(after, 2);
  CHECK(of_after.at(0).data().value == 2);  // also of the history nothing
  CHECK(of_after.at(1).data().value == 4);
  CHECK(take(elsewhere, 4).at(2).data().value == 3);
}

TEST_CASE("readers, topics and whole participants may be ignored, before they have anything and after") {
  const Domain domain;
  const DomainParticipant one(0), other(0);
  const Topic<Reading> here(one, "readings"), there(other, "readings"), second(other, "second"), mine(one, "second");
  DataWriter<Reading> writer(Publisher(one), here);
  const DataReader<Reading> first(Subscriber(other), there, all_of());
  await(writer, [&] { return dds::pub::matched_subscriptions(writer).size() == 1; });
  dds::sub::ignore(one, first.instance_handle());
  CHECK(dds::pub::matched_subscriptions(writer).empty());
  const DataReader<Reading> another(Subscriber(other), there, all_of());
  await(writer, [&] { return dds::pub::matched_subscriptions(writer).size() == 1; });
  const DataWriter<Reading> of_second(Publisher(one), mine);
  dds::topic::ignore(one, second.instance_handle());
  const DataReader<Reading> unseen(Subscriber(other), second, all_of());
  dds::domain::ignore(one, other.instance_handle());
  CHECK(dds::pub::matched_subscriptions(writer).empty());
  CHECK(dds::pub::matched_subscriptions(of_second).empty());
  const DataReader<Reading> own(Subscriber(one), here, all_of());
  CHECK(dds::pub::matched_subscriptions(writer) == dds::core::InstanceHandleSeq{own.instance_handle()});
  CHECK_THROWS_AS(dds::domain::ignore(one, InstanceHandle::nil()), dds::core::InvalidArgumentError);
}
