// Connected queue pairs: made in the background to the peers that are talked to most, taken away from those that are not any
// more, and the way of virtual queue pairs there and back. (KRCore, section 4.5.)
#include <algorithm>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/kernel/pool_parts.hpp>

namespace spindrift::kernel {

namespace {

constexpr std::uint32_t passes_to_last_words = 16;

}  // namespace

void Pool::sample(Time now) {
  if (options_.connected_max == 0 || now < next_sample_) return;
  next_sample_ = now + options_.sample_period;
  give_up_moves();
  auto busiest = peers_.end();
  for (auto peer = peers_.begin(); peer != peers_.end(); ++peer) {
    if (peer->second.connected != nullptr || peer->second.lost || peer->second.posts < options_.promote_posts) continue;
    if (busiest == peers_.end() || peer->second.posts > busiest->second.posts) busiest = peer;
  }
  if (busiest != peers_.end() && make_room_for(busiest->second.posts)) call(busiest);
  for (auto& [metadata, peer] : peers_) peer.posts = 0;
}

// A peer that closed its end, or failed it, answers no fence: then its pair here goes on where it is.
void Pool::give_up_moves() {
  for (const auto& seat : seats_) {
    const vq_pair* const core = seat ? vq_find(&core_, seat->id.value()) : nullptr;
    if (core == nullptr) continue;
    const bool moved_before = std::exchange(seat->moving, core->state == VQ_PAIR_MOVING);
    if (seat->moving && moved_before) vq_stay(&core_, seat->id.value());
  }
}

// A place for one more connected queue pair; the least used one goes if it is used half as much.
bool Pool::make_room_for(std::uint64_t posts) {
  std::uint32_t count = 0;
  Physical* least = nullptr;
  for (const auto& physical : physicals_) {
    if (physical->role != Physical::Role::calling && physical->role != Physical::Role::connected) continue;
    ++count;
    if (physical->role == Physical::Role::connected &&
        (least == nullptr || (*physical->peer)->second.posts < (*least->peer)->second.posts)) {
      least = physical.get();
    }
  }
  if (count < options_.connected_max) return true;
  if (least != nullptr && (*least->peer)->second.posts * 2 <= posts) retire(*least);
  return false;  // there will be room when what is under way there is over
}

void Pool::call(Peers::iterator peer) {
  auto queue_pair = device_.connect(peer->second.introduced.value_or(peer->first), options_.start);
  if (!queue_pair) {
    log::debug(log::Room::kernel, "no connected queue pair", {{"reason", queue_pair.error().to_string()}});
    return;
  }
  Physical& physical = add(std::move(queue_pair).value());
  physical.role = Physical::Role::calling;
  physical.peer = peer;
  peer->second.connected = &physical;
  ++peer->second.pairs;  // so that it stays while this does
}

void Pool::on_connected(Physical& physical) {
  if (physical.role != Physical::Role::calling) return;
  physical.role = Physical::Role::connected;
  ++counts_.connected;
  for (const auto& seat : seats_) {
    if (seat && seat->peer == physical.peer) move(*seat, physical);
  }
}

void Pool::move(Seat& seat, Physical& to) {
  const vq_pair* const core = vq_find(&core_, seat.id.value());
  if (core == nullptr || core->physical == &to.core) return;
  const int moved = vq_move(&core_, seat.id.value(), &to.core, (*seat.peer)->second.handle.value(),
                            !device_.traits().visible_on_completion);
  if (moved != 0) return;  // it stays where it is: closed, failed, or without messages to ask its peer by
  ++counts_.moves;
  owing_.insert(seat.id);
}

void Pool::retire(Physical& physical) {
  physical.role = Physical::Role::retiring;
  (*physical.peer)->second.connected = nullptr;
  turn_back(physical);
  for (const auto& seat : seats_) {
    const vq_pair* const core = seat ? vq_find(&core_, seat->id.value()) : nullptr;
    if (core != nullptr && core->physical == &physical.core) move(*seat, least_used());
  }
}

// Those on their way to one that will not stay.
void Pool::turn_back(const Physical& physical) {
  for (vq_pair& pair : pairs_) {
    if (pair.state == VQ_PAIR_MOVING && pair.target == &physical.core) pair.target = &least_used().core;
  }
}

void Pool::introduce(PairId pair, const Metadata& peer) {
  const Seat* const seat = seat_of(pair);
  if (seat != nullptr && seat->peer && peer.size <= Metadata::bytes_max) (*seat->peer)->second.introduced = peer;
}

// Its pairs go on over a connectionless one, with what was flushed; but where completions prove nothing, nobody knows what
// of their completed requests has arrived, and they fail.
void Pool::on_connection_broken(Physical& physical) {
  const bool was_up = physical.role == Physical::Role::connected;
  if (physical.role == Physical::Role::calling || was_up) (*physical.peer)->second.connected = nullptr;
  physical.role = physical.peer ? Physical::Role::retiring : Physical::Role::over;
  physical.broken = false;
  physical.lost = true;
  ++counts_.breaks;
  vq_on_broken(&core_, &physical.core);
  flush_receives();
  turn_back(physical);
  if (was_up && options_.break_is_loss) {
    (*physical.peer)->second.doomed = passes_to_last_words;
    any_doomed_ = true;
  }
  if (!device_.traits().visible_on_completion) fail_all(physical);
  carry_over(physical);
}

void Pool::fail_all(Physical& physical) {
  for (const auto& seat : seats_) {
    const vq_pair* const core = seat ? vq_find(&core_, seat->id.value()) : nullptr;
    if (core != nullptr && core->physical == &physical.core) vq_fail(&core_, seat->id.value(), VQ_FLUSHED);
  }
  flush_receives();
}

void Pool::carry_over(Physical& physical) {
  if (physical.core.pairs == 0) return;
  Physical& to = least_used();
  if (vq_replay(&core_, &physical.core, &to.core, (*physical.peer)->second.handle.value()) > 0) to.replaying = true;
}

// The device makes progress while it is asked for calls, if it takes any.
void Pool::take_accepted() {
  if (!device_.traits().connected) return device_.progress();
  for (Device::Accepted one = device_.accepted(); one.queue_pair; one = device_.accepted())
    add(std::move(one.queue_pair)).role = Physical::Role::passive;
}

// Those that nobody uses any more go.
void Pool::bury() {
  for (const auto& physical : physicals_) vq_end_wait(&physical->core);
  std::erase_if(physicals_, [this](const auto& physical) {
    if (physical->lost && physical->role == Physical::Role::retiring) carry_over(*physical);
    const bool idle = physical->core.pairs == 0 && physical->core.under_way == 0;
    const bool done = physical->role == Physical::Role::over || (physical->role == Physical::Role::retiring && idle);
    if (!done) return false;
    if (physical->peer) leave(*physical->peer);
    counts_.strays += physical->core.strays;
    return true;
  });
}

}  // namespace spindrift::kernel
