// Listeners of participants, publishers, subscribers and topics: which of them hears of a status.
#include <catch2/catch.hpp>

#include <condition_variable>
#include <mutex>

#include "dds_fixture.hpp"

using namespace spindrift::test;
using namespace dds::core::policy;
using namespace dds::core::status;
using dds::core::Duration;
using dds::domain::DomainParticipant;
using dds::pub::DataWriter;
using dds::pub::Publisher;
using dds::sub::DataReader;
using dds::sub::Subscriber;
using dds::topic::Topic;

namespace {

/// The calls of listeners, in words.
class Heard {
 public:
  void note(const std::string& words) {
    const std::lock_guard lock(mutex_);
    words_.push_back(words);
    changed_.notify_all();
  }
  /// Waits until so many calls were made; all of them.
  std::vector<std::string> await(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return words_.size() >= count; });
    return words_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> words_;
};
using Words = std::vector<std::string>;

class OfParticipant : public dds::domain::NoOpDomainParticipantListener {
 public:
  explicit OfParticipant(Heard& heard) : heard_(heard) {}
  void on_subscription_matched(dds::sub::AnyDataReader& reader, const SubscriptionMatchedStatus& status) override {
    heard_.note("participant: subscription " + std::to_string(status.current_count()) + " of " + reader.topic_name());
  }
  void on_publication_matched(dds::pub::AnyDataWriter& writer, const PublicationMatchedStatus& status) override {
    heard_.note("participant: publication " + std::to_string(status.current_count()) + " of " + writer.topic_name());
  }
  void on_inconsistent_topic(dds::topic::AnyTopic& topic, const InconsistentTopicStatus& status) override {
    heard_.note("participant: inconsistent " + std::to_string(status.total_count_change()) + " of " + topic.name());
  }
  void on_data_available(dds::sub::AnyDataReader& reader) override {
    DataReader<Reading> typed = reader.get<Reading>();
    heard_.note("participant: " + std::to_string(typed.take().length()) + " data");
  }

 private:
  Heard& heard_;
};
class OfSubscriber : public dds::sub::NoOpSubscriberListener {
 public:
  explicit OfSubscriber(Heard& heard) : heard_(heard) {}
  void on_subscription_matched(dds::sub::AnyDataReader&, const SubscriptionMatchedStatus&) override {
    heard_.note("subscriber: subscription");
  }
  void on_data_on_readers(Subscriber& subscriber) override {
    heard_.note("subscriber: data on readers");
    subscriber.notify_datareaders();
  }

 private:
  Heard& heard_;
};
class OfPublisher : public dds::pub::NoOpPublisherListener {
 public:
  explicit OfPublisher(Heard& heard) : heard_(heard) {}
  void on_publication_matched(dds::pub::AnyDataWriter& writer, const PublicationMatchedStatus&) override {
    heard_.note("publisher: publication of " + writer.get<Reading>().topic().name());
  }

 private:
  Heard& heard_;
};
class OfReader : public dds::sub::NoOpDataReaderListener<Reading> {
 public:
  explicit OfReader(Heard& heard) : heard_(heard) {}
  void on_subscription_matched(DataReader<Reading>&, const SubscriptionMatchedStatus&) override {
    heard_.note("reader: subscription");
  }
  void on_data_available(DataReader<Reading>& reader) override {
    heard_.note("reader: " + std::to_string(reader.take().length()) + " data");
  }

 private:
  Heard& heard_;
};
class OfTopic : public dds::topic::NoOpTopicListener<Reading> {
 public:
  explicit OfTopic(Heard& heard) : heard_(heard) {}
  void on_inconsistent_topic(Topic<Reading>& topic, const InconsistentTopicStatus&) override {
    heard_.note("topic: inconsistent " + topic.name());
  }

 private:
  Heard& heard_;
};

const StatusMask matches = StatusMask::subscription_matched() | StatusMask::publication_matched();

}  // namespace

