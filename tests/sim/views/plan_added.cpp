// Drawing subgroups that are created and dropped while the group runs.
#include <algorithm>

#include "../random.hpp"
#include "plan.hpp"

namespace spindrift::sim {
namespace {

void draw_added_senders(Random& random, Plan& plan, std::uint32_t subgroup) {
  for (std::uint32_t node = 0; node < plan.nodes.size(); ++node) {
    if (random.chance(1, 3)) continue;
    SenderPlan sender;
    sender.node = node;
    sender.subgroup = subgroup;
    sender.messages = static_cast<std::uint32_t>(random.spread(1, 200));
    sender.burst = static_cast<std::uint32_t>(random.spread(1, 16));
    sender.think_ns_max = static_cast<Ticks>(random.spread(1, random.chance(1, 2) ? 200'000 : 5'000));
    sender.hold_ns_max = static_cast<Ticks>(random.spread(1, random.chance(1, 6) ? 1'000'000 : 500));
    sender.abandons_in_64 = random.pick<std::uint32_t>({0, 0, 16});
    sender.largest_in_8 = random.pick<std::uint32_t>({0, 0, 1, 8});
    plan.senders.push_back(sender);
  }
}

/// The layout has no subgroup: all that the group has is created.
void drop_layout(Plan& plan) {
  const auto of_layout = static_cast<std::uint32_t>(std::ranges::count(plan.subgroups, false, &SubgroupPlan::added));
  std::erase_if(plan.subgroups, [](const SubgroupPlan& subgroup) { return !subgroup.added; });
  std::erase_if(plan.senders, [=](const SenderPlan& sender) { return sender.subgroup < of_layout; });
  for (SenderPlan& sender : plan.senders) sender.subgroup -= of_layout;
}

/// Changes of what is there by then, or is not: other senders, a smaller or larger window.
void draw_changes(std::uint64_t seed, Plan& plan, std::uint32_t names, Ticks from, Ticks to) {
  Random random(seed, Purpose::values);
  if (random.chance(1, 2)) return;
  const auto nodes = static_cast<std::uint32_t>(plan.nodes.size());
  for (std::uint64_t left = random.between(1, 8); left > 0; --left) {
    const auto at = from + static_cast<Ticks>(random.below(static_cast<std::uint64_t>(to - from + 100'000)));
    const auto asker = static_cast<std::uint32_t>(random.below(nodes));
    const auto name = static_cast<std::uint32_t>(random.below(names));
    const std::uint64_t senders = random.chance(1, 2) ? 0 : random.below(std::uint64_t{1} << nodes);
    const std::uint64_t window = random.between(1, 64);
    plan.actions.push_back({at, Action::Kind::change, asker, name, 0, senders | window << window_shift, Cut::nothing});
  }
}

}  // namespace

const SubgroupView& subgroup_at(const View& view, std::uint32_t subgroup) {
  static const SubgroupView none = in_view({}, {}, nullptr);
  return subgroup < view.subgroups.size() ? view.subgroups[subgroup] : none;
}

// A few names, each created and dropped again and again by anybody, also by two at once and as something else than it is;
// beside whatever else happens. So many names take at most twice as many places.
void draw_added(std::uint64_t seed, Plan& plan) {
  Random random(seed, Purpose::added);
  const auto nodes = static_cast<std::uint32_t>(plan.nodes.size());
  const bool imposters = std::ranges::any_of(plan.nodes, [](const NodePlan& node) { return node.imposter; });
  if (imposters || plan.broken_links > 0 || !random.chance(1, 3)) return;
  plan.deaths = false;  // as with other changes of the roster
  SubgroupPlan added = plan.subgroups[random.below(plan.subgroups.size())];
  added.mode = random.chance(1, 4) ? DeliveryMode::unordered : DeliveryMode::ordered;
  added.members = added.senders = ~std::uint64_t{0};
  added.minimum = 1;
  added.state_bytes = 0;
  added.added = true;
  const auto names = static_cast<std::uint32_t>(random.between(1, 3));
  for (std::uint32_t i = 0; i < 2 * names; ++i) {
    added.name = "place" + std::to_string(i);
    draw_added_senders(random, plan, static_cast<std::uint32_t>(plan.subgroups.size()));
    plan.subgroups.push_back(added);
  }
  const Ticks first = static_cast<Ticks>(random.spread(20'000, 2'000'000));
  Ticks at = first;
  for (std::uint64_t left = random.between(2, 16); left > 0; --left) {
    const auto asker = static_cast<std::uint32_t>(random.below(nodes));
    const auto name = static_cast<std::uint32_t>(random.below(names));
    const bool create = random.chance(3, 5);
    const std::uint64_t members = create && random.chance(1, 3) ? 1 + random.below((std::uint64_t{1} << nodes) - 1) : 0;
    plan.actions.push_back({at, create ? Action::Kind::create : Action::Kind::drop, asker, name, 0, members, Cut::nothing});
    if (random.chance(1, 2)) at += static_cast<Ticks>(random.spread(1, random.chance(1, 2) ? 30'000 : 1'000'000));
  }
  plan.faults_end = std::max(plan.faults_end, at + 100'000);
  draw_changes(seed, plan, names, first, at);
  if (Random(seed, Purpose::layout).chance(1, 4)) drop_layout(plan);
}

}  // namespace spindrift::sim
