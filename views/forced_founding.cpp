// A founding by those who remember the last view and are no majority of it, because those who run the group say so.
#include <algorithm>
#include <string>

#include <spindrift/core/ids_text.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/views/founding.hpp>

namespace spindrift::views {
namespace {

std::string node_text(NodeId node) { return "node " + std::to_string(node.value()); }
std::string nodes_text(const std::vector<NodeId>& nodes) {
  return (nodes.size() == 1 ? "node " : "nodes ") + listed(nodes);
}

bool is_in(std::span<const NodeId> nodes, NodeId node) { return std::ranges::find(nodes, node) != nodes.end(); }

std::vector<NodeId> nodes_of(std::span<const Join> processes) {
  std::vector<NodeId> nodes;
  for (const Join& each : processes) nodes.push_back(each.node);
  return nodes;
}

/// The knowledge of the process that is told.
struct Knowledge {
  NodeId self;
  const Recalled& recalled;
  std::span<const Founding::Met> met;
  std::span<const Apart> apart;
};

/// The names that would do. A node that has lost its record, or is not in the roster of the last view, cannot found.
std::string right_names(const Knowledge& about) {
  const std::vector<NodeId> here = nodes_of(about.recalled.founders);
  if (!here.empty()) return "name those that are here: --members " + as_argument(here);
  return "nobody who is here can found: start one that was in the last view; or, if it is gone for good, save the messages "
         "of one that is here (spindrift log dump), and have all forget (spindrift group forget)";
}

Error wrong(ErrorKind kind, const std::string& what, const Knowledge& about) {
  return Error(kind, what).fix(right_names(about));
}

/// The reason why that node, which is named, is none of those that could found.
Error missing(NodeId node, const Knowledge& about) {
  const auto is_it = [node](const auto& each) { return each.who.node == node; };
  const auto apart = std::ranges::find(about.apart, node, &Apart::node);
  if (apart != about.apart.end())
    return wrong(ErrorKind::refused,
                 node_text(node) + " is named, and cannot be in one group with this one: " + apart->reason, about);
  if (node != about.self && std::ranges::none_of(about.met, is_it)) {
    return Error(ErrorKind::refused, node_text(node) + " is named, and no process of it looks for the group in reach of " +
                                         node_text(about.self))
        .fix("start it, and see that the two reach each other; or " + right_names(about));
  }
  if (std::ranges::none_of(about.recalled.have, is_it)) {
    return Error(ErrorKind::refused, node_text(node) + " is named, and has not said yet what it remembers")
        .fix("say it again in a moment");
  }
  std::string why = " is named, and has no part in the last view: it has lost its record of that, was out of the group, or "
                    "is not in its roster";
  if (about.recalled.left_behind)
    why = " is named, and remembers no view of the group, or is not in the roster of the last one, as far as that is known";
  return wrong(ErrorKind::refused, node_text(node) + why + "; it joins who founds", about);
}

Result<void> check_named(std::span<const NodeId> named, const Knowledge& about) {
  for (auto at = named.begin(); at != named.end(); ++at) {
    if (std::find(std::next(at), named.end(), *at) != named.end())
      return wrong(ErrorKind::bad_argument, node_text(*at) + " is named twice", about);
  }
  if (!is_in(named, about.self))
    return wrong(ErrorKind::bad_argument, node_text(about.self) + " is asked, and is not named itself", about);
  const std::vector<NodeId> here = nodes_of(about.recalled.founders);
  for (const NodeId node : named) {
    if (!is_in(here, node)) return missing(node, about);
  }
  for (const NodeId node : here) {
    if (is_in(named, node)) continue;
    const std::string why = " is here, too, remembers the group, and is not named: it could found with others";
    return wrong(ErrorKind::refused, node_text(node) + why, about);
  }
  return {};
}

// Members of earlier releases do not know that a view may be of a later era.
Result<void> check_versions(std::span<const NodeId> named, const Knowledge& about) {
  for (const Founding::Met& each : about.met) {
    if (!is_in(named, each.who.node) || each.versions.newest >= revivals_since) continue;
    return Error(ErrorKind::unsupported, node_text(each.who.node) + " speaks " + to_string(each.versions) +
                                             " of the protocol, in which nothing is founded without a majority")
        .fix("start it with this release");
  }
  return {};
}

Result<void> check_forks(const Recalled& recalled) {
  const std::vector<ForkedLog> forked = recalled.forked.empty() ? forked_by_force(recalled) : recalled.forked;
  if (forked.empty()) return {};
  return Error(ErrorKind::refused, "the logs of subgroup " + std::to_string(forked.front().subgroup.value()) +
                                       " of the layout at nodes " + listed(forked.front().nodes) + " are not the same")
      .fix("see which is wrong (spindrift log dump), and have the others forget theirs: spindrift group forget");
}

// The group goes on, or nothing is remembered, or enough are here.
Result<void> check_state(const Knowledge& about) {
  const auto member = std::ranges::find(about.met, false, &Founding::Met::fresh);
  if (member != about.met.end()) {
    return Error(ErrorKind::refused, node_text(member->who.node) + " is in the group, and here: there is nothing to found")
        .fix("see there what it waits for: spindrift group why; if it has lost the majority: spindrift group revive");
  }
  if (about.recalled.state == Recalled::State::first_day) {
    return Error(ErrorKind::refused, "no process here remembers a view of the group that had members")
        .fix("start the founders that [SPINDRIFT] founders names: they found it as on the first day");
  }
  if (about.recalled.state == Recalled::State::enough) {
    return Error(ErrorKind::refused, "those that the last view needs are here, and found by themselves")
        .fix("wait for them; spindrift group why says what holds them up");
  }
  return check_forks(about.recalled);
}

// One that asks knows the latest view itself, or, where the group has left all behind that are here, is in its roster.
Result<void> check_place(const Knowledge& about) {
  const bool has_place = about.recalled.left_behind ? about.recalled.roster.contains(about.self)
                                                   : is_in(about.recalled.members, about.self);
  if (has_place) return {};
  const std::vector<NodeId> here = nodes_of(about.recalled.founders);
  const auto other = std::ranges::find_if(here, [&](NodeId node) { return is_in(about.recalled.members, node); });
  const std::string what = "in the latest view that is remembered, of " + nodes_text(about.recalled.members);
  if (other != here.end()) {
    return Error(ErrorKind::refused, node_text(about.self) + " was not " + what)
        .fix("ask one that was: --through " + std::to_string(other->value()));
  }
  return Error(ErrorKind::refused, "none of those that are here was " + what).fix("start one of these");
}

std::vector<NodeId> missing_of(const Recalled& recalled) {
  std::vector<NodeId> missing;
  const auto note = [&](NodeId node) {
    const auto is_here = [node](const Join& each) { return each.node == node; };
    if (std::ranges::none_of(recalled.founders, is_here) && !is_in(missing, node)) missing.push_back(node);
  };
  for (const LastView& view : recalled.awaited) std::ranges::for_each(view.nodes, note);
  for (const RecordedLog& log : recalled.without) {
    for (const LogHolder& each : log.holders) note(each.node);
  }
  std::ranges::sort(missing);
  return missing;
}

// Nodes of the roster that nothing here remembers as missing: one that joined later, and left later, has more than these.
std::string unheard_of(const Recalled& recalled, const std::vector<NodeId>& missing) {
  std::vector<NodeId> unheard;
  for (const NodeAddress& each : recalled.roster.nodes) {
    const auto is_here = [&](const Join& founder) { return founder.node == each.node; };
    if (std::ranges::none_of(recalled.founders, is_here) && !is_in(missing, each.node)) unheard.push_back(each.node);
  }
  if (unheard.empty()) return {};
  return "; " + nodes_text(unheard) + " of the roster " + (unheard.size() == 1 ? "is" : "are") +
         " not here, either: what these remember beyond that, of times after these here had left, is lost likewise";
}

Error takes_force(const Recalled& recalled, const std::string& memory, const std::string& lost) {
  const std::vector<NodeId> rest = missing_of(recalled);
  const std::string what = "what was agreed on in a later view than these remember is lost without " + nodes_text(rest) +
                           "; if any of these goes on, or is started again where it reaches none that founds, there are two "
                           "groups";
  return Error(ErrorKind::no_majority,
               nodes_text(rest) + (rest.size() == 1 ? " is" : " are") + " missing: " + memory + (lost.empty() ? "" : "; ") +
                   lost + "; " + what + unheard_of(recalled, rest))
      .fix("start every node that still has its disk, above all the one that stopped last: with as many of those that are "
           "missing as the last view needs nothing is lost; if they are gone for good, and run nowhere: --force");
}

}  // namespace

Result<void> Founding::force(std::span<const NodeId> named, bool really, std::span<const Met> met,
                             std::span<const Apart> apart) {
  if (!memories_) {
    return Error(ErrorKind::unsupported, "whoever is present founds here, and nothing is remembered of views before")
        .fix("start the nodes: those that live found at once");
  }
  std::vector<Join> fresh;
  for (const Met& each : met) {
    if (each.fresh) fresh.push_back(each.who);
  }
  const Recalled recalled = memories_->recalled(fresh);
  const Knowledge about{self_.node, recalled, met, apart};
  SPINDRIFT_TRY(check_state(about));
  SPINDRIFT_TRY(check_named(named, about));
  SPINDRIFT_TRY(check_versions(named, about));
  SPINDRIFT_TRY(check_place(about));
  if (!living_.empty()) {
    return Error(ErrorKind::refused, "on this host " + nodes_text(living_) + (living_.size() == 1 ? " runs" : " run") +
                                         " without a connection with this one, and may go on from the last view")
        .fix("see what holds these up, or end them first");
  }
  if (!really) {
    const std::vector<SubgroupView> layout = layout_({named.begin(), named.end()}, nullptr);
    return takes_force(recalled, kept_by_memory(met), words_of_lost_logs(recalled, layout));
  }
  // Told again it goes on under the id that others have accepted: under another one each time they could only refuse it.
  if (!forced_ || !forced_->names(recalled)) forced_ = Forced{recalled.founders, {}};
  return {};
}

// As long as its founder is here, or somebody is in its view, the founding may have come to be, and the other group ends.
std::optional<Error> Founding::passed_over(std::span<const Met> met) const {
  if (!notices_.earlier || !promised_to_) return std::nullopt;
  const auto goes_on = [&](const Met& each) {
    const auto place = std::ranges::find(promised_to_->members, each.who.node) - promised_to_->members.begin();
    const auto at = static_cast<std::size_t>(place);
    if (at == promised_to_->members.size() || promised_to_->incarnations[at] != each.who.incarnation) return false;
    return at == 0 || !each.fresh;
  };
  if (promised_to_->members.front() == self_.node || std::ranges::any_of(met, goes_on)) return std::nullopt;
  return Error(ErrorKind::refused, node_text(self_.node) + " has promised itself to a founding by " +
                                       node_text(promised_to_->members.front()) +
                                       ", without a majority, of which nothing more is heard; the group that goes on "
                                       "without that founding has taken it in meanwhile, in view " +
                                       std::to_string(notices_.earlier->value()) + ", and it can follow no earlier era")
      .fix("start this node again: it joins that group");
}

// A founding without force is of the era of the last view, and binds nobody against a view of that.
ViewId Founding::binding(std::span<const Met> met) const {
  if (!memories_ || !promised_to_ || promised_to_->members.front() == self_.node) return ViewId(0);
  const bool awaited = std::ranges::any_of(met, [&](const Met& each) {
    return each.fresh && each.who == Join{promised_to_->members.front(), promised_to_->incarnations.front()};
  });
  return awaited ? promised_to_->view : ViewId(0);
}

// The word is about these processes: one that comes, or comes back, may make a majority, or know more.
bool Founding::Forced::names(const Recalled& recalled) const {
  return recalled.forked.empty() && forked_by_force(recalled).empty() &&
         std::ranges::is_permutation(recalled.founders, members);
}

}  // namespace spindrift::views
