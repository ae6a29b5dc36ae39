// Two lists: what each process has said, and to whom this one has said what.
#include <spindrift/views/memories.hpp>

#include <algorithm>
#include <utility>

namespace spindrift::views {

Remembered Memories::said() const {
  Remembered said = remembered(record_.record(), neighbors_);
  said.logs = record_.logs();
  return said;
}

void Memories::on_remembered(const Join& from, Remembered said) {
  std::erase_if(heard_, [&](const Remembering& each) { return each.who.node == from.node; });
  heard_.push_back({from, std::move(said)});
}

void Memories::tell(std::span<const Join> fresh, std::vector<Addressed>& messages) {
  neighbors_ = record_.neighbors();
  const Remembered own = said();
  const std::uint64_t digest = views::digest_of(own);
  for (const Join& whom : fresh) {
    const Told told{whom, digest};
    if (std::ranges::find(told_, told) != told_.end()) continue;
    std::erase_if(told_, [&](const Told& each) { return each.whom.node == whom.node; });
    told_.push_back(told);
    messages.push_back({whom.node, encode(own)});
  }
}

std::vector<NodeId> Memories::living(std::span<const Join> fresh) const {
  std::vector<NodeId> living;
  const bool first_day = recalled(fresh).state == Recalled::State::first_day;
  for (const OwnRecord::Neighbor& each : neighbors_) {
    const auto here = std::ranges::find(fresh, each.node, &Join::node);
    const auto in_view = each.record.last ? incarnation_in(*each.record.last, each.node) : std::nullopt;
    const bool hides_a_view = here == fresh.end() ? first_day || may_be_in_a_view(each) : in_view == here->incarnation;
    if (each.lives && hides_a_view) living.push_back(each.node);
  }
  return living;
}

// It is in none up to the latest that is known to be decided without it. It goes into no other before those that take it in
// have that in their records.
bool Memories::may_be_in_a_view(const OwnRecord::Neighbor& neighbor) const {
  std::optional<ViewId> without;
  std::optional<ViewId> with;
  const auto names_it = [&](const RecordedView& view) { return incarnation_in(view, neighbor.node).has_value(); };
  const auto note = [&](const ViewRecord& record) {
    if (record.last) {
      auto& latest = names_it(*record.last) ? with : without;
      latest = std::max(latest, std::optional(record.last->id));
    }
    for (const RecordedView& view : record.accepted) {
      if (names_it(view)) with = std::max(with, std::optional(view.id));
    }
  };
  note(record_.record());
  for (const OwnRecord::Neighbor& each : neighbors_) note(each.record);
  return with > without;
}

Recalled Memories::recalled(std::span<const Join> fresh) const {
  std::vector<Remembering> here{{self_, said()}};
  for (const Remembering& each : heard_) {
    if (std::ranges::find(fresh, each.who) != fresh.end()) here.push_back(each);
  }
  return recall(here);
}

std::vector<NodeId> Memories::tellers(const Recalled& recalled, std::span<const Join> fresh) const {
  std::vector<NodeId> tellers;
  for (const LastView& view : recalled.awaited) {
    const auto is_it = [&](const RecordedView& each) { return each.id == view.id; };
    const auto tells = [&](const ViewRecord& record) {
      return (record.last && is_it(*record.last)) || std::ranges::any_of(record.accepted, is_it);
    };
    const auto knows = [&](const Remembering& each) {
      return std::ranges::find(fresh, each.who) != fresh.end() && tells(each.said.own);
    };
    if (tells(record_.record()) || std::ranges::any_of(heard_, knows)) continue;
    for (const OwnRecord::Neighbor& each : neighbors_) {
      const bool told = std::ranges::find(tellers, each.node) != tellers.end();
      if (!each.lives && !told && tells(each.record)) tellers.push_back(each.node);
    }
  }
  std::ranges::sort(tellers);
  return tellers;
}

std::optional<std::uint64_t> Memories::digest_of(const Join& who) const {
  if (who == self_) return views::digest_of(said());
  const auto at = std::ranges::find(heard_, who, &Remembering::who);
  return at == heard_.end() ? std::nullopt : std::optional(views::digest_of(at->said));
}

bool Memories::is_known_to(const PromiseRequest& request) const {
  const auto at = std::ranges::find(request.members, self_.node);
  const auto rank = static_cast<std::size_t>(at - request.members.begin());
  return rank < request.basis.size() && request.basis[rank] == views::digest_of(said());
}

bool Memories::accept(const PromiseRequest& request) {
  RecordedView first{request.view, {}, request.roster, true, request.logs};
  for (std::size_t i = 0; i < request.members.size(); ++i)
    first.members.push_back({request.members[i], request.incarnations[i]});
  return record_.accept_founding(std::move(first));
}

}  // namespace spindrift::views
