// Listeners that the poller calls.
#include <catch2/catch.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

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
using dds::topic::Topic;

namespace {

/// A domain whose participants have their pollers call listeners.
class PollerDomain {
 public:
  PollerDomain() { ::setenv("SPINDRIFT_DDS_LISTENERS", "poller", 1); }
  ~PollerDomain() { ::unsetenv("SPINDRIFT_DDS_LISTENERS"); }
  PollerDomain(const PollerDomain&) = delete;
  PollerDomain& operator=(const PollerDomain&) = delete;

 private:
  Domain domain_;
};

/// A flag for which other threads wait.
class Event {
 public:
  void set() {
    const std::lock_guard lock(mutex_);
    set_ = true;
    changed_.notify_all();
  }
  void await() {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, std::chrono::seconds(20), [&] { return set_; }));
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
};

/// Calls what may wait, and keeps what each says; then answers.
class Caller : public dds::sub::NoOpDataReaderListener<Reading> {
 public:
  Caller(DomainParticipant participant, DataWriter<Reading> to) : participant_(std::move(participant)), to_(std::move(to)) {}
  void on_data_available(DataReader<Reading>& reader) override {
    WaitSet waitset;
    waitset += dds::core::cond::GuardCondition();
    waited_ = words_of<dds::core::PreconditionNotMetError>([&] { waitset.wait(Duration::from_secs(20)); });
    acknowledged_ =
        words_of<dds::core::PreconditionNotMetError>([&] { to_.wait_for_acknowledgments(Duration::from_secs(20)); });
    made_ = words_of<dds::core::PreconditionNotMetError>([&] { const Topic<Line> other(participant_, "other"); });
    closed_ = words_of<dds::core::IllegalOperationError>([&] { participant_.close(); });
    for (const auto& each : reader.take()) to_.write({each.data().sensor, each.data().value + 100});
  }
  std::string waited_, acknowledged_, made_, closed_;

 private:
  DomainParticipant participant_;
  DataWriter<Reading> to_;
};

/// A participant that asks on one topic, and another one whose listener answers on the other.
struct Conversation {
  const PollerDomain domain{};
  const DomainParticipant one{0}, other{0};
  const Topic<Reading> asked{one, "asked"}, answered{one, "answered"};
  const Topic<Reading> asked_there{other, "asked"}, answered_there{other, "answered"};
  DataReader<Reading> answers{Subscriber(one), answered, all_of()};
  DataWriter<Reading> writer{Publisher(one), asked};

  [[nodiscard]] DataWriter<Reading> answering() const { return DataWriter<Reading>(Publisher(other), answered_there); }
  [[nodiscard]] DataReader<Reading> heard_by(dds::sub::DataReaderListener<Reading>& listener) const {
    return {Subscriber(other), asked_there, all_of(), &listener, StatusMask::data_available()};
  }
};

/// Holds up the thread for listeners in one call, and looks whether another one comes meanwhile.
class Holder : public dds::sub::NoOpDataReaderListener<Reading> {
 public:
  void on_requested_deadline_missed(DataReader<Reading>&, const dds::core::status::RequestedDeadlineMissedStatus&) override {
    if (held_.exchange(true)) return;
    inside_ = true;
    entered_.set();
    go_on_.await();
    inside_ = false;
  }
  void on_data_available(DataReader<Reading>& reader) override {
    if (inside_) overlapped_ = true;
    for (const auto& each : reader.take()) {
      if (each.info().valid() && each.data().value == last) seen_.set();
    }
  }
  static constexpr std::int64_t last = 20;
  Event entered_, go_on_, seen_;
  std::atomic<bool> held_{false}, inside_{false}, overlapped_{false};
};

/// Answers each sample on another topic.
class Echo : public dds::sub::NoOpDataReaderListener<Reading> {
 public:
  explicit Echo(DataWriter<Reading> to) : to_(std::move(to)) {}
  void on_data_available(DataReader<Reading>& reader) override {
    for (const auto& each : reader.take()) {
      if (each.info().valid()) to_.write(each.data());
    }
  }

