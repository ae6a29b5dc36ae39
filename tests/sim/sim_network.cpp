// The network between the endpoints: connections, order, line-by-line visibility, crashes.
#include <cstring>

#include "sim_fabric.hpp"

namespace spindrift::sim {
namespace {

constexpr std::uint64_t groups_max = 8;

template <class T>
std::uint32_t take_slot(std::deque<T>& slots, std::vector<std::uint32_t>& unused) {
  if (unused.empty()) {
    slots.emplace_back();
    return static_cast<std::uint32_t>(slots.size() - 1);
  }
  const std::uint32_t slot = unused.back();
  unused.pop_back();
  return slot;
}

}  // namespace

Network::Network(Scheduler& scheduler, Random random, const FabricOptions& options, Report& report,
                 NetworkListener& listener, const std::vector<NodeId>& nodes)
    : scheduler_(scheduler),
      random_(random),
      options_(options),
      report_(report),
      listener_(listener),
      count_(static_cast<std::uint32_t>(nodes.size())),
      directions_(nodes.size() * nodes.size()),
      links_(nodes.size() * nodes.size()) {
  for (std::uint32_t i = 0; i < count_; ++i) endpoints_.push_back(std::make_unique<SimFabric>(*this, i, nodes[i]));
  for (Direction& way : directions_) {
    way.delay = static_cast<Ticks>(random_.spread(100, static_cast<std::uint64_t>(options_.delay_ns_max)));
  }
}

Network::~Network() = default;

void Network::set_mappable(std::uint32_t a, std::uint32_t b, bool mappable) { link(a, b).mappable = mappable; }

void Network::on_event(EventKind kind, std::uint32_t which) {
  switch (kind) {
    case EventKind::lines_visible: land_group(which); break;
    case EventKind::fabric_event: deliver_event(which); break;
    default: break;
  }
}

void Network::want(std::uint32_t from, std::uint32_t to) {
  if (link(from, to).established && direction(from, to).open) return;
  link(from, to).wanted = true;
  finish_if_over(from, to);
  establish_if_possible(from, to);
}

// A connection that both sides know to be over, with nothing of it on the way, gives place to the next one.
void Network::finish_if_over(std::uint32_t a, std::uint32_t b) {
  if (!link(a, b).established) return;
  for (const auto& [self, peer] : {std::pair{a, b}, std::pair{b, a}}) {
    const Direction& way = direction(self, peer);
    if (way.open || !way.writes.empty() || !way.messages.empty()) return;
  }
  link(a, b).established = false;
  for (const auto& [self, peer] : {std::pair{a, b}, std::pair{b, a}}) {
    direction(self, peer).heard = false;
    for (SimFabric::OwnRegion& own : endpoints_[self]->regions_) {
      std::erase_if(own.exposed_to, [peer = peer](const auto& exposure) { return exposure.first == peer; });
    }
  }
  establish_if_possible(a, b);
}

// Both listen and one asked: each side learns of it at a time of its own, and may speak at once.
void Network::establish_if_possible(std::uint32_t a, std::uint32_t b) {
  Link& between = link(a, b);
  if (a == b || !between.wanted || between.established) return;
  if (!endpoints_[a]->listening_ || !endpoints_[b]->listening_) return;
  if (!endpoints_[a]->alive_ || !endpoints_[b]->alive_) return;
  between.established = true;
  between.wanted = false;
  for (const auto& [self, peer] : {std::pair{a, b}, std::pair{b, a}}) {
    Direction& outgoing = direction(self, peer);
    outgoing.peer = fabric::PeerId(static_cast<std::uint32_t>(endpoints_[self]->peers_.size()));
    endpoints_[self]->peers_.push_back(peer);
    outgoing.open = true;
    outgoing.access = true;
    Direction& incoming = direction(peer, self);
    incoming.messages_last =
        scheduler_.now() + static_cast<Ticks>(random_.below(static_cast<std::uint64_t>(options_.connect_ns_max)));
    fabric::Event event;
    event.kind = fabric::Event::Kind::connected;
    event.node = endpoints_[peer]->node_;
    event.mappable = between.mappable;
    schedule_event(incoming.messages_last, peer, self, std::move(event));
  }
}

void Network::send_event(std::uint32_t from, std::uint32_t to, fabric::Event event) {
  Direction& way = direction(from, to);
  const Ticks jitter = static_cast<Ticks>(random_.below(static_cast<std::uint64_t>(options_.jitter_ns_max)));
  way.messages_last = std::max(way.messages_last, scheduler_.now() + way.delay + jitter);
  schedule_event(way.messages_last, from, to, std::move(event));
}

void Network::schedule_event(Ticks when, std::uint32_t from, std::uint32_t to, fabric::Event event) {
  const std::uint32_t slot = take_slot(pending_, pending_unused_);
  pending_[slot] = {from, to, false, std::move(event)};
  direction(from, to).messages.push_back(slot);
  scheduler_.at(when, *this, EventKind::fabric_event, slot);
}

void Network::deliver_event(std::uint32_t slot) {
  PendingEvent& pending = pending_[slot];
  Direction& way = direction(pending.from, pending.to);
  way.messages.pop_front();
  SimFabric& target = *endpoints_[pending.to];
  if (!pending.dropped && target.alive_ && way.access) {
    pending.event.peer = direction(pending.to, pending.from).peer;
    if (pending.event.kind == fabric::Event::Kind::lost) {
      way.access = false;
      direction(pending.to, pending.from).open = false;
    }
    target.events_.push_back(std::move(pending.event));
    listener_.on_news(pending.to);
  }
  pending_unused_.push_back(slot);
  finish_if_over(pending.from, pending.to);
}

std::uint64_t Network::line_count(const NetworkListener::Write& write) const noexcept {
  const std::uint64_t first = write.offset / cache_line_bytes;
  const std::uint64_t last = (write.offset + write.bytes - 1) / cache_line_bytes;
  return last - first + 1;
}

void Network::post_write(std::uint32_t from, std::uint32_t to, const fabric::Operation& operation, std::byte* region) {
  if (operation.bytes == 0) return;
  const std::uint32_t slot = take_slot(in_flight_, in_flight_unused_);
  InFlight& write = in_flight_[slot];
  write.write = {from, to, operation.local, region, operation.offset, operation.bytes, operation.copied};
  write.captured = operation.copied || random_.chance(1, 2);
  write.data.assign(operation.local, operation.local + operation.bytes);
  write.next_group = 0;
  write.groups_dropped = 0;
  choose_visibility(write);
  listener_.on_posted(write.write);

  Direction& way = direction(from, to);
  if (options_.clogs_in_1000 > 0 && random_.chance(options_.clogs_in_1000, 1000)) {
    way.writes_last = std::max(way.writes_last, scheduler_.now()) +
                      static_cast<Ticks>(random_.below(static_cast<std::uint64_t>(options_.clog_ns_max)));
    report_.hit(Probe::clogged_link);
  }
  Ticks when =
      std::max(way.writes_last, scheduler_.now() + way.delay +
                                    static_cast<Ticks>(random_.below(static_cast<std::uint64_t>(options_.jitter_ns_max))));
  way.writes.push_back(slot);
  for (std::uint32_t group = 0; group < write.groups; ++group) {
    scheduler_.at(when, *this, EventKind::lines_visible, slot);
    way.writes_last = when;
    when += static_cast<Ticks>(random_.below(static_cast<std::uint64_t>(options_.line_gap_ns_max)));
  }
}

// A few lines appear one by one, many in a few groups; either way in random order.
void Network::choose_visibility(InFlight& write) {
  const auto lines = static_cast<std::uint32_t>(line_count(write.write));
  write.lines.resize(lines);
  for (std::uint32_t i = 0; i < lines; ++i) write.lines[i] = i;
  write.groups = 1;
  if (lines > 1 && random_.chance(options_.torn_in_4, 4)) {
    random_.shuffle(write.lines);
    write.groups = lines <= groups_max ? lines : static_cast<std::uint32_t>(random_.between(2, groups_max));
    report_.hit(Probe::torn_write);
  }
  write.groups_left = write.groups;
}

void Network::land_group(std::uint32_t slot) {
  InFlight& write = in_flight_[slot];
  const std::uint32_t group = write.next_group++;
  const Direction& way = direction(write.write.from, write.write.to);
  const bool dropped = (write.groups_dropped >> group & 1) != 0;
  if (!dropped && way.access && endpoints_[write.write.to]->alive_) {
    const std::uint64_t lines = write.lines.size();
    for (std::uint64_t i = group * lines / write.groups; i < (group + 1) * lines / write.groups; ++i) {
      land_line(write, write.lines[i]);
    }
    listener_.on_news(write.write.to);
  }
  if (--write.groups_left > 0) return;
  direction(write.write.from, write.write.to).writes.pop_front();
  in_flight_unused_.push_back(slot);
  finish_if_over(write.write.from, write.write.to);
}

void Network::land_line(InFlight& in_flight, std::uint32_t line) {
  const NetworkListener::Write& write = in_flight.write;
  const std::uint64_t line_start = (write.offset / cache_line_bytes + line) * cache_line_bytes;
  const std::uint64_t from = std::max(write.offset, line_start);
  const std::uint64_t to = std::min(write.offset + write.bytes, line_start + cache_line_bytes);
  const std::uint64_t at = from - write.offset;

  const std::byte* source = in_flight.data.data() + at;
  if (!in_flight.captured) {
    // R6: the source of a posted write stays what it was until the write is visible.
    if (std::memcmp(write.local + at, source, to - from) != 0) {
      report_.violate("R6", "the source of a posted write changed before it was visible");
    }
    source = write.local + at;
  }
  listener_.on_landing(write, from, source, to - from);
  std::memcpy(write.region + from, source, to - from);
  listener_.on_landed(write, from, to - from);
}

void Network::end_connection(std::uint32_t gone, std::uint32_t peer, Ticks earliest, const char* why) {
  Direction& outgoing = direction(gone, peer);
  if (!link(gone, peer).established || !outgoing.open) return;
  outgoing.open = false;
  direction(peer, gone).access = false;
  fabric::Event event;
  event.kind = fabric::Event::Kind::lost;
  event.reason = Error(ErrorKind::member_lost, why);
  outgoing.messages_last = std::max(outgoing.messages_last, earliest);
  schedule_event(outgoing.messages_last, gone, peer, std::move(event));
}

// Keeps a prefix of what is in flight, and perhaps some lines of the write behind it.
bool Network::cut_in_flight(Direction& way) {
  if (random_.chance(1, 3)) return false;
  const std::uint64_t kept = random_.below(way.writes.size() + 1);
  bool torn = false;
  for (std::uint64_t i = kept; i < way.writes.size(); ++i) {
    InFlight& write = in_flight_[way.writes[i]];
    write.groups_dropped = ~std::uint32_t{0};
    if (i > kept) continue;
    write.groups_dropped = random_.chance(1, 2) ? static_cast<std::uint32_t>(random_.next()) : ~std::uint32_t{0};
    const std::uint32_t all = (1u << write.groups) - 1;
    const std::uint32_t left = all & ~((1u << write.next_group) - 1);
    torn = write.groups > 1 && (write.next_group > 0 || (write.groups_dropped & left) != left);
  }
  const std::uint64_t messages_kept = random_.below(way.messages.size() + 1);
  for (std::uint64_t i = messages_kept; i < way.messages.size(); ++i) {
    PendingEvent& message = pending_[way.messages[i]];
    if (message.event.kind != fabric::Event::Kind::connected) message.dropped = true;
  }
  return torn;
}

bool Network::crash(std::uint32_t index) {
  bool torn = false;
  endpoints_[index]->alive_ = false;
  for (std::uint32_t peer = 0; peer < count_; ++peer) {
    if (peer == index) continue;
    torn |= cut_in_flight(direction(index, peer));
    for (const std::uint32_t slot : direction(index, peer).writes) in_flight_[slot].captured = true;
    const Ticks noticed =
        scheduler_.now() + static_cast<Ticks>(random_.below(static_cast<std::uint64_t>(options_.lost_ns_max)));
    end_connection(index, peer, noticed, "the process died");
  }
  return torn;
}

bool Network::mid_write(std::uint32_t index) const {
  for (std::uint32_t peer = 0; peer < count_; ++peer) {
    const auto& writes = direction(index, peer).writes;
    if (!writes.empty() && in_flight_[writes.front()].groups > 1) return true;
  }
  return false;
}

void Network::close(std::uint32_t index) {
  endpoints_[index]->alive_ = false;
  for (std::uint32_t peer = 0; peer < count_; ++peer) {
    if (peer == index) continue;
    for (const std::uint32_t slot : direction(index, peer).writes) in_flight_[slot].captured = true;
    end_connection(index, peer, std::max(scheduler_.now(), direction(index, peer).writes_last),
                   "the process closed the connection");
  }
}

const std::byte* Network::row_copy(std::uint32_t reader, std::uint32_t owner) const {
  if (const std::byte* mapped = direction(reader, owner).mapped_region) return mapped;
  return direction(owner, reader).written_region;
}

}  // namespace spindrift::sim
