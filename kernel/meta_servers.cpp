// The choice of servers, the order to ask them in, and when to stop asking.
#include <spindrift/kernel/meta_servers.hpp>

#include <algorithm>
#include <set>
#include <utility>

#include <spindrift/core/check.hpp>

namespace spindrift::kernel {

std::vector<MetaMember> meta_servers_of(std::span<const MetaMember> members, std::size_t count) {
  std::set<std::uint64_t> hosts;
  std::vector<std::size_t> ranks;   // the first of each host
  std::vector<std::size_t> others;  // and behind them the rest
  for (std::size_t rank = 0; rank < members.size(); ++rank)
    (hosts.insert(members[rank].host).second ? ranks : others).push_back(rank);
  ranks.insert(ranks.end(), others.begin(), others.end());
  ranks.resize(std::min(count, members.size()));
  std::sort(ranks.begin(), ranks.end());
  std::vector<MetaMember> servers;
  for (const std::size_t rank : ranks) servers.push_back(members[rank]);
  return servers;
}

namespace {

/// Multiples of the golden ratio's fraction spread evenly for ids in any steps, in particular in steps of one.
std::ptrdiff_t rotation_of(NodeId node, std::size_t count) noexcept {
  const std::uint64_t fraction = node.value() * 0x9e37'79b9U;
  return static_cast<std::ptrdiff_t>(fraction * count >> 32);
}

}  // namespace

std::vector<NodeId> lookup_order(std::span<const MetaMember> servers, const MetaMember& self) {
  std::vector<NodeId> near;
  std::vector<NodeId> far;
  for (const MetaMember& server : servers) (server.host == self.host ? near : far).push_back(server.node);
  for (auto* part : {&near, &far})
    std::rotate(part->begin(), part->begin() + rotation_of(self.node, part->size()), part->end());
  near.insert(near.end(), far.begin(), far.end());
  return near;
}

MetaSearch::MetaSearch(std::vector<NodeId> order, bool absent_is_final)
    : order_(std::move(order)), absent_is_final_(absent_is_final) {
  if (order_.empty()) state_ = State::unanswered;
}

std::optional<NodeId> MetaSearch::server() const noexcept {
  if (state_ != State::asking) return std::nullopt;
  return order_[position_];
}

void MetaSearch::on_answer(MetaAnswer answer) noexcept {
  CHECK(state_ == State::asking);
  ++position_;
  switch (answer) {
    case MetaAnswer::found: state_ = State::found; return;
    case MetaAnswer::absent:
      if (absent_is_final_) state_ = State::absent;
      break;
    case MetaAnswer::no_answer: all_answered_ = false; break;
  }
  if (state_ == State::asking && position_ == order_.size()) state_ = all_answered_ ? State::absent : State::unanswered;
}

}  // namespace spindrift::kernel
