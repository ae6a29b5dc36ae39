// Listeners, conditions and deadlines.
#include <catch2/catch.hpp>

#include <condition_variable>
#include <mutex>

#include "dds_fixture.hpp"

using namespace spindrift::test;
using namespace dds::core::policy;
using dds::core::Duration;
using dds::core::cond::WaitSet;
using dds::core::status::StatusMask;
using dds::domain::DomainParticipant;
using dds::pub::DataWriter;
using dds::pub::Publisher;
using dds::sub::DataReader;
using dds::sub::Subscriber;
using dds::sub::status::DataState;
using dds::topic::Topic;

namespace {

/// Answers each sample on another topic, from within the listener.
class Echo : public dds::sub::NoOpDataReaderListener<Reading> {
 public:
  explicit Echo(DataWriter<Reading> to) : to_(std::move(to)) {}
  void on_data_available(DataReader<Reading>& reader) override {
    for (const auto& each : reader.take()) {
      if (each.info().valid()) to_.write({each.data().sensor, each.data().value + 100});
    }
  }

 private:
  DataWriter<Reading> to_;
};

/// Holds the last reference to a reader, and drops it when it is called.
class Dropper : public dds::sub::NoOpDataReaderListener<Reading> {
 public:
  void on_data_available(DataReader<Reading>&) override {
    const std::lock_guard lock(mutex_);
    kept_.reset();
    dropped_ = true;
    changed_.notify_all();
  }
  void keep(std::unique_ptr<DataReader<Reading>> reader) {
    const std::lock_guard lock(mutex_);
    kept_ = std::move(reader);
  }
  bool await() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return dropped_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<DataReader<Reading>> kept_;
  bool dropped_ = false;
};

}  // namespace

TEST_CASE("a listener may take and write, and is not called once it was removed") {
  const Domain domain;
  const DomainParticipant one(0);
  const Topic<Reading> asked(one, "asked"), answered(one, "answered");
  const auto all = dds::sub::qos::DataReaderQos() << Reliability::Reliable() << History::KeepAll();
  DataReader<Reading> answers(Subscriber(one), answered, all);
  Echo echo(DataWriter<Reading>(Publisher(one), answered));
  DataReader<Reading> reader(Subscriber(one), asked, all, &echo, StatusMask::data_available());
  DataWriter<Reading> writer(Publisher(one), asked);
  for (std::int64_t value = 0; value < 50; ++value) writer.write({1, value});
  const auto taken = take(answers, 50);
  CHECK(taken.back().data().value == 149);
  reader.listener(nullptr, StatusMask::none());
  writer.write({1, 99});
  CHECK(take(reader, 1).at(0).data().value == 99);
  CHECK(answers.take().length() == 0);
}

TEST_CASE("a listener may drop the last reference to its reader, which ends the participant, too") {
  const Domain domain;
  Dropper dropper;
  {
    const DomainParticipant other(0);
    const Topic<Reading> topic(other, "readings");
    auto reader = std::make_unique<DataReader<Reading>>(Subscriber(other), topic, spindrift::topics::omg_reader_qos(),
                                                        &dropper, StatusMask::data_available());
    dropper.keep(std::move(reader));
  }
  const DomainParticipant one(0);
  const Topic<Reading> topic(one, "readings");
  DataWriter<Reading> writer(Publisher(one), topic);
  writer.write({1, 1});
  CHECK(dropper.await());
  await(writer, [&] { return dds::pub::matched_subscriptions(writer).empty(); });
}

TEST_CASE("a wait-set returns the conditions that hold, calls their handlers, or says that none did in time") {
  const Domain domain;
  const DomainParticipant one(0);
  const Topic<Reading> topic(one, "readings");
  DataReader<Reading> reader(Subscriber(one), topic,
                             dds::sub::qos::DataReaderQos() << Reliability::Reliable() << History::KeepAll());
  DataWriter<Reading> writer(Publisher(one), topic);
  dds::core::cond::GuardCondition guard;
  std::size_t handled = 0;
  dds::sub::cond::ReadCondition unread(reader, DataState::new_data(), [&] { handled = reader.read().length(); });
  const dds::sub::cond::QueryCondition large(reader, std::function([](const Reading& each) { return each.value > 10; }),
                                             DataState::any());
  WaitSet waitset;
  waitset += guard;
  waitset += unread;
  waitset += large;
  CHECK_THROWS_AS(waitset.wait(Duration::from_millisecs(10)), dds::core::TimeoutError);
  writer.write({1, 5});
  CHECK(waitset.wait(Duration::from_secs(20)) == WaitSet::ConditionSeq{unread});
  waitset.dispatch(Duration::from_secs(20));
  CHECK(handled == 1);
  std::thread beside([&] { guard.trigger_value(true); });
  CHECK(waitset.wait(Duration::from_secs(20)) == WaitSet::ConditionSeq{guard});
  beside.join();
  guard.trigger_value(false);
  writer.write({1, 50});
  writer.wait_for_acknowledgments(Duration::from_secs(20));
  CHECK(waitset.wait(Duration::from_secs(20)).back() == large);
  CHECK(waitset.detach_condition(large));
  CHECK_FALSE(waitset.detach_condition(large));
}

