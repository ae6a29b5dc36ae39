// Checking a layout against the configured members.
#include <spindrift/core/config/resolve.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include <spindrift/core/config/keys.hpp>
#include <spindrift/core/config/nearest.hpp>
#include <spindrift/core/ids_text.hpp>

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

/// Each pool may have the same members as the others.
std::size_t missing(const Layout& layout) {
  std::map<std::uint32_t, std::size_t> sums;
  for (const SubgroupPlan& plan : layout.subgroups) sums[plan.pool] += missing(plan);
  std::size_t most = 0;
  for (const auto& [pool, sum] : sums) most = std::max(most, sum);
  return most;
}

class PlanChecker {
 public:
  PlanChecker(const std::vector<NodeId>& members, const LayoutSource& source, std::vector<Error>& problems)
      : members_(members.begin(), members.end()), source_(source), problems_(problems) {}

  void check(const SubgroupPlan& plan, const Profiles& profiles) {
    check_ids(plan);
    if (!profiles.contains(plan.profile)) report_profile(plan, profiles);
    const std::vector<NodeId> named = plan.members.value_or(std::vector<NodeId>(members_.begin(), members_.end()));
    if (plan.assigned || plan.minimum <= named.size()) return;
    report(plan,
           fmt::format("it needs {} members and lacks {}: {} of the view's can be given: {}", plan.minimum,
                       plan.minimum - named.size(), named.size(), listed(named)),
           "lower min_members, or name more members");
  }

  void check_filled(const SubgroupPlan& plan, const SubgroupView& subgroup) {
    if (!plan.assigned || subgroup.inadequate.empty()) return;
    report(plan, "it " + subgroup.inadequate,
           plan.pool != 0 ? "add ids to [SPINDRIFT] members, or to the subgroup's, lower min_members, or have fewer shards"
                          : "add ids to [SPINDRIFT] members, lower min_nodes_by_shard, or reserve one node in several "
                            "subgroups (a node that nobody reserves fills only one)");
  }

 private:
  void report(const SubgroupPlan& plan, std::string message, std::string fix) {
    problems_.push_back(Error(ErrorKind::bad_config, fmt::format("subgroup \"{}\": {}", plan.name, message))
                            .at(place_in(source_, plan.path))
                            .fix(std::move(fix)));
  }

  void check_ids(const SubgroupPlan& plan) {
    std::set<NodeId> inside = members_;
    if (plan.assigned && plan.pool == 0) inside = {plan.reserved.begin(), plan.reserved.end()};
    if (plan.members) inside = {plan.members->begin(), plan.members->end()};
    for (const NodeId id : plan.members ? *plan.members : plan.reserved) {
      if (members_.contains(id)) continue;
      report(plan, fmt::format("node {} is no member of the group", id),
             fmt::format("add {} to [SPINDRIFT] members, or remove it here", id));
    }
    for (const NodeId id : plan.senders) {
      if (inside.contains(id)) continue;
      report(plan, fmt::format("sender {} is no member of the subgroup", id),
             fmt::format("add {} to the subgroup's members, or remove it from its senders", id));
    }
  }

  void report_profile(const SubgroupPlan& plan, const Profiles& profiles) {
    std::vector<std::string_view> known;
    for (const auto& [name, profile] : profiles) known.push_back(name);
    const auto near = nearest(plan.profile, known);
    report(plan, fmt::format("there is no profile \"{}\"", plan.profile),
           near.empty() ? fmt::format("add a section [SUBGROUP/{}]", plan.profile)
                        : fmt::format("did you mean \"{}\"? Otherwise add a section [SUBGROUP/{}]", near, plan.profile));
  }

  const std::set<NodeId> members_;
  const LayoutSource& source_;
  std::vector<Error>& problems_;
};

}  // namespace

std::vector<NodeId> members_of(const Layout& layout) {
  const std::set<NodeId> named = named_ids(layout);
  if (!named.empty()) return {named.begin(), named.end()};
  constexpr std::size_t count_max = 1024;
  std::vector<NodeId> ids(std::min(missing(layout), count_max));
  for (std::uint32_t i = 0; i < ids.size(); ++i) ids[i] = NodeId(i);
  return ids;
}

