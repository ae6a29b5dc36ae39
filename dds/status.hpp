// Statuses of entities: what has changed, and how often.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <vector>

#include <spindrift/dds/policy.hpp>

namespace dds::core::policy {

/// How often readers and writers did not match because of one policy.
class QosPolicyCount {
 public:
  QosPolicyCount(QosPolicyId policy_id, std::int32_t count) : policy_id_(policy_id), count_(count) {}
  [[nodiscard]] QosPolicyId policy_id() const { return policy_id_; }
  [[nodiscard]] std::int32_t count() const { return count_; }

 private:
  QosPolicyId policy_id_;
  std::int32_t count_;
};
using QosPolicyCountSeq = std::vector<QosPolicyCount>;

}  // namespace dds::core::policy

namespace dds::core::status {

/// A set of statuses, by OMG's numbers.
class StatusMask : public std::bitset<32> {
 public:
  StatusMask() = default;
  explicit StatusMask(std::uint32_t bits) : std::bitset<32>(bits) {}
  StatusMask(const std::bitset<32>& bits) : std::bitset<32>(bits) {}  // NOLINT: implicit by design
  /// Adds those of the other, as OMG's API has it.
  StatusMask& operator<<(const StatusMask& others) { return *this |= others, *this; }
  static StatusMask all() { return StatusMask(0xffffffff); }
  static StatusMask none() { return StatusMask(0); }
  static StatusMask inconsistent_topic() { return StatusMask(1U << 0); }
  static StatusMask offered_deadline_missed() { return StatusMask(1U << 1); }
  static StatusMask requested_deadline_missed() { return StatusMask(1U << 2); }
  static StatusMask offered_incompatible_qos() { return StatusMask(1U << 5); }
  static StatusMask requested_incompatible_qos() { return StatusMask(1U << 6); }
  static StatusMask sample_lost() { return StatusMask(1U << 7); }
  static StatusMask sample_rejected() { return StatusMask(1U << 8); }
  static StatusMask data_on_readers() { return StatusMask(1U << 9); }
  static StatusMask data_available() { return StatusMask(1U << 10); }
  static StatusMask liveliness_lost() { return StatusMask(1U << 11); }
  static StatusMask liveliness_changed() { return StatusMask(1U << 12); }
  static StatusMask publication_matched() { return StatusMask(1U << 13); }
  static StatusMask subscription_matched() { return StatusMask(1U << 14); }
};

/// How often something happened, in all and since it was last asked for.
class CountedStatus {
 public:
  [[nodiscard]] std::int32_t total_count() const { return total_count_; }
  [[nodiscard]] std::int32_t total_count_change() const { return total_count_change_; }
  /// spindrift's own: once more; and the status as it is handed out, from which changes count anew.
  void count(std::int32_t more = 1) { total_count_ += more, total_count_change_ += more; }
  void forget_changes() { total_count_change_ = 0; }

 private:
  std::int32_t total_count_ = 0;
  std::int32_t total_count_change_ = 0;
};

class SampleLostStatus : public CountedStatus {};
/// A participant was refused a topic of that name, because it has another type or Reliability.
class InconsistentTopicStatus : public CountedStatus {};

/// A writer was not said to live within its lease.
class LivelinessLostStatus : public CountedStatus {};

class SampleRejectedState {
 public:
  enum Kind : std::uint8_t { NOT_REJECTED, REJECTED_BY_SAMPLES_LIMIT, REJECTED_BY_INSTANCES_LIMIT };
  SampleRejectedState(Kind kind = NOT_REJECTED) : kind_(kind) {}  // NOLINT: implicit by design
  static SampleRejectedState not_rejected() { return NOT_REJECTED; }
  static SampleRejectedState rejected_by_samples_limit() { return REJECTED_BY_SAMPLES_LIMIT; }
  static SampleRejectedState rejected_by_instances_limit() { return REJECTED_BY_INSTANCES_LIMIT; }
  bool operator==(const SampleRejectedState&) const = default;

