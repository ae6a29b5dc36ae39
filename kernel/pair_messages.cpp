// Calls are taken or wait, each pair's next message is brought to its user, and large ones are fetched first.
#include <spindrift/kernel/pair_messages.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <spindrift/core/check.hpp>

namespace spindrift::kernel {

using Way = VirtualPair::MessageWay;
using Origin = VirtualPair::Origin;

Result<void> PairMessages::bind(Port port, CompletionQueue& completions, std::uint32_t pairs_max) {
  if (listeners_.try_emplace(port, completions, pairs_max).second) return {};
  return Error(ErrorKind::refused, fmt::format("port {} is bound", port.value())).fix("bind another");
}

Result<Listener*> PairMessages::listener_at(Port port) {
  const auto found = listeners_.find(port);
  if (found != listeners_.end()) return &found->second;
  return Error(ErrorKind::group_closed, "nobody has bound this port").fix("bind it first");
}

void PairMessages::on_received(PhysicalPair& physical, const PhysicalEvent& event) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(event.bytes.data());
  const auto size = static_cast<std::uint32_t>(event.bytes.size());
  const vq_verdict verdict = vq_on_message(&pairs_.core(), &physical.core, event.id, bytes, size);
  vq_header header{};
  VirtualPair* pair = nullptr;
  if (vq_read_header(bytes, size, &header) != 0) {
    const auto metadata = event.bytes.subspan(sizeof header, header.metadata_bytes);
    const auto payload = event.bytes.subspan(sizeof header + metadata.size());
    if (verdict == VQ_STRANGER) {
      on_call(header, metadata, payload);
    } else if (header.hello == 0) {
      pair = pairs_.find(PairId(header.to));
    }
    if (pair != nullptr && verdict == VQ_KEPT) keep(*pair, header, payload);
  }
  physical.queue_pair->give_back(event.id);
  if (pair == nullptr) return;
  if (verdict == VQ_KEPT) serve(*pair);
  note_debt(*pair);
}

void PairMessages::note_debt(const VirtualPair& pair) {
  if (vq_owes(&pairs_.core(), pair.id.value()) != 0) pairs_.note_debt(pair.id);
}

// A copy, so that who takes none of its messages keeps no buffer from the others.
void PairMessages::keep(VirtualPair& pair, const vq_header& header, std::span<const std::byte> payload) {
  vq_message& message = pair.messages[(header.sequence - 1) & (pair.messages.size() - 1)];
  auto& copy = pair.copy_of(message);
  copy.assign(payload.begin(), payload.end());
  message.payload = reinterpret_cast<const unsigned char*>(copy.data());
}

void PairMessages::on_call(const vq_header& header, std::span<const std::byte> metadata,
                           std::span<const std::byte> payload) {
  if (metadata.size() > Metadata::bytes_max || !listeners_.contains(Port(header.to))) {
    ++rejected_;
    return;
  }
  PendingCall call{
      .header = header, .metadata = Metadata::of(metadata), .payload = {payload.begin(), payload.end()}, .came = now_};
  const auto heard = hear(call);
  if (heard) return;
  const bool never = heard.error().kind() == ErrorKind::bad_argument;
  if (never || !waiting_.add(std::move(call))) ++rejected_;
}

// Errors: bad_argument if it can never be taken; others if it cannot now.
Result<void> PairMessages::hear(const PendingCall& call) {
  Listener& listener = listeners_.find(Port(call.header.to))->second;
  if (listener.has_heard(call.caller())) return {};
  SPINDRIFT_TRY_ASSIGN(VirtualPair* const accepted, accept(listener, call));
  VirtualPair& pair = *accepted;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(call.payload.data());
  if (vq_keep(&pairs_.core(), pair.id.value(), nullptr, 0, &call.header, bytes) == VQ_KEPT) {  // a copy, in no buffer
    keep(pair, call.header, call.payload);
    serve(pair);
  }
  note_debt(pair);
  return {};
}

void PairMessages::take_waiting_calls() {
  if (!may_take_calls()) return;
  for (PendingCall& call : waiting_.take()) {
    if (now_ - call.came > options_.call_wait_max) {
      ++rejected_;  // its caller has given it up
    } else if (!hear(call)) {
      static_cast<void>(waiting_.add(std::move(call)));  // all of them had room
    }
  }
  freed_seen_ = places_freed();  // a call that gives back its peer because there is no pair has freed nothing
}

