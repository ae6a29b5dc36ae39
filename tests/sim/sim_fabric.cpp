// One endpoint: checks what its process asks for, as a real provider and its hardware would.
#include "sim_fabric.hpp"

#include <cstdlib>
#include <cstring>

namespace spindrift::sim {
namespace {

constexpr std::size_t page = 4096;

}  // namespace

SimFabric::~SimFabric() {
  for (const OwnRegion& own : regions_) std::free(own.memory);
}

Result<fabric::Region> SimFabric::allocate(std::size_t bytes, std::string_view) {
  const std::size_t rounded = (bytes + page - 1) / page * page;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(page, rounded));
  if (memory == nullptr) return system_error("aligned_alloc", ENOMEM);
  std::memset(memory, 0, rounded);
  const fabric::RegionKey key(network_.random_.next());
  regions_.push_back({key, memory, bytes, false, {}});
  return fabric::Region{key, {memory, bytes}};
}

void SimFabric::release(fabric::RegionKey key) {
  if (OwnRegion* own = region(key)) own->released = true;
}

Result<void> SimFabric::listen(const fabric::Address& self) {
  if (self.node != node_) return Error(ErrorKind::bad_argument, "this endpoint belongs to another node id");
  listening_ = true;
  for (std::uint32_t peer = 0; peer < network_.count_; ++peer) network_.establish_if_possible(index_, peer);
  return {};
}

Result<void> SimFabric::connect(const fabric::Address& peer) {
  for (std::uint32_t other = 0; other < network_.count_; ++other) {
    if (other != index_ && network_.endpoints_[other]->node_ == peer.node) {
      network_.want(index_, other);
      return {};
    }
  }
  return Error(ErrorKind::bad_argument, "no such node in the simulated network");
}

void SimFabric::disconnect(fabric::PeerId peer) {
  ++actions_;
  if (const auto other = endpoint_of(peer); other && open_to(peer, *other)) {
    network_.end_connection(index_, *other, network_.direction(index_, *other).writes_last, "the peer ended the connection");
  }
}

std::optional<std::uint32_t> SimFabric::endpoint_of(fabric::PeerId peer) const {
  if (peer.value() >= peers_.size()) return std::nullopt;
  return peers_[peer.value()];
}

bool SimFabric::open_to(fabric::PeerId peer, std::uint32_t other) const {
  const Network::Direction& way = network_.direction(index_, other);
  return way.open && way.peer == peer;
}

SimFabric::OwnRegion* SimFabric::region(fabric::RegionKey key) {
  for (OwnRegion& own : regions_) {
    if (own.key == key) return &own;
  }
  return nullptr;
}

Result<void> SimFabric::expose(fabric::PeerId peer, fabric::RegionKey key, fabric::Access access) {
  ++actions_;
  const auto other = endpoint_of(peer);
  OwnRegion* own = region(key);
  if (!other || own == nullptr || own->released)
    return Error(ErrorKind::bad_argument, "exposing an unknown region or to an unknown peer");
  if (!open_to(peer, *other)) return {};
  // J5: nobody gets at memory before it said who it is.
  if (network_.options_.hello_before_memory && !network_.direction(*other, index_).heard) {
    network_.report_.violate("J5", "memory was exposed to a peer that had not introduced itself");
  }
  own->exposed_to.emplace_back(*other, access);
  if (access == fabric::Access::write) network_.direction(*other, index_).written_region = own->memory;
  fabric::Event event;
  event.kind = fabric::Event::Kind::exposed;
  event.access = access;
  event.region = key;
  event.region_bytes = own->bytes;
  network_.send_event(index_, *other, std::move(event));
  return {};
}

Result<std::span<const std::byte>> SimFabric::map(fabric::PeerId peer, fabric::RegionKey key) {
  const auto other = endpoint_of(peer);
  if (!other) return Error(ErrorKind::bad_argument, "mapping a region of an unknown peer");
  if (!network_.mappable(index_, *other)) return Error(ErrorKind::unsupported, "the peer is on another host");
  const OwnRegion* theirs = network_.endpoints_[*other]->region(key);
  if (theirs == nullptr) return Error(ErrorKind::resource, "the peer has no such region");
  for (const auto& [to, access] : theirs->exposed_to) {
    if (to != index_ || access != fabric::Access::read) continue;
    network_.direction(index_, *other).mapped_region = theirs->memory;
    mapped_.push_back({peer, key, *other, theirs->memory});
    return std::span<const std::byte>(theirs->memory, theirs->bytes);
  }
  return Error(ErrorKind::resource, "the region was not exposed for reading");
}

