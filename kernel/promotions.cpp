// Which peer gets a connected queue pair, and what becomes of virtual pairs when one comes or goes.
#include <spindrift/kernel/promotions.hpp>

#include <utility>

#include <spindrift/core/log.hpp>

namespace spindrift::kernel {

using Role = PhysicalPair::Role;
using Repair = PhysicalPair::Repair;

void Promotions::sample(Time now) {
  if (options_.connected_max == 0 || now < next_sample_) return;
  next_sample_ = now + options_.sample_period;
  give_up_moves();
  auto& peers = peers_.all();
  auto busiest = peers.end();
  for (auto peer = peers.begin(); peer != peers.end(); ++peer) {
    if (peer->second.connected != nullptr || peer->second.lost || peer->second.posts < options_.promote_posts) continue;
    if (busiest == peers.end() || peer->second.posts > busiest->second.posts) busiest = peer;
  }
  if (busiest != peers.end() && make_room_for(busiest->second.posts)) call(busiest);
  for (auto& [metadata, peer] : peers) peer.posts = 0;
}

// A peer that closed its end, or failed it, answers no fence: then its pair here goes on where it is.
void Promotions::give_up_moves() {
  std::set<PairId> moving;
  pairs_.for_each([&](const VirtualPair& pair, const vq_pair& core) {
    if (core.state != VQ_PAIR_MOVING) return;
    moving.insert(pair.id);
    if (moving_.contains(pair.id)) vq_stay(&pairs_.core(), pair.id.value());
  });
  moving_ = std::move(moving);
}

// A place for one more connected queue pair; the least used one goes if it is used half as much.
bool Promotions::make_room_for(std::uint64_t posts) {
  std::uint32_t count = 0;
  PhysicalPair* least = nullptr;
  for (const auto& physical : physicals_.all()) {
    if (physical->role != Role::calling && physical->role != Role::connected) continue;
    ++count;
    if (physical->role == Role::connected &&
        (least == nullptr || (*physical->peer)->second.posts < (*least->peer)->second.posts)) {
      least = physical.get();
    }
  }
  if (count < options_.connected_max) return true;
  if (least != nullptr && (*least->peer)->second.posts * 2 <= posts) retire(*least);
  return false;  // there will be room when what is under way there is over
}

void Promotions::call(PoolPeers::Place peer) {
  auto queue_pair = device_.connect(peer->second.introduced.value_or(peer->first), options_.start);
  if (!queue_pair) {
    log::debug(log::Room::kernel, "no connected queue pair", {{"reason", queue_pair.error().to_string()}});
    return;
  }
  PhysicalPair& physical = physicals_.add(std::move(queue_pair).value(), Role::calling);
  physical.peer = peer;
  peer->second.connected = &physical;
  peers_.join(peer);
}

void Promotions::on_connected(PhysicalPair& physical) {
  if (physical.role != Role::calling) return;
  physical.role = Role::connected;
  ++counts_.connected;
  pairs_.for_each([&](const VirtualPair& pair, const vq_pair& core) {
    if (pair.peer == physical.peer) move(pair, core, physical);
  });
}

void Promotions::move(const VirtualPair& pair, const vq_pair& core, PhysicalPair& to) {
  if (core.physical == &to.core) return;
  const int moved = vq_move(&pairs_.core(), pair.id.value(), &to.core, (*pair.peer)->second.handle.value(),
                            !device_.traits().visible_on_completion);
  if (moved != 0) return;  // it stays where it is: failed, or without messages to ask its peer by
  ++counts_.moves;
  pairs_.note_debt(pair.id);
}

void Promotions::on_lost(PoolPeer& peer) {
  peer.lost = true;
  if (peer.connected != nullptr) retire(*peer.connected);
}

void Promotions::retire(PhysicalPair& physical) {
  physical.role = Role::retiring;
  (*physical.peer)->second.connected = nullptr;
  turn_back(physical);
  pairs_.for_each([&](const VirtualPair& pair, const vq_pair& core) {
    if (core.physical == &physical.core) move(pair, core, physicals_.least_used());
  });
}

// Those on their way to one that will not stay.
void Promotions::turn_back(const PhysicalPair& physical) {
  for (vq_pair& pair : std::span(pairs_.core().pairs, pairs_.core().count)) {
    if (pair.state == VQ_PAIR_MOVING && pair.move.to == &physical.core) pair.move.to = &physicals_.least_used().core;
  }
}

void Promotions::on_broken(PhysicalPair& physical) {
  const bool was_up = physical.role == Role::connected;
  if (physical.role == Role::calling || was_up) (*physical.peer)->second.connected = nullptr;
  physical.role = physical.peer ? Role::lost : Role::over;
  ++counts_.breaks;
  vq_on_broken(&pairs_.core(), &physical.core);
  pairs_.note_failures();
  turn_back(physical);
  if (was_up && options_.break_is_loss) peers_.doom((*physical.peer)->second);
  if (!device_.traits().visible_on_completion) {
    pairs_.for_each([&](const VirtualPair& pair, const vq_pair& core) {
      if (core.physical == &physical.core) vq_fail(&pairs_.core(), pair.id.value(), VQ_FLUSHED);
    });
  }
  carry_over(physical);
}

void Promotions::carry_over(PhysicalPair& physical) {
  if (physical.core.pairs == 0) return;
  PhysicalPair& to = physicals_.least_used();
  const auto handle = (*physical.peer)->second.handle.value();
  const bool some_wait = vq_replay(&pairs_.core(), &physical.core, &to.core, handle) > 0;
  if (some_wait && to.repair == Repair::none) to.repair = Repair::replay;
}

// The device makes progress while it is asked for calls, if it takes any.
void Promotions::take_accepted() {
  if (!device_.traits().connected) return device_.progress();
  for (PhysicalDevice::Accepted one = device_.accepted(); one.queue_pair; one = device_.accepted())
    physicals_.add(std::move(one.queue_pair), Role::passive);
}

void Promotions::erase_unused() {
  for (const auto& physical : physicals_.all()) vq_end_wait(&physical->core);
  physicals_.erase_if([this](PhysicalPair& physical) {
    if (physical.role == Role::lost) carry_over(physical);
    const bool idle = physical.core.pairs == 0 && physical.core.under_way == 0;
    const bool leaves = physical.role == Role::lost || physical.role == Role::retiring;
    if (physical.role != Role::over && !(leaves && idle)) return false;
    if (physical.peer) peers_.leave(*physical.peer);
    return true;
  });
}

}  // namespace spindrift::kernel
