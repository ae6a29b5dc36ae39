// Posting, the way through the ports, and landing.
#include <spindrift/bench/papers/model/network.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include <spindrift/core/check.hpp>
#include <spindrift/smc/record.hpp>
#include <spindrift/sst/bulk_rings.hpp>

namespace spindrift::bench::model {

namespace {

Error given(const char* what) {
  return {ErrorKind::unsupported, std::string(what) + ": connections and memory of the modeled network are given"};
}

bool overlap(const MirrorLayout::Interval& a, const MirrorLayout::Interval& b, std::uint64_t stride) {
  const std::uint64_t gap = (b.offset + stride - a.offset % stride) % stride;  // from a's start to b's, modulo the stride
  return gap < a.bytes || gap + b.bytes > stride;
}

bool fits(std::span<const MirrorLayout::Interval> used, std::uint64_t stride) {
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i].bytes > stride) return false;
    for (std::size_t j = i + 1; j < used.size(); ++j) {
      if (overlap(used[i], used[j], stride)) return false;
    }
  }
  return true;
}

/// The first line boundary at or after `memory`.
std::byte* first_line_of(std::byte* memory) {
  const std::uint64_t misaligned = reinterpret_cast<std::uintptr_t>(memory) % cache_line_bytes;
  return memory + (cache_line_bytes - misaligned) % cache_line_bytes;
}

}  // namespace

MirrorLayout::MirrorLayout(std::uint64_t row_bytes, std::span<const Interval> used)
    : row_bytes_(row_bytes), stride_(cache_line_bytes) {
  for (const Interval& interval : used) CHECK(interval.offset + interval.bytes <= row_bytes);
  while (stride_ < row_bytes_ && !fits(used, stride_)) stride_ += cache_line_bytes;
}

Network::Network(std::uint32_t members, Options options, MirrorLayout mirrors, Waker waker)
    : options_(options), mirrors_(mirrors), waker_(std::move(waker)), ports_(members) {
  for (std::uint32_t member = 0; member < members; ++member) {
    endpoints_.emplace_back(*this, member, members);
    const std::uint64_t bytes = members * mirrors_.stride() + mirrors_.row_bytes();
    auto* memory = static_cast<std::byte*>(std::calloc(bytes / cache_line_bytes + 2, cache_line_bytes));  // NOLINT
    CHECK(memory != nullptr);
    ports_[member].memory.reset(memory);
  }
}

std::span<const std::byte> Network::mirror(std::uint32_t reader, std::uint32_t owner) const {
  const std::byte* memory = first_line_of(ports_[reader].memory.get());
  return {memory + owner * mirrors_.stride(), mirrors_.row_bytes()};
}

fabric::Region Network::allocate_bulk(std::uint64_t bytes) {
  bulk_.emplace_back((bytes + cache_line_bytes) / sizeof(std::uint64_t) + 1);
  auto* memory = reinterpret_cast<std::byte*>(bulk_.back().data());
  return {fabric::RegionKey(ports_.size() + bulk_.size() - 1), {first_line_of(memory), bytes}};
}

const fabric::Region& Network::bulk_mirrors(const SubgroupView& shape, std::uint32_t subgroup, std::uint32_t member) {
  const auto [at, fresh] = bulk_mirrors_.try_emplace({subgroup, member});
  if (fresh) at->second = allocate_bulk(sst::BulkRings::mirrors_bytes(shape, NodeId(member)));
  return at->second;
}

std::byte* Network::bulk_of(fabric::RegionKey key) {
  if (key.value() < ports_.size()) return nullptr;  // a member's row
  return first_line_of(reinterpret_cast<std::byte*>(bulk_.at(key.value() - ports_.size()).data()));
}

bool Network::posted(const fabric::Operation& operation) const noexcept {
  return options_.activity_words || operation.offset < options_.activity.offset ||
         operation.offset >= options_.activity.offset + options_.activity.bytes;
}