void SimFabric::unmap(fabric::PeerId peer, fabric::RegionKey key) {
  for (auto at = mapped_.begin(); at != mapped_.end(); ++at) {
    if (at->peer != peer || at->region != key) continue;
    const std::byte*& shown = network_.direction(index_, at->owner).mapped_region;
    if (shown == at->memory) shown = nullptr;
    const std::uint32_t owner = at->owner;
    mapped_.erase(at);
    for (const Mapped& left : mapped_) {
      if (left.owner == owner && shown == nullptr) shown = left.memory;
    }
    return;
  }
}

Result<std::byte*> SimFabric::target_of(const fabric::Operation& operation, std::uint32_t to) {
  const OwnRegion* target = network_.endpoints_[to]->region(operation.region);
  if (target == nullptr) return Error(ErrorKind::bad_argument, "writing to an unknown region");
  bool allowed = false;
  for (const auto& [peer, access] : target->exposed_to) allowed |= peer == index_ && access == fabric::Access::write;
  if (!allowed) return Error(ErrorKind::bad_argument, "writing to a region that was not exposed for writing");
  if (operation.offset > target->bytes || operation.bytes > target->bytes - operation.offset) {
    return Error(ErrorKind::bad_argument, "writing beyond the region");
  }
  if (operation.copied && operation.bytes > traits_.copied_bytes_max) {
    return Error(ErrorKind::bad_argument, "a copied write above copied_bytes_max");
  }
  return target->memory;
}

// All of the list is checked before any of it is posted.
Result<void> SimFabric::post(std::span<const fabric::Operation> operations) {
  for (const fabric::Operation& operation : operations) {
    const auto to = endpoint_of(operation.peer);
    if (!to) return Error(ErrorKind::bad_argument, "posting to an unknown peer");
    if (!open_to(operation.peer, *to)) continue;
    switch (operation.kind) {
      case fabric::Operation::Kind::write:
        if (auto target = target_of(operation, *to); !target) return std::move(target).error();
        break;
      case fabric::Operation::Kind::send:
        if (operation.bytes > traits_.message_bytes_max)
          return Error(ErrorKind::bad_argument, "a send above message_bytes_max");
        break;
      case fabric::Operation::Kind::read: return Error(ErrorKind::unsupported, "the simulated fabric has no reads");
    }
  }
  for (const fabric::Operation& operation : operations) {
    const std::uint32_t to = *endpoint_of(operation.peer);
    if (!open_to(operation.peer, to)) continue;
    ++actions_;
    if (operation.kind == fabric::Operation::Kind::write) {
      network_.post_write(index_, to, operation, target_of(operation, to).value());
    } else {
      fabric::Event event;
      event.kind = fabric::Event::Kind::message;
      event.bytes.assign(operation.local, operation.local + operation.bytes);
      network_.send_event(index_, to, std::move(event));
    }
    if (operation.signaled) {
      fabric::Event done;
      done.kind = fabric::Event::Kind::completed;
      done.context = operation.context;
      // A completion says that the provider took the bytes and that the peer's memory has them in the end.
      Network::Direction& back = network_.direction(to, index_);
      back.messages_last = std::max(back.messages_last, network_.direction(index_, to).writes_last);
      network_.schedule_event(back.messages_last, to, index_, std::move(done));
    }
  }
  return {};
}

std::size_t SimFabric::poll(std::span<fabric::Event> events) {
  std::size_t count = 0;
  while (count < events.size() && !events_.empty()) {
    if (events_.front().kind == fabric::Event::Kind::message) {
      const std::uint32_t from = peers_[events_.front().peer.value()];
      if (network_.direction(index_, from).peer == events_.front().peer) network_.direction(from, index_).heard = true;
    }
    events[count++] = std::move(events_.front());
    events_.pop_front();
  }
  return count;
}

void SimFabric::notify() noexcept {
  ++actions_;
  for (std::uint32_t peer = 0; peer < network_.count_; ++peer) {
    if (network_.direction(peer, index_).mapped_region != nullptr) network_.listener_.on_news(peer);
  }
}

}  // namespace spindrift::sim
