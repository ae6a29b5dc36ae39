// Late joiners: what they get, and what is left of those that go.
#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <fstream>
#include <future>
#include <thread>

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

namespace {

dds::pub::qos::DataWriterQos keeps(Durability durability, std::int32_t depth) {
  return dds::pub::qos::DataWriterQos() << durability << History::KeepLast(static_cast<std::uint32_t>(depth))
                                        << DurabilityService(Duration::zero(), HistoryKind::KEEP_LAST, depth)
                                        << WriterDataLifecycle::ManuallyDisposeUnregisteredInstances();
}
dds::sub::qos::DataReaderQos asks(Durability durability) {
  return dds::sub::qos::DataReaderQos() << durability << Reliability::Reliable() << History::KeepAll();
}
std::vector<std::int64_t> values(DataReader<Reading>& reader, std::size_t count) {
  std::vector<std::int64_t> all;
  for (const auto& each : take(reader, count)) all.push_back(each.data().value);
  return all;
}

dds::pub::qos::DataWriterQos impatient() {
  return keeps(Durability::Volatile(), 1) << Reliability::Reliable(Duration::from_millisecs(10));
}
/// Writes to the one reader that it waits for, until that holds it up; how many samples.
std::int64_t write_until_full(DataWriter<Reading>& writer) {
  await(writer, [&] { return dds::pub::matched_subscriptions(writer).size() == 1; });
  std::int64_t written = 0;
  const auto write = [&] {
    for (;; ++written) writer.write({1, written});
  };
  CHECK_FALSE(words_of<dds::core::TimeoutError>(write).empty());
  return written;
}

}  // namespace

TEST_CASE("a participant that comes later gets the last samples of each instance, each once, and then what follows") {
  const Durability durability = GENERATE(Durability::TransientLocal(), Durability::Transient());
  const Domain domain;
  const DomainParticipant one(0);
  const Topic<Reading> here(one, "readings");
  DataWriter<Reading> writer(Publisher(one), here, keeps(durability, 2));
  for (std::int64_t value : {1, 2, 3}) writer.write({1, value});
  writer.write({2, 20});
  writer.wait_for_acknowledgments(Duration::from_secs(20));
  const DomainParticipant other(0);
  const Topic<Reading> there(other, "readings");
  DataReader<Reading> reader(Subscriber(other), there, asks(durability));
  DataReader<Reading> volatile_reader(Subscriber(other), there, asks(Durability::Volatile()));
  writer.write({1, 4});
  CHECK(values(reader, 4) == std::vector<std::int64_t>{2, 3, 20, 4});
  CHECK(values(volatile_reader, 1) == std::vector<std::int64_t>{4});
}

TEST_CASE("of a writer that is gone TRANSIENT samples stay while a participant lives, and TRANSIENT_LOCAL ones do not") {
  const Domain domain;
  const DomainParticipant one(0);
  const Topic<Reading> kept(one, "kept"), local(one, "local");
  {
    const DomainParticipant other(0);
    const Topic<Reading> kept_there(other, "kept"), local_there(other, "local");
    DataWriter<Reading> keeper(Publisher(other), kept_there, keeps(Durability::Transient(), 1));
    DataWriter<Reading> forgetter(Publisher(other), local_there, keeps(Durability::TransientLocal(), 1));
    keeper.write({1, 7});
    forgetter.write({1, 8});
  }
  const DomainParticipant third(0);
  const Topic<Reading> kept_here(third, "kept"), local_here(third, "local");
  DataReader<Reading> reader(Subscriber(third), kept_here, asks(Durability::Transient()));
  DataReader<Reading> other_reader(Subscriber(third), local_here, asks(Durability::TransientLocal()));
  CHECK(values(reader, 1) == std::vector<std::int64_t>{7});
  CHECK(other_reader.take().length() == 0);
}