// The list is grouped by peer, and mostly the same for all of them: what equals the last peer's is kept once.
Result<void> ModeledEndpoint::post(std::span<const fabric::Operation> operations) {
  std::span<const fabric::Operation> last;
  std::uint32_t push = network_.new_push();
  while (!operations.empty()) {
    const auto end = std::find_if(operations.begin(), operations.end(),
                                  [&](const fabric::Operation& each) { return each.peer != operations.front().peer; });
    const auto list = operations.first(static_cast<std::size_t>(end - operations.begin()));
    operations = operations.subspan(list.size());
    const bool same = std::equal(list.begin(), list.end(), last.begin(), last.end(), [](const auto& a, const auto& b) {
      return a.local == b.local && a.bytes == b.bytes && a.offset == b.offset && a.region == b.region;
    });
    if (!same) {
      network_.drop_unsent(push);
      push = network_.new_push();
      network_.fill(push, list);
    }
    last = list;
    network_.charge(*this, list.front().peer.value(), push);
  }
  network_.send(*this);
  network_.drop_unsent(push);
  return {};
}

std::uint64_t ModeledEndpoint::unsent_bytes(fabric::PeerId) const noexcept {
  const Ticks waits = std::max(0.0, egress_free_ - clock);
  return static_cast<std::uint64_t>(waits * network_.options_.link.bytes_per_ns / static_cast<double>(last_to_.size() - 1));
}

Ticks ModeledEndpoint::unsent_below(std::uint64_t bytes) const noexcept {
  return egress_free_ - static_cast<double>(bytes) / network_.options_.link.bytes_per_ns;
}

Result<fabric::Region> ModeledEndpoint::allocate(std::size_t, std::string_view) { return given("allocate"); }
Result<void> ModeledEndpoint::listen(const fabric::Address&) { return given("listen"); }
Result<void> ModeledEndpoint::connect(const fabric::Address&) { return given("connect"); }
Result<void> ModeledEndpoint::expose(fabric::PeerId, fabric::RegionKey, fabric::Access) { return given("expose"); }
Result<std::span<const std::byte>> ModeledEndpoint::map(fabric::PeerId, fabric::RegionKey) { return given("map"); }

std::uint32_t Network::new_push() {
  if (pushes_unused_.empty()) {
    pushes_.emplace_back();
    return static_cast<std::uint32_t>(pushes_.size() - 1);
  }
  const std::uint32_t push = pushes_unused_.back();
  pushes_unused_.pop_back();
  pushes_[push].parts.clear();
  pushes_[push].bytes = 0;
  return push;
}

void Network::drop_unsent(std::uint32_t push) {
  if (pushes_[push].on_the_way == 0) pushes_unused_.push_back(push);
}

void Network::fill(std::uint32_t push, std::span<const fabric::Operation> list) {
  for (const fabric::Operation& operation : list) {
    CHECK(operation.kind == fabric::Operation::Kind::write);
    if (posted(operation)) add_part(pushes_[push], operation);
  }
}

void Network::add_part(Push& push, const fabric::Operation& operation) {
  std::byte* const bulk = bulk_of(operation.region);
  Part part{operation.local, operation.offset, operation.bytes, bulk == nullptr ? nullptr : bulk + operation.offset, {}};
  if (bulk != nullptr) {
    push.parts.push_back(part);
    push.bytes += static_cast<double>(operation.bytes / real_large_bytes * options_.message_bytes);
    return;
  }
  if (operation.copied) {
    CHECK(operation.bytes <= part.line.size());
    part.local = nullptr;
    std::memcpy(part.line.data(), operation.local, operation.bytes);
  }
  push.parts.push_back(part);
  push.bytes += operation.offset >= options_.rings_at ? wire_bytes(operation.local, operation.bytes)
                                                      : static_cast<double>(operation.bytes);
}

