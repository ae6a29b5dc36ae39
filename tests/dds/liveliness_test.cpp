// Leases of writers; entities that are enabled later; and samples that go by themselves.
#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "dds_fixture.hpp"

using namespace spindrift::test;
using namespace dds::core::policy;
using Catch::Matchers::Contains;
using dds::core::Duration;
using dds::domain::DomainParticipant;
using dds::pub::DataWriter;
using dds::pub::Publisher;
using dds::pub::qos::DataWriterQos;
using dds::sub::DataReader;
using dds::sub::Subscriber;
using dds::sub::qos::DataReaderQos;
using dds::sub::status::InstanceState;
using dds::topic::Topic;

namespace {

const Duration short_lease = Duration::from_millisecs(60);

template <class T>
void await_alive(DataReader<T>& reader, std::int32_t alive, std::int32_t not_alive) {
  await(reader, [&] {
    const auto status = reader.liveliness_changed_status();
    return status.alive_count() == alive && status.not_alive_count() == not_alive;
  });
}

}  // namespace

TEST_CASE("a writer MANUAL_BY_TOPIC lives by its own writes and assertions alone, and both sides hear when it does not") {
  const Domain domain;
  DomainParticipant one(0);
  const DomainParticipant other(0);
  const Topic<Reading> here(one, "readings"), there(other, "readings");
  const auto manual = DataWriterQos() << Liveliness::ManualByTopic(short_lease);
  DataReader<Reading> reader(Subscriber(other), there, all_of());
  DataWriter<Reading> writer(Publisher(one), here, manual);
  writer.write({1, 1});
  CHECK(take(reader, 1).size() == 1);
  await_alive(reader, 0, 1);
  await(writer, [&] { return writer.liveliness_lost_status().total_count() >= 1; });
  one.assert_liveliness();  // means nothing to it
  const auto lost = reader.take();
  REQUIRE(lost.length() == 1);
  CHECK(lost[0].info().state().instance_state() == InstanceState::not_alive_no_writers());
  CHECK(dds::sub::matched_publications(reader).size() == 1);  // it is there
  CHECK(reader.liveliness_changed_status().alive_count() == 0);
  writer.assert_liveliness();
  await_alive(reader, 1, 0);
  await_alive(reader, 0, 1);
  writer.write({1, 2});
  await_alive(reader, 1, 0);
  CHECK(take(reader, 1).at(0).data().value == 2);
  await(writer, [&] { return writer.liveliness_lost_status().total_count() >= 2; });
  await_alive(reader, 0, 1);
  writer = dds::core::null;  // one that was not alive leaves no trace
  await_alive(reader, 0, 0);
}

TEST_CASE("writers MANUAL_BY_PARTICIPANT live by what any of them, or the participant, does") {
  const Domain domain;
  DomainParticipant one(0);
  const DomainParticipant other(0);
  const Topic<Reading> here(one, "readings"), second(one, "others"), there(other, "readings");
  const Duration lease = Duration::from_millisecs(700);
  DataReader<Reading> reader(Subscriber(other), there, all_of());
  const DataWriter<Reading> idle(Publisher(one), here, DataWriterQos() << Liveliness::ManualByParticipant(lease));
  DataWriter<Reading> busy(Publisher(one), second, DataWriterQos() << Liveliness::ManualByParticipant(lease));
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
  for (std::int64_t value = 0; std::chrono::steady_clock::now() < until; ++value) {
    busy.write({1, value});
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it paces what is watched
  }
  const auto status = reader.liveliness_changed_status();
  CHECK(status.alive_count() == 1);
  CHECK(status.not_alive_count() == 0);
  CHECK(idle.liveliness_lost_status().total_count() == 0);
  await_alive(reader, 0, 1);
  one.assert_liveliness();
  await_alive(reader, 1, 0);
}

