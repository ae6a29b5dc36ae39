// Files, and the sizes that views have.
#include "ring_files.hpp"

#include <algorithm>

namespace spindrift::sim {

std::vector<SubgroupPlan> RingFiles::file(std::uint64_t edition) const {
  std::vector<SubgroupPlan> subgroups = plan_.subgroups;
  for (SubgroupPlan& each : subgroups) {
    each.profile.window_messages += edition;
    each.profile.ring_bytes <<= edition % 2;
  }
  return subgroups;
}

std::vector<RingSizes> RingFiles::sizes_of(std::uint64_t edition) const {
  std::vector<RingSizes> sizes;
  for (const SubgroupPlan& each : file(edition)) {
    if (!each.added) sizes.push_back({each.name, each.profile.ring_bytes, each.profile.window_messages});
  }
  return sizes;
}

LayoutFunction RingFiles::on_start(std::uint32_t process, std::uint32_t node) {
  said_[process] = sizes_of(editions_[node]);
  return layout_of(file(editions_[node]));
}

void RingFiles::on_wish(const RosterChange& change) {
  if (change.kind == RosterChange::Kind::resize) wanted_.push_back(change.sizes);
}

bool RingFiles::all_say(const View& view, const std::vector<RingSizes>& sizes) const {
  return std::ranges::all_of(view.incarnations, [&](std::uint64_t incarnation) {
    const auto process = process_of_(incarnation);
    return process && said_.at(*process) == sizes;
  });
}

void RingFiles::on_view(std::uint32_t process, const View& view, const View* before) const {
  const auto violate = [&](const std::string& what) {
    report_.violate("V24", "process " + std::to_string(process) + ", view " + std::to_string(view.id.value()) + ": " + what);
  };
  const Roster& roster = view.roster;
  for (std::size_t i = 0; i < view.layout_count(); ++i) {
    const SubgroupView& subgroup = view.subgroups[i];
    const RingSizes has{subgroup.name, subgroup.profile.ring_bytes, subgroup.profile.window_messages};
    if (i >= roster.sizes.size() || roster.sizes[i] != has) return violate(subgroup.name + " has not the roster's sizes");
  }
  if (before == nullptr) return;
  const Roster& was = before->roster;
  const bool adopted = roster.filed != was.filed && roster.filed != Digest();
  if (adopted) {
    report_.hit(Probe::sizes_adopted);
    if (!all_say(*before, roster.sizes)) violate("not all files of the view before say what it adopts");
    if (roster.filed != digest_of(roster.sizes)) violate("it does not remember what it adopts");
    if (was.filed == Digest()) violate("files undo what somebody wanted");
    return;
  }
  for (std::size_t i = 0; i < roster.sizes.size() && i < was.sizes.size(); ++i) {
    if (roster.sizes[i] == was.sizes[i]) continue;
    report_.hit(Probe::sizes_changed);
    if (std::ranges::find(wanted_, roster.sizes[i]) == wanted_.end())
      violate(roster.sizes[i].subgroup + " has sizes that nobody wanted");
    if (roster.filed != Digest()) violate("files may undo what somebody wanted of " + roster.sizes[i].subgroup);
  }
}

std::optional<std::string> RingFiles::not_adopted(const View& view) const {
  const auto process = process_of_(view.incarnations.front());
  if (!process || view.roster.sizes.empty()) return std::nullopt;
  const std::vector<RingSizes>& sizes = said_.at(*process);
  const Digest& filed = view.roster.filed;
  if (filed == Digest() || digest_of(sizes) == filed || !all_say(view, sizes)) return std::nullopt;
  return "is in a view that has not adopted the sizes of rings that all files say";
}

}  // namespace spindrift::sim