TEST_CASE("an instance of which nothing comes within the period counts as a missed deadline, of reader and writer") {
  const Domain domain;
  const DomainParticipant one(0);
  const Topic<Reading> topic(one, "readings");
  const Deadline often(Duration::from_millisecs(50));
  DataReader<Reading> reader(Subscriber(one), topic, dds::sub::qos::DataReaderQos() << often);
  DataWriter<Reading> writer(Publisher(one), topic, dds::pub::qos::DataWriterQos() << often);
  DataReader<Reading> idle(Subscriber(one), topic, dds::sub::qos::DataReaderQos() << Deadline(Duration::from_secs(1000)));
  CHECK(reader.requested_deadline_missed_status().total_count() == 0);
  writer.write({3, 1});
  await(reader, [&] { return reader.requested_deadline_missed_status().total_count() >= 2; });
  await(writer, [&] { return writer.offered_deadline_missed_status().total_count() >= 2; });
  CHECK(reader.requested_deadline_missed_status().last_instance_handle() == writer.lookup_instance({3, 0}));
  CHECK(idle.requested_deadline_missed_status().total_count() == 0);
  const DataReader<Reading> stricter(Subscriber(one), topic,
                                     dds::sub::qos::DataReaderQos() << Deadline(Duration::from_millisecs(10)));
  CHECK(stricter.requested_incompatible_qos_status().last_reason() == "Deadline: 50 ms is offered, 10 ms is requested");
}

namespace {

/// Takes what it hears of.
class Taker : public dds::sub::NoOpDataReaderListener<Reading> {
 public:
  void on_data_available(DataReader<Reading>& reader) override {
    const std::lock_guard lock(mutex_);
    for (const auto& each : reader.take()) taken_ += each.info().valid() ? 1 : 0;
    changed_.notify_all();
  }
  bool await(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return taken_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t taken_ = 0;
};

/// Writes as soon as some reader is there.
class Greeter : public dds::pub::NoOpDataWriterListener<Reading> {
 public:
  void on_publication_matched(DataWriter<Reading>& writer,
                              const dds::core::status::PublicationMatchedStatus& status) override {
    if (status.current_count_change() > 0) writer.write({1, 7});
  }
};

}  // namespace

TEST_CASE("a listener that a reader is made with takes what is kept for late joiners") {
  const Domain domain;
  const DomainParticipant one(0);
  const Topic<Reading> topic(one, "readings", dds::topic::qos::TopicQos() << Durability::Transient());
  DataWriter<Reading> writer(Publisher(one), topic, dds::pub::qos::DataWriterQos(topic.qos()));
  writer.write({1, 1});
  writer.wait_for_acknowledgments(Duration::from_secs(20));
  for (int round = 0; round < 20; ++round) {
    Taker taker;
    DataReader<Reading> reader(Subscriber(one), topic, dds::sub::qos::DataReaderQos(topic.qos()), &taker,
                               StatusMask::data_available());
    CHECK(taker.await(1));
    reader.listener(nullptr, StatusMask::none());
  }
}

TEST_CASE("a listener that a writer is made with writes to the readers that it hears of") {
  const Domain domain;
  const DomainParticipant one(0);
  const Topic<Reading> topic(one, "readings");
  DataReader<Reading> reader(Subscriber(one), topic, all_of());
  Greeter greeter;
  DataWriter<Reading> writer(Publisher(one), topic, dds::pub::qos::DataWriterQos(topic.qos()), &greeter,
                             StatusMask::publication_matched());
  CHECK(take(reader, 1).at(0).data().value == 7);
  writer.listener(nullptr, StatusMask::none());
}
