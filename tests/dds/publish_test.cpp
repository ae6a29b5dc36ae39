// Publishing and subscribing among participants of one domain.
#include <catch2/catch.hpp>

#include "dds_fixture.hpp"

using namespace spindrift::test;
using namespace dds::core::policy;
using Catch::Matchers::Contains;
using dds::core::Duration;
using dds::domain::DomainParticipant;
using dds::pub::DataWriter;
using dds::pub::Publisher;
using dds::sub::DataReader;
using dds::sub::Subscriber;
using dds::topic::Topic;

TEST_CASE("what one participant writes another reads, in its order, with times and handles") {
  const Domain domain;
  const DomainParticipant one(0), other(0);
  const Topic<Line> here(one, "greetings"), there(other, "greetings");
  DataReader<Line> reader(Subscriber(other), there, all_of());
  DataWriter<Line> writer(Publisher(one), here);
  CHECK(dds::pub::matched_subscriptions(writer) == dds::core::InstanceHandleSeq{reader.instance_handle()});
  for (int i = 0; i < 100; ++i) writer.write(Line{"hello " + std::to_string(i)}, dds::core::Time(7, 5));
  const auto taken = take(reader, 100);
  REQUIRE(taken.size() == 100);
  for (std::size_t i = 0; i < taken.size(); ++i) CHECK(taken[i].data().text == "hello " + std::to_string(i));
  CHECK(taken[0].info().timestamp() == dds::core::Time(7, 5));
  CHECK(taken[0].info().publication_handle() == writer.instance_handle());
  CHECK(reader.subscription_matched_status().current_count() == 1);
}

TEST_CASE("readers of two participants take what two writers write in one order") {
  const Domain domain;
  const DomainParticipant one(0), other(0);
  const Topic<Reading> here(one, "readings"), there(other, "readings");
  DataReader<Reading> first(Subscriber(one), here, all_of()), second(Subscriber(other), there, all_of());
  DataWriter<Reading> left(Publisher(one), here), right(Publisher(other), there);
  const auto write = [](DataWriter<Reading>& writer, std::int32_t sensor) {
    for (std::int64_t i = 0; i < 300; ++i) writer.write({sensor, i});
  };
  std::thread beside([&] { write(right, 2); });
  write(left, 1);
  beside.join();
  const auto of_first = take(first, 600), of_second = take(second, 600);
  REQUIRE(of_first.size() == 600);
  REQUIRE(of_second.size() == 600);
  for (std::size_t i = 0; i < 600; ++i) {
    CHECK(of_first[i].data().sensor == of_second[i].data().sensor);
    CHECK(of_first[i].data().value == of_second[i].data().value);
  }
}

TEST_CASE("a topic that is BEST_EFFORT travels unordered, and its writers offer no more") {
  const Domain domain;
  const DomainParticipant one(0);
  const dds::topic::qos::TopicQos best_effort = dds::topic::qos::TopicQos() << Reliability::BestEffort();
  const Topic<Reading> topic(one, "fast", best_effort);
  DataReader<Reading> reader(Subscriber(one), topic,
                             dds::sub::qos::DataReaderQos() << Reliability::BestEffort() << History::KeepLast(10));
  DataReader<Reading> strict(Subscriber(one), topic, all_of());
  DataWriter<Reading> writer(Publisher(one), topic, dds::pub::qos::DataWriterQos() << Reliability::Reliable());
  writer.write({1, 1});
  CHECK(take(reader, 1).at(0).data().value == 1);
  CHECK(strict.requested_incompatible_qos_status().last_policy_id() == policy_id<Reliability>::value);
  CHECK_THAT(words_of<dds::core::PreconditionNotMetError>([&] {
               const DomainParticipant other(0);
               const Topic<Reading> ordered(other, "fast");
             }),
             Contains("here it is RELIABLE, sent in one order, there BEST_EFFORT, sent unordered"));
}

TEST_CASE("a participant with another type of the topic is refused, with both descriptions") {
  const Domain domain;
  const DomainParticipant one(0), other(0);
  const Topic<Reading> here(one, "readings");
  const std::string words =
      words_of<dds::core::PreconditionNotMetError>([&] { const Topic<OtherReading> there(other, "readings"); });
  CHECK_THAT(words, Contains("spindrift::test::Reading{i32,i64} key=0") && Contains("spindrift::test::Reading{i32,f64}"));
  CHECK_THAT(words, Contains("topic readings"));
}

TEST_CASE("a topic whose last participant is gone may be made with another type") {
  const Domain domain;
  const DomainParticipant one(0), other(0);
  { const Topic<Reading> here(one, "readings"); }
  const Topic<OtherReading> there(other, "readings");
  DataReader<OtherReading> reader(Subscriber(other), there, all_of());
  DataWriter<OtherReading> writer(Publisher(other), there);
  writer.write({1, 2.5});
  CHECK(take(reader, 1).at(0).data().value == 2.5);
}

