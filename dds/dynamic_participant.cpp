// Untyped entities, and their errors as those of the rooms below.
#include <spindrift/dds/dynamic_participant.hpp>

#include <algorithm>
#include <map>
#include <utility>

#include <spindrift/dds/domain_core.hpp>
#include <spindrift/dds/dynamic_parts.hpp>
#include <spindrift/dds/endpoint_entities.hpp>
#include <spindrift/dds/reader_core.hpp>
#include <spindrift/dds/settings.hpp>

namespace spindrift::topics {
namespace {

using namespace dds::core::policy;

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

/// A participant's reader.
class EntitySource final : public DynamicSource {
 public:
  EntitySource(std::shared_ptr<ReaderEntity> entity, std::shared_ptr<ReaderBacklog> backlog)
      : entity_(std::move(entity)), backlog_(std::move(backlog)) {}
  std::vector<ReadSample> take() override {
    // All that counts is taken below; what comes meanwhile counts until the next call.
    backlog_->bytes = 0;
    return inside([&] { return entity_->get({}, true); });
  }
  std::uint64_t lost() const override {
    std::uint64_t lost = 0;
    entity_->with_statuses(StatusBit::lost, [&](ReaderStatuses& statuses) {
      lost = static_cast<std::uint64_t>(statuses.lost.total_count());
    });
    return lost + backlog_->dropped;
  }
  bool more_may_be_lost() const override { return false; }  // a member is given all
  std::string waits_for() const override { return {}; }

 private:
  std::shared_ptr<ReaderEntity> entity_;
  std::shared_ptr<ReaderBacklog> backlog_;
};

}  // namespace

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
  DomainCore& core = *entity_->core();
  std::map<EndpointId, EndpointFacts> endpoints;
  {
    const std::lock_guard lock(core.monitor().mutex);
    endpoints = core.table().all();
  }
  return announced_topics(endpoints);
}

std::size_t DynamicParticipant::others() const {
  DomainCore& core = *entity_->core();
  const std::lock_guard lock(core.monitor().mutex);
  return static_cast<std::size_t>(std::count_if(core.table().all().begin(), core.table().all().end(), [&](const auto& each) {
    return each.second.kind == EndpointKind::participant && each.first.node != core.self().node;
  }));
}

std::shared_ptr<TopicEntity> DynamicParticipant::topic_of(const AnnouncedTopic& topic, const std::string& mark) {
  entity_->core()->take_part();
  if (topic.type == nullptr) throw Exception(*topic.fault);
  const auto qos = topic_qos(topic) << TopicData(std::vector<std::uint8_t>(mark.begin(), mark.end()));
  return TopicEntity::make(entity_, topic.name, dynamic_type_support(*topic.type), qos, {});
}

DynamicReader DynamicParticipant::read(const AnnouncedTopic& topic, const DynamicReading& how) {
  const auto backlog = std::make_shared<ReaderBacklog>();
  return inside([&] {
    const auto subscriber = Surroundings::make(entity_, any_partition(), Surroundings::Kind::subscriber);
    auto entity = ReaderEntity::make(subscriber, topic_of(topic), reader_qos(topic, how),
                                     ReaderBacklog::filter(backlog, how.bytes_max), {});
    return DynamicReader(std::make_unique<EntitySource>(std::move(entity), backlog));
  });
}

bool DynamicParticipant::is_older(const EndpointId& endpoint) const {
  const View view = entity_->core()->view();
  const auto theirs = view.rank_of(NodeId(endpoint.node));
  const auto own = view.rank_of(NodeId(id().node));
  return theirs && (!own || *theirs < *own);
}

DynamicWriter DynamicParticipant::write(const AnnouncedTopic& topic, const std::string& mark,
                                        const std::string& topic_mark) {
  return inside([&] {
    const auto entity = topic_of(topic, topic_mark);
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
