// Assigning members to subgroups.
#include <spindrift/core/config/resolve.hpp>

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include <spindrift/core/config/keys.hpp>

namespace spindrift::config {
namespace {

/// Everything that the layout names.
std::set<NodeId> named_ids(const Layout& layout) {
  std::set<NodeId> ids;
  for (const SubgroupPlan& plan : layout.subgroups) {
    ids.insert(plan.reserved.begin(), plan.reserved.end());
    ids.insert(plan.senders.begin(), plan.senders.end());
    if (plan.members) ids.insert(plan.members->begin(), plan.members->end());
  }
  return ids;
}

std::set<NodeId> reserved_ids(const Layout& layout) {
  std::set<NodeId> ids;
  for (const SubgroupPlan& plan : layout.subgroups) ids.insert(plan.reserved.begin(), plan.reserved.end());
  return ids;
}

std::uint64_t missing(const SubgroupPlan& plan) {
  if (!plan.assigned || plan.reserved.size() >= plan.minimum) return 0;
  return plan.minimum - plan.reserved.size();
}

std::uint64_t missing(const Layout& layout) {
  std::uint64_t sum = 0;
  for (const SubgroupPlan& plan : layout.subgroups) sum += missing(plan);
  return sum;
}

class Resolver {
 public:
  Resolver(const Layout& layout, const std::vector<NodeId>& members, const LayoutSource& source,
           std::vector<Error>& problems)
      : layout_(layout), members_(members), source_(source), problems_(problems) {
    for (std::size_t rank = 0; rank < members.size(); ++rank) rank_of_.emplace(members[rank], rank);
  }

  View resolve(const std::map<std::string, Profile, std::less<>>& profiles) {
    View view;
    view.members = members_;
    const auto taken = counts_from_pool();
    std::size_t next = 0;
    for (std::size_t i = 0; i < layout_.subgroups.size(); ++i) {
      const SubgroupPlan& plan = layout_.subgroups[i];
      SubgroupView subgroup;
      subgroup.name = plan.name;
      subgroup.mode = plan.mode;
      subgroup.topics = plan.topics;
      subgroup.members = members_of_plan(plan, next, taken[i]);
      next += taken[i];
      subgroup.senders = senders_of_plan(plan, subgroup.members);
      if (const auto found = profiles.find(plan.profile); found != profiles.end()) {
        subgroup.profile = found->second;
      } else {
        report_profile(plan, profiles);
      }
      view.subgroups.push_back(std::move(subgroup));
    }
    return view;
  }

 private:
  void report(const SubgroupPlan& plan, std::string message, std::string fix) {
    problems_.push_back(Error(ErrorKind::bad_config, fmt::format("subgroup \"{}\": {}", plan.name, message))
                            .at(place_in(source_, plan.path))
                            .fix(std::move(fix)));
  }

  void report_profile(const SubgroupPlan& plan, const std::map<std::string, Profile, std::less<>>& profiles) {
    std::vector<std::string_view> known;
    for (const auto& [name, profile] : profiles) known.push_back(name);
    const auto near = nearest(plan.profile, known);
    report(plan, fmt::format("there is no profile \"{}\"", plan.profile),
           near.empty() ? fmt::format("add a section [SUBGROUP/{}]", plan.profile)
                        : fmt::format("did you mean \"{}\"? Otherwise add a section [SUBGROUP/{}]", near, plan.profile));
  }

  /// How many nodes that nobody reserves each plan takes from the pool.
  std::vector<std::size_t> counts_from_pool() {
    const auto reserved = reserved_ids(layout_);
    for (const NodeId id : members_) {
      if (!reserved.contains(id)) pool_.push_back(id);
    }
    std::vector<std::size_t> taken(layout_.subgroups.size(), 0);
    std::size_t left = pool_.size();
    for (std::size_t i = 0; i < taken.size(); ++i) {
      const auto wanted = static_cast<std::size_t>(missing(layout_.subgroups[i]));
      taken[i] = std::min(wanted, left);
      left -= taken[i];
      if (taken[i] < wanted) report_shortage(layout_.subgroups[i], wanted - taken[i]);
    }
    for (bool grew = true; grew && left > 0;) {
      grew = false;
      for (std::size_t i = 0; i < taken.size() && left > 0; ++i) {
        const SubgroupPlan& plan = layout_.subgroups[i];
        if (!plan.assigned || plan.reserved.size() + taken[i] >= plan.maximum) continue;
        ++taken[i];
        --left;
        grew = true;
      }
    }
    return taken;
  }

  void report_shortage(const SubgroupPlan& plan, std::size_t lacking) {
    report(plan,
           fmt::format("it needs {} members and lacks {}: of the group's {} members, {} are reserved by nobody and shared "
                       "by all subgroups that are filled up",
                       plan.minimum, lacking, members_.size(), pool_.size()),
           "add ids to [SPINDRIFT] members, lower min_nodes_by_shard, or reserve one node in several subgroups");
  }

  std::vector<NodeId> members_of_plan(const SubgroupPlan& plan, std::size_t next, std::size_t taken) {
    if (!plan.assigned && !plan.members) return members_;
    std::vector<NodeId> result = plan.assigned ? plan.reserved : *plan.members;
    for (const NodeId id : result) {
      if (rank_of_.contains(id)) continue;
      report(plan, fmt::format("node {} is no member of the group", id.value()),
             fmt::format("add {} to [SPINDRIFT] members, or remove it here", id.value()));
    }
    for (std::size_t i = 0; i < taken; ++i) result.push_back(pool_[next + i]);
    return in_rank_order(std::move(result));
  }

  std::vector<NodeId> senders_of_plan(const SubgroupPlan& plan, const std::vector<NodeId>& members) {
    if (plan.senders.empty()) return members;
    const std::set<NodeId> inside(members.begin(), members.end());
    for (const NodeId id : plan.senders) {
      if (inside.contains(id)) continue;
      report(plan, fmt::format("sender {} is no member of the subgroup", id.value()),
             fmt::format("add {} to the subgroup's members, or remove it from its senders", id.value()));
    }
    return in_rank_order(plan.senders);
  }

  /// Strangers, already reported, come last.
  std::vector<NodeId> in_rank_order(std::vector<NodeId> ids) const {
    const auto rank = [&](NodeId id) {
      const auto found = rank_of_.find(id);
      return found == rank_of_.end() ? members_.size() : found->second;
    };
    std::sort(ids.begin(), ids.end(), [&](NodeId a, NodeId b) { return std::pair(rank(a), a) < std::pair(rank(b), b); });
    return ids;
  }

  const Layout& layout_;
  const std::vector<NodeId>& members_;
  const LayoutSource& source_;
  std::vector<Error>& problems_;
  std::map<NodeId, std::size_t> rank_of_;
  std::vector<NodeId> pool_;  // members that no plan reserves, in rank order
};

}  // namespace

std::vector<NodeId> members_of(const Layout& layout) {
  const std::set<NodeId> named = named_ids(layout);
  if (!named.empty()) return {named.begin(), named.end()};
  constexpr std::uint64_t count_max = 1024;
  std::vector<NodeId> ids(std::min(missing(layout), count_max));
  for (std::uint32_t i = 0; i < ids.size(); ++i) ids[i] = NodeId(i);
  return ids;
}

View resolve(const Layout& layout, const std::vector<NodeId>& members,
             const std::map<std::string, Profile, std::less<>>& profiles, const LayoutSource& source,
             std::vector<Error>& problems) {
  return Resolver(layout, members, source, problems).resolve(profiles);
}

}  // namespace spindrift::config
