// Connections between endpoints: how they come to be, how partitions stop and break them, how processes end.
#include <algorithm>

#include "sim_fabric.hpp"

namespace spindrift::sim {

std::uint32_t Network::slot_of(NodeId node) {
  const auto found = std::find(slots_.begin(), slots_.end(), node);
  if (found != slots_.end()) return static_cast<std::uint32_t>(found - slots_.begin());
  SPINDRIFT_CHECK(slots_.size() < nodes_max);
  slots_.push_back(node);
  return static_cast<std::uint32_t>(slots_.size() - 1);
}

std::uint32_t Network::add_endpoint(NodeId node) {
  const auto index = static_cast<std::uint32_t>(endpoints_.size());
  endpoints_.push_back(std::make_unique<SimFabric>(*this, index, node, slot_of(node)));
  return index;
}

void Network::set_host(std::uint32_t index, std::uint32_t host) { endpoints_[index]->host_ = host; }

bool Network::mappable(std::uint32_t a, std::uint32_t b) const {
  return options_.mappable && endpoints_[a]->host_ == endpoints_[b]->host_;
}

Cut Network::cut_between(std::uint32_t from, std::uint32_t to) const {
  if (mappable(from, to)) return Cut::nothing;
  return cuts_[endpoints_[from]->slot_ * nodes_max + endpoints_[to]->slot_];
}

// The process that runs under this id now, or the last one that did; the number of endpoints if there was none.
std::uint32_t Network::newest(NodeId node) const {
  for (auto index = static_cast<std::uint32_t>(endpoints_.size()); index > 0; --index) {
    if (endpoints_[index - 1]->node_ == node) return index - 1;
  }
  return static_cast<std::uint32_t>(endpoints_.size());
}

// Neighbors meet in a directory, by their ids, wherever else they listen.
bool Network::wants(std::uint32_t from, std::uint32_t to) const {
  const SimFabric& there = *endpoints_[to];
  return std::ranges::any_of(endpoints_[from]->wanted_, [&](const fabric::Address& each) {
    return each.node == there.node_ && (mappable(from, to) || each.endpoint == there.listens_at_);
  });
}

void Network::establish_wanted(std::uint32_t index) {
  for (std::uint32_t other = 0; other < endpoints_.size(); ++other) {
    if (newest(endpoints_[other]->node_) == other) establish_if_possible(index, other);
  }
}

// Both listen and one asked: each side learns of it at a time of its own, and may speak at once.
void Network::establish_if_possible(std::uint32_t a, std::uint32_t b) {
  SimFabric& first = *endpoints_[a];
  SimFabric& second = *endpoints_[b];
  if (a == b || !first.listening_ || !second.listening_ || !first.alive_ || !second.alive_) return;
  if (!wants(a, b) && !wants(b, a)) return;
  if (cut_between(a, b) != Cut::nothing || cut_between(b, a) != Cut::nothing) return;
  for (const std::uint32_t index : first.unended_) {
    const Connection& old = connections_[index];
    if (old.ends[0] == b || old.ends[1] == b) return;
  }
  std::erase_if(first.wanted_, [&](const fabric::Address& each) { return each.node == second.node_; });
  std::erase_if(second.wanted_, [&](const fabric::Address& each) { return each.node == first.node_; });

  const auto index = static_cast<std::uint32_t>(connections_.size());
  Connection& connection = connections_.emplace_back();
  connection.ends = {a, b};
  for (std::uint32_t end = 0; end < 2; ++end) {
    SimFabric& self = *endpoints_[connection.ends[end]];
    connection.ids[end] = fabric::PeerId(static_cast<std::uint32_t>(self.connections_.size()));
    self.connections_.push_back(index);
    self.unended_.push_back(index);
    connection.ways[end].delay = static_cast<Ticks>(random_.spread(100, static_cast<std::uint64_t>(options_.delay_ns_max)));
  }
  for (std::uint32_t end = 0; end < 2; ++end) {
    Direction& incoming = connection.ways[1 - end];
    incoming.messages_last =
        scheduler_.now() + static_cast<Ticks>(random_.below(static_cast<std::uint64_t>(options_.connect_ns_max)));
    fabric::Event event;
    event.kind = fabric::Event::Kind::connected;
    event.node = endpoints_[connection.ends[1 - end]]->node_;
    event.mappable = mappable(a, b);
    schedule_event(incoming.messages_last, index, 1 - end, std::move(event));
  }
}

void Network::mark_ended(std::uint32_t index, std::uint32_t end) {
  Connection& connection = connections_[index];
  connection.ended[end] = true;
  if (!connection.ended[1 - end]) return;
  for (const std::uint32_t endpoint : connection.ends) std::erase(endpoints_[endpoint]->unended_, index);
  establish_if_possible(connection.ends[0], connection.ends[1]);
}

// One end goes; the other hears of it behind everything that was said before.
void Network::end_connection(std::uint32_t index, std::uint32_t gone_end, Ticks earliest, const char* why, bool dying) {
  Connection& connection = connections_[index];
  Direction& outgoing = connection.ways[gone_end];
  const bool over = !outgoing.open;
  outgoing.open = false;
  connection.ways[1 - gone_end].access = false;
  if (!over && !connection.broken) {
    fabric::Event event;
    event.kind = fabric::Event::Kind::lost;
    event.reason = Error(ErrorKind::member_lost, why);
    event.dying = dying;
    outgoing.messages_last = std::max(outgoing.messages_last, earliest);
    schedule_event(outgoing.messages_last, index, gone_end, std::move(event));
  }
  mark_ended(index, gone_end);
}

// The hardware gives up: what is on its way is lost from some point on, and each side is told on its own.
void Network::break_connection(std::uint32_t index) {
  Connection& connection = connections_[index];
  if (connection.broken || (connection.ended[0] && connection.ended[1])) return;
  if (!stopped(connection, 0, Cut::everything) && !stopped(connection, 1, Cut::everything)) return;
  connection.broken = true;
  listener_.on_broken();
  for (std::uint32_t end = 0; end < 2; ++end) {
    Direction& way = connection.ways[end];
    for (const std::uint32_t slot : way.messages) {
      // A side that is still to hear of the connection hears of its end too.
      if (pending_[slot].event.kind != fabric::Event::Kind::connected) pending_[slot].dropped = true;
    }
    for (const std::uint32_t slot : way.writes) in_flight_[slot].groups_dropped = ~std::uint32_t{0};
    for (const std::uint32_t slot : std::exchange(way.held_writes, {})) land_group(slot, false);
    for (const std::uint32_t slot : std::exchange(way.held_messages, {})) deliver_event(slot, false);
    fabric::Event event;
    event.kind = fabric::Event::Kind::lost;
    event.reason = Error(ErrorKind::member_lost, "the peer does not answer");
    const Ticks noticed =
        scheduler_.now() + static_cast<Ticks>(random_.below(static_cast<std::uint64_t>(options_.lost_ns_max)));
    way.messages_last = std::max(way.messages_last, noticed);
    schedule_event(way.messages_last, index, end, std::move(event));
  }
}

// Keeps a prefix of what is in flight, and perhaps some lines of the write behind it.
bool Network::cut_in_flight(Direction& way, bool messages_too) {
  if (random_.chance(1, 3)) return false;
  const std::uint64_t kept = random_.below(way.writes.size() + 1);
  bool torn = false;
  for (std::uint64_t i = kept; i < way.writes.size(); ++i) {
    InFlight& write = in_flight_[way.writes[i]];
    const std::uint32_t before = write.groups_dropped;
    write.groups_dropped = ~std::uint32_t{0};
    if (i > kept) continue;
    write.groups_dropped = before | (random_.chance(1, 2) ? static_cast<std::uint32_t>(random_.next()) : ~std::uint32_t{0});
    const std::uint32_t all = (1u << write.groups) - 1;
    const std::uint32_t left = all & ~((1u << write.next_group) - 1);
    torn = write.groups > 1 && (write.next_group > 0 || (write.groups_dropped & left) != left);
  }
  if (!messages_too) return torn;
  const std::uint64_t messages_kept = random_.below(way.messages.size() + 1);
  for (std::uint64_t i = messages_kept; i < way.messages.size(); ++i) {
    PendingEvent& message = pending_[way.messages[i]];
    // News that the other side gets from its own hardware is not lost with the sender.
    const auto kind = message.event.kind;
    if (kind != fabric::Event::Kind::connected && kind != fabric::Event::Kind::lost) message.dropped = true;
  }
  return torn;
}

// Memory goes; what was posted from it counts as read.
void Network::capture_from(const std::byte* memory, std::size_t bytes) {
  for (InFlight& write : in_flight_) {
    if (write.write.local >= memory && write.write.local < memory + bytes) write.captured = true;
  }
}

bool Network::crash(std::uint32_t index) {
  bool torn = false;
  endpoints_[index]->alive_ = false;
  for (const std::uint32_t which : endpoints_[index]->connections_) {
    Connection& connection = connections_[which];
    const std::uint32_t end = end_of(connection, index);
    if (connection.ended[end]) continue;
    // The kernel has what a process of the same host has said, but for what had no room there.
    const bool near = mappable(connection.ends[0], connection.ends[1]);
    connection.ways[end].unsaid = near && random_.chance(options_.unsaid_in_8, 8);
    torn |= cut_in_flight(connection.ways[end], !near || connection.ways[end].unsaid);
    for (const std::uint32_t slot : connection.ways[end].writes) in_flight_[slot].captured = true;
    const Ticks noticed =
        scheduler_.now() + static_cast<Ticks>(random_.below(static_cast<std::uint64_t>(options_.lost_ns_max)));
    end_connection(which, end, noticed, "the process died", near);
  }
  return torn;
}

void Network::close(std::uint32_t index) {
  endpoints_[index]->alive_ = false;
  for (const std::uint32_t which : endpoints_[index]->connections_) {
    Connection& connection = connections_[which];
    const std::uint32_t end = end_of(connection, index);
    for (const std::uint32_t slot : connection.ways[end].writes) in_flight_[slot].captured = true;
    if (connection.ended[end]) continue;
    end_connection(which, end, std::max(scheduler_.now(), connection.ways[end].writes_last),
                   "the process closed the connection");
  }
}

bool Network::mid_write(std::uint32_t index) const {
  for (const std::uint32_t which : endpoints_[index]->connections_) {
    const Connection& connection = connections_[which];
    const auto& writes = connection.ways[end_of(connection, index)].writes;
    if (!writes.empty() && in_flight_[writes.front()].groups > 1) return true;
  }
  return false;
}

void Network::cut(NodeId from, NodeId to, Cut what, std::optional<Ticks> breaks_after) {
  cuts_[slot_of(from) * nodes_max + slot_of(to)] = what;
  if (what == Cut::nothing || !breaks_after) return;
  for (std::uint32_t which = 0; which < connections_.size(); ++which) {
    const Connection& connection = connections_[which];
    const NodeId a = endpoints_[connection.ends[0]]->node_;
    const NodeId b = endpoints_[connection.ends[1]]->node_;
    if (!((a == from && b == to) || (a == to && b == from))) continue;
    scheduler_.at(scheduler_.now() + *breaks_after, *this, EventKind::link_broken, which);
  }
}

void Network::cut_present(NodeId from, NodeId to, Cut what) {
  for (Connection& connection : connections_) {
    for (std::uint32_t end = 0; end < 2; ++end) {
      if (endpoints_[connection.ends[end]]->node_ != from || endpoints_[connection.ends[1 - end]]->node_ != to) continue;
      connection.ways[end].cut = what;
      cut_alone_ = true;
    }
  }
}

// Traffic that waited goes on in its order; processes that wanted to connect may now.
void Network::heal(NodeId from, NodeId to) {
  Cut& cut = cuts_[slot_of(from) * nodes_max + slot_of(to)];
  if (std::exchange(cut, Cut::nothing) == Cut::nothing && !cut_alone_) return;
  for (std::size_t which = 0; which < connections_.size(); ++which) {  // more may come meanwhile
    Connection& connection = connections_[which];
    for (std::uint32_t end = 0; end < 2; ++end) {
      if (endpoints_[connection.ends[end]]->node_ != from || endpoints_[connection.ends[1 - end]]->node_ != to) continue;
      connection.ways[end].cut = Cut::nothing;
      for (const std::uint32_t slot : std::exchange(connection.ways[end].held_writes, {})) land_group(slot, false);
      for (const std::uint32_t slot : std::exchange(connection.ways[end].held_messages, {})) deliver_event(slot, false);
    }
  }
  for (const NodeId node : {from, to}) {
    if (const std::uint32_t index = newest(node); index < endpoints_.size()) establish_wanted(index);
  }
}

bool Network::connected(std::uint32_t a, std::uint32_t b) const {
  for (const std::uint32_t which : endpoints_[a]->connections_) {
    const Connection& connection = connections_[which];
    if (connection.ends[0] != b && connection.ends[1] != b) continue;
    if (connection.ways[0].open && connection.ways[1].open && !connection.broken) return true;
  }
  return false;
}

bool Network::heard(std::uint32_t reader, std::uint32_t speaker) const {
  const auto& all = endpoints_[reader]->connections_;
  return std::any_of(all.begin(), all.end(), [&](std::uint32_t which) {
    const Connection& connection = connections_[which];
    const std::uint32_t end = end_of(connection, speaker);
    return connection.ends[end] == speaker && connection.ways[end].heard;
  });
}

const std::byte* Network::row_copy(std::uint32_t reader, std::uint32_t owner) const {
  for (const std::uint32_t which : endpoints_[reader]->connections_) {
    const Connection& connection = connections_[which];
    const std::uint32_t end = end_of(connection, reader);
    if (connection.ends[1 - end] != owner) continue;
    if (const std::byte* mapped = connection.ways[end].mapped_region) return mapped;
    return connection.ways[1 - end].written_region;
  }
  return nullptr;
}

}  // namespace spindrift::sim
