// Looking, and summing up.
#include <spindrift/group/send_waits.hpp>

#include <algorithm>

namespace spindrift::group {
namespace {

/// The whole milliseconds go to the counter, the rest stays.
void count(Counter& counter, Duration& unsaid, Duration time) {
  unsaid += time;
  const auto whole = std::chrono::duration_cast<std::chrono::milliseconds>(unsaid);
  counter.add(static_cast<std::uint64_t>(whole.count()));
  unsaid -= whole;
}

}  // namespace

SendWaits::SendWaits(CounterBlock& counters, const std::vector<std::string>& names, const std::vector<NodeId>& nodes) {
  for (std::uint32_t i = 0; i < names.size(); ++i) add(counters, SubgroupId(i), names[i]);
  for (const NodeId node : nodes)
    of_nodes_.emplace(node, counters.counter("sends.wait_ms_for." + std::to_string(node.value())));
}

void SendWaits::add(CounterBlock& counters, SubgroupId id, const std::string& name) {
  const std::size_t count = std::max<std::size_t>(of_subgroups_.size(), id.value() + std::size_t{1});
  of_subgroups_.resize(count);
  unsaid_here_.resize(count);
  tallies_.resize(count);
  of_subgroups_[id.value()] = counters.counter("subgroup." + name + ".send_wait_ms");
  unsaid_here_[id.value()] = {};
  tallies_[id.value()] = {};
}

Time SendWaits::look(const views::Member& member, const Channels& channels, Time now) {
  if (now < last_look_ + look_interval) return look_again_;
  // A poller that slept has seen nothing of the time between.
  const Duration since = std::min(now - last_look_, 2 * look_interval);
  last_look_ = now;
  ++looks_;
  bool waits = false;
  for (const auto& channel : channels) waits = tally(member, *channel, since) || waits;
  if (now >= period_ends_) {
    sum_up(channels);
    period_ends_ = now + period;
  }
  look_again_ = waits || !words_.empty() ? now + look_interval : never;
  return look_again_;
}

bool SendWaits::tally(const views::Member& member, const Channel& channel, Duration since) {
  if (!channel.sends_wait() || member.epoch() == nullptr) return false;
  smc::Multicast* const multicast = member.epoch()->multicast(channel.id());
  if (multicast == nullptr) return false;
  const std::size_t here = channel.id().value();
  count(of_subgroups_[here], unsaid_here_[here], since);
  std::vector<NodeId> nodes;
  for (const Rank rank : multicast->furthest_behind()) nodes.push_back(member.epoch()->view().members[rank.value()]);
  if (nodes.empty()) nodes.push_back(member.self());
  ++tallies_[here].waiting;
  for (const NodeId node : nodes) {
    ++tallies_[here].for_node[node];
    if (const auto counter = of_nodes_.find(node); counter != of_nodes_.end())
      count(counter->second, unsaid_[node], since / nodes.size());
  }
  return true;
}

void SendWaits::sum_up(const Channels& channels) {
  words_.clear();
  for (const auto& channel : channels) {
    if (channel->id().value() >= tallies_.size()) continue;  // an empty place
    Tally& found = tallies_[channel->id().value()];
    for (const auto& [node, looks] : found.for_node) {
      if (2 * looks <= looks_) continue;
      words_ += (words_.empty() ? "node " : "; node ") + std::to_string(node.value()) +
                ", whose application takes least of subgroup " + channel->name();
    }
    found = {};
  }
  looks_ = 0;
}

}  // namespace spindrift::group