TEST_CASE("topics of names that are no subgroups' travel, too") {
  const Domain domain;
  const DomainParticipant one(0);
  for (const std::string& name : {std::string("rt/chatter"), std::string(200, 'x'), std::string("vehicle::attitude")}) {
    const Topic<Reading> topic(one, name);
    DataReader<Reading> reader(Subscriber(one), topic, all_of());
    DataWriter<Reading> writer(Publisher(one), topic);
    writer.write({1, 7});
    CHECK(take(reader, 1).at(0).data().value == 7);
  }
}

TEST_CASE("instances are disposed of and unregistered, which readers see as states") {
  const Domain domain;
  const DomainParticipant one(0), other(0);
  const Topic<Reading> here(one, "readings"), there(other, "readings");
  DataReader<Reading> reader(Subscriber(other), there, all_of());
  DataWriter<Reading> writer(Publisher(one), here,
                             dds::pub::qos::DataWriterQos() << WriterDataLifecycle::ManuallyDisposeUnregisteredInstances());
  const auto handle = writer.register_instance({4, 0});
  writer.write({4, 1});
  writer << Reading{5, 2};
  writer.dispose_instance(handle);
  writer.unregister_instance(Reading{5, 0});
  writer.wait_for_acknowledgments(Duration::from_secs(20));
  using dds::sub::status::InstanceState;
  await(reader, [&] {
    return reader.select().state(dds::sub::status::DataState() << InstanceState::not_alive_no_writers()).read().length() ==
           2;
  });
  const auto disposed = reader.select().instance(handle).take();
  REQUIRE(disposed.length() == 2);
  CHECK(disposed[0].data().value == 1);
  CHECK(disposed[0].info().state().instance_state() == InstanceState::not_alive_disposed());
  CHECK_FALSE(disposed[1].info().valid());
  CHECK_THROWS_AS(disposed[1].data(), dds::core::PreconditionNotMetError);
  CHECK(writer.lookup_instance({5, 0}).is_nil());
  CHECK(writer.lookup_instance({4, 0}) == handle);
}

TEST_CASE("matches come and go with readers and writers, and with participants") {
  const Domain domain;
  const DomainParticipant one(0);
  const Topic<Reading> here(one, "readings");
  DataWriter<Reading> writer(Publisher(one), here);
  DataReader<Reading> own(Subscriber(one), here, all_of());
  {
    const DomainParticipant other(0);
    const Topic<Reading> there(other, "readings");
    const DataReader<Reading> reader(Subscriber(other), there, all_of());
    DataWriter<Reading> second(Publisher(other), there);
    second.write({1, 1});
    await(writer, [&] { return dds::pub::matched_subscriptions(writer).size() == 2; });
    await(own, [&] { return dds::sub::matched_publications(own).size() == 2; });
    CHECK(own.liveliness_changed_status().alive_count() == 2);
  }
  await(writer, [&] { return dds::pub::matched_subscriptions(writer).size() == 1; });
  await(own, [&] { return dds::sub::matched_publications(own).size() == 1; });
  const auto status = writer.publication_matched_status();
  CHECK(status.total_count() == 2);
  CHECK(status.current_count() == 1);
  CHECK(own.liveliness_changed_status().alive_count() == 1);
}

TEST_CASE("a writer and a reader that do not match say why, on both sides") {
  const Domain domain;
  const DomainParticipant one(0), other(0);
  const Topic<Reading> here(one, "readings"), there(other, "readings");
  DataWriter<Reading> writer(Publisher(one), here);
  DataReader<Reading> reader(Subscriber(other), there, dds::sub::qos::DataReaderQos() << Durability::TransientLocal());
  await(writer, [&] { return writer.offered_incompatible_qos_status().total_count() == 1; });
  const auto requested = reader.requested_incompatible_qos_status();
  CHECK(requested.last_policy_id() == policy_id<Durability>::value);
  CHECK(requested.last_reason() == "Durability: VOLATILE is offered, TRANSIENT_LOCAL is requested");
  REQUIRE(requested.policies().size() == 1);
  CHECK(requested.policies()[0].count() == 1);
  writer.write({1, 1});
  writer.wait_for_acknowledgments(Duration::from_secs(20));
  CHECK(reader.take().length() == 0);
  CHECK(dds::pub::matched_subscriptions(writer).empty());
  // One that lacks two counts once, for each of them.
  DataReader<Reading> asks_for_two(
      Subscriber(other), there,
      dds::sub::qos::DataReaderQos() << Durability::TransientLocal() << Deadline(Duration::from_secs(0.5)));
  const auto both = asks_for_two.requested_incompatible_qos_status();
  CHECK(both.total_count() == 1);
  CHECK(both.policies().size() == 2);
  CHECK_THAT(both.last_reason(), Contains("Durability: ") && Contains("; Deadline: "));
}

TEST_CASE("samples go where a partition of the writer fits one of the reader") {
  const Domain domain;
  const DomainParticipant one(0);
  const Topic<Reading> topic(one, "readings");
  const auto in = [&](const std::string& name) {
    return Subscriber(one, dds::sub::qos::SubscriberQos() << Partition(name));
  };
  DataReader<Reading> east(in("east/*"), topic, all_of()), west(in("west"), topic, all_of()), none(in(""), topic, all_of());
  DataWriter<Reading> writer(Publisher(one, dds::pub::qos::PublisherQos() << Partition("east/7")), topic);
  writer.write({1, 1});
  CHECK(take(east, 1).size() == 1);
  CHECK(west.take().length() == 0);
  CHECK(none.take().length() == 0);
}

