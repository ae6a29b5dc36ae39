// Keeping, sending, taking and handing over.
#include <spindrift/group/histories.hpp>

#include <algorithm>
#include <utility>

namespace spindrift::group {

namespace {

/// The history of a logged subgroup is its log.
bool keeps_in_memory(const SubgroupView& subgroup) {
  return subgroup.history.any() && subgroup.storage == SubgroupStorage::memory;
}

}  // namespace

Histories::Histories(const std::vector<SubgroupView>& layout, const Clock& clock, CounterBlock& counters) : clock_(clock) {
  for (std::uint32_t s = 0; s < layout.size(); ++s) {
    const SubgroupView& shape = layout[s];
    if (!keeps_in_memory(shape)) continue;
    const HistoryBounds bounds = shape.history.completed();
    const std::string name = "subgroup." + shape.name + ".history_";
    histories_.emplace(SubgroupId(s), Each{{shape.name, bounds, shape.profile.message_bytes_max}, MessageHistory(bounds),
                                           counters.counter(name + "messages"), counters.counter(name + "bytes")});
  }
}

std::unique_ptr<Histories> Histories::of(const std::vector<SubgroupView>& layout, const Clock& clock,
                                         CounterBlock& counters) {
  return std::ranges::any_of(layout, keeps_in_memory) ? std::make_unique<Histories>(layout, clock, counters) : nullptr;
}

std::span<const Delivery> Histories::take(SubgroupId id, std::span<const Delivery> batch) {
  const auto at = histories_.find(id);
  if (at == histories_.end()) return batch;
  Each& each = at->second;
  // Without bytes a state asks nothing of the application, and a correct source always has some.
  if (each.awaited) throw impossible_history(each.form.subgroup, "has no bytes");
  const Time now = clock_.now();
  batch_.assign(batch.begin(), batch.end());
  for (Delivery& delivery : batch_) {
    delivery.version = each.history.end();
    each.history.append(delivery, now);
  }
  each.given = each.history.end();
  count(each);
  return batch_;
}

std::unique_ptr<views::StateReader> Histories::save(SubgroupId id) {
  MessageHistory& history = histories_.at(id).history;
  const Time now = clock_.now();
  history.expire(now);
  return read_history(history.snapshot(), now);
}

std::unique_ptr<views::StateWriter> Histories::load(SubgroupId id) {
  Each& each = histories_.at(id);
  return std::make_unique<HistoryWriter>(each.form, clock_.now(),
                                         [this, &each](MessageHistory history) { on_loaded(each, std::move(history)); });
}

void Histories::on_loaded(Each& each, MessageHistory history) {
  each.awaited = false;
  each.history = std::move(history);
  count(each);
  if (each.walk) end_walk(each);
  HistoryWalk walk(each.history.snapshot(), each.given);
  if (walk.done()) return;
  each.walk.emplace(std::move(walk));
  ++walks_;
}

void Histories::on_view(const views::NewView& news, NodeId self, const std::vector<views::RankSet>& loaded) {
  const Rank rank = *news.view.rank_of(self);
  for (auto& [id, each] : histories_) {
    if (std::ranges::find(news.state_lost, id) != news.state_lost.end()) begin_anew(each);
    const SubgroupView& subgroup = news.view.subgroup(id);
    const bool has_it = loaded.at(id.value()).contains(rank);
    each.awaited = !has_it && subgroup.member_position(self).has_value();
    // Nobody gets it from here any more: should this member come back, it is given what there is then.
    if (!has_it) each.history.drop();
    count(each);
  }
}

void Histories::expire(Time now) {
  for (auto& [id, each] : histories_) {
    if (each.history.bounds().age_ms == 0 || each.history.bytes() == 0) continue;
    each.history.expire(now);
    count(each);
  }
}

// All members begin with version 0, those that were given more of what is lost now likewise.
void Histories::begin_anew(Each& each) {
  if (each.walk) end_walk(each);
  each.history = MessageHistory(each.form.bounds);
  each.given = 0;
}

void Histories::end_walk(Each& each) {
  each.walk.reset();
  --walks_;
}

void Histories::count(Each& each) {
  each.messages.set(each.history.end() - each.history.first());
  each.bytes.set(each.history.bytes());
}

}  // namespace spindrift::group
