// Filling subgroups. First how many each plan takes from the pool, then who: counts decide who is adequate, and only then
// are names handed out, own ones first, so that nobody leaves a subgroup that lives on.
#include <spindrift/core/config/allocate.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <spindrift/core/check.hpp>
#include <spindrift/core/ids_text.hpp>

namespace spindrift::config {
namespace {

using Ids = std::vector<NodeId>;

/// A plan while it is being filled.
struct Filling {
  const SubgroupPlan* plan = nullptr;
  Ids stays;                  ///< of the previous view's subgroup, in its order
  Ids comes;                  ///< newcomers in rank order: named, reserved, or taken from the pool
  std::size_t reserved = 0;   ///< assigned: reserved members that are there
  std::size_t own = 0;        ///< assigned: members of the pool among `stays`
  std::size_t from_pool = 0;  ///< assigned: how many members of the pool it gets in the end, own ones counted
  bool has_sender = false;    ///< a configured sender is there, or none is configured
  bool adequate = false;

  [[nodiscard]] std::size_t needed_from_pool() const {
    return plan->minimum - std::min<std::size_t>(plan->minimum, reserved);
  }
};

class Allocator {
 public:
  /// `even`: the smallest plan grows first.
  Allocator(const Layout& layout, const Ids& members, const View* previous, bool even) : members_(members), even_(even) {
    for (std::size_t rank = 0; rank < members.size(); ++rank) rank_of_.emplace(members[rank], rank);
    for (const SubgroupPlan& plan : layout.subgroups) reserved_.insert(plan.reserved.begin(), plan.reserved.end());
    for (std::size_t i = 0; i < layout.subgroups.size(); ++i) {
      fillings_.push_back(begin(layout.subgroups[i], previous == nullptr ? nullptr : &previous->subgroups[i]));
    }
  }

  std::vector<SubgroupView> allocate(const Profiles& profiles) {
    count();
    hand_out();
    std::vector<SubgroupView> subgroups;
    for (Filling& filling : fillings_) subgroups.push_back(finish(filling, profiles));
    return subgroups;
  }

 private:
  /// With everybody who belongs to the plan whatever the others do.
  Filling begin(const SubgroupPlan& plan, const SubgroupView* before) {
    Filling filling;
    filling.plan = &plan;
    std::set<NodeId> inside;
    if (before != nullptr) {
      for (const NodeId id : before->members) {
        if (!present(id)) continue;
        filling.stays.push_back(id);
        inside.insert(id);
        if (plan.assigned && in_pool(id)) ++filling.own;
      }
    }
    const Ids& entitled = plan.assigned ? plan.reserved : plan.members ? *plan.members : members_;
    for (const NodeId id : entitled) {
      if (!present(id)) continue;
      if (plan.assigned) ++filling.reserved;
      if (!inside.contains(id)) filling.comes.push_back(id);
    }
    filling.has_sender = plan.senders.empty() ||
                         std::any_of(plan.senders.begin(), plan.senders.end(), [&](NodeId id) { return present(id); });
    return filling;
  }

  /// Decides who is adequate and how many members of the pool each plan gets.
  void count() {
    std::size_t spare =
        static_cast<std::size_t>(std::count_if(members_.begin(), members_.end(), [&](NodeId id) { return in_pool(id); }));
    for (Filling& filling : fillings_) {
      if (!filling.plan->assigned) {
        filling.adequate = filling.has_sender && filling.stays.size() + filling.comes.size() >= filling.plan->minimum;
      }
      spare -= filling.own;
    }
    for (Filling& filling : fillings_) {
      if (filling.plan->assigned) give_minimum(filling, filling.own, spare);
    }
    std::vector<Filling*> failed;
    for (Filling& filling : fillings_) {
      if (!filling.plan->assigned || filling.adequate) continue;
      failed.push_back(&filling);
      spare += filling.own;
    }
    for (Filling* filling : failed) give_minimum(*filling, 0, spare);
    const std::size_t awaited = awaited_by_inadequate();
    if (spare > awaited) grow(spare - awaited);
  }

