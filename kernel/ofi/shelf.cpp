// Two tables, and what they say about an operation.
#include <spindrift/kernel/ofi/shelf.hpp>

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <spindrift/fabric/endpoint_parts.hpp>
#include <spindrift/kernel/ofi/side.hpp>

namespace spindrift::kernel::ofi {

std::optional<PeerHandle> Peers::add(const Name& name) {
  const auto handle_of = [](std::uint32_t place) { return PeerHandle(place + 1); };
  if (const auto known = places_.find(name); known != places_.end()) {
    ++peers_[known->second].uses;
    return handle_of(known->second);
  }
  auto place = static_cast<std::uint32_t>(peers_.size());
  if (!free_.empty()) {
    place = free_.back();
    free_.pop_back();
  } else if (place == peers_max_) {
    return std::nullopt;
  } else {
    peers_.emplace_back();
  }
  peers_[place] = {name, 1};
  places_.emplace(name, place);
  return handle_of(place);
}

bool Peers::remove(PeerHandle peer) {
  if (find(peer) == nullptr) return false;
  const std::uint32_t place = peer.value() - 1;
  if (--peers_[place].uses > 0) return false;
  places_.erase(peers_[place].name);
  free_.push_back(place);
  return true;
}

const Name* Peers::find(PeerHandle peer) const noexcept {
  if (peer.value() == 0 || peer.value() > peers_.size()) return nullptr;
  const Peer& entry = peers_[peer.value() - 1];
  return entry.uses == 0 ? nullptr : &entry.name;
}

bool Regions::add(std::uint64_t key, Registration registration) {
  return registrations_.emplace(key, std::move(registration)).second;
}

void Regions::remove(std::uint64_t key) { registrations_.erase(key); }

bool Regions::hold(std::uint64_t key, const std::byte* first, std::size_t bytes) const noexcept {
  if (bytes == 0) return true;
  const auto at = registrations_.find(key);
  if (at == registrations_.end()) return false;
  const std::span<std::byte> memory = at->second.memory;
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::uintptr_t place = reinterpret_cast<std::uintptr_t>(first);
  return place >= begin && place - begin <= memory.size() && bytes <= memory.size() - (place - begin);
}

Result<void> Shelf::wait_for(const Side& side, fid& queue) const {
  auto descriptor = side.descriptor_of(queue);
  if (!descriptor) return std::move(descriptor).error();
  epoll_event event{};
  event.events = EPOLLIN;
  if (::epoll_ctl(waits.get(), EPOLL_CTL_ADD, *descriptor, &event) != 0 && errno != EEXIST)  // another queue's as well
    return system_error("epoll_ctl", errno);
  return {};
}

Status Shelf::judge(const PhysicalOperation& operation) const noexcept {
  const bool sends = operation.kind == PhysicalOperation::Kind::send;
  if (sends ? !fits_copy(operation) : !operation.header.empty()) return Status::local_error;
  return regions.hold(operation.local_key, operation.local, operation.bytes) ? Status::done : Status::local_error;
}

}  // namespace spindrift::kernel::ofi
