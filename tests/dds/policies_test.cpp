// Policies: what is refused, what contradicts itself, and which writers and readers match.
#include <catch2/catch.hpp>

#include <spindrift/dds/settings.hpp>

#include "dds_fixture.hpp"

using namespace spindrift::test;
using namespace spindrift::topics;
using namespace dds::core::policy;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using dds::core::Duration;
using dds::core::InconsistentPolicyError;
using dds::core::InvalidArgumentError;
using dds::core::UnsupportedError;
using dds::pub::qos::DataWriterQos;
using dds::pub::qos::PublisherQos;
using dds::sub::qos::DataReaderQos;
using dds::topic::qos::TopicQos;

namespace {

template <class Expected = UnsupportedError>
std::string of_writer(const DataWriterQos& qos, const PublisherQos& publisher = {}, const TopicQos& topic = {}) {
  return words_of<Expected>([&] {
    check(publisher);
    static_cast<void>(offered(qos, publisher, topic));
    static_cast<void>(writer_rules(qos));
  });
}
template <class Expected = UnsupportedError>
std::string of_reader(const DataReaderQos& qos) {
  return words_of<Expected>([&] {
    static_cast<void>(requested(qos, {}, {}));
    static_cast<void>(cache_rules(qos));
  });
}
std::string refusal(const std::string& policy) { return "policy " + policy + " is not supported so: "; }

}  // namespace

TEST_CASE("every policy that is not supported is refused by its name") {
  CHECK_THAT(of_writer({}, PublisherQos() << Presentation(PresentationAccessScopeKind::GROUP)),
             StartsWith(refusal("Presentation")));
  CHECK_THAT(of_writer({}, PublisherQos() << Presentation(PresentationAccessScopeKind::TOPIC, true)),
             StartsWith(refusal("Presentation")));
  CHECK_THAT(of_writer(DataWriterQos() << TransportPriority(1)), StartsWith(refusal("TransportPriority")));
  CHECK_THAT(of_writer(DataWriterQos() << DurabilityService(Duration(1, 0))), StartsWith(refusal("DurabilityService")));
  CHECK_THAT(of_writer(DataWriterQos() << DurabilityService(Duration::zero(), HistoryKind::KEEP_ALL)),
             StartsWith(refusal("DurabilityService")));
  CHECK_THAT(of_writer(DataWriterQos() << DurabilityService(Duration::zero(), HistoryKind::KEEP_LAST, 1, 10)),
             StartsWith(refusal("DurabilityService")));
  CHECK_THAT(of_writer(DataWriterQos() << Durability::TransientLocal() << History::KeepAll()),
             StartsWith(refusal("History")));
}

TEST_CASE("policies that contradict each other, and values out of their range, are refused") {
  CHECK_FALSE(
      of_reader<InconsistentPolicyError>(DataReaderQos() << History::KeepLast(5) << ResourceLimits(10, 10, 4)).empty());
  CHECK_FALSE(of_reader<InconsistentPolicyError>(DataReaderQos() << History::KeepAll() << ResourceLimits(3, 10, 4)).empty());
  CHECK_FALSE(
      of_reader<InconsistentPolicyError>(DataReaderQos() << Deadline(Duration(1, 0)) << TimeBasedFilter(Duration(2, 0)))
          .empty());
  CHECK_FALSE(of_writer<InconsistentPolicyError>(DataWriterQos() << Durability::Transient(), {},
                                                 TopicQos() << Reliability::BestEffort())
                  .empty());
  CHECK_FALSE(
      of_writer<InconsistentPolicyError>({}, PublisherQos() << Presentation(PresentationAccessScopeKind::TOPIC, false, true),
                                         TopicQos() << Reliability::BestEffort())
          .empty());
  CHECK_FALSE(words_of<InconsistentPolicyError>([] {
                check(TopicQos() << Reliability::BestEffort() << Durability::Transient());
              }).empty());
  CHECK_FALSE(of_reader<InvalidArgumentError>(DataReaderQos() << History::KeepLast(0)).empty());
  CHECK_FALSE(of_reader<InvalidArgumentError>(DataReaderQos() << ResourceLimits(0)).empty());
  CHECK_FALSE(of_reader<InvalidArgumentError>(DataReaderQos() << Deadline(Duration::zero())).empty());
  CHECK_FALSE(of_writer<InvalidArgumentError>(DataWriterQos() << Liveliness::ManualByTopic(Duration::zero())).empty());
  CHECK_FALSE(
      of_writer<InvalidArgumentError>(DataWriterQos() << DurabilityService(Duration::zero(), HistoryKind::KEEP_LAST, 0))
          .empty());
  CHECK_FALSE(of_writer<InvalidArgumentError>({}, PublisherQos() << Partition(std::string(300, 'x'))).empty());
  const std::vector<std::uint8_t> bytes(opaque_bytes_max + 1);
  CHECK_FALSE(of_writer<InvalidArgumentError>(DataWriterQos() << UserData(bytes)).empty());
  CHECK_FALSE(of_reader<InvalidArgumentError>(DataReaderQos() << UserData(bytes)).empty());
  CHECK_FALSE(of_writer<InvalidArgumentError>({}, PublisherQos() << GroupData(bytes)).empty());
  CHECK_FALSE(words_of<InvalidArgumentError>([&] { check(TopicQos() << TopicData(bytes)); }).empty());
  CHECK_FALSE(
      words_of<InvalidArgumentError>([&] { check(dds::domain::qos::DomainParticipantQos() << UserData(bytes)); }).empty());
}

