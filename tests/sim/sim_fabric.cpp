// One endpoint: checks what its process asks for, as a real provider and its hardware would.
#include "sim_fabric.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>

#include <spindrift/core/check.hpp>

namespace spindrift::sim {
namespace {

constexpr std::size_t page = 4096;
constexpr int poison = 0xdb;

}  // namespace

SimFabric::~SimFabric() {
  for (const OwnRegion& own : regions_) std::free(own.memory);
}

void SimFabric::act() {
  ++actions_;
  network_.listener_.on_action(index_);
}

Result<fabric::Region> SimFabric::allocate(std::size_t bytes, std::string_view) {
  act();
  const std::size_t rounded = (bytes + page - 1) / page * page;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(page, rounded));
  if (memory == nullptr) return system_error("aligned_alloc", ENOMEM);
  std::memset(memory, 0, rounded);
  const fabric::RegionKey key(network_.random_.next());
  regions_.push_back({key, memory, bytes, {}, {}});
  return fabric::Region{key, {memory, bytes}};
}

bool SimFabric::holds(const std::byte* memory) const {
  return std::any_of(regions_.begin(), regions_.end(),
                     [&](const OwnRegion& own) { return own.memory == memory && !own.released; });
}

// The memory is kept and poisoned: a process that still uses it reads nonsense, and one that still writes it is found. Peers
// that map it see it as it was left.
void SimFabric::release(fabric::RegionKey key) {
  if (!alive_) return;
  act();
  OwnRegion* const own = region(key);
  if (own == nullptr) return;
  if (own->released) return network_.report_.violate("V11", "a region was released twice");
  network_.capture_from(own->memory, own->bytes);
  own->released = true;
  own->exposed_to.clear();
  poison_if_unused(*own);
}

void SimFabric::poison_if_unused(OwnRegion& own) {
  if (!own.released || own.poisoned || !own.mapped_by.empty()) return;
  own.poisoned = true;
  std::memset(own.memory, poison, own.bytes);
}

void Network::check_released() {
  for (const auto& endpoint : endpoints_) {
    for (const SimFabric::OwnRegion& own : endpoint->regions_) {
      if (!own.poisoned) continue;
      const auto fine = [](std::byte byte) { return byte == static_cast<std::byte>(poison); };
      if (!std::all_of(own.memory, own.memory + std::min<std::size_t>(own.bytes, page), fine)) {
        report_.violate("V11", "a region was written after its release");
      }
    }
  }
}

Network::Holdings Network::holdings(std::uint32_t endpoint) const {
  const SimFabric& fabric = *endpoints_[endpoint];
  Holdings held;
  for (const SimFabric::OwnRegion& own : fabric.regions_) held.own += own.released ? 0 : 1;
  for (const auto& [index, key] : fabric.lent_) {
    const Connection& connection = connections_[index];
    held.lent += connection.ended[0] || connection.ended[1] ? 0 : 1;
  }
  return held;
}

std::vector<NodeId> Network::readers_of(std::uint32_t owner, const std::byte* place) const {
  const std::vector<SimFabric::OwnRegion>& regions = endpoints_[owner]->regions_;
  const auto own = std::find_if(regions.rbegin(), regions.rend(), [&](const SimFabric::OwnRegion& region) {
    return std::less_equal<>()(region.memory, place) && std::less<>()(place, region.memory + region.bytes);
  });
  SPINDRIFT_CHECK(own != regions.rend());
  std::vector<NodeId> readers;
  for (const SimFabric::Exposure& exposure : own->exposed_to) {
    const Connection& connection = connections_[exposure.connection];
    readers.push_back(endpoints_[connection.ends[1 - end_of(connection, owner)]]->node_);
  }
  return readers;
}

std::size_t Network::connections_of(std::uint32_t endpoint) const {
  const std::vector<std::uint32_t>& some = endpoints_[endpoint]->unended_;
  return static_cast<std::size_t>(std::count_if(some.begin(), some.end(), [&](std::uint32_t index) {
    const Connection& connection = connections_[index];
    const std::uint32_t end = end_of(connection, endpoint);
    const std::vector<bool>& known = endpoints_[endpoint]->known_;
    return !connection.ended[end] && connection.ids[end].value() < known.size() && known[connection.ids[end].value()];
  }));
}

Result<void> SimFabric::listen(const fabric::Address& self) {
  if (self.node != node_) return Error(ErrorKind::bad_argument, "this endpoint belongs to another node id");
  for (const auto& other : network_.endpoints_) {
    if (other.get() != this && other->node_ == node_ && other->alive_ && other->listening_) {
      return Error(ErrorKind::refused, "the node id is in use");
    }
  }
  listening_ = true;
  listens_at_ = self.endpoint;
  network_.establish_wanted(index_);
  return {};
}

