// Opening and closing gates, sending again, giving up, sealing.
#include <spindrift/views/sends.hpp>

#include <algorithm>
#include <cstring>

#include <spindrift/core/asymmetric_barrier.hpp>

namespace spindrift::views {
namespace {

smc::SendRing* ring_of(Epoch& epoch, std::uint32_t s) {
  smc::Multicast* const multicast = epoch.multicast(SubgroupId(s));
  return multicast == nullptr ? nullptr : multicast->ring();
}

bool send_again(smc::Multicast& multicast, std::span<const std::byte> message) {
  const bool large = message.size() > multicast.subgroup().profile.ring_payload_max();
  const auto reservation =
      large ? multicast.bulk_ring()->reserve(message.size()) : multicast.ring()->reserve(message.size());
  if (!reservation) return false;
  if (!message.empty()) std::memcpy(reservation->payload.data(), message.data(), message.size());
  large ? multicast.bulk_ring()->commit(*reservation) : multicast.ring()->commit(*reservation);
  return true;
}

}  // namespace

Sends::Sends(std::size_t subgroups, Upcalls& upcalls) : upcalls_(upcalls) { grow(subgroups); }

void Sends::grow(std::size_t subgroups) {
  while (gates_.size() < subgroups) gates_.push_back(std::make_shared<SendGate>());
  leftovers_.resize(gates_.size());
  seals_.resize(gates_.size());
  silent_.resize(gates_.size());
}

// All that stayed were silent in what was dropped, so nothing of it is left here.
void Sends::begin_view(const View& view) {
  state_ = State::unsettled;
  for (std::uint32_t s = 0; s < gates_.size(); ++s) {
    if (!view.subgroups[s].dropped) continue;
    give_up(SubgroupId(s));
    gates_[s] = std::make_shared<SendGate>();
  }
  grow(view.subgroups.size());
  silent_.assign(gates_.size(), false);
}

bool Sends::silence(SubgroupId id, Epoch& present) {
  SendGate& gate = *gates_[id.value()];
  silent_[id.value()] = true;
  if (gate.close()) heavy_barrier();
  if (!gate.vacated()) return false;
  smc::Multicast* const multicast = present.multicast(id);
  if (!leftovers_[id.value()].empty()) {
    if (multicast != nullptr) {  // they are sent first
      state_ = State::unsettled;
      return false;
    }
    give_up(id);
  }
  const smc::SendRing* const ring = ring_of(present, id.value());
  return ring == nullptr || multicast->own_delivered_everywhere() >= ring->sent_count();
}

void Sends::close() {
  if (state_ == State::settled) state_ = State::unsettled;
  bool any = false;
  for (std::size_t s = 0; s < gates_.size(); ++s) any |= gates_[s]->close();
  if (any) heavy_barrier();
}

void Sends::end() {
  close();
  for (std::uint32_t s = 0; s < gates_.size(); ++s) upcalls_.on_space(SubgroupId(s));
}

bool Sends::settle(Epoch& present, bool leaving) {
  if (state_ != State::unsettled) return false;
  state_ = State::settled;
  bool progress = false;
  for (std::uint32_t s = 0; s < gates_.size(); ++s) progress |= settle(SubgroupId(s), present, leaving);
  return progress;
}

bool Sends::settle(SubgroupId id, Epoch& present, bool leaving) {
  SendGate& gate = *gates_[id.value()];
  if (gate.is_open()) return false;
  smc::Multicast* const multicast = present.multicast(id);
  smc::SendRing* const ring = ring_of(present, id.value());
  bool progress = false;
  if (!leftovers_[id.value()].empty()) {
    if (!gate.vacated()) {
      state_ = State::unsettled;
      return false;
    }
    const bool moved_away = present.view().subgroup(id).inadequate.empty() && ring == nullptr;
    progress = moved_away ? give_up(id) : resend(id, present);
    if (!leftovers_[id.value()].empty()) {
      if (multicast != nullptr) state_ = State::unsettled;  // inadequate: only another view can help
      return progress;
    }
  }
  if (ring == nullptr || leaving || silent_[id.value()]) return progress;
  gate.open(*ring, multicast->bulk_ring());
  upcalls_.on_space(id);
  return true;
}

bool Sends::resend(SubgroupId id, Epoch& present) {
  std::deque<Leftovers>& sources = leftovers_[id.value()];
  smc::SendRing* const ring = ring_of(present, id.value());
  bool any = false;
  while (!sources.empty()) {
    Leftovers& source = sources.front();
    if (!source.next) source.next = source.from->multicast(id)->next_leftover();
    if (!source.next) {
      sources.pop_front();
      any = true;  // who waits for silence here looks again
      continue;
    }
    if (ring == nullptr || !send_again(*present.multicast(id), *source.next)) return any;
    source.next.reset();
    any = true;
  }
  return any;
}

// This node sends in that subgroup no more.
bool Sends::give_up(SubgroupId id) {
  std::uint64_t count = 0;
  for (Leftovers& source : leftovers_[id.value()]) {
    count += source.next ? 1 : 0;
    while (source.from->multicast(id)->next_leftover()) ++count;
  }
  leftovers_[id.value()].clear();
  if (count > 0) upcalls_.on_dropped(id, count);
  return true;
}

void Sends::report_dropped(Epoch& ended) {
  for (std::uint32_t s = 0; s < gates_.size(); ++s) {
    smc::Multicast* const multicast = ended.multicast(SubgroupId(s));
    if (multicast == nullptr || multicast->subgroup().mode != DeliveryMode::unordered) continue;
    const std::uint64_t lost = multicast->own_beyond(ended.change().decree().trim[s]);
    if (lost > 0) upcalls_.on_dropped(SubgroupId(s), lost);
  }
}

void Sends::keep_leftovers(Epoch& ended) {
  if (!ended.begun()) return;
  for (std::uint32_t s = 0; s < gates_.size(); ++s) {
    if (ring_of(ended, s) == nullptr) continue;
    leftovers_[s].push_front({&ended, std::nullopt});  // before what an older view still has: that was sent later
  }
}

bool Sends::uses(const Epoch& epoch) const noexcept {
  return std::any_of(leftovers_.begin(), leftovers_.end(), [&](const std::deque<Leftovers>& sources) {
    return std::any_of(sources.begin(), sources.end(), [&](const Leftovers& some) { return some.from == &epoch; });
  });
}

Sends::Outlook Sends::wind_up(Epoch& present, std::size_t drained) {
  close();
  bool gave_up = false;
  for (std::uint32_t s = 0; s < gates_.size(); ++s) {
    if (!gates_[s]->vacated() || s >= drained) return {gave_up, false};
    if (leftovers_[s].empty()) continue;
    if (present.multicast(SubgroupId(s)) != nullptr) return {gave_up, false};
    gave_up |= give_up(SubgroupId(s));  // the subgroup is inadequate, and this node does not wait for better times
  }
  return {gave_up, true};
}

bool Sends::delivered_everywhere(Epoch& present) {
  if (state_ != State::sealed) seal(present);
  for (std::uint32_t s = 0; s < gates_.size(); ++s) {
    if (ring_of(present, s) == nullptr) continue;
    if (present.multicast(SubgroupId(s))->own_delivered_everywhere() < seals_[s]) return false;
  }
  return true;
}

void Sends::seal(Epoch& present) {
  state_ = State::sealed;
  for (std::uint32_t s = 0; s < gates_.size(); ++s) {
    const smc::SendRing* const ring = ring_of(present, s);
    seals_[s] = ring == nullptr ? 0 : ring->sent_count();
  }
}

}  // namespace spindrift::views
