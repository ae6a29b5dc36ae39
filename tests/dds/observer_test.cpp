// Observers of a domain, beside participants that have types.
#include <functional>
#include <optional>

#include <catch2/catch.hpp>

#include <spindrift/dds/domain_observer.hpp>
#include <spindrift/dds/dynamic_participant.hpp>

#include "dds_fixture.hpp"

namespace spindrift::test {
namespace {

using topics::DomainObserver;
using topics::DynamicParticipant;
using topics::DynamicRead;

constexpr std::chrono::seconds patience(20);

void await(const std::function<bool()>& holds) {
  const auto late = std::chrono::steady_clock::now() + patience;
  for (std::uint64_t seen = DynamicParticipant::changes(); !holds(); seen = DynamicParticipant::changes()) {
    REQUIRE(std::chrono::steady_clock::now() < late);
    DynamicParticipant::await_change(seen, late);
  }
}

topics::AnnouncedTopic awaited(const DomainObserver& observer, const std::string& name) {
  std::optional<topics::AnnouncedTopic> found;
  await([&] {
    for (topics::AnnouncedTopic& each : observer.topics()) {
      if (each.name == name) found = std::move(each);
    }
    return found.has_value();
  });
  return *found;
}

std::vector<DynamicRead> take_so_many(topics::DynamicReader& reader, std::size_t count) {
  std::vector<DynamicRead> all;
  await([&] {
    for (DynamicRead& each : reader.take()) all.push_back(std::move(each));
    return all.size() >= count;
  });
  return all;
}

}  // namespace

TEST_CASE("an observer reads samples and the ends of instances, and is among nobody's endpoints") {
  const Domain domain;
  const dds::domain::DomainParticipant typed(0);
  const dds::topic::Topic<Reading> topic(typed, "readings");
  dds::pub::DataWriter<Reading> writer(dds::pub::Publisher(typed), topic);
  const DomainObserver observer(0, "", {});
  topics::DynamicReader reader = observer.read(awaited(observer, "readings"), {});
  writer.write({4, 15});
  writer.dispose_instance({4, 0});
  const auto read = take_so_many(reader, 2);
  CHECK(read[0].sample->json().dump() == R"({"f0":4,"f1":15})");
  CHECK(read[1].about.instance_state == topics::instance_disposed);
  CHECK(reader.lost() == 0);
  CHECK(writer.publication_matched_status().current_count() == 0);
  CHECK(awaited(observer, "readings").readers.empty());
}

TEST_CASE("an observer reads topics and writers that come after it, and hears that writers are gone") {
  const Domain domain;
  const dds::domain::DomainParticipant first(0);
  const DomainObserver observer(0, "", {});
  CHECK(observer.suffices());
  const dds::topic::Topic<Reading> topic(first, "later");
  topics::DynamicReader reader = observer.read(awaited(observer, "later"), {});
  {
    const dds::domain::DomainParticipant second(0);
    const dds::topic::Topic<Reading> same(second, "later");
    dds::pub::qos::DataWriterQos qos(same.qos());
    qos << dds::core::policy::WriterDataLifecycle::ManuallyDisposeUnregisteredInstances();
    dds::pub::DataWriter<Reading> writer(dds::pub::Publisher(second), same, qos);
    writer.write({1, 2});
    CHECK(take_so_many(reader, 1)[0].sample != nullptr);
  }
  CHECK(take_so_many(reader, 1)[0].about.instance_state == topics::instance_no_writers);
}

TEST_CASE("an observer reads a topic again that all participants have left and others make anew") {
  const Domain domain;
  const DomainObserver observer(0, "", {});
  CHECK(observer.suffices());
  std::optional<topics::DynamicReader> reader;
  for (const std::int64_t value : {1, 2}) {
    const dds::domain::DomainParticipant typed(0);
    const dds::topic::Topic<Reading> topic(typed, "readings");
    dds::pub::DataWriter<Reading> writer(dds::pub::Publisher(typed), topic);
    if (!reader) reader.emplace(observer.read(awaited(observer, "readings"), {}));
    std::optional<std::int64_t> read;
    // It looks for the new members by itself; what is written meanwhile is not for it.
    while (read != value) {
      writer.write({1, value});
      const std::uint64_t seen = DynamicParticipant::changes();
      for (const DynamicRead& each : reader->take()) {
        if (each.sample != nullptr) read = each.sample->json()["f1"].get<std::int64_t>();
      }
      if (read != value)
        DynamicParticipant::await_change(seen, std::chrono::steady_clock::now() + std::chrono::milliseconds(20));
    }
    CHECK(reader->waits_for().empty());
  }
  await([&] { return !reader->waits_for().empty(); });
  CHECK_THAT(reader->waits_for(), Catch::Contains("a member of group"));
  CHECK(reader->lost() == 0);
}

TEST_CASE("an observer that keeps all up to a bound drops what is beyond it, and counts that") {
  const Domain domain;
  const dds::domain::DomainParticipant typed(0);
  const dds::topic::Topic<Reading> topic(typed, "readings");
  dds::pub::DataWriter<Reading> writer(dds::pub::Publisher(typed), topic);
  const DomainObserver observer(0, "", {});
  topics::DynamicReader bounded = observer.read(awaited(observer, "readings"), {.bytes_max = 10'000});
  constexpr std::size_t written = 500;
  for (std::size_t each = 0; each < written; ++each) writer.write({1, static_cast<std::int64_t>(each)});
  await([&] { return bounded.lost() > written - 30; });
  const std::size_t kept = bounded.take().size();
  CHECK(kept > 10);
  await([&] { return bounded.lost() == written - kept; });
}

TEST_CASE("an observer is given no history, and holds up nobody") {
  const Domain domain;
  const dds::domain::DomainParticipant typed(0);
  const dds::topic::Topic<Reading> topic(typed, "readings");
  const DomainObserver observer(0, "", {});
  const auto announced = awaited(observer, "readings");
  for (const topics::DynamicReading& how : {topics::DynamicReading{.from_last = true}, {.held_max = 10}}) {
    try {
      static_cast<void>(observer.read(announced, how));
      FAIL("it is read");
    } catch (const Exception& thrown) {
      CHECK(thrown.error().kind() == ErrorKind::unsupported);
      CHECK(thrown.error().place() == "topic readings");
    }
  }
}

}  // namespace spindrift::test
