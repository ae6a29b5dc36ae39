// A bounded table that forgets what was used longest ago when it is full: what the kernel's caches are made of. All memory
// is taken when it is made: per entry its own size and 8 to 16 bytes of index.
//
// Remember: entries are a doubly linked list by number, from the newest use to the oldest; the index is an open hash table
// of those numbers with linear probing, at most half full, where erasing closes the gap. Not iterated in hash order.
//
// Threading: one thread. Pointers to values stay until the value is erased or evicted.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <spindrift/core/check.hpp>

namespace spindrift::kernel {

template <class Key, class Value, class Hash>
class LruTable {
 public:
  struct Entry {
    Key key;
    Value value;
    std::uint32_t newer = 0;  ///< numbers of entries, in the order of their use
    std::uint32_t older = 0;
  };

  /// Bound on `entries_max`; the least is 1.
  static constexpr std::uint32_t entries_bound = 1U << 24;

  explicit LruTable(std::uint32_t entries_max)
      : entries_max_(entries_max), index_(std::bit_ceil(std::size_t{entries_max} * 2), none) {
    SPINDRIFT_CHECK(entries_max >= 1 && entries_max <= entries_bound);
    entries_.reserve(entries_max);
  }

  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t entries_max() const noexcept { return entries_max_; }

  /// The key's value, which is the newest in use from now on; null if there is none.
  [[nodiscard]] Value* find(const Key& key) {
    const std::size_t at = slot_of(key);
    if (index_[at] == none) return nullptr;
    unlink(index_[at]);
    link_newest(index_[at]);
    return &entries_[index_[at]].value;
  }

  /// Sets the key's value, the newest in use; returns what had to go for it.
  std::optional<std::pair<Key, Value>> put(const Key& key, Value value) {
    if (Value* present = find(key)) {
      *present = std::move(value);
      return std::nullopt;
    }
    std::optional<std::pair<Key, Value>> evicted;
    if (size_ == entries_max_) {
      const Entry& oldest = entries_[oldest_];
      evicted.emplace(oldest.key, oldest.value);
      erase(evicted->first);
    }
    const std::uint32_t number = take_free();
    entries_[number] = Entry{key, std::move(value), none, none};
    index_[slot_of(key)] = number;
    link_newest(number);
    ++size_;
    return evicted;
  }

  /// Returns the value that the key had.
  std::optional<Value> erase(const Key& key) {
    const std::size_t at = slot_of(key);
    const std::uint32_t number = index_[at];
    if (number == none) return std::nullopt;
    unlink(number);
    close_gap(at);
    entries_[number].older = free_;
    free_ = number;
    --size_;
    return std::move(entries_[number].value);
  }

  /// Erases every entry of which `gone(key, value)` holds, the newest first.
  template <class Predicate>
  void erase_if(Predicate&& gone) {
    for (std::uint32_t number = newest_; number != none;) {
      const std::uint32_t older = entries_[number].older;
      if (gone(entries_[number].key, entries_[number].value)) erase(Key(entries_[number].key));
      number = older;
    }
  }

 private:
  static constexpr std::uint32_t none = 0xffff'ffff;

  [[nodiscard]] std::size_t home_of(const Key& key) const noexcept { return Hash{}(key) & (index_.size() - 1); }
  [[nodiscard]] std::size_t after(std::size_t at) const noexcept { return (at + 1) & (index_.size() - 1); }

  /// The key's place in the index, or the one where it would be put.
  [[nodiscard]] std::size_t slot_of(const Key& key) const noexcept {
    std::size_t at = home_of(key);
    while (index_[at] != none && !(entries_[index_[at]].key == key)) at = after(at);
    return at;
  }

  /// An entry that probing had put behind `hole` moves up, if its home is not behind the hole.
  void close_gap(std::size_t hole) noexcept {
    for (std::size_t at = after(hole); index_[at] != none; at = after(at)) {
      const std::size_t from_home = (at - home_of(entries_[index_[at]].key)) & (index_.size() - 1);
      const std::size_t from_hole = (at - hole) & (index_.size() - 1);
      if (from_home < from_hole) continue;
      index_[hole] = index_[at];
      hole = at;
    }
    index_[hole] = none;
  }

  [[nodiscard]] std::uint32_t take_free() {
    if (free_ == none) {
      entries_.emplace_back();
      return static_cast<std::uint32_t>(entries_.size() - 1);
    }
    return std::exchange(free_, entries_[free_].older);
  }

  void unlink(std::uint32_t number) noexcept {
    const Entry& entry = entries_[number];
    (entry.newer == none ? newest_ : entries_[entry.newer].older) = entry.older;
    (entry.older == none ? oldest_ : entries_[entry.older].newer) = entry.newer;
  }

  void link_newest(std::uint32_t number) noexcept {
    entries_[number].newer = none;
    entries_[number].older = newest_;
    (newest_ == none ? oldest_ : entries_[newest_].newer) = number;
    newest_ = number;
  }

  std::uint32_t entries_max_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> index_;
  std::uint32_t newest_ = none;
  std::uint32_t oldest_ = none;
  std::uint32_t free_ = none;  ///< the first erased entry; `older` leads to the next
  std::uint32_t size_ = 0;
};

}  // namespace spindrift::kernel
