// Memory that goes from hand to hand.
#include <catch2/catch.hpp>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include <spindrift/dds/sample_memory.hpp>

using spindrift::topics::SampleAllocator;
using spindrift::topics::SampleMemory;

TEST_CASE("a block that was given back is the next one that is taken") {
  SampleMemory memory(200);
  void* const first = memory.get();
  void* const second = memory.get();
  memory.put(first);
  CHECK(memory.get() == first);
  memory.put(second);
  memory.put(first);
  CHECK(memory.get() == first);  // the one that is warmest
  CHECK(memory.get() == second);
  memory.put(first);
  memory.put(second);
}

TEST_CASE("blocks beyond what is kept go back to the heap") {
  constexpr std::size_t bytes = SampleMemory::kept_bytes_max / 4;
  SampleMemory memory(bytes);
  std::vector<void*> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(memory.get());
  std::set<void*> kept(blocks.begin(), blocks.begin() + 4);
  for (void* const each : blocks) memory.put(each);
  for (int i = 0; i < 4; ++i) {
    void* const taken = memory.get();
    CHECK(kept.erase(taken) == 1);
    blocks[static_cast<std::size_t>(i)] = taken;
  }
  for (int i = 0; i < 4; ++i) memory.put(blocks[static_cast<std::size_t>(i)]);
}

TEST_CASE("no block is two threads' at a time") {
  constexpr std::size_t threads = 4, rounds = 20'000, hand = 8;
  SampleMemory memory(64);
  std::array<std::atomic<void*>, 16> exchanged{};
  std::atomic<std::size_t> spoiled{0};
  const auto work = [&](std::size_t self) {
    std::vector<void*> blocks;
    for (std::size_t round = 0; round < rounds; ++round) {
      while (blocks.size() < hand) {
        blocks.push_back(memory.get());
        std::memset(blocks.back(), static_cast<int>(self), 64);
      }
      for (void* const each : blocks) {
        const auto* const bytes = static_cast<const unsigned char*>(each);
        for (std::size_t i = 0; i < 64; ++i) spoiled += bytes[i] != self;
      }
      // A block that one thread has taken is given back by another one.
      void* const other = exchanged[round % exchanged.size()].exchange(blocks.back());
      blocks.pop_back();
      if (other != nullptr) memory.put(other);
      while (blocks.size() > round % hand) {
        memory.put(blocks.back());
        blocks.pop_back();
      }
    }
    for (void* const each : blocks) memory.put(each);
  };
  {
    std::vector<std::jthread> running;
    for (std::size_t self = 0; self < threads; ++self) running.emplace_back(work, self);
  }
  CHECK(spoiled == 0);
  for (auto& each : exchanged) {
    if (void* const left = each.load(); left != nullptr) memory.put(left);
  }
}

TEST_CASE("a shared value lies in such memory, and returns it with its last reference") {
  struct Value {
    std::array<char, 300> bytes;
  };
  const auto make = [] { return std::allocate_shared_for_overwrite<Value>(SampleAllocator<Value>()); };
  auto value = make();
  const void* const place = value.get();
  auto other = value;
  value.reset();
  CHECK(make().get() != place);
  other.reset();
  CHECK(make().get() == place);
}
