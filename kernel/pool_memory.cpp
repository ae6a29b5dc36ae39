// A table of registrations, by the key that the pool gave each.
#include <spindrift/kernel/pool_memory.hpp>

namespace spindrift::kernel {

void PoolMemory::clear() {
  for (const auto& [key, registration] : registered_) device_.deregister(registration.keys);
  registered_.clear();
}

Result<MemoryKeys> PoolMemory::add(std::span<std::byte> memory, std::optional<fabric::Access> access) {
  SPINDRIFT_TRY_ASSIGN(MemoryKeys keys, device_.register_memory(memory, access));
  registered_.emplace(++newest_key_, Registration{memory, access, keys});
  keys.local_key = newest_key_;
  return keys;
}

void PoolMemory::remove(const MemoryKeys& keys) {
  const auto found = registered_.find(keys.local_key);
  if (found == registered_.end()) return;
  device_.deregister(found->second.keys);
  registered_.erase(found);
}

bool PoolMemory::allows(const vq_request& request) const {
  const auto found = registered_.find(request.local_key);
  if (found == registered_.end()) return false;
  const auto begin = reinterpret_cast<std::uint64_t>(found->second.memory.data());
  const std::uint64_t bytes = found->second.memory.size();
  if (request.local < begin || request.bytes > bytes || request.local - begin > bytes - request.bytes) return false;
  return (request.flags & VQ_LARGE) == 0 || found->second.access == fabric::Access::read;
}

void PoolMemory::name_for_peer(vq_request& request) const {
  const auto found = registered_.find(request.local_key);
  if (found == registered_.end()) return;
  const Registration& region = found->second;
  request.remote = region.keys.remote_base + (request.local - reinterpret_cast<std::uint64_t>(region.memory.data()));
  request.remote_key = region.keys.remote_key;
}

std::uint64_t PoolMemory::device_key(std::uint64_t key) const {
  const auto found = registered_.find(key);
  return found == registered_.end() ? 0 : found->second.keys.local_key;
}

}  // namespace spindrift::kernel
