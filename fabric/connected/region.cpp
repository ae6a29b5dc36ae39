// Regions from the memory that they take to their giving it back.
#include <spindrift/fabric/connected/region.hpp>

#include <sys/mman.h>

#include <cerrno>
#include <iterator>
#include <string>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/fabric/endpoint_parts.hpp>

namespace spindrift::fabric::connected {
namespace {

constexpr std::size_t page_bytes = 4096;

// Nothing is under way any more to or from a connection that was closed.
class PrivateMappings final : public MemorySource {
 public:
  [[nodiscard]] Result<std::span<std::byte>> take(std::size_t bytes) override {
    void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return system_error("mmap", errno);
    return std::span(static_cast<std::byte*>(memory), bytes);
  }
  void give_back(std::span<std::byte> memory, bool) noexcept override { ::munmap(memory.data(), memory.size()); }
};

}  // namespace

std::unique_ptr<MemorySource> private_mappings() { return std::make_unique<PrivateMappings>(); }

Result<Region> OwnRegions::allocate(std::size_t bytes, std::string_view name) {
  if (bytes == 0) return Error(ErrorKind::bad_argument, "a region without bytes").at(std::string(name));
  SPINDRIFT_TRY_ASSIGN(const std::uint64_t key, random_word());
  const std::size_t whole = (bytes + page_bytes - 1) / page_bytes * page_bytes;
  auto taken = source_->take(whole);
  if (!taken) return Error(std::move(taken).error()).at(std::string(name));
  OwnRegion& region = memory_[taken->data()];
  region.memory = taken->first(bytes);
  region.taken_bytes = whole;
  if (!keys_.emplace(RegionKey(key), &region).second) {
    give_back(region);
    return Error(ErrorKind::resource, "the kernel gave the same random number twice");
  }
  return Region{RegionKey(key), region.memory};
}

Result<void> OwnRegions::adopt(RegionKey key, std::span<std::byte> memory, std::unique_ptr<Registration> keeper) {
  SPINDRIFT_TRY(source_->adopt(memory));
  const auto [at, free] = memory_.try_emplace(memory.data());
  CHECK(free && !memory.empty());
  at->second.memory = memory;
  at->second.keeper = std::move(keeper);
  CHECK(keys_.emplace(key, &at->second).second);
  return {};
}

OwnRegion* OwnRegions::find(RegionKey key) noexcept {
  const auto at = keys_.find(key);
  return at == keys_.end() ? nullptr : at->second;
}

OwnRegion* OwnRegions::release(RegionKey key) {
  const auto at = keys_.find(key);
  if (at == keys_.end()) return nullptr;
  OwnRegion* const region = at->second;
  keys_.erase(at);
  region->released = true;
  released_.insert(region);
  return region;
}

OwnRegion* OwnRegions::holding(const std::byte* memory, std::size_t bytes) noexcept {
  const auto after = memory_.upper_bound(memory);
  if (after == memory_.begin()) return nullptr;
  OwnRegion& region = std::prev(after)->second;
  const auto offset = static_cast<std::size_t>(memory - region.memory.data());
  return offset <= region.memory.size() && bytes <= region.memory.size() - offset ? &region : nullptr;
}

void OwnRegions::settle(OwnRegion& region) {
  if (region.released && region.reading == 0 && region.granted == 0) give_back(region);
}

void OwnRegions::settle_released() {
  for (auto at = released_.begin(); at != released_.end();) settle(**at++);
}

void OwnRegions::give_back(OwnRegion& region) {
  released_.erase(&region);
  forget_(region);
  region.registration.reset();
  std::byte* const begin = region.memory.data();
  OwnRegion gone = std::move(region);
  memory_.erase(begin);
  if (gone.keeper == nullptr) return source_->give_back({begin, gone.taken_bytes}, gone.fenced);
  source_->give_up(gone.memory, std::move(gone.keeper), gone.fenced);
}

void OwnRegions::clear() {
  keys_.clear();
  while (!memory_.empty()) give_back(memory_.begin()->second);
}

}  // namespace spindrift::fabric::connected
