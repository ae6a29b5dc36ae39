// Calls of OMG's ISO C++ API that programs use and that none of the other tests makes: closing and retaining, handlers of
// conditions, default qualities, selections by >>, samples with their instances, listeners told again.
#include <spindrift/dds/manipulators.hpp>

#include "dds_fixture.hpp"

using namespace spindrift::test;
using dds::core::Duration;
using dds::core::InstanceHandle;
using dds::core::null;
using dds::core::policy::Durability;
using dds::core::policy::History;
using dds::core::policy::Reliability;
using dds::domain::DomainParticipant;
using dds::pub::AnyDataWriter;
using dds::pub::DataWriter;
using dds::pub::Publisher;
using dds::sub::AnyDataReader;
using dds::sub::DataReader;
using dds::sub::LoanedSamples;
using dds::sub::Subscriber;
using dds::topic::AnyTopic;
using dds::topic::Topic;
using dds::topic::TopicInstance;

namespace {

struct Ends {
  DomainParticipant participant{0};
  Topic<Reading> topic{participant, "readings"};
  Publisher publisher{participant};
  Subscriber subscriber{participant};
  DataWriter<Reading> writer{publisher, topic};
  DataReader<Reading> reader{subscriber, topic, all_of()};
};

template <class Error, class Call>
bool throws(const Call& call) {
  return !words_of<Error>(call).empty();
}
template <class Call>
bool is_closed(const Call& call) {
  return throws<dds::core::AlreadyClosedError>(call);
}

}  // namespace

TEST_CASE("what is closed is closed for all who have it, and nobody matches it any more") {
  const Domain domain;
  Ends ends;
  DataWriter<Reading> same = ends.writer;
  await(ends.reader, [&] { return dds::sub::matched_publications(ends.reader).size() == 1; });
  ends.writer.close();
  CHECK(is_closed([&] { same.write({1, 2}); }));
  CHECK(is_closed([&] { same.close(); }));
  CHECK_FALSE(same.is_nil());
  await(ends.reader, [&] { return dds::sub::matched_publications(ends.reader).empty(); });

  CHECK(throws<dds::core::PreconditionNotMetError>([&] { ends.topic.close(); }));
  ends.subscriber.close();
  CHECK(is_closed([&] { static_cast<void>(ends.reader.take()); }));
  ends.topic.close();
  CHECK(is_closed([&] { static_cast<void>(ends.topic.name()); }));
  CHECK(dds::topic::find<Topic<Reading>>(ends.participant, "readings") == null);
}

TEST_CASE("a participant that is closed has left, with all that it has, whoever has references to that") {
  const Domain domain;
  Ends ends;
  const DomainParticipant other(0);
  CHECK(dds::topic::discover_any_topic(other, "readings", Duration::from_secs(20)).name() == "readings");
  const Ends copies = ends;
  ends.participant.close();
  CHECK(is_closed([&] { static_cast<void>(copies.participant.qos()); }));
  CHECK(is_closed([&] { static_cast<void>(copies.publisher.qos()); }));
  CHECK(is_closed([&] { static_cast<void>(copies.reader.qos()); }));
  CHECK(is_closed([&] { static_cast<void>(copies.topic.qos()); }));
  CHECK(is_closed([&] { const Publisher late(copies.participant); }));
  while (!other.delegate()->discovered_topics().empty()) std::this_thread::yield();
}

TEST_CASE("a listener does not close its own participant, whose thread it would wait for") {
  struct Closing : dds::sub::NoOpDataReaderListener<Reading> {
    void on_data_available(DataReader<Reading>& reader) override {
      DomainParticipant participant = reader.subscriber().participant();
      told = throws<dds::core::IllegalOperationError>([&] { participant.close(); });
      done.trigger_value(true);
    }
    bool told = false;
    dds::core::cond::GuardCondition done;
  };
  const Domain domain;
  Closing closing;
  Ends ends;
  ends.reader.listener(&closing, dds::core::status::StatusMask::data_available());
  ends.writer.write({1, 2});
  dds::core::cond::WaitSet waitset;
  waitset += closing.done;
  waitset.wait(Duration::from_secs(20));
  CHECK(closing.told);
  ends.reader.listener(nullptr, dds::core::status::StatusMask::none());
}

