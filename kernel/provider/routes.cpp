// The choice of a way, and whose turn it is.
#include <spindrift/kernel/provider/routes.hpp>

#include <algorithm>
#include <utility>

namespace spindrift::kernel::vq {

using State = MetaSearch::State;
using Way = Route::Way;

Route Routes::route_to(NodeId node, Time now) {
  if (misled_.erase(node) > 0) return {Way::by_address, {}, "what was known of it led nowhere"};
  const auto at = waiting_.find(node);
  const State answer = at == waiting_.end() ? State::asking : at->second.answer;
  if (at != waiting_.end() && at->second.asked && answer == State::asking) return {};
  if (at != waiting_.end()) waiting_.erase(at);
  if (const NodeRecord* const known = directory_.find(node))
    return {answer == State::found ? Way::looked_up : Way::cached, *known, {}};
  if (answer == State::absent) return {Way::by_address, {}, "no meta server has heard of it"};
  if (answer != State::asking) return {Way::by_address, {}, "no meta server that answers knows it"};
  if (!roster_.contains(node)) return {Way::by_address, {}, "it is not of the roster"};
  if (directory_.has_servers()) {
    directory_.look_up(node);
    waiting_[node].asked = true;
    return {};
  }
  if (now >= patience_for(node)) return {Way::by_address, {}, "no meta server is known"};
  waiting_[node] = {};
  return {};
}

Time Routes::patience_for(NodeId node) const {
  return begun_ + (std::find(order_.begin(), order_.end(), node) - order_.begin()) * meet_max_;
}

std::vector<NodeId> Routes::take_ready(Time now) {
  for (auto answer = directory_.take_answer(); answer; answer = directory_.take_answer()) {
    if (const auto at = waiting_.find(answer->node); at != waiting_.end()) at->second.answer = answer->state;
  }
  const bool served = directory_.has_servers();
  std::vector<NodeId> ready;
  for (auto& [node, waiting] : waiting_) {
    const bool over = waiting.asked ? waiting.answer != State::asking : served || now >= patience_for(node);
    if (over && !std::exchange(waiting.ready, true)) ready.push_back(node);
  }
  return ready;
}

Time Routes::deadline() const noexcept {
  Time first = directory_.deadline();
  for (const auto& [node, waiting] : waiting_) {
    if (!waiting.asked && !waiting.ready) first = std::min(first, patience_for(node));
  }
  return first;
}

void Routes::on_misled(NodeId node) {
  directory_.on_lost(node);
  misled_.insert(node);
}

void Routes::on_linked(NodeId node) {
  waiting_.erase(node);
  misled_.erase(node);
}

}  // namespace spindrift::kernel::vq