TEST_CASE("a participant says of itself that its AUTOMATIC writers live, and one that is stopped does not") {
  const Domain domain;
  const Signal ready;
  const pid_t child = ::fork();
  if (child == 0) {
    const DomainParticipant other(0);
    const Topic<Reading> there(other, "readings");
    DataWriter<Reading> writer(Publisher(other), there,
                               DataWriterQos() << Liveliness(LivelinessKind::AUTOMATIC, Duration::from_millisecs(600)));
    await(writer, [&] { return !dds::pub::matched_subscriptions(writer).empty(); });
    ready.give();
    ::pause();
    ::_exit(1);
  }
  REQUIRE(child > 0);
  const DomainParticipant one(0);
  const Topic<Reading> here(one, "readings");
  DataReader<Reading> reader(Subscriber(one), here, all_of());
  ready.await();
  await_alive(reader, 1, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // more than two leases
  CHECK(reader.liveliness_changed_status().alive_count() == 1);
  ::kill(child, SIGSTOP);
  await_alive(reader, 0, 1);
  ::kill(child, SIGCONT);
  await_alive(reader, 1, 0);
  ::kill(child, SIGKILL);
  await_alive(reader, 0, 1);
  CHECK(::waitpid(child, nullptr, 0) == child);
}

TEST_CASE("a writer whose lease is over lets go of what it owned") {
  const Domain domain;
  const DomainParticipant one(0);
  const Topic<Reading> topic(one, "readings");
  const auto exclusive = DataWriterQos() << Ownership::Exclusive();
  DataReader<Reading> reader(Subscriber(one), topic, all_of() << Ownership::Exclusive());
  DataWriter<Reading> strong(Publisher(one), topic,
                             DataWriterQos(exclusive) << OwnershipStrength(9) << Liveliness::ManualByTopic(short_lease));
  DataWriter<Reading> weak(Publisher(one), topic, exclusive);
  strong.write({1, 1});
  CHECK(take(reader, 1).size() == 1);
  await_alive(reader, 1, 1);
  weak.write({1, 2});
  CHECK(take(reader, 1).at(0).data().value == 2);
}

TEST_CASE("entities of a publisher or subscriber without autoenable are unknown to all until they are enabled") {
  const Domain domain;
  const DomainParticipant one(0);
  const Topic<Reading> topic(one, "readings");
  const auto later = dds::pub::qos::PublisherQos() << EntityFactory(false);
  DataWriter<Reading> writer(Publisher(one, later), topic);
  DataReader<Reading> reader(Subscriber(one, later), topic, all_of());
  const DataReader<Reading> other(Subscriber(one), topic, all_of());
  CHECK_THROWS_AS(writer.write({1, 1}), dds::core::NotEnabledError);
  CHECK_THROWS_AS(reader.take(), dds::core::NotEnabledError);
  CHECK(dds::sub::matched_publications(other).empty());
  writer << (writer.qos() << Deadline(Duration(5, 0)));
  writer.enable();
  writer.enable();  // once more does nothing
  CHECK(dds::sub::matched_publication_data(other, writer.instance_handle()).deadline().period() == Duration(5, 0));
  CHECK(dds::pub::matched_subscriptions(writer).size() == 1);
  reader.enable();
  await(writer, [&] { return dds::pub::matched_subscriptions(writer).size() == 2; });
  writer.write({1, 1});
  CHECK(take(reader, 1).at(0).data().value == 1);
}

TEST_CASE("what a participant without autoenable makes is enabled by hand, and publishers enable their writers") {
  const Domain domain;
  DomainParticipant one(0, dds::domain::qos::DomainParticipantQos() << EntityFactory(false));
  const DomainParticipant other(0);
  Topic<Reading> topic(one, "readings");
  CHECK(dds::topic::discover_any_topic(other, "readings", Duration::zero()).name().empty());
  CHECK_THROWS_AS(DataWriter<Reading>(Publisher(one), topic), dds::core::NotEnabledError);
  topic.enable();
  CHECK(dds::topic::discover_any_topic(other, "readings", Duration::from_secs(20)).name() == "readings");
  Publisher publisher(one);
  DataWriter<Reading> writer(publisher, topic);
  CHECK_THROWS_AS(writer.write({1, 1}), dds::core::NotEnabledError);
  CHECK_THROWS_AS(writer.enable(), dds::core::PreconditionNotMetError);
  publisher.enable();
  writer.write({1, 1});
  one << (one.qos() << EntityFactory(true));
  const DataReader<Reading> reader(Subscriber(one), topic, all_of());
  CHECK(dds::sub::matched_publications(reader).size() == 1);
}

TEST_CASE("samples of instances that are over go by themselves, after the delay of the reader") {
  const Domain domain;
  const DomainParticipant one(0);
  const Topic<Reading> topic(one, "readings");
  DataReader<Reading> reader(Subscriber(one), topic,
                             all_of() << ReaderDataLifecycle(Duration::infinite(), Duration::from_millisecs(30)));
  DataWriter<Reading> writer(Publisher(one), topic);
  writer.write({1, 1});
  writer.write({2, 2});
  writer.dispose_instance(Reading{1, 0});
  writer.wait_for_acknowledgments(Duration::from_secs(20));
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (reader.read().length() > 1 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  const auto left = reader.take();
  REQUIRE(left.length() == 1);
  CHECK(left[0].data().value == 2);
}

// Three participants, so that two of them are a majority.
TEST_CASE("a participant that was removed while it was stopped tells its readers, and whoever waits") {
  const Domain domain;
  const Signal ready;
  const pid_t child = ::fork();
  if (child == 0) {
    const DomainParticipant third(0);
    const Topic<Reading> topic(third, "readings");
    DataReader<Reading> reader(Subscriber(third), topic, all_of());
    dds::core::cond::WaitSet waitset;
    waitset += dds::sub::cond::ReadCondition(reader, dds::sub::status::DataState::any());
    ready.give();
    std::string why;
    while (why.empty()) {
      waitset.wait(Duration::from_secs(60));
      why = words_of<dds::core::AlreadyClosedError>([&] { static_cast<void>(reader.take()); });
    }
    const bool told = why.find("removed") != std::string::npos && reader.subscription_matched_status().current_count() == 0;
    ::_exit(told ? 0 : 1);
  }
  REQUIRE(child > 0);
  const DomainParticipant one(0);
  const DomainParticipant two(0);
  const Topic<Reading> here(one, "readings");
  DataWriter<Reading> writer(Publisher(one), here);
  await(writer, [&] { return writer.publication_matched_status().current_count() == 1; });
  ready.await();
  CHECK(::kill(child, SIGSTOP) == 0);
  await(writer, [&] { return writer.publication_matched_status().current_count() == 0; });
  CHECK(::kill(child, SIGCONT) == 0);
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}