 private:
  DataWriter<Reading> to_;
};

/// Drops the participant's last references when it is called.
class Dropper : public dds::sub::NoOpDataReaderListener<Reading> {
 public:
  void on_data_available(DataReader<Reading>&) override {
    kept_.reset();
    dropped_.set();
  }
  std::unique_ptr<DataReader<Reading>> kept_;
  Event dropped_;
};

}  // namespace

TEST_CASE("a listener on the poller takes and writes, and is refused where it would wait for itself") {
  Conversation between;
  Caller caller(between.other, between.answering());
  DataReader<Reading> reader = between.heard_by(caller);
  for (std::int64_t value = 0; value < 50; ++value) between.writer.write({1, value});
  CHECK(take(between.answers, 50).back().data().value == 149);
  reader.listener(nullptr, StatusMask::none());
  CHECK_THAT(caller.waited_, Catch::Contains("in a listener on the poller") && Catch::Contains("dds_listeners = thread"));
  CHECK_THAT(caller.acknowledged_, Catch::Contains("waiting for what was written"));
  CHECK_THAT(caller.made_, Catch::Contains("telling the domain of an endpoint"));
  CHECK_THAT(caller.closed_, Catch::Contains("a listener cannot close its participant"));
  between.writer.write({1, 99});
  CHECK(take(reader, 1).at(0).data().value == 99);
  CHECK(between.answers.take().length() == 0);
}

TEST_CASE("the poller calls no listener while the thread calls one, which then goes on with what came") {
  const PollerDomain domain;
  const DomainParticipant one(0);
  const Topic<Reading> topic(one, "readings");
  Holder holder;
  const auto qos = all_of() << Deadline(Duration::from_millisecs(5));
  DataReader<Reading> reader(Subscriber(one), topic, qos, &holder,
                             StatusMask::data_available() | StatusMask::requested_deadline_missed());
  DataWriter<Reading> writer(Publisher(one), topic,
                             dds::pub::qos::DataWriterQos(topic.qos()) << Deadline(Duration::from_millisecs(1)));
  writer.write({1, 0});
  holder.entered_.await();
  for (std::int64_t value = 1; value <= Holder::last; ++value) writer.write({1, value});
  writer.wait_for_acknowledgments(Duration::from_secs(20));
  holder.go_on_.set();
  holder.seen_.await();
  CHECK_FALSE(holder.overlapped_);
  reader.listener(nullptr, StatusMask::none());
}

TEST_CASE("no answer of a listener on the poller is lost while others join and leave") {
  Conversation between;
  Echo echo(between.answering());
  DataReader<Reading> reader = between.heard_by(echo);
  std::atomic<bool> done{false};
  std::thread others([&] {
    for (int round = 0; round < 10; ++round) {
      const DomainParticipant third(0);
    }
    done = true;
  });
  // One at a time: an answer that is lost would be the last one.
  std::int64_t value = 0;
  for (; !done; ++value) {
    between.writer.write({1, value});
    CHECK(take(between.answers, 1).at(0).data().value == value);
  }
  others.join();
  CHECK(value > 0);
  reader.listener(nullptr, StatusMask::none());
}

TEST_CASE("a listener on the poller may drop the last reference to its participant") {
  const PollerDomain domain;
  Dropper dropper;
  {
    const DomainParticipant other(0);
    const Topic<Reading> topic(other, "readings");
    dropper.kept_ = std::make_unique<DataReader<Reading>>(Subscriber(other), topic, all_of(), &dropper,
                                                          StatusMask::data_available());
  }
  const DomainParticipant one(0);
  const Topic<Reading> topic(one, "readings");
  DataWriter<Reading> writer(Publisher(one), topic);
  writer.write({1, 1});
  dropper.dropped_.await();
  await(writer, [&] { return dds::pub::matched_subscriptions(writer).empty(); });
}