TEST_CASE("what is retained stays when nothing refers to it, until it is closed") {
  const Domain domain;
  Ends ends;
  InstanceHandle handle;
  {
    DataWriter<Reading> kept(ends.publisher, ends.topic);
    kept.retain();
    handle = kept.instance_handle();
  }
  std::vector<DataWriter<Reading>> found;
  CHECK(dds::pub::find<DataWriter<Reading>>(ends.publisher, "readings", std::back_inserter(found)) == 2);
  CHECK(found.back().instance_handle() == handle);
  found.back().close();
  found.clear();
  CHECK(dds::pub::find<DataWriter<Reading>>(ends.publisher, "readings", std::back_inserter(found)) == 1);
}

TEST_CASE("a participant is found by its domain, as long as it is there") {
  const Domain domain;
  CHECK(dds::domain::find(0).is_nil());
  {
    const DomainParticipant participant(0);
    CHECK(dds::domain::find(0) == participant);
    CHECK(dds::domain::find(1) == null);
  }
  CHECK(dds::domain::find(0) == null);
}

TEST_CASE("a condition's handler takes nothing, or the condition, and a wait puts what held into a sequence") {
  using namespace dds::core::cond;
  const Domain domain;
  Ends ends;
  int plain = 0, guards = 0;
  std::uint32_t samples = 0;
  GuardCondition guard([&](GuardCondition& itself) {
    ++guards;
    itself.trigger_value(false);
  });
  dds::sub::cond::ReadCondition read(ends.reader, dds::sub::status::DataState::any(),
                                     [&](const dds::sub::cond::ReadCondition& itself) {
                                       samples += ends.reader.select().condition(itself).take().length();
                                     });
  StatusCondition status(ends.writer);
  status.handler([&] { ++plain; });
  const dds::sub::cond::QueryCondition query(
      ends.reader, std::function<bool(const Reading&)>([](const Reading& each) { return each.value > 5; }),
      dds::sub::status::DataState::any(), [&](const Condition&) { ++plain; });
  WaitSet waitset;
  waitset += guard;
  CHECK(throws<dds::core::TimeoutError>([&] { waitset.wait(Duration::from_millisecs(1)); }));
  guard.trigger_value(true);
  WaitSet::ConditionSeq held(3, read);
  CHECK(&waitset.wait(held, Duration::from_secs(20)) == &held);
  REQUIRE(held.size() == 1);
  CHECK(held.front() == guard);
  waitset.dispatch();
  CHECK(guards == 1);
  waitset -= guard;

  waitset += read;
  ends.writer.write({1, 2});
  CHECK(waitset.wait(held).size() == 1);
  CHECK_FALSE(query.trigger_value());
  waitset.dispatch();
  CHECK(samples == 1);
  status.dispatch();
  dds::sub::cond::QueryCondition(query).dispatch();
  CHECK(plain == 2);
  status.reset_handler();
  status.dispatch();
  CHECK(plain == 2);
}

