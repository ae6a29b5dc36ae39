// Policies that change when their entity is made, and those that do not.
#include <catch2/catch.hpp>

#include <spindrift/dds/policy_names.hpp>

#include "dds_fixture.hpp"

using namespace spindrift::test;
using namespace dds::core::policy;
using Catch::Matchers::Contains;
using dds::core::Duration;
using dds::core::ImmutablePolicyError;
using dds::domain::DomainParticipant;
using dds::pub::DataWriter;
using dds::pub::Publisher;
using dds::pub::qos::DataWriterQos;
using dds::sub::DataReader;
using dds::sub::Subscriber;
using dds::sub::qos::DataReaderQos;
using dds::topic::Topic;

TEST_CASE("policies that stay are refused by their names, and nothing has changed then") {
  const Domain domain;
  const DomainParticipant one(0);
  Topic<Reading> topic(one, "readings");
  DataWriter<Reading> writer(Publisher(one), topic);
  DataReader<Reading> reader(Subscriber(one), topic, all_of());
  CHECK_THAT(words_of<ImmutablePolicyError>([&] { writer << (writer.qos() << Durability::TransientLocal()); }),
             Contains("policy Durability stays"));
  CHECK_THAT(words_of<ImmutablePolicyError>([&] { reader << (reader.qos() << History::KeepLast(7)); }),
             Contains("policy History stays"));
  CHECK_THAT(words_of<ImmutablePolicyError>([&] { topic << (topic.qos() << Reliability::BestEffort()); }),
             Contains("policy Reliability stays"));
  Publisher publisher(one);
  CHECK_THAT(words_of<ImmutablePolicyError>(
                 [&] { publisher << (publisher.qos() << Presentation(PresentationAccessScopeKind::TOPIC)); }),
             Contains("policy Presentation stays"));
  CHECK_THROWS_AS(writer << (writer.qos() << Deadline(Duration::zero())), dds::core::InvalidArgumentError);
  CHECK(writer.qos() == DataWriterQos(topic.qos()));
  CHECK(reader.qos().policy<History>() == History::KeepAll());
  Subscriber builtin = dds::sub::builtin_subscriber(one);
  CHECK_THROWS_AS(builtin << dds::sub::qos::SubscriberQos(), dds::core::IllegalOperationError);
}

TEST_CASE("the policies that may change are OMG's") {
  using spindrift::topics::may_change;
  std::string fixed;
  const auto name = [&]<class Policy>(const Policy&) {
    if (!may_change<Policy>) fixed += policy_name<Policy>::name() + " ";
  };
  DataWriterQos().for_each(name);
  CHECK(fixed == "Durability DurabilityService Liveliness Reliability DestinationOrder History ResourceLimits Ownership ");
}

TEST_CASE("a deadline that changes is compared anew by all, and kept from then on") {
  const Domain domain;
  const DomainParticipant one(0), other(0);
  const Topic<Reading> here(one, "readings"), there(other, "readings");
  DataWriter<Reading> writer(Publisher(one), here);
  DataReader<Reading> reader(Subscriber(other), there, all_of());
  writer.write({1, 1});
  CHECK(take(reader, 1).size() == 1);
  reader << (reader.qos() << Deadline(Duration::from_millisecs(30)));
  await(writer, [&] { return dds::pub::matched_subscriptions(writer).empty(); });
  CHECK(writer.offered_incompatible_qos_status().last_policy_id() == policy_id<Deadline>::value);
  CHECK(reader.subscription_matched_status().current_count() == 0);
  CHECK(reader.requested_incompatible_qos_status().total_count() == 1);
  writer << (writer.qos() << Deadline(Duration::from_millisecs(20)));
  await(reader, [&] { return reader.subscription_matched_status().current_count() == 1; });
  await(writer, [&] { return writer.publication_matched_status().current_count() == 1; });
  writer.write({1, 2});
  await(reader, [&] { return reader.requested_deadline_missed_status().total_count() >= 2; });
  await(writer, [&] { return writer.offered_deadline_missed_status().total_count() >= 2; });
  reader << (reader.qos() << Deadline());
  writer << (writer.qos() << Deadline());
  const auto missed = reader.requested_deadline_missed_status().total_count();
  CHECK(dds::sub::matched_publications(reader).size() == 1);
  CHECK(reader.requested_deadline_missed_status().total_count() == missed);
}

TEST_CASE("a publisher or subscriber that changes its partition matches others, and late ones get what was kept, once") {
  const Domain domain;
  const DomainParticipant one(0), other(0);
  const Topic<Reading> here(one, "readings"), there(other, "readings");
  const auto in = [](const std::string& name) { return dds::pub::qos::PublisherQos() << Partition(name); };
  Publisher publisher(one, in("a"));
  Subscriber subscriber(other, in("b"));
  DataWriter<Reading> writer(publisher, here, DataWriterQos() << Durability::TransientLocal() << History::KeepLast(10));
  DataReader<Reading> reader(subscriber, there, all_of() << Durability::TransientLocal());
  writer.write({1, 1});
  writer.wait_for_acknowledgments(Duration::from_secs(20));
  CHECK(reader.take().length() == 0);
  publisher << in("b");
  CHECK(take(reader, 1).at(0).data().value == 1);
  CHECK(dds::pub::matched_subscriptions(writer).size() == 1);
  subscriber << in("c");
  await(writer, [&] { return dds::pub::matched_subscriptions(writer).empty(); });
  writer.write({1, 2});
  writer.wait_for_acknowledgments(Duration::from_secs(20));
  subscriber << in("*");
  const auto taken = take(reader, 1);
  CHECK(taken.at(0).data().value == 2);
  CHECK(taken.size() == 1);
  CHECK(publisher.qos().policy<Partition>().name() == dds::core::StringSeq{"b"});
}

