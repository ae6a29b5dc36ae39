// The policies of quality of service, named as OMG names them. docs/dds.md says of each what it does here; what is not
// supported is refused where an entity is made with it, with UnsupportedError.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/dds/core.hpp>

namespace dds::core::policy {

using QosPolicyId = std::uint32_t;
inline constexpr std::int32_t LENGTH_UNLIMITED = -1;

enum class DurabilityKind : std::uint8_t { VOLATILE, TRANSIENT_LOCAL, TRANSIENT, PERSISTENT };
enum class ReliabilityKind : std::uint8_t { BEST_EFFORT, RELIABLE };
enum class HistoryKind : std::uint8_t { KEEP_LAST, KEEP_ALL };
enum class OwnershipKind : std::uint8_t { SHARED, EXCLUSIVE };
enum class LivelinessKind : std::uint8_t { AUTOMATIC, MANUAL_BY_PARTICIPANT, MANUAL_BY_TOPIC };
enum class DestinationOrderKind : std::uint8_t { BY_RECEPTION_TIMESTAMP, BY_SOURCE_TIMESTAMP };
enum class PresentationAccessScopeKind : std::uint8_t { INSTANCE, TOPIC, GROUP };

/// Bytes of an application's own.
template <int which>
class OpaqueData {
 public:
  OpaqueData() = default;
  explicit OpaqueData(std::vector<std::uint8_t> value) : value_(std::move(value)) {}
  [[nodiscard]] const std::vector<std::uint8_t>& value() const { return value_; }
  OpaqueData& value(std::vector<std::uint8_t> value) { return value_ = std::move(value), *this; }
  bool operator==(const OpaqueData&) const = default;

 private:
  std::vector<std::uint8_t> value_;
};
using UserData = OpaqueData<1>;
using TopicData = OpaqueData<18>;
using GroupData = OpaqueData<19>;

class Durability {
 public:
  explicit Durability(DurabilityKind kind = DurabilityKind::VOLATILE) : kind_(kind) {}
  static Durability Volatile() { return Durability(DurabilityKind::VOLATILE); }
  static Durability TransientLocal() { return Durability(DurabilityKind::TRANSIENT_LOCAL); }
  static Durability Transient() { return Durability(DurabilityKind::TRANSIENT); }
  static Durability Persistent() { return Durability(DurabilityKind::PERSISTENT); }
  [[nodiscard]] DurabilityKind kind() const { return kind_; }
  Durability& kind(DurabilityKind kind) { return kind_ = kind, *this; }
  bool operator==(const Durability&) const = default;

 private:
  DurabilityKind kind_;
};

class Reliability {
 public:
  explicit Reliability(ReliabilityKind kind = ReliabilityKind::RELIABLE,
                       const Duration& max_blocking_time = Duration::from_millisecs(100))
      : kind_(kind), max_blocking_time_(max_blocking_time) {}
  static Reliability BestEffort() { return Reliability(ReliabilityKind::BEST_EFFORT); }
  static Reliability Reliable(const Duration& max_blocking_time = Duration::from_millisecs(100)) {
    return Reliability(ReliabilityKind::RELIABLE, max_blocking_time);
  }
  [[nodiscard]] ReliabilityKind kind() const { return kind_; }
  Reliability& kind(ReliabilityKind kind) { return kind_ = kind, *this; }
  [[nodiscard]] Duration max_blocking_time() const { return max_blocking_time_; }
  Reliability& max_blocking_time(const Duration& most) { return max_blocking_time_ = most, *this; }
  bool operator==(const Reliability&) const = default;

 private:
  ReliabilityKind kind_;
  Duration max_blocking_time_;
};

class History {
 public:
  explicit History(HistoryKind kind = HistoryKind::KEEP_LAST, std::int32_t depth = 1) : kind_(kind), depth_(depth) {}
  static History KeepAll() { return History(HistoryKind::KEEP_ALL, 1); }
  static History KeepLast(std::uint32_t depth) { return History(HistoryKind::KEEP_LAST, static_cast<std::int32_t>(depth)); }
  [[nodiscard]] HistoryKind kind() const { return kind_; }
  History& kind(HistoryKind kind) { return kind_ = kind, *this; }
  [[nodiscard]] std::int32_t depth() const { return depth_; }
  History& depth(std::int32_t depth) { return depth_ = depth, *this; }
  bool operator==(const History&) const = default;

