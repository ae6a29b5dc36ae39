// Blocks that go from hand to hand.
#include <spindrift/dds/sample_memory.hpp>

#include <algorithm>
#include <utility>

namespace spindrift::topics {
namespace {

void free_all(SampleMemory::Spare* chain) noexcept {
  while (chain != nullptr) ::operator delete(std::exchange(chain, chain->next));
}

}  // namespace

SampleMemory::SampleMemory(std::size_t bytes) noexcept
    : bytes_(std::max(bytes, bytes_min)), kept_max_(std::max<std::size_t>(kept_bytes_max / bytes_, 1)) {}

SampleMemory::~SampleMemory() {
  free_all(returned_.load(std::memory_order_acquire));
  free_all(ready_);
}

void* SampleMemory::get() {
  // While another one takes, the heap is sooner than a wait.
  if (taking_.test_and_set(std::memory_order_acquire)) return ::operator new(bytes_);
  if (ready_ == nullptr) {
    ready_ = returned_.exchange(nullptr, std::memory_order_acquire);
    returned_count_.store(0, std::memory_order_relaxed);
  }
  Spare* const taken = ready_;
  if (taken != nullptr) ready_ = taken->next;
  taking_.clear(std::memory_order_release);
  return taken != nullptr ? taken : ::operator new(bytes_);
}

void SampleMemory::put(void* block) noexcept {
  if (returned_count_.load(std::memory_order_relaxed) >= kept_max_) return ::operator delete(block);
  auto* const spare = new (block) Spare{returned_.load(std::memory_order_relaxed)};
  while (!returned_.compare_exchange_weak(spare->next, spare, std::memory_order_release, std::memory_order_relaxed)) {
  }
  returned_count_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace spindrift::topics
