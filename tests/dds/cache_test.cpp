// A reader's cache by itself: the policies that decide which samples a reader has, and the states that it tells of them.
#include <catch2/catch.hpp>

#include <spindrift/dds/sample_cache.hpp>

using namespace spindrift;
using namespace spindrift::topics;
using Outcome = SampleCache::Outcome;

namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr EndpointId first_writer{1, 1, 1}, second_writer{2, 1, 1};

/// A cache, and what is written into it: instance, value and time.
class Cache {
 public:
  explicit Cache(const CacheRules& rules) : cache_(rules) {}

  Outcome write(std::uint64_t instance, int value, std::int64_t at = 0, EndpointId writer = first_writer,
                std::int32_t strength = 0, std::int64_t lifespan = endless) {
    SampleEnvelope header = of(instance, SampleKind::data, writer);
    header.source_timestamp = at;
    header.lifespan_ns = lifespan;
    return cache_.add(header, std::make_shared<const int>(value), strength, now);
  }
  Outcome tell(std::uint64_t instance, SampleKind kind, EndpointId writer = first_writer) {
    return cache_.add(of(instance, kind, writer), nullptr, 0, now);
  }
  std::vector<ReadSample> take(const SampleSelection& which = {}) { return cache_.get(which, true, now); }
  std::vector<ReadSample> read(const SampleSelection& which = {}) { return cache_.get(which, false, now); }
  std::vector<int> values() {
    std::vector<int> all;
    for (const ReadSample& each : take()) {
      if (each.data) all.push_back(*static_cast<const int*>(each.data.get()));
    }
    return all;
  }
  SampleCache& operator*() { return cache_; }

  std::int64_t now = 0;

 private:
  static SampleEnvelope of(std::uint64_t instance, SampleKind kind, EndpointId writer) {
    SampleEnvelope header;
    header.key.words[0] = instance;
    header.writer = writer;
    header.kind = static_cast<std::uint8_t>(kind);
    return header;
  }
  SampleCache cache_;
};

using Values = std::vector<int>;

}  // namespace

TEST_CASE("a history of the last keeps so many of each instance, and tells of what nobody had read") {
  Cache cache({.depth = 2});
  CHECK(cache.write(1, 10) == Outcome::stored);
  CHECK(cache.write(1, 11) == Outcome::stored);
  CHECK(cache.write(2, 20) == Outcome::stored);
  CHECK(cache.write(1, 12) == Outcome::overwrote);
  CHECK(cache.read().size() == 3);
  CHECK(cache.write(1, 13) == Outcome::stored);  // the one that went had been read
  CHECK(cache.values() == Values{20, 12, 13});
}

TEST_CASE("a history of all keeps all, up to its limits, of which a reliable one says that it is full") {
  Cache dropping({.depth = 0, .samples_max = 2});
  dropping.write(1, 1);
  dropping.write(2, 2);
  CHECK(dropping.write(1, 3) == Outcome::no_room);
  CHECK_FALSE((*dropping).full());
  Cache waiting({.depth = 0, .samples_max = 2, .waits = true});
  waiting.write(1, 1);
  CHECK_FALSE((*waiting).full());
  waiting.write(2, 2);
  CHECK((*waiting).full());
  CHECK(waiting.write(1, 3) == Outcome::stored);  // it was on its way
  CHECK(waiting.values() == Values{1, 2, 3});
  CHECK_FALSE((*waiting).full());
  Cache by_instance({.depth = 0, .instance_samples_max = 1});
  by_instance.write(1, 1);
  CHECK(by_instance.write(1, 2) == Outcome::no_room);
  CHECK(by_instance.write(2, 2) == Outcome::stored);
}

TEST_CASE("instances beyond the limit are rejected, and one that is over makes room") {
  Cache cache({.instances_max = 1});
  cache.write(1, 1);
  CHECK(cache.write(2, 2) == Outcome::too_many_instances);
  cache.tell(1, SampleKind::both);
  cache.take();
  CHECK(cache.write(2, 2) == Outcome::stored);
}

TEST_CASE("samples whose lifespan is over are not there") {
  Cache cache({.depth = 0});
  cache.now = 10 * second;
  CHECK(cache.write(1, 1, 10 * second, first_writer, 0, second) == Outcome::stored);
  CHECK(cache.write(1, 2, 10 * second) == Outcome::stored);
  CHECK(cache.write(1, 3, 8 * second, first_writer, 0, second) == Outcome::unwanted);
  cache.now = 11 * second;
  CHECK(cache.values() == Values{2});
  CHECK((*cache).size() == 0);
}

TEST_CASE("a time-based filter leaves out what comes too soon behind another sample of its instance") {
  Cache cache({.depth = 0, .separation_ns = second});
  cache.write(1, 1, 0);
  CHECK(cache.write(1, 2, second - 1) == Outcome::unwanted);
  CHECK(cache.write(2, 20, second - 1) == Outcome::stored);
  CHECK(cache.write(1, 3, second) == Outcome::stored);
  CHECK(cache.values() == Values{1, 20, 3});
}