 private:
  HistoryKind kind_;
  std::int32_t depth_;
};

class ResourceLimits {
 public:
  explicit ResourceLimits(std::int32_t max_samples = LENGTH_UNLIMITED, std::int32_t max_instances = LENGTH_UNLIMITED,
                          std::int32_t max_samples_per_instance = LENGTH_UNLIMITED)
      : max_samples_(max_samples), max_instances_(max_instances), max_samples_per_instance_(max_samples_per_instance) {}
  [[nodiscard]] std::int32_t max_samples() const { return max_samples_; }
  ResourceLimits& max_samples(std::int32_t most) { return max_samples_ = most, *this; }
  [[nodiscard]] std::int32_t max_instances() const { return max_instances_; }
  ResourceLimits& max_instances(std::int32_t most) { return max_instances_ = most, *this; }
  [[nodiscard]] std::int32_t max_samples_per_instance() const { return max_samples_per_instance_; }
  ResourceLimits& max_samples_per_instance(std::int32_t most) { return max_samples_per_instance_ = most, *this; }
  bool operator==(const ResourceLimits&) const = default;

 private:
  std::int32_t max_samples_;
  std::int32_t max_instances_;
  std::int32_t max_samples_per_instance_;
};

/// The history for late joiners of a TRANSIENT or PERSISTENT topic.
class DurabilityService {
 public:
  explicit DurabilityService(const Duration& service_cleanup_delay = Duration::zero(),
                             HistoryKind history_kind = HistoryKind::KEEP_LAST, std::int32_t history_depth = 1,
                             std::int32_t max_samples = LENGTH_UNLIMITED, std::int32_t max_instances = LENGTH_UNLIMITED,
                             std::int32_t max_samples_per_instance = LENGTH_UNLIMITED)
      : service_cleanup_delay_(service_cleanup_delay),
        history_(history_kind, history_depth),
        limits_(max_samples, max_instances, max_samples_per_instance) {}
  [[nodiscard]] Duration service_cleanup_delay() const { return service_cleanup_delay_; }
  DurabilityService& service_cleanup_delay(const Duration& delay) { return service_cleanup_delay_ = delay, *this; }
  [[nodiscard]] HistoryKind history_kind() const { return history_.kind(); }
  DurabilityService& history_kind(HistoryKind kind) { return history_.kind(kind), *this; }
  [[nodiscard]] std::int32_t history_depth() const { return history_.depth(); }
  DurabilityService& history_depth(std::int32_t depth) { return history_.depth(depth), *this; }
  [[nodiscard]] std::int32_t max_samples() const { return limits_.max_samples(); }
  DurabilityService& max_samples(std::int32_t most) { return limits_.max_samples(most), *this; }
  [[nodiscard]] std::int32_t max_instances() const { return limits_.max_instances(); }
  DurabilityService& max_instances(std::int32_t most) { return limits_.max_instances(most), *this; }
  [[nodiscard]] std::int32_t max_samples_per_instance() const { return limits_.max_samples_per_instance(); }
  DurabilityService& max_samples_per_instance(std::int32_t most) { return limits_.max_samples_per_instance(most), *this; }
  bool operator==(const DurabilityService&) const = default;

 private:
  Duration service_cleanup_delay_;
  History history_;
  ResourceLimits limits_;
};

/// A policy that is one length of time.
template <int which>
class Period {
 public:
  explicit Period(const Duration& length) : length_(length) {}
  bool operator==(const Period&) const = default;

