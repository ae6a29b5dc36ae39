// Readers without their types: their ends, and their calls.
#include <utility>

#include <spindrift/dds/endpoint_entities.hpp>
#include <spindrift/dds/entity_parts.hpp>
#include <spindrift/dds/policy_names.hpp>
#include <spindrift/dds/settings.hpp>

namespace spindrift::topics {

using dds::core::InstanceHandle;
using dds::core::InstanceHandleSeq;

std::shared_ptr<ReaderEntity> ReaderEntity::make(const std::shared_ptr<Surroundings>& subscriber,
                                                 const std::shared_ptr<TopicEntity>& topic,
                                                 const dds::sub::qos::DataReaderQos& qos,
                                                 std::function<bool(const void*)> filter, const Listening& listening) {
  auto made = std::make_shared<ReaderEntity>(subscriber, topic, qos, std::move(filter));
  made->core_->board().bind(made);
  made->set_listener(listening);
  subscriber->readers().add(made);
  if (subscriber->enabled() && subscriber->enables()) made->enable();
  return made;
}

ReaderEntity::ReaderEntity(std::shared_ptr<Surroundings> subscriber, std::shared_ptr<TopicEntity> topic,
                           const dds::sub::qos::DataReaderQos& qos, std::function<bool(const void*)> filter)
    : subscriber_(std::move(subscriber)), topic_(std::move(topic)), qos_(qos) {
  EndpointFacts facts{.kind = EndpointKind::reader, .topic = topic_->name(), .type = topic_->type().description};
  facts.qos = requested(qos, subscriber_->qos(), topic_->qos());
  if (subscriber_->participant() != topic_->participant())
    throw dds::core::PreconditionNotMetError("the subscriber and the topic are of different participants");
  if (!builtin()) topic_->check_enabled();
  DomainCore& domain = *topic_->participant()->core();
  facts.id = domain.new_id();
  core_ = std::make_shared<ReaderCore>(facts, cache_rules(qos),
                                       std::make_shared<StatusBoard>(domain.listeners(), subscriber_->board()));
  core_->set_filter(std::move(filter));
}

void ReaderEntity::enable() {
  const std::lock_guard changing(changing_);
  if (enabled_) return;
  if (!subscriber_->enabled()) throw dds::core::PreconditionNotMetError("the subscriber is not enabled; enable it first");
  tell();
}

void ReaderEntity::tell() {
  DomainCore& domain = *topic_->participant()->core();
  EndpointFacts facts = core_->facts();
  facts.qos = requested(qos_.get(), subscriber_->qos(), topic_->qos());
  if (builtin()) {
    const std::lock_guard lock(domain.monitor().mutex);
    enabled_ = true;
    domain.builtin_readers().add(core_, domain.table());
    return;
  }
  if (facts.qos.durability > 0) {
    outside([&] { domain.await_history(topic_->subgroup()); });
  }
  {
    const std::lock_guard lock(domain.monitor().mutex);
    core_->change(facts.qos);
    enabled_ = true;  // ahead of what comes: a listener that hears of it takes it
    domain.hub(facts.topic).add_reader(core_);
    watch(domain, core_);
  }
  try {
    outside([&] { domain.announce(facts); });
  } catch (...) {
    const std::lock_guard lock(domain.monitor().mutex);
    domain.timers().remove(facts.id);
    domain.hub(facts.topic).remove_reader(facts.id);
    enabled_ = false;
    throw;
  }
}

void ReaderEntity::change(const dds::sub::qos::DataReaderQos& qos) {
  if (builtin()) throw dds::core::IllegalOperationError("a reader of a built-in topic stays as it is");
  const std::lock_guard changing(changing_);
  check_changes(qos_.get(), qos);
  EndpointFacts facts = core_->facts();
  facts.qos = requested(qos, subscriber_->qos(), topic_->qos());
  DomainCore& domain = *topic_->participant()->core();
  if (enabled_) outside([&] { domain.announce(facts); });
  qos_.set(qos);
  const CacheRules rules = cache_rules(qos);
  const std::lock_guard lock(domain.monitor().mutex);
  core_->cache().change_lifecycle(rules.no_writers_ns_max, rules.disposed_ns_max);
  if (enabled_) watch(domain, core_);
}

ReaderEntity::~ReaderEntity() { close(); }
void ReaderEntity::close() {
  if (closed_.exchange(true)) return;
  DomainCore& domain = *topic_->participant()->core();
  const EndpointFacts& facts = core_->facts();
  listen(domain, core_->board(), {});
  if (!enabled_) return;
  if (!builtin()) domain.withdraw(facts.id);
  const std::lock_guard lock(domain.monitor().mutex);
  domain.timers().remove(facts.id);
  if (builtin())
    domain.builtin_readers().remove(facts.id);
  else
    domain.hub(facts.topic).remove_reader(facts.id);
}

std::vector<ReadSample> ReaderEntity::get(const SampleSelection& which, bool take) {
  if (!enabled_)
    throw dds::core::NotEnabledError("topic " + topic_->name() + ": the reader is not enabled; call enable() first");
  DomainCore& domain = *topic_->participant()->core();
  const std::lock_guard lock(domain.monitor().mutex);
  core_->board().clear_data();
  std::vector<ReadSample> samples = core_->cache().get(which, take, wall_ns());
  if (samples.empty() && !core_->closed().empty())
    throw dds::core::AlreadyClosedError("topic " + topic_->name() + ": its participant has ended: " + core_->closed());
  if (!builtin()) domain.hub(topic_->name()).hold_or_go_on();
  return samples;
}
void ReaderEntity::notify() {
  const std::lock_guard lock(topic_->participant()->core()->monitor().mutex);
  core_->board().notify_data();
}
bool ReaderEntity::any(const SampleSelection& which) const {
  const std::lock_guard lock(topic_->participant()->core()->monitor().mutex);
  return !core_->closed().empty() || core_->cache().any(which, wall_ns());
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
void ReaderEntity::set_listener(const Listening& listening) {
  listen(*topic_->participant()->core(), core_->board(), listening);
}
void* ReaderEntity::listener() const { return listener_of(*topic_->participant()->core(), core_->board()); }
std::uint32_t ReaderEntity::status_changes() const { return changed(*topic_->participant()->core(), core_->board()); }
InstanceHandleSeq ReaderEntity::matched() const {
  const std::lock_guard lock(topic_->participant()->core()->monitor().mutex);
  return handles(*core_);
}
EndpointFacts ReaderEntity::matched(const InstanceHandle& writer) const {
  const std::lock_guard lock(topic_->participant()->core()->monitor().mutex);
  return matched_facts(*core_, writer);
}
InstanceHandle ReaderEntity::handle() const { return InstanceHandle(core_->facts().id.name()); }

}  // namespace spindrift::topics