TEST_CASE("qualities of what is made without any are those that were set before") {
  const Domain domain;
  const auto before = DomainParticipant::default_participant_qos();
  DomainParticipant::default_participant_qos(dds::domain::qos::DomainParticipantQos()
                                             << dds::core::policy::UserData({7}));
  DomainParticipant participant(0);
  DomainParticipant::default_participant_qos(before);
  CHECK(participant.qos().policy<dds::core::policy::UserData>().value() == std::vector<std::uint8_t>{7});

  participant.default_topic_qos(dds::topic::qos::TopicQos() << Durability::TransientLocal() << History::KeepLast(4))
      .default_publisher_qos(dds::pub::qos::PublisherQos() << dds::core::policy::Partition("east"))
      .default_subscriber_qos(dds::sub::qos::SubscriberQos() << dds::core::policy::Partition("west"));
  const Topic<Reading> topic(participant, "readings");
  CHECK(topic.qos().policy<History>().depth() == 4);
  Publisher publisher(participant);
  Subscriber subscriber(participant);
  CHECK(publisher.qos().policy<dds::core::policy::Partition>().name() == std::vector<std::string>{"east"});
  CHECK(subscriber.qos().policy<dds::core::policy::Partition>().name() == std::vector<std::string>{"west"});

  CHECK(DataWriter<Reading>(publisher, topic).qos().policy<History>().depth() == 4);
  CHECK(subscriber.default_datareader_qos() == spindrift::topics::omg_reader_qos());
  publisher.default_datawriter_qos(dds::pub::qos::DataWriterQos() << History::KeepLast(2));
  subscriber.default_datareader_qos(dds::sub::qos::DataReaderQos() << History::KeepLast(3));
  CHECK(DataWriter<Reading>(publisher, topic).qos() == publisher.default_datawriter_qos());
  CHECK(DataReader<Reading>(subscriber, topic).qos() == subscriber.default_datareader_qos());

  Reliability reliability = Reliability::BestEffort();
  History history = History::KeepAll();
  publisher.default_datawriter_qos() >> reliability >> history;
  CHECK(history.depth() == 2);
  CHECK(reliability == Reliability::Reliable());
}

TEST_CASE("samples are read and taken by >>, and steps say which") {
  const Domain domain;
  Ends ends;
  for (const std::int32_t sensor : {1, 2}) {
    for (const std::int64_t value : {1, 2, 3}) ends.writer.write({sensor, value});
  }
  ends.writer.wait_for_acknowledgments(Duration::from_secs(20));
  while (ends.reader.read().length() < 6) std::this_thread::yield();
  const InstanceHandle one = ends.reader.lookup_instance({1, 0});
  LoanedSamples<Reading> samples;
  ends.reader >> dds::sub::read >> dds::sub::max_samples(4) >> samples;
  CHECK(samples.length() == 4);
  ends.reader >> dds::sub::read >> dds::sub::content([](const Reading& each) { return each.value == 3; }) >> samples;
  CHECK(samples.length() == 2);
  ends.reader >> dds::sub::take >> dds::sub::instance(one) >> dds::sub::state(dds::sub::status::DataState::any()) >> samples;
  CHECK(samples.length() == 3);
  ends.reader >> dds::sub::take >> dds::sub::next_instance(null) >> dds::sub::max_samples(1) >> samples;
  REQUIRE(samples.length() == 1);
  CHECK(samples[0].data().sensor == 2);
  const dds::sub::cond::ReadCondition all(ends.reader, dds::sub::status::DataState::any());
  ends.reader >> dds::sub::take >> dds::sub::condition(all) >> samples;
  CHECK(samples.length() == 2);
  CHECK(ends.reader.take().length() == 0);
}

TEST_CASE("a sample is written with the handle of its instance, and with none of another") {
  const Domain domain;
  Ends ends;
  const InstanceHandle one = ends.writer.register_instance({1, 0});
  const InstanceHandle two = ends.writer.register_instance({2, 0});
  const dds::core::Time then(5, 6);
  ends.writer.write({1, 1}, one);
  ends.writer.write({1, 2}, InstanceHandle::nil());
  ends.writer.write({1, 3}, one, then);
  TopicInstance<Reading> instance(one, {1, 4});
  ends.writer << instance;
  instance.sample().value = 5;
  ends.writer.write(instance);
  instance.sample({1, 6});
  ends.writer.write(instance, then);
  ends.writer << std::pair(Reading{1, 7}, then);
  CHECK(throws<dds::core::PreconditionNotMetError>([&] { ends.writer.write({1, 0}, two); }));
  CHECK(throws<dds::core::PreconditionNotMetError>([&] { ends.writer << TopicInstance<Reading>(two, {1, 0}); }));
  const InstanceHandle stranger(spindrift::digest_of("none"));
  CHECK(throws<dds::core::InvalidArgumentError>([&] { ends.writer.write({1, 0}, stranger); }));
  const auto taken = take(ends.reader, 7);
  for (std::size_t at = 0; at < 7; ++at) CHECK(taken[at].data().value == static_cast<std::int64_t>(at) + 1);
  CHECK(taken[2].info().timestamp() == then);
  CHECK(taken[6].info().timestamp() == then);
}