Result<void> SimFabric::connect(const fabric::Address& peer) {
  act();
  if (peer.node == node_) return Error(ErrorKind::bad_argument, "a process does not connect to itself");
  for (const std::uint32_t index : unended_) {
    const Network::Connection& connection = network_.connections_[index];
    const std::uint32_t other = connection.ends[1 - network_.end_of(connection, index_)];
    if (network_.endpoints_[other]->node_ == peer.node && !connection.ended[network_.end_of(connection, index_)]) return {};
  }
  std::erase_if(wanted_, [&](const fabric::Address& each) { return each.node == peer.node; });
  wanted_.push_back(peer);
  network_.establish_wanted(index_);
  return {};
}

void SimFabric::disconnect(fabric::PeerId peer) {
  if (!alive_) return;
  act();
  const auto index = connection_of(peer);
  if (!index) return;
  Network::Connection& connection = network_.connections_[*index];
  const std::uint32_t end = network_.end_of(connection, index_);
  if (connection.ended[end]) return;
  const Ticks posted = connection.ways[end].writes_last;
  network_.cut_in_flight(connection.ways[1 - end], false);
  if (network_.random_.chance(1, 4)) network_.cut_in_flight(connection.ways[end], false);
  network_.end_connection(*index, end, posted, "the peer ended the connection");
}

std::optional<std::uint32_t> SimFabric::connection_of(fabric::PeerId peer) const {
  if (peer.value() >= connections_.size()) return std::nullopt;
  return connections_[peer.value()];
}

// All that is on its way: here what waits and what travels is one.
std::uint64_t SimFabric::unsent_bytes(fabric::PeerId peer) const noexcept {
  const auto index = connection_of(peer);
  if (!index) return 0;
  const Network::Connection& connection = network_.connections_[*index];
  std::uint64_t bytes = 0;
  for (const std::uint32_t slot : connection.ways[network_.end_of(connection, index_)].writes) {
    bytes += network_.in_flight_[slot].write.bytes;
  }
  return bytes;
}

bool SimFabric::starved(fabric::PeerId peer) {
  const auto index = connection_of(peer);
  if (!index) return false;
  const Network::Connection& connection = network_.connections_[*index];
  const std::uint32_t other = connection.ends[1 - network_.end_of(connection, index_)];
  return network_.mappable(index_, other) && network_.endpoints_[other]->starved_until_ > network_.scheduler_.now();
}