 protected:
  Duration length_;
};

class Deadline : public Period<4> {
 public:
  explicit Deadline(const Duration& period = Duration::infinite()) : Period(period) {}
  [[nodiscard]] Duration period() const { return length_; }
  Deadline& period(const Duration& period) { return length_ = period, *this; }
};
class LatencyBudget : public Period<5> {
 public:
  explicit LatencyBudget(const Duration& duration = Duration::zero()) : Period(duration) {}
  [[nodiscard]] Duration duration() const { return length_; }
  LatencyBudget& duration(const Duration& duration) { return length_ = duration, *this; }
};
class Lifespan : public Period<10> {
 public:
  explicit Lifespan(const Duration& duration = Duration::infinite()) : Period(duration) {}
  [[nodiscard]] Duration duration() const { return length_; }
  Lifespan& duration(const Duration& duration) { return length_ = duration, *this; }
};
class TimeBasedFilter : public Period<9> {
 public:
  explicit TimeBasedFilter(const Duration& minimum_separation = Duration::zero()) : Period(minimum_separation) {}
  [[nodiscard]] Duration minimum_separation() const { return length_; }
  TimeBasedFilter& minimum_separation(const Duration& least) { return length_ = least, *this; }
};

class Liveliness {
 public:
  explicit Liveliness(LivelinessKind kind = LivelinessKind::AUTOMATIC, const Duration& lease_duration = Duration::infinite())
      : kind_(kind), lease_duration_(lease_duration) {}
  static Liveliness Automatic() { return Liveliness(); }
  static Liveliness ManualByParticipant(const Duration& lease_duration = Duration::infinite()) {
    return Liveliness(LivelinessKind::MANUAL_BY_PARTICIPANT, lease_duration);
  }
  static Liveliness ManualByTopic(const Duration& lease_duration = Duration::infinite()) {
    return Liveliness(LivelinessKind::MANUAL_BY_TOPIC, lease_duration);
  }
  [[nodiscard]] LivelinessKind kind() const { return kind_; }
  Liveliness& kind(LivelinessKind kind) { return kind_ = kind, *this; }
  [[nodiscard]] Duration lease_duration() const { return lease_duration_; }
  Liveliness& lease_duration(const Duration& length) { return lease_duration_ = length, *this; }
  bool operator==(const Liveliness&) const = default;

 private:
  LivelinessKind kind_;
  Duration lease_duration_;
};

class Ownership {
 public:
  explicit Ownership(OwnershipKind kind = OwnershipKind::SHARED) : kind_(kind) {}
  static Ownership Shared() { return Ownership(); }
  static Ownership Exclusive() { return Ownership(OwnershipKind::EXCLUSIVE); }
  [[nodiscard]] OwnershipKind kind() const { return kind_; }
  Ownership& kind(OwnershipKind kind) { return kind_ = kind, *this; }
  bool operator==(const Ownership&) const = default;

 private:
  OwnershipKind kind_;
};

class OwnershipStrength {
 public:
  explicit OwnershipStrength(std::int32_t value = 0) : value_(value) {}
  [[nodiscard]] std::int32_t value() const { return value_; }
  OwnershipStrength& value(std::int32_t value) { return value_ = value, *this; }
  bool operator==(const OwnershipStrength&) const = default;

 private:
  std::int32_t value_;
};

class TransportPriority {
 public:
  explicit TransportPriority(std::int32_t value = 0) : value_(value) {}
  [[nodiscard]] std::int32_t value() const { return value_; }
  TransportPriority& value(std::int32_t value) { return value_ = value, *this; }
  bool operator==(const TransportPriority&) const = default;

 private:
  std::int32_t value_;
};

class DestinationOrder {
 public:
  explicit DestinationOrder(DestinationOrderKind kind = DestinationOrderKind::BY_RECEPTION_TIMESTAMP) : kind_(kind) {}
  static DestinationOrder ReceptionTimestamp() { return DestinationOrder(); }
  static DestinationOrder SourceTimestamp() { return DestinationOrder(DestinationOrderKind::BY_SOURCE_TIMESTAMP); }
  [[nodiscard]] DestinationOrderKind kind() const { return kind_; }
  DestinationOrder& kind(DestinationOrderKind kind) { return kind_ = kind, *this; }
  bool operator==(const DestinationOrder&) const = default;

 private:
  DestinationOrderKind kind_;
};

class Presentation {
 public:
  explicit Presentation(PresentationAccessScopeKind access_scope = PresentationAccessScopeKind::INSTANCE,
                        bool coherent_access = false, bool ordered_access = false)
      : access_scope_(access_scope), coherent_access_(coherent_access), ordered_access_(ordered_access) {}
  static Presentation InstanceAccessScope(bool coherent_access = false, bool ordered_access = false) {
    return Presentation(PresentationAccessScopeKind::INSTANCE, coherent_access, ordered_access);
  }
  static Presentation TopicAccessScope(bool coherent_access = false, bool ordered_access = false) {
    return Presentation(PresentationAccessScopeKind::TOPIC, coherent_access, ordered_access);
  }
  static Presentation GroupAccessScope(bool coherent_access = false, bool ordered_access = false) {
    return Presentation(PresentationAccessScopeKind::GROUP, coherent_access, ordered_access);
  }
  [[nodiscard]] PresentationAccessScopeKind access_scope() const { return access_scope_; }
  Presentation& access_scope(PresentationAccessScopeKind scope) { return access_scope_ = scope, *this; }
  [[nodiscard]] bool coherent_access() const { return coherent_access_; }
  Presentation& coherent_access(bool coherent) { return coherent_access_ = coherent, *this; }
  [[nodiscard]] bool ordered_access() const { return ordered_access_; }
  Presentation& ordered_access(bool ordered) { return ordered_access_ = ordered, *this; }
  bool operator==(const Presentation&) const = default;

