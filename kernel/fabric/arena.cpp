// Carving, and what is never carved again.
#include <spindrift/kernel/fabric/arena.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include <spindrift/core/check.hpp>

namespace spindrift::kernel::vq {
Arena::~Arena() {
  for (const auto& [begin, step] : steps_) ::munmap(step.memory.data(), step.memory.size());
}

Result<void> Arena::register_with(Pool& pool) {
  pool_ = &pool;
  for (auto& [begin, step] : steps_) {
    auto keys = pool.register_local(step.memory);
    if (!keys) return std::move(keys).error();
    step.keys = *keys;
  }
  return {};
}

Result<void> Arena::grow(std::size_t bytes) {
  const std::size_t whole = (bytes + step_bytes - 1) / step_bytes * step_bytes;
  void* const memory = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return system_error("mmap", errno);
  const std::span<std::byte> all(static_cast<std::byte*>(memory), whole);
  Step step{all, {}};
  if (pool_ != nullptr) {
    auto keys = pool_->register_local(all);
    if (!keys) {
      ::munmap(memory, whole);
      return std::move(keys).error();
    }
    step.keys = *keys;
  }
  steps_.emplace(all.data(), step);
  free_.emplace(all.data(), whole);
  return {};
}

// First fit: regions are few, and those of one view come and go together.
Result<std::span<std::byte>> Arena::take(std::size_t bytes) {
  const auto fits = [bytes](const auto& each) { return each.second >= bytes; };
  auto at = std::find_if(free_.begin(), free_.end(), fits);
  if (at == free_.end()) {
    if (auto grown = grow(bytes); !grown) return std::move(grown).error();
    at = std::find_if(free_.begin(), free_.end(), fits);
  }
  const auto [begin, size] = *at;
  free_.erase(at);
  if (size > bytes) free_.emplace(begin + bytes, size - bytes);
  return std::span(begin, bytes);
}

// The pages go, and what takes their place is zero. Who writes there late finds memory that is nobody's.
void Arena::give_back(std::span<std::byte> memory, bool fenced) noexcept {
  CHECK(::madvise(memory.data(), memory.size(), MADV_DONTNEED) == 0);
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

const MemoryKeys& Arena::keys_of(const std::byte* memory) const {
  const auto after = steps_.upper_bound(memory);
  CHECK(after != steps_.begin());
  const Step& step = std::prev(after)->second;
  CHECK(memory < step.memory.data() + step.memory.size());
  return step.keys;
}

std::byte* Staging::take(std::size_t which) {
  std::vector<std::byte*>& free = free_[which];
  if (free.empty()) {
    constexpr std::size_t at_once = std::size_t{1} << 20U;
    const auto memory = arena_.take(at_once);
    CHECK(memory.ok());  // the address space is used up
    for (std::size_t at = 0; at + sizes[which] <= at_once; at += sizes[which]) free.push_back(memory->data() + at);
  }
  std::byte* const piece = free.back();
  free.pop_back();
  return piece;
}

Copy::Copy(Copy&& other) noexcept
    : staging_(other.staging_),
      memory_(std::exchange(other.memory_, nullptr)),
      which_(other.which_),
      bytes_(std::exchange(other.bytes_, 0)) {}

Copy& Copy::operator=(Copy&& other) noexcept {
  std::swap(staging_, other.staging_);
  std::swap(memory_, other.memory_);
  std::swap(which_, other.which_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Copy::~Copy() {
  if (memory_ != nullptr) staging_->free_[which_].push_back(memory_);
}

void Copy::assign(const std::byte* begin, const std::byte* end) {
  CHECK(memory_ == nullptr);
  bytes_ = static_cast<std::size_t>(end - begin);
  if (bytes_ == 0) return;
  const auto fits =
      std::find_if(Staging::sizes.begin(), Staging::sizes.end(), [this](std::size_t s) { return s >= bytes_; });
  CHECK(fits != Staging::sizes.end());
  which_ = static_cast<std::size_t>(fits - Staging::sizes.begin());
  memory_ = staging_->take(which_);
  std::copy(begin, end, memory_);
}

}  // namespace spindrift::kernel::vq