  /// All that the plan lacks, or nothing. `has` it from the pool already.
  static void give_minimum(Filling& filling, std::size_t has, std::size_t& spare) {
    const std::size_t needed = std::max(filling.needed_from_pool(), has);
    if (!filling.has_sender || needed - has > spare) return;
    spare -= needed - has;
    filling.from_pool = needed;
    filling.adequate = true;
  }

  /// Members that would be missed once a reserved one or a few more come, if others had grown by them meanwhile.
  [[nodiscard]] std::size_t awaited_by_inadequate() const {
    std::size_t sum = 0;
    for (const Filling& filling : fillings_) {
      if (!filling.plan->assigned || filling.adequate) continue;
      sum += filling.has_sender ? filling.needed_from_pool() : missing(*filling.plan);
    }
    return sum;
  }

  void grow(std::size_t left) {
    if (even_) return grow_evenly(left);
    for (bool grew = true; grew && left > 0;) {
      grew = false;
      for (Filling& filling : fillings_) {
        const bool fits = filling.reserved + filling.from_pool < filling.plan->maximum;
        if (!filling.plan->assigned || !filling.adequate || !fits || left == 0) continue;
        ++filling.from_pool;
        --left;
        grew = true;
      }
    }
  }

  void grow_evenly(std::size_t left) {
    const auto size = [](const Filling& filling) { return filling.reserved + filling.from_pool; };
    for (; left > 0; --left) {
      Filling* smallest = nullptr;
      for (Filling& filling : fillings_) {
        if (!filling.adequate || size(filling) >= filling.plan->maximum) continue;
        if (smallest == nullptr || size(filling) < size(*smallest)) smallest = &filling;
      }
      if (smallest == nullptr) return;
      ++smallest->from_pool;
    }
  }

  /// Gives out as many members of the pool as was counted, in rank order, and leaves the others in `spare_`.
  void hand_out() {
    std::set<NodeId> kept;
    for (const Filling& filling : fillings_) {
      if (filling.plan->assigned && filling.adequate) kept.insert(filling.stays.begin(), filling.stays.end());
    }
    for (const NodeId id : members_) {
      if (in_pool(id) && !kept.contains(id)) spare_.push_back(id);
    }
    std::size_t next = 0;
    for (Filling& filling : fillings_) {
      if (!filling.plan->assigned || !filling.adequate) continue;
      // A plan that failed at first counts its own members anew; it needs more than these, so that they all stay.
      for (std::size_t taken = filling.own; taken < filling.from_pool; ++taken) filling.comes.push_back(spare_.at(next++));
    }
    spare_.erase(spare_.begin(), spare_.begin() + static_cast<std::ptrdiff_t>(next));
  }

  SubgroupView finish(Filling& filling, const Profiles& profiles) const {
    const SubgroupPlan& plan = *filling.plan;
    SubgroupView subgroup;
    subgroup.name = plan.name;
    subgroup.mode = plan.mode;
    subgroup.storage = plan.storage;
    subgroup.history = plan.history.completed(plan.storage);
    subgroup.topics = plan.topics;
    if (const auto found = profiles.find(plan.profile); found != profiles.end()) subgroup.profile = found->second;
    if (!filling.adequate) {
      subgroup.inadequate = reason(filling);
      return subgroup;
    }
    sort_by_rank(filling.comes);
    subgroup.members = filling.stays;
    subgroup.members.insert(subgroup.members.end(), filling.comes.begin(), filling.comes.end());
    const std::set<NodeId> configured(plan.senders.begin(), plan.senders.end());
    for (const NodeId id : subgroup.members) {
      if (configured.empty() || configured.contains(id)) subgroup.senders.push_back(id);
    }
    return subgroup;
  }