 private:
  PresentationAccessScopeKind access_scope_;
  bool coherent_access_;
  bool ordered_access_;
};

/// Names, with the wildcards of fnmatch; a writer and a reader need one in common.
class Partition {
 public:
  explicit Partition(const std::string& name = "") : names_(name.empty() ? StringSeq() : StringSeq{name}) {}
  explicit Partition(StringSeq names) : names_(std::move(names)) {}
  [[nodiscard]] const StringSeq& name() const { return names_; }
  Partition& name(StringSeq names) { return names_ = std::move(names), *this; }
  bool operator==(const Partition&) const = default;

 private:
  StringSeq names_;
};

class EntityFactory {
 public:
  explicit EntityFactory(bool autoenable_created_entities = true) : autoenable_(autoenable_created_entities) {}
  static EntityFactory AutoEnable() { return EntityFactory(true); }
  static EntityFactory ManuallyEnable() { return EntityFactory(false); }
  [[nodiscard]] bool autoenable_created_entities() const { return autoenable_; }
  EntityFactory& autoenable_created_entities(bool enables) { return autoenable_ = enables, *this; }
  bool operator==(const EntityFactory&) const = default;

 private:
  bool autoenable_;
};

class WriterDataLifecycle {
 public:
  explicit WriterDataLifecycle(bool autodispose_unregistered_instances = true)
      : autodispose_(autodispose_unregistered_instances) {}
  static WriterDataLifecycle AutoDisposeUnregisteredInstances() { return WriterDataLifecycle(true); }
  static WriterDataLifecycle ManuallyDisposeUnregisteredInstances() { return WriterDataLifecycle(false); }
  [[nodiscard]] bool autodispose_unregistered_instances() const { return autodispose_; }
  WriterDataLifecycle& autodispose_unregistered_instances(bool disposes) { return autodispose_ = disposes, *this; }
  bool operator==(const WriterDataLifecycle&) const = default;

 private:
  bool autodispose_;
};

class ReaderDataLifecycle {
 public:
  explicit ReaderDataLifecycle(const Duration& autopurge_nowriter_samples_delay = Duration::infinite(),
                               const Duration& autopurge_disposed_samples_delay = Duration::infinite())
      : no_writer_(autopurge_nowriter_samples_delay), disposed_(autopurge_disposed_samples_delay) {}
  static ReaderDataLifecycle NoAutoPurge() { return ReaderDataLifecycle(); }
  static ReaderDataLifecycle AutoPurgeDisposedSamples(const Duration& delay) {
    return ReaderDataLifecycle(Duration::infinite(), delay);
  }
  static ReaderDataLifecycle AutoPurgeNoWriterSamples(const Duration& delay) { return ReaderDataLifecycle(delay); }
  [[nodiscard]] Duration autopurge_nowriter_samples_delay() const { return no_writer_; }
  ReaderDataLifecycle& autopurge_nowriter_samples_delay(const Duration& delay) { return no_writer_ = delay, *this; }
  [[nodiscard]] Duration autopurge_disposed_samples_delay() const { return disposed_; }
  ReaderDataLifecycle& autopurge_disposed_samples_delay(const Duration& delay) { return disposed_ = delay, *this; }
  bool operator==(const ReaderDataLifecycle&) const = default;

 private:
  Duration no_writer_;
  Duration disposed_;
};

/// The number that OMG gave a policy, by which statuses name it.
template <class Policy>
struct policy_id;
template <>
struct policy_id<Durability> {
  static constexpr QosPolicyId value = 2;
};
template <>
struct policy_id<Presentation> {
  static constexpr QosPolicyId value = 3;
};
template <>
struct policy_id<Deadline> {
  static constexpr QosPolicyId value = 4;
};
template <>
struct policy_id<LatencyBudget> {
  static constexpr QosPolicyId value = 5;
};
template <>
struct policy_id<Ownership> {
  static constexpr QosPolicyId value = 6;
};
template <>
struct policy_id<Liveliness> {
  static constexpr QosPolicyId value = 8;
};
template <>
struct policy_id<Reliability> {
  static constexpr QosPolicyId value = 11;
};
template <>
struct policy_id<DestinationOrder> {
  static constexpr QosPolicyId value = 12;
};

}  // namespace dds::core::policy