// The pair for a caller at one of the ports: the one that it has, or a new one. Errors: as `hear`.
Result<VirtualPair*> PairMessages::accept(Listener& listener, const PendingCall& call) {
  const CallerId caller = call.caller();
  if (const auto known = listener.find(caller)) return pairs_.find(*known);
  if (listener.full()) return Error(ErrorKind::resource, "the port has all its pairs");
  SPINDRIFT_TRY_ASSIGN(const PoolPeers::Place peer, peers_.join(call.metadata));
  auto id = pairs_.create(listener.completions(), 0, options_.window);
  if (!id) {
    peers_.leave(peer);
    return std::move(id).error();
  }
  const auto bound = pairs_.bind(*id, peer, caller.pair, true);
  CHECK(bound.ok());
  VirtualPair& pair = *pairs_.find(*id);
  pair.origin = Origin::accepted;
  pair.listener = &listener;
  pair.caller = caller;
  listener.accept(caller, *id);
  ++accepted_;
  return &pair;
}

// Brings the next message to where its user takes it; the bytes of a large one have to come first.
void PairMessages::serve(VirtualPair& pair) {
  if (pair.way == Way::announced || pair.way == Way::fetching) return;
  const vq_message* const message = vq_next_message(&pairs_.core(), pair.id.value());
  if (message == nullptr) return;
  if (message->large == 0) return announce(pair);
  if (!make_room(pair, message->bytes)) return pairs_.fail(pair.id, VQ_LOCAL_ERROR);
  const auto failed = fetches_.begin(pair, *message, pair.fetched, pair.fetched_memory, now_);
  if (failed) pairs_.fail(pair.id, *failed);
}

void PairMessages::announce(VirtualPair& pair) {
  pair.way = Way::announced;
  if (pair.listener != nullptr) pair.listener->announce(pair.id);
}

bool PairMessages::make_room(VirtualPair& pair, std::uint32_t bytes) {
  if (!pair.fetched.empty()) return true;  // this was tried before
  if (bytes > options_.fetch_bytes_max) return false;
  pair.fetched.resize(bytes);
  const auto memory = memory_.add(pair.fetched, fabric::Access::read);
  if (memory) pair.fetched_memory = *memory;
  if (!memory) pair.fetched.clear();
  return memory.ok();
}

void PairMessages::take_fetched() {
  while (const auto fetched = fetches_.take()) on_fetched(*fetched->pair, fetched->status);
  for (const PairId id : fetches_.take_postponed()) {
    VirtualPair* const pair = pairs_.find(id);
    if (pair == nullptr || pairs_.failure(id)) continue;
    if (fetches_.is_overdue(*pair, now_)) {
      pairs_.fail(id, VQ_ACCESS_REFUSED);
    } else {
      serve(*pair);
    }
  }
}

void PairMessages::on_fetched(VirtualPair& pair, std::uint8_t status) {
  if (status != VQ_DONE) return pairs_.fail(pair.id, status);
  if (!pairs_.failure(pair.id)) announce(pair);
}

Result<std::optional<PortMessage>> PairMessages::pop(Port port) {
  SPINDRIFT_TRY_ASSIGN(Listener* const listener, listener_at(port));
  const auto ready = listener->take_ready();
  if (!ready) return std::optional<PortMessage>{};
  return std::optional(PortMessage{*ready, take_announced(*pairs_.find(*ready))});
}

Result<std::optional<PairId>> PairMessages::next_accepted(Port port) {
  SPINDRIFT_TRY_ASSIGN(Listener* const listener, listener_at(port));
  const auto pair = listener->take_newcomer();
  if (pair) pairs_.find(*pair)->origin = Origin::told;
  return pair;
}

std::optional<std::vector<std::byte>> PairMessages::take(PairId id) {
  VirtualPair* const pair = pairs_.find(id);
  if (pair == nullptr || pair->way != Way::announced) return std::nullopt;
  if (pair->listener != nullptr) pair->listener->withdraw(id);
  return take_announced(*pair);
}

std::vector<std::byte> PairMessages::take_announced(VirtualPair& pair) {
  const vq_message* const message = vq_next_message(&pairs_.core(), pair.id.value());
  CHECK(message != nullptr);
  std::vector<std::byte> bytes;
  if (message->large != 0) {
    memory_.remove(pair.fetched_memory);  // its read is over
    bytes = std::exchange(pair.fetched, {});
  } else {
    bytes = std::move(pair.copy_of(*message));
  }
  pair.way = Way::none;
  if (pair.origin == Origin::accepted) pair.origin = Origin::told;
  consume(pair);
  serve(pair);
  return bytes;
}

void PairMessages::consume(VirtualPair& pair) {
  vq_consume(&pairs_.core(), pair.id.value());
  if (vq_pay(&pairs_.core(), pair.id.value()) != 0) pairs_.note_debt(pair.id);
}

}  // namespace spindrift::kernel
