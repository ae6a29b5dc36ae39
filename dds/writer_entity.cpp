// Writers without their types: their ends, and their calls.
#include <utility>

#include <spindrift/core/log.hpp>
#include <spindrift/dds/endpoint_entities.hpp>
#include <spindrift/dds/entity_parts.hpp>
#include <spindrift/dds/policy_names.hpp>
#include <spindrift/dds/settings.hpp>

namespace spindrift::topics {

using dds::core::InstanceHandle;
using dds::core::InstanceHandleSeq;

std::shared_ptr<WriterEntity> WriterEntity::make(const std::shared_ptr<Surroundings>& publisher,
                                                 const std::shared_ptr<TopicEntity>& topic,
                                                 const dds::pub::qos::DataWriterQos& qos, const Listening& listening) {
  auto made = std::make_shared<WriterEntity>(publisher, topic, qos);
  made->core_->board().bind(made);
  made->set_listener(listening);
  publisher->writers().add(made);
  if (publisher->enabled() && publisher->enables()) made->enable();
  return made;
}

WriterEntity::WriterEntity(std::shared_ptr<Surroundings> publisher, std::shared_ptr<TopicEntity> topic,
                           const dds::pub::qos::DataWriterQos& qos)
    : publisher_(std::move(publisher)), topic_(std::move(topic)), qos_(qos) {
  EndpointFacts facts{.kind = EndpointKind::writer, .topic = topic_->name(), .type = topic_->type().description};
  facts.qos = offered(qos, publisher_->qos(), topic_->qos());
  const WriterRules rules = writer_rules(qos);
  if (publisher_->participant() != topic_->participant())
    throw dds::core::PreconditionNotMetError("the publisher and the topic are of different participants");
  topic_->check_enabled();
  DomainCore& domain = *topic_->participant()->core();
  facts.id = domain.new_id();
  outside([&] {
    check_may_wait("making a writer");
    EndpointFacts topic_facts = facts;
    topic_facts.qos.reliability = static_cast<std::uint8_t>(topic_->qos().policy<dds::core::policy::Reliability>().kind());
    Subgroup& subgroup = domain.topic_subgroup(topic_facts, topic_->type(), facts.qos.durability == 3);
    core_ = std::make_shared<WriterCore>(domain.monitor(), subgroup, facts, topic_->type(), rules,
                                         std::make_shared<StatusBoard>(domain.listeners(), publisher_->board()));
  });
}

void WriterEntity::enable() {
  const std::lock_guard changing(changing_);
  if (enabled_) return;
  if (!publisher_->enabled()) throw dds::core::PreconditionNotMetError("the publisher is not enabled; enable it first");
  tell();
}

void WriterEntity::check_enabled() const {
  if (!enabled_)
    throw dds::core::NotEnabledError("topic " + topic_->name() + ": the writer is not enabled; call enable() first");
}

void WriterEntity::tell() {
  DomainCore& domain = *topic_->participant()->core();
  EndpointFacts facts = core_->facts();
  facts.qos = offered(qos_.get(), publisher_->qos(), topic_->qos());
  core_->assert_alive();
  {
    const std::lock_guard lock(domain.monitor().mutex);
    core_->change(facts.qos);
    enabled_ = true;  // ahead of matches: a listener that hears of one writes
    domain.hub(facts.topic).add_writer(core_);
    watch(domain, core_);
    if (facts.qos.liveliness == 0 && facts.qos.times.lease != endless) domain.beat_for(facts.id, facts.qos.times.lease);
  }
  try {
    outside([&] { domain.announce(facts); });
  } catch (...) {
    const std::lock_guard lock(domain.monitor().mutex);
    domain.timers().remove(facts.id);
    domain.beat_no_more_for(facts.id);
    domain.hub(facts.topic).remove_writer(facts.id);
    enabled_ = false;
    throw;
  }
}

void WriterEntity::change(const dds::pub::qos::DataWriterQos& qos) {
  const std::lock_guard changing(changing_);
  check_changes(qos_.get(), qos);
  EndpointFacts facts = core_->facts();
  facts.qos = offered(qos, publisher_->qos(), topic_->qos());
  const WriterRules rules = writer_rules(qos);
  core_->change_rules(rules);
  DomainCore& domain = *topic_->participant()->core();
  if (enabled_) outside([&] { domain.announce(facts); });
  qos_.set(qos);
  const std::lock_guard lock(domain.monitor().mutex);
  if (enabled_) watch(domain, core_);
}

void WriterEntity::assert_liveliness() {
  check_enabled();
  core_->assert_alive();
  outside([&] { topic_->participant()->core()->assert_alive(core_->facts().id, core_->facts().qos.liveliness); });
}

WriterEntity::~WriterEntity() { close(); }
void WriterEntity::close() {
  if (closed_.exchange(true)) return;
  DomainCore& domain = *topic_->participant()->core();
  const EndpointFacts& facts = core_->facts();
  listen(domain, core_->board(), {});
  if (!enabled_) return;
  bool ended = false;
  try {
    core_->end();
    ended = core_->await_delivered(1'000'000'000);
  } catch (const Exception& thrown) {
    log::info(log::Room::dds, "a writer's last message is still to come",
              {{"topic", facts.topic}, {"reason", thrown.error().to_string()}});
  }
  {
    const std::lock_guard lock(domain.monitor().mutex);
    domain.timers().remove(facts.id);
    domain.beat_no_more_for(facts.id);
  }
  ended ? domain.retire(*core_) : domain.end_later(core_);
}

void WriterEntity::write(std::span<const std::byte> bytes, const Digest& key, std::optional<dds::core::Time> when) {
  check_enabled();
  outside([&] { core_->write(bytes, key, SampleKind::data, when ? when->to_nanosecs() : wall_ns()); });
}
void WriterEntity::write_in_place(std::uint64_t bytes, const std::function<Digest(std::span<std::byte>)>& fill) {
  check_enabled();
  outside([&] { core_->write_in_place({bytes, fill}, wall_ns()); });
}
InstanceHandle WriterEntity::register_instance(std::span<const std::byte> bytes, const Digest& key) {
  check_enabled();
  core_->register_instance(bytes, key);
  return InstanceHandle(key);
}
void WriterEntity::unregister(std::span<const std::byte> bytes, const Digest& key) {
  check_enabled();
  const bool disposes = qos_.get().policy<dds::core::policy::WriterDataLifecycle>().autodispose_unregistered_instances();
  outside([&] { core_->write(bytes, key, disposes ? SampleKind::both : SampleKind::unregister, wall_ns()); });
}
void WriterEntity::dispose(std::span<const std::byte> bytes, const Digest& key) {
  check_enabled();
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

std::vector<std::byte> WriterEntity::registered_sample(const InstanceHandle& instance) const {
  return registered(*core_, instance);
}
void WriterEntity::unregister(const InstanceHandle& instance) { unregister(registered(*core_, instance), instance.name()); }
void WriterEntity::dispose(const InstanceHandle& instance) { dispose(registered(*core_, instance), instance.name()); }
bool WriterEntity::is_registered(const Digest& key) { return core_->registered(key).has_value(); }
void WriterEntity::check_instance(const InstanceHandle& instance, const Digest& key) {
  if (instance.is_nil() || instance.name() == key) return;
  const std::string place = "topic " + topic_->name() + ": ";
  if (!is_registered(instance.name()))
    throw dds::core::InvalidArgumentError(place + "the handle names no instance that this writer has registered or written");
  throw dds::core::PreconditionNotMetError(
      place + "the handle is of an instance with other keys than the sample; give that of its own instance, or none");
}

void WriterEntity::wait_for_acknowledgments(const dds::core::Duration& limit) {
  check_enabled();
  if (core_->facts().qos.reliability == 0) return;  // as DDS has it: nobody acknowledges
  const std::int64_t begin = steady_ns();
  if (!outside([&] { return core_->await_delivered(limit.to_nanosecs()); })) {
    throw dds::core::TimeoutError("topic " + topic_->name() +
                                  ": what was written is not delivered yet; wait longer, or let readers take");
  }
  const std::int64_t rest =
      limit.to_nanosecs() == endless ? endless : std::max<std::int64_t>(0, limit.to_nanosecs() - (steady_ns() - begin));
  if (outside([&] { return core_->await_durable(rest); })) return;
  throw dds::core::TimeoutError("topic " + topic_->name() +
                                ": what was written is delivered, and not on the disks of all participants yet; wait "
                                "longer, or see whose disk is slow: spindrift group why");
}

void WriterEntity::with_statuses(std::uint32_t bit, const std::function<void(WriterStatuses&)>& look) {
  const std::lock_guard lock(topic_->participant()->core()->monitor().mutex);
  core_->board().clear(bit);
  look(core_->statuses());
}
void WriterEntity::set_listener(const Listening& listening) {
  listen(*topic_->participant()->core(), core_->board(), listening);
}
void* WriterEntity::listener() const { return listener_of(*topic_->participant()->core(), core_->board()); }
std::uint32_t WriterEntity::status_changes() const { return changed(*topic_->participant()->core(), core_->board()); }
InstanceHandleSeq WriterEntity::matched() const {
  const std::lock_guard lock(topic_->participant()->core()->monitor().mutex);
  return handles(*core_);
}
EndpointFacts WriterEntity::matched(const InstanceHandle& reader) const {
  const std::lock_guard lock(topic_->participant()->core()->monitor().mutex);
  return matched_facts(*core_, reader);
}
InstanceHandle WriterEntity::handle() const { return InstanceHandle(core_->facts().id.name()); }

}  // namespace spindrift::topics
