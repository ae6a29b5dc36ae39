// One lookup, and a range that cannot wrap.
#include <spindrift/kernel/own_memory.hpp>

namespace spindrift::kernel {

bool OwnMemory::hold(std::uint64_t key, const std::byte* first, std::size_t bytes) const noexcept {
  if (bytes == 0) return true;
  const auto at = memory_.find(key);
  if (at == memory_.end()) return false;
  const auto begin = reinterpret_cast<std::uintptr_t>(at->second.data());
  const auto place = reinterpret_cast<std::uintptr_t>(first);
  return place >= begin && place - begin <= at->second.size() && bytes <= at->second.size() - (place - begin);
}

}  // namespace spindrift::kernel
