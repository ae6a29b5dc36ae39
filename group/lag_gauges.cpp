// From the multicasts to the gauges.
#include <spindrift/group/lag_gauges.hpp>

namespace spindrift::group {

LagGauges::LagGauges(CounterBlock& counters, const std::vector<std::string>& names, const std::vector<NodeId>& nodes) {
  const bool each = names.size() * nodes.size() <= pairs_max;
  for (std::size_t i = 0; each && i < nodes.size(); ++i) places_.emplace(nodes[i], i);
  for (std::uint32_t i = 0; i < names.size(); ++i) add(counters, SubgroupId(i), names[i]);
}

void LagGauges::add(CounterBlock& counters, SubgroupId id, const std::string& name) {
  if (id.value() >= of_subgroups_.size()) of_subgroups_.resize(id.value() + std::size_t{1});
  OfSubgroup& gauges = of_subgroups_[id.value()] = {};
  gauges.ring_used = counters.counter("subgroup." + name + ".ring_used_percent");
  if (places_.empty()) return;
  std::vector<std::string> nodes(places_.size());
  for (const auto& [node, place] : places_) nodes[place] = std::to_string(node.value());
  gauges.lags = counters.run(2 * nodes.size(), [&](std::size_t i) {
    return "subgroup." + name + (i % 2 == 0 ? ".lag_messages_of_" : ".lag_bytes_of_") + nodes[i / 2];
  });
}

Time LagGauges::look(const views::Member& member, Time now) {
  if (now < last_look_ + look_interval) return look_again_;
  last_look_ = now;
  bool under_way = false;
  for (std::uint32_t s = 0; s < of_subgroups_.size(); ++s)
    under_way = look_at(of_subgroups_[s], member.epoch(), SubgroupId(s)) || under_way;
  look_again_ = under_way ? now + look_interval : never;
  return look_again_;
}

bool LagGauges::look_at(OfSubgroup& gauges, const views::Epoch* epoch, SubgroupId id) {
  smc::Multicast* const multicast = epoch == nullptr ? nullptr : epoch->multicast(id);
  const bool holds = multicast != nullptr && multicast->holds_messages();
  if (!holds && gauges.zero) return false;
  for (std::size_t i = 0; i < 2 * places_.size(); ++i) gauges.lags[i].set(0);
  gauges.ring_used.set(holds ? multicast->ring_used_percent() : 0);
  gauges.zero = !holds;
  if (!holds || places_.empty()) return holds;
  for (const smc::Lag& lag : multicast->lags()) {
    const auto place = places_.find(epoch->view().members[lag.rank.value()]);
    if (place == places_.end()) continue;
    gauges.lags[2 * place->second].set(lag.messages);
    gauges.lags[2 * place->second + 1].set(lag.bytes);
  }
  return true;
}

}  // namespace spindrift::group
