// Layouts of plans, and drawing subgroups that are logged.
#include <algorithm>

#include "../random.hpp"
#include "plan.hpp"
#include "timeline.hpp"

namespace spindrift::sim {
namespace {

DiskPlan draw_disk(Random& random, bool fails) {
  DiskPlan disk;
  if (random.chance(1, 3)) disk.room = random.pick<std::uint64_t>({0, 1, 3, 20});
  disk.write_ns_max = static_cast<Ticks>(random.spread(100, random.chance(1, 3) ? 5'000'000 : 100'000));
  disk.slow_in_1000 = random.pick<std::uint64_t>({0, 0, 0, 20, 200});
  disk.slow_ns_max = static_cast<Ticks>(random.spread(100'000, 40'000'000));
  if (fails && random.chance(1, 8)) disk.failures_in_10000 = random.pick<std::uint64_t>({20, 200});
  if (random.chance(1, 3)) disk.read_ns_max = static_cast<Ticks>(random.spread(1'000, 4'000'000));
  if (random.chance(1, 3)) disk.replay_ns_max = static_cast<Ticks>(random.spread(1'000, 2'000'000));
  return disk;
}

/// All die, most at once and in the middle of traffic. A majority comes back, then perhaps others.
class TotalStops {
 public:
  TotalStops(Random& random, Plan& plan) : random_(random), plan_(plan), time_(random, plan) {}

  void draw() {
    time_.pass(20'000, 5'000'000);
    for (std::uint64_t left = random_.between(1, 4); left > 0; --left) {
      stop();
      time_.pass(1'000, 200'000);
      start();
      time_.pass(20'000, 4'000'000);
      if (random_.chance(1, 2)) churn();
    }
    plan_.faults_end = std::max(plan_.faults_end, time_.at + 100'000);
  }

 private:
  void stop() {
    const bool at_once = random_.chance(1, 2);
    const std::uint64_t late = random_.spread(1, random_.chance(1, 2) ? 1'000 : 300'000);
    const std::vector<std::uint32_t> order = time_.everybody();
    for (const std::uint32_t node : order) {
      const bool at_effect = random_.chance(1, 5);
      const bool leaves = random_.chance(1, 16);
      time_.act(leaves ? Action::Kind::leave : at_effect ? Action::Kind::crash_at : Action::Kind::crash, node,
          at_effect && !leaves ? random_.spread(1, 60) : 0);
      if (!at_once) time_.at += static_cast<Ticks>(random_.below(late));
    }
    time_.at += static_cast<Ticks>(random_.spread(1'000, 100'000));
    for (const std::uint32_t node : order) time_.act(Action::Kind::crash, node);
  }
  void start() {
    const std::vector<std::uint32_t> order = time_.everybody();
    const std::size_t majority = order.size() / 2 + 1;
    const std::size_t first = random_.chance(1, 4) ? random_.between(1, order.size()) : majority;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i == first) time_.pass(1'000, 3'000'000);
      if (i >= first && random_.chance(1, 3)) continue;
      time_.act(Action::Kind::start, order[i]);
      time_.at += static_cast<Ticks>(random_.spread(1, random_.chance(3, 4) ? 20'000 : 1'000'000));
    }
  }

  // Nodes come and go, and take logs along.
  void churn() {
    for (std::uint64_t left = random_.between(1, 4); left > 0; --left) {
      time_.at = draw_restart(random_, plan_, static_cast<std::uint32_t>(random_.below(plan_.nodes.size())), time_.at);
      if (random_.chance(1, 2)) time_.pass(1'000, 1'000'000);
    }
  }

  Random& random_;
  Plan& plan_;
  Timeline time_;
};

bool is_in_before(const View* before, std::size_t subgroup, NodeId node) {
  return before != nullptr && before->subgroups[subgroup].member_position(node).has_value();
}

/// Those of the members of the view that are in that subgroup, in the order of the view.
std::vector<NodeId> members_in(const SubgroupPlan& plan, std::size_t subgroup, const std::vector<NodeId>& members,
                               const View* before) {
  std::vector<NodeId> all;
  const auto may_be = [&](NodeId node) { return (plan.members >> node.value() & 1) != 0; };
  std::ranges::copy_if(members, std::back_inserter(all), may_be);
  if (plan.most == 0 || all.size() <= plan.most) return all;
  std::vector<NodeId> chosen = all;
  if (plan.moves) std::ranges::sort(chosen);
  const auto was_in = [&](NodeId node) { return is_in_before(before, subgroup, node); };
  if (!plan.moves) std::stable_partition(chosen.begin(), chosen.end(), was_in);
  chosen.resize(plan.most);
  std::erase_if(all, [&](NodeId node) { return std::ranges::find(chosen, node) == chosen.end(); });
  return all;
}

}  // namespace

void draw_trims(std::uint64_t seed, Plan& plan) {
  Random random(seed, Purpose::trims);
  if (random.chance(1, 2)) return;
  for (DiskPlan& disk : plan.disks) {
    if (random.chance(2, 3)) disk.keeps = random.pick<std::uint64_t>({0, 1, 5, 30});
  }
}

void draw_logged_objects(std::uint64_t seed, Plan& plan) {
  Random random(seed, Purpose::logged_objects);
  for (SubgroupPlan& subgroup : plan.subgroups) subgroup.object = subgroup.logged && random.chance(1, 2);
  // A log that is not trimmed has no need of a checkpoint.
  if (std::ranges::none_of(plan.subgroups, &SubgroupPlan::object)) return;
  for (DiskPlan& disk : plan.disks) {
    if (random.chance(1, 2)) disk.keeps = random.pick<std::uint64_t>({0, 1, 5});
  }
}

void draw_logs(std::uint64_t seed, Plan& plan) {
  Random random(seed, Purpose::logged);
  const bool layout = std::ranges::any_of(plan.subgroups, [](const SubgroupPlan& each) { return !each.added; });
  if (!layout || plan.founded_by != views::FoundedBy::named || !random.chance(1, 5)) return;
  for (std::uint64_t left = random.between(1, 2); left > 0; --left) {
    SubgroupPlan& subgroup = plan.subgroups[random.below(plan.subgroups.size())];
    if (subgroup.added) continue;
    subgroup.mode = DeliveryMode::ordered;
    subgroup.logged = true;
    subgroup.state_bytes = 0;
    const std::uint64_t most = random.chance(1, 2) ? 2 : plan.nodes.size();
    if (random.chance(1, 2)) subgroup.most = static_cast<std::uint32_t>(random.between(1, most));
    subgroup.moves = subgroup.most > 1 && random.chance(1, 3);
  }
  const bool quiet = plan.broken_links > 0 || plan.deaths;
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) plan.disks.push_back(draw_disk(random, !quiet));
  if (quiet) return;
  // Writes that take longer than most of what happens meanwhile.
  if (random.chance(1, 4)) {
    DiskPlan& slow = plan.disks[random.below(plan.disks.size())];
    slow.slow_in_1000 = 500;
    slow.slow_ns_max = static_cast<Ticks>(random.spread(1'000'000, 40'000'000));
  }
  if (NodePlan& node = plan.nodes[random.below(plan.nodes.size())]; node.throws_after == 0 && random.chance(1, 12)) {
    node.lagging_after = static_cast<Ticks>(random.spread(20'000, 2'000'000));
    node.refusal_ns_max = 4 * node.lagging_after;
  }
  if (!random.chance(4, 5)) return;
  TotalStops(random, plan).draw();
}

LayoutFunction layout_of(const std::vector<SubgroupPlan>& subgroups) {
  return [subgroups](const std::vector<NodeId>& members, const View* before) {
    std::vector<SubgroupView> views;
    for (const SubgroupPlan& plan : subgroups) {
      if (plan.added) break;
      SubgroupView& view = views.emplace_back();
      view.name = plan.name;
      view.mode = plan.mode;
      view.profile = plan.profile;
      if (plan.logged) view.storage = SubgroupStorage::logged;
      view.members = members_in(plan, views.size() - 1, members, before);
      if (view.members.size() < std::max(plan.minimum, 1u)) {
        view.members.clear();
        view.inadequate = "too few members";
        continue;
      }
      for (const NodeId node : view.members) {
        if ((plan.senders >> node.value() & 1) != 0) view.senders.push_back(node);
      }
      if (view.senders.empty()) view.senders = view.members;
    }
    return views;
  };
}

}  // namespace spindrift::sim
