// Rules that must hold of any layout through any sequence of views.
#include "config_fixture.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>

#include <spindrift/core/config/allocate.hpp>

using namespace spindrift;
using namespace spindrift::config;
using namespace spindrift::test;

namespace {

using Random = std::mt19937;

unsigned between(Random& random, unsigned least, unsigned most) {
  return least + static_cast<unsigned>(random() % (most - least + 1));
}

std::vector<NodeId> some(Random& random, const std::vector<NodeId>& of, unsigned one_in) {
  std::vector<NodeId> chosen;
  std::copy_if(of.begin(), of.end(), std::back_inserter(chosen), [&](NodeId) { return random() % one_in == 0; });
  return chosen;
}

/// Shards of a plain subgroup.
void cut(Random& random, const std::vector<NodeId>& all, Layout& layout) {
  SubgroupPlan plan;
  plan.assigned = true;
  plan.pool = next_pool(layout);
  plan.minimum = between(random, 1, 3);
  plan.maximum = plan.minimum + between(random, 0, 3);
  if (random() % 2 == 0) plan.members = some(random, all, 2);
  for (unsigned shard = between(random, 1, 3); shard > 0; --shard) {
    plan.name = std::to_string(layout.subgroups.size());
    layout.subgroups.push_back(plan);
  }
}

Layout random_layout(Random& random, const std::vector<NodeId>& all) {
  Layout layout;
  if (random() % 3 == 0) cut(random, all, layout);
  for (unsigned type = between(random, 1, 3); type > 0; --type) {
    std::vector<NodeId> not_reserved = all;  // by a shard of this type
    for (unsigned shard = between(random, 1, 3); shard > 0; --shard) {
      SubgroupPlan plan;
      plan.name = std::to_string(layout.subgroups.size());
      plan.minimum = between(random, 1, 3);
      plan.assigned = random() % 4 != 0;
      if (plan.assigned) {
        plan.maximum = plan.minimum + between(random, 0, 3);
        if (random() % 2 == 0) plan.reserved = some(random, not_reserved, 4);
        std::erase_if(not_reserved, [&](NodeId id) {
          return std::find(plan.reserved.begin(), plan.reserved.end(), id) != plan.reserved.end();
        });
        if (random() % 2 == 0) plan.senders = some(random, plan.reserved, 2);
      } else {
        if (random() % 2 == 0) plan.members = some(random, all, 2);
        if (random() % 2 == 0) plan.senders = some(random, plan.members.value_or(all), 2);
      }
      layout.subgroups.push_back(std::move(plan));
    }
  }
  return layout;
}

/// Survivors in their order, then newcomers.
std::vector<NodeId> next_members(Random& random, const std::vector<NodeId>& before, const std::vector<NodeId>& all) {
  std::vector<NodeId> members = before;
  std::erase_if(members, [&](NodeId) { return random() % 5 == 0; });
  for (const NodeId id : all) {
    if (std::find(before.begin(), before.end(), id) == before.end() && random() % 3 == 0) members.push_back(id);
  }
  if (members.empty()) members.push_back(all[random() % all.size()]);
  return members;
}

bool contains(const std::vector<NodeId>& ids, NodeId id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }

std::vector<NodeId> common(const std::vector<NodeId>& ids, const std::vector<NodeId>& with) {
  std::vector<NodeId> result;
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(result), [&](NodeId id) { return contains(with, id); });
  return result;
}

/// Whether an assigned plan's pool has that member.
bool in_pool(const SubgroupPlan& plan, NodeId id, const std::set<NodeId>& reserved) {
  return plan.pool == 0 ? !reserved.contains(id) : !plan.members || contains(*plan.members, id);
}

void check_subgroup(const SubgroupPlan& plan, const SubgroupView& now, const View& view, const std::set<NodeId>& reserved) {
  if (!now.inadequate.empty()) {
    CHECK(now.members.empty());
    CHECK(now.senders.empty());
    return;
  }
  CHECK(now.members.size() >= plan.minimum);
  CHECK_FALSE(now.senders.empty());
  CHECK(std::set(now.members.begin(), now.members.end()).size() == now.members.size());
  CHECK(common(now.members, view.members) == now.members);
  CHECK(now.senders == (plan.senders.empty() ? now.members : common(now.members, plan.senders)));
  const std::vector<NodeId> entitled =
      common(plan.assigned ? plan.reserved : plan.members.value_or(view.members), view.members);
  CHECK(common(entitled, now.members) == entitled);
  for (const NodeId id : now.members) {
    CHECK((contains(entitled, id) || (plan.assigned && in_pool(plan, id, reserved))));
  }
}

/// A member that was in a subgroup that lives on stays, at the front and in order; newcomers follow in rank order.
void check_stable(const SubgroupView& now, const SubgroupView& before, const View& view) {
  if (!now.inadequate.empty()) return;
  const std::vector<NodeId> stays = common(before.members, view.members);
  REQUIRE(now.members.size() >= stays.size());
  CHECK(std::equal(stays.begin(), stays.end(), now.members.begin()));
  std::vector<NodeId> come(now.members.begin() + static_cast<std::ptrdiff_t>(stays.size()), now.members.end());
  CHECK(std::is_sorted(come.begin(), come.end(), [&](NodeId a, NodeId b) { return *view.rank_of(a) < *view.rank_of(b); }));
}

