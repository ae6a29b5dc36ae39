// Keys and their shards: fixed for good, spread, and moved as little as can be.
#include <catch2/catch.hpp>

#include <array>
#include <string>
#include <vector>

#include <spindrift/core/shards.hpp>

using namespace spindrift;

TEST_CASE("the shard of a key is what it was in every version") {
  constexpr std::array<std::uint32_t, 6> counts{1, 2, 3, 7, 100, 1024};
  const auto shards = [&](auto key) {
    std::vector<std::uint32_t> all;
    for (const std::uint32_t count : counts) all.push_back(shard_of(key, count));
    return all;
  };
  using Shards = std::vector<std::uint32_t>;
  CHECK(shards(std::string_view("")) == Shards{0, 1, 1, 1, 59, 499});
  CHECK(shards(std::string_view("a")) == Shards{0, 1, 1, 5, 99, 723});
  CHECK(shards(std::string_view("Ann")) == Shards{0, 0, 0, 4, 73, 460});
  CHECK(shards(std::string_view("the quick brown fox")) == Shards{0, 1, 1, 4, 12, 807});
  CHECK(shards(std::string_view("\0\xff\0", 3)) == Shards{0, 0, 0, 0, 63, 669});
  CHECK(shards(std::uint64_t{0}) == Shards{0, 1, 1, 5, 64, 685});
  CHECK(shards(std::uint64_t{1}) == Shards{0, 0, 2, 6, 19, 759});
  CHECK(shards(std::uint64_t{42}) == Shards{0, 0, 0, 3, 56, 575});
  CHECK(shards(~std::uint64_t{0}) == Shards{0, 0, 2, 5, 40, 952});
}

TEST_CASE("keys are spread, and one shard more takes only keys that are its own then") {
  constexpr std::uint32_t keys = 10'000;
  for (std::uint32_t count = 1; count < 10; ++count) {
    std::vector<std::uint32_t> sizes(count);
    for (std::uint32_t key = 0; key < keys; ++key) {
      const std::string text = "customer/" + std::to_string(key);
      const std::uint32_t before = shard_of(text, count);
      const std::uint32_t after = shard_of(text, count + 1);
      REQUIRE(before < count);
      CHECK((after == before || after == count));
      ++sizes[before];
    }
    for (const std::uint32_t size : sizes) {
      CHECK(size > keys / count * 9 / 10);
      CHECK(size < keys / count * 11 / 10);
    }
  }
}

TEST_CASE("a shard is called after its subgroup, the first by that name itself") {
  CHECK(shard_name("store", 0) == "store");
  CHECK(shard_name("store", 1) == "store/1");
  CHECK(shard_name("store.1", 12) == "store.1/12");
}