TEST_CASE("qualities are put in with <<, taken out with >>, and go from a topic to its writers") {
  TopicQos topic;
  topic << Durability::Transient() << History::KeepLast(7) << Lifespan(Duration(2, 0));
  DataWriterQos writer = topic;
  writer << OwnershipStrength(3);
  History history;
  writer >> history;
  CHECK(history.depth() == 7);
  CHECK(writer.policy<Durability>().kind() == DurabilityKind::TRANSIENT);
  CHECK(writer.policy<Lifespan>().duration() == Duration(2, 0));
  CHECK(writer_rules(writer).lifespan_ns == 2'000'000'000);
  CHECK(offered(writer, {}, topic).strength == 3);
  CHECK(spindrift::topics::omg_reader_qos().policy<Reliability>().kind() == ReliabilityKind::BEST_EFFORT);
}

TEST_CASE("a writer that offers less than a reader requests does not match it, policy by policy") {
  const EndpointQos least = offered(DataWriterQos() << Reliability::BestEffort(), {}, {});
  const auto id = [&](const DataReaderQos& qos, const PublisherQos& subscriber = {}) {
    const auto found = mismatches(least, requested(qos, subscriber, {}));
    return found.size() == 1 ? found[0].policy_id : 0;
  };
  const DataReaderQos weakest = DataReaderQos() << Reliability::BestEffort();
  CHECK(mismatches(least, requested(weakest, {}, {})).empty());
  CHECK(id(DataReaderQos() << Reliability::Reliable()) == policy_id<Reliability>::value);
  CHECK(id(DataReaderQos(weakest) << Durability::TransientLocal()) == policy_id<Durability>::value);
  CHECK(id(DataReaderQos(weakest) << Deadline(Duration(1, 0))) == policy_id<Deadline>::value);
  const EndpointQos lazy = offered(DataWriterQos() << LatencyBudget(Duration(1, 0)), {}, {});
  CHECK(mismatches(lazy, requested(DataReaderQos(weakest) << LatencyBudget(Duration(2, 0)), {}, {})).empty());
  CHECK(mismatches(lazy, requested(weakest, {}, {})).at(0).policy_id == policy_id<LatencyBudget>::value);
  CHECK(id(DataReaderQos(weakest) << Liveliness::ManualByTopic()) == policy_id<Liveliness>::value);
  CHECK(id(DataReaderQos(weakest) << Liveliness(LivelinessKind::AUTOMATIC, Duration(1, 0))) == policy_id<Liveliness>::value);
  const EndpointQos lively = offered(DataWriterQos() << Liveliness::ManualByTopic(Duration(1, 0)), {}, {});
  CHECK(mismatches(lively, requested(DataReaderQos(weakest) << Liveliness::ManualByParticipant(Duration(2, 0)), {}, {}))
            .empty());
  CHECK(id(DataReaderQos(weakest) << Ownership::Exclusive()) == policy_id<Ownership>::value);
  CHECK(id(DataReaderQos(weakest) << DestinationOrder::SourceTimestamp()) == policy_id<DestinationOrder>::value);
  CHECK(id(weakest, PublisherQos() << Presentation(PresentationAccessScopeKind::TOPIC)) == policy_id<Presentation>::value);
  const EndpointQos most = offered(DataWriterQos() << Durability::Persistent() << Deadline(Duration(1, 0)), {}, {});
  CHECK(mismatches(most, requested(DataReaderQos() << Durability::Transient() << Deadline(Duration(2, 0)), {}, {})).empty());
}

TEST_CASE("partitions meet by name or wildcard, and none is the empty name") {
  CHECK(partitions_meet({}, {}));
  CHECK(partitions_meet({}, {""}));
  CHECK(partitions_meet({"a", "b"}, {"b"}));
  CHECK(partitions_meet({"a*"}, {"abc"}));
  CHECK(partitions_meet({"abc"}, {"a?c"}));
  CHECK_FALSE(partitions_meet({"a"}, {}));
  CHECK_FALSE(partitions_meet({"a"}, {"b"}));
}

TEST_CASE("endpoints survive their own bytes, and bytes that are cut off or impossible are none") {
  EndpointFacts facts{.id = {3, 4, 5}, .kind = EndpointKind::reader, .topic = "readings", .type = "T{i32}"};
  facts.qos = requested(DataReaderQos() << Deadline(Duration(1, 0)),
                        PublisherQos() << Partition(dds::core::StringSeq{"a", "b"}), {});
  spindrift::ByteWriter writer;
  put(writer, facts);
  const std::vector<std::byte> bytes = writer.take();
  spindrift::ByteReader whole(bytes);
  CHECK(get_endpoint(whole) == facts);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    spindrift::ByteReader cut(std::span<const std::byte>(bytes).first(size));
    CHECK_FALSE(get_endpoint(cut));
  }
  auto wrong = bytes;
  wrong[16] = std::byte{9};  // the kind
  spindrift::ByteReader reader(wrong);
  CHECK_FALSE(get_endpoint(reader));
}

