// Readers of C++ types that are no members.
#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/dds/topic_observer.hpp>

#include "dds_fixture.hpp"

namespace spindrift::test {
namespace {

using namespace dds::core::policy;
using dds::core::cond::StatusCondition;
using dds::core::cond::WaitSet;
using dds::domain::DomainObserver;
using dds::domain::DomainParticipant;
using dds::sub::TopicObserver;

/// Takes until so many are there, news without data among them.
template <class T>
std::vector<dds::sub::Sample<T>> take_so_many(TopicObserver<T>& observer, std::size_t count) {
  std::vector<dds::sub::Sample<T>> taken;
  WaitSet waitset;
  waitset += StatusCondition(observer);
  while (taken.size() < count) {
    waitset.wait(dds::core::Duration::from_secs(20));
    for (const auto& each : observer.take()) taken.push_back(each);
  }
  return taken;
}

/// Whatever comes to pass rings the process's bell, but for what a filter sees.
void await_holding(const std::function<bool()>& holds, std::chrono::milliseconds look_again = std::chrono::seconds(20)) {
  const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  auto& bell = topics::ProcessBell::of_process();
  for (std::uint64_t rung = bell.rung(); !holds(); rung = bell.rung()) {
    REQUIRE(std::chrono::steady_clock::now() < late);
    bell.wait(rung, std::chrono::steady_clock::now() + look_again);
  }
}

dds::sub::qos::DataReaderQos keeps(std::int32_t depth) {
  return dds::sub::qos::DataReaderQos() << Reliability::BestEffort() << History::KeepLast(static_cast<std::uint32_t>(depth));
}

/// A topic, and one that writes it.
struct Source {
  explicit Source(const std::string& name = "readings", const dds::pub::qos::PublisherQos& around = {})
      : topic(participant, name), writer(dds::pub::Publisher(participant, around), topic) {}

