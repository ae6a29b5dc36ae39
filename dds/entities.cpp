// Participants, publishers, subscribers and topics; and the errors of what is beneath entities as those of dds::core.
#include <spindrift/dds/entities.hpp>

#include <algorithm>
#include <utility>

#include <spindrift/dds/builtin_topics.hpp>
#include <spindrift/dds/domain_core.hpp>
#include <spindrift/dds/endings.hpp>
#include <spindrift/dds/endpoint_entities.hpp>
#include <spindrift/dds/entity_parts.hpp>
#include <spindrift/dds/policy_names.hpp>
#include <spindrift/dds/settings.hpp>

namespace dds::core {

void throw_closed() { throw AlreadyClosedError("the entity is closed; make another one"); }
void throw_nil() { throw NullReferenceError("a reference to an entity is nil; assign one first"); }

}  // namespace dds::core

void dds::core::status::IncompatibleQosStatus::note(policy::QosPolicyId id, const std::string& reason) {
  last_policy_id_ = id;
  last_reason_ += (last_reason_.empty() ? "" : "; ") + reason;
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

void check_domain(std::uint32_t domain) {
  constexpr std::uint32_t domain_max = 232;
  if (domain > domain_max)
    throw dds::core::InvalidArgumentError("domain " + std::to_string(domain) + ": a domain's id is 0 to 232");
}

void check_topic(const std::string& name, const TypeSupport& type) {
  if (name.empty() || name.size() > topic_name_bytes_max)
    throw dds::core::InvalidArgumentError("a topic's name has 1 to 256 bytes, not " + std::to_string(name.size()));
  if (builtin_kind(name))
    throw dds::core::InvalidArgumentError("topic " + name + " is one of DDS's own; read it by dds::sub::builtin_subscriber");
  if (std::max(type.description.size(), type.named.size()) > description_bytes_max)
    throw dds::core::InvalidArgumentError("type " + type.name +
                                          ": its description has more than 16384 bytes; use fewer fields, or shorter names");
}

using dds::core::InstanceHandle;

ParticipantEntity::ParticipantEntity(std::uint32_t domain, const dds::domain::qos::DomainParticipantQos& qos,
                                     const std::string& file)
    : qos_(qos) {
  check(qos);
  check_domain(domain);
  core_ = outside([&] {
    check_may_wait("joining a domain");
    return DomainCore::join(domain, told(qos), DomainCore::config(domain, file));
  });
  board_ = std::make_shared<StatusBoard>(core_->listeners());
}
ParticipantEntity::ParticipantEntity(std::shared_ptr<DomainCore> core)
    : core_(std::move(core)), board_(std::make_shared<StatusBoard>(core_->listeners())) {}
ParticipantEntity::~ParticipantEntity() {
  if (core_) set_listener({});
}

namespace {
Living<ParticipantEntity>& participants() {
  static Living<ParticipantEntity> all;
  return all;
}

struct Retained {
  std::mutex mutex;
  std::vector<std::shared_ptr<void>> all;
  static Retained& of_process() {
    // Entities use these at their end, so they are there for longer.
    static_cast<void>(Endings::of_process());
    static_cast<void>(ProcessBell::of_process());
    static_cast<void>(participants());
    static Retained retained;
    return retained;
  }
};
}  // namespace

void retain(std::shared_ptr<void> entity) {
  Retained& retained = Retained::of_process();
  const std::lock_guard lock(retained.mutex);
  if (std::find(retained.all.begin(), retained.all.end(), entity) == retained.all.end())
    retained.all.push_back(std::move(entity));
}
void release(const void* entity) {
  Retained& retained = Retained::of_process();
  const std::lock_guard lock(retained.mutex);
  std::erase_if(retained.all, [&](const auto& each) { return each.get() == entity; });
}

std::shared_ptr<ParticipantEntity> ParticipantEntity::make(std::uint32_t domain,
                                                           const dds::domain::qos::DomainParticipantQos& qos,
                                                           const std::string& file) {
  auto made = std::make_shared<ParticipantEntity>(domain, qos, file);
  participants().add(made);
  return made;
}
std::shared_ptr<ParticipantEntity> ParticipantEntity::find(std::uint32_t domain) {
  for (auto& each : participants().all()) {
    if (each->domain() == domain) return std::move(each);
  }
  return nullptr;
}
Replaceable<dds::domain::qos::DomainParticipantQos>& participant_defaults() {
  static Replaceable<dds::domain::qos::DomainParticipantQos> qos;
  return qos;
}

void ParticipantEntity::close() {
  if (core_->listeners().is_current()) {
    throw dds::core::IllegalOperationError(
        "a listener cannot close its participant, on whose thread it runs; tell another thread to");
  }
  if (closed_.exchange(true)) return;
  for (const auto* const some : {&surroundings_, &builtin_subscribers_}) {
    for (const auto& each : some->all()) each->close();
  }
  for (const auto& each : topics_.all()) each->end();
  set_listener({});
  core_->end();
}
void ParticipantEntity::set_listener(const Listening& listening) { listen(*core_, *board_, listening); }
void* ParticipantEntity::listener() const { return listener_of(*core_, *board_); }
std::uint32_t ParticipantEntity::status_changes() const { return changed(*core_, *board_); }
std::uint32_t ParticipantEntity::domain() const { return core_->domain(); }
InstanceHandle ParticipantEntity::handle() const { return InstanceHandle(core_->self().name()); }

void ParticipantEntity::ignore(const InstanceHandle& handle) {
  if (handle.is_nil()) throw dds::core::InvalidArgumentError("a nil handle names nothing to ignore");
  const std::lock_guard lock(core_->monitor().mutex);
  core_->ignore(EndpointId::named(handle.name()));
}
void ParticipantEntity::change(const dds::domain::qos::DomainParticipantQos& qos) {
  check(qos);
  const std::lock_guard changing(changing_);
  check_changes(qos_.get(), qos);
  outside([&] { core_->change(told(qos)); });
  qos_.set(qos);
}
void ParticipantEntity::assert_liveliness() {
  constexpr std::uint8_t by_participant = 1;
  core_->monitor().asserted_ns = steady_ns();
  outside([&] { core_->assert_alive(core_->self(), by_participant); });
}
bool ParticipantEntity::enables() const {
  return qos_.get().policy<dds::core::policy::EntityFactory>().autoenable_created_entities();
}
std::vector<EndpointFacts> ParticipantEntity::discovered_topics() const {
  std::vector<EndpointFacts> all;
  const std::lock_guard lock(core_->monitor().mutex);
  for (const auto& [id, facts] : core_->table().all()) {
    if (facts.kind == EndpointKind::topic) all.push_back(facts);
  }
  return all;
}
std::optional<EndpointFacts> ParticipantEntity::await_topic(const std::string& name,
                                                            const dds::core::Duration& limit) const {
  return outside([&] { return core_->await_topic(name, limit.to_nanosecs()); });
}

Surroundings::Surroundings(std::shared_ptr<ParticipantEntity> participant, const dds::pub::qos::PublisherQos& qos, Kind kind)
    : participant_(std::move(participant)),
      qos_(qos),
      kind_(kind),
      board_(std::make_shared<StatusBoard>(participant_->core()->listeners(), participant_->board())),
      enabled_(kind == Kind::builtin_subscriber || participant_->enables()) {
  check(qos);
}
std::shared_ptr<Surroundings> Surroundings::make(const std::shared_ptr<ParticipantEntity>& participant,
                                                 const dds::pub::qos::PublisherQos& qos, Kind kind) {
  auto made = std::make_shared<Surroundings>(participant, qos, kind);
  participant->surroundings().add(made);
  return made;
}
void Surroundings::enable() {
  enabled_ = true;
  if (!enables()) return;
  for (const auto& each : writers_.all()) each->enable();
  for (const auto& each : readers_.all()) each->enable();
}
bool Surroundings::enables() const {
  return qos_.get().policy<dds::core::policy::EntityFactory>().autoenable_created_entities();
}
Surroundings::~Surroundings() { set_listener({}); }
void Surroundings::close() {
  if (closed_.exchange(true)) return;
  for (const auto& each : writers_.all()) each->close();
  for (const auto& each : readers_.all()) each->close();
  set_listener({});
}
void Surroundings::set_listener(const Listening& listening) { listen(*participant_->core(), *board_, listening); }
void* Surroundings::listener() const { return listener_of(*participant_->core(), *board_); }
std::uint32_t Surroundings::status_changes() const { return changed(*participant_->core(), *board_); }

void Surroundings::change(const dds::pub::qos::PublisherQos& qos) {
  if (kind_ == Kind::builtin_subscriber)
    throw dds::core::IllegalOperationError("the subscriber of built-in topics stays as it is");
  check(qos);
  const std::lock_guard changing(changing_);
  check_changes(qos_.get(), qos);
  qos_.set(qos);
  for (const auto& each : writers_.all()) each->change(each->qos());
  for (const auto& each : readers_.all()) each->change(each->qos());
}

std::shared_ptr<Surroundings> builtin_subscriber(const std::shared_ptr<ParticipantEntity>& participant) {
  const auto alive = participant->builtin_subscribers().all();
  if (!alive.empty()) return alive.front();
  auto made =
      std::make_shared<Surroundings>(participant, dds::pub::qos::PublisherQos(), Surroundings::Kind::builtin_subscriber);
  participant->builtin_subscribers().add(made);
  return made;
}

std::vector<std::shared_ptr<ReaderEntity>> readers_of(const std::shared_ptr<Surroundings>& subscriber,
                                                      const std::string& topic) {
  std::vector<std::shared_ptr<ReaderEntity>> found = subscriber->readers().all();
  std::erase_if(found, [&](const auto& each) { return each->topic()->name() != topic; });
  const auto kind = builtin_kind(topic);
  if (!found.empty() || !kind || subscriber->kind() != Surroundings::Kind::builtin_subscriber) return found;
  using dds::core::policy::Durability;
  found.push_back(ReaderEntity::make(subscriber, std::make_shared<TopicEntity>(subscriber->participant(), *kind),
                                     dds::sub::qos::DataReaderQos() << Durability::TransientLocal(), {}, {}));
  return found;
}

std::shared_ptr<TopicEntity> TopicEntity::make(const std::shared_ptr<ParticipantEntity>& participant,
                                               const std::string& name, const TypeSupport& type,
                                               const dds::topic::qos::TopicQos& qos, const Listening& listening) {
  auto made = std::make_shared<TopicEntity>(participant, name, type, qos);
  made->core_->board->bind(made);
  made->set_listener(listening);
  participant->topics().add(made);
  if (participant->enables()) made->enable();
  return made;
}

TopicEntity::TopicEntity(std::shared_ptr<ParticipantEntity> participant, EndpointKind kind)
    : participant_(std::move(participant)),
      name_(builtin_topic_name(kind)),
      type_(builtin_type(kind)),
      qos_(dds::topic::qos::TopicQos()),
      core_(std::make_shared<TopicCore>()) {
  core_->board = std::make_shared<StatusBoard>(participant_->core()->listeners());
}

TopicEntity::TopicEntity(std::shared_ptr<ParticipantEntity> participant, const std::string& name, const TypeSupport& type,
                         const dds::topic::qos::TopicQos& qos)
    : participant_(std::move(participant)), name_(name), type_(type), qos_(qos) {
  core_ = std::make_shared<TopicCore>();
  core_->board = std::make_shared<StatusBoard>(participant_->core()->listeners(), participant_->board());
  check(qos);
  check_topic(name, type);
}

void TopicEntity::enable() {
  const std::lock_guard changing(changing_);
  if (subgroup_ == nullptr) tell();
}

void TopicEntity::check_enabled() const {
  if (subgroup_ == nullptr) throw dds::core::NotEnabledError("topic " + name_ + " is not enabled; call its enable() first");
}

void TopicEntity::tell() {
  DomainCore& domain = *participant_->core();
  const EndpointId id = domain.new_id();
  EndpointFacts told = facts(qos_.get());
  told.id = id;
  outside([&] {
    domain.announce(told);
    id_ = id;
    Subgroup& subgroup = domain.topic_subgroup(told, type_, told.qos.durability == 3);
    const std::lock_guard lock(domain.monitor().mutex);
    subgroup_ = &subgroup;
    domain.hub(name_).open(type_);
    domain.open_hub(name_, subgroup);
    domain.hub(name_).add_topic(id_, core_);
  });
}
EndpointFacts TopicEntity::facts(const dds::topic::qos::TopicQos& qos) const {
  return {.id = id_,
          .kind = EndpointKind::topic,
          .topic = name_,
          .type = type_.description,
          .named = type_.named,
          .qos = told(qos)};
}
void TopicEntity::change(const dds::topic::qos::TopicQos& qos) {
  check(qos);
  const std::lock_guard changing(changing_);
  check_changes(qos_.get(), qos);
  if (subgroup_ != nullptr) outside([&] { participant_->core()->announce(facts(qos)); });
  qos_.set(qos);
}
TopicEntity::~TopicEntity() { end(); }
void TopicEntity::close() {
  for (const auto& around : participant_->surroundings().all()) {
    const auto uses = [this](const auto& each) { return each->topic().get() == this; };
    const auto writers = around->writers().all();
    const auto readers = around->readers().all();
    if (std::none_of(writers.begin(), writers.end(), uses) && std::none_of(readers.begin(), readers.end(), uses)) continue;
    throw dds::core::PreconditionNotMetError("topic " + name_ + " has writers or readers; close these first");
  }
  end();
}
void TopicEntity::end() {
  if (closed_.exchange(true) || id_.number == 0) return;
  DomainCore& domain = *participant_->core();
  set_listener({});
  domain.withdraw(id_);
  const std::lock_guard lock(domain.monitor().mutex);
  domain.hub(name_).remove_topic(id_);
}
void TopicEntity::set_listener(const Listening& listening) { listen(*participant_->core(), *core_->board, listening); }
void* TopicEntity::listener() const { return listener_of(*participant_->core(), *core_->board); }
std::uint32_t TopicEntity::status_changes() const { return changed(*participant_->core(), *core_->board); }
dds::core::status::InconsistentTopicStatus TopicEntity::inconsistent() {
  const std::lock_guard lock(participant_->core()->monitor().mutex);
  core_->board->clear(StatusBit::inconsistent_topic);
  const auto status = core_->inconsistent;
  core_->inconsistent.forget_changes();
  return status;
}
InstanceHandle TopicEntity::handle() const { return InstanceHandle(id_.name()); }

}  // namespace spindrift::topics