  [[nodiscard]] std::string reason(const Filling& filling) const {
    const SubgroupPlan& plan = *filling.plan;
    if (!filling.has_sender) {
      return plan.senders.size() == 1
                 ? fmt::format("needs its sender, {}, who is not in the view", plan.senders.front())
                 : fmt::format("needs one of its senders, {}, and none is in the view", listed(plan.senders));
    }
    Ids given;
    for (const Ids* part : {&filling.stays, &filling.comes}) {
      std::copy_if(part->begin(), part->end(), std::back_inserter(given),
                   [&](NodeId id) { return !plan.assigned || !in_pool(id); });
    }
    if (plan.assigned) given.insert(given.end(), spare_.begin(), spare_.end());
    sort_by_rank(given);
    return fmt::format("needs {} members and lacks {}: {} of the view's can be given{}", plan.minimum,
                       plan.minimum - given.size(), given.empty() ? "none" : std::to_string(given.size()),
                       given.empty() ? "" : ": " + listed(given));
  }

  [[nodiscard]] bool present(NodeId id) const { return rank_of_.contains(id); }
  [[nodiscard]] bool in_pool(NodeId id) const { return !reserved_.contains(id); }
  void sort_by_rank(Ids& ids) const {
    std::sort(ids.begin(), ids.end(), [&](NodeId a, NodeId b) { return rank_of_.at(a) < rank_of_.at(b); });
  }

  const Ids& members_;
  const bool even_;
  std::map<NodeId, std::size_t> rank_of_;
  std::set<NodeId> reserved_;  // by any plan, there or not
  std::vector<Filling> fillings_;
  Ids spare_;  // members of the pool that no subgroup of this view took, in rank order
};

}  // namespace

std::size_t missing(const SubgroupPlan& plan) {
  if (!plan.assigned || plan.reserved.size() >= plan.minimum) return 0;
  return plan.minimum - plan.reserved.size();
}

namespace {

/// The plans of one pool, with their places in the layout.
struct PoolPlans {
  Layout layout;
  std::vector<std::size_t> places;
  View before;
};

/// By number. A layout is small enough for its plans to be copied for every view.
std::map<std::uint32_t, PoolPlans> pools_of(const Layout& layout, const View* previous) {
  std::map<std::uint32_t, PoolPlans> pools;
  for (std::size_t i = 0; i < layout.subgroups.size(); ++i) {
    PoolPlans& pool = pools[layout.subgroups[i].pool];
    pool.layout.subgroups.push_back(layout.subgroups[i]);
    pool.places.push_back(i);
    if (previous != nullptr) pool.before.subgroups.push_back(previous->subgroups[i]);
  }
  return pools;
}

/// The members that a pool's plans may have.
Ids members_of_pool(const PoolPlans& pool, const Ids& members) {
  const SubgroupPlan& first = pool.layout.subgroups.front();
  if (!first.assigned || !first.members) return members;
  Ids named;
  std::copy_if(members.begin(), members.end(), std::back_inserter(named), [&](NodeId id) {
    return std::find(first.members->begin(), first.members->end(), id) != first.members->end();
  });
  return named;
}

}  // namespace

std::vector<SubgroupView> allocate(const Layout& layout, const Profiles& profiles, const Ids& members,
                                   const View* previous) {
  CHECK(previous == nullptr || previous->subgroups.size() == layout.subgroups.size());
  std::vector<SubgroupView> subgroups(layout.subgroups.size());
  for (const auto& [number, pool] : pools_of(layout, previous)) {
    const Ids among = number == 0 ? members : members_of_pool(pool, members);
    const View* const before = previous == nullptr ? nullptr : &pool.before;
    auto filled = Allocator(pool.layout, among, before, number != 0).allocate(profiles);
    for (std::size_t i = 0; i < filled.size(); ++i) subgroups[pool.places[i]] = std::move(filled[i]);
  }
  return subgroups;
}

}  // namespace spindrift::config