// A record carries a few bytes here and stands for a message of the experiment's size.
double Network::wire_bytes(const std::byte* ring, std::uint64_t bytes) const {
  double wire = 0;
  for (std::uint64_t at = 0; at < bytes;) {
    const std::uint64_t header = load_acquire(ring + at);
    const auto kind = static_cast<smc::RecordKind>(header >> 32 & 0xff);
    const bool large = kind == smc::RecordKind::large;
    const bool data = kind == smc::RecordKind::data || large;
    at += data ? smc::record_bytes(header & 0xffffffff) : smc::header_bytes;  // of padding only the header is pushed
    const std::uint64_t payload = large ? smc::descriptor_bytes : options_.message_bytes;
    const std::uint64_t stands_for = data ? smc::record_bytes(payload) : smc::header_bytes;
    wire += static_cast<double>(options_.slot_bytes > 0 ? options_.slot_bytes : stands_for);
  }
  return wire;
}

// The poller's part: one list to one peer.
void Network::charge(ModeledEndpoint& from, std::uint32_t to, std::uint32_t slot) {
  Push& push = pushes_[slot];
  const auto operations = static_cast<std::uint32_t>(push.parts.size());
  if (operations == 0) return;
  const Ticks posting = options_.software.post_ns + options_.software.post_more_ns * (operations - 1);
  from.clock += posting;
  from.posting_ns += posting;
  from.lists_posted += 1;
  from.writes_posted += operations;
  ++push.on_the_way;
  leaving_.push_back({to, slot, from.clock, options_.link.occupancy_ns(push.bytes, operations)});
}

// The card's part: the lists of one push leave in turns.
void Network::send(ModeledEndpoint& from) {
  const Ticks turn = options_.link.turn_bytes / options_.link.bytes_per_ns;
  std::size_t unfinished = leaving_.size();
  for (bool first = true; unfinished > 0; first = false) {
    for (Leaving& list : leaving_) {
      if (list.left == 0) continue;
      if (first) list.first = from.egress_free_ = std::max(from.egress_free_, list.posted);
      const Ticks takes = std::min(turn, list.left);
      from.egress_free_ += takes;
      from.egress_bytes += takes * options_.link.bytes_per_ns;
      list.left -= takes;
      if (list.left > 0) continue;
      list.last = from.egress_free_;
      --unfinished;
    }
  }
  for (const Leaving& list : leaving_) {
    const Ticks flight = options_.link.flight_ns(pushes_[list.push].bytes);
    Ticks& last = from.last_to_[list.to];  // a short list does not overtake a long one
    last = std::max(last, list.last + flight);
    ports_[list.to].arrivals.push({list.first + flight, last, next_order_++, list.push, from.index_});
    waker_(list.to);
  }
  leaving_.clear();
}

Ticks Network::taken_after(const Port& port, const Arrival& arrival) const {
  const Push& push = pushes_[arrival.push];
  return std::max(arrival.first, port.taken) +
         options_.link.occupancy_ns(push.bytes, static_cast<std::uint32_t>(push.parts.size()));
}

Ticks Network::next_landing(std::uint32_t member) const {
  const Port& port = ports_[member];
  if (port.arrivals.empty()) return std::numeric_limits<Ticks>::infinity();
  return std::max(port.arrivals.top().last, taken_after(port, port.arrivals.top()));
}

std::uint64_t Network::land(std::uint32_t member, Ticks now) {
  Port& port = ports_[member];
  std::uint64_t lines = 0;
  while (!port.arrivals.empty()) {
    const Arrival arrival = port.arrivals.top();
    const Ticks taken = taken_after(port, arrival);
    if (std::max(arrival.last, taken) > now) break;
    port.arrivals.pop();
    port.taken = taken;
    land(member, arrival, lines);
  }
  return lines;
}

void Network::land(std::uint32_t member, const Arrival& arrival, std::uint64_t& lines) {
  Push& push = pushes_[arrival.push];
  auto* memory = const_cast<std::byte*>(mirror(member, arrival.from).data());
  for (const Part& part : push.parts) {
    if (part.bulk != nullptr) {
      std::memcpy(part.bulk, part.local, part.bytes);
      continue;
    }
    if (part.offset < options_.rings_at) ++lines;
    std::memcpy(memory + part.offset, part.local ? part.local : part.line.data(), part.bytes);
  }
  if (--push.on_the_way == 0) pushes_unused_.push_back(arrival.push);
}

}  // namespace spindrift::bench::model
