// Looking, and counting what waits.
#include <spindrift/group/pauses.hpp>

#include <algorithm>

namespace spindrift::group {
namespace {

std::optional<std::size_t> sender_rank_of(const SubgroupView& subgroup, NodeId node) {
  const auto at = std::ranges::find(subgroup.senders, node);
  if (at == subgroup.senders.end()) return std::nullopt;
  return static_cast<std::size_t>(at - subgroup.senders.begin());
}

/// That sender's messages which this member has given to its application in this view.
std::uint64_t given_of(const smc::Multicast& multicast, std::size_t sender) {
  const SubgroupView& subgroup = multicast.subgroup();
  if (subgroup.mode != DeliveryMode::ordered) return multicast.received_of()[sender];
  const std::uint64_t below = multicast.delivered();  // of all senders, in turn
  const std::size_t senders = subgroup.senders.size();
  return below <= sender ? 0 : (below - sender + senders - 1) / senders;
}

/// The messages that wait here of the sender of which most do. One that has nothing to say takes its turns all the same, so
/// that a sum would count what is none.
std::uint64_t waiting_of(const smc::Multicast& multicast) {
  const SubgroupView& subgroup = multicast.subgroup();
  if (subgroup.mode != DeliveryMode::ordered) return multicast.deliverable_count() - multicast.delivered_count();
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < subgroup.senders.size(); ++i) {
    const std::uint64_t received = multicast.received_of()[i];
    most = std::max(most, received - std::min(received, given_of(multicast, i)));
  }
  return most;
}

}  // namespace

std::vector<NodeId> awaited_members(const views::Member& member, SubgroupId id) {
  const views::Epoch* const epoch = member.epoch();
  smc::Multicast* const multicast = epoch == nullptr ? nullptr : epoch->multicast(id);
  if (multicast == nullptr || !multicast->holds_messages()) return {};
  std::map<NodeId, std::uint64_t> lags;
  for (const smc::Lag& each : multicast->lags()) lags.emplace(epoch->view().members[each.rank.value()], each.messages);
  if (const auto own = sender_rank_of(multicast->subgroup(), member.self())) {
    const std::uint64_t sent = multicast->ring()->committed_count();
    lags.emplace(member.self(), sent - std::min(sent, given_of(*multicast, *own)));
  }
  std::uint64_t most = 0;
  for (const auto& [node, messages] : lags) most = std::max(most, messages);
  std::vector<NodeId> nodes;
  for (const auto& [node, messages] : lags) {
    if (messages > 0 && 2 * messages >= most) nodes.push_back(node);
  }
  return nodes;
}

Time Pauses::look(const views::Member& member, const Channels& channels, const PausedSubgroups& paused, Time now) {
  if (!paused.any() && told_.empty()) return never;
  if (now < last_look_ + look_interval) return last_look_ + look_interval;
  last_look_ = now;
  told_.clear();
  const std::uint64_t now_ms = wall_clock_ms();
  for (const auto& [id, since_ms] : paused.all()) {
    if (now_ms < since_ms + told_after_ms || channels[id].dropped()) continue;
    MemberStatus::Pause& pause = told_[channels[id].name()];
    pause.since_ms = since_ms;
    const smc::Multicast* const multicast = member.epoch() == nullptr ? nullptr : member.epoch()->multicast(id);
    if (multicast != nullptr) pause.messages = waiting_of(*multicast);
  }
  return now + look_interval;
}

}  // namespace spindrift::group
