// The table that forgets what was used longest ago, and the cache of nodes' metadata made of it.
#include <catch2/catch.hpp>

#include <list>
#include <unordered_map>

#include <spindrift/kernel/metadata_cache.hpp>

#include "../sim/random.hpp"

using namespace spindrift;
using namespace spindrift::kernel;

namespace {

NodeRecord record_of(std::uint8_t number) {
  NodeRecord record;
  record.incarnation = 1000U + number;
  record.metadata.size = 2;
  record.metadata.bytes[1] = std::byte{number};
  return record;
}

struct Identity {
  std::size_t operator()(std::uint32_t key) const noexcept { return key; }
};
/// All keys collide in four places of the index.
struct Crowded {
  std::size_t operator()(std::uint32_t key) const noexcept { return key % 4; }
};

/// The same, as a list from the newest use to the oldest.
class Reference {
 public:
  explicit Reference(std::size_t entries_max) : entries_max_(entries_max) {}

  std::optional<std::uint64_t> find(std::uint32_t key) {
    const auto at = locate(key);
    if (at == entries_.end()) return std::nullopt;
    entries_.splice(entries_.begin(), entries_, at);
    return at->second;
  }
  std::optional<std::pair<std::uint32_t, std::uint64_t>> put(std::uint32_t key, std::uint64_t value) {
    std::optional<std::pair<std::uint32_t, std::uint64_t>> evicted;
    if (const auto at = locate(key); at != entries_.end()) {
      entries_.erase(at);
    } else if (entries_.size() == entries_max_) {
      evicted = entries_.back();
      entries_.pop_back();
    }
    entries_.emplace_front(key, value);
    return evicted;
  }
  std::optional<std::uint64_t> erase(std::uint32_t key) {
    const auto at = locate(key);
    if (at == entries_.end()) return std::nullopt;
    const std::uint64_t value = at->second;
    entries_.erase(at);
    return value;
  }
  void erase_odd() {
    entries_.remove_if([](const auto& entry) { return entry.second % 2 == 1; });
  }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  using Entries = std::list<std::pair<std::uint32_t, std::uint64_t>>;
  Entries::iterator locate(std::uint32_t key) {
    return std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry.first == key; });
  }
  Entries entries_;
  std::size_t entries_max_;
};

template <class Hash>
void compare_with_a_list(std::uint32_t entries_max, std::uint32_t keys, std::uint64_t seed) {
  LruTable<std::uint32_t, std::uint64_t, Hash> table(entries_max);
  Reference reference(entries_max);
  sim::Random random(seed, sim::Purpose::workload);
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const auto key = static_cast<std::uint32_t>(random.below(keys));
    switch (random.below(8)) {
      case 0:
      case 1:
      case 2: REQUIRE(table.put(key, i) == reference.put(key, i)); break;
      case 3:
      case 4: REQUIRE(table.erase(key) == reference.erase(key)); break;
      case 5:
        if (random.below(50) == 0) {
          table.erase_if([](std::uint32_t, std::uint64_t value) { return value % 2 == 1; });
          reference.erase_odd();
        }
        break;
      default: {
        const std::uint64_t* found = table.find(key);
        REQUIRE((found != nullptr ? std::optional(*found) : std::nullopt) == reference.find(key));
      }
    }
    REQUIRE(table.size() == reference.size());
  }
}

}  // namespace

TEST_CASE("a table that forgets does as a list in the order of use would") {
  compare_with_a_list<Identity>(1, 3, 1);
  compare_with_a_list<Identity>(7, 12, 2);
  compare_with_a_list<Identity>(100, 150, 3);
  compare_with_a_list<Crowded>(7, 12, 4);
  compare_with_a_list<Crowded>(33, 50, 5);
}

TEST_CASE("what is known of a node is found until it is lost") {
  MetadataCache cache(4);
  CHECK(cache.find(NodeId(1)) == nullptr);
  CHECK_FALSE(cache.put(NodeId(1), record_of(1)));
  REQUIRE(cache.find(NodeId(1)) != nullptr);
  CHECK(*cache.find(NodeId(1)) == record_of(1));
  CHECK_FALSE(cache.put(NodeId(1), record_of(2)));
  CHECK(*cache.find(NodeId(1)) == record_of(2));
  CHECK(cache.find(NodeId(2)) == nullptr);
  CHECK(cache.erase(NodeId(1)));
  CHECK(cache.find(NodeId(1)) == nullptr);
  CHECK(cache.size() == 0);
}

TEST_CASE("the node that was used longest ago is forgotten for another") {
  MetadataCache cache(2);
  CHECK_FALSE(cache.put(NodeId(1), record_of(1)));
  CHECK_FALSE(cache.put(NodeId(2), record_of(2)));
  CHECK(cache.find(NodeId(1)) != nullptr);
  const auto evicted = cache.put(NodeId(3), record_of(3));
  REQUIRE(evicted);
  CHECK(evicted->first == NodeId(2));
  CHECK(cache.find(NodeId(2)) == nullptr);
  CHECK(cache.find(NodeId(1)) != nullptr);
  CHECK(cache.find(NodeId(3)) != nullptr);
}
