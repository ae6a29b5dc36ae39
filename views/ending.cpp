// Ends of members in words.
#include <spindrift/views/ending.hpp>

#include <chrono>

#include <spindrift/views/revivable.hpp>

namespace spindrift::views {
namespace {

// Whatever was seen of it before: it goes because people said so, and it may be well.
Removal given_up(NodeId node, const ViewChange::Suspicion* suspicion, const Epoch& old) {
  const RankSet named = RankSet::first(old.view().members.size()).without(old.change().decree().failed);
  const bool suspected_before = suspicion != nullptr && suspicion->reason != given_up_by_revival;
  const std::string before = suspected_before ? "; before that, " + suspicion->reason : "";
  return {node, "it was given up by a revival of node" + std::string(named.count() == 1 ? " " : "s ") +
                    nodes_in(old.view(), named) + before,
          std::nullopt};
}

Error given_up_error(const std::string& by_whom) {
  return Error(ErrorKind::given_up, by_whom + ": the group was revived: it goes on without this node")
      .fix("start it again: it joins as a new incarnation");
}

// The others go on in that view without this member, which they removed. `by_whom`: what to say behind that.
Error removed_error(ViewId next, const std::string& by_whom) {
  return Error(ErrorKind::removed,
               "the others removed this node from the group for view " + std::to_string(next.value()) + by_whom)
      .fix("start it again: it joins as a new incarnation");
}

// The findings of a member that is removed: those on the other side of what broke.
std::string own_accusations(const Epoch& present) {
  std::string text;
  for (const ViewChange::Suspicion& suspicion : present.change().suspicions()) {
    if (suspicion.by != present.self() || suspicion.turned_away) continue;
    text += (text.empty() ? "; it had itself accused node " : ", node ") +
            std::to_string(present.view().members[suspicion.rank.value()].value()) + " (" + suspicion.reason + ")";
  }
  return text;
}

}  // namespace

Error gone_error(const Epoch& present) {
  const Decree& decree = present.change().decree();
  const ViewId next = id_behind(present.id(), decree.revival);
  if (decree.revival != 0) return given_up_error("view " + std::to_string(next.value()) + " is decided");
  return removed_error(next, own_accusations(present));
}

Removal removal_of(NodeId node, Rank rank, const Epoch& old) {
  const ViewChange::Suspicion* const why = suspicion_of(old.change(), rank);
  if (old.change().decree().revival != 0) return given_up(node, why, old);
  if (why == nullptr) return {node, "another member suspected it", std::nullopt};
  return {node, why->reason, old.view().members[why->by.value()]};
}

Error lagging_error(const Deliveries::Lag& lag, const Epoch& present) {
  const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(lag.waited).count();
  return Error(ErrorKind::lagging, "this member ends because it lags: a message of subgroup " +
                                       present.view().subgroup(lag.subgroup).name + " has waited for its handler for " +
                                       std::to_string(waited) + " ms")
      .fix("let the handler return sooner or do its work elsewhere, raise [SPINDRIFT] lagging_after_ms, or let everybody "
           "wait with lagging_member = wait; then start this node again");
}

Error set_back_error(SubgroupId subgroup, const Epoch& present) {
  return Error(ErrorKind::removed, "this member ends: subgroup " + present.view().subgroup(subgroup).name +
                                       " goes on from the log of nodes that were away, which may lack messages " +
                                       "that this program was given and that were not durable everywhere")
      .fix("start it again: its program is given the messages that the log has");
}

// The word of this member's leader, or of many members, is the group's; that of few may be theirs alone, and so is that of
// all others where they are too few to go on.
Error lost_majority(Epoch& present) {
  std::string gone;
  std::size_t turned_away = 0;
  RankSet before;
  bool by_leader = false;
  for (const ViewChange::Suspicion& suspicion : present.change().suspicions()) {
    turned_away += suspicion.turned_away ? 1 : 0;
    by_leader |= suspicion.turned_away && before.includes(RankSet::first(suspicion.rank.value()));
    before.add(suspicion.rank);
    gone += (gone.empty() ? "node " : ", node ") + std::to_string(present.view().members[suspicion.rank.value()].value()) +
            " (" + suspicion.reason + ")";
  }
  const bool is_groups_word = by_leader || 2 * turned_away >= present.change().suspicions().size();
  if (is_groups_word && present.change().mandate().suffices(RankSet::of(present.self())))
    return removed_error(id_behind(present.id(), 0), ": " + gone);
  return Error(ErrorKind::no_majority, "lost the majority of view " + std::to_string(present.id().value()) + ": of its " +
                                           std::to_string(present.view().members.size()) + " members are gone " + gone)
      .fix("the rest may go on elsewhere: see to the others or the network, and start this node again");
}

std::string last_words(const Error& failure) {
  return failure.kind() == ErrorKind::no_majority ? "it has lost the majority of its view" : failure.to_string();
}

std::optional<Error> overtaken(Epoch& present, bool waits, const LinkOvertaken& heard) {
  const bool revived = era_of(heard.view) > era_of(present.id()) && !present.change().mandate().is_revival();
  if (!revived && !(waits && heard.apart)) return std::nullopt;
  const std::string where = "node " + std::to_string(heard.by.node.value()) + " is in view " +
                            std::to_string(heard.view.value());
  if (revived) return given_up_error(where);
  return Error(ErrorKind::removed, where + ": it goes on without this node")
      .fix("start it again: it joins as a new incarnation");
}

}  // namespace spindrift::views
