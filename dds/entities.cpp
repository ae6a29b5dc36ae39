// Entities: their ends, and the errors of what is beneath them as those of dds::core.
#include <spindrift/dds/entities.hpp>

#include <utility>

#include <spindrift/core/log.hpp>
#include <spindrift/dds/domain_core.hpp>
#include <spindrift/dds/settings.hpp>

namespace dds::core {

void throw_nil() { throw NullReferenceError("a reference to an entity is nil; assign one first"); }

}  // namespace dds::core

void dds::core::status::IncompatibleQosStatus::note(policy::QosPolicyId id, std::string reason) {
  count();
  last_policy_id_ = id;
  last_reason_ = std::move(reason);
  for (policy::QosPolicyCount& each : policies_) {
    if (each.policy_id() == id) {
      each = {id, each.count() + 1};
      return;
    }
  }
  policies_.emplace_back(id, 1);
}

namespace spindrift::topics {

void rethrow(const Error& error) {
  const std::string words = error.to_string();
  switch (error.kind()) {
    case ErrorKind::bad_argument:
    case ErrorKind::bad_config:
    case ErrorKind::bad_input: throw dds::core::InvalidArgumentError(words);
    case ErrorKind::refused: throw dds::core::PreconditionNotMetError(words);
    case ErrorKind::would_block:
    case ErrorKind::timed_out: throw dds::core::TimeoutError(words);
    case ErrorKind::unsupported: throw dds::core::UnsupportedError(words);
    case ErrorKind::resource:
    case ErrorKind::disk_full: throw dds::core::OutOfResourcesError(words);
    case ErrorKind::removed:
    case ErrorKind::given_up:
    case ErrorKind::no_majority:
    case ErrorKind::member_lost:
    case ErrorKind::group_closed:
    case ErrorKind::lagging:
    case ErrorKind::handler_failed: throw dds::core::AlreadyClosedError(words);
  }
  throw dds::core::Error(words);
}

namespace {

using dds::core::InstanceHandle;
using dds::core::InstanceHandleSeq;

/// Calls, and throws as dds::core what is thrown beneath.
template <class Call>
decltype(auto) outside(const Call& call) {
  try {
    return call();
  } catch (const Exception& thrown) {
    rethrow(thrown.error());
  }
}

template <class Core>
InstanceHandleSeq handles(const Core& core) {
  InstanceHandleSeq all;
  for (const auto& [id, facts] : core.matched()) all.emplace_back(id.name());
  return all;
}

void listen(DomainCore& domain, StatusBoard& board, std::function<void(std::uint32_t)> call, std::uint32_t mask) {
  std::unique_lock lock(domain.monitor().mutex);
  board.set_listener(nullptr, 0);
  domain.listeners().await_idle(lock, board);
  board.set_listener(std::move(call), mask);
}

/// Lets the deadlines of a reader or writer be looked at. With the monitor held.
template <class Core>
void watch_deadlines(DomainCore& domain, const std::shared_ptr<Core>& core) {
  if (core->facts().qos.deadline_ns == endless) return;
  domain.listeners().add_timer(core->facts().id, [weak = std::weak_ptr(core)](std::int64_t now_ns) {
    const auto alive = weak.lock();
    return alive ? alive->check_deadlines(now_ns) : endless;
  });
}

}  // namespace

ParticipantEntity::ParticipantEntity(std::uint32_t domain, const dds::domain::qos::DomainParticipantQos& qos,
                                     const std::string& file)
    : qos_(qos) {
  check(qos);
  if (domain > 232)
    throw dds::core::InvalidArgumentError("domain " + std::to_string(domain) + ": a domain's id is 0 to 232");
  core_ = outside([&] { return DomainCore::join(domain, file); });
}
std::uint32_t ParticipantEntity::domain() const { return core_->domain(); }

Surroundings::Surroundings(std::shared_ptr<ParticipantEntity> participant, const dds::pub::qos::PublisherQos& qos)
    : participant_(std::move(participant)), qos_(qos) {
  check(qos);
}

TopicEntity::TopicEntity(std::shared_ptr<ParticipantEntity> participant, const std::string& name, const TypeSupport& type,
                         const dds::topic::qos::TopicQos& qos)
    : participant_(std::move(participant)), name_(name), type_(type), qos_(qos) {
  check(qos);
  if (name.empty() || name.size() > topic_name_bytes_max)
    throw dds::core::InvalidArgumentError("a topic's name has 1 to 256 bytes, not " + std::to_string(name.size()));
  if (type.description.size() > description_bytes_max)
    throw dds::core::InvalidArgumentError("type " + type.name +
                                          ": its description has more than 16384 bytes; use fewer fields");
  DomainCore& domain = *participant_->core();
  EndpointFacts facts{.id = domain.new_id(), .kind = EndpointKind::topic, .topic = name, .type = type.description};
  facts.qos.reliability = static_cast<std::uint8_t>(qos.policy<dds::core::policy::Reliability>().kind());
  facts.qos.durability = static_cast<std::uint8_t>(qos.policy<dds::core::policy::Durability>().kind());
  id_ = facts.id;
  outside([&] {
    domain.announce(facts);
    try {
      Subgroup& subgroup = domain.topic_subgroup(facts, type, facts.qos.durability == 3);
      subgroup_ = &subgroup;
      const std::lock_guard lock(domain.monitor().mutex);
      domain.hub(name).open(type);
      domain.hub(name).hold_by(subgroup);
    } catch (...) {
      domain.withdraw(id_, true);
      throw;
    }
  });
}
TopicEntity::~TopicEntity() { participant_->core()->withdraw(id_, true); }

WriterEntity::WriterEntity(std::shared_ptr<Surroundings> publisher, std::shared_ptr<TopicEntity> topic,
                           const dds::pub::qos::DataWriterQos& qos)
    : publisher_(std::move(publisher)), topic_(std::move(topic)), qos_(qos) {
  EndpointFacts facts{.kind = EndpointKind::writer, .topic = topic_->name(), .type = topic_->type().description};
  facts.qos = offered(qos, publisher_->qos(), topic_->qos());
  const WriterRules rules = writer_rules(qos);
  if (publisher_->participant() != topic_->participant())
    throw dds::core::PreconditionNotMetError("the publisher and the topic are of different participants");
  DomainCore& domain = *topic_->participant()->core();
  facts.id = domain.new_id();
  outside([&] {
    EndpointFacts topic_facts = facts;
    topic_facts.qos.reliability = static_cast<std::uint8_t>(topic_->qos().policy<dds::core::policy::Reliability>().kind());
    Subgroup& subgroup = domain.topic_subgroup(topic_facts, topic_->type(), facts.qos.durability == 3);
    core_ = std::make_shared<WriterCore>(domain.monitor(), subgroup, facts, topic_->type(), rules,
                                         std::make_shared<StatusBoard>(domain.listeners()));
    {
      const std::lock_guard lock(domain.monitor().mutex);
      domain.hub(facts.topic).add_writer(core_);
      watch_deadlines(domain, core_);
    }
    try {
      domain.announce(facts);
    } catch (...) {
      const std::lock_guard lock(domain.monitor().mutex);
      domain.listeners().remove_timer(facts.id);
      domain.hub(facts.topic).remove_writer(facts.id);
      throw;
    }
  });
}

WriterEntity::~WriterEntity() {
  DomainCore& domain = *topic_->participant()->core();
  const EndpointFacts& facts = core_->facts();
  listen(domain, core_->board(), nullptr, 0);
  bool ended = false;
  try {
    core_->end();
    ended = core_->await_delivered(1'000'000'000);
  } catch (const Exception& thrown) {
    log::info(log::Room::dds, "a writer ended without a last message",
              {{"topic", facts.topic}, {"reason", thrown.error().to_string()}});
  }
  domain.withdraw(facts.id, ended);
  const std::lock_guard lock(domain.monitor().mutex);
  domain.listeners().remove_timer(facts.id);
  domain.hub(facts.topic).remove_writer(facts.id);
}

void WriterEntity::write(std::span<const std::byte> bytes, const Digest& key, std::optional<dds::core::Time> when) {
  outside([&] { core_->write(bytes, key, SampleKind::data, when ? when->to_nanosecs() : wall_ns()); });
}
InstanceHandle WriterEntity::register_instance(std::span<const std::byte> bytes, const Digest& key) {
  core_->register_instance(bytes, key);
  return InstanceHandle(key);
}
void WriterEntity::unregister(std::span<const std::byte> bytes, const Digest& key) {
  const bool disposes = qos_.policy<dds::core::policy::WriterDataLifecycle>().autodispose_unregistered_instances();
  outside([&] { core_->write(bytes, key, disposes ? SampleKind::both : SampleKind::unregister, wall_ns()); });
}
void WriterEntity::dispose(std::span<const std::byte> bytes, const Digest& key) {
  outside([&] { core_->write(bytes, key, SampleKind::dispose, wall_ns()); });
}

namespace {
std::vector<std::byte> registered(WriterCore& core, const InstanceHandle& instance) {
  auto bytes = instance.is_nil() ? std::nullopt : core.registered(instance.name());
  if (!bytes)
    throw dds::core::PreconditionNotMetError("the handle names no instance that this writer has registered or written");
  return std::move(*bytes);
}
}  // namespace

void WriterEntity::unregister(const InstanceHandle& instance) { unregister(registered(*core_, instance), instance.name()); }
void WriterEntity::dispose(const InstanceHandle& instance) { dispose(registered(*core_, instance), instance.name()); }
bool WriterEntity::is_registered(const Digest& key) { return core_->registered(key).has_value(); }

void WriterEntity::wait_for_acknowledgments(const dds::core::Duration& limit) {
  if (core_->facts().qos.reliability == 0) return;  // as DDS has it: nobody acknowledges
  if (outside([&] { return core_->await_delivered(limit.to_nanosecs()); })) return;
  throw dds::core::TimeoutError("topic " + topic_->name() +
                                ": what was written is not delivered yet; wait longer, or let readers take");
}

void WriterEntity::with_statuses(std::uint32_t bit, const std::function<void(WriterStatuses&)>& look) {
  const std::lock_guard lock(topic_->participant()->core()->monitor().mutex);
  core_->board().clear(bit);
  look(core_->statuses());
}
void WriterEntity::set_listener(std::function<void(std::uint32_t)> call, const dds::core::status::StatusMask& mask) {
  listen(*topic_->participant()->core(), core_->board(), std::move(call), static_cast<std::uint32_t>(mask.to_ulong()));
}
std::uint32_t WriterEntity::status_changes() const {
  const std::lock_guard lock(topic_->participant()->core()->monitor().mutex);
  return core_->board().changed();
}
InstanceHandleSeq WriterEntity::matched() const {
  const std::lock_guard lock(topic_->participant()->core()->monitor().mutex);
  return handles(*core_);
}
InstanceHandle WriterEntity::handle() const { return InstanceHandle(core_->facts().id.name()); }

ReaderEntity::ReaderEntity(std::shared_ptr<Surroundings> subscriber, std::shared_ptr<TopicEntity> topic,
                           const dds::sub::qos::DataReaderQos& qos, std::function<bool(const void*)> filter)
    : subscriber_(std::move(subscriber)), topic_(std::move(topic)), qos_(qos) {
  EndpointFacts facts{.kind = EndpointKind::reader, .topic = topic_->name(), .type = topic_->type().description};
  facts.qos = requested(qos, subscriber_->qos());
  if (subscriber_->participant() != topic_->participant())
    throw dds::core::PreconditionNotMetError("the subscriber and the topic are of different participants");
  DomainCore& domain = *topic_->participant()->core();
  facts.id = domain.new_id();
  core_ = std::make_shared<ReaderCore>(facts, cache_rules(qos), std::make_shared<StatusBoard>(domain.listeners()));
  core_->set_filter(std::move(filter));
  if (facts.qos.durability > 0) {
    outside([&] { domain.await_history(topic_->subgroup()); });
  }
  {
    const std::lock_guard lock(domain.monitor().mutex);
    domain.hub(facts.topic).add_reader(core_);
    watch_deadlines(domain, core_);
  }
  try {
    outside([&] { domain.announce(facts); });
  } catch (...) {
    const std::lock_guard lock(domain.monitor().mutex);
    domain.hub(facts.topic).remove_reader(facts.id);
    throw;
  }
}

ReaderEntity::~ReaderEntity() {
  DomainCore& domain = *topic_->participant()->core();
  const EndpointFacts& facts = core_->facts();
  listen(domain, core_->board(), nullptr, 0);
  domain.withdraw(facts.id, true);
  const std::lock_guard lock(domain.monitor().mutex);
  domain.listeners().remove_timer(facts.id);
  domain.hub(facts.topic).remove_reader(facts.id);
}

std::vector<ReadSample> ReaderEntity::get(const SampleSelection& which, bool take) {
  DomainCore& domain = *topic_->participant()->core();
  const std::lock_guard lock(domain.monitor().mutex);
  core_->board().clear(StatusBit::data);
  std::vector<ReadSample> samples = core_->cache().get(which, take, wall_ns());
  domain.hub(topic_->name()).hold_or_go_on();
  return samples;
}
bool ReaderEntity::any(const SampleSelection& which) const {
  const std::lock_guard lock(topic_->participant()->core()->monitor().mutex);
  return core_->cache().any(which, wall_ns());
}
std::shared_ptr<const void> ReaderEntity::key_value(const Digest& instance) const {
  const std::lock_guard lock(topic_->participant()->core()->monitor().mutex);
  return core_->cache().key_value(instance);
}
void ReaderEntity::with_statuses(std::uint32_t bit, const std::function<void(ReaderStatuses&)>& look) {
  const std::lock_guard lock(topic_->participant()->core()->monitor().mutex);
  core_->board().clear(bit);
  look(core_->statuses());
}
void ReaderEntity::set_listener(std::function<void(std::uint32_t)> call, const dds::core::status::StatusMask& mask) {
  listen(*topic_->participant()->core(), core_->board(), std::move(call), static_cast<std::uint32_t>(mask.to_ulong()));
}
std::uint32_t ReaderEntity::status_changes() const {
  const std::lock_guard lock(topic_->participant()->core()->monitor().mutex);
  return core_->board().changed();
}
InstanceHandleSeq ReaderEntity::matched() const {
  const std::lock_guard lock(topic_->participant()->core()->monitor().mutex);
  return handles(*core_);
}
InstanceHandle ReaderEntity::handle() const { return InstanceHandle(core_->facts().id.name()); }

}  // namespace spindrift::topics