void check_plans(const Layout& layout, const std::vector<NodeId>& members, const Profiles& profiles,
                 const LayoutSource& source, std::vector<Error>& problems) {
  PlanChecker checker(members, source, problems);
  for (const SubgroupPlan& plan : layout.subgroups) checker.check(plan, profiles);
}

void check_logged(const Layout& layout, const std::vector<Error>& reasons, const LayoutSource& source,
                  std::vector<Error>& problems) {
  const auto report = [&](const SubgroupPlan& plan, std::string_view why, std::string fix) {
    problems.push_back(Error(ErrorKind::bad_config, fmt::format("subgroup \"{}\": it is logged, and {}", plan.name, why))
                           .at(place_in(source, plan.path))
                           .fix(std::move(fix)));
  };
  std::size_t count = 0;
  for (const SubgroupPlan& plan : layout.subgroups) {
    if (plan.storage != SubgroupStorage::logged) continue;
    if (++count == 1) {
      for (const Error& reason : reasons) report(plan, reason.message(), reason.fix());
    }
    if (count <= logged_subgroup_count_max) continue;
    report(plan, fmt::format("so are {} before it", logged_subgroup_count_max), "let fewer be logged, or have fewer shards");
    return;
  }
}

namespace {

/// Visits the plans that keep a history, with the largest message of each: the first one of each entry that is cut.
template <class Visit>
void each_history(const Layout& layout, const Profiles& profiles, const Visit& visit) {
  const SubgroupPlan* before = nullptr;
  for (const SubgroupPlan& plan : layout.subgroups) {
    const bool same_entry = before != nullptr && plan.pool != 0 && plan.pool == before->pool;
    before = &plan;
    const auto profile = profiles.find(plan.profile);
    if (plan.history.any() && !same_entry && profile != profiles.end()) visit(plan, profile->second.message_bytes_max);
  }
}

}  // namespace

void check_histories(const Layout& layout, const Profiles& profiles, const LayoutSource& source,
                     std::vector<Error>& problems) {
  each_history(layout, profiles, [&](const SubgroupPlan& plan, std::uint64_t message_bytes_max) {
    auto fault = fault_of(plan.history.completed(plan.storage), plan.mode, plan.storage, message_bytes_max);
    if (!fault) return;
    problems.push_back(Error(ErrorKind::bad_config, fmt::format("subgroup \"{}\": {}", plan.name, fault->what))
                           .at(place_in(source, plan.path))
                           .fix(std::move(fault->fix)));
  });
}

std::vector<std::string> notes_of_histories(const Layout& layout, const Profiles& profiles, const LayoutSource& source) {
  std::vector<std::string> notes;
  each_history(layout, profiles, [&](const SubgroupPlan& plan, std::uint64_t message_bytes_max) {
    if (plan.storage == SubgroupStorage::logged) return;
    const HistoryBounds bounds = plan.history.completed();
    const auto by_default =
        plan.history.by_age_alone() ? fmt::format(", bytes being {}, for age_ms is the only bound", bounds.bytes) : "";
    notes.push_back(fmt::format("{}: the history of subgroup \"{}\" takes each member at most {} bytes of memory{}",
                                place_in(source, plan.path), plan.name, bounds.memory_most(message_bytes_max), by_default));
  });
  return notes;
}

View resolve(const Layout& layout, const std::vector<NodeId>& members, const Profiles& profiles, const LayoutSource& source,
             std::vector<Error>& problems) {
  View view;
  view.members = members;
  view.subgroups = allocate(layout, profiles, members, nullptr);
  const std::size_t problems_before = problems.size();
  check_plans(layout, members, profiles, source, problems);
  if (problems.size() != problems_before) return view;  // who is missing may follow from that
  PlanChecker checker(members, source, problems);
  for (std::size_t i = 0; i < layout.subgroups.size(); ++i) checker.check_filled(layout.subgroups[i], view.subgroups[i]);
  return view;
}

}  // namespace spindrift::config
