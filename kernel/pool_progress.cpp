// What the device reports, and the repair of shared queue pairs.
#include <algorithm>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/kernel/pool_parts.hpp>

namespace spindrift::kernel {

namespace {

constexpr std::size_t events_at_once = 32;

}  // namespace

Result<bool> Pool::progress(Time now) {
  bool any = false;
  now_ = now;
  take_accepted();
  for (const auto& physical : physicals_) {
    any |= drain(*physical);
    if (physical->broken && physical->role != Physical::Role::connectionless) {
      on_connection_broken(*physical);
      any = true;
    } else if (physical->broken || physical->unusable) {
      if (auto repaired = repair(*physical); !repaired) return std::move(repaired).error();
      any = true;
    } else if (physical->replaying) {
      physical->replaying = vq_replay(&core_, &physical->core, &physical->core, 0) > 0;
    }
  }
  end_doomed(!any);
  take_fetched();
  pay_credits();
  sample(now);
  bury();
  close_unheard();
  sweep();
  take_waiting_calls();
  show();
  return any;
}

void Pool::count_in(CounterBlock* block) {
  const auto counter = [block](const char* name) { return block == nullptr ? Counter() : block->counter(name); };
  shown_ = {counter("vq.pairs"),  counter("vq.connected_made"), counter("vq.pairs_moved"),
            counter("vq.breaks"), counter("vq.replays"),        counter("vq.rejected_messages")};
  show();
}

void Pool::show() {
  shown_.pairs.set(counts_.pairs);
  shown_.connected.set(counts_.connected);
  shown_.moves.set(counts_.moves);
  shown_.breaks.set(counts_.breaks);
  shown_.replays.set(core_.replays);
  shown_.rejected.set(counts_.rejected + core_.rejected);
}

bool Pool::drain(Physical& physical) {
  std::array<PhysicalEvent, events_at_once> events;
  bool any = false;
  for (bool more = true; more;) {
    const std::size_t count = physical.queue_pair->take(events);
    for (const PhysicalEvent& event : std::span(events).first(count)) {
      switch (event.kind) {
        case PhysicalEvent::Kind::completed: on_completed(physical, event); break;
        case PhysicalEvent::Kind::received: on_received(physical, event); break;
        case PhysicalEvent::Kind::broken: physical.broken = true; break;
        case PhysicalEvent::Kind::connected: on_connected(physical); break;
      }
    }
    any |= count > 0;
    // Until all that was flushed has been told, what is posted to that peer is flushed too.
    more = physical.replaying && count == events.size();
  }
  return any;
}

void Pool::on_completed(Physical& physical, const PhysicalEvent& event) {
  if (event.status == Status::peer_lost) on_peer_of_operation_lost(physical, event.id);
  vq_on_completion(&core_, &physical.core, event.id, static_cast<std::uint8_t>(event.status));
  if (event.status != Status::done) flush_receives();
  // Where one failure breaks the queue pair, all that it flushed is posted again when it works again.
  if (event.status == Status::flushed && physical.core.ordered == 0) physical.replaying = true;
}

void Pool::on_peer_of_operation_lost(const Physical& physical, std::uint64_t id) {
  const auto place = static_cast<std::uint32_t>(id);
  if (place >= physical.slots.size()) return;
  const vq_slot& slot = physical.slots[place];
  if (slot.state != VQ_SLOT_POSTED || slot.turn != static_cast<std::uint32_t>(id >> 32)) return;  // of nothing
  const PeerHandle handle(vq_find(&core_, slot.pair)->peer);
  for (auto& [metadata, peer] : peers_) {
    if (peer.handle == handle) on_lost(peer);
  }
}

Result<void> Pool::repair(Physical& physical) {
  if (physical.broken) {
    physical.broken = false;
    physical.unusable = true;
    ++counts_.breaks;
    vq_on_broken(&core_, &physical.core);
    flush_receives();
  }
  if (auto reset = physical.queue_pair->reset(); !reset) return reset;
  physical.unusable = false;
  physical.replaying = vq_replay(&core_, &physical.core, &physical.core, 0) > 0;
  return {};
}

// A connected queue pair to it, which may never hear of that, goes too: else the peer would stay known, as a lost one.
void Pool::on_lost(Peer& peer) {
  peer.lost = true;
  if (peer.connected != nullptr) retire(*peer.connected);
}

void Pool::on_peer_lost(const Metadata& metadata) {
  const auto peer = peers_.find(metadata);
  if (peer == peers_.end()) return;
  on_lost(peer->second);
  for (const auto& seat : seats_) {
    if (seat && seat->peer == peer) vq_fail(&core_, seat->id.value(), VQ_PEER_LOST);
  }
  flush_receives();
}

// What a peer said before its connection broke may be on its way over another one, and comes before the news of its loss.
void Pool::end_doomed(bool quiet) {
  if (!any_doomed_) return;
  any_doomed_ = false;
  for (auto& [metadata, peer] : peers_) {
    if (peer.doomed == 0) continue;
    peer.doomed = quiet ? 0 : peer.doomed - 1;
    if (peer.doomed == 0) on_peer_lost(metadata);
    any_doomed_ |= peer.doomed > 0;
  }
}

void Pool::fail(Seat& seat, std::uint8_t status) {
  vq_fail(&core_, seat.id.value(), status);
  flush_receives();
}

// To a pair that failed nothing comes any more; but what is being fetched still comes into its buffer.
void Pool::flush_receives() {
  any_failed_ = true;
  for (const auto& seat : seats_) {
    if (!seat || seat->receives.empty() || seat->fetching || !failure(seat->id)) continue;
    for (const Seat::Receive& receive : seat->receives.all()) {
      seat->completions->received_.push_back({seat->id, receive.context, 0, Completion::Kind::receive, Status::flushed});
    }
    seat->receives.clear();
  }
}

// Who has never heard of an accepted pair cannot close it: it would keep its place at the port for ever.
void Pool::close_unheard() {
  if (!std::exchange(any_failed_, false)) return;
  for (const auto& seat : seats_) {
    if (seat && seat->accepted_by != nullptr && !seat->heard && !seat->announced && failure(seat->id)) close(seat->id);
  }
}

// Forgets the closed pairs of which nothing is under way any more.
void Pool::sweep() {
  std::erase_if(closed_, [this](const auto& seat) {
    if (vq_find(&core_, seat->id.value()) != nullptr) return false;
    // The fetcher reads into memory of this one.
    if (seat->fetcher != PairId{} && vq_find(&core_, seat->fetcher.value()) != nullptr) return false;
    if (!seat->fetched.empty()) static_cast<void>(deregister(seat->fetched_memory));
    if (seat->peer) leave(*seat->peer);
    any_freed_ = true;
    --counts_.pairs;
    return true;
  });
}

}  // namespace spindrift::kernel
