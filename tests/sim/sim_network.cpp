// The network between the endpoints: order, line-by-line visibility, messages.
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
    : scheduler_(scheduler), random_(random), options_(options), report_(report), listener_(listener) {
  for (const NodeId node : nodes) add_endpoint(node);
}

Network::~Network() = default;

void Network::on_event(EventKind kind, std::uint32_t which) {
  switch (kind) {
    case EventKind::lines_visible: land_group(which, true); break;
    case EventKind::fabric_event: deliver_event(which, true); break;
    case EventKind::link_broken: break_connection(which); break;
    default: break;
  }
}

Network::Direction& Network::way_of(const InFlight& write) {
  Connection& connection = connections_[write.connection];
  return connection.ways[end_of(connection, write.write.from)];
}

bool Network::stopped(const Connection& connection, std::uint32_t from_end, Cut what) const {
  if (connection.broken) return false;
  const Cut cut = cut_between(connection.ends[from_end], connection.ends[1 - from_end]);
  const Cut alone = connection.ways[from_end].cut;
  return ((static_cast<std::uint8_t>(cut) | static_cast<std::uint8_t>(alone)) & static_cast<std::uint8_t>(what)) != 0;
}

void Network::send_event(std::uint32_t index, std::uint32_t from_end, fabric::Event event) {
  if (connections_[index].broken) return;  // the sender will hear of it
  Direction& way = connections_[index].ways[from_end];
  const Ticks jitter = static_cast<Ticks>(random_.below(static_cast<std::uint64_t>(options_.jitter_ns_max)));
  way.messages_last = std::max(way.messages_last, scheduler_.now() + way.delay + jitter);
  schedule_event(way.messages_last, index, from_end, std::move(event));
}

void Network::schedule_event(Ticks when, std::uint32_t index, std::uint32_t from_end, fabric::Event event) {
  const std::uint32_t slot = take_slot(pending_, pending_unused_);
  pending_[slot] = {index, 1 - from_end, false, std::move(event)};
  connections_[index].ways[from_end].messages.push_back(slot);
  scheduler_.at(when, *this, EventKind::fabric_event, slot);
}

// An event that a cut stops waits in order for the end of the cut or of the connection.
void Network::deliver_event(std::uint32_t slot, bool may_wait) {
  PendingEvent& pending = pending_[slot];
  Connection& connection = connections_[pending.connection];
  const std::uint32_t to = pending.to;
  if (pending.event.kind == fabric::Event::Kind::died) {  // on no connection
    SimFabric& reader = *endpoints_[connection.ends[to]];
    if (reader.alive_) reader.events_.push_back(std::move(pending.event));
    if (reader.alive_) listener_.on_news(connection.ends[to]);
    pending_unused_.push_back(slot);
    return;
  }
  Direction& way = connection.ways[1 - to];
  if (may_wait && !pending.dropped && (!way.held_messages.empty() || stopped(connection, 1 - to, Cut::messages))) {
    way.held_messages.push_back(slot);
    return;
  }
  std::erase(way.messages, slot);  // the first, unless an earlier one waits
  SimFabric& target = *endpoints_[connection.ends[to]];
  if (!pending.dropped && target.alive_ && way.access) {
    pending.event.peer = connection.ids[to];
    if (pending.event.kind == fabric::Event::Kind::lost) {
      pending.event.node = endpoints_[connection.ends[1 - to]]->node_;
      way.access = false;
      connection.ways[to].open = false;
      mark_ended(pending.connection, to);
      if (pending.event.dying) schedule_death(pending.connection, to);
    }
    target.events_.push_back(std::move(pending_[slot].event));
    listener_.on_news(connection.ends[to]);
  }
  pending_unused_.push_back(slot);
}

// The kernel says that the process is gone, whatever has become of its connections.
void Network::schedule_death(std::uint32_t index, std::uint32_t to) {
  const Connection& connection = connections_[index];
  fabric::Event event;
  event.kind = fabric::Event::Kind::died;
  event.peer = connection.ids[to];
  event.node = endpoints_[connection.ends[1 - to]]->node_;
  event.complete = !connection.ways[1 - to].unsaid;
  const std::uint32_t slot = take_slot(pending_, pending_unused_);
  pending_[slot] = {index, to, false, std::move(event)};
  const auto later = static_cast<Ticks>(random_.below(static_cast<std::uint64_t>(options_.died_ns_max)));
  scheduler_.at(scheduler_.now() + later, *this, EventKind::fabric_event, slot);
}

std::uint64_t Network::line_count(const NetworkListener::Write& write) const noexcept {
  const std::uint64_t first = write.offset / cache_line_bytes;
  const std::uint64_t last = (write.offset + write.bytes - 1) / cache_line_bytes;
  return last - first + 1;
}

void Network::post_write(std::uint32_t index, std::uint32_t from_end, const fabric::Operation& operation,
                         std::byte* region) {
  if (operation.bytes == 0) return;
  Connection& connection = connections_[index];
  const NetworkListener::Write posted = {
      connection.ends[from_end], connection.ends[1 - from_end], operation.local, region, operation.offset, operation.bytes,
      operation.copied};
  listener_.on_posted(posted);  // a process that dies of it has not posted it
  const std::uint32_t slot = take_slot(in_flight_, in_flight_unused_);
  InFlight& write = in_flight_[slot];
  write.write = posted;
  write.connection = index;
  write.target = operation.region;
  write.captured = operation.copied || random_.chance(1, 2);
  write.data.assign(operation.local, operation.local + operation.bytes);
  write.next_group = 0;
  write.groups_dropped = 0;
  choose_visibility(write);

  Direction& way = connection.ways[from_end];
  if (!way.access || connection.broken) write.groups_dropped = ~std::uint32_t{0};  // the other side has ended the connection
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

void Network::starve(std::uint32_t index, Ticks ticks) {
  endpoints_[index]->starved_until_ = std::max(endpoints_[index]->starved_until_, scheduler_.now() + ticks);
}

void Network::stall(std::uint32_t index, Ticks ticks) {
  for (const std::uint32_t which : endpoints_[index]->unended_) {
    Connection& connection = connections_[which];
    Direction& way = connection.ways[end_of(connection, index)];
    way.writes_last = std::max(way.writes_last, scheduler_.now() + ticks);
    way.messages_last = std::max(way.messages_last, scheduler_.now() + ticks);
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

void Network::land_group(std::uint32_t slot, bool may_wait) {
  InFlight& write = in_flight_[slot];
  Direction& way = way_of(write);
  const Connection& connection = connections_[write.connection];
  const std::uint32_t from_end = end_of(connection, write.write.from);
  const bool over = write.groups_dropped == ~std::uint32_t{0};
  if (may_wait && !over && (!way.held_writes.empty() || stopped(connection, from_end, Cut::writes))) {
    way.held_writes.push_back(slot);
    return;
  }
  const std::uint32_t group = write.next_group++;
  SimFabric& target = *endpoints_[write.write.to];
  const bool dropped = (write.groups_dropped >> group & 1) != 0;
  if (!dropped && target.alive_ && !target.region(write.target)->released) {
    write.write.late = !way.access;
    if (write.write.late) listener_.on_zombie(write.write);
    const std::uint64_t lines = write.lines.size();
    for (std::uint64_t i = group * lines / write.groups; i < (group + 1) * lines / write.groups; ++i) {
      land_line(write, write.lines[i]);
    }
    listener_.on_news(write.write.to);
  }
  if (--write.groups_left > 0) return;
  std::erase(way.writes, slot);
  in_flight_unused_.push_back(slot);
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

}  // namespace spindrift::sim