TEST_CASE("a filter of its content keeps from a reader what it does not want") {
  const Domain domain;
  const DomainParticipant one(0);
  const Topic<Reading> topic(one, "readings");
  const dds::topic::ContentFilteredTopic<Reading> large(topic, "large",
                                                        [](const Reading& each) { return each.value >= 10; });
  DataReader<Reading> reader(Subscriber(one), large, all_of());
  DataWriter<Reading> writer(Publisher(one), topic);
  for (std::int64_t value : {1, 10, 2, 11}) writer.write({1, value});
  const auto taken = take(reader, 2);
  CHECK(taken.at(0).data().value == 10);
  CHECK(taken.at(1).data().value == 11);
  CHECK(reader.take().length() == 0);
}

TEST_CASE("a reliable reader of a history of all holds up writers at its limit, and loses nothing") {
  const Domain domain;
  const DomainParticipant one(0), other(0);
  const Topic<Reading> here(one, "readings"), there(other, "readings");
  DataReader<Reading> reader(Subscriber(other), there, all_of() << ResourceLimits(10));
  DataWriter<Reading> writer(Publisher(one), here,
                             dds::pub::qos::DataWriterQos() << Reliability::Reliable(Duration::from_millisecs(50)));
  std::int64_t written = 0;
  const auto write_until_full = [&] {
    for (;; ++written) writer.write({1, written});
  };
  CHECK_THAT(words_of<dds::core::TimeoutError>(write_until_full),
             Contains("topic readings") && Contains("max_blocking_time") && Contains("the participant of node ") &&
                 Contains(" takes no more of it now"));
  REQUIRE(written > 10);
  const auto taken = take(reader, static_cast<std::size_t>(written));
  for (std::size_t i = 0; i < taken.size(); ++i) CHECK(taken[i].data().value == static_cast<std::int64_t>(i));
  CHECK(reader.sample_lost_status().total_count() == 0);
}

TEST_CASE("a reader that keeps the last holds up nobody, and is told what it lost") {
  const Domain domain;
  const DomainParticipant one(0), other(0);
  const Topic<Reading> here(one, "readings"), there(other, "readings");
  DataReader<Reading> reader(Subscriber(other), there,
                             dds::sub::qos::DataReaderQos() << Reliability::Reliable() << History::KeepLast(2));
  DataWriter<Reading> writer(Publisher(one), here);
  for (std::int64_t value = 0; value < 20'000; ++value) writer.write({1, value});
  writer.wait_for_acknowledgments(Duration::from_secs(20));
  await(reader, [&] { return reader.sample_lost_status().total_count() == 19'998; });
  const auto taken = reader.take();
  REQUIRE(taken.length() == 2);
  CHECK(taken[1].data().value == 19'999);
}

TEST_CASE("samples of hundreds of kilobytes travel where the type says their size, and others are refused with the cause") {
  struct Image {
    std::array<std::uint8_t, 300'000> pixels;
  };
  const Domain domain;
  const DomainParticipant one(0);
  const Topic<Image> topic(one, "images");
  DataReader<Image> reader(Subscriber(one), topic, all_of());
  DataWriter<Image> writer(Publisher(one), topic,
                           dds::pub::qos::DataWriterQos() << Reliability::Reliable(Duration::from_secs(20)));
  auto image = std::make_unique<Image>();
  image->pixels.back() = 9;
  writer.write(*image);
  CHECK(take(reader, 1).at(0).data().pixels.back() == 9);
  const Topic<Line> lines(one, "lines");
  DataReader<Line> line_reader(Subscriber(one), lines, all_of());
  DataWriter<Line> liner(Publisher(one), lines);
  liner.write({std::string(250'000, 'x')});
  CHECK(take(line_reader, 1).at(0).data().text.size() == 250'000);
  CHECK_THAT(words_of<dds::core::InvalidArgumentError>([&] { liner.write({std::string(1'000'000, 'x')}); }),
             Contains("topic lines") && Contains("is larger than the") && Contains("max_smc_payload_size"));
}

TEST_CASE("entities of two participants are not put together, and a nil one is none") {
  const Domain domain;
  const DomainParticipant one(0), other(0);
  const Topic<Reading> topic(one, "readings");
  CHECK_THROWS_AS(DataWriter<Reading>(Publisher(other), topic), dds::core::PreconditionNotMetError);
  CHECK_THROWS_AS(DataReader<Reading>(Subscriber(other), topic), dds::core::PreconditionNotMetError);
  DataWriter<Reading> nobody{dds::core::null};
  CHECK(nobody == dds::core::null);
  CHECK_THROWS_AS(nobody.write({1, 1}), dds::core::NullReferenceError);
  CHECK_THROWS_AS(DomainParticipant(233), dds::core::InvalidArgumentError);
}