TEST_CASE("messages that are no samples are told from such") {
  SampleEnvelope header;
  header.writer = {1, 2, 3};
  header.sequence = 1;
  const auto parsed = [&](std::uint32_t sender) {
    return parse_sample(std::as_bytes(std::span<const SampleEnvelope>(&header, 1)), sender).has_value();
  };
  CHECK(parsed(1));
  CHECK_FALSE(parsed(2));
  header.depth = 1;
  CHECK_FALSE(parsed(1));
  header.durability = 1;
  CHECK(parsed(1));
  header.kind = 5;
  CHECK_FALSE(parsed(1));
  header.kind = 0;
  header.form = 0;
  CHECK_FALSE(parsed(1));
  const std::vector<std::byte> shorter(8);
  CHECK_FALSE(parse_sample(shorter, 1));
}

TEST_CASE("lengths and points in time are reckoned with, and what has no end keeps none") {
  using dds::core::Time;
  CHECK(Duration::from_secs(1.5).to_millisecs() == 1500);
  CHECK(Duration::from_secs(0.25) + Duration::from_millisecs(750) == Duration::from_secs(1));
  CHECK(Duration::from_secs(3) / 2 == Duration::from_secs(1.5));
  CHECK(Duration::from_secs(1e300) == Duration::infinite());
  CHECK(Duration::infinite() + Duration::from_secs(1) == Duration::infinite());
  CHECK(Time::from_secs(5) - Time::from_millisecs(4500) == Duration::from_secs(0.5));
  CHECK(Time::from_secs(5) + Duration::from_secs(1) == Time::from_secs(6));
}

TEST_CASE("a policy is set part by part as it is made whole") {
  CHECK(Presentation().access_scope(PresentationAccessScopeKind::TOPIC).ordered_access(true) ==
        Presentation::TopicAccessScope(false, true));
  CHECK(Liveliness().kind(LivelinessKind::MANUAL_BY_TOPIC).lease_duration(Duration::from_secs(1)) ==
        Liveliness::ManualByTopic(Duration::from_secs(1)));
  CHECK(ReaderDataLifecycle().autopurge_disposed_samples_delay(Duration::from_secs(1)) ==
        ReaderDataLifecycle::AutoPurgeDisposedSamples(Duration::from_secs(1)));
  CHECK(WriterDataLifecycle().autodispose_unregistered_instances(false) ==
        WriterDataLifecycle::ManuallyDisposeUnregisteredInstances());
  CHECK(DurabilityService().history_depth(3).max_samples(5) ==
        DurabilityService(Duration::zero(), HistoryKind::KEEP_LAST, 3, 5));
  CHECK(UserData().value({1, 2}) == UserData({1, 2}));
}
