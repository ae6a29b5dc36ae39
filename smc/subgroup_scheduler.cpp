// Which subgroups have news, and a pass over them.
#include <spindrift/smc/subgroup_scheduler.hpp>

#include <algorithm>

namespace spindrift::smc {

SubgroupScheduler::SubgroupScheduler(sst::Table& table, const Policy& policy)
    : table_(table),
      policy_(policy),
      multicasts_(table.view().subgroups.size()),
      active_(multicasts_.size()),
      warmth_(multicasts_.size()),
      activity_seen_(table.view().members.size(),
                     std::vector<std::uint64_t>(table.layout(table.self()).activity_words())),
      pacer_(policy.turn) {}

void SubgroupScheduler::add(SubgroupId id, DeliverySink& sink, CounterBlock& counters) {
  multicasts_.at(id.value()) = std::make_unique<Multicast>(id, table_, policy_, sink, counters);
  ++own_subgroups_;
}

// An activity counter covers several subgroups and says that one of them has news: the words of each tell which.
void SubgroupScheduler::hear_peers() {
  for (std::uint32_t i = 0; i < activity_seen_.size(); ++i) {
    if (Rank(i) == table_.self()) continue;
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

void SubgroupScheduler::note_news(std::size_t s) {
  if (warmth_[s] == 0) warm_.push_back(static_cast<std::uint32_t>(s));
  warmth_[s] = warm_passes;
  active_[s] = true;
}

void SubgroupScheduler::look_at_all() {
  for (std::size_t s = 0; s < multicasts_.size(); ++s) {
    if (multicasts_[s]) note_news(s);
  }
}

// Looks at some of the subgroups in which nothing has happened for a while: what the own application committed there, and
// what it may take by now.
bool SubgroupScheduler::look_at_cold(std::size_t count) {
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

Result<bool> SubgroupScheduler::run(fabric::Fabric& fabric, Stepper& stepper, Time now) {
  hear_peers();
  look_at_cold(std::min(cold_looks, multicasts_.size()));
  auto progress = pass(fabric, stepper, now);
  if (!progress || *progress || !look_at_cold(multicasts_.size())) return progress;
  return pass(fabric, stepper, now);
}

Result<bool> SubgroupScheduler::pass(fabric::Fabric& fabric, Stepper& stepper, Time now) {
  bool progress = false;
  bool delivered = false;
  holds_back_ = false;
  pacer_.begin_pass(now, own_subgroups_ > 1);
  for (const std::uint32_t s : warm_) {
    Multicast& multicast = *multicasts_[s];
    if (!active_[s] && !multicast.has_news() && !multicast.deliverable()) continue;
    const std::uint64_t room = publish_bytes(policy_, table_.backlog(fabric, SubgroupId(s)));
    multicast.on_turn(now);
    active_[s] = stepper.send_and_receive(multicast, room);
    multicast.on_stepped(now);
    progress |= active_[s];
    holds_back_ |= room == 0 && multicast.has_news();
  }
  SPINDRIFT_TRY(stepper.push(table_, fabric));
  for (const std::uint32_t s : warm_) {
    if (!stepper.deliver(*multicasts_[s], pacer_.limits())) continue;
    active_[s] = true;
    delivered = progress = true;
  }
  pacer_.end_pass(delivered);
  cool_down();
  return progress;
}

// A subgroup with a fault stays where faults are looked for.
void SubgroupScheduler::cool_down() {
  std::erase_if(warm_, [&](std::uint32_t s) {
    if (active_[s]) warmth_[s] = warm_passes;
    if (active_[s] || multicasts_[s]->fault()) return false;
    return --warmth_[s] == 0;
  });
}

}  // namespace spindrift::smc
