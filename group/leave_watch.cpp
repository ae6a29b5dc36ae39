// Finding who holds up a leave.
#include <spindrift/group/leave_watch.hpp>

#include <algorithm>
#include <chrono>

#include <spindrift/core/log.hpp>

namespace spindrift::group {

std::vector<AwaitedTaking> awaited_by(const views::Epoch& present) {
  std::vector<AwaitedTaking> awaited;
  const View& view = present.view();
  for (std::uint32_t s = 0; s < view.subgroups.size(); ++s) {
    smc::Multicast* const multicast = present.multicast(SubgroupId(s));
    if (multicast == nullptr || multicast->ring() == nullptr) continue;
    if (multicast->own_delivered_everywhere() >= multicast->ring()->sent_count()) continue;
    AwaitedTaking& here = awaited.emplace_back(AwaitedTaking{view.subgroups[s].name, {}});
    for (const Rank rank : multicast->furthest_behind()) here.nodes.push_back(view.members[rank.value()]);
  }
  return awaited;
}

namespace {

// Own handlers that hold up the leave, also with what the end of a view has delivered.
std::vector<AwaitedTaking> all_awaited_by(const views::Member& member) {
  std::vector<AwaitedTaking> awaited = awaited_by(*member.epoch());
  const std::vector<SubgroupView>& subgroups = member.epoch()->view().subgroups;
  for (std::uint32_t s = 0; s < subgroups.size(); ++s) {
    const bool known = std::ranges::any_of(
        awaited, [&](const AwaitedTaking& each) { return each.nodes.empty() && each.subgroup == subgroups[s].name; });
    if (!known && !member.deliveries().taken(SubgroupId(s))) awaited.push_back({subgroups[s].name, {}});
  }
  return awaited;
}

}  // namespace

Time LeaveWatch::look(const views::Member& member, Time now) {
  const bool over = member.state() == views::MemberState::left || member.state() == views::MemberState::failed;
  if (!member.leave_requested() || member.epoch() == nullptr || over) return never;
  if (!next_report_) next_report_ = now + report_after;
  if (now < *next_report_) return *next_report_;
  next_report_ = now + report_interval;
  waits_.clear();
  for (const AwaitedTaking& awaited : all_awaited_by(member)) {
    std::string nodes;
    for (const NodeId node : awaited.nodes) nodes += (nodes.empty() ? "" : ",") + std::to_string(node.value());
    log::warn(log::Room::group, "leaving waits until members have taken what was sent",
              {{"subgroup", awaited.subgroup},
               {"nodes", nodes.empty() ? "own handler" : nodes},
               {"fix", "on_delivery at those members, or a handler that returns; a command's waits for its reader"}});
    waits_ += (waits_.empty() ? "" : "; ") +
              (nodes.empty() ? "its own handler has not taken what was delivered"
                             : "node " + nodes + " has not taken what it sent") +
              " in subgroup " + awaited.subgroup;
  }
  for (const views::Transfers::Receiver& receiver : member.transfers().receivers()) {
    const std::string& subgroup = member.epoch()->view().subgroup(receiver.subgroup).name;
    waits_ += (waits_.empty() ? "node " : "; node ") + std::to_string(receiver.node.value()) +
              " does not have all of its state of subgroup " + subgroup + " yet";
    log::warn(log::Room::group, "leaving waits until a newcomer has the state",
              {{"subgroup", subgroup},
               {"node", receiver.node},
               {"fix", "on_state and on_delivery at that member"}});
  }
  return *next_report_;
}

}  // namespace spindrift::group