TEST_CASE("a status is told to the nearest listener that has it in its mask, and to no other") {
  const Domain domain;
  Heard heard;
  OfParticipant of_participant(heard);
  OfSubscriber of_subscriber(heard);
  OfPublisher of_publisher(heard);
  OfReader of_reader(heard);
  const DomainParticipant one(0, {}, &of_participant, matches);
  const Topic<Reading> topic(one, "readings");
  const DataWriter<Reading> writer(Publisher(one), topic);
  CHECK(heard.await(0).empty());
  const auto count_after = [&](const Subscriber& subscriber, OfReader* listener, const StatusMask& mask) {
    const std::size_t before = heard.await(0).size();
    const DataReader<Reading> reader(subscriber, topic, all_of(), listener, mask);
    auto words = heard.await(before + 2);  // one of the reader's match, and one of the writer's
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(before));
    return words;
  };
  CHECK(count_after(Subscriber(one), nullptr, matches) ==
        Words{"participant: subscription 1 of readings", "participant: publication 1 of readings"});
  heard.await(3);  // the writer's match is over
  const Subscriber listening(one, {}, &of_subscriber, matches);
  CHECK(count_after(listening, nullptr, matches) ==
        Words{"subscriber: subscription", "participant: publication 1 of readings"});
  heard.await(6);
  CHECK(count_after(listening, &of_reader, StatusMask::data_available()) ==
        Words{"subscriber: subscription", "participant: publication 1 of readings"});
  heard.await(9);
  CHECK(count_after(listening, &of_reader, StatusMask::all()) ==
        Words{"reader: subscription", "participant: publication 1 of readings"});
  heard.await(12);
  Publisher publisher(one, {}, &of_publisher, StatusMask::publication_matched());
  const DataReader<Reading> reader(Subscriber(one), topic, all_of());
  heard.await(14);
  const DataWriter<Reading> second(publisher, topic);
  const Words all = heard.await(16);
  CHECK(std::count(all.begin(), all.end(), "publisher: publication of readings") == 1);
  CHECK(std::count(all.begin(), all.end(), "participant: subscription 2 of readings") == 1);
  publisher.listener(nullptr, StatusMask::none());
}

TEST_CASE("that samples came a subscriber's listener hears of first, and may hand on to those of its readers") {
  const Domain domain;
  Heard heard;
  OfSubscriber of_subscriber(heard);
  OfReader of_reader(heard);
  const DomainParticipant one(0);
  const Topic<Reading> topic(one, "readings");
  Subscriber subscriber(one, {}, &of_subscriber, StatusMask::data_on_readers());
  const DataReader<Reading> reader(subscriber, topic, all_of(), &of_reader, StatusMask::data_available());
  DataWriter<Reading> writer(Publisher(one), topic);
  writer.write({1, 1});
  CHECK(heard.await(2) == Words{"subscriber: data on readers", "reader: 1 data"});
  subscriber.listener(nullptr, StatusMask::none());
  writer.write({1, 2});
  CHECK(heard.await(3).back() == "reader: 1 data");
}

TEST_CASE("a participant's listener takes samples of readers that have none, as the type that they are") {
  const Domain domain;
  Heard heard;
  OfParticipant of_participant(heard);
  DomainParticipant one(0, {}, &of_participant, StatusMask::data_available());
  const Topic<Reading> topic(one, "readings");
  const Subscriber subscriber(one);
  const DataReader<Reading> reader(subscriber, topic, all_of());
  CHECK_FALSE(subscriber.status_changes().any());
  DataWriter<Reading> writer(Publisher(one), topic);
  writer.write({1, 1});
  CHECK(heard.await(1) == Words{"participant: 1 data"});
  CHECK_THROWS_AS(static_cast<const dds::sub::AnyDataReader&>(reader).get<Line>(), dds::core::InvalidDowncastError);
  one.listener(nullptr, StatusMask::none());
  writer.write({1, 2});
  await(subscriber, [&] { return subscriber.status_changes().to_ulong() == StatusMask::data_on_readers().to_ulong(); });
  CHECK(heard.await(1).size() == 1);
}

TEST_CASE("who has a topic hears that others were refused it") {
  const Domain domain;
  Heard heard;
  OfParticipant of_participant(heard);
  OfTopic of_topic(heard);
  const DomainParticipant one(0, {}, &of_participant), other(0);
  {
    const Topic<Reading> topic(one, "readings", {}, &of_topic);
    CHECK_THROWS_AS(Topic<OtherReading>(other, "readings"), dds::core::PreconditionNotMetError);
    CHECK(heard.await(1) == Words{"topic: inconsistent readings"});
  }
  const Topic<Reading> topic(one, "readings");
  CHECK(topic.inconsistent_topic_status().total_count() == 0);
  CHECK_THROWS_AS(Topic<OtherReading>(other, "readings"), dds::core::PreconditionNotMetError);
  CHECK(heard.await(2).back() == "participant: inconsistent 1 of readings");
  CHECK(topic.inconsistent_topic_status().total_count() == 1);
}