TEST_CASE("an entity tells its listener again") {
  const Domain domain;
  Ends ends;
  const auto none = dds::core::status::StatusMask::none();
  dds::sub::NoOpDataReaderListener<Reading> of_reader;
  dds::pub::NoOpDataWriterListener<Reading> of_writer;
  dds::topic::NoOpTopicListener<Reading> of_topic;
  dds::pub::NoOpPublisherListener of_publisher;
  dds::sub::NoOpSubscriberListener of_subscriber;
  dds::domain::NoOpDomainParticipantListener of_participant;
  const auto tells = [&none](auto& entity, auto& listener) {
    REQUIRE(entity.listener() == nullptr);
    entity.listener(&listener, none);
    CHECK(entity.listener() == &listener);
    entity.listener(nullptr, none);
    CHECK(entity.listener() == nullptr);
  };
  tells(ends.reader, of_reader);
  tells(ends.writer, of_writer);
  tells(ends.topic, of_topic);
  tells(ends.publisher, of_publisher);
  tells(ends.subscriber, of_subscriber);
  tells(ends.participant, of_participant);
  const DataReader<Reading> made(ends.subscriber, ends.topic, all_of(), &of_reader, none);
  CHECK(made.listener() == &of_reader);
}

TEST_CASE("entities without their types are cast to what they are, and are compared with nothing") {
  const Domain domain;
  Ends ends;
  const AnyDataReader any_reader = ends.reader;
  CHECK(dds::core::polymorphic_cast<DataReader<Reading>>(any_reader) == ends.reader);
  CHECK(dds::core::polymorphic_cast<DataWriter<Reading>>(AnyDataWriter(ends.writer)) == ends.writer);
  CHECK(dds::core::polymorphic_cast<AnyTopic>(ends.topic) == ends.topic);
  CHECK(throws<dds::core::InvalidDowncastError>(
      [&] { static_cast<void>(dds::core::polymorphic_cast<DataReader<Line>>(any_reader)); }));
  CHECK(dds::core::polymorphic_cast<DataReader<Line>>(AnyDataReader(null)).is_nil());

  DataWriter<Reading> writer = null;
  CHECK((writer == null && null == writer && ends.writer != null && null != ends.writer));
  writer = ends.writer;
  CHECK(writer != null);
  writer = null;
  CHECK(writer == null);
  CHECK((InstanceHandle::nil() == null && InstanceHandle::nil().is_nil() && ends.writer.instance_handle() != null));

  using dds::core::status::StatusMask;
  StatusMask mask;
  mask << StatusMask::data_available() << StatusMask::sample_lost();
  CHECK(mask == (StatusMask::data_available() | StatusMask::sample_lost()));
}

TEST_CASE("states are told apart by &, and are said in words") {
  using dds::sub::status::InstanceState;
  using dds::sub::status::SampleState;
  using dds::sub::status::ViewState;
  const InstanceState state = InstanceState::not_alive_disposed();
  CHECK((state & InstanceState::not_alive_mask()).any());
  CHECK((state & InstanceState::alive()).none());
  CHECK((state & InstanceState::any()).to_ulong() == 2);
  CHECK(state.to_string() == "NOT_ALIVE_DISPOSED");
  CHECK(InstanceState::not_alive_mask().to_string() == "NOT_ALIVE_DISPOSED|NOT_ALIVE_NO_WRITERS");
  CHECK(SampleState::any().to_string() == "READ|NOT_READ");
  CHECK(ViewState(ViewState::new_view() & ViewState::not_new_view()).to_string() == "none");
}