// Every process that lives, as if all were on one host.
Result<std::vector<NodeId>> SimFabric::present() const {
  std::vector<NodeId> nodes;
  for (const auto& each : network_.endpoints_) {
    if (each->alive_ && each->node_ != node_) nodes.push_back(each->node_);
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

SimFabric::OwnRegion* SimFabric::region(fabric::RegionKey key) {
  for (auto own = regions_.rbegin(); own != regions_.rend(); ++own) {
    if (own->key == key) return &*own;
  }
  return nullptr;
}

Result<void> SimFabric::expose(fabric::PeerId peer, fabric::RegionKey key, fabric::Access access) {
  act();
  const auto index = connection_of(peer);
  OwnRegion* own = region(key);
  if (!index || own == nullptr) return Error(ErrorKind::bad_argument, "exposing an unknown region or to an unknown peer");
  if (own->released) return Error(ErrorKind::bad_argument, "exposing a released region");
  Network::Connection& connection = network_.connections_[*index];
  const std::uint32_t end = network_.end_of(connection, index_);
  if (!connection.ways[end].open) return {};
  // J5: nobody gets at memory before it said who it is.
  if (network_.options_.hello_before_memory && !connection.ways[1 - end].heard) {
    network_.report_.violate("J5", "memory was exposed to a peer that had not introduced itself");
  }
  own->exposed_to.push_back({*index, access});
  network_.endpoints_[connection.ends[1 - end]]->lent_.emplace_back(*index, key);
  if (access == fabric::Access::write) connection.ways[1 - end].written_region = own->memory;
  fabric::Event event;
  event.kind = fabric::Event::Kind::exposed;
  event.access = access;
  event.region = key;
  event.region_bytes = own->bytes;
  network_.send_event(*index, end, std::move(event));
  return {};
}

Result<std::span<const std::byte>> SimFabric::map(fabric::PeerId peer, fabric::RegionKey key) {
  act();
  const auto index = connection_of(peer);
  if (!index) return Error(ErrorKind::bad_argument, "mapping a region of an unknown peer");
  Network::Connection& connection = network_.connections_[*index];
  const std::uint32_t end = network_.end_of(connection, index_);
  const std::uint32_t other = connection.ends[1 - end];
  if (!network_.mappable(index_, other)) return Error(ErrorKind::unsupported, "the peer is on another host");
  SimFabric& owner = *network_.endpoints_[other];
  OwnRegion* theirs = owner.region(key);
  if (theirs == nullptr || theirs->released) return Error(ErrorKind::resource, "the peer has no such region");
  for (const Exposure& exposure : theirs->exposed_to) {
    if (exposure.connection != *index || exposure.access != fabric::Access::read) continue;
    connection.ways[end].mapped_region = theirs->memory;
    theirs->mapped_by.push_back(*index);
    owner.watchers_.push_back(index_);
    return std::span<const std::byte>(theirs->memory, theirs->bytes);
  }
  return Error(ErrorKind::resource, "the region was not exposed for reading");
}

void SimFabric::unmap(fabric::PeerId peer, fabric::RegionKey key) {
  if (!alive_) return;
  act();
  const auto index = connection_of(peer);
  if (!index) return network_.report_.violate("V11", "unmapping a region of an unknown peer");
  Network::Connection& connection = network_.connections_[*index];
  Network::Direction& way = connection.ways[network_.end_of(connection, index_)];
  std::erase(lent_, std::pair(*index, key));
  SimFabric& owner = *network_.endpoints_[connection.ends[1 - network_.end_of(connection, index_)]];
  OwnRegion* const theirs = owner.region(key);
  if (theirs == nullptr) return;
  if (way.mapped_region == theirs->memory) way.mapped_region = nullptr;
  std::erase_if(theirs->exposed_to, [&](const Exposure& exposure) { return exposure.connection == *index; });
  const auto mapped = std::find(theirs->mapped_by.begin(), theirs->mapped_by.end(), *index);
  if (mapped == theirs->mapped_by.end()) return;
  theirs->mapped_by.erase(mapped);
  owner.watchers_.erase(std::find(owner.watchers_.begin(), owner.watchers_.end(), index_));
  owner.poison_if_unused(*theirs);
}

Result<std::byte*> SimFabric::target_of(const fabric::Operation& operation, std::uint32_t index) {
  const Network::Connection& connection = network_.connections_[index];
  OwnRegion* target =
      network_.endpoints_[connection.ends[1 - network_.end_of(connection, index_)]]->region(operation.region);
  if (target == nullptr) return Error(ErrorKind::bad_argument, "writing to an unknown region");
  if (target->released) return target->memory;  // it does not land
  bool allowed = false;
  for (const Exposure& exposure : target->exposed_to) {
    allowed |= exposure.connection == index && exposure.access == fabric::Access::write;
  }
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
    const auto index = connection_of(operation.peer);
    if (!index) return Error(ErrorKind::bad_argument, "posting to an unknown peer");
    const Network::Connection& connection = network_.connections_[*index];
    if (!connection.ways[network_.end_of(connection, index_)].open) continue;
    switch (operation.kind) {
      case fabric::Operation::Kind::write:
        if (auto target = target_of(operation, *index); !target) return std::move(target).error();
        break;
      case fabric::Operation::Kind::send:
        if (operation.bytes > traits_.message_bytes_max)
          return Error(ErrorKind::bad_argument, "a send above message_bytes_max");
        break;
      case fabric::Operation::Kind::read: return Error(ErrorKind::unsupported, "the simulated fabric has no reads");
    }
  }
  for (const fabric::Operation& operation : operations) {
    const std::uint32_t index = *connection_of(operation.peer);
    Network::Connection& connection = network_.connections_[index];
    const std::uint32_t end = network_.end_of(connection, index_);
    if (!connection.ways[end].open) continue;
    act();
    if (operation.kind == fabric::Operation::Kind::write) {
      network_.post_write(index, end, operation, target_of(operation, index).value());
    } else {
      fabric::Event event;
      event.kind = fabric::Event::Kind::message;
      event.bytes.assign(operation.local, operation.local + operation.bytes);
      network_.send_event(index, end, std::move(event));
    }
    if (operation.signaled) {
      fabric::Event done;
      done.kind = fabric::Event::Kind::completed;
      done.context = operation.context;
      // A completion says that the provider took the bytes and that the peer's memory has them in the end.
      Network::Direction& back = connection.ways[1 - end];
      back.messages_last = std::max(back.messages_last, connection.ways[end].writes_last);
      network_.schedule_event(back.messages_last, index, 1 - end, std::move(done));
    }
  }
  return {};
}

std::size_t SimFabric::poll(std::span<fabric::Event> events) {
  std::size_t count = 0;
  while (count < events.size() && !events_.empty()) {
    if (events_.front().kind == fabric::Event::Kind::message) {
      Network::Connection& connection = network_.connections_[connections_[events_.front().peer.value()]];
      connection.ways[1 - network_.end_of(connection, index_)].heard = true;
    }
    if (events_.front().kind == fabric::Event::Kind::connected) {
      known_.resize(connections_.size());
      known_[events_.front().peer.value()] = true;
    }
    events[count++] = std::move(events_.front());
    events_.pop_front();
  }
  return count;
}

void SimFabric::notify() noexcept {
  ++actions_;
  for (const std::uint32_t watcher : watchers_) network_.listener_.on_news(watcher);
}

}  // namespace spindrift::sim
