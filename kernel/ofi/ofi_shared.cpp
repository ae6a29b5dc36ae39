// A table of peers, and what is checked of an operation.
#include <spindrift/kernel/ofi/ofi_shared.hpp>

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <spindrift/fabric/endpoint_parts.hpp>
#include <spindrift/kernel/ofi/provider_domain.hpp>

namespace spindrift::kernel::ofi {

std::optional<PeerHandle> Peers::add(const OfiName& name) {
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

const OfiName* Peers::find(PeerHandle peer) const noexcept {
  if (peer.value() == 0 || peer.value() > peers_.size()) return nullptr;
  const Peer& entry = peers_[peer.value() - 1];
  return entry.uses == 0 ? nullptr : &entry.name;
}

Result<void> OfiShared::wait_for(const ProviderDomain& domain, fid& queue) const {
  auto descriptor = domain.descriptor_of(queue);
  if (!descriptor) return std::move(descriptor).error();
  epoll_event event{};
  event.events = EPOLLIN;
  if (::epoll_ctl(waits.get(), EPOLL_CTL_ADD, *descriptor, &event) != 0 && errno != EEXIST)  // another queue's as well
    return system_error("epoll_ctl", errno);
  return {};
}

Status OfiShared::judge(const PhysicalOperation& operation) const noexcept {
  const bool sends = operation.kind == PhysicalOperation::Kind::send;
  if (sends ? !fits_copy(operation) : !operation.header.empty()) return Status::local_error;
  return memory.hold(operation.local_key, operation.local, operation.bytes) ? Status::done : Status::local_error;
}

}  // namespace spindrift::kernel::ofi
