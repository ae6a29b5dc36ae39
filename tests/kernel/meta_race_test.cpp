// Lookups that run while the table is written: the writer's stores become visible one by one, in their order, and a read
// takes each of its lines, or each of its words, at a time of its own.
#include <catch2/catch.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>

#include "../sim/random.hpp"
#include "meta_fixture.hpp"

using namespace spindrift;
using namespace spindrift::kernel;

namespace {

using Answer = std::optional<MetaValue>;  // nothing: absent

// ---------------------------------------------------------------- every interleaving of lines

/// The region after each store of a script of operations.
struct History {
  explicit History(MetaFixture& f) : fixture(f) { remember(); }

  void run(const std::function<void(MetaTable&)>& operation) {
    operation(fixture.table);
    for (const MetaTable::Store& store : fixture.table.last_stores()) {
      states.push_back(states.back());
      std::memcpy(&states.back()[store.offset], &store.value, 8);
    }
    ends.push_back(states.size() - 1);
  }
  void remember() {
    states.emplace_back(fixture.memory.span().begin(), fixture.memory.span().end());
    ends.push_back(0);
  }

  MetaFixture& fixture;
  std::vector<std::vector<std::byte>> states;
  std::vector<std::size_t> ends;  ///< the state after each operation; first, before any
};

/// Follows a lookup through every choice of times: a read is at any time after the one before, and its lines are taken at
/// times of their own that are at most `spread` stores apart.
class Interleavings {
 public:
  Interleavings(const History& history, std::uint64_t key, std::vector<Answer> answers, std::size_t spread)
      : history_(history), key_(key), answers_(std::move(answers)), spread_(spread) {
    REQUIRE(answers_.size() == history_.ends.size());
  }

  void run() {
    for (std::size_t begin = 0; begin < history_.states.size(); ++begin) {
      begin_ = begin;
      MetaReader reader(history_.fixture.geometry, key_);
      const MetaStep step = reader.start();
      follow(reader, step, begin);
    }
  }

  unsigned lookups = 0;
  unsigned wrong = 0;
  unsigned torn = 0;  ///< lookups that read something torn
  unsigned contended = 0;

 private:
  void follow(const MetaReader& reader, const MetaStep& step, std::size_t now) {
    if (step.kind != MetaStep::Kind::read) return end(reader, step, now);
    const std::size_t last = history_.states.size() - 1;
    for (std::size_t first_line = now; first_line <= last; ++first_line) {
      const bool two_lines = step.bytes > cache_line_bytes;
      std::size_t second_line = two_lines ? first_line - std::min(first_line - now, spread_) : first_line;
      const std::size_t second_last = two_lines ? std::min(last, first_line + spread_) : first_line;
      for (; second_line <= second_last; ++second_line) {
        std::vector<std::byte> bytes(step.bytes);
        take(bytes, step.offset, 0, first_line);
        if (two_lines) take(bytes, step.offset, cache_line_bytes, second_line);
        MetaReader branch = reader;
        const MetaStep next = branch.on_read(bytes);
        // A writer that is not dead gets on before who read something torn reads again.
        const std::size_t then = std::max(first_line, second_line);
        follow(branch, next, branch.torn_reads() > reader.torn_reads() ? std::min(last, then + 1) : then);
      }
    }
  }

  void take(std::vector<std::byte>& bytes, std::uint64_t offset, std::size_t line, std::size_t time) const {
    std::memcpy(&bytes[line], &history_.states[time][offset + line], cache_line_bytes);
  }

  void end(const MetaReader& reader, const MetaStep& step, std::size_t now) {
    ++lookups;
    torn += reader.torn_reads() > 0;
    if (step.kind == MetaStep::Kind::contended) return void(++contended);
    const Answer answer = step.kind == MetaStep::Kind::found ? Answer(step.value) : Answer();
    bool possible = false;
    for (std::size_t i = 0; i < answers_.size(); ++i) {
      const bool begun = i == 0 || history_.ends[i - 1] < now;
      const bool over = i + 1 < history_.ends.size() && history_.ends[i + 1] <= begin_;
      possible |= begun && !over && answer == answers_[i];
    }
    wrong += !possible || step.kind == MetaStep::Kind::bad_table;
  }

  const History& history_;
  std::uint64_t key_;
  std::vector<Answer> answers_;  ///< before the operations, and after each
  std::size_t spread_;
  std::size_t begin_ = 0;
};

constexpr MetaGeometry one_chain{1, 3, 45};
constexpr std::uint64_t slots = MetaCluster::slot_count;

/// A chain whose clusters are full with the keys 0 … count − 1.
MetaFixture chain_of(std::uint64_t count) {
  MetaFixture f(one_chain);
  for (std::uint64_t key = 0; key < count; ++key) REQUIRE(f.table.put(key, value_of(key)));
  return f;
}

/// Plays all interleavings of the operations with a lookup of the key; `answers` as in Interleavings.
Interleavings play(MetaFixture& f, const std::vector<std::function<void(MetaTable&)>>& operations, std::uint64_t key,
                   std::vector<Answer> answers, std::size_t spread) {
  History history(f);
  for (const auto& operation : operations) history.run(operation);
  Interleavings all(history, key, std::move(answers), spread);
  all.run();
  CHECK(all.wrong == 0);
  CHECK(all.contended == 0);
  CHECK(all.lookups > history.states.size());
  return all;
}

std::function<void(MetaTable&)> put(std::uint64_t key, std::uint64_t value) {
  return [=](MetaTable& table) { REQUIRE(table.put(key, value_of(value))); };
}
std::function<void(MetaTable&)> erase(std::uint64_t key) {
  return [=](MetaTable& table) { REQUIRE(table.erase(key)); };
}

constexpr std::size_t any_spread = 1000;

}  // namespace

