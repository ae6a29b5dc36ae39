// Letting deliveries through, keeping them, handing them over.
#include <spindrift/views/deliveries.hpp>

#include <algorithm>
#include <utility>

namespace spindrift::views {

Deliveries::Deliveries(NodeId self, std::size_t subgroups, std::uint64_t bytes_max, Upcalls& upcalls, Duration lagging_after,
                       SubgroupLogs* logs)
    : self_(self),
      upcalls_(upcalls),
      bytes_max_(bytes_max),
      lag_(lagging_after),
      log_(logs),
      own_unloaded_(subgroups) {
  for (std::size_t s = 0; s < subgroups; ++s) backlogs_.emplace_back(bytes_max_);
}

void Deliveries::on_delivery(SubgroupId id, std::span<const Delivery> batch) {
  KeptDeliveries& backlog = backlogs_[id.value()];
  if (state_ == State::keeping) backlog.pass_boundaries(id, upcalls_);
  // A log has no gap: what comes while the rest of it is on its way waits for that.
  if (log_.covers(id) && !backlog.loading()) batch = log_.append(id, batch);
  // Before a batch was asked whether the application takes it; only the end of a view cannot wait until it does.
  if (backlog.passes() && upcalls_.accepts(id)) return upcalls_.on_delivery(id, batch);
  backlog.keep(batch);
  state_ = State::keeping;
}

// A state takes as long as it takes, and holds up nobody. Else a backlog that waits since the end of a view takes no more:
// the rings hold that, and their senders wait.
bool Deliveries::accepts(SubgroupId id) const {
  const KeptDeliveries& backlog = backlogs_[id.value()];
  if (log_.covers(id) && !log_.has_room()) return false;
  if (backlog.passes() && upcalls_.accepts(id)) return true;
  return (backlog.loading() || backlog.settling() || upcalls_.state_at_work(id)) && backlog.has_space();
}

void Deliveries::begin_view(const View& view, const std::vector<RankSet>& loaded, std::span<const NodeId> joined) {
  state_ = State::keeping;
  dropped_.clear();
  while (backlogs_.size() < view.subgroups.size()) backlogs_.emplace_back(bytes_max_);
  own_unloaded_.resize(view.subgroups.size());
  readers_.resize(view.subgroups.size());
  lag_.begin_view(backlogs_.size());
  const Rank rank = *view.rank_of(self_);
  log_.begin_view(view);
  for (std::uint32_t s = 0; s < backlogs_.size(); ++s) {
    const SubgroupId id(s);
    KeptDeliveries& backlog = backlogs_[s];
    std::uint64_t& own = own_unloaded_[s];
    backlog.pass_boundaries(id, upcalls_);  // of the view that ends, if a handler was at work until now
    if (backlog.loading()) {  // a member that has the state has these as well
      own += backlog.count_of(self_);
      backlog.drop_deliveries();
    }
    backlog.end_loading();
    // With nobody left to have the state from, the subgroup begins anew, at once or when it can, without them.
    const RankSet& having = loaded[s];
    if (own > 0 && (having.empty() || having.contains(rank))) upcalls_.on_dropped(id, std::exchange(own, 0));
    backlog.keep(ObjectBoundary::of(view, id, self_, joined));
    if (view.subgroup(id).member_position(self_) && !having.contains(rank)) backlog.begin_loading();
    if (log_.covers(id)) follow_log(view, id, having);
  }
}

// A member that has the log without having got it, in its first view or where nobody had it before, gives its application
// all of it, those among it that wait here since it last had it. Others may have been given messages before that the log has
// no more.
void Deliveries::follow_log(const View& view, SubgroupId id, const RankSet& having) {
  Reader& reader = readers_[id.value()];
  const bool has_it = having.contains(*view.rank_of(self_));
  const bool taken_up = reader.away && !having.empty();
  reader.away = having.empty() && !view.subgroup(id).log_holders.empty();
  if (has_it && !reader.has_it) {
    backlogs_[id.value()].drop_deliveries();
    upcalls_.replay(id, log_.end(id));
  }
  reader.has_it = has_it || (reader.has_it && having.empty());  // nothing is added meanwhile: what waits here goes on
  reader.given |= has_it;
  reader.behind = !has_it && (reader.behind || (taken_up && reader.given && log_.end(id) > log_.everywhere(id)));
  // Out of the subgroup it goes on with what it was given, unless its application is being given more of its own log.
  if (reader.behind && (view.subgroup(id).member_position(self_) || upcalls_.state_at_work(id))) set_back_ = id;
}

bool Deliveries::end_loading(SubgroupId id, std::span<const std::byte> kept_at_source) {
  KeptDeliveries& backlog = backlogs_[id.value()];
  if (!backlog.prepend(kept_at_source)) return false;
  state_ = State::keeping;
  own_unloaded_[id.value()] = 0;
  if (log_.covers(id)) {
    log_.begin(id);
    readers_[id.value()].given = readers_[id.value()].has_it = true;
    upcalls_.replay(id, log_.end(id));
    backlog.each_delivery([&](Delivery& each) { each = log_.append(id, {&each, 1}).front(); });
  }
  backlog.end_loading();
  return true;
}

bool Deliveries::follow_logs(std::span<const std::unique_ptr<smc::Multicast>> multicasts) {
  if (log_.logs() == nullptr) return false;
  bool said = false;
  for (std::uint32_t s = 0; s < multicasts.size(); ++s) {
    const SubgroupId id(s);
    if (multicasts[s] == nullptr || !log_.covers(id) || loading(id)) continue;
    said |= multicasts[s]->persist(log_.persisted(id, multicasts[s]->delivered()));
    if (const auto version = log_.durable_everywhere(id, multicasts[s]->durable_everywhere()))
      upcalls_.on_durable(id, *version);
  }
  return said;
}

std::optional<Deliveries::Lag> Deliveries::find_lag(std::span<const std::unique_ptr<smc::Multicast>> multicasts, Time now) {
  if (!lag_.due(now)) return std::nullopt;
  lag_.begin_look(now);
  for (std::uint32_t s = 0; s < multicasts.size(); ++s) {
    const SubgroupId id(s);
    const bool awaits_disk = log_.covers(id) && !log_.has_room();
    if (multicasts[s] == nullptr || loading(id) || upcalls_.state_at_work(id) || awaits_disk) {
      lag_.pass_over(id);
    } else if (const auto waited = lag_.look(id, multicasts[s]->deliverable_count(), multicasts[s]->delivered_count())) {
      return Lag{id, *waited};
    }
  }
  return std::nullopt;
}

bool Deliveries::flush() {
  if (state_ == State::through) return false;
  bool any = false;
  state_ = State::through;
  for (std::uint32_t s = 0; s < backlogs_.size(); ++s) {
    any |= backlogs_[s].flush(SubgroupId(s), upcalls_);
    if (!backlogs_[s].idle()) state_ = State::keeping;
  }
  return any;
}

void Deliveries::pass_boundaries() {
  for (std::uint32_t s = 0; s < backlogs_.size(); ++s) backlogs_[s].pass_boundaries(SubgroupId(s), upcalls_);
}

std::optional<SubgroupId> Deliveries::at_work() const {
  for (std::uint32_t s = 0; s < backlogs_.size(); ++s) {
    const SubgroupId id(s);
    if (upcalls_.busy(id) || (!backlogs_[s].passes() && !backlogs_[s].loading() && upcalls_.accepts(id))) return id;
  }
  const auto left = std::ranges::find_if(dropped_, [&](SubgroupId id) { return !backlogs_[id.value()].empty(); });
  if (left != dropped_.end()) return *left;
  return std::nullopt;
}

bool Deliveries::all_taken() const {
  for (std::uint32_t s = 0; s < backlogs_.size(); ++s) {
    if (!taken(SubgroupId(s))) return false;
  }
  return true;
}

std::size_t Deliveries::drained() const {
  std::uint32_t s = 0;
  const auto waits = [&](SubgroupId id) {
    return !backlogs_[id.value()].passes() || upcalls_.busy(id) || upcalls_.state_at_work(id);
  };
  while (s < backlogs_.size() && !waits(SubgroupId(s))) ++s;
  return s;
}

}  // namespace spindrift::views
