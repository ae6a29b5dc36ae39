// Profiles of qualities out of files.
#include <catch2/catch.hpp>

#include <fstream>
#include <sstream>

#include <spindrift/dds/qos_keys.hpp>
#include <spindrift/dds/qos_profiles.hpp>
#include <spindrift/dds/qos_provider.hpp>

#include "dds_fixture.hpp"

using namespace spindrift::test;
using namespace dds::core::policy;
using Catch::Matchers::Contains;
using dds::core::Duration;
using dds::core::InvalidArgumentError;
using dds::core::QosProvider;
using spindrift::topics::QosProfiles;

namespace {

/// A file in a directory of this test's own.
class ProfileFile {
 public:
  explicit ProfileFile(const std::string& text) : path_(domain_.directory() + "/qos.cfg") { std::ofstream(path_) << text; }
  [[nodiscard]] std::string uri() const { return "file://" + path_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  Domain domain_;
  std::string path_;
};

std::string fault_of(const std::string& text) {
  return words_of<InvalidArgumentError>([&] { const QosProfiles profiles(text, "qos.cfg"); });
}

}  // namespace

TEST_CASE("a profile sets policies over the defaults of each entity that has them") {
  const ProfileFile file(
      "# all of them\n"
      "[QOS/DEFAULT]\n"
      "reliability_max_blocking_time = 7ms\n"
      "[QOS/sensors]\n"
      "base = DEFAULT          ; its keys come first\n"
      "durability = transient_local\n"
      "history_depth = 5\n"
      "partition = 'east/#1, west'\n"
      "ownership = exclusive\n"
      "[QOS/sensors/datareader]\n"
      "reliability = reliable\n"
      "history = keep_all\n"
      "[QOS/sensors/datawriter]\n"
      "ownership_strength = -3\n"
      "user_data = 0x01ff\n");
  const QosProvider provider(file.uri(), "sensors");
  const auto reader = provider.datareader_qos();
  CHECK(reader.policy<Reliability>() == Reliability::Reliable(Duration::from_millisecs(7)));
  CHECK(reader.policy<History>() == History(HistoryKind::KEEP_ALL, 5));
  CHECK(reader.policy<Durability>() == Durability::TransientLocal());
  const auto writer = provider.datawriter_qos();
  CHECK(writer.policy<History>() == History::KeepLast(5));
  CHECK(writer.policy<OwnershipStrength>().value() == -3);
  CHECK(writer.policy<UserData>().value() == std::vector<std::uint8_t>{1, 255});
  CHECK(writer.policy<Ownership>() == Ownership::Exclusive());
  CHECK(provider.publisher_qos().policy<Partition>().name() == dds::core::StringSeq{"east/#1", "west"});
  CHECK(provider.subscriber_qos() == provider.publisher_qos());
  CHECK(provider.topic_qos().policy<Durability>() == Durability::TransientLocal());
  CHECK(provider.participant_qos() == dds::domain::qos::DomainParticipantQos());
  CHECK(provider.datareader_qos("DEFAULT").policy<Reliability>() ==
        Reliability(ReliabilityKind::BEST_EFFORT, Duration::from_millisecs(7)));
  CHECK(QosProvider(file.path()).topic_qos().policy<Reliability>().max_blocking_time() == Duration::from_millisecs(7));
  CHECK_THAT(words_of<InvalidArgumentError>([&] { static_cast<void>(provider.topic_qos("others")); }),
             Contains("no profile others") && Contains("DEFAULT, sensors"));
  CHECK_THROWS_AS(QosProvider(file.uri(), "others"), InvalidArgumentError);
}

TEST_CASE("every policy has a key, and every key is in the documentation and sets its own policy") {
  std::set<std::string> policies;
  std::ifstream from(SPINDRIFT_TREE "/docs/dds.md");
  std::stringstream documentation;
  documentation << from.rdbuf();
  for (const auto& key : spindrift::topics::qos_keys()) {
    INFO(key.name);
    policies.insert(std::string(key.policy));
    CHECK_THAT(documentation.str(), Contains("`" + std::string(key.name) + "`"));
    CHECK(spindrift::topics::find_qos_key(key.name) == &key);
    const spindrift::topics::AllQos before;
    spindrift::topics::AllQos after;
    // One of these is a value that is not the default.
    bool changed = false;
    for (const char* value : {"0x01", "9", "persistent", "keep_all", "group", "true", "false", "3ms", "exclusive",
                              "manual_by_topic", "a", "best_effort", "by_source_timestamp"}) {
      if (key.set(after, value) && after != before) changed = true;
      if (changed) break;
    }
    CHECK(changed);
    before.for_each([&]<class Policy>(const Policy& policy) {
      CHECK((policy == after.policy<Policy>()) == (policy_name<Policy>::name() != key.policy));
    });
  }
  CHECK(policies == spindrift::topics::policy_names_of(spindrift::topics::AllQos()));
}

TEST_CASE("whatever is wrong in a file of profiles is said with its line, the cause and the fix, all at once") {
  CHECK_THAT(fault_of("[QOS/a]\nhistroy = keep_all\n"),
             Contains("qos.cfg:2: there is no key histroy; fix: did you mean history?"));
  CHECK_THAT(fault_of("[QOS/a]\nhistory = keep_some\n"),
             Contains("qos.cfg:2: history is no \"keep_some\"; fix: write keep_last or keep_all"));
  CHECK_THAT(fault_of("[QOS/a]\ndeadline_period = 3\n"), Contains("qos.cfg:2") && Contains("10ms"));
  CHECK_THAT(fault_of("[QOS/a]\ndeadline_period = -1ms\n"), Contains("qos.cfg:2"));
  CHECK_THAT(fault_of("[QOS/a]\ndeadline_period = 10000000000s\n"), Contains("qos.cfg:2"));
  CHECK_THAT(fault_of("[QOS/a]\nuser_data = 0x0\n"), Contains("qos.cfg:2"));
  CHECK_THAT(fault_of("[DERECHO]\n"), Contains("qos.cfg:1: there is no section [DERECHO]"));
  CHECK_THAT(fault_of("[QOS/a]\n[QOS/a/writer]\n"), Contains("qos.cfg:2") && Contains("datawriter"));
  CHECK_THAT(fault_of("[QOS/a/topic]\n"), Contains("qos.cfg:1: profile a has no section of its own"));
  CHECK_THAT(fault_of("[QOS/a]\n[QOS/a/datareader]\nownership_strength = 1\n"),
             Contains("qos.cfg:3: a datareader has no policy OwnershipStrength") && Contains("datawriter"));
  CHECK_THAT(fault_of("[QOS/a]\nbase = b\n"), Contains("qos.cfg:2: there is no profile b") && Contains("one of: a"));
  CHECK_THAT(fault_of("[QOS/a]\nbase = b\n[QOS/b]\nbase = a\n"), Contains("qos.cfg:2: the profile is based on itself"));
  CHECK_THAT(fault_of("[QOS/a]\nhistory_depth = 1\nhistory_depth = 2\n"), Contains("qos.cfg:3") && Contains("twice"));
  CHECK_THAT(fault_of("[QOS/a]\n\n[QOS/a]\n"), Contains("qos.cfg:3") && Contains("on line 1"));
  CHECK_THAT(fault_of("history_depth = 1\n"), Contains("qos.cfg:1") && Contains("before the first section"));
  CHECK_THAT(fault_of("[QOS/a\n"), Contains("qos.cfg:1") && Contains("is not a section"));
  CHECK_THAT(fault_of("[QOS/a]\npartition = 'x\n"), Contains("qos.cfg:2") && Contains("closing quote"));
  CHECK_THAT(fault_of("[QOS/a]\nhello\n"), Contains("qos.cfg:2") && Contains("key = value"));
  const std::string two = fault_of("[QOS/a]\nhello\nhistory = x\n");
  CHECK_THAT(two, Contains("qos.cfg:2") && Contains("qos.cfg:3"));
}

TEST_CASE("a file that is not there, and a URI that names none, are refused") {
  CHECK_THAT(words_of<InvalidArgumentError>([] { const QosProvider provider("file:///no/such/qos.cfg"); }),
             Contains("/no/such/qos.cfg") && Contains("No such file"));
  CHECK_THROWS_AS(QosProvider("https://example.com/qos.cfg"), dds::core::UnsupportedError);
}
