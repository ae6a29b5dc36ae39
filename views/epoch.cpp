// Passes over the multicasts of one view, and its end.
#include <spindrift/views/epoch.hpp>

#include <algorithm>

#include <spindrift/core/check.hpp>

namespace spindrift::views {

Epoch::Epoch(View view, std::vector<RankSet> loaded, NodeId self, fabric::Region row, std::vector<Bulk> bulk,
             const smc::Policy& policy, bool partition_safety, smc::DeliverySink& sink, CounterBlock& counters)
    : view_(std::move(view)),
      loaded_(std::move(loaded)),
      row_(row),
      bulk_(std::move(bulk)),
      table_(view_, self, row_.memory),
      multicasts_(view_.subgroups.size()),
      change_(view_, loaded_, table_, *this, partition_safety),
      lines_(view_.members.size()),
      active_(view_.subgroups.size()),
      warmth_(view_.subgroups.size()),
      policy_(policy) {
  CHECK(view_.incarnations.size() == view_.members.size() && loaded_.size() == view_.subgroups.size());
  CHECK(bulk_.size() == view_.subgroups.size());
  activity_seen_.assign(lines_.size(), std::vector<std::uint64_t>(table_.layout(table_.self()).activity_words()));
  for (std::uint32_t i = 0; i < multicasts_.size(); ++i) {
    if (!view_.subgroups[i].member_position(self)) continue;
    if (bulk_[i].own) table_.bulk(SubgroupId(i)).set_own(bulk_[i].own->memory);
    multicasts_[i] = std::make_unique<smc::Multicast>(SubgroupId(i), table_, policy, sink, counters);
  }
  if (policy_.predicate_clock != nullptr) push_ns_ = counters.counter("push_ns");
}

bool Epoch::all_attached() const {
  for (std::uint32_t i = 0; i < lines_.size(); ++i) {
    if (!table_.attached(Rank(i))) return false;
  }
  return true;
}

void Epoch::begin() {
  CHECK(!begun_ && all_attached());
  begun_ = true;
  for (std::uint32_t s = 0; s < multicasts_.size(); ++s) {
    if (!multicasts_[s]) continue;
    multicasts_[s]->start();
    if (loaded_[s].contains(self())) set_loaded(SubgroupId(s));
  }
  change_.set_ready();
}

void Epoch::set_loaded(SubgroupId id) {
  CHECK(multicasts_[id.value()] != nullptr);
  table_.store(table_.layout(self()).subgroup(id)->loaded, 1, sst::Table::everybody);
}

// An activity counter covers several subgroups and says that one of them has news: the words of each tell which.
void Epoch::hear_peers() {
  for (std::uint32_t i = 0; i < lines_.size(); ++i) {
    if (Rank(i) == self()) continue;
    std::vector<std::uint64_t>& seen = activity_seen_[i];
    for (std::uint32_t word = 0; word < seen.size(); ++word) {
      const auto counter = table_.read(Rank(i), table_.layout(Rank(i)).activity_word(word));
      if (counter.equals(seen[word])) continue;
      // Any value means "look": the counter bounds nothing, so there is nothing to validate beyond its being different.
      seen[word] = counter.within(0, ~std::uint64_t{0}).value();
      const std::size_t first = word * sst::subgroups_per_activity;
      for (std::size_t s = first; s < first + sst::subgroups_per_activity && s < multicasts_.size(); ++s) {
        if (multicasts_[s] && multicasts_[s]->has_news_from(Rank(i))) note_news(s);
      }
    }
  }
}

void Epoch::note_news(std::size_t s) {
  if (warmth_[s] == 0) warm_.push_back(static_cast<std::uint32_t>(s));
  warmth_[s] = warm_passes;
  active_[s] = true;
}

// Looks at some of the subgroups in which nothing has happened for a while: what the own application committed there, and
// what it may take by now.
bool Epoch::look_at_cold(std::size_t count) {
  bool any = false;
  for (; count > 0; --count) {
    if (++next_cold_ >= multicasts_.size()) next_cold_ = 0;
    if (warmth_[next_cold_] > 0 || !multicasts_[next_cold_]) continue;
    if (!multicasts_[next_cold_]->has_news() && !multicasts_[next_cold_]->deliverable()) continue;
    note_news(next_cold_);
    any = true;
  }
  return any;
}

// Of many subgroups with few busy ones, a pass costs what the busy ones cost. Nobody waits for more than all the passes that
// it takes to look at all, and a pass that finds nothing to do has looked at all.
Result<bool> Epoch::run(fabric::Fabric& fabric) {
  CHECK(begun_ && !wedged_);
  hear_peers();
  look_at_cold(std::min(cold_looks, multicasts_.size()));
  auto progress = pass(fabric);
  if (!progress || *progress || !look_at_cold(multicasts_.size())) return progress;
  return pass(fabric);
}

// Acknowledgements are pushed before the upcalls, so that a slow handler holds up nobody's stability; what the upcalls
// advance goes out with the next pass, which follows at once.
Result<bool> Epoch::pass(fabric::Fabric& fabric) {
  bool progress = false;
  holds_back_ = false;
  for (const std::uint32_t s : warm_) {
    smc::Multicast& multicast = *multicasts_[s];
    if (!active_[s] && !multicast.has_news() && !multicast.deliverable()) continue;
    const std::uint64_t room = smc::publish_bytes(policy_, table_.backlog(fabric, SubgroupId(s)));
    active_[s] = multicast.send_and_receive(room);
    progress |= active_[s];
    holds_back_ |= room == 0 && multicast.has_news();
  }
  smc::Lap lap(policy_.predicate_clock);
  if (auto pushed = table_.push(fabric); !pushed) return std::move(pushed).error();
  lap.end(push_ns_);
  for (const std::uint32_t s : warm_) {
    if (!multicasts_[s]->deliver()) continue;
    active_[s] = true;
    progress = true;
  }
  report_faults();
  std::erase_if(warm_, [&](std::uint32_t s) {
    if (active_[s]) warmth_[s] = warm_passes;
    return !active_[s] && --warmth_[s] == 0;
  });
  return progress;
}

void Epoch::report_faults() {
  for (const std::uint32_t s : warm_) {
    if (!multicasts_[s]->fault()) continue;
    const smc::PeerFault& fault = *multicasts_[s]->fault();
    change_.suspect(*view_.rank_of(fault.node), "it wrote impossible bytes: " + fault.what);
  }
}

void Epoch::wedge() {
  CHECK(!wedged_);
  wedged_ = true;
  holds_back_ = false;
  for (const auto& multicast : multicasts_) {
    if (multicast) multicast->wedge();
  }
}

bool Epoch::can_deliver(const Decree& decree) const {
  for (std::size_t s = 0; s < multicasts_.size(); ++s) {
    if (multicasts_[s] && !multicasts_[s]->can_finish(decree.trim[s])) return false;
  }
  return true;
}

bool Epoch::leavers_know(Time now, Duration patience) {
  if (change_.all_know(change_.decree().left)) return true;
  return patience != Duration{} && now - finished_at_ >= patience;
}

void Epoch::finish(Time now) {
  CHECK(change_.state() == ViewChange::State::decided);
  finished_at_ = now;
  const Decree& decree = change_.decree();
  for (std::size_t s = 0; s < multicasts_.size(); ++s) {
    if (multicasts_[s]) multicasts_[s]->finish(decree.trim[s]);
  }
}

}  // namespace spindrift::views
