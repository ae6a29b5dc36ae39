// Conditions, and waiting for any of them, as OMG's API has it.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <spindrift/dds/core.hpp>
#include <spindrift/dds/status.hpp>

namespace spindrift::topics {

/// A condition without its kind.
struct ConditionBody {
  ConditionBody() = default;
  explicit ConditionBody(std::function<bool()> when) : holds(std::move(when)) {}

  std::function<bool()> holds;
  std::function<void()> handler{};  ///< may be empty
};

}  // namespace spindrift::topics

namespace dds::core::cond {

class Condition : public Reference<spindrift::topics::ConditionBody> {
 public:
  using Reference::Reference;
  [[nodiscard]] bool trigger_value() const { return delegate()->holds(); }
  /// Calls its handler, if there is one.
  void dispatch() {
    if (delegate()->handler) delegate()->handler();
  }
  template <class Handler>
  void handler(const Handler& handler) {
    delegate()->handler = handler;
  }
  void reset_handler() { delegate()->handler = nullptr; }

 protected:
  explicit Condition(std::function<bool()> holds) {
    delegate_ = std::make_shared<spindrift::topics::ConditionBody>(std::move(holds));
  }
};

/// One that the application sets.
class GuardCondition : public Condition {
 public:
  GuardCondition();
  using Condition::trigger_value;
  void trigger_value(bool value);

 private:
  struct Flag;
  std::shared_ptr<Flag> flag_;
};

/// Some of a writer's or reader's statuses changed, and were not looked at since.
class StatusCondition : public Condition {
 public:
  template <class Entity>
  explicit StatusCondition(const Entity& entity) : mask_(std::make_shared<status::StatusMask>(status::StatusMask::all())) {
    delegate_ = std::make_shared<spindrift::topics::ConditionBody>();
    delegate_->holds = [weak = std::weak_ptr(entity.delegate()), mask = mask_] {
      const auto alive = weak.lock();
      return alive && (alive->status_changes() & mask->to_ulong()) != 0;
    };
  }
  /// To be set before a thread waits for it.
  void enabled_statuses(const status::StatusMask& mask) { *mask_ = mask; }
  [[nodiscard]] status::StatusMask enabled_statuses() const { return *mask_; }

 private:
  std::shared_ptr<status::StatusMask> mask_;
};

/// One thread waits for any of its conditions. Not thread-safe; conditions may change on any thread.
class WaitSet {
 public:
  using ConditionSeq = std::vector<Condition>;

  void attach_condition(const Condition& condition);
  /// Whether it was attached.
  bool detach_condition(const Condition& condition);
  WaitSet& operator+=(const Condition& condition) { return attach_condition(condition), *this; }
  WaitSet& operator-=(const Condition& condition) { return detach_condition(condition), *this; }
  [[nodiscard]] const ConditionSeq& conditions() const { return attached_; }

  /// Returns those that hold, at least one. Throws TimeoutError.
  ConditionSeq wait(const Duration& limit = Duration::infinite());
  /// The same, and calls their handlers.
  void dispatch(const Duration& limit = Duration::infinite());

 private:
  ConditionSeq attached_;
};

}  // namespace dds::core::cond