TEST_CASE("a writer's strength goes with each sample, so all readers have the same owner at each") {
  const Domain domain;
  const DomainParticipant one(0), other(0);
  const auto exclusive = DataWriterQos() << Ownership::Exclusive();
  const auto reads = all_of() << Ownership::Exclusive();
  const Topic<Reading> here(one, "readings"), there(other, "readings");
  DataWriter<Reading> left(Publisher(one), here, DataWriterQos(exclusive) << OwnershipStrength(5));
  DataWriter<Reading> right(Publisher(one), here, DataWriterQos(exclusive) << OwnershipStrength(3));
  DataReader<Reading> first(Subscriber(one), here, reads), second(Subscriber(other), there, reads);
  left.write({1, 1});
  right.write({1, 2});
  right << (right.qos() << OwnershipStrength(7));
  right.write({1, 3});
  left.write({1, 4});
  for (auto* each : {&first, &second}) {
    const auto taken = take(*each, 2);
    CHECK(taken.at(0).data().value == 1);
    CHECK(taken.at(1).data().value == 3);
  }
}

TEST_CASE("a lifespan and a filter by time hold from when they are changed on") {
  const Domain domain;
  const DomainParticipant one(0);
  const Topic<Reading> topic(one, "readings");
  DataWriter<Reading> writer(Publisher(one), topic);
  DataReader<Reading> reader(Subscriber(one), topic, all_of());
  writer.write({1, 1}, dds::core::Time(1, 0));
  writer << (writer.qos() << Lifespan(Duration(1, 0)));
  writer.write({1, 2}, dds::core::Time(2, 0));  // long over
  writer << (writer.qos() << Lifespan());
  reader << (reader.qos() << TimeBasedFilter(Duration(10, 0)));
  writer.write({1, 3}, dds::core::Time(3, 0));
  writer.write({1, 4}, dds::core::Time(20, 0));
  const auto taken = take(reader, 2);
  CHECK(taken.at(0).data().value == 1);
  CHECK(taken.at(1).data().value == 4);
}

TEST_CASE("bytes of an application that change are told to all, of participants, topics and writers") {
  const Domain domain;
  DomainParticipant one(0);
  const DomainParticipant other(0);
  Topic<Reading> topic(one, "readings");
  DataWriter<Reading> writer(Publisher(one), topic);
  const UserData data(std::vector<std::uint8_t>{4, 2});
  one << (one.qos() << data);
  topic << (topic.qos() << TopicData(data.value()));
  writer << (writer.qos() << data);
  const auto subscriber = dds::sub::builtin_subscriber(other);
  const auto await_data = [&]<class Data>(const char* name, const dds::core::InstanceHandle& handle, const Data&) {
    std::vector<DataReader<Data>> readers;
    dds::sub::find<DataReader<Data>>(subscriber, name, std::back_inserter(readers));
    await(readers.at(0), [&] {
      for (const auto& each : readers.at(0).select().instance(handle).take()) {
        if (!each.info().valid()) continue;
        if (each.data().facts().qos.data.own == data.value() || each.data().facts().qos.data.topic == data.value())
          return true;
      }
      return false;
    });
  };
  await_data("DCPSParticipant", one.instance_handle(), dds::topic::ParticipantBuiltinTopicData());
  await_data("DCPSTopic", topic.instance_handle(), dds::topic::TopicBuiltinTopicData());
  await_data("DCPSPublication", writer.instance_handle(), dds::topic::PublicationBuiltinTopicData());
}

TEST_CASE("an entity that two threads change at once has one of both qualities, here and elsewhere") {
  const Domain domain;
  const DomainParticipant one(0), other(0);
  const Topic<Reading> here(one, "readings"), there(other, "readings");
  DataWriter<Reading> writer(Publisher(one), here);
  const DataReader<Reading> reader(Subscriber(other), there, all_of());
  const auto change = [&](std::int32_t from) {
    for (std::int32_t strength = from; strength < from + 50; ++strength)
      writer.qos(DataWriterQos(here.qos()) << OwnershipStrength(strength));
  };
  std::thread beside([&] { change(100); });
  change(200);
  beside.join();
  await(reader, [&] { return !dds::sub::matched_publications(reader).empty(); });
  writer.qos(DataWriterQos(here.qos()) << OwnershipStrength(1));
  DataReader<Reading> last(Subscriber(other), there, all_of());  // told of behind it
  await(writer, [&] { return dds::pub::matched_subscriptions(writer).size() == 2; });
  CHECK(writer.qos().policy<OwnershipStrength>().value() == 1);
  const auto data = dds::sub::matched_publication_data(reader, writer.instance_handle());
  CHECK(data.ownership_strength().value() == 1);
}