TEST_CASE("participants that come and go while others write miss nothing and get nothing twice") {
  const Domain domain;
  const DomainParticipant one(0);
  const Topic<Reading> here(one, "readings");
  DataWriter<Reading> writer(Publisher(one), here,
                             keeps(Durability::Transient(), 65535) << Reliability::Reliable(Duration::from_secs(20)));
  std::atomic<std::int64_t> written{0};
  std::jthread beside([&](const std::stop_token& stop) {
    for (; !stop.stop_requested(); ++written) {
      writer.write({1, written});
      if (written % 64 == 0) writer.wait_for_acknowledgments(Duration::from_secs(20));
    }
  });
  for (int round = 0; round < 5; ++round) {
    const DomainParticipant other(0);
    const Topic<Reading> there(other, "readings");
    DataReader<Reading> reader(Subscriber(other), there, asks(Durability::Transient()));
    const auto got = values(reader, 500);
    for (std::size_t i = 1; i < got.size(); ++i) REQUIRE(got[i] == got[i - 1] + 1);
    if (written < 60'000) CHECK(got[0] == 0);
  }
}

TEST_CASE("an instance that was disposed of is so for late joiners, too") {
  const Domain domain;
  const DomainParticipant one(0);
  const Topic<Reading> here(one, "readings");
  DataWriter<Reading> writer(Publisher(one), here, keeps(Durability::Transient(), 2));
  writer.write({1, 1});
  writer.dispose_instance(Reading{1, 0});
  writer.wait_for_acknowledgments(Duration::from_secs(20));
  const DomainParticipant other(0);
  const Topic<Reading> there(other, "readings");
  DataReader<Reading> reader(Subscriber(other), there, asks(Durability::Transient()));
  const auto got = reader.take();
  REQUIRE(got.length() == 2);
  CHECK(got[0].data().value == 1);
  CHECK(got[1].info().state().instance_state() == dds::sub::status::InstanceState::not_alive_disposed());
}

TEST_CASE("readers hear of writers whose process was killed, and get all that these had acknowledged") {
  const Domain domain;
  const pid_t child = ::fork();
  if (child == 0) {
    const DomainParticipant other(0);
    const Topic<Reading> there(other, "readings");
    DataWriter<Reading> writer(Publisher(other), there, keeps(Durability::Transient(), 100));
    await(writer, [&] { return !dds::pub::matched_subscriptions(writer).empty(); });
    for (std::int64_t value = 0; value < 100; ++value) writer.write({1, value});
    writer.wait_for_acknowledgments(Duration::from_secs(20));
    ::kill(::getpid(), SIGKILL);
  }
  REQUIRE(child > 0);
  const DomainParticipant one(0);
  const Topic<Reading> here(one, "readings");
  DataReader<Reading> reader(Subscriber(one), here, asks(Durability::Transient()));
  CHECK(values(reader, 100).back() == 99);
  await(reader, [&] { return reader.liveliness_changed_status().not_alive_count() == 1; });
  CHECK(reader.liveliness_changed_status().alive_count() == 0);
  CHECK(reader.subscription_matched_status().current_count() == 0);
  const auto news = reader.take();
  REQUIRE(news.length() == 1);
  CHECK(news[0].info().state().instance_state() == dds::sub::status::InstanceState::not_alive_no_writers());
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child);
  const DomainParticipant third(0);
  const Topic<Reading> again(third, "readings");
  DataReader<Reading> late(Subscriber(third), again, asks(Durability::Transient()));
  const auto kept = late.take();
  REQUIRE(kept.length() == 101);  // and one word of the instance, that nobody writes it any more
  CHECK(kept[0].data().value == 0);
  CHECK_FALSE(kept[100].info().valid());
}

// Three participants, so that two of them are a majority.
TEST_CASE("a reader without room gets all of a writer that was killed while it had none, as the others do") {
  const Domain domain;
  const pid_t child = ::fork();
  if (child == 0) {
    const DomainParticipant third(0);
    const Topic<Reading> topic(third, "readings");
    DataWriter<Reading> writer(Publisher(third), topic, keeps(Durability::Volatile(), 1));
    await(writer, [&] { return dds::pub::matched_subscriptions(writer).size() == 2; });
    for (std::int64_t value = 0; value < 500; ++value) writer.write({1, value});
    ::pause();
    ::_exit(1);
  }
  REQUIRE(child > 0);
  const DomainParticipant one(0);
  const DomainParticipant two(0);
  const Topic<Reading> here(one, "readings");
  const Topic<Reading> there(two, "readings");
  DataReader<Reading> slow(Subscriber(one), here, asks(Durability::Volatile()) << ResourceLimits(10));
  DataReader<Reading> other(Subscriber(two), there, asks(Durability::Volatile()));
  std::vector<std::int64_t> expected = values(other, 500);
  CHECK(::kill(child, SIGKILL) == 0);
  CHECK(::waitpid(child, nullptr, 0) == child);
  await(other, [&] { return other.subscription_matched_status().current_count() == 0; });
  DataWriter<Reading> after(Publisher(two), there, keeps(Durability::Volatile(), 1));
  after.write({1, 500});
  expected.push_back(500);
  CHECK(values(slow, 501) == expected);
  await(slow, [&] { return slow.subscription_matched_status().current_count() == 1; });
  CHECK(slow.liveliness_changed_status().not_alive_count() == 1);
}

