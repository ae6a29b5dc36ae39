// Carving, and what is never carved again.
#include <spindrift/kernel/provider/arena.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include <spindrift/core/check.hpp>

namespace spindrift::kernel::vq {

RegionArena::~RegionArena() {
  for (const auto& [begin, step] : steps_) {
    if (!step.adopted) ::munmap(step.memory.data(), step.memory.size());
  }
}

Result<void> RegionArena::register_with(Pool& pool) {
  pool_ = &pool;
  for (auto& [begin, step] : steps_) {
    SPINDRIFT_TRY_ASSIGN(step.keys, pool.register_local(step.memory));
  }
  return {};
}

Result<void> RegionArena::grow(std::size_t bytes) {
  const std::size_t whole = (bytes + step_bytes - 1) / step_bytes * step_bytes;
  void* const memory = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return system_error("mmap", errno);
  const std::span<std::byte> all(static_cast<std::byte*>(memory), whole);
  if (auto added = add({.memory = all, .keys = {}}); !added) {
    ::munmap(memory, whole);
    return added;
  }
  free_.emplace(all.data(), whole);
  return {};
}

Result<void> RegionArena::add(Step step) {
  if (pool_ != nullptr) {
    SPINDRIFT_TRY_ASSIGN(step.keys, pool_->register_local(step.memory));
  }
  steps_.emplace(step.memory.data(), step);
  return {};
}

Result<void> RegionArena::adopt(std::span<std::byte> memory) { return add({.memory = memory, .keys = {}, .adopted = true}); }

void RegionArena::give_up(std::span<std::byte> memory, std::unique_ptr<connected::Registration> keeper,
                          bool fenced) noexcept {
  const auto at = steps_.find(memory.data());
  CHECK(at != steps_.end() && at->second.adopted);
  const bool known = pool_ == nullptr || pool_->deregister(at->second.keys).ok();
  CHECK(known);  // no own request names it
  steps_.erase(at);
  if (!fenced) return;
  fenced_bytes_ += memory.size();
  fenced_keepers_.push_back(std::move(keeper));
}

// First fit: regions are few, and those of one view come and go together.
Result<std::span<std::byte>> RegionArena::take(std::size_t bytes) {
  const auto fits = [bytes](const auto& each) { return each.second >= bytes; };
  auto at = std::find_if(free_.begin(), free_.end(), fits);
  if (at == free_.end()) {
    SPINDRIFT_TRY(grow(bytes));
    at = std::find_if(free_.begin(), free_.end(), fits);
  }
  const auto [begin, size] = *at;
  free_.erase(at);
  if (size > bytes) free_.emplace(begin + bytes, size - bytes);
  return std::span(begin, bytes);
}

// The pages go, and what takes their place is zero; pages that are locked stay. An adapter that writes there late finds
// memory that is nobody's.
void RegionArena::give_back(std::span<std::byte> memory, bool fenced) noexcept {
  if (::madvise(memory.data(), memory.size(), MADV_DONTNEED) != 0) std::fill(memory.begin(), memory.end(), std::byte{});
  if (fenced) {
    fenced_bytes_ += memory.size();
    return;
  }
  std::byte* begin = memory.data();
  std::size_t bytes = memory.size();
  const bool first_of_step = steps_.contains(begin);
  const auto after = free_.lower_bound(begin);
  if (after != free_.begin() && !first_of_step) {
    const auto before = std::prev(after);
    if (before->first + before->second == begin) {
      begin = before->first;
      bytes += before->second;
      free_.erase(before);
    }
  }
  if (after != free_.end() && after->first == memory.data() + memory.size() && !steps_.contains(after->first)) {
    bytes += after->second;
    free_.erase(after);
  }
  free_.emplace(begin, bytes);
}

const MemoryKeys& RegionArena::keys_of(const std::byte* memory) const {
  const auto after = steps_.upper_bound(memory);
  CHECK(after != steps_.begin());
  const Step& step = std::prev(after)->second;
  CHECK(memory < step.memory.data() + step.memory.size());
  return step.keys;
}

Result<CopiedBytes> CopyStore::copy(std::span<const std::byte> bytes) {
  if (bytes.empty()) return CopiedBytes();
  const auto fits = std::find_if(sizes.begin(), sizes.end(), [&bytes](std::size_t size) { return size >= bytes.size(); });
  CHECK(fits != sizes.end());
  std::vector<std::byte*>& free = free_[static_cast<std::size_t>(fits - sizes.begin())];
  if (free.empty()) {
    constexpr std::size_t at_once = std::size_t{1} << 20U;
    SPINDRIFT_TRY_ASSIGN(const auto memory, arena_.take(at_once));
    for (std::size_t at = 0; at + *fits <= at_once; at += *fits) free.push_back(memory.data() + at);
  }
  CopiedBytes copy(free.back(), free, bytes.size());
  free.pop_back();
  std::copy(bytes.begin(), bytes.end(), copy.data());
  return copy;
}

}  // namespace spindrift::kernel::vq