TEST_CASE("with exclusive ownership the strongest writer has an instance, until it lets go of it") {
  Cache cache({.depth = 0, .exclusive = true});
  cache.write(1, 1, 0, first_writer, 5);
  CHECK(cache.write(1, 2, 0, second_writer, 4) == Outcome::unwanted);
  CHECK(cache.write(2, 3, 0, second_writer, 4) == Outcome::stored);
  CHECK(cache.tell(1, SampleKind::dispose, second_writer) == Outcome::unwanted);
  CHECK(cache.write(1, 4, 0, second_writer, 6) == Outcome::stored);
  CHECK(cache.write(1, 5, 0, first_writer, 5) == Outcome::unwanted);
  CHECK((*cache).on_gone(second_writer, cache.now));
  CHECK(cache.write(1, 6, 0, first_writer, 5) == Outcome::stored);
  CHECK(cache.values() == Values{1, 3, 4, 6});
}

TEST_CASE("equally strong writers have one owner, the same at all readers") {
  for (const bool turned : {false, true}) {
    Cache cache({.depth = 0, .exclusive = true});
    cache.write(1, 1, 0, turned ? second_writer : first_writer, 5);
    cache.write(1, 2, 0, turned ? first_writer : second_writer, 5);
    CHECK(cache.write(1, 3, 0, first_writer, 5) == Outcome::stored);
    CHECK(cache.write(1, 4, 0, second_writer, 5) == Outcome::unwanted);
  }
}

TEST_CASE("in the order of the sources samples lie by their times, and the last are the latest") {
  Cache cache({.depth = 2, .by_source = true});
  cache.write(1, 3, 3, second_writer);
  cache.write(1, 2, 2);
  CHECK(cache.write(1, 1, 1) == Outcome::unwanted);
  cache.write(1, 4, 4);
  CHECK(cache.values() == Values{3, 4});
  Cache all({.depth = 0, .by_source = true});
  for (const int at : {30, 10, 40, 20}) all.write(1, at, at);
  all.write(1, 21, 20);
  CHECK(all.take({.most = 1}).at(0).source_timestamp == 10);
  CHECK(all.values() == Values{20, 21, 30, 40});
  Cache received({.depth = 0});
  received.write(1, 3, 3);
  received.write(1, 2, 2);
  CHECK(received.values() == Values{3, 2});
}

TEST_CASE("samples are read once as unread, and views are new until something of them was handed out") {
  Cache cache({.depth = 0});
  cache.write(1, 1);
  CHECK(cache.read().at(0).view_state == view_new);
  CHECK(cache.read({.sample_states = sample_not_read}).empty());
  const auto again = cache.read();
  CHECK(again.at(0).sample_state == sample_read);
  CHECK(again.at(0).view_state == view_not_new);
  cache.write(1, 2);
  CHECK(cache.take({.sample_states = sample_not_read}).size() == 1);
  CHECK(cache.take({.view_states = view_new}).empty());
  CHECK(cache.take({.most = 1}).size() == 1);
}

TEST_CASE("an instance that comes to life again counts its generations, and is new") {
  Cache cache({.depth = 0});
  cache.write(1, 1);
  cache.tell(1, SampleKind::dispose);
  cache.write(1, 2);
  cache.tell(1, SampleKind::unregister);
  cache.write(1, 3);
  const auto all = cache.take();
  REQUIRE(all.size() == 5);
  CHECK(all[0].sample_rank == 4);
  CHECK(all[0].generation_rank == 2);
  CHECK(all[2].disposed_generation == 1);
  CHECK(all[4].no_writers_generation == 1);
  CHECK(all[4].instance_state == instance_alive);
  CHECK(all[4].view_state == view_new);
  CHECK(cache.tell(7, SampleKind::dispose) == Outcome::unknown);
}

TEST_CASE("an instance has no writers once the last of them is gone") {
  Cache cache({.depth = 0});
  cache.write(1, 1, 0, first_writer);
  cache.write(1, 2, 0, second_writer);
  CHECK_FALSE((*cache).on_gone(first_writer, cache.now));
  CHECK((*cache).on_gone(second_writer, cache.now));
  CHECK(cache.take({.instance_states = instance_no_writers}).size() == 3);
  CHECK((*cache).key_value(Digest{{1, 0}}) == nullptr);
}

TEST_CASE("an instance that is over keeps its samples for as long as the reader's delays say, each for its own state") {
  Cache cache({.depth = 0, .no_writers_ns_max = 5 * second, .disposed_ns_max = 2 * second});
  cache.now = 10 * second;
  for (std::uint64_t instance : {1, 2, 3}) cache.write(instance, 1);
  CHECK((*cache).purge(cache.now) == 12 * second);  // nothing that ends from now on is due earlier
  cache.tell(1, SampleKind::dispose);
  cache.tell(2, SampleKind::unregister);
  cache.now = 12 * second - 1;
  CHECK((*cache).purge(cache.now) == 12 * second);
  CHECK((*cache).size() == 5);
  cache.now = 12 * second;
  CHECK((*cache).purge(cache.now) == 14 * second);
  CHECK((*cache).size() == 3);
  cache.now = 15 * second;
  CHECK((*cache).purge(cache.now) == 17 * second);
  CHECK(cache.values() == Values{1});
  (*cache).change_lifecycle(endless, endless);
  cache.tell(3, SampleKind::dispose);
  CHECK((*cache).purge(100 * second) == endless);
  CHECK((*cache).size() == 1);
}
