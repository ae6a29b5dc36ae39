// Two small containers of the pool's: a line that takes no memory while it is empty, and a memory of the last few of many.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace spindrift::kernel {

/// First in, first out; takes no memory before something is in it, which most pairs never have.
template <class Value>
class Queue {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == values_.size(); }
  [[nodiscard]] const Value& front() const noexcept { return values_[first_]; }
  [[nodiscard]] std::span<const Value> all() const noexcept { return std::span(values_).subspan(first_); }
  void push_back(const Value& value) { values_.push_back(value); }
  void pop_front() {
    ++first_;
    if (first_ * 2 < values_.size()) return;  // so no more is moved than was taken out
    values_.erase(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  void clear() noexcept {
    values_.clear();
    first_ = 0;
  }

 private:
  std::vector<Value> values_;
  std::size_t first_ = 0;
};

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
