// The life of virtual queue pairs, and what the core asks of the world about them.
#include <spindrift/kernel/virtual_pairs.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <spindrift/core/check.hpp>

namespace spindrift::kernel {

VirtualPairs::VirtualPairs(std::uint32_t pairs_max, vq_world world, RemoteMemory* remote, PoolMemory& memory,
                           PoolPeers& peers, PhysicalPairs& physicals)
    : remote_(remote), memory_(memory), peers_(peers), physicals_(physicals), places_(pairs_max), open_(pairs_max) {
  world.context = this;
  world.local_allowed = [](void* self, const vq_pair* /*pair*/, const vq_request* request) -> int {
    return static_cast<const VirtualPairs*>(self)->memory_.allows(*request);
  };
  world.remote_allowed = remote_allowed;
  world.post = [](void* self, vq_physical* physical, const vq_posted* list, std::uint32_t count) {
    PhysicalPair& to = *static_cast<PhysicalPair*>(physical->context);
    return static_cast<const VirtualPairs*>(self)->physicals_.post(to, list, count);
  };
  vq_pool_init(&core_, &world, places_.data(), pairs_max);
}

Result<PairId> VirtualPairs::create(CompletionQueue& completions, std::uint32_t flags, std::uint32_t window) {
  const PairId id(vq_create(&core_, &completions.core(), flags));
  if (id == PairId{}) {
    return Error(ErrorKind::resource, fmt::format("all {} virtual queue pairs are in use", places_.size()))
        .fix("close some, or open the pool with a larger pairs_max");
  }
  auto& pair = open_[static_cast<std::uint32_t>(id.value())];
  CHECK(pair == nullptr);
  pair = std::make_unique<VirtualPair>();
  pair->id = id;
  pair->completions = &completions;
  pair->messages.resize(window);
  pair->kept.resize(window);
  ++size_;
  return id;
}

Result<void> VirtualPairs::bind(PairId id, PoolPeers::Place peer, std::uint64_t remote, bool remote_known) {
  VirtualPair* const pair = find(id);
  if (pair == nullptr) return Error(ErrorKind::group_closed, "there is no such virtual queue pair");
  if (pair->peer) return Error(ErrorKind::refused, "the virtual queue pair is connected").fix("create another");
  const int code = vq_bind(&core_, id.value(), &physicals_.best_for(peer->second).core, peer->second.handle.value(), remote,
                           remote_known, pair->messages.data(), static_cast<std::uint32_t>(pair->messages.size()));
  CHECK(code == 0);
  pair->peer = peer;
  return {};
}

VirtualPair* VirtualPairs::find(PairId pair) const noexcept {
  const auto place = static_cast<std::uint32_t>(pair.value());
  if (place >= open_.size() || !open_[place] || open_[place]->id != pair) return nullptr;
  return open_[place].get();
}

void VirtualPairs::close(PairId id) {
  VirtualPair* const pair = find(id);
  if (pair == nullptr) return;
  if (pair->listener != nullptr) pair->listener->close(pair->caller, id, pair->origin == VirtualPair::Origin::told);
  if (pair->fetcher != PairId{}) close(pair->fetcher);
  static_cast<void>(vq_close(&core_, id.value()));
  ++freed_;
  closed_.push_back(std::move(open_[static_cast<std::uint32_t>(id.value())]));
  sweep();
}

bool VirtualPairs::is_gone(PairId pair) const noexcept {
  return find(pair) == nullptr &&
         std::none_of(closed_.begin(), closed_.end(), [pair](const auto& closed) { return closed->id == pair; });
}

std::optional<OperationStatus> VirtualPairs::failure(PairId pair) const noexcept {
  const vq_pair* const core = vq_find(const_cast<vq_pool*>(&core_), pair.value());
  if (core == nullptr || core->state != VQ_PAIR_FAILED) return std::nullopt;
  return static_cast<OperationStatus>(core->status);
}

void VirtualPairs::fail(PairId pair, std::uint8_t status) {
  vq_fail(&core_, pair.value(), status);
  note_failures();
}

void VirtualPairs::pay() {
  std::erase_if(owing_, [this](PairId pair) { return vq_pay(&core_, pair.value()) == 0; });
}

void VirtualPairs::close_untold() {
  if (!std::exchange(any_failed_, false)) return;
  for (const auto& pair : open_) {
    const bool untold = pair && pair->origin == VirtualPair::Origin::accepted;
    if (untold && pair->way != VirtualPair::MessageWay::announced && failure(pair->id)) close(pair->id);
  }
}

void VirtualPairs::sweep() {
  std::erase_if(closed_, [this](const auto& pair) {
    if (vq_find(&core_, pair->id.value()) != nullptr) return false;
    // The fetcher reads into memory of this one.
    if (pair->fetcher != PairId{} && vq_find(&core_, pair->fetcher.value()) != nullptr) return false;
    if (!pair->fetched.empty()) memory_.remove(pair->fetched_memory);
    if (pair->peer) peers_.leave(*pair->peer);
    ++freed_;
    --size_;
    return true;
  });
}

int VirtualPairs::remote_allowed(void* self, const vq_pair* core, const vq_request* request) {
  const VirtualPairs& pairs = *static_cast<const VirtualPairs*>(self);
  if (pairs.remote_ == nullptr) return 1;
  const VirtualPair& pair = *pairs.open_[static_cast<std::size_t>(core - pairs.places_.data())];
  const auto access = request->operation == VQ_READ ? fabric::Access::read : fabric::Access::write;
  switch (pairs.remote_->check((*pair.peer)->first, request->remote_key, request->remote, request->bytes, access)) {
    case RemoteMemory::Verdict::allowed: return 1;
    case RemoteMemory::Verdict::refused: return 0;
    case RemoteMemory::Verdict::unknown: return -1;
  }
  return 0;
}

}  // namespace spindrift::kernel
