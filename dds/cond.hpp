// Conditions, and waiting for any of them, as OMG's API has it.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <type_traits>
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
  /// A handler takes nothing, or the condition.
  template <class Handler>
  void handler(const Handler& handler) {
    handle_as(*this, handler);
  }
  void reset_handler() { delegate()->handler = nullptr; }

 protected:
  // A condition has its handler, which does not keep it in turn.
  template <class Own, class Handler>
  void handle_as(const Own& own, Handler handler) {
    if constexpr (std::is_invocable_v<Handler&, Own&>) {
      Own bare = own;
      bare.delegate_.reset();
      delegate()->handler = [bare, weak = std::weak_ptr(delegate_), handler]() mutable {
        Own again = bare;
        again.delegate_ = weak.lock();
        handler(again);
      };
    } else {
      delegate()->handler = std::move(handler);
    }
  }
  explicit Condition(std::function<bool()> holds) {
    delegate_ = std::make_shared<spindrift::topics::ConditionBody>(std::move(holds));
  }
};

/// One that the application sets.
class GuardCondition : public Condition {
 public:
  GuardCondition();
  template <class Handler>
  requires(!std::derived_from<Handler, Reference>) explicit GuardCondition(const Handler& handler) : GuardCondition() {
    this->handler(handler);
  }
  template <class Handler>
  void handler(const Handler& handler) {
    handle_as(*this, handler);
  }
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
  template <class Handler>
  void handler(const Handler& handler) {
    handle_as(*this, handler);
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
  /// The same into that sequence, in place of what is in it.
  ConditionSeq& wait(ConditionSeq& held, const Duration& limit = Duration::infinite()) { return held = wait(limit); }
  /// The same, and calls their handlers.
  void dispatch(const Duration& limit = Duration::infinite());

 private:
  ConditionSeq attached_;
};

}  // namespace dds::core::cond