/// Counts of one pool in one view: no member of it twice, and nobody spare who could have made a subgroup adequate.
void check_pool(const std::vector<SubgroupPlan>& plans, const std::vector<SubgroupView>& subgroups, const View& view,
                const std::set<NodeId>& reserved) {
  std::map<NodeId, unsigned> times;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (!plans[i].assigned) continue;
    for (const NodeId id : subgroups[i].members) ++times[id];
  }
  const auto some_assigned =
      std::find_if(plans.begin(), plans.end(), [](const SubgroupPlan& plan) { return plan.assigned; });
  std::size_t spare = 0;
  for (const NodeId id : view.members) {
    if (some_assigned == plans.end() || !in_pool(*some_assigned, id, reserved)) continue;
    CHECK(times[id] <= 1);
    if (times[id] == 0) ++spare;
  }
  bool all_adequate = true;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const SubgroupPlan& plan = plans[i];
    if (subgroups[i].inadequate.empty()) continue;
    all_adequate = all_adequate && !plan.assigned;
    const bool sends = plan.senders.empty() || !common(plan.senders, view.members).empty();
    const std::size_t own = common(plan.assigned ? plan.reserved : plan.members.value_or(view.members), view.members).size();
    CHECK_FALSE((sends && own + (plan.assigned ? spare : 0) >= plan.minimum));
  }
  for (std::size_t i = 0; i < plans.size() && all_adequate && spare > 0; ++i) {
    if (plans[i].assigned) CHECK(subgroups[i].members.size() >= plans[i].maximum);
  }
}

void check_pools(const Layout& layout, const View& view, const std::set<NodeId>& reserved) {
  for (std::uint32_t pool = 0; pool < next_pool(layout); ++pool) {
    std::vector<SubgroupPlan> plans;
    std::vector<SubgroupView> subgroups;
    for (std::size_t i = 0; i < layout.subgroups.size(); ++i) {
      if (layout.subgroups[i].pool != pool) continue;
      plans.push_back(layout.subgroups[i]);
      subgroups.push_back(view.subgroups[i]);
    }
    check_pool(plans, subgroups, view, reserved);
  }
}

}  // namespace

TEST_CASE("any layout keeps its rules through any views") {
  const Profiles profiles = {{"DEFAULT", Profile{}}};
  unsigned adequate = 0, inadequate = 0, stayed = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    INFO("seed " << seed);
    Random random(seed);
    std::vector<NodeId> all;
    for (unsigned id = between(random, 1, 9); id > 0; --id) all.emplace_back(id);
    const Layout layout = random_layout(random, all);
    std::set<NodeId> reserved;
    for (const SubgroupPlan& plan : layout.subgroups) reserved.insert(plan.reserved.begin(), plan.reserved.end());
    View last;
    for (unsigned step = 0; step < 12; ++step) {
      INFO("view " << step);
      View view;
      view.members = next_members(random, last.members, all);
      view.subgroups = allocate(layout, profiles, view.members, step == 0 ? nullptr : &last);
      const auto again = allocate(layout, profiles, view.members, step == 0 ? nullptr : &last);
      REQUIRE(view.subgroups.size() == layout.subgroups.size());
      for (std::size_t i = 0; i < view.subgroups.size(); ++i) {
        INFO("subgroup " << i);
        const SubgroupView& now = view.subgroups[i];
        CHECK(now.name == layout.subgroups[i].name);
        CHECK((again[i].members == now.members && again[i].inadequate == now.inadequate));
        check_subgroup(layout.subgroups[i], now, view, reserved);
        if (step > 0) {
          check_stable(now, last.subgroups[i], view);
          if (now.inadequate.empty()) stayed += !common(last.subgroups[i].members, view.members).empty();
        }
        ++(now.inadequate.empty() ? adequate : inadequate);
      }
      check_pools(layout, view, reserved);
      last = std::move(view);
    }
  }
  CHECK(adequate > 5000);  // the dice reach both sides
  CHECK(inadequate > 1000);
  CHECK(stayed > 1000);
}

TEST_CASE("a shard that has its minimum from its survivors alone never loses one") {
  const Profiles profiles = {{"DEFAULT", Profile{}}};
  unsigned kept = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    INFO("seed " << seed);
    Random random(seed);
    std::vector<NodeId> all;
    for (unsigned id = between(random, 3, 12); id > 0; --id) all.emplace_back(id);
    Layout layout = random_layout(random, all);
    for (SubgroupPlan& plan : layout.subgroups) plan.senders.clear();
    View last;
    last.members = all;
    last.subgroups = allocate(layout, profiles, all, nullptr);
    for (unsigned step = 0; step < 12; ++step) {
      View view;
      view.members = next_members(random, last.members, all);
      view.subgroups = allocate(layout, profiles, view.members, &last);
      for (std::size_t i = 0; i < view.subgroups.size(); ++i) {
        const auto stays = common(last.subgroups[i].members, view.members);
        if (stays.size() < layout.subgroups[i].minimum) continue;
        ++kept;
        CHECK(view.subgroups[i].inadequate.empty());
        CHECK(common(stays, view.subgroups[i].members) == stays);
      }
      last = std::move(view);
    }
  }
  CHECK(kept > 1000);
}
