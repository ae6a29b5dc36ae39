// The pool's queues need two things beside the standard's: the first of one, and a memory of the last few of many.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <utility>

namespace spindrift::kernel {

/// The front, which is out then; nothing if there is none.
template <class Value>
[[nodiscard]] std::optional<Value> take_first(std::deque<Value>& values) {
  if (values.empty()) return std::nullopt;
  std::optional<Value> first(std::move(values.front()));
  values.pop_front();
  return first;
}

/// The last few of many.
template <class Key>
class Recent {
 public:
  static constexpr int most = 1024;
  [[nodiscard]] bool contains(const Key& key) const { return keys_.contains(key); }
  void add(const Key& key) {
    if (!keys_.insert(key).second) return;
    order_.push_back(key);
    if (order_.size() <= most) return;
    keys_.erase(order_.front());
    order_.pop_front();
  }

 private:
  std::set<Key> keys_;
  std::deque<Key> order_;
};

}  // namespace spindrift::kernel