TEST_CASE("every interleaving of lines with an update gives the old or the new value") {
  auto f = chain_of(3);
  CHECK(play(f, {put(1, 100)}, 1, {value_of(1), value_of(100)}, any_spread).torn > 0);
}

TEST_CASE("every interleaving of lines with an insert gives absent or the value") {
  auto f = chain_of(3);
  CHECK(play(f, {put(50, 50)}, 50, {Answer(), value_of(50)}, any_spread).torn > 0);
}

TEST_CASE("every interleaving of lines with an insert into a new overflow cluster gives absent or the value") {
  auto f = chain_of(slots);
  CHECK(play(f, {put(50, 50)}, 50, {Answer(), value_of(50)}, 4).torn > 0);
}

TEST_CASE("every interleaving of lines with an erase gives the value or absent") {
  auto f = chain_of(3);
  CHECK(play(f, {erase(1)}, 1, {value_of(1), Answer()}, any_spread).torn > 0);
}

TEST_CASE("every interleaving of lines with an erase that unlinks a cluster gives the value or absent") {
  auto f = chain_of(slots + 1);
  CHECK(play(f, {erase(slots)}, slots, {value_of(slots), Answer()}, 4).torn > 0);
}

TEST_CASE("a key behind a cluster that is unlinked and linked again at the end is found in every interleaving") {
  // The chain is full, {13}, full; the middle one goes, and comes back as the last.
  auto f = chain_of(3 * slots);
  for (std::uint64_t key = slots + 1; key < 2 * slots; ++key) f.table.erase(key);
  const std::uint64_t behind = 2 * slots;
  CHECK(play(f, {erase(slots), put(50, slots)}, behind, {value_of(behind), value_of(behind), value_of(behind)}, 1).torn > 0);
}

TEST_CASE("a key that is erased and comes back elsewhere is found as it was or absent in every interleaving") {
  auto f = chain_of(slots + 1);
  play(f, {erase(slots), erase(0), put(slots, 100)}, slots, {value_of(slots), Answer(), Answer(), value_of(100)}, 1);
}

TEST_CASE("a key whose entry another key takes is never found with the other's value") {
  auto f = chain_of(3);
  play(f, {erase(1), put(50, 50)}, 1, {value_of(1), Answer(), Answer()}, 2);
}

// ---------------------------------------------------------------- many random operations

namespace {

/// The table as readers see it, some stores behind its writer, and every key's past.
class RacedTable {
 public:
  RacedTable(const MetaGeometry& geometry, std::uint64_t seed)
      : fixture_(geometry),
        visible_(fixture_.memory.span().begin(), fixture_.memory.span().end()),
        random_(seed, sim::Purpose::workload) {}

  /// One put or erase, checked against the map; its stores are yet to come.
  void write(std::uint64_t key, std::uint64_t number, bool insert) {
    Answer after;
    if (insert) {
      after = value_of(number);
      const bool taken = fixture_.table.put(key, *after).ok();
      if (!taken) {
        REQUIRE(map_.count(key) == 0);
        ++refused;
        return;
      }
      map_[key] = *after;
    } else {
      REQUIRE(fixture_.table.erase(key) == (map_.erase(key) == 1));
    }
    ++operations;
    last_written = key;
    const auto stores = fixture_.table.last_stores();
    if (stores.empty()) return;
    pasts_[key].push_back({planned_, planned_ + stores.size(), after});
    planned_ += stores.size();
    pending_.insert(pending_.end(), stores.begin(), stores.end());
  }

  /// A lookup of which each read lasts some of the pending stores, and may come some of them after the one before.
  void read(std::uint64_t key, std::size_t spread) {
    MetaReader reader(fixture_.geometry, key);
    const std::uint64_t begin = done_;
    // Every other lookup begins where the key was found last, however long ago.
    std::optional<std::uint32_t> hint;
    if (const auto at = entries_.find(key); at != entries_.end() && random_.below(2) == 0) hint = at->second;
    const MetaStep step = look_up(
        reader, [&](const MetaStep& asked) { return sample(asked, spread); }, hint);
    if (step.kind == MetaStep::Kind::found) entries_[key] = step.entry;
    ++lookups;
    torn += reader.torn_reads() > 0;
    switch (step.kind) {
      case MetaStep::Kind::contended: ++contended; return;
      case MetaStep::Kind::found: ++found; break;
      case MetaStep::Kind::absent: ++absent; break;
      default: FAIL("a bad table");
    }
    const Answer answer = step.kind == MetaStep::Kind::found ? Answer(step.value) : Answer();
    if (!was_true(key, answer, begin, done_)) FAIL("key " << key << " was never so from " << begin << " to " << done_);
  }

