// The object that clients of tools/endure write into: who wrote which number, by its place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <spindrift/group/replicated_methods.hpp>

class Book {
 public:
  using Entry = std::pair<std::uint32_t, std::uint64_t>;  // a client and its number

  /// The place of the entry, from 0 on.
  std::uint64_t enter(std::uint32_t client, std::uint64_t number) {
    entries_.emplace_back(client, number);
    return entries_.size() - 1;
  }
  [[nodiscard]] Entry at(std::uint64_t place) const { return entries_.at(place); }
  [[nodiscard]] std::uint64_t count_of(std::uint32_t client) const {
    return static_cast<std::uint64_t>(std::ranges::count(entries_, client, &Entry::first));
  }
  /// At most so many entries from that place on.
  [[nodiscard]] std::vector<Entry> part(std::uint64_t from, std::uint64_t count) const {
    const std::uint64_t first = std::min<std::uint64_t>(from, entries_.size());
    const std::uint64_t last = std::min<std::uint64_t>(from + count, entries_.size());
    return {entries_.begin() + static_cast<std::ptrdiff_t>(first), entries_.begin() + static_cast<std::ptrdiff_t>(last)};
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(entries_);
  }
  using Methods = spindrift::Replicates<&Book::enter, &Book::at, &Book::count_of, &Book::part>;

 private:
  std::vector<Entry> entries_;
};
