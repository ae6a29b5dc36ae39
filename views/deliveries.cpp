// Letting deliveries through, keeping them, handing them over.
#include <spindrift/views/deliveries.hpp>

#include <algorithm>
#include <utility>

namespace spindrift::views {

Deliveries::Deliveries(NodeId self, std::size_t subgroups, std::uint64_t bytes_max, Upcalls& upcalls)
    : self_(self), upcalls_(upcalls), inboxes_(subgroups, Inbox(bytes_max)), own_unloaded_(subgroups) {}

void Deliveries::on_delivery(SubgroupId id, std::span<const Delivery> batch) {
  Inbox& inbox = inboxes_[id.value()];
  if (state_ == State::keeping) inbox.pass_boundaries(id, upcalls_);
  // Before a batch was asked whether the application takes it; only the end of a view cannot wait until it does.
  if (inbox.passes() && upcalls_.accepts(id)) return upcalls_.on_delivery(id, batch);
  inbox.keep(batch);
  state_ = State::keeping;
}

bool Deliveries::accepts(SubgroupId id) const {
  const Inbox& inbox = inboxes_[id.value()];
  return inbox.passes() ? upcalls_.accepts(id) : inbox.has_space();
}

void Deliveries::begin_view(const View& view, const std::vector<RankSet>& loaded, std::span<const NodeId> joined) {
  state_ = State::keeping;
  const Rank rank = *view.rank_of(self_);
  for (std::uint32_t s = 0; s < inboxes_.size(); ++s) {
    const SubgroupId id(s);
    Inbox& inbox = inboxes_[s];
    std::uint64_t& own = own_unloaded_[s];
    inbox.pass_boundaries(id, upcalls_);  // of the view that ends, if a handler was at work until now
    if (inbox.loading()) {  // whoever has the state has these as well
      own += inbox.count_of(self_);
      inbox.drop_deliveries();
    }
    inbox.end_loading();
    // With nobody left to have the state from, the subgroup begins anew, at once or when it can, without them.
    const RankSet& having = loaded[s];
    if (own > 0 && (having.empty() || having.contains(rank))) upcalls_.on_dropped(id, std::exchange(own, 0));
    inbox.keep(ObjectBoundary::of(view, id, self_, joined));
    if (view.subgroup(id).member_position(self_) && !having.contains(rank)) inbox.begin_loading();
  }
}

bool Deliveries::end_loading(SubgroupId id, std::span<const std::byte> kept_at_source) {
  Inbox& inbox = inboxes_[id.value()];
  if (!inbox.prepend(kept_at_source)) return false;
  state_ = State::keeping;
  own_unloaded_[id.value()] = 0;
  inbox.end_loading();
  return true;
}

bool Deliveries::flush() {
  if (state_ == State::through) return false;
  bool any = false;
  state_ = State::through;
  for (std::uint32_t s = 0; s < inboxes_.size(); ++s) {
    any |= inboxes_[s].flush(SubgroupId(s), upcalls_);
    if (!inboxes_[s].idle()) state_ = State::keeping;
  }
  return any;
}

void Deliveries::pass_boundaries() {
  for (std::uint32_t s = 0; s < inboxes_.size(); ++s) inboxes_[s].pass_boundaries(SubgroupId(s), upcalls_);
}

bool Deliveries::handed_over() const {
  for (std::uint32_t s = 0; s < inboxes_.size(); ++s) {
    const SubgroupId id(s);
    if (upcalls_.busy(id) || (!inboxes_[s].passes() && !inboxes_[s].loading() && upcalls_.accepts(id))) return false;
  }
  return true;
}

bool Deliveries::all_taken() const {
  for (std::uint32_t s = 0; s < inboxes_.size(); ++s) {
    if (!inboxes_[s].empty() || upcalls_.busy(SubgroupId(s))) return false;
  }
  return true;
}

std::size_t Deliveries::drained() const {
  const auto waits = [&](const Inbox& inbox) {
    const SubgroupId id(static_cast<std::uint32_t>(&inbox - inboxes_.data()));
    return !inbox.passes() || upcalls_.busy(id);
  };
  return static_cast<std::size_t>(std::find_if(inboxes_.begin(), inboxes_.end(), waits) - inboxes_.begin());
}

}  // namespace spindrift::views