  void finish() {
    while (!pending_.empty()) advance();
    REQUIRE(fixture_.table.size() == map_.size());
    for (const auto& [key, value] : map_) REQUIRE(fixture_.look_up(key).value == value);
    REQUIRE(std::equal(visible_.begin(), visible_.end(), fixture_.memory.span().begin()));
  }

  [[nodiscard]] std::size_t pending() const { return pending_.size(); }
  [[nodiscard]] sim::Random& random() { return random_; }
  [[nodiscard]] const MetaTable& table() const { return fixture_.table; }

  std::uint64_t last_written = 0;
  std::uint64_t operations = 0, refused = 0, lookups = 0, torn = 0, contended = 0, found = 0, absent = 0;

 private:
  struct Past {
    std::uint64_t first = 0;  ///< number of its first store
    std::uint64_t end = 0;    ///< behind its last
    Answer after;
  };

  void advance() {
    if (pending_.empty()) return;
    std::memcpy(&visible_[pending_.front().offset], &pending_.front().value, 8);
    pending_.pop_front();
    ++done_;
  }

  std::vector<std::byte> sample(const MetaStep& asked, std::size_t spread) {
    if (random_.below(4) == 0)
      for (std::uint64_t wait = random_.below(40); wait > 0; --wait) advance();
    const std::size_t unit = random_.below(2) == 0 ? cache_line_bytes : 8;
    std::vector<std::size_t> times(asked.bytes / unit);
    for (std::size_t& time : times) time = random_.below(spread + 1);
    const std::size_t last = *std::max_element(times.begin(), times.end());
    std::vector<std::byte> bytes(asked.bytes);
    for (std::size_t time = 0;; ++time) {
      for (std::size_t i = 0; i < times.size(); ++i)
        if (times[i] == time) std::memcpy(&bytes[i * unit], &visible_[asked.offset + i * unit], unit);
      if (time == last) return bytes;
      advance();
    }
  }

  bool was_true(std::uint64_t key, const Answer& answer, std::uint64_t begin, std::uint64_t end) {
    const auto& past = pasts_[key];
    for (auto at = past.rbegin(); at != past.rend(); ++at) {
      if (at->first < end && at->after == answer) return true;
      if (at->end <= begin) return false;
    }
    return !answer;
  }

  MetaFixture fixture_;
  std::vector<std::byte> visible_;
  std::deque<MetaTable::Store> pending_;
  std::uint64_t planned_ = 0;
  std::uint64_t done_ = 0;
  std::unordered_map<std::uint64_t, MetaValue> map_;
  std::unordered_map<std::uint64_t, std::vector<Past>> pasts_;
  std::unordered_map<std::uint64_t, std::uint32_t> entries_;
  sim::Random random_;
};

void race(const MetaGeometry& geometry, std::uint64_t keys, std::uint64_t operations, std::uint64_t seed) {
  RacedTable raced(geometry, seed);
  sim::Random& random = raced.random();
  bool shrink = false;
  std::uint32_t overflow_used_max = 0;
  unsigned emptied = 0;
  while (raced.operations < operations) {
    // The table fills up and empties again, so that overflow clusters come and go.
    if (raced.table().size() == geometry.entries) shrink = true;
    if (shrink && raced.table().overflow_clusters_used() == 0 && overflow_used_max > 0) {
      shrink = false;
      ++emptied;
    }
    overflow_used_max = std::max(overflow_used_max, raced.table().overflow_clusters_used());
    const std::uint64_t busy = 1 + random.below(4);
    for (std::uint64_t i = 0; i < busy; ++i) {
      const std::uint64_t key = random.below(keys);
      raced.write(key, raced.operations, random.below(16) != 0 ? !shrink : shrink);
    }
    do {
      const std::uint64_t key = random.below(4) == 0 ? raced.last_written : random.below(keys);
      const std::uint64_t spread = 1 + random.below(8);
      raced.read(key, spread);
    } while (raced.pending() > 60);
  }
  raced.finish();
  CAPTURE(seed, raced.refused, raced.lookups, raced.torn, raced.contended, raced.found, raced.absent, emptied);
  CHECK(raced.lookups > operations / 4);
  CHECK(raced.torn > raced.lookups / 100);
  CHECK(raced.contended < raced.lookups / 1000);
  CHECK(raced.found > raced.lookups / 10);
  CHECK(raced.absent > raced.lookups / 10);
  CHECK(overflow_used_max >= 2);
  CHECK(emptied >= 5);
}

}  // namespace

TEST_CASE("a table that changes all the time gives its readers what a map would, at some moment of each lookup") {
  race({1, 6, 70}, 90, 40'000, 1);
  race({2, 8, 100}, 130, 40'000, 2);
  race({7, 12, 140}, 200, 40'000, 3);
}