 private:
  Kind kind_;
};
class SampleRejectedStatus : public CountedStatus {
 public:
  [[nodiscard]] SampleRejectedState last_reason() const { return last_reason_; }
  [[nodiscard]] InstanceHandle last_instance_handle() const { return last_; }
  void note(SampleRejectedState reason, const InstanceHandle& which) { count(), last_reason_ = reason, last_ = which; }

 private:
  SampleRejectedState last_reason_;
  InstanceHandle last_;
};

class DeadlineMissedStatus : public CountedStatus {
 public:
  [[nodiscard]] InstanceHandle last_instance_handle() const { return last_; }
  void note(const InstanceHandle& which) { count(), last_ = which; }

 private:
  InstanceHandle last_;
};
class OfferedDeadlineMissedStatus : public DeadlineMissedStatus {};
class RequestedDeadlineMissedStatus : public DeadlineMissedStatus {};

class IncompatibleQosStatus : public CountedStatus {
 public:
  [[nodiscard]] policy::QosPolicyId last_policy_id() const { return last_policy_id_; }
  [[nodiscard]] const policy::QosPolicyCountSeq& policies() const { return policies_; }
  /// spindrift's own: why the last one did not match, all policies, in words for people.
  [[nodiscard]] const std::string& last_reason() const { return last_reason_; }
  /// One more writer or reader does not match; then each policy of which less is offered.
  void note_one() { count(), last_reason_.clear(); }
  void note(policy::QosPolicyId id, const std::string& reason);

 private:
  policy::QosPolicyId last_policy_id_ = 0;
  policy::QosPolicyCountSeq policies_;
  std::string last_reason_;
};
class OfferedIncompatibleQosStatus : public IncompatibleQosStatus {};
class RequestedIncompatibleQosStatus : public IncompatibleQosStatus {};

class MatchedStatus : public CountedStatus {
 public:
  [[nodiscard]] std::int32_t current_count() const { return current_count_; }
  [[nodiscard]] std::int32_t current_count_change() const { return current_count_change_; }
  void note_one(const InstanceHandle& which) { count(), ++current_count_, ++current_count_change_, last_ = which; }
  void note_gone(const InstanceHandle& which) { --current_count_, --current_count_change_, last_ = which; }
  void forget_changes() { CountedStatus::forget_changes(), current_count_change_ = 0; }

 protected:
  InstanceHandle last_;

 private:
  std::int32_t current_count_ = 0;
  std::int32_t current_count_change_ = 0;
};
class PublicationMatchedStatus : public MatchedStatus {
 public:
  [[nodiscard]] InstanceHandle last_subscription_handle() const { return last_; }
};
class SubscriptionMatchedStatus : public MatchedStatus {
 public:
  [[nodiscard]] InstanceHandle last_publication_handle() const { return last_; }
};

class LivelinessChangedStatus {
 public:
  [[nodiscard]] std::int32_t alive_count() const { return alive_; }
  [[nodiscard]] std::int32_t alive_count_change() const { return alive_change_; }
  [[nodiscard]] std::int32_t not_alive_count() const { return not_alive_; }
  [[nodiscard]] std::int32_t not_alive_count_change() const { return not_alive_change_; }
  [[nodiscard]] InstanceHandle last_publication_handle() const { return last_; }
  void note(std::int32_t alive, std::int32_t not_alive, const InstanceHandle& which) {
    alive_ += alive, alive_change_ += alive, not_alive_ += not_alive, not_alive_change_ += not_alive, last_ = which;
  }
  void forget_changes() { alive_change_ = not_alive_change_ = 0; }

 private:
  std::int32_t alive_ = 0;
  std::int32_t alive_change_ = 0;
  std::int32_t not_alive_ = 0;
  std::int32_t not_alive_change_ = 0;
  InstanceHandle last_;
};

}  // namespace dds::core::status