  DomainParticipant participant{0};
  dds::topic::Topic<Reading> topic;
  dds::pub::DataWriter<Reading> writer;
};

/// Returns when samples that are written from now on come to the observer, which on a busy machine is not so at once.
template <class T>
void await_fed(TopicObserver<T>& observer, dds::pub::DataWriter<Reading>& writer) {
  WaitSet waitset;
  waitset += StatusCondition(observer);
  for (std::int64_t tries = 1;; ++tries) {
    writer.write({0, tries});
    try {
      waitset.wait(dds::core::Duration::from_millisecs(20));
    } catch (const dds::core::TimeoutError&) {
    }
    const auto taken = observer.take();
    if (taken.length() > 0 && taken[taken.length() - 1].data().value == tries) return;
  }
}

}  // namespace

TEST_CASE("an observer of a topic's C++ type reads its samples, matches its writers, and is matched by none") {
  const Domain here;
  Source source;
  const DomainObserver domain(0);
  TopicObserver<Reading> observer(domain, "readings", keeps(10));
  await_fed(observer, source.writer);
  source.writer.write({4, 15});
  source.writer.write({4, 16});
  source.writer.dispose_instance({4, 0});
  const auto taken = take_so_many(observer, 3);
  CHECK(taken[0].data().value == 15);
  CHECK(taken[1].data().value == 16);
  CHECK_FALSE(taken[2].info().valid());
  CHECK(taken[2].info().state().instance_state() == dds::sub::status::InstanceState::not_alive_disposed());
  CHECK(observer.matched_publications() == dds::core::InstanceHandleSeq{source.writer.instance_handle()});
  CHECK(source.writer.publication_matched_status().current_count() == 0);
  CHECK(domain.participants() == 1);
  CHECK(observer.lost() == 0);
}

TEST_CASE("an observer of a topic keeps the last samples that its History says, reads them again, and counts others") {
  const Domain here;
  Source source;
  const DomainObserver domain(0);
  TopicObserver<Reading> observer(domain, "readings", keeps(2));
  await_fed(observer, source.writer);
  for (std::int64_t value = 0; value < 6; ++value) source.writer.write({1, value});
  await_holding([&] { return observer.lost() == 4; });
  for (int times = 0; times < 2; ++times) {
    std::vector<std::int64_t> values;
    for (const auto& each : observer.read()) values.push_back(each.data().value);
    CHECK(values == std::vector<std::int64_t>{4, 5});
  }
}

TEST_CASE("an observer that was overtaken says that more may be missing, until each writer has spoken again") {
  const Domain here;
  Source source;
  dds::pub::DataWriter<Reading> quiet(dds::pub::Publisher(source.participant), source.topic);
  const DomainObserver domain(0);
  constexpr std::int32_t blocks = 7;
  std::atomic<bool> blocked{false}, goes_on{false};
  const auto wants = [&](const Reading& each) {
    if (each.sensor == blocks && !blocked.exchange(true)) goes_on.wait(false);
    return each.value >= 0;
  };
  TopicObserver<Reading> observer(domain, "readings", keeps(1), {}, wants);
  await_fed(observer, source.writer);
  CHECK_FALSE(observer.more_may_be_lost());
  quiet.write({1, 1});
  source.writer.write({blocks, 0});
  await_holding([&] { return blocked.load(); }, std::chrono::milliseconds(1));
  constexpr std::int64_t more_than_a_feed_holds = 200'000;
  for (std::int64_t value = 1; value <= more_than_a_feed_holds; ++value) source.writer.write({2, -value});
  goes_on = true;
  goes_on.notify_all();
  await_holding([&] { return observer.more_may_be_lost(); });
  source.writer.write({2, 1});
  await_holding([&] { return observer.lost() > 0; });
  CHECK(observer.more_may_be_lost());
  quiet.write({1, 2});
  await_holding([&] { return !observer.more_may_be_lost(); });
}

TEST_CASE("an observer of a topic reads writers of its partition alone, those that come later, too") {
  const Domain here;
  const auto in = [](const char* name) { return dds::pub::qos::PublisherQos() << Partition(name); };
  Source source("readings", in("north"));
  const DomainObserver domain(0);
  const auto north = dds::sub::qos::SubscriberQos() << Partition("north");
  TopicObserver<Reading> observer(domain, "readings", keeps(10), north);
  await_fed(observer, source.writer);
  dds::pub::DataWriter<Reading> other(dds::pub::Publisher(source.participant, in("south")), source.topic);
  dds::pub::DataWriter<Reading> later(dds::pub::Publisher(source.participant, in("north")), source.topic);
  other.write({1, 1});
  later.write({1, 2});
  source.writer.write({1, 3});
  const auto taken = take_so_many(observer, 2);
  CHECK(taken[0].data().value == 2);
  CHECK(taken[1].data().value == 3);
  CHECK(observer.lost() == 0);
}

TEST_CASE("an observer of a topic asks the program which samples it wants") {
  const Domain here;
  Source source;
  const DomainObserver domain(0);
  const auto even = [](const Reading& each) { return each.sensor == 0 || each.value % 2 == 0; };
  TopicObserver<Reading> observer(domain, "readings", keeps(10), {}, even);
  await_fed(observer, source.writer);
  for (std::int64_t value = 1; value <= 4; ++value) source.writer.write({1, value});
  const auto taken = take_so_many(observer, 2);
  CHECK(taken[0].data().value == 2);
  CHECK(taken[1].data().value == 4);
}

TEST_CASE("an observer of a topic keeps the domain's, whichever of the two a program lets go of first") {
  const Domain here;
  Source source;
  std::optional<DomainObserver> domain(0);
  const std::weak_ptr<topics::DomainObserver> kept = domain->delegate();
  std::optional<TopicObserver<Reading>> observer(std::in_place, *domain, "readings");
  domain.reset();
  await_fed(*observer, source.writer);
  CHECK_FALSE(kept.expired());
  observer.reset();
  CHECK(kept.expired());
}

TEST_CASE("an observer may be there before its topic, and outlive the participants that have it") {
  const Domain here;
  const DomainObserver domain(0);
  TopicObserver<Reading> observer(domain, "readings", keeps(1));
  for (const std::int64_t value : {1, 2}) {
    Source source;
    std::optional<std::int64_t> read;
    WaitSet waitset;
    waitset += StatusCondition(observer);
    // It looks for the new members by itself; what is written meanwhile is not for it.
    while (read != value) {
      source.writer.write({1, value});
      try {
        waitset.wait(dds::core::Duration::from_millisecs(20));
      } catch (const dds::core::TimeoutError&) {
      }
      for (const auto& each : observer.take()) {
        if (each.info().valid()) read = each.data().value;
      }
    }
  }
}

TEST_CASE("an observer refuses a topic that the domain has with another type, before and after it begins") {
  const Domain here;
  const DomainObserver domain(0);
  TopicObserver<OtherReading> early(domain, "readings");
  Source source;
  try {
    static_cast<void>(take_so_many(early, 1));
    FAIL("it reads another type");
  } catch (const dds::core::PreconditionNotMetError& thrown) {
    CHECK_THAT(thrown.what(), Catch::Contains("topic readings: its type is another one at node 0"));
  }
  CHECK_THROWS_AS(TopicObserver<OtherReading>(domain, "readings"), dds::core::PreconditionNotMetError);
}

TEST_CASE("what an observer cannot do is refused, with the policy") {
  const Domain here;
  Source source;
  const DomainObserver domain(0);
  const auto period = dds::core::Duration::from_secs(1);
  const std::vector<std::pair<std::string, dds::sub::qos::DataReaderQos>> refused{
      {"policy Durability", keeps(1) << Durability::TransientLocal()},
      {"policy Reliability", all_of()},
      {"policy Liveliness", keeps(1) << Liveliness(LivelinessKind::AUTOMATIC, period)},
      {"policy Deadline", keeps(1) << Deadline(period)},
      {"policy ReaderDataLifecycle", keeps(1) << ReaderDataLifecycle(period, period)},
  };
  for (const auto& [words, qos] : refused) {
    try {
      TopicObserver<Reading>(domain, "readings", qos);
      FAIL(words);
    } catch (const dds::core::UnsupportedError& thrown) {
      CHECK_THAT(thrown.what(), Catch::StartsWith(words));
    }
  }
  CHECK_THROWS_AS(TopicObserver<Reading>(domain, ""), dds::core::InvalidArgumentError);
  CHECK_THROWS_AS(DomainObserver(233), dds::core::InvalidArgumentError);
}

}  // namespace spindrift::test
