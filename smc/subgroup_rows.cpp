// The roles of a subgroup's members, and the refusal of words that no correct member writes.
#include <spindrift/smc/subgroup_rows.hpp>

#include <algorithm>
#include <utility>

#include <spindrift/core/check.hpp>

namespace spindrift::smc {

SubgroupRows::SubgroupRows(SubgroupId id, sst::Table& table)
    : id_(id),
      table_(table),
      subgroup_(table.view().subgroup(id)),
      roles_(table.view().members.size()),
      blocks_(roles_.size()) {
  for (const NodeId node : subgroup_.members) {
    const Rank rank = members_.emplace_back(*table.view().rank_of(node));
    roles_[rank.value()].position = static_cast<std::uint32_t>(members_.size() - 1);
    blocks_[rank.value()] = &*table.layout(rank).subgroup(id);
  }
  for (const NodeId node : subgroup_.senders) {
    const Rank rank = senders_.emplace_back(*table.view().rank_of(node));
    roles_[rank.value()].sender = static_cast<std::uint32_t>(senders_.size() - 1);
  }
  own_ = role(table.self());
  CHECK(own_.position != nowhere);
}

bool SubgroupRows::read(Rank rank, std::uint64_t offset, std::uint64_t& known, std::uint64_t highest, const char* field) {
  const auto count = table_.read(rank, offset).within(known, std::max(known, highest));
  if (!count) {
    report(rank, std::string(field) + " fell, or rose beyond what the windows allow");
    return false;
  }
  known = *count;
  return true;
}

void SubgroupRows::report(Rank rank, std::string what) {
  trace("peer fault", id_.value(), rank.value());
  fault_ = PeerFault{table_.view().members[rank.value()], "subgroup " + subgroup_.name + ": " + std::move(what)};
}

Counter SubgroupRows::counter(CounterBlock& counters, const char* name) const {
  return counters.counter("subgroup." + subgroup_.name + "." + name);
}

Histogram SubgroupRows::histogram(CounterBlock& counters, const char* name, std::size_t bounds) const {
  return {counters, "subgroup." + subgroup_.name + "." + name, bounds};
}

}  // namespace spindrift::smc
