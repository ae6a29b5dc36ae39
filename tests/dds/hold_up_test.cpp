// A topic that is held up: its writers are told by whom, and so says a status. Participants in processes of their own.
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <map>

#include <spindrift/group/status.hpp>

#include "dds_fixture.hpp"

using namespace spindrift::test;
using Catch::Matchers::Contains;
using dds::core::Duration;
using dds::core::policy::Reliability;
using dds::core::policy::ResourceLimits;
using dds::domain::DomainParticipant;
using dds::pub::DataWriter;
using dds::pub::Publisher;
using dds::sub::DataReader;
using dds::sub::Subscriber;
using dds::topic::Topic;
using spindrift::group::MemberStatus;

namespace {

/// The statuses of the domain's members, by process.
std::map<std::uint64_t, MemberStatus> statuses(const Domain& domain) {
  std::map<std::uint64_t, MemberStatus> found;
  const std::string group = domain.directory() + "/" + spindrift::topics::domain_group_name(0);
  for (const auto& each : std::filesystem::directory_iterator(group + "/status")) {
    if (each.path().extension() != ".status") continue;
    const MemberStatus status = spindrift::value_or_throw(spindrift::group::read_status(each.path()));
    found.emplace(status.process, status);
  }
  return found;
}

/// The pause of that process's handler of the topic, as its status says.
std::optional<MemberStatus::Pause> pause_of(const Domain& domain, pid_t process, const std::string& topic) {
  const MemberStatus status = statuses(domain).at(static_cast<std::uint64_t>(process));
  for (const MemberStatus::SubgroupEntry& each : status.subgroups) {
    if (each.name == spindrift::topics::topic_subgroup_name(topic)) return each.paused;
  }
  return std::nullopt;
}

/// A process with a reader of all that has room for ten, which takes nothing until it is told.
[[noreturn]] void hold_up(const Signal& here, const Signal& go_on) {
  {
    const DomainParticipant participant(0);
    const Topic<Reading> topic(participant, "readings");
    DataReader<Reading> reader(Subscriber(participant), topic, all_of() << ResourceLimits(10));
    here.give();
    go_on.await();
    CHECK(take(reader, 1).size() >= 1);
  }
  ::_exit(0);
}

/// One like that, which says at last by its exit code whether all came, in order, of which that file has the number.
[[noreturn]] void take_all_later(const Signal& here, const Signal& go_on, const std::string& number) {
  bool all = true;
  {
    const DomainParticipant participant(0);
    const Topic<Reading> topic(participant, "readings");
    DataReader<Reading> reader(Subscriber(participant), topic, all_of() << ResourceLimits(10));
    here.give();
    go_on.await();
    std::size_t count = 0;
    std::ifstream(number) >> count;
    std::int64_t next = 0;
    for (const auto& each : take(reader, count)) all &= each.data().value == next++;
  }
  ::_exit(all ? 0 : 1);
}

/// One whose reader has the last sample alone, and is nobody's trouble.
[[noreturn]] void stand_by(const Signal& here, const Signal& end) {
  {
    const DomainParticipant participant(0);
    const Topic<Reading> topic(participant, "readings");
    const DataReader<Reading> reader(Subscriber(participant), topic);
    here.give();
    end.await();
  }
  ::_exit(0);
}

}  // namespace

TEST_CASE("a write that waits in vain names the participant whose reader has no room, and the status of that says so") {
  const Domain domain;
  const Signal full_here, go_on, quick_here, end;
  const pid_t full = ::fork();
  if (full == 0) hold_up(full_here, go_on);
  const pid_t quick = ::fork();
  if (quick == 0) stand_by(quick_here, end);
  REQUIRE((full > 0 && quick > 0));
  full_here.await();
  quick_here.await();
  const DomainParticipant one(0);
  const Topic<Reading> topic(one, "readings");
  DataWriter<Reading> writer(Publisher(one), topic,
                             dds::pub::qos::DataWriterQos() << Reliability::Reliable(Duration::from_millisecs(50)));
  await(writer, [&] { return dds::pub::matched_subscriptions(writer).size() == 2; });
  std::int64_t written = 0;
  const auto write_until_full = [&] {
    for (;; ++written) writer.write({1, written});
  };
  const std::string words = words_of<dds::core::TimeoutError>(write_until_full);
  const auto node = [&](pid_t process) {
    return "node " + std::to_string(statuses(domain).at(static_cast<std::uint64_t>(process)).node.value());
  };
  CHECK_THAT(words, Contains("the participant of " + node(full) + " takes no more of it now"));
  CHECK_THAT(words, !Contains(node(quick)) && !Contains(node(::getpid())));

  while (!pause_of(domain, full, "readings")) std::this_thread::yield();
  const auto pause = pause_of(domain, full, "readings");
  CHECK(pause->messages > 0);
  CHECK(pause->messages <= static_cast<std::uint64_t>(written));
  CHECK_FALSE(pause_of(domain, quick, "readings"));

  go_on.give();
  int status = 0;
  CHECK(::waitpid(full, &status, 0) == full);
  CHECK(status == 0);
  writer.write({1, written});  // nobody holds it up any more
  end.give();
  CHECK(::waitpid(quick, &status, 0) == quick);
  CHECK(status == 0);
}

TEST_CASE("a participant leaves while a reader elsewhere has no room, and what it wrote comes there later") {
  const Domain domain;
  const std::string number = domain.directory() + "/number";
  const Signal here, go_on;
  const pid_t full = ::fork();
  if (full == 0) take_all_later(here, go_on, number);
  REQUIRE(full > 0);
  here.await();
  std::int64_t written = 0;
  {
    const DomainParticipant participant(0);
    const Topic<Reading> topic(participant, "readings");
    DataWriter<Reading> writer(Publisher(participant), topic,
                               dds::pub::qos::DataWriterQos() << Reliability::Reliable(Duration::from_millisecs(50)));
    await(writer, [&] { return dds::pub::matched_subscriptions(writer).size() == 1; });
    const auto write_until_full = [&] {
      for (;; ++written) writer.write({1, written});
    };
    CHECK_FALSE(words_of<dds::core::TimeoutError>(write_until_full).empty());
  }
  std::ofstream(number) << written << std::flush;
  go_on.give();
  int status = 0;
  CHECK(::waitpid(full, &status, 0) == full);
  CHECK(status == 0);
}
