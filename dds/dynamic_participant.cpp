// Untyped entities, and their errors as those of the rooms below.
#include <spindrift/dds/dynamic_participant.hpp>

#include <algorithm>
#include <map>
#include <utility>

#include <spindrift/dds/domain_core.hpp>
#include <spindrift/dds/endpoint_entities.hpp>
#include <spindrift/dds/reader_core.hpp>
#include <spindrift/dds/settings.hpp>

namespace spindrift::topics {
namespace {

using namespace dds::core::policy;

constexpr std::uint32_t kept_of_instance = 1000;
/// About the bytes that a sample takes in a reader beside its own.
constexpr std::uint64_t sample_overhead = 400;

/// Calls, and throws what dds::core throws as Exception; its words have place, cause and fix.
template <class Call>
decltype(auto) inside(const Call& call) {
  const auto again = [](ErrorKind kind, const auto& thrown) { return Exception(Error(kind, thrown.what())); };
  try {
    return call();
  } catch (const dds::core::InvalidArgumentError& thrown) {
    throw again(ErrorKind::bad_argument, thrown);
  } catch (const dds::core::InconsistentPolicyError& thrown) {
    throw again(ErrorKind::bad_argument, thrown);
  } catch (const dds::core::PreconditionNotMetError& thrown) {
    throw again(ErrorKind::refused, thrown);
  } catch (const dds::core::TimeoutError& thrown) {
    throw again(ErrorKind::timed_out, thrown);
  } catch (const dds::core::UnsupportedError& thrown) {
    throw again(ErrorKind::unsupported, thrown);
  } catch (const dds::core::OutOfResourcesError& thrown) {
    throw again(ErrorKind::resource, thrown);
  } catch (const dds::core::AlreadyClosedError& thrown) {
    throw again(ErrorKind::group_closed, thrown);
  }
}

/// False: it timed out.
template <class Call>
bool in_time(const Call& call) {
  try {
    inside(call);
    return true;
  } catch (const Exception& thrown) {
    if (thrown.error().kind() != ErrorKind::timed_out) throw;
    return false;
  }
}

/// The endpoint with whose description the names of fields are known comes first.
void take_type(AnnouncedTopic& topic) {
  std::optional<Error> fault;
  for (const bool named : {true, false}) {
    for (const EndpointFacts& each : topic.participants) {
      if (each.named.empty() == named) continue;
      auto type = DynamicType::of(each);
      if (type) {
        topic.type = std::make_shared<const DynamicType>(std::move(type).value());
        return;
      }
      fault = type.error();
    }
  }
  topic.fault = std::move(fault);
}

/// Whether the sample is kept until it is taken; it counts from now on.
bool has_room(ReaderBacklog& backlog, const void* sample, std::uint64_t bytes_max) {
  const std::uint64_t bytes = sample_overhead + static_cast<const DynamicSample*>(sample)->bytes().size();
  if (backlog.bytes + bytes > bytes_max) {
    ++backlog.dropped;
    return false;
  }
  backlog.bytes += bytes;
  return true;
}

UserData user_data(const std::string& mark) { return UserData(std::vector<std::uint8_t>(mark.begin(), mark.end())); }

/// The ownership that the topic's endpoints have, which has to be one; without any, the topic's.
Ownership ownership_of(const AnnouncedTopic& topic) {
  for (const auto* const some : {&topic.writers, &topic.readers}) {
    if (!some->empty() && some->front().qos.ownership == 1) return Ownership::Exclusive();
  }
  return Ownership(static_cast<OwnershipKind>(topic.qos.ownership));
}

}  // namespace

std::vector<DynamicRead> DynamicReader::take() {
  std::vector<DynamicRead> all;
  // All that counts is taken below; what comes meanwhile counts until the next call.
  backlog_->bytes = 0;
  for (ReadSample& each : inside([&] { return entity_->get({}, true); })) {
    auto sample = std::static_pointer_cast<const DynamicSample>(each.data);
    all.push_back({std::move(sample), std::move(each)});
  }
  return all;
}

std::uint64_t DynamicReader::lost() const {
  std::uint64_t lost = 0;
  entity_->with_statuses(StatusBit::lost,
                         [&](ReaderStatuses& statuses) { lost = static_cast<std::uint64_t>(statuses.lost.total_count()); });
  return lost + backlog_->dropped;
}

bool DynamicWriter::write(const DynamicSample& sample) {
  return in_time([&] { entity_->write(sample.bytes(), sample.key(), std::nullopt); });
}

bool DynamicWriter::write(const DynamicSample& sample, std::int64_t source_timestamp) {
  const auto when = dds::core::Time::from_nanosecs(source_timestamp);
  return in_time([&] { entity_->write(sample.bytes(), sample.key(), when); });
}

bool DynamicWriter::dispose(const DynamicSample& of) {
  return in_time([&] { entity_->dispose(of.bytes(), of.key()); });
}

bool DynamicWriter::unregister(const DynamicSample& of) {
  return in_time([&] { entity_->unregister(of.bytes(), of.key()); });
}

bool DynamicWriter::is_delivered() {
  return in_time([&] { entity_->wait_for_acknowledgments(try_for); });
}

std::size_t DynamicWriter::readers() const { return entity_->matched().size(); }

DynamicParticipant::DynamicParticipant(std::uint32_t domain, const std::string& file,
                                       const std::vector<ConfigOverride>& overrides, DomainWatch watch)
    : entity_(std::make_shared<ParticipantEntity>(
          DomainCore::join(domain, told(dds::domain::qos::DomainParticipantQos()),
                           DomainCore::config(domain, file, overrides), JoinAs::onlooker, std::move(watch)))) {}

EndpointId DynamicParticipant::id() const { return entity_->core()->self(); }

std::vector<AnnouncedTopic> DynamicParticipant::topics() const {
  std::map<std::string, AnnouncedTopic> found;
  {
    DomainCore& core = *entity_->core();
    const std::lock_guard lock(core.monitor().mutex);
    for (const auto& [id, facts] : core.table().all()) {
      if (facts.kind == EndpointKind::participant) continue;
      AnnouncedTopic& topic = found[facts.topic];
      if (facts.kind == EndpointKind::writer) topic.writers.push_back(facts);
      if (facts.kind == EndpointKind::reader) topic.readers.push_back(facts);
      if (facts.kind == EndpointKind::topic) topic.participants.push_back(facts);
    }
  }
  std::vector<AnnouncedTopic> topics;
  for (auto& [name, topic] : found) {
    if (topic.participants.empty()) continue;  // its last participant ended, and its endpoints' end is on its way
    topic.name = name;
    topic.description = topic.participants.front().type;
    topic.qos = topic.participants.front().qos;
    take_type(topic);
    topics.push_back(std::move(topic));
  }
  return topics;
}

std::size_t DynamicParticipant::others() const {
  DomainCore& core = *entity_->core();
  const std::lock_guard lock(core.monitor().mutex);
  return static_cast<std::size_t>(std::count_if(core.table().all().begin(), core.table().all().end(), [&](const auto& each) {
    return each.second.kind == EndpointKind::participant && each.first.node != core.self().node;
  }));
}

std::shared_ptr<TopicEntity> DynamicParticipant::topic_of(const AnnouncedTopic& topic) {
  entity_->core()->take_part();
  if (topic.type == nullptr) throw Exception(*topic.fault);
  dds::topic::qos::TopicQos qos;
  qos << Reliability(static_cast<ReliabilityKind>(topic.qos.reliability))
      << Durability(static_cast<DurabilityKind>(topic.qos.durability))
      << History::KeepLast(static_cast<std::uint32_t>(topic.qos.kept.depth));
  DurabilityService service;
  service.history_depth(topic.qos.kept.service_depth);
  qos << service;
  return TopicEntity::make(entity_, topic.name, dynamic_type_support(*topic.type), qos, {});
}

DynamicReader DynamicParticipant::read(const AnnouncedTopic& topic, const DynamicReading& how) {
  const auto backlog = std::make_shared<ReaderBacklog>();
  return inside([&] {
    dds::sub::qos::SubscriberQos around;
    around << Partition("*");
    dds::sub::qos::DataReaderQos qos;
    qos << Reliability::BestEffort() << ownership_of(topic) << user_data(how.mark);
    qos << (how.bytes_max > 0 || how.held_max > 0 ? History::KeepAll() : History::KeepLast(kept_of_instance));
    if (how.held_max > 0) qos << Reliability::Reliable() << ResourceLimits(static_cast<std::int32_t>(how.held_max));
    if (how.from_last) qos << Durability::TransientLocal();
    const auto subscriber = Surroundings::make(entity_, around, Surroundings::Kind::subscriber);
    std::function<bool(const void*)> room;
    if (how.bytes_max > 0)
      room = [backlog, most = how.bytes_max](const void* sample) { return has_room(*backlog, sample, most); };
    return DynamicReader(ReaderEntity::make(subscriber, topic_of(topic), qos, std::move(room), {}), backlog);
  });
}

bool DynamicParticipant::is_older(const EndpointId& endpoint) const {
  const View view = entity_->core()->view();
  const auto theirs = view.rank_of(NodeId(endpoint.node));
  const auto own = view.rank_of(NodeId(id().node));
  return theirs && (!own || *theirs < *own);
}

DynamicWriter DynamicParticipant::write(const AnnouncedTopic& topic, const std::string& mark) {
  return inside([&] {
    const auto entity = topic_of(topic);
    dds::pub::qos::DataWriterQos qos(entity->qos());
    qos << Reliability(entity->qos().policy<Reliability>().kind(), DynamicWriter::try_for) << ownership_of(topic)
        << WriterDataLifecycle::ManuallyDisposeUnregisteredInstances() << user_data(mark);
    const dds::pub::qos::PublisherQos around;
    const auto publisher = Surroundings::make(entity_, around, Surroundings::Kind::publisher);
    return DynamicWriter(WriterEntity::make(publisher, entity, qos, {}));
  });
}

std::uint64_t DynamicParticipant::changes() { return ProcessBell::of_process().rung(); }
void DynamicParticipant::await_change(std::uint64_t since, std::chrono::steady_clock::time_point until) {
  ProcessBell::of_process().wait(since, until);
}
void DynamicParticipant::wake() { ProcessBell::of_process().ring(); }

std::optional<Error> DynamicParticipant::failure() const {
  DomainCore& core = *entity_->core();
  const std::lock_guard lock(core.monitor().mutex);
  return core.failure();
}

}  // namespace spindrift::topics