TEST_CASE("what a writer had written comes though it ended while the window was full, and its process with it") {
  const Domain domain;
  const DomainParticipant one(0);
  const Topic<Reading> here(one, "readings");
  DataReader<Reading> slow(Subscriber(one), here, asks(Durability::Volatile()) << ResourceLimits(10));
  std::int64_t written = 0;
  std::jthread ends;
  {
    const DomainParticipant other(0);
    const Topic<Reading> there(other, "readings");
    DataWriter<Reading> writer(Publisher(other), there, impatient());
    written = write_until_full(writer);
    // Leaving waits until its messages are taken.
    ends = std::jthread([participant = other, topic = there, last = std::move(writer)] {});
  }
  const std::vector<std::int64_t> got = values(slow, static_cast<std::size_t>(written));
  CHECK(got.back() == written - 1);
  await(slow, [&] { return slow.subscription_matched_status().current_count() == 0; });
}

TEST_CASE("who comes while the last message of a writer that has ended finds no room is held up by nothing of it") {
  const Domain domain;
  const DomainParticipant one(0);
  const Topic<Reading> here(one, "readings");
  DataReader<Reading> slow(Subscriber(one), here, asks(Durability::Volatile()) << ResourceLimits(10));
  std::int64_t written = 0;
  const DomainParticipant other(0);
  const Topic<Reading> there(other, "readings");
  {
    DataWriter<Reading> writer(Publisher(other), there, impatient());
    written = write_until_full(writer);
  }
  CHECK(slow.subscription_matched_status().current_count() == 1);
  const DomainParticipant third(0);
  const Topic<Reading> late(third, "readings");
  DataReader<Reading> newcomer(Subscriber(third), late, asks(Durability::Volatile()));
  CHECK(values(slow, static_cast<std::size_t>(written)).back() == written - 1);
  DataWriter<Reading> after(Publisher(one), here, keeps(Durability::Volatile(), 1) << Reliability::Reliable());
  await(after, [&] { return dds::pub::matched_subscriptions(after).size() == 2; });
  after.write({2, -1});
  std::vector<std::int64_t> come;
  while (come.empty() || come.back() != -1) come.push_back(values(newcomer, 1).back());
  await(newcomer, [&] { return newcomer.subscription_matched_status().current_count() == 1; });
  await(slow, [&] { return slow.subscription_matched_status().current_count() == 1; });
}

TEST_CASE("who asked for a history of a participant that is gone before it answers waits for it no longer") {
  const Domain domain;
  const Signal held;
  const pid_t child = ::fork();
  if (child == 0) {
    const DomainParticipant other(0);
    const Topic<Reading> there(other, "readings");
    // A full reader holds the topic, and so the request for its history.
    DataReader<Reading> full(Subscriber(other), there, asks(Durability::Volatile()) << ResourceLimits(1));
    DataWriter<Reading> writer(Publisher(other), there, keeps(Durability::Transient(), 10));
    writer.write({1, 1});
    await(full, [&] { return full.read().length() == 1; });
    held.give();
    ::pause();
    ::_exit(1);
  }
  REQUIRE(child > 0);
  held.await();
  const DomainParticipant one(0);
  const Topic<Reading> here(one, "readings");
  const std::jthread killer([&] { ::kill(child, SIGKILL); });
  DataReader<Reading> reader(Subscriber(one), here, asks(Durability::Transient()));
  DataWriter<Reading> writer(Publisher(one), here, keeps(Durability::Transient(), 10));
  writer.write({1, 2});
  CHECK(values(reader, 1).back() == 2);
  CHECK(::waitpid(child, nullptr, 0) == child);
}

