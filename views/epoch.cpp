// Passes over the multicasts of one view, and its end.
#include <spindrift/views/epoch.hpp>

#include <algorithm>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/core/ids_text.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/views/log_holders.hpp>

namespace spindrift::views {

Epoch::Epoch(View view, std::vector<RankSet> loaded, NodeId self, fabric::Region row, std::vector<Beside> beside,
             const smc::Policy& policy, const Mandate::Terms& terms, smc::DeliverySink& sink, CounterBlock& counters,
             RankSet newcomers, Remembrance remembrance)
    : view_(std::move(view)),
      loaded_(std::move(loaded)),
      row_(row),
      beside_(std::move(beside)),
      table_(view_, self, row_.memory),
      scheduler_(table_, policy),
      rosters_(view_, table_.self()),
      change_(view_, loaded_, table_, *this, rosters_, terms, newcomers),
      lines_(view_.members.size()),
      remembrance_(remembrance),
      claims_(view_, loaded_, remembrance.layout) {
  CHECK(view_.incarnations.size() == view_.members.size() && loaded_.size() == view_.subgroups.size());
  CHECK(beside_.size() == view_.subgroups.size());
  for (std::uint32_t i = 0; i < beside_.size(); ++i) {
    if (!view_.subgroups[i].member_position(self)) continue;
    if (beside_[i].ring) table_.set_own_ring(SubgroupId(i), beside_[i].ring->memory);
    if (beside_[i].bulk_ring) table_.bulk(SubgroupId(i)).set_own(beside_[i].bulk_ring->memory);
    scheduler_.add(SubgroupId(i), sink, counters);
  }
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
  for (const auto& multicast : scheduler_.multicasts()) {
    if (!multicast) continue;
    multicast->start();
    if (loaded_[multicast->id().value()].contains(self())) set_loaded(multicast->id());
  }
  change_.set_ready();
}

void Epoch::set_loaded(SubgroupId id) {
  CHECK(multicast(id) != nullptr);
  table_.store(table_.layout(self()).subgroup(id)->loaded, 1, sst::Table::everybody);
}

smc::SubgroupScheduler& Epoch::running() noexcept {
  CHECK(begun_ && !wedged_);
  return scheduler_;
}

void Epoch::suspect_faulty() {
  scheduler_.for_each_fault([&](const smc::PeerFault& fault) {
    change_.suspect(*view_.rank_of(fault.node), "it wrote impossible bytes: " + fault.what);
  });
}

std::string name_at_work(const View& view, SubgroupId at_work) {
  if (at_work.value() >= view.subgroups.size()) return "none";
  const std::string& name = view.subgroup(at_work).name;
  return name.empty() ? "one that is dropped" : name;
}

// A view may be without subgroups: then an application is at work on the view itself.
std::optional<Rank> Epoch::on_concluding(const Join& who, ViewId ended, SubgroupId at_work) {
  const auto rank = is_right_behind(ended, id()) ? rank_of(view_, who) : std::nullopt;
  if (!rank || *rank == self()) return std::nullopt;
  // It shows its row, but cannot write its heartbeat here before it has taken what it was shown.
  if (table_.attached(*rank)) return change_.everybody_ready() ? std::nullopt : rank;
  if (!std::exchange(line(*rank).at_work, at_work)) {
    log::warn(log::Room::views, "the view waits for a member whose application is at work on the one before",
              {{"node", view_.members[self().value()]}, {"whom", who.node}, {"subgroup", name_at_work(view_, at_work)}});
  }
  return rank;
}

// While the view goes on nobody has accused anybody; a pass that sees it wedges.
AccusationWatch::Finding Epoch::watch_accusations(Time now, Duration patience, bool just_woke) {
  if (change_.state() == ViewChange::State::steady) return accusation_watch_.look(0, std::nullopt, now, patience);
  const Disputes open = change_.disputes();
  return accusation_watch_.look(open.accusations(), open.goes_by(self(), change_.leader()), now, patience, just_woke);
}

void Epoch::watch_joins(const std::vector<Candidate>& candidates, Time now) {
  std::vector<JoinWatch::Waiting> waiting;
  if (change_.leader() == self()) {
    for (const Candidate& each : candidates) {
      if (const RankSet without = change_.without_link(each); !without.empty()) waiting.push_back({each.who, without});
    }
  }
  for (const JoinWatch::Waiting& each : join_watch_.look(waiting, now)) {
    std::string nodes;
    for (std::uint32_t i = 0; i < view_.members.size(); ++i) {
      if (each.without_link.contains(Rank(i)))
        nodes += (nodes.empty() ? "" : ", ") + std::to_string(view_.members[i].value());
    }
    log::warn(log::Room::views, "a node waits to join: members have no connection with it",
              {{"node", view_.members[self().value()]}, {"whom", each.who.node}, {"members", nodes}});
  }
}

void Epoch::hear_logs(Rank from, std::uint64_t since, std::vector<KnownLog> logs) {
  const Join who{view_.members[from.value()], view_.incarnations[from.value()]};
  claims_.hear(from, {who, since, std::move(logs)});
  for (const ForkedLog& log : claims_.take_forked()) {
    log::error(log::Room::views, "logs of one subgroup differ: it waits",
               {{"node", view_.members[self().value()]},
                {"subgroup", view_.subgroup(log.subgroup).name},
                {"messages", log.version},
                {"nodes", listed(log.nodes)}});
  }
}

Result<void> Epoch::adopt_log(SubgroupId subgroup, NodeId from, bool force) {
  SPINDRIFT_TRY(claims_.adopt(subgroup, from, force));
  const SubgroupView& away = view_.subgroup(subgroup);
  log::warn(log::Room::views, "is told to go on with a log that lacks what its holders may have",
            {{"node", view_.members[self().value()]},
             {"subgroup", away.name},
             {"from", from},
             {"holders", listed(nodes_of(away.log_holders))}});
  return {};
}

void Epoch::wedge() {
  CHECK(!wedged_);
  wedged_ = true;
  for (const auto& multicast : scheduler_.multicasts()) {
    if (multicast) multicast->wedge();
  }
}

bool Epoch::can_deliver(const Decree& decree) const {
  for (const auto& multicast : scheduler_.multicasts()) {
    if (multicast && !multicast->can_finish(decree.trim[multicast->id().value()])) return false;
  }
  return true;
}

bool Epoch::leavers_know(Time now, Duration patience) {
  if (change_.all_know(change_.decree().left)) return true;
  return patience != Duration{} && now - finished_at_ >= patience;
}

bool Epoch::remember(const Decree& decree) {
  return remembrance_.record == nullptr || remembrance_.record->accept_decree(next(decree));
}

// A member that the decree does not keep may not hold the roster that it names.
RecordedView Epoch::next(const Decree& decree) const {
  RecordedView next{id_behind(id(), decree.revival), {}, {}};
  for (std::uint32_t i = 0; i < view_.members.size(); ++i) {
    if (decree.stays(Rank(i))) next.members.push_back({view_.members[i], view_.incarnations[i]});
  }
  next.members.insert(next.members.end(), decree.joins.begin(), decree.joins.end());
  const Roster* const roster = rosters_.next(decree);
  if (roster == nullptr) return next;
  next.roster = *roster;
  const auto has_log = [](const SubgroupView& subgroup) { return !subgroup.log_holders.empty(); };
  if (remembrance_.layout == nullptr || std::ranges::none_of(view_.subgroups, has_log)) return next;
  View following = successor(view_, decree, *remembrance_.layout, *roster);
  std::vector<SubgroupId> lost;
  carry_logs(following, view_, decree, loaded_in(following, view_, loaded_, decree, lost));
  next.logs = recorded(following).logs;
  return next;
}

void Epoch::finish(Time now) {
  CHECK(change_.state() == ViewChange::State::decided);
  finished_at_ = now;
  const Decree& decree = change_.decree();
  for (const auto& multicast : scheduler_.multicasts()) {
    if (multicast) multicast->finish(decree.trim[multicast->id().value()]);
  }
}

}  // namespace spindrift::views
