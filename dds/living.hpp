// Small containers that any thread may use: entities that live, and a value that is replaced as a whole.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace spindrift::topics {

/// Entities that something else made of itself, for as long as they live and are not closed; it does not keep them.
template <class Entity>
class Living {
 public:
  void add(const std::shared_ptr<Entity>& entity) {
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [](const auto& each) { return each.expired(); });
    all_.push_back(entity);
  }
  /// In the order in which they were made.
  [[nodiscard]] std::vector<std::shared_ptr<Entity>> all() const {
    std::vector<std::shared_ptr<Entity>> alive;
    const std::lock_guard lock(mutex_);
    for (const auto& each : all_) {
      if (auto entity = each.lock(); entity && !entity->closed()) alive.push_back(std::move(entity));
    }
    return alive;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<Entity>> all_;
};

/// A value of which everybody gets a copy.
template <class Value>
class Replaceable {
 public:
  Replaceable() = default;
  explicit Replaceable(Value value) : value_(std::move(value)) {}
  [[nodiscard]] Value get() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }
  void set(Value value) {
    const std::lock_guard lock(mutex_);
    value_ = std::move(value);
  }

 private:
  mutable std::mutex mutex_;
  Value value_{};
};

}  // namespace spindrift::topics