TEST_CASE("PERSISTENT samples want a logged subgroup of the layout, and are there when all have stopped and come again") {
  const Domain domain;
  CHECK_THAT(words_of<dds::core::UnsupportedError>([&] {
               const DomainParticipant one(0);
               const Topic<Reading> topic(one, "readings", dds::topic::qos::TopicQos() << Durability::Persistent());
             }),
             Contains("logged subgroup") && Contains("\"topics\""));
  const std::string file = domain.directory() + "/domain.cfg";
  std::ofstream(file)
      << "[DERECHO]\nlocal_id = 0\n[SPINDRIFT]\ngroup_name = logged\nmembers = 0\nfabric = shm\n[PERS]\nfile_path = "
      << domain.directory() << "/logs\n[LAYOUT]\njson_layout = '[{\"name\":\"dds-endpoints\",\"members\":[0]},"
      << "{\"name\":\"kept\",\"storage\":\"logged\",\"topics\":[\"readings\"],\"members\":[0]}]'\n";
  const auto join = [&] { return DomainParticipant(0, {}, file); };
  {
    const DomainParticipant one = join();
    const Topic<Reading> topic(one, "readings", dds::topic::qos::TopicQos() << Durability::Persistent());
    DataWriter<Reading> writer(Publisher(one), topic, keeps(Durability::Persistent(), 2));
    // As much is on the disk as was written when it is acknowledged, whatever else the topic's log has.
    const spindrift::Subgroup& log = topic.delegate()->subgroup();
    for (std::uint64_t written = 1; written <= 20; ++written) {
      writer.write({1, static_cast<std::int64_t>(written) - 18});
      writer.wait_for_acknowledgments(Duration::from_secs(20));
      CHECK(log.durable_version() >= written);
    }
    writer.write({1, 3});
    writer.wait_for_acknowledgments(Duration::from_secs(20));
  }
  const DomainParticipant again = join();
  const Topic<Reading> topic(again, "readings", dds::topic::qos::TopicQos() << Durability::Persistent());
  DataReader<Reading> reader(Subscriber(again), topic, asks(Durability::Persistent()));
  CHECK(values(reader, 2) == std::vector<std::int64_t>{2, 3});
}

TEST_CASE("PERSISTENT samples are there for all participants, for late joiners, and when all come again") {
  const Domain domain;
  const auto file = [&](int node) {
    const std::string name = domain.directory() + "/node" + std::to_string(node) + ".cfg";
    std::ofstream(name) << "[DERECHO]\nlocal_id = " << node
                        << "\n[SPINDRIFT]\ngroup_name = logged\nmembers = 0, 1, 2\nfounders = 0, 1\nfabric = shm\n"
                        << "[PERS]\nfile_path = " << domain.directory() << "/logs\n[LAYOUT]\njson_layout = '["
                        << R"({"name":"dds-endpoints","members":[0,1,2]},)"
                        << R"({"name":"kept","storage":"logged","topics":["readings"],"members":[0,1,2]}]')" << "\n";
    return name;
  };
  const auto join = [&](int node) { return DomainParticipant(0, {}, file(node)); };
  const auto both = [&] {
    auto second = std::async(std::launch::async, [&] { return join(1); });
    DomainParticipant first = join(0);
    return std::pair(first, second.get());
  };
  const auto kept = [](const DomainParticipant& at) {
    const Topic<Reading> topic(at, "readings", dds::topic::qos::TopicQos() << Durability::Persistent());
    DataReader<Reading> reader(Subscriber(at), topic, asks(Durability::Persistent()));
    return values(reader, 2);
  };
  const std::vector<std::int64_t> last{2, 3};
  {
    const auto [one, other] = both();
    const Topic<Reading> topic(one, "readings", dds::topic::qos::TopicQos() << Durability::Persistent());
    DataWriter<Reading> writer(Publisher(one), topic, keeps(Durability::Persistent(), 2));
    for (std::int64_t value : {1, 2, 3}) writer.write({1, value});
    writer.wait_for_acknowledgments(Duration::from_secs(20));
    CHECK(kept(other) == last);
    const DomainParticipant late = join(2);
    CHECK(kept(late) == last);
    CHECK(kept(one) == last);
  }
  for (int life = 0; life < 2; ++life) {
    const auto [one, other] = both();
    CHECK(kept(other) == last);
    CHECK(kept(one) == last);
  }
}

TEST_CASE("a configuration whose layout has no subgroup for endpoints is refused, and says what to add") {
  const Domain domain;
  const std::string file = domain.directory() + "/domain.cfg";
  std::ofstream(file) << "[DERECHO]\nlocal_id = 0\n[SPINDRIFT]\ngroup_name = bare\nmembers = 0\nfabric = shm\n[LAYOUT]\n"
                      << "json_layout = '[{\"name\":\"orders\",\"members\":[0]}]'\n";
  CHECK_THAT(words_of<dds::core::InvalidArgumentError>([&] { const DomainParticipant one(0, {}, file); }),
             Contains("no subgroup dds-endpoints") && Contains(file));
}
